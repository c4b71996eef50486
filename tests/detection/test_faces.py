"""Faces that lie on each other: all corners of their common polygon, also where rounding tilts them."""

import collections
from typing import Any

import numpy as np
import pytest

from stickslip import scenes
from stickslip.detection.detector import Detector
from stickslip.detection.polyhedra import faces
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Cuboid, Sphere


def counts(q: Any, world: Any) -> set[int]:
    found = Detector(world).find(q, 1e-5)
    assert np.abs(found.gap).max() < 1e-8
    return set(collections.Counter(map(tuple, found.body.tolist())).values())


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("kapla", {"courses": 3}), ("arch", {"bodies": 11, "thickness": 0.15, "tilt": 8.165})],
)
def test_every_joint_has_its_four_corners(name: str, parameters: dict[str, Any]) -> None:
    """Crossed planks whose edges cross at the corner, and wedges that narrow phases keep in single
    precision."""
    world, rng = scenes.make(name, **parameters).system, np.random.default_rng(3)
    for noise in (0.0, 1e-14, 1e-13):
        q = world.start.q + noise * rng.standard_normal(world.start.q.size)
        assert counts(q, world) == {4}


def test_common_polygon_of_turned_faces() -> None:
    """A square turned by 45 degrees on one of the same size: an octagon of known area."""
    corners = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    builder = WorldBuilder()
    builder.body("below", ConvexHull(corners), fixed=True)
    turn = (np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8))
    builder.body("above", ConvexHull(corners), position=(0.0, 0.0, 2.0 + 1e-9), quaternion=turn)
    world = builder.build()
    found = Detector(world).find(world.start.q, 1e-6)
    assert len(found.gap) == 8
    np.testing.assert_allclose(found.gap, 1e-9, atol=1e-15)
    around = found.point[np.argsort(np.arctan2(found.point[:, 1], found.point[:, 0]))]
    x, y = around[:, 0], around[:, 1]
    area = 0.5 * abs((x * np.roll(y, -1) - np.roll(x, -1) * y).sum())
    assert area == pytest.approx(8.0 * (np.sqrt(2.0) - 1.0), abs=1e-12)
    np.testing.assert_allclose(np.abs(found.frame[:, 0]), [[0.0, 0.0, 1.0]] * 8, atol=1e-15)


def test_faces_of_shapes() -> None:
    assert len(faces(Cuboid((1.0, 2.0, 3.0)))) == 6
    assert faces(Sphere(1.0)) == []
    wedge = ConvexHull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1)])
    found = faces(wedge)
    assert sorted(len(ring) for _, ring in found) == [3, 3, 4, 4, 4]
    for normal, ring in found:
        side = np.cross(ring[1] - ring[0], ring[2] - ring[1])
        assert side @ normal > 0.0
        assert np.ptp(ring @ normal) < 1e-12
