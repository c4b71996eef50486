"""Volumes, centroids and inertias of shapes: quadrature, affine maps, hulls of surfaces, parallel axes."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.given import unit_quaternion
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Capsule, Cuboid, Cylinder, Ellipsoid, Plane, Shape, Sphere
from stickslip.rotations import matrices, product
from stickslip.state import ModelError

BOX = np.array(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5])).reshape(3, 8).T
"""Corners of the unit cube."""
TURN = Rotation.from_rotvec([0.3, -1.1, 0.7]).as_matrix()


def dome(z, r, length):
    """Radius of a capsule at height z."""
    return np.sqrt(np.maximum(r * r - np.maximum(np.abs(z) - 0.5 * length, 0.0) ** 2, 0.0))


ROUND = {
    "sphere": (Sphere(0.7), [-0.7, 0.7], lambda z: 2 * [np.sqrt(0.49 - z * z)]),
    "capsule": (Capsule(0.3, 1.1), [-0.85, -0.55, 0.55, 0.85], lambda z: 2 * [dome(z, 0.3, 1.1)]),
    "cylinder": (Cylinder(0.4, 1.5), [-0.75, 0.75], lambda z: 2 * [np.full_like(z, 0.4)]),
    "ellipsoid": (
        Ellipsoid((0.5, 0.8, 1.3)),
        [-1.3, 1.3],
        lambda z: [0.5 * np.sqrt(1 - (z / 1.3) ** 2), 0.8 * np.sqrt(1 - (z / 1.3) ** 2)],
    ),
}
"""Shape, where its outline has kinks, and half widths along x and y of its elliptic section at z."""


@pytest.mark.parametrize("name", ROUND)
def test_closed_forms_are_the_integrals_over_sections(name):
    """Of the ellipse (a, b): area π a b, ∫ x² = π a³ b / 4. All are polynomials in z: Gauss is exact."""
    shape, kinks, section = ROUND[name]
    nodes, weights = np.polynomial.legendre.leggauss(8)
    volume, second = 0.0, np.zeros(3)
    for low, high in pairwise(kinks):
        z, w = 0.5 * (low + high) + 0.5 * (high - low) * nodes, 0.5 * (high - low) * weights
        a, b = section(z)
        volume += w @ (math.pi * a * b)
        second += [w @ f for f in (math.pi / 4 * a**3 * b, math.pi / 4 * a * b**3, math.pi * a * b * z**2)]
    assert shape.volume == pytest.approx(volume, rel=1e-13)
    np.testing.assert_allclose(shape.inertia, np.diag(second.sum() - second), rtol=1e-13, atol=0)
    np.testing.assert_array_equal(shape.centroid, 0.0)


@pytest.mark.parametrize("name", ROUND)
def test_hulls_of_surfaces_close_in_on_the_shape(name):
    """Inscribed polyhedra: the error falls with the square of the spacing, and nothing is outside."""
    shape, kinks, section = ROUND[name]
    errors = []
    for n in (24, 48):
        angle = np.arange(n) * (2 * math.pi / n)
        half = np.linspace(0, 0.5 * math.pi, n // 4 + 1)
        z = np.concatenate([[0.0], kinks[-1] - (kinks[-1] - kinks[-2]) * (1 - np.sin(half))])
        z = np.concatenate([-z, z])
        a, b = section(np.clip(z, kinks[0], kinks[-1]))
        points = np.stack(
            [np.outer(a, np.cos(angle)), np.outer(b, np.sin(angle)), z[:, None] + 0 * angle], -1
        )
        hull = ConvexHull(points.reshape(-1, 3))
        assert hull.reach <= shape.reach * (1 + 1e-12)
        assert hull.reach >= 0.99 * shape.reach
        errors.append([1 - hull.volume / shape.volume, *(1 - np.diag(hull.inertia) / np.diag(shape.inertia))])
    assert np.all(np.array(errors) > 0)
    np.testing.assert_allclose(np.array(errors[0]) / errors[1], 4.0, rtol=0.1)
    assert np.max(errors[1]) < 0.02


def test_cuboid():
    box = Cuboid((1, 2, 3))
    assert box.volume == 6.0
    np.testing.assert_allclose(box.inertia, np.diag([6.5, 5.0, 2.5]), rtol=1e-15)
    assert box.reach == pytest.approx(0.5 * math.sqrt(14), rel=1e-15)
    assert Cuboid((1, 2, 3)) == Cuboid(np.array([1.0, 2.0, 3.0]))
    assert {Cuboid((1, 2, 3)), Cuboid((1.0, 2, 3))} == {box}


@pytest.mark.parametrize(
    "shape",
    [s for s, _, _ in ROUND.values()]
    + [Cuboid((1, 1, 1)), Plane(), ConvexHull(BOX), HeightField(np.zeros((2, 3)), (1, 1))]
    + [Compound((Sphere(1), (0, 0, 0)))],
    ids=lambda s: type(s).__name__,
)
def test_every_shape_is_a_shape(shape):
    assert isinstance(shape, Shape)
    assert shape.volume > 0
    assert shape.centroid.shape == (3,)
    assert shape.inertia.shape == (3, 3)
    assert shape.reach > 0


def edges_once_each_way(hull):
    """Whether the triangles close: every edge is met once in either direction."""
    edges = [(int(t[i]), int(t[i - 2])) for t in hull.triangles for i in range(3)]
    return len(set(edges)) == len(edges) and {(j, i) for i, j in edges} == set(edges)


def test_hull_of_a_box_is_the_box():
    """Also with points inside, on faces and twice."""
    grid = np.array(np.meshgrid(*3 * [np.linspace(-0.5, 0.5, 6)])).reshape(3, -1).T
    size = np.array([0.4, 2.0, 1.1])
    for points in (BOX * size, np.concatenate([grid, BOX, grid]) * size, (grid * size).tolist()):
        hull, box = ConvexHull(points), Cuboid(size)
        assert (len(hull.vertices), len(hull.triangles)) == (8, 12)
        assert edges_once_each_way(hull)
        assert hull.volume == pytest.approx(box.volume, rel=1e-14)
        np.testing.assert_allclose(hull.inertia, box.inertia, atol=1e-14 * box.volume)
        np.testing.assert_allclose(hull.centroid, 0, atol=1e-15)
        assert hull.reach == pytest.approx(box.reach, rel=1e-15)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1e-6, 1e-3, 1.0, 1e4]))
def test_hull_of_an_affine_cube(seed, scale):
    """x -> A x + b takes volume to |det A|, and ∫ x x' = I/12 of the cube to |det A| A A'/12."""
    rng = np.random.default_rng(seed)
    A, b = scale * rng.normal(size=(3, 3)), scale * rng.normal(size=3)
    det = abs(np.linalg.det(A))
    hull = ConvexHull(BOX @ A.T + b)
    C = det * A @ A.T / 12
    rounding = 1e-12 * scale**3 / det
    assert hull.volume == pytest.approx(det, rel=rounding)
    np.testing.assert_allclose(hull.centroid, b, atol=rounding * scale)
    np.testing.assert_allclose(hull.inertia, np.trace(C) * np.eye(3) - C, atol=rounding * np.trace(C))
    assert edges_once_each_way(hull)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(4, 200))
def test_hull_of_any_points(seed, count):
    """It holds them all, and turning and moving them turns and moves it."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3)) * (1.0, 0.5, 0.2)
    hull = ConvexHull(points)
    a, b, c = (hull.vertices[hull.triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    assert np.max(np.einsum("ti,pti->pt", normal, points[:, None] - a)) < 1e-12
    assert edges_once_each_way(hull)
    assert {tuple(v) for v in hull.vertices} <= {tuple(p) for p in points}
    moved = ConvexHull(points @ TURN.T + [3.0, -2.0, 5.0])
    assert moved.volume == pytest.approx(hull.volume, rel=1e-10)
    np.testing.assert_allclose(moved.centroid, TURN @ hull.centroid + [3.0, -2.0, 5.0], atol=1e-11)
    np.testing.assert_allclose(moved.inertia, TURN @ hull.inertia @ TURN.T, atol=1e-11)


def test_hull_twice_is_the_same_to_the_bit():
    points = np.random.default_rng(3).normal(size=(300, 3))
    first, second = ConvexHull(points), ConvexHull(points.copy())
    for name in ("vertices", "triangles", "centroid", "inertia"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.volume == second.volume


def test_a_thin_plate_has_its_volume_in_any_orientation():
    thin = ConvexHull(BOX * (1, 1, 1e-7) @ TURN.T)
    assert thin.volume == pytest.approx(1e-7, rel=1e-6)
    np.testing.assert_allclose(np.linalg.eigvalsh(thin.inertia), [1e-7 / 12, 1e-7 / 12, 1e-7 / 6], rtol=1e-6)


GRID = np.array(np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 2, 4), [3.0])).reshape(3, -1).T


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (GRID, "in a plane"),
        (GRID @ TURN.T, "in a plane"),
        (1e-6 * GRID @ TURN.T, "in a plane"),
        (np.outer(np.arange(5.0), [1, 2, 3]), "on a line"),
        (np.ones((6, 3)), "coincide"),
        (BOX[:3], "3 points"),
        (np.zeros((0, 3)), "0 points"),
        (np.zeros(3), r"shape \(3,\)"),
        (np.zeros((4, 2)), r"shape \(4, 2\)"),
        (BOX * np.nan, r"points\[0, 0\] is nan"),
        (BOX * 1e308, "too large"),
        (BOX * 1e-100, "too small"),
        ("box", "real numbers"),
        ([[1, 2, 3], [4, 5]], "real numbers"),
    ],
)
def test_points_without_a_hull(points, message):
    with pytest.raises(ModelError, match=f"ConvexHull: .*{message}"):
        ConvexHull(points)


def test_two_halves_are_the_box():
    """Cut across x, one half lying on its side and turned back, the other given off its centroid."""
    box = Cuboid((2.0, 3.0, 5.0))
    quarter = unit_quaternion("", (1, 0, 1, 0))
    corner = ConvexHull((BOX + 0.5) * (1.0, 3.0, 5.0))
    halves = Compound(
        (Cuboid((5.0, 3.0, 1.0)), (-0.5, 0, 0), quarter), (corner, (0.0, -1.5, -2.5), (1, 0, 0, 0))
    )
    assert halves.volume == pytest.approx(box.volume, rel=1e-14)
    np.testing.assert_allclose(halves.centroid, 0, atol=1e-14)
    np.testing.assert_allclose(halves.inertia, box.inertia, atol=1e-12)
    assert halves.reach >= box.reach


def test_compound_of_two_balls():
    """Two balls of radius r at ±a: parallel axes give 2 (2/5 m r² + m a²) across."""
    r, a = 0.1, 1.0
    ball = Sphere(r)
    pair = Compound((ball, (a, 0, 0)), (ball, (-a, 0, 0)))
    along, across = 0.8 * ball.volume * r * r, 2 * ball.volume * (0.4 * r * r + a * a)
    np.testing.assert_allclose(pair.inertia, np.diag([along, across, across]), rtol=1e-14)
    assert pair.reach == pytest.approx(1.1, rel=1e-15)


def test_overlaps_count_for_each_part():
    twice = Compound((Sphere(1.0), (0, 0, 0)), (Sphere(1.0), (0, 0, 0)))
    assert twice.volume == 2 * Sphere(1.0).volume


def test_a_compound_in_a_compound_is_taken_apart():
    p = unit_quaternion("", (0.4, -0.2, 0.5, 0.7))
    inner = Compound((Cuboid((1, 2, 3)), (0.1, 0.2, 0.3), (0.9, 0.1, -0.3, 0.2)), (Sphere(0.5), (1, 0, 0)))
    outer = Compound((inner, (4, 5, 6), p), (Sphere(0.3), (0, 0, -1)))
    assert [type(part.shape) for part in outer.parts] == [Cuboid, Sphere, Sphere]
    R, alone = matrices(p), Compound((inner, (4, 5, 6), p))
    np.testing.assert_allclose(alone.centroid, R @ inner.centroid + [4, 5, 6], rtol=1e-14)
    np.testing.assert_allclose(alone.inertia, R @ inner.inertia @ R.T, atol=1e-13)
    hull = ConvexHull(BOX * (1, 2, 3) @ matrices(outer.parts[0].quaternion).T + outer.parts[0].position)
    first = Compound(outer.parts[0])
    np.testing.assert_allclose(hull.inertia, first.inertia, atol=1e-13)
    np.testing.assert_allclose(hull.centroid, first.centroid, rtol=1e-13)


def test_a_compound_with_a_plane_has_no_end():
    tray = Compound((Plane(), (0, 0, 0)), (Cuboid((1, 1, 1)), (0, 0, 1)))
    assert tray.volume == tray.reach == math.inf
    np.testing.assert_array_equal(tray.centroid, 0)


def test_height_field():
    heights = np.arange(6.0).reshape(2, 3)
    field = HeightField(heights, (4, 2))
    np.testing.assert_array_equal(field.x, [-2, 2])
    np.testing.assert_array_equal(field.y, [-1, 0, 1])
    assert field.volume == math.inf
    heights[0, 0] = 9.0  # the field has its own
    assert field.heights[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        field.heights[0, 0] = 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sphere(0), r"Sphere: radius is 0\.0; it must be positive"),
        (lambda: Sphere(-1.0), r"Sphere: radius is -1\.0"),
        (lambda: Sphere(math.nan), "Sphere: radius is nan; it must be finite"),
        (lambda: Sphere(math.inf), "Sphere: radius is inf"),
        (lambda: Sphere("1"), "Sphere: radius is '1'; give real numbers"),
        (lambda: Sphere(None), "Sphere: radius is None"),
        (lambda: Sphere(1 + 2j), "Sphere: radius is"),
        (lambda: Sphere((1, 2)), r"Sphere: radius has shape \(2,\), expected one number"),
        (lambda: Sphere(1e200), "Sphere: too large or too small"),
        (lambda: Sphere(1e-120), "Sphere: too large or too small"),
        (lambda: Capsule(1.0, 0.0), "Capsule: length is"),
        (lambda: Capsule(-1.0, 1.0), "Capsule: radius is"),
        (lambda: Cylinder(1.0, -2.0), "Cylinder: length is"),
        (lambda: Cylinder(math.nan, 1.0), "Cylinder: radius is"),
        (lambda: Cuboid((1, 2)), r"Cuboid: size has shape \(2,\), expected shape \(3,\)"),
        (lambda: Cuboid(1.0), r"Cuboid: size has shape \(\)"),
        (lambda: Cuboid((1, 2, 0)), r"Cuboid: size\[2\] is 0\.0"),
        (lambda: Cuboid((1, math.nan, 1)), r"Cuboid: size\[1\] is nan"),
        (lambda: Cuboid((1e150, 1e150, 1e150)), "Cuboid: too large"),
        (lambda: Ellipsoid((1, -1, 1)), r"Ellipsoid: radii\[1\] is -1\.0"),
        (lambda: HeightField(np.zeros((1, 5)), (1, 1)), r"HeightField: heights has shape \(1, 5\)"),
        (lambda: HeightField(np.zeros(4), (1, 1)), r"HeightField: heights has shape \(4,\)"),
        (lambda: HeightField([[0, 1], [math.inf, 0]], (1, 1)), r"HeightField: heights\[1, 0\] is inf"),
        (lambda: HeightField([[0, 1e300], [0, -1e300]], (1, 1)), r"HeightField: heights reach 1e\+300 m"),
        (lambda: HeightField(np.zeros((2, 2)), (1, 0)), r"HeightField: size\[1\] is 0\.0"),
        (lambda: Compound(), "Compound: parts is empty"),
        (lambda: Compound(Sphere(1)), "Compound: part 0 is Sphere"),
        (lambda: Compound((Sphere(1),)), "Compound: part 0 is"),
        (lambda: Compound((Sphere, (0, 0, 0))), "Compound: part 0: .* is not a shape"),
        (lambda: Compound((Sphere(1), (0, 0, 0)), (1, 2)), "Compound: part 1: 1 is not a shape"),
        (lambda: Compound((Sphere(1), (0, math.nan, 0))), r"Compound: part 0: position\[1\] is nan"),
        (lambda: Compound((Sphere(1), (0, 0, 0), (0, 0, 0, 0))), "Compound: part 0: quaternion is zero"),
        (lambda: Compound((Sphere(1), (0, 0, 0), (0, 0, 0))), "Compound: part 0: quaternion has shape"),
        (lambda: Compound((Sphere(1), (1e300, 0, 0)), (Sphere(1), (0, 0, 0))), "Compound: .* too far apart"),
        (lambda: Compound(*12 * [(Cuboid((4e61, 4e61, 4e61)), (0, 0, 0))]), "Compound: .* too large"),
    ],
)
def test_numbers_that_cannot_be(make, message):
    with pytest.raises(ModelError, match=message):
        make()


quaternions = st.tuples(*4 * [st.floats(-1e3, 1e3)]).filter(any)


@settings(max_examples=100)
@given(quaternions, quaternions)
@example((1e-200, 0, 0, 1e-200), (1e300, 1e300, 1e300, 1e300))
def test_quaternions(p, q):
    """Scaled to 1 once and for all; rotations multiply as quaternions do."""
    p, q = unit_quaternion("p", p), unit_quaternion("q", q)
    assert abs(math.hypot(*p) - 1) < 1e-15
    np.testing.assert_array_equal(unit_quaternion("p", p), p)
    np.testing.assert_allclose(matrices(product(p, q)), matrices(p) @ matrices(q), atol=1e-14)
    np.testing.assert_allclose(matrices(p), Rotation.from_quat(np.roll(p, -1)).as_matrix(), atol=1e-14)
