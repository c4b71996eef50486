"""The detector: grid and narrow phase joined, ids, determinism, and what it refuses."""

import numpy as np
import pytest

from stickslip.detection.contacts import SLOTS, ContactSet
from stickslip.detection.detector import Detector
from stickslip.detection.general import GeneralDetector
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Capsule, Cuboid, Cylinder, Plane, Sphere
from stickslip.state import ModelError


def soup(seed=0, n=40):
    """Spheres, boxes, capsules and pairs of balls in a heap on a floor, some in a group of ghosts."""
    rng = np.random.default_rng(seed)
    shapes = (
        Sphere(0.3), Cuboid((0.4, 0.5, 0.3)), Capsule(0.15, 0.4), Sphere(0.12),
        Compound((Sphere(0.2), (0.25, 0, 0)), (Sphere(0.15), (-0.25, 0, 0))),
    )  # fmt: skip
    b = WorldBuilder()
    b.material("rubber", mu=0.9, e=0.5)
    b.body("first", shapes[0], position=(0, 0, 0.2))
    b.body("floor", Plane(), fixed=True)
    for k in range(n):
        p = rng.normal(size=4)
        where = {"position": rng.uniform((-1, -1, 0), (1, 1, 1)), "quaternion": p / np.linalg.norm(p)}
        group, material = "ghosts" if k % 7 == 0 else "default", "rubber" if k % 3 else "default"
        b.body(f"b{k}", shapes[k % 5], **where, group=group, material=material)
    b.apart_groups("ghosts", "ghosts")
    b.apart("first", "floor")
    return b.build()


def same(first, second):
    return all(
        getattr(first, field).tobytes() == getattr(second, field).tobytes() for field in ContactSet.__slots__
    )


def test_grid_and_narrow_phase_give_what_the_narrow_phase_gives_alone():
    world = soup()
    joined = Detector(world).find(world.start.q, 0.01)
    alone = GeneralDetector(world, spheres=True).find(world.start.q, 0.01)
    assert len(joined) > 60
    assert np.array_equal(joined.id, alone.id)
    assert np.array_equal(joined.body, alone.body)
    assert np.abs(joined.gap - alone.gap).max() < 1e-12
    assert np.abs(joined.point - alone.point).max() < 1e-12
    assert np.abs(joined.frame[:, 0] - alone.frame[:, 0]).max() < 1e-12
    assert np.array_equal(joined.law, alone.law)


def test_no_pair_is_missed():
    """All bodies at once give the contacts of all pairs alone, also of parts far from the centre of mass."""
    rng = np.random.default_rng(4)
    far = Compound((Cuboid((0.4, 0.5, 0.3)), (1.0, 0, 0)), (Capsule(0.15, 0.4), (-1.0, 0.5, 0)))
    hull = ConvexHull(rng.normal((2.0, 0, 0), 0.3, (20, 3)))
    n, q = 14, rng.normal(size=(14, 7))
    q[:, :3] = rng.uniform(-0.8, 0.8, (n, 3))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]

    def at(*bodies):
        b = WorldBuilder()
        for k in bodies:
            b.body(f"{k}", (far, hull, Cylinder(0.2, 0.5))[k % 3])
        return Detector(b.build()).find(q[list(bodies)].ravel(), 0.02)

    found = at(*range(n))
    alone = [at(j, k) for j in range(n) for k in range(j + 1, n)]
    assert len(found) > 10
    assert sorted(found.gap) == pytest.approx(sorted(np.concatenate([one.gap for one in alone])), abs=1e-9)


def test_ids_increase_and_say_who_touches():
    world = soup()
    found = Detector(world).find(world.start.q, 0.01)
    ns = len(world.shapes.shape)
    assert (np.diff(found.id) > 0).all()
    assert (found.shape[:, 0] < found.shape[:, 1]).all()
    assert np.array_equal(found.id // SLOTS, found.shape[:, 0] * ns + found.shape[:, 1])
    starts = np.diff(found.id // SLOTS, prepend=-1) > 0
    assert (found.id[starts] % SLOTS == 0).all()
    assert np.array_equal(found.body, world.shapes.body[found.shape])


def test_same_q_same_bytes_whatever_came_before():
    world = soup()
    detector = Detector(world)
    first = detector.find(world.start.q, 0.01)
    moved = world.start.q + 0.01 * np.sin(np.arange(world.start.q.size))
    detector.find(moved, 0.1)
    assert same(first, detector.find(world.start.q, 0.01))
    assert same(first, Detector(world).find(world.start.q, 0.01))


def test_a_stack_of_boxes():
    b = WorldBuilder()
    b.body("floor", Plane(), fixed=True)
    for k in range(10):
        b.body(f"b{k}", Cuboid((1, 1, 1)), position=(0, 0, k + 0.5))
    world = b.build()
    found = Detector(world).find(world.start.q, 1e-3)
    assert np.array_equal(found.body, np.repeat([[k, k + 1] for k in range(10)], 4, axis=0))
    assert np.array_equal(found.id % SLOTS, np.tile(np.arange(4), 10))
    assert np.abs(found.gap).max() < 1e-15
    assert np.array_equal(found.frame[:, 0], np.tile([0.0, 0.0, -1.0], (40, 1)))


def test_worlds_of_one_kind_and_of_none():
    b = WorldBuilder()
    b.body("floor", Plane(), fixed=True)
    b.body("ball", Sphere(0.5), position=(0, 0, 0.4))
    world = b.build()
    found = Detector(world).find(world.start.q, 0.0)
    assert found.gap == pytest.approx([-0.1])
    assert not len(Detector(WorldBuilder().build()).find(np.zeros(0), 0.1))


@pytest.mark.parametrize("only_balls", [True, False])
def test_what_cannot_be_is_named(only_balls):
    b = WorldBuilder()
    b.body("ball", Sphere(0.5))
    b.body("other", Sphere(0.5) if only_balls else Cuboid((1, 1, 1)), position=(0, 0, 2))
    world = b.build()
    detector, q = Detector(world), world.start.q.copy()
    q[9] = np.nan
    with pytest.raises(ModelError, match="body 'other': q is"):
        detector.find(q, 0.0)
    with pytest.raises(ModelError, match="expected \\(14,\\)"):
        detector.find(q[:7], 0.0)
    with pytest.raises(ModelError, match="margin"):
        detector.find(world.start.q, np.nan)
