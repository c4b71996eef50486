"""Gaps of features of two bodies: against distances by MuJoCo, differences, exchange and rigid motions."""

import numpy as np
import pytest
from pair_worlds import ENDLESS, SHAPES, turned

import stickslip as ss
from stickslip.detection.detector import Detector
from stickslip.detection.general import mujoco
from stickslip.detection.pair_gaps import smooth_gaps
from stickslip.kernels.bodies.rotation import product
from stickslip.state import UnknownNameError

SOLIDS = [name for name in SHAPES if name not in ENDLESS]
PAIRS = [(a, b) for k, a in enumerate(SOLIDS) for b in SOLIDS[k:]]
ROUNDED = {"hull": 2e-7, "field": 2e-6}
"""What MuJoCo keeps in single precision [m]."""


def product_of(p, q):
    return np.array(product(*p, *q))


def displaced(pose, way):
    """A pose moved by δx, and turned by exp(δθ) in its own frame."""
    angle = np.linalg.norm(way[3:])
    turn = np.concatenate([[np.cos(angle / 2)], np.sinc(angle / 2 / np.pi) / 2 * way[3:]])
    return np.concatenate([pose[:3] + way[:3], product_of(pose[3:], turn)])


def apart(one, other, rng, least=0.16, most=0.4):
    """A world of two bodies at random poses."""
    way = rng.normal(size=3)
    builder = ss.WorldBuilder()
    builder.body("a", SHAPES[one], quaternion=turned(rng))
    builder.body(
        "b", SHAPES[other], quaternion=turned(rng),
        position=rng.uniform(least, most) * way / np.linalg.norm(way),
    )  # fmt: skip
    return builder.build()


def close(one, other, count, within=0.05):
    """Worlds and gaps of random poses at which two shapes are near each other, and MuJoCo's distance."""
    rng, found = np.random.default_rng([SOLIDS.index(one), SOLIDS.index(other)]), []
    for _ in range(40 * count):
        world = apart(one, other, rng)
        detector = Detector(world)
        contacts = detector.find(np.array(world.start.q), within)
        if not len(contacts) or contacts.gap.min() < -0.02:
            continue
        gaps = smooth_gaps(world, "a", "b", within=within)
        general = detector._general
        far = None
        if general is not None:
            far = general._unit * mujoco.mj_geomDistance(
                general._model, general._data, 0, 1, 10.0, np.zeros(6)
            )
        found.append((world, gaps, float(contacts.gap.min()) if far is None else far))
        if len(found) == count:
            break
    assert len(found) == count
    return found


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_gaps_are_distances_and_have_two_derivatives(one, other):
    rng = np.random.default_rng(7)
    for world, gaps, distance in close(one, other, 6):
        a, b = world.start.q[:7], world.start.q[7:]
        gap = min(gaps, key=lambda gap: abs(gap.value(a, b) - distance))
        value, gradient, hessian = gap(a, b)
        assert value == pytest.approx(gap.value(a, b), abs=1e-14)
        if distance > 0.0 and (one, other) != ("box", "box"):  # boxes apart are met along an axis of one
            assert value == pytest.approx(distance, abs=max(ROUNDED.get(one, 0), ROUNDED.get(other, 0), 1e-9))
        assert np.array_equal(hessian, hessian.T)

        def along(way, gap=gap, a=a, b=b):
            return gap.value(displaced(a, way[:6]), displaced(b, way[6:]))

        way = rng.normal(size=12)
        curved = way @ hessian @ way
        e = 1e-3 / (1.0 + np.sqrt(abs(curved)))
        ends = [along(k * e * way) for k in (-2.0, -1.0, 1.0, 2.0)]
        slope = (8.0 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / (12.0 * e)
        bend = (16.0 * (ends[1] + ends[2]) - ends[0] - ends[3] - 30.0 * value) / (12.0 * e * e)
        assert gradient @ way == pytest.approx(slope, abs=1e-6)
        assert curved == pytest.approx(bend, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(("one", "other"), [("box", "box"), ("cylinder", "ellipsoid"), ("hull", "capsule")])
def test_gaps_are_the_same_from_both_sides_and_wherever_both_are(one, other):
    rng = np.random.default_rng(3)
    for world, gaps, _ in close(one, other, 3):
        a, b = world.start.q[:7], world.start.q[7:]
        back = smooth_gaps(world, "b", "a", within=0.05)
        assert [gap.features for gap in back] == [gap.features[::-1] for gap in gaps]
        turn, way = turned(rng), rng.normal(size=3)
        R = ss.rotations.matrices(turn)
        there = [np.concatenate([way + R @ q[:3], product_of(turn, q[3:])]) for q in (a, b)]
        for gap, other_way in zip(gaps, back, strict=True):
            here, seen, moved = gap(a, b), other_way(b, a), gap(*there)
            assert here.value == seen.value
            np.testing.assert_array_equal(here.gradient, np.roll(seen.gradient, 6))
            np.testing.assert_array_equal(here.hessian, np.roll(seen.hessian, (6, 6), (0, 1)))
            assert moved.value == pytest.approx(here.value, abs=1e-12)
            turns = [3, 4, 5, 9, 10, 11]
            np.testing.assert_allclose(moved.gradient[turns], here.gradient[turns], atol=1e-10)
            # moved together they stay as far apart: shifts of both cancel
            np.testing.assert_allclose(here.gradient[:3], -here.gradient[6:9], atol=1e-14)


def on_table(shape, position, turn=(1.0, 0.0, 0.0, 0.0), ground=None):
    builder = ss.WorldBuilder()
    builder.body("table", ss.Cuboid((1.0, 1.0, 0.2)) if ground is None else ground, fixed=True)
    builder.body("top", shape, position=position, quaternion=turn)
    return smooth_gaps(builder.build(), "top", "table")


@pytest.mark.parametrize(
    ("shape", "position", "axis", "features"),
    [
        (ss.Cuboid((0.2, 0.2, 0.2)), (0.1, 0.0, 0.201), (0, 0, 1, 0.0), {("corner", "face"): 4}),
        (ss.Cuboid((0.2, 0.2, 0.2)), (0.45, 0.0, 0.201), (0, 0, 1, 0.1),
         {("corner", "face"): 2, ("edge", "edge"): 2}),
        (ss.Capsule(0.05, 0.2), (0.0, 0.0, 0.151), (0, 1, 0, 90.0), {("corner", "face"): 2}),
        (ss.Capsule(0.05, 0.2), (0.45, 0.0, 0.151), (0, 1, 0, 90.0),
         {("corner", "face"): 1, ("edge", "edge"): 1}),
        (ss.Cylinder(0.05, 0.2), (0.0, 0.0, 0.151), (0, 1, 0, 90.0), {("corner", "face"): 2}),
        (ss.Cylinder(0.05, 0.2), (0.0, 0.0, 0.201), (0, 1, 0, 0.0), {("corner", "face"): 4}),
        (ss.Sphere(0.05), (0.53, 0.0, 0.141), (0, 1, 0, 0.0), {("corner", "edge"): 1}),
        (ss.Sphere(0.05), (0.52, 0.52, 0.142), (0, 1, 0, 0.0), {("corner", "corner"): 1}),
    ],
)  # fmt: skip
def test_faces_edges_and_corners_are_told_apart(shape, position, axis, features):
    gaps = on_table(shape, position, ss.rotation(axis[:3], np.radians(axis[3])))
    told = [gap.features for gap in gaps]
    assert {pair: told.count(pair) for pair in set(told)} == features
    assert not any(gap.border for gap in gaps)


def test_a_corner_on_the_edge_of_a_face_is_on_a_border():
    gaps = on_table(ss.Cuboid((0.2, 0.2, 0.2)), (0.4, 0.0, 0.201))
    assert [gap.border for gap in gaps].count(True) == 2


@pytest.mark.parametrize(("name", "turn", "height"), [("ellipsoid", 0.4, 0.2), ("cylinder", 0.7, 0.19)])
def test_round_shapes_above_a_plane_in_closed_form(name, turn, height):
    shape, turn = SHAPES[name], ss.rotation((1.0, 0.5, 0.0), turn)
    (gap, *_) = on_table(shape, (0.0, 0.0, height), turn, ss.Plane())
    down = ss.rotations.matrices(turn).T @ (0.0, 0.0, 1.0)
    if name == "ellipsoid":
        reach = np.linalg.norm(down * shape.radii)
    else:
        reach = shape.radius * np.hypot(*down[:2]) + 0.5 * shape.length * abs(down[2])
    pose = np.concatenate([(0.0, 0.0, height), turn])
    assert gap.value(pose, (0, 0, 0, 1, 0, 0, 0)) == pytest.approx(height - reach, abs=1e-14)


def test_a_body_that_is_none_is_named():
    with pytest.raises(UnknownNameError, match="unknown body 'lid'"):
        smooth_gaps(apart("box", "box", np.random.default_rng(0)), "a", "lid")
