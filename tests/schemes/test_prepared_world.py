"""Worlds stay plain values; what steps make of one is held beside it, and made once."""

from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

import stickslip as ss
from stickslip.detection.detector import Detector
from stickslip.detection.general import GeneralDetector
from stickslip.gradients.trajectory_steps import with_inputs
from stickslip.mechanics.parameters import Parameters
from stickslip.schemes.body_world import Bodies, PreparedWorld
from stickslip.schemes.variational_contacts import StepShapes
from stickslip.schemes.variational_start import StepStops
from stickslip.solvers import registry

PARTS = (Bodies, Detector, GeneralDetector, StepShapes, StepStops)
LOSS = ss.gradients.AtEnd(lambda state: (state.q[0], np.zeros(21), None))


def cart():
    """A cart on a rail with stops, which a motor pushes, and a box that falls on a floor."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.12))
    b.body("cart", ss.Sphere(0.1), position=(2, 0, 1), mass=1.5, velocity=(0.2, 0, 0))
    b.joint("rail", "slider", "cart", None, point=(2, 0, 1), axis=(1, 0, 0), limits=(-0.5, 0.5), e=0.5)
    b.force(ss.forces.Actuator("motor", "rail", 0.3))
    b.apart("box", "cart")
    return b.build()


def inputs(steps):
    """An effort and a wrench on the box and the cart for each step."""
    wrench = np.ones((steps, 3, 6))
    wrench[:, 0] = 0.0
    return {"effort": np.ones((steps, 1)), "wrench": wrench}


@pytest.fixture
def made(monkeypatch):
    """How often each part was made."""
    count = Counter()

    def count_calls(kind, verb):
        first = getattr(kind, verb)

        def counted(*given, **more):
            count[kind] += 1
            return first(*given, **more)

        monkeypatch.setattr(kind, verb, counted)

    for kind in PARTS:
        count_calls(kind, "__init__")
    count_calls(Parameters, "of")
    return count


def is_plain(world):
    return set(vars(world)) == {one.name for one in fields(world)}


@pytest.mark.parametrize("scheme", ["moreau-jean-semi-explicit", "variational"])
def test_a_world_is_its_fields_whatever_was_done_with_it(scheme):
    world = cart()
    assert is_plain(world)
    run = ss.simulate(world, until=0.05, h=5e-3, scheme=scheme)
    ss.simulate(world, until=0.1, h=5e-3, scheme=scheme, start=run.checkpoint())
    ss.differentiate(world, h=5e-3, scheme=scheme).jacobian("v", "mu")
    ss.sensitivity(world, until=0.02, h=5e-3, scheme=scheme, by=("e",))
    ss.gradient(world, LOSS, until=0.02, h=5e-3, scheme=scheme, by=("effort",), controls=inputs(4))
    ss.detection.find_overlaps(world, world.start)
    world.body("cart")
    assert is_plain(world)


@pytest.mark.parametrize("scheme", ["moreau-jean-semi-explicit", "variational"])
def test_nothing_is_made_twice_in_a_run(scheme, made):
    ss.simulate(cart(), until=0.05, h=5e-3, scheme=scheme)
    assert made[Bodies] == made[Detector] == made[GeneralDetector] == 1
    assert made[StepShapes] == (scheme == "variational")
    assert max(made.values()) == 1


@pytest.mark.parametrize("scheme", ["moreau-jean-semi-explicit", "variational"])
def test_nothing_is_made_twice_in_a_gradient(scheme, made):
    ss.gradient(cart(), LOSS, until=0.02, h=5e-3, scheme=scheme, by=("effort", "mu"), controls=inputs(4))
    assert made[Parameters] == 1
    assert set(made.values()) == {1}


@pytest.mark.parametrize(
    "scheme", [ss.schemes.SemiExplicitMoreauJean(correction=False), ss.schemes.VariationalBodies()]
)
def test_steps_by_hand_share_what_is_given_and_do_the_same_without(scheme, made):
    world, solver, h = cart(), registry.make("auto", tolerance=1e-9), 5e-3
    prepared = PreparedWorld(world)
    state, memory = world.start, scheme.begin(prepared, world.start, h)
    for _ in range(5):
        step = scheme.step(prepared, state, memory, h, solver)
        ss.differentiate(prepared, state, memory=memory, h=h, scheme=scheme)
        state, memory = step.state, step.memory
    assert set(made.values()) == {1}
    alone = scheme.step(world, world.start, scheme.begin(world, world.start, h), h, solver)
    again = scheme.step(prepared, world.start, scheme.begin(prepared, world.start, h), h, solver)
    assert alone.state.q.tobytes() == again.state.q.tobytes()
    assert made[Bodies] > 1


def test_other_forces_leave_everything_else(made):
    prepared = PreparedWorld(cart())
    pushed = with_inputs(prepared, {name: value[0] for name, value in inputs(1).items()})
    for part in ("detector", "shapes", "stops"):
        assert getattr(pushed, part) is getattr(prepared, part)
    assert set(made.values()) == {1}
    fresh = PreparedWorld(pushed.world)
    assert pushed.bodies.forced == fresh.bodies.forced
    assert pushed.bodies.rates == fresh.bodies.rates
    for table, same in zip(pushed.bodies.forces, fresh.bodies.forces, strict=True):
        for one, other in zip(table, same, strict=True):
            assert np.array_equal(one, other)
    for name in Parameters.names():
        assert np.array_equal(getattr(pushed.parameters, name), getattr(fresh.parameters, name))
    assert not prepared.parameters.wrench.any()
