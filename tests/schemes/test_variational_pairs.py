"""The variational scheme with all pairs of shapes: nothing penetrates; what rolls, stands, slides does so."""

import numpy as np
import pytest
from pair_worlds import SHAPES, about_to_touch

import stickslip as ss
from stickslip.detection.detector import Detector

G = 9.81
LYING = ss.rotation((0.0, 1.0, 0.0), np.pi / 2)


def on_table(shape, position, mu=0.5, e=0.0, ground=None, **more):
    builder = ss.WorldBuilder()
    builder.material("default", mu=mu, e=e)
    builder.body("table", ss.Cuboid((2.0, 2.0, 0.2)) if ground is None else ground, fixed=True)
    builder.body("top", shape, position=position, mass=1.0, **more)
    return builder.build()


def run(world, until, h=0.01, deepest=1e-8):
    """A run in which nothing penetrates, in the eyes of detection too."""
    found = ss.simulate(world, until=until, h=h, scheme="variational")
    assert found.ok.all()
    assert found.penetration.max() <= deepest
    detector = Detector(world)
    assert min(detector.find(q, 0.0).gap.min(initial=0.0) for q in found.q) >= -max(deepest, 1e-7)
    return found


@pytest.mark.parametrize(
    ("upper", "lower", "seed"),
    [("box", "box", 0), ("capsule", "box", 1), ("cylinder", "box", 1), ("ellipsoid", "box", 2),
     ("hull", "hull", 1), ("box", "field", 0), ("cylinder", "field", 1), ("cylinder", "cylinder", 0),
     ("ellipsoid", "ellipsoid", 1), ("cylinder", "plane", 2), ("hull", "ellipsoid", 0)],
)  # fmt: skip
def test_nothing_penetrates(upper, lower, seed):
    found = run(about_to_touch(upper, lower, seed, e=0.3), 0.25, deepest=1e-7)
    assert found.contacts.r[:, 0].max() > 0.01
    assert np.abs(found.balance).max() < 0.02 * np.abs(found.energy).max()


def test_a_heap_of_all_shapes():
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    for k, name in enumerate(("box", "cylinder", "capsule", "ellipsoid", "ball", "hull")):
        turn = ss.rotation((1.0, k, 2.0), 0.7 * k)
        builder.body(
            name,
            SHAPES[name],
            position=(0.02 * k, 0.03, 0.3 + 0.42 * k),
            quaternion=turn,
            velocity=(0, 0, -3),
        )
    found = run(builder.build(), 0.8, deepest=2e-6)
    assert len({tuple(pair) for pair in found.contacts.body}) > 6


@pytest.mark.parametrize(("shape", "inertia"), [(ss.Capsule(0.05, 0.2), None), (ss.Cylinder(0.05, 0.2), 0.5)])
def test_what_is_pushed_sideways_rolls(shape, inertia):
    """Sliding friction turns a part of the speed into spin: v / (1 + J / (m r²)) is left."""
    world = on_table(shape, (0.0, 0.0, 0.15), quaternion=LYING, velocity=(0.0, 0.4, 0.0))
    J = world.inertia[1, 2, 2]
    share = J / 0.05**2 if inertia is None else inertia
    found = run(world, 0.6)
    speed = 0.4 / (1.0 + share)
    assert found.v[-1, 7] == pytest.approx(speed, rel=1e-3)
    assert np.abs(found.v[-1, 9:]).max() == pytest.approx(speed / 0.05, rel=1e-3)
    assert found.body("top").position[-1, 2] == pytest.approx(0.15, abs=1e-8)


@pytest.mark.parametrize("ground", [None, ss.Plane()])
def test_a_cylinder_stands(ground):
    top = 0.1 if ground is None else 0.0
    found = run(on_table(ss.Cylinder(0.05, 0.2), (0.0, 0.0, 0.1 + top), ground=ground), 0.2)
    assert np.abs(found.q[-1] - found.q[0]).max() < 1e-9
    np.testing.assert_allclose(found.forces_on("top")[-1], [0.0, 0.0, G], atol=1e-5)


def test_a_cylinder_that_leans_comes_to_stand():
    """The lowest point of its rim goes round; it ends flat on the table."""
    found = run(
        on_table(ss.Cylinder(0.1, 0.1), (0.0, 0.0, 0.17), quaternion=ss.rotation((1.0, 0.3, 0.0), 0.15)), 1.0
    )
    assert found.body("top").position[-1, 2] == pytest.approx(0.15, abs=1e-6)


def test_an_ellipsoid_rocks_without_losing_energy():
    """Rolling without slip: weight and contact do no work."""
    world = on_table(
        SHAPES["ellipsoid"], (0.0, 0.0, 0.1), mu=2.0, ground=ss.Plane(),
        quaternion=ss.rotation((0.0, 1.0, 0.0), 0.3),
    )  # fmt: skip
    down = ss.rotations.matrices(world.start.q[10:14])[2]
    height = np.linalg.norm(down * SHAPES["ellipsoid"].radii)
    found = run(on_table(
        SHAPES["ellipsoid"], (0.0, 0.0, height), mu=2.0, ground=ss.Plane(),
        quaternion=ss.rotation((0.0, 1.0, 0.0), 0.3),
    ), 1.5, h=5e-3)  # fmt: skip
    swing = np.ptp(found.body("top").position[:, 0])
    assert swing > 0.02
    lost = G * (height - 0.1)
    assert np.abs(found.energy - found.energy[0]).max() < 0.05 * lost


def test_a_box_slides_over_an_edge_and_falls():
    world = on_table(ss.Cuboid((0.2, 0.2, 0.2)), (0.85, 0.0, 0.2), mu=0.1, velocity=(1.0, 0.0, 0.0))
    found = run(world, 0.6)
    x, _, z = found.body("top").position.T
    assert (z[x < 0.99] > 0.2 - 1e-8).all()
    assert z[-1] < 0.0


def test_a_box_that_falls_beside_a_table_does_not_feel_it():
    """Closer to it than it falls in a step."""
    world = on_table(ss.Cuboid((0.2, 0.2, 0.2)), (1.105, 0.0, 0.3), velocity=(0.0, 0.0, -5.0))
    found = run(world, 0.2)
    assert found.v[-1, 8] == pytest.approx(-5.0 - G * 0.195, abs=1e-9)
    assert not found.contacts.r.any()


def test_logs_lie_on_logs():
    """Parallel cylinders touch along lines, which their ends hold."""
    builder = ss.WorldBuilder()
    builder.material("default", mu=0.6)
    builder.body("floor", ss.Plane(), fixed=True)
    for k, (y, z) in enumerate([(-0.05, 0.05), (0.05, 0.05), (0.0, 0.05 + 0.05 * np.sqrt(3.0))]):
        builder.body(f"log {k}", ss.Cylinder(0.05, 0.4), position=(0.02 * k, y, z), quaternion=LYING)
    found = run(builder.build(), 0.1)
    assert np.abs(found.q[-1] - found.q[0]).max() < 1e-6


def test_a_ball_bounces_on_the_edge_of_a_box():
    """Straight above the edge, as high as e² says."""
    world = on_table(
        ss.Sphere(0.05), (0.0, 0.0, 0.15 + 0.1), e=0.5, mu=0.0,
        ground=ss.Cuboid((0.2 / np.sqrt(2.0), 1.0, 0.2 / np.sqrt(2.0))),
    )  # fmt: skip
    turned = on_table(
        ss.Sphere(0.05), (0.0, 0.0, 0.15 + 0.1), e=0.5, mu=0.0, ground=ss.Cuboid((0.3, 1.0, 0.2))
    )
    for one, top in ((world, 0.1 / np.sqrt(2.0)), (turned, 0.1)):
        found = run(one, 0.36, h=1e-3)
        height = found.body("top").position[:, 2] - 0.05 - top
        fall = float(height[0])
        after = height[found.t > np.sqrt(2.0 * fall / G) + 0.005]
        assert after.max() == pytest.approx(0.25 * fall, rel=0.05)
