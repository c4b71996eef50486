"""Steps without events that are made together are those that are made one by one."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.compilation import JIT
from stickslip.schemes.step import first_state
from stickslip.solvers import registry
from stickslip.state import State

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")


def ball():
    falling = ss.Lagrangian("ball", M=1.0, q0=0.2, F_ext=lambda t: [-9.81])
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q, 1.0), ss.laws.PoissonImpact(e=0.9))
    return ss.NonsmoothSystem([falling], [floor])


def belt():
    mass = ss.LagrangianLinear("mass", M=1.0, q0=0.0, v0=0.2, K=1.0)
    moving = ss.systems.Rheonomous(lambda t, q: q - 0.1 * t, 1.0, -0.1)
    return ss.NonsmoothSystem([mass], [ss.Interaction("belt", "mass", moving, ss.laws.Relay(0.5))])


def pendulum():
    """A rod whose rows turn, so that it drifts and is brought back, and dry friction beside it."""
    bob = ss.Lagrangian(
        "bob", M=lambda q: np.diag([1.0 + q[0] ** 2, 1.0]), q0=[0.8, -0.6], F_ext=[0.0, -9.81]
    )
    rod = ss.Scleronomous(lambda q: q[0] ** 2 + q[1] ** 2 - 1.0, lambda q: [[2.0 * q[0], 2.0 * q[1]]])
    dry = ss.systems.LagrangianLinearRelation([[1.0, 0.0]])
    ties = [
        ss.Interaction("rod", "bob", rod, ss.laws.Equality()),
        ss.Interaction("dry", "bob", dry, ss.laws.Relay(0.5)),
    ]
    return ss.NonsmoothSystem([bob], ties)


def sphere():
    """Slides in a plane, its direction turning, and rolls."""
    q0, v0 = (0.0, 0.0, 0.1), (1.0, 0.3, 0.0, 0.0, 3.0, 1.0)
    one = ss.NewtonEuler("s", mass=1.0, inertia=[0.004] * 3, q0=q0, v0=v0, force=[0.0, 0.0, -9.81])
    law = ss.NewtonImpact(mu=0.3)
    return ss.NonsmoothSystem([one], [ss.Interaction("floor", "s", ss.systems.SpherePlane(0.1), law)])


MODELS = {
    "ball": (ball, 1e-3, 400),
    "belt": (belt, 1e-2, 300),
    "pendulum": (pendulum, 1e-2, 60),
    "sphere": (sphere, 1e-3, 250),
}


@pytest.mark.parametrize("name", MODELS)
def test_they_equal_the_steps_one_by_one(name):
    make, h, steps = MODELS[name]
    system, scheme, solver = make(), ss.schemes.EventDriven(), registry.make("auto")
    state, made, together = first_state(system), 0, 0
    memory = scheme.begin(system, state, h)
    while made < steps:
        found = scheme.march(system, state, memory, h, steps - made, 1e-10)
        assert found is not None
        for k in range(len(found)):
            step = scheme.step(system, state, memory, h, solver)
            assert step.events == ()
            for column, other, close in (
                ("q", step.state.q, 1e-11), ("v", step.state.v, 1e-10), ("r", step.r, 1e-10),
                ("u", step.u, 1e-10), ("y", step.y, 1e-11), ("forecast", step.forecast, 1e-11),
            ):  # fmt: skip
                np.testing.assert_allclose(getattr(found, column)[k], other, rtol=1e-9, atol=close)
            np.testing.assert_array_equal(found.active[k], step.active)
            assert found.memories.keys() == step.memory.keys()
            for part in ("mode", "direction", "hits", "until"):
                np.testing.assert_array_equal(found.memories[part][k], step.memory[part])
            np.testing.assert_allclose(found.memories["lam"][k], step.memory["lam"], rtol=1e-6, atol=1e-8)
            assert found.measures.keys() == step.measures.keys()
            for part, value in step.measures.items():
                assert found.measures[part][k] == pytest.approx(value, abs=1e-10)
            state = State(float(found.t[k]), found.q[k], found.v[k], found.z[k])
            memory = {part: np.array(rows[k]) for part, rows in found.memories.items()}
        made, together = made + len(found), together + len(found)
        if made < steps:
            step = scheme.step(system, state, memory, h, solver)
            state, memory, made = step.state, step.memory, made + 1
    assert together >= 0.9 * steps


@pytest.mark.parametrize("record", [1, 7])
def test_runs_sum_up_and_go_on_bit_for_bit(record):
    whole = ss.simulate(belt(), until=3.0, h=1e-2, scheme="event-driven", record=record)
    start = whole.checkpoint(11)
    rest = ss.simulate(belt(), until=3.0, scheme="event-driven", start=start, record=record)
    for name in ("t", "q", "v", "r", "u", "y", "contact_work"):
        np.testing.assert_array_equal(getattr(whole, name)[12:], getattr(rest, name)[1:], err_msg=name)
    each = ss.simulate(
        belt(), until=3.0, h=1e-2, scheme=ss.schemes.EventDriven(method="DOP853", max_step=1e299)
    )
    assert whole.contact_work[-1] == pytest.approx(each.contact_work[-1], rel=1e-9)
    assert [one.kind for one in whole.events] == [one.kind for one in each.events]


def test_what_fails_in_a_function_is_told_and_the_steps_before_are_kept():
    def force(t):
        if t > 0.1:
            raise ValueError("no more")
        return [-1.0]

    system = ss.NonsmoothSystem([ss.Lagrangian("mass", M=1.0, q0=1.0, F_ext=force)])
    with pytest.raises(ValueError, match="no more") as caught:
        ss.simulate(system, until=1.0, h=1e-2, scheme="event-driven")
    assert caught.value.trajectory.t[-1] == pytest.approx(0.09, abs=0.011)
