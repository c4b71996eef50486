"""Overlapping bodies, named with their depths."""

import numpy as np
import pytest

from stickslip.detection.overlaps import check_overlaps, find_overlaps
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.shapes import Cuboid, Plane, Sphere
from stickslip.state import ModelError


def test_pairs_and_depths_deepest_first():
    b = WorldBuilder()
    b.body("floor", Plane(), fixed=True)
    b.body("box", Cuboid((1, 1, 1)), position=(0, 0, 0.4))
    b.body("ball", Sphere(0.5), position=(0, 0, 1.1))
    b.body("touching", Sphere(0.5), position=(0, 0, 2.1 - 4e-5))
    b.body("away", Cuboid((1, 1, 1)), position=(5, 0, 0.5))
    world = b.build()
    found = find_overlaps(world, world.start)
    assert [(one.first, one.second) for one in found] == [("box", "ball"), ("floor", "box")]
    assert [one.depth for one in found] == pytest.approx([0.3, 0.1])
    assert len(find_overlaps(world, world.start, tolerance=1e-6)) == 3
    with pytest.raises(ModelError, match=r"'box' and 'ball' by 0\.3 m; 'floor' and 'box' by 0\.1 m\. Move"):
        check_overlaps(world, world.start)
    check_overlaps(world, world.start, tolerance=1.0)


def test_ten_pairs_are_listed():
    b = WorldBuilder()
    for k in range(6):
        b.body(f"b{k}", Cuboid((1, 1, 1)), position=(0.01 * k, 0, 0))
    with pytest.raises(ModelError, match="and 5 more"):
        check_overlaps(b.build(), b.build().start)


def test_bodies_under_a_terrain_are_inside_it_however_deep():
    """The ground is all that is below its surface, also where detection no longer looks; not beside it, and
    not for bodies that are let through."""
    slope = np.linspace(0.0, 4.0, 5)[:, None] * np.ones(3)  # z = x + 2 over 4 m
    b = WorldBuilder()
    b.body("ground", HeightField(slope, (4.0, 2.0)), position=(0, 0, 10), fixed=True)
    b.body("above", Sphere(0.1), position=(1, 0, 14))
    b.body("deep", Sphere(0.1), position=(1, 0, -87))
    b.body("beside", Sphere(0.1), position=(3, 0, -87))
    b.body("ghost", Sphere(0.1), position=(-1, 0, -87))
    b.apart("ghost", "ground")
    world = b.build()
    (found,) = find_overlaps(world, world.start)
    assert (found.first, found.second) == ("ground", "deep")
    assert found.depth == pytest.approx(100.0)
