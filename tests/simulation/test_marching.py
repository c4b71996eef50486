"""Steps that a scheme makes together are recorded as if they had been made one by one."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.schemes.step import InteractionPart, Step, arrays, frozen_state
from stickslip.state import State

G = 9.81
COLUMNS = (
    "t", "h", "q", "v", "z", "r", "u", "y", "active", "forecast", "ok", "natural", "natural_scaled",
    "iterations", "newton", "index", "contact_work",
)  # fmt: skip


class OneByOne:
    """Falls on a floor at 0 without bouncing, by explicit formulas."""

    def levels(self, system):
        return (ss.problem.Level.VELOCITY,)

    def begin(self, system, state, h):
        return arrays(r=np.zeros(1))

    def step(self, system, state, memory, h, solver):
        v = state.v - h * (G + np.sin(state.t))
        r = np.maximum(-v, 0.0) if state.q[0] <= 0.0 else np.zeros(1)
        v = v + r
        q = state.q + h * v
        end = frozen_state(state.t + h, q, v, state.z)
        part = InteractionPart(q, q, r > 0.0, self.levels(system))
        return Step(end, h, r, v, arrays(r=r), part, newton=1)


class Together(OneByOne):
    """The same, several steps at a time; now and then it leaves a step to be made alone."""

    def __init__(self, most, refuses=()):
        self.most, self.refuses, self.calls = most, refuses, 0

    def march(self, system, state, memory, h, steps, tolerance, times, interrupts):
        self.calls += 1
        assert len(times) == steps + 1
        assert times[0] == state.t
        rows = []
        for k in range(min(steps, self.most)):
            if any(abs(times[k] - t) < 1e-9 for t in self.refuses):
                break
            step = self.step(system, State(times[k], state.q, state.v, state.z), memory, h, None)
            state = frozen_state(times[k + 1], *(np.array(getattr(step.state, x)) for x in "qvz"))
            memory = step.memory
            rows.append((step, state))
        return Marched(rows, state, memory)


class Marched:
    def __init__(self, rows, state, memory):
        self.rows, self.state, self.memory = rows, state, memory
        n = len(rows)
        for name in ("t", "q", "v", "z"):
            setattr(self, name, np.array([getattr(end, name) for _, end in rows]))
        for name in ("r", "u", "y", "active", "forecast", "ok", "natural", "natural_scaled"):
            setattr(self, name, np.array([getattr(step, name) for step, _ in rows]))
        self.memories = {"r": np.array([step.memory["r"] for step, _ in rows])}
        self.iterations, self.newton = np.zeros(n, int), np.ones(n, int)

    def __len__(self):
        return len(self.rows)


def ball():
    falling = ss.Lagrangian("ball", M=1.0, q0=0.1, F_ext=-G)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact())
    return ss.NonsmoothSystem([falling], [floor])


@pytest.mark.parametrize("record", [1, 7])
@pytest.mark.parametrize("until", [0.5, 0.5005])
@pytest.mark.parametrize("scheme", [Together(9999), Together(13), Together(9999, refuses=(0.1, 0.2, 0.203))])
def test_together_as_one_by_one(record, until, scheme):
    a = ss.simulate(ball(), until=until, h=1e-3, scheme=OneByOne(), record=record)
    b = ss.simulate(ball(), until=until, h=1e-3, scheme=scheme, record=record)
    assert scheme.calls
    assert a.steps == b.steps
    for name in COLUMNS:
        x, y = getattr(a, name), getattr(b, name)
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        np.testing.assert_allclose(y, x, rtol=1e-13, atol=1e-16, err_msg=name)
    np.testing.assert_allclose(b.memory["r"], a.memory["r"], rtol=1e-13)


@pytest.mark.parametrize("record", [1, 7])
def test_together_goes_on_bit_for_bit(record):
    whole = ss.simulate(ball(), until=0.5, h=1e-3, scheme=Together(9999), record=record)
    start = whole.checkpoint(20)
    rest = ss.simulate(ball(), until=0.5, scheme=Together(9999), start=start, record=record)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(whole, name)[21:], getattr(rest, name)[1:], err_msg=name)


def test_a_solver_that_was_chosen_is_used():
    scheme = Together(9999)
    ss.simulate(ball(), until=0.1, h=1e-3, scheme=scheme, solver="nsgs")
    assert scheme.calls == 0
