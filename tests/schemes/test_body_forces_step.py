"""Springs and dampers in steps of worlds: ends that are driven, steps that are too long, bodies at rest."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.mechanics.energy import momentum

ABOVE = (0.1, 0.0, 1.0)


def weighed(mass=1.0):
    """A ball above nothing, and a driven one."""
    builder = ss.WorldBuilder()
    builder.body(
        "hand", ss.Sphere(0.05), position=(0, 0, 1), motion=lambda t: ((0, 0, np.sin(9 * t)), (0, 1, 0))
    )
    builder.body("ball", ss.Sphere(0.1), mass=mass, position=(0.1, 0, 0.5))
    return builder


def test_what_a_driven_end_of_springs_and_dampers_gives_is_work():
    off = []
    for h in (2e-3, 1e-3):
        builder = weighed()
        builder.force(
            ss.forces.Spring("s", "ball", "hand", stiffness=200.0, damping=3.0, second_point=(0, 0, 1.02))
        )
        builder.force(ss.forces.Damper("d", "ball", "hand", linear=2.0, angular=1e-3))
        run = ss.simulate(builder.build(), until=0.2, h=h)
        off.append(np.abs(np.diff(run.balance)).max())
        assert np.ptp(run.work) > 0.1
        assert np.diff(run.dissipated).min() >= 0.0
    assert off[1] < off[0] / 6.0  # O(h³) per step
    assert off[0] < 2e-5


@pytest.mark.parametrize(
    ("force", "words"),
    [
        (
            lambda m: ss.forces.Spring("s", "ball", stiffness=4.2e6 * m, second_point=ABOVE, length=0.49),
            "springs make",
        ),
        (
            lambda m: ss.forces.Spring("s", "ball", stiffness=0.0, damping=2.2e3 * m, second_point=ABOVE),
            "dampers give",
        ),
        (lambda m: ss.forces.Damper("d", "ball", linear=2.2e3 * m), "dampers"),
    ],
)
def test_a_step_that_is_too_long_for_a_force_says_so(force, words):
    h, mass = 1e-3, 2.0
    for share, bad in ((1.0, True), (0.25, False)):
        builder = weighed(mass)
        builder.force(force(share * mass))
        world = builder.build()
        if bad:
            with pytest.raises(ss.SimulationFailure, match=words):
                ss.simulate(world, until=0.05, h=h)
            assert ss.simulate(world, until=0.004, h=h, on_failure="halve").ok.all()
        else:
            assert ss.simulate(world, until=0.05, h=h).ok.all()


def test_a_stiff_spring_may_press_a_body_on_the_floor():
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("box", ss.Cuboid((0.1, 0.1, 0.1)), position=(0, 0, 0.05), mass=1.0)
    builder.force(ss.forces.Spring("s", "box", stiffness=1e8, second_point=(0, 0, -0.5), length=0.5))
    assert ss.simulate(builder.build(), until=0.01, h=1e-3).ok.all()


def test_what_rounding_leaves_of_a_joint_ends_as_nothing():
    """Without gravity the impulses of joints fall by 1e-15 in every step, beyond what can be squared."""
    builder = ss.WorldBuilder(gravity=(0, 0, 0))
    builder.body("sled", ss.Cuboid((0.5, 0.1, 0.02)), position=(0.25, 0, 0), velocity=(2, 0, 0))
    builder.joint("rail", "slider", "sled", point=(0, 0, 0), axis=(1, 0, 0.3))
    run = ss.simulate(builder.build(), until=0.06, h=2e-3)
    assert run.ok.all()
    along = np.array([1.0, 0.0, 0.3]) / np.hypot(1.0, 0.3)
    np.testing.assert_allclose(run.body("sled").velocity[-1], 2.0 * along[0] * along, atol=1e-14)


def test_a_spinning_box_in_a_world_keeps_its_momentum_while_its_spin_turns():
    """About the axis in the middle, where spin does not last: a step without the gyroscopic term keeps it."""
    builder = ss.WorldBuilder(gravity=(0, 0, 0))
    builder.body("box", ss.Cuboid((0.1, 0.2, 0.3)), spin=(0.05, 6.0, 0.05))
    world = builder.build()
    run = ss.simulate(world, until=3.0, h=1e-2)
    start, end = (momentum(world, run.q[k], run.v[k])[1] for k in (0, -1))
    np.testing.assert_allclose(end, start, atol=1e-12 * np.abs(start).max())
    assert run.v[:, 4].min() < -5.0
