"""What a model can do wrong during a run ends in an error that names whose it is, when, and what."""

import numba
import numpy as np
import pytest

import stickslip as ss

SCHEMES = ("moreau-jean", "schatzman-paoli", "event-driven", "compliant")


def run(ball=None, y=lambda q: q, dy_dq=None, until=1.0, **how):
    falling = ss.Lagrangian("ball", **({"M": 1.0, "q0": 1.0, "F_ext": -9.81} | (ball or {})))
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(y, dy_dq), ss.NewtonImpact(e=0.9))
    return ss.simulate(ss.NonsmoothSystem([falling], [floor]), until=until, h=1e-2, **how)


@numba.njit
def compiled_gap(q):
    return q.copy() if q[0] > 0.6 else q * np.nan


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("y", [lambda q: q if q[0] > 0.6 else q * np.nan, compiled_gap])
def test_a_gap_that_is_not_a_number(scheme, y):
    with pytest.raises(ss.ModelError, match=r"interaction 'floor': at t = 0\.29 s, y is not finite"):
        run(y=y, dy_dq=np.eye(1), scheme=scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_rows_that_are_not_numbers(scheme):
    with pytest.raises(ss.ModelError, match=r"interaction 'floor': at t = 0\.4\d* s, dy_dq is not finite"):
        run(dy_dq=lambda q: np.eye(1) * (1.0 if q[0] > 0.01 else np.nan), scheme=scheme)


@numba.njit
def compiled_update(t):
    return np.array([t if t < 0.045 else np.nan])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("z_update", "message"),
    [
        (lambda t: [t] if t < 0.045 else [t, t], "has shape (2,), expected (1,)"),
        (lambda t: [t] if t < 0.045 else [np.nan], "is not finite"),
        (compiled_update, "is not finite"),
    ],
)
def test_discrete_parameters_that_nobody_reads_are_looked_at(scheme, z_update, message):
    with pytest.raises(ss.ModelError) as caught:
        run({"z": [1.0], "z_update": z_update}, until=0.1, scheme=scheme)
    assert str(caught.value) == f"system 'ball': at t = 0.05 s, z_update {message}"
    assert caught.value.trajectory.t[-1] == 0.05


def test_an_update_that_raises_is_heard_from_within_a_compiled_run():
    with pytest.raises(ZeroDivisionError) as caught:
        run({"z": [1.0], "z_update": lambda t: [t] if t < 0.045 else 1 / 0}, until=0.1)
    assert caught.value.__notes__ == ["in z_update of system 'ball', at t = 0.05 s"]


@pytest.mark.parametrize("scheme", ["moreau-jean", "schatzman-paoli", "compliant"])
def test_a_mass_that_vanishes_on_the_way(scheme):
    with pytest.raises(ss.ModelError, match=r"system 'ball': at t = 0\.2\d* s, M is singular or not"):
        run({"M": lambda q: np.array([[q[0] - 0.5]])}, scheme=scheme)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"solver": 1}, "solver is 1"),
        ({"progress": 1}, "progress is 1"),
        ({"until": True}, "until is True"),
        ({"scheme": ss.schemes.MoreauJean}, "scheme is <class"),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(given, message):
    with pytest.raises(ss.ModelError, match=message):
        run(**({"until": 0.1} | given))


def test_a_record_longer_than_any_run_keeps_the_ends():
    assert run(until=0.1, record=10**30).t.tolist() == [0.0, 0.1]


@pytest.mark.parametrize("scheme", [None, "euler-moreau"])
def test_a_start_of_another_order_is_refused_before_a_scheme_looks_at_it(scheme):
    flow = ss.FirstOrderLinear("circuit", A=-1.0, x0=1.0)
    diode = ss.Interaction(
        "diode", "circuit", ss.systems.FirstOrderLinearRelation(1.0, 1.0), ss.laws.Complementarity()
    )
    with pytest.raises(
        ss.ModelError, match="belongs to another model: its systems are ball; here they are circuit"
    ):
        ss.simulate(
            ss.NonsmoothSystem([flow], [diode]), until=1.0, scheme=scheme, start=run(until=0.1).checkpoint()
        )
