"""Gradients and sensitivities of runs of systems written as equations, against differences of whole runs."""

import numpy as np
import pytest
from system_families import swing

import stickslip as ss

NUMBERS = {"m": 1.0, "length": 0.7, "mu": 0.3, "e": 0.4}
H, STEPS = 2e-3, 12
SCHEMES = {
    "moreau-jean": ss.schemes.MoreauJean(newton_tolerance=1e-13),
    "variational": ss.schemes.Variational(),
}


def off(state):
    """Distance from a place, and kinetic energy of a sort."""
    miss = state.q - np.array([0.2, 0.1])
    return float(miss @ miss + 0.5 * state.v @ state.v), 2.0 * miss, np.array(state.v)


def end(scheme, h=H, until=STEPS * H, **changed):
    run = ss.simulate(swing(**NUMBERS | changed), until=until, h=h, scheme=scheme, tolerance=1e-12)
    return off(ss.State(0.0, run.q[-1], run.v[-1]))[0]


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_the_gradient_of_a_run_with_impacts(scheme):
    family = ss.systems.Family(swing, **NUMBERS)
    by = ("q", "v", "h", "force", *NUMBERS)
    found = ss.gradient(
        family, ss.gradients.AtEnd(off), until=STEPS * H, h=H, scheme=scheme, by=by, checkpoints=3
    )
    assert found.kept <= 3
    assert found.steps == STEPS
    np.testing.assert_allclose(found.value, end(scheme), rtol=1e-9)
    for name, value in NUMBERS.items():
        expected = (end(scheme, **{name: value + 1e-5}) - end(scheme, **{name: value - 1e-5})) / 2e-5
        np.testing.assert_allclose(found.gradient[name], expected, rtol=1e-6, atol=1e-7)
    ends = [end(scheme, h=h, until=STEPS * h) for h in (H + 1e-8, H - 1e-8)]
    np.testing.assert_allclose(found.gradient["h"], (ends[0] - ends[1]) / 2e-8, rtol=1e-5)
    pushed = np.array([(end(scheme, push=s * np.eye(2)[i]) - end(scheme, push=-s * np.eye(2)[i])) / (2.0 * s)
                       for i, s in ((0, 1e-4), (1, 1e-4))])  # fmt: skip
    np.testing.assert_allclose(found.gradient["force"], pushed, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_sensitivities_are_the_gradient_forwards(scheme):
    family, how = ss.systems.Family(swing, m=1.0), {"until": STEPS * H, "h": H, "scheme": scheme}
    found = ss.sensitivity(family, by=("q", "v", "m", "mu", "e", "h"), record=4, **how)
    assert found.q.shape == (4, 2)
    assert found.dq.shape == (4, 2, 8)
    back = ss.gradient(family, ss.gradients.AtEnd(off), by=tuple(found.columns), **how)
    _, dq, dv = off(ss.State(0.0, found.q[-1], found.v[-1]))
    ahead = dq @ found.dq[-1] + dv @ found.dv[-1]
    for name, columns in found.columns.items():
        np.testing.assert_allclose(ahead[columns], np.ravel(back.gradient[name]), rtol=1e-7, atol=1e-9)


def test_a_run_goes_on_from_a_checkpoint_and_from_a_state():
    system, how = swing(), {"h": H, "scheme": "variational"}
    first = ss.simulate(system, until=4 * H, **how)
    whole = ss.sensitivity(system, until=8 * H, by="q", **how)
    rest = ss.sensitivity(system, until=8 * H, by="q", start=first.checkpoint(-1), scheme=None)
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], rtol=1e-8)
    state = ss.State(0.0, first.q[-1], first.v[-1])
    found = ss.gradient(system, ss.gradients.AtEnd(off), until=2 * H, start=state, **how)
    np.testing.assert_allclose(found.coordinates, found.gradient["q"])


def test_inputs_of_every_step_are_numbers_of_a_family():
    """A mass is pushed by one number in each step: the gradient by all of them at once."""

    def driven(u):
        return ss.NonsmoothSystem(
            [ss.Lagrangian("mass", M=2.0, q0=0.0, F_ext=lambda t: [u[min(int(t / 0.1 + 1e-6), 4)]])]
        )

    def place(state):
        return float(state.q[0]), np.ones(1), None

    found = ss.gradient(
        ss.systems.Family(driven, u=np.ones(5)),
        ss.gradients.AtEnd(place),
        until=0.5,
        h=0.1,
        scheme="variational",
        by="u",
    )
    steps = np.array([0.5, 1.0, 1.0, 1.0, 1.0])  # half a kick at the start
    np.testing.assert_allclose(found.gradient["u"], steps * 0.1**2 / 2.0 * np.arange(5, 0, -1), rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"by": "length"}, "no derivative by 'length'; known: q, v, h, force, mu, e"),
        ({"controls": {"effort": [1.0]}}, "controls are for worlds"),
        ({"scheme": "compliant"}, "steps of compliant have no derivative"),
        ({"start": 3}, "start is int"),
        ({"on_failure": "halve"}, "on_failure is 'halve'"),
    ],
)
def test_what_cannot_be_gets_a_sentence(given, words):
    with pytest.raises(ss.ModelError, match=words):
        ss.gradient(swing(), ss.gradients.AtEnd(off), until=0.01, h=1e-3, **given)


def test_a_loss_at_the_end_that_says_nothing():
    with pytest.raises(ss.ModelError, match="the loss at the end returned None"):
        ss.gradient(swing(), ss.gradients.AtEnd(lambda state: None), until=0.01, h=1e-3)


def test_only_what_moves_has_a_gradient():
    with pytest.raises(ss.ModelError, match="world is int"):
        ss.gradient(3, ss.gradients.AtEnd(off), until=0.1, h=0.01)
