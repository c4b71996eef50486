"""States that cannot be: whoever takes one refuses it by name."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss


def world():
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("ball", ss.Sphere(0.1), position=(0, 0, 0.5))
    return builder.build()


def spoilt(start, **entries):
    """A state with some entries of it changed: t, or (array, number, value)."""
    t, q, v = entries.get("t", start.t), start.q.copy(), start.v.copy()
    for key, array in (("q", q), ("v", v)):
        if key in entries:
            where, value = entries[key]
            array[where] = value
    return ss.State(t, q, v)


BAD = [
    ({"t": np.nan}, r"state\.t is nan"),
    ({"t": np.inf}, r"state\.t is inf"),
    ({"q": (slice(10, 14), [2.0, 0.0, 0.0, 0.0])}, "body 'ball': .* quaternion has length 2"),
    ({"q": (slice(10, 14), 0.0)}, "body 'ball': .* quaternion has length 0"),
    ({"q": (9, np.nan)}, "body 'ball': .* q is not finite"),
    ({"v": (6, np.inf)}, "body 'ball': .* v is not finite"),
    ({"v": (0, 1.0)}, "body 'floor': .* it is fixed"),
]


def end_height(state):
    return state.q[9], np.eye(14)[9], None


@pytest.mark.parametrize(("entries", "message"), BAD)
def test_no_entry_of_worlds_takes_a_state_that_cannot_be(entries, message):
    made = world()
    state = spoilt(made.start, **entries)
    how = {"until": state.t + 0.01 if np.isfinite(state.t) else 1.0, "h": 1e-3, "start": state}
    for call in (
        lambda: made.check_state(state),
        lambda: ss.detection.find_overlaps(made, state),
        lambda: ss.simulate(made, **how),
        lambda: ss.differentiate(made, state, h=1e-3),
        lambda: ss.gradient(made, ss.gradients.AtEnd(end_height), **how),
        lambda: ss.sensitivity(made, by="v", **how),
    ):
        with pytest.raises(ss.ModelError, match=message):
            call()


def pendulum():
    body = ss.NewtonEuler("bob", mass=1.0, inertia=[1.0, 1.0, 1.0], q0=(1.0, 0.0, 0.0), force=[0, 0, -9.81])
    pin = ss.Interaction("pin", "bob", ss.joints.BallJoint((0, 0, 0)), ss.laws.Equality(3))
    return ss.NonsmoothSystem([body], [pin])


SYSTEM_BAD = [
    ({"t": np.nan}, r"state\.t is nan"),
    ({"q": (slice(3, 7), [2.0, 0.0, 0.0, 0.0])}, "system 'bob': .* not of length 1"),
    ({"q": (0, np.nan)}, "system 'bob': .* q is not finite"),
    ({"v": (5, np.inf)}, "system 'bob': .* v is not finite"),
]


@pytest.mark.parametrize(("entries", "message"), SYSTEM_BAD)
def test_no_entry_of_systems_takes_a_state_that_cannot_be(entries, message):
    system = pendulum()
    state = spoilt(ss.State(0.0, system.q0, system.v0), **entries)
    kept = ss.simulate(system, until=2e-3, h=1e-3).checkpoint()
    for call in (
        lambda: ss.differentiate(system, state, h=1e-3),
        lambda: ss.gradient(system, ss.gradients.AtEnd(end_height), until=1.0, h=1e-3, start=state),
        lambda: ss.sensitivity(system, by="v", until=1.0, h=1e-3, start=state),
        lambda: ss.simulate(system, until=1.0, start=replace(kept, state=state)),
    ):
        with pytest.raises(ss.ModelError, match=message):
            call()


def test_a_checkpoint_whose_clock_is_not_that_of_its_state_is_refused():
    for system in (world(), pendulum()):
        kept = ss.simulate(system, until=2e-3, h=1e-3).checkpoint()
        for clock in (replace(kept.clock, origin=np.nan), replace(kept.clock, index=17)):
            with pytest.raises(ss.ModelError, match="the clock of the start"):
                ss.simulate(system, until=1.0, start=replace(kept, clock=clock))
        later = replace(kept, state=replace(kept.state, t=np.nan))
        with pytest.raises(ss.ModelError, match=r"state\.t is nan"):
            ss.simulate(system, until=1.0, start=later)


def test_a_memory_that_is_no_number_is_refused():
    system = pendulum()
    kept = ss.simulate(system, until=2e-3, h=1e-3).checkpoint()
    with pytest.raises(ss.ModelError, match="memory of the start: 'r'"):
        ss.simulate(system, until=1.0, start=replace(kept, memory=kept.memory | {"r": np.full(3, np.nan)}))
