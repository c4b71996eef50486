"""Numbers of a world, taken out and put back."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.mechanics.parameters import Parameters


@pytest.fixture(scope="module")
def world():
    b = ss.WorldBuilder()
    b.material("ice", mu=0.1, e=0.2)
    b.body("floor", ss.Plane(), fixed=True)
    b.body("box", ss.Cuboid((0.1, 0.2, 0.3)), position=(0.0, 0.0, 0.25), material="ice")
    b.body("pill", ss.Capsule(0.1, 0.4), position=(1.0, 0.0, 0.5))
    b.body("ball", ss.Sphere(0.1), position=(2.0, 0.0, 0.2), material="ice")
    b.joint("pin", "hinge", "pill", point=(1.0, 0.0, 0.7), axis=(0, 1, 0))
    b.force(ss.forces.Actuator("motor", "pin", 0.5))
    b.force(ss.forces.Actuator("brake", "pin", lambda velocity: -velocity))
    return b.build()


def test_a_world_with_its_own_numbers_is_the_same_world(world):
    same = Parameters.of(world).applied(world)
    for name in ("mass", "inertia", "M", "gravity"):
        np.testing.assert_array_equal(getattr(same, name), getattr(world, name))
    for name in ("mu", "mu_roll", "mu_spin", "e"):
        np.testing.assert_array_equal(getattr(same.materials, name), getattr(world.materials, name))
    assert same.shapes.shape == world.shapes.shape
    ours, theirs = (ss.simulate(one, until=0.05, h=1e-3) for one in (world, same))
    assert ours.q.tobytes() == theirs.q.tobytes()


def test_sizes_and_pairs_stand_in_the_order_of_the_world(world):
    p = Parameters.of(world)
    np.testing.assert_array_equal(p.size, [0.1, 0.2, 0.3, 0.1, 0.4, 0.1])
    np.testing.assert_array_equal(world.materials.pairs, [[0, 0], [0, 1], [1, 1]])
    np.testing.assert_allclose(p.mu, [0.5, np.sqrt(0.05), 0.1])
    assert p.effort.tolist() == [0.5], "an effort that is a function is no input"
    assert p.sizes["wrench"] == 24


def test_new_numbers_arrive_where_they_belong(world):
    p = Parameters.of(world)
    changed = p.with_(size=2.0 * p.size, effort=[3.0], mu=[0.2, 0.3, 0.4]).applied(world)
    assert changed.shapes.shape[1:] == (ss.Cuboid((0.2, 0.4, 0.6)), ss.Capsule(0.2, 0.8), ss.Sphere(0.2))
    assert changed.materials.mu.tolist() == [[0.2, 0.3], [0.3, 0.4]]
    assert Parameters.of(changed).effort.tolist() == [3.0]
    assert world.shapes.shape[1] == ss.Cuboid((0.1, 0.2, 0.3))


def test_a_wrench_pushes_and_turns_as_newton_and_euler_say(world):
    p = Parameters.of(world)
    wrench = p.wrench.copy()
    wrench[3] = (1.0, 0.0, 0.0, 0.0, 0.0, 1e-3)
    run = ss.simulate(p.with_(wrench=wrench, gravity=np.zeros(3)).applied(world), until=0.1, h=1e-3)
    v = run.v[-1].reshape(-1, 6)[3]
    np.testing.assert_allclose(v[:3], [0.1 / world.mass[3], 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(v[3:], [0.0, 0.0, 1e-4 / world.inertia[3, 2, 2]], atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mass": [0.0, -1.0, 1.0, 1.0]}, "body 'box': mass is -1.0 kg"),
        ({"mass": [1.0, 1.0, 1.0, 1.0]}, "body 'floor' is not dynamic"),
        ({"mu": [0.1, -0.1, 0.1]}, "parameter mu"),
        ({"e": [0.1, 1.1, 0.1]}, "parameter e of pair 1 is 1.1; restitution must lie in [0, 1]"),
        ({"size": np.zeros(6)}, "above 0"),
        ({"size": [1.0]}, "parameter size has shape (1,), expected (6,)"),
        ({"frictoin": [1.0]}, "unknown parameter 'frictoin'; known: gravity, mass"),
        ({"mu": ["a", "b", "c"]}, "expected numbers"),
        ({"mu": [np.nan, 0.1, 0.1]}, "not finite"),
    ],
)
def test_what_cannot_be_is_refused_by_name(world, changes, words):
    with pytest.raises(ss.ModelError) as caught:
        Parameters.of(world).with_(**changes).applied(world)
    assert words in str(caught.value)


def test_numbers_of_another_world_are_refused(world):
    b = ss.WorldBuilder()
    b.body("ball", ss.Sphere(0.1))
    with pytest.raises(ss.ModelError, match="this world has"):
        Parameters.of(world).applied(b.build())


def test_lengths_of_round_and_pointed_shapes_stretch_them():
    """Mass and inertia stay: numbers are independent of each other."""
    points = 0.1 * np.random.default_rng(0).normal(size=(12, 3))
    b = ss.WorldBuilder()
    b.body("ground", ss.shapes.HeightField(0.1 * np.eye(3), (2.0, 3.0)), fixed=True)
    b.body("can", ss.Cylinder(0.1, 0.4), position=(0, 0, 1.0))
    b.body("egg", ss.shapes.Ellipsoid((0.1, 0.2, 0.3)), position=(1, 0, 1.0))
    b.body("stone", ss.shapes.ConvexHull(points), position=(2, 0, 1.0))
    world = b.build()
    p = Parameters.of(world)
    stone = world.shapes.shape[3]
    np.testing.assert_array_equal(p.size, [2.0, 3.0, 0.1, 0.4, 0.1, 0.2, 0.3, *stone.size])
    new = p.with_(size=p.size * np.array([1.0, 1.0, 2.0, 1.0, 1.0, 4.0, 1.0, 1.0, 1.0, 0.5])).applied(world)
    assert new.shapes.shape[:3] == (
        world.shapes.shape[0],
        ss.Cylinder(0.2, 0.4),
        ss.shapes.Ellipsoid((0.1, 0.8, 0.3)),
    )
    ours, theirs = (
        np.unique(one, axis=0) for one in (new.shapes.shape[3].vertices, stone.vertices * (1, 1, 0.5))
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)
    np.testing.assert_array_equal(new.inertia, world.inertia)
