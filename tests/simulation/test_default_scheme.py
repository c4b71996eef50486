"""The scheme of a system when none is named: by the order of what it is made of."""

import numpy as np
import pytest

import stickslip as ss

TANK = ss.FirstOrderLinear("tank", A=-1.0, x0=1.0)
DECAY = ss.FirstOrder("decay", f=lambda x: -x, x0=1.0)
BALL = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)


@pytest.mark.parametrize("system", [TANK, DECAY])
def test_first_order_takes_euler_moreau(system):
    """Implicit Euler with theta = 1/2 is the trapezoidal rule: x1 = x0 (1 - h/2) / (1 + h/2)."""
    h = 0.1
    run = ss.simulate(ss.NonsmoothSystem([system]), until=h, h=h)
    assert run.scheme == "euler-moreau"
    theta = run.scheme_options["theta"]
    assert run.q[-1, 0] == pytest.approx((1.0 - (1.0 - theta) * h) / (1.0 + theta * h), rel=1e-9)
    named = ss.simulate(ss.NonsmoothSystem([system]), until=h, h=h, scheme="euler-moreau")
    np.testing.assert_array_equal(run.q, named.q)


def test_second_order_takes_moreau_jean():
    assert ss.simulate(ss.NonsmoothSystem([BALL]), until=0.1, h=0.1).scheme == "moreau-jean"


def test_both_together_ask_for_a_scheme_each_that_can_be_copied():
    both = ss.NonsmoothSystem([TANK, BALL])
    with pytest.raises(ss.ModelError, match="name a scheme for each, scheme=") as caught:
        ss.simulate(both, until=0.1, h=0.1)
    given = eval(str(caught.value).partition("scheme=")[2])
    assert given == {"tank": "euler-moreau", "ball": "moreau-jean"}
    assert ss.simulate(both, until=0.1, h=0.1, scheme=given).steps == 1


def test_a_checkpoint_keeps_its_scheme(tmp_path):
    system = ss.NonsmoothSystem([TANK])
    run = ss.simulate(system, until=0.5, h=0.1, scheme=ss.schemes.EulerMoreau(theta=1.0))
    run.save(tmp_path / "run.h5")
    for start in (run, ss.read_trajectory(tmp_path / "run.h5")):
        more = ss.simulate(system, until=1.0, start=start.checkpoint(-1))
        assert (more.scheme, more.scheme_options["theta"]) == ("euler-moreau", 1.0)


def test_first_order_has_no_derivatives_and_says_so():
    system, words = ss.NonsmoothSystem([TANK]), "steps of euler-moreau have no derivative"
    with pytest.raises(ss.ModelError, match=words):
        ss.differentiate(system, h=0.1)
    with pytest.raises(ss.ModelError, match=words):
        ss.gradient(system, lambda k, state: None, until=0.1, h=0.1)
    with pytest.raises(ss.ModelError, match=words):
        ss.sensitivity(system, until=0.1, h=0.1, by="q")


def test_a_scheme_for_second_order_names_the_one_for_first():
    for scheme in ("moreau-jean", "variational", "compliant", "schatzman-paoli"):
        with pytest.raises(ss.ModelError, match=r"'tank' is of first order; .* \(use euler-moreau\)"):
            ss.simulate(ss.NonsmoothSystem([TANK]), until=0.1, h=0.1, scheme=scheme)
