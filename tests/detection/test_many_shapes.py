"""Worlds of many shapes: blocks of bodies give the same model, and equal shapes are looked at once."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.detection import general, polyhedra
from stickslip.detection.general import GeneralDetector
from stickslip.state import ModelError


def heap(count=30):
    """Boxes, hulls and capsules that overlap a little, on a floor; some pairs do not touch by rule."""
    corners = np.array([[-1, -1, -1], [1, -1, -1], [0, 1.2, -1], [0.1, 0, 1.0]]) * 0.3
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    for k in range(count):
        shape = (ss.Cuboid((0.6, 0.6, 0.6)), ss.ConvexHull(corners), ss.Capsule(0.2, 0.4))[k % 3]
        turn = np.array([1.0, 0.1 * k, 0.2, -0.05 * k])
        place = 0.45 * np.array([k % 4, k // 4 % 4, 0.6 + k // 16])
        builder.body(f"body {k}", shape, position=place, quaternion=turn / np.linalg.norm(turn), fixed=k == 7)
    builder.apart("body 0", "body 1")
    builder.apart("body 9", "body 13")
    return builder.build()


@pytest.mark.parametrize("block", [1, 7, 30])
def test_blocks_give_the_same_contacts(monkeypatch, block):
    world = heap()
    whole = GeneralDetector(world).find(world.start.q.copy(), 0.05)
    monkeypatch.setattr(general, "BLOCK", block)
    parts = GeneralDetector(world).find(world.start.q.copy(), 0.05)
    assert len(whole) > 30
    for name in type(whole).__slots__:
        assert np.asarray(getattr(whole, name)).tobytes() == np.asarray(getattr(parts, name)).tobytes()


def test_faces_of_equal_shapes_are_found_once(monkeypatch):
    found = []
    faces = polyhedra.faces
    monkeypatch.setattr(polyhedra, "faces", lambda shape: (found.append(shape), faces(shape))[1])
    world = heap()
    GeneralDetector(world)
    solid = [shape for shape in found if isinstance(shape, ss.Cuboid | ss.ConvexHull)]
    assert len(solid) == 2


def test_a_shape_that_detection_does_not_know_is_named_in_a_block_too(monkeypatch):
    world = heap()
    monkeypatch.setattr(general, "BLOCK", 7)
    monkeypatch.setattr(general, "geom_of", lambda spec, name, shape, unit: None)
    with pytest.raises(ModelError, match="body 'floor': detection knows no shape Plane"):
        GeneralDetector(world)
