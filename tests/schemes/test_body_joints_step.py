"""Steps of worlds with joints: pendulums, stops and their impulses beside contacts."""

import numpy as np
import pytest

from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane, Sphere
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.schemes.body_world import PreparedWorld
from stickslip.solvers.registry import make


def carry(world, h, steps, scheme=None):
    """The steps from the start of a world."""
    scheme, solver, prepared = (
        scheme or SemiExplicitMoreauJean(),
        make("auto", tolerance=1e-10),
        PreparedWorld(world),
    )
    state, memory, done = world.start, scheme.begin(prepared, world.start, h), []
    for _ in range(steps):
        done.append(scheme.step(prepared, state, memory, h, solver))
        state, memory = done[-1].state, done[-1].memory
    assert all(step.ok for step in done)
    return done


def test_pendulum_swings_with_its_period_and_stays_closed():
    """A small swing of a bar about its end: T = 2π sqrt(I / (m g L / 2)), I = m (4 L² + b²) / 12."""
    length, angle, h = 1.0, 0.02, 5e-3
    builder = WorldBuilder()
    x, z = 0.5 * length * np.sin(angle), -0.5 * length * np.cos(angle)
    builder.body(
        "bar", Cuboid((0.05, 0.05, length)), mass=1.0, position=(x, 0.0, z),
        quaternion=(np.cos(angle / 2), 0.0, -np.sin(angle / 2), 0.0),
    )  # fmt: skip
    builder.joint("pivot", "hinge", "bar", None, point=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
    period = 2.0 * np.pi * np.sqrt((4.0 * length**2 + 0.05**2) / 12.0 / (9.81 * 0.5 * length))
    done = carry(builder.build(), h, int(3.0 * period / h))
    assert max(step.opening for step in done) < 1e-7
    assert max(abs(step.energy.balance) for step in done) < 1e-14
    swing = np.array([step.state.q[0] for step in done])
    down = [k for k in range(1, swing.size) if swing[k - 1] > 0.0 >= swing[k]]
    zeros = [h * (k + swing[k - 1] / (swing[k - 1] - swing[k])) for k in down]
    np.testing.assert_allclose(np.diff(zeros), period, rtol=1e-4)
    energy = [step.energy.kinetic + step.energy.potential for step in done]
    span = energy[0] + 9.81 * 0.5 * length
    assert abs(energy[-1] - energy[0]) < 1e-2 * span
    assert sum(step.energy.lifted for step in done) <= sum(step.energy.dissipated for step in done) + 1e-15


def test_impulses_of_a_joint_bear_the_weight_and_continue():
    """A ball on the floor, and one that hangs from it by a slider with a stop: the floor bears both."""
    builder = WorldBuilder()
    builder.body("floor", Plane(), fixed=True)
    builder.body("ball", Sphere(0.5), mass=2.0, position=(0.0, 0.0, 0.5))
    builder.body("rider", Sphere(0.1), mass=1.0, position=(0.0, 0.0, 1.2))
    builder.joint(
        "rod", "slider", "rider", "ball", point=(0.0, 0.0, 1.2), axis=(0.0, 0.0, 1.0), limits=(0.0, None)
    )
    h = 1e-3
    done = carry(builder.build(), h, 50)
    last = done[-1]
    assert last.r[0, 0] == pytest.approx(3.0 * 9.81 * h, rel=1e-6)
    assert np.abs(last.state.v).max() < 1e-8
    assert last.joint_r.max() == pytest.approx(9.81 * h, rel=1e-6)  # the stop
    # The last impulses are an answer, and made better by sweeps over 3 blocks; from zero it takes the solver.
    assert all(step.solves[0].tried[-1].solver == "nsgs" for step in done[3:])
    assert max(step.iterations for step in done[3:]) <= 200
