"""Moments on bodies that spin: of second order in the step, whatever they come from."""

import numpy as np
import pytest

from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.energy import momentum
from stickslip.mechanics.forces import BodyForce, Damper, Spring
from stickslip.mechanics.shapes import Cuboid, Plane, Sphere
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.schemes.body_world import PreparedWorld
from stickslip.solvers.registry import make

TURNS = np.array([0.0, 0.0, 200.0])


def carried(world, until, h):
    """The steps to that time."""
    scheme, solver, prepared = SemiExplicitMoreauJean(), make("auto", tolerance=1e-11), PreparedWorld(world)
    state, memory, done = world.start, scheme.begin(prepared, world.start, h), []
    for _ in range(round(until / h)):
        done.append(scheme.step(prepared, state, memory, h, solver))
        state, memory = done[-1].state, done[-1].memory
    assert all(step.ok for step in done)
    return done


def order(build, until, steps):
    """Orders of convergence of q at the end, from three lengths of the step, each half of the one before."""
    ends = [carried(build(), until, until / (steps * 2**k))[-1].state.q for k in range(3)]
    return np.log2(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max())


def top(held):
    """A disc at the end of an arm of no mass, that spins and leans; held by a joint, or by a moment."""
    builder = WorldBuilder()
    lean = 0.5
    axis = np.array([np.sin(lean), 0.0, np.cos(lean)])
    quaternion = (np.cos(0.5 * lean), 0.0, np.sin(0.5 * lean), 0.0)
    builder.body(
        "disc", None, mass=1.0, inertia=(4e-4, 4e-4, 6e-4), position=0.05 * axis, quaternion=quaternion,
        spin=TURNS[2] * axis,
    )  # fmt: skip
    if held == "ball":
        builder.joint("tip", "ball", "disc", None, point=(0.0, 0.0, 0.0))
    else:
        builder.force(BodyForce("pull", "disc", force=(0.0, 0.0, 9.81), point=(0.0, 0.0, 0.0)))
    return builder.build()


@pytest.mark.parametrize("held", ["ball", "force"])
def test_a_heavy_top_is_of_second_order(held):
    assert order(lambda: top(held), 0.04, 40) > 1.8


def test_a_moment_in_space_changes_momentum_in_space():
    """A constant inertial moment on a tumbling body: R J Ω grows by it times time, to rounding."""
    builder = WorldBuilder(gravity=(0.0, 0.0, 0.0))
    builder.body("box", Cuboid((0.1, 0.2, 0.3)), mass=1.0, spin=(3.0, 40.0, 5.0))
    moment = np.array([0.1, 0.02, -0.05])
    builder.force(BodyForce("motor", "box", moment=moment))
    world = builder.build()
    end = carried(world, 0.2, 2e-3)[-1].state
    gained = momentum(world, end.q, end.v)[1] - momentum(world, world.start.q, world.start.v)[1]
    np.testing.assert_allclose(gained, 0.2 * moment, atol=1e-12 * np.abs(moment).max())


def test_an_impact_of_spinning_bodies_keeps_both_momenta():
    """Impulses act where the bodies are: linear and angular momentum to rounding, whatever the inertia."""
    builder = WorldBuilder(gravity=(0.0, 0.0, 0.0))
    builder.material("default", mu=0.4, e=0.6)
    builder.body("box", Cuboid((0.1, 0.2, 0.3)), spin=(3.0, 40.0, 5.0), velocity=(1.0, 0.0, 0.0))
    builder.body("plank", Cuboid((0.05, 0.4, 0.4)), position=(0.3, 0.1, 0.1), spin=(0.0, 5.0, -7.0))
    world = builder.build()
    done = carried(world, 0.3, 1e-3)
    assert sum(bool(len(step.contacts)) for step in done) > 0
    start, end = (momentum(world, s.q, s.v) for s in (world.start, done[-1].state))
    np.testing.assert_allclose(end[0], start[0], atol=1e-12 * np.abs(start[0]).max())
    np.testing.assert_allclose(end[1], start[1], atol=1e-11 * np.abs(start[1]).max())


def test_springs_and_dampers_at_a_kinematic_body_are_in_the_account():
    """A body towed by a spring and a damper from one that moves: the tow works, and the balance closes."""
    builder = WorldBuilder(gravity=(0.0, 0.0, 0.0))
    builder.body("tug", None, motion=((1.0, 0.0, 0.0), (0.0, 0.0, 2.0)))
    builder.body("boat", Sphere(0.1), mass=1.0, position=(-1.0, 0.0, 0.0))
    builder.force(Spring("line", "tug", "boat", stiffness=50.0, damping=1.0, first_point=(0.0, 0.3, 0.0)))
    builder.force(Damper("drag", "boat", "tug", linear=0.5, angular=0.1))
    sums = []
    for h in (2e-3, 1e-3):
        done = carried(builder.build(), 1.0, h)
        sums.append(abs(sum(step.energy.balance for step in done)))
        assert sum(step.energy.work for step in done) > 0.5
    assert sums[0] < 1e-4
    assert sums[1] < 0.3 * sums[0]


def test_friction_on_a_spinning_ball_keeps_jelletts_integral():
    """Friction at a point keeps momentum times the arm to that point, for a ball with a low centre."""
    radius, low, about = 0.02, 0.004, 3.2e-6
    builder = WorldBuilder()
    builder.material("default", mu=0.3)
    builder.body("floor", Plane(), fixed=True)
    lean = 0.5
    builder.body(
        "top", Sphere(radius), mass=0.02, inertia=(0.95 * about, 0.95 * about, about),
        centre=(0.0, 0.0, -low), position=(0.0, 0.0, radius),
        quaternion=(np.cos(0.5 * lean), 0.0, np.sin(0.5 * lean), 0.0),
        spin=150.0 * np.array([np.sin(lean), 0.0, np.cos(lean)]),
    )  # fmt: skip
    world = builder.build()

    def jellett(state):
        centre = state.q[7:10]
        at = world.pose(state, "top")[0] - np.array([0.0, 0.0, radius])
        spin = world.velocity(state, "top")[1]
        axis = (centre - world.pose(state, "top")[0]) / -low
        around = 0.95 * about * spin + 0.05 * about * (spin @ axis) * axis
        return around @ (centre - at)

    first, lost = jellett(world.start), []
    for h in (2e-4, 1e-4):
        lost.append(abs(jellett(carried(world, 0.02, h)[-1].state) / first - 1.0))
    assert lost[0] < 2e-5
    assert lost[1] < 0.7 * lost[0]
