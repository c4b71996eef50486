"""Hulls of meshes: the surface of a convex body is its own hull, any other surface is refused by name."""

import re

import numpy as np
import pytest

import stickslip as ss

L = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
"""Corners of an L: three unit squares; the hull adds half of one."""


def prism(outline, ears, height=1.0):
    """The closed mesh of an upright prism; ears: triangles that fill its outline, counter-clockwise."""
    n = len(outline)
    points = [(x, y, z) for z in (0.0, height) for x, y in outline]
    sides = [
        face for i in range(n) for j in [(i + 1) % n] for face in ((i, j, n + j), (i, n + j, n + i))
    ]  # fmt: skip
    lids = [face for a, b, c in ears for face in ((a, c, b), (n + a, n + b, n + c))]
    return ss.shapes.Mesh(points, [*sides, *lids])


def l_prism():
    return prism(L, [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)])


def cube():
    return prism([(0, 0), (1, 0), (1, 1), (0, 1)], [(0, 1, 2), (0, 2, 3)])


def test_a_prism_over_an_l_is_refused_with_both_volumes():
    with pytest.raises(ss.ModelError) as caught:
        ss.ConvexHull(l_prism())
    assert re.search(
        r"not convex: it encloses 3 m³, and the hull of its points has 3.5 m³", str(caught.value)
    )
    assert "hull=True" in str(caught.value)
    assert "Compound" in str(caught.value)


def test_its_hull_is_taken_where_that_is_asked_for():
    assert ss.ConvexHull(l_prism(), hull=True).volume == pytest.approx(3.5, rel=1e-14)
    assert ss.ConvexHull(l_prism().points).volume == pytest.approx(3.5, rel=1e-14)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_units_decide_nothing(scale):
    mesh = l_prism()
    with pytest.raises(ss.ModelError, match="not convex"):
        ss.ConvexHull(ss.shapes.Mesh(scale * mesh.points, mesh.triangles))
    box = cube()
    moved = ss.ConvexHull(ss.shapes.Mesh(scale * (box.points + 3.0), box.triangles))
    assert moved.volume == pytest.approx(scale**3, rel=1e-12)


def test_a_convex_mesh_is_its_hull_in_whatever_order_its_corners_are():
    mesh = cube()
    rng = np.random.default_rng(0)
    turned = np.where(rng.random(len(mesh.triangles))[:, None] < 0.5, mesh.triangles[:, ::-1], mesh.triangles)
    apart = ss.shapes.Mesh(
        mesh.points[mesh.triangles].reshape(-1, 3), np.arange(36).reshape(-1, 3)
    )  # nothing shared
    twice = ss.shapes.Mesh(mesh.points, np.concatenate([mesh.triangles, mesh.triangles]))
    for one in (mesh, ss.shapes.Mesh(mesh.points, turned), apart, twice):
        assert ss.ConvexHull(one).volume == pytest.approx(1.0, rel=1e-12)


def test_corners_in_single_precision_are_convex_enough():
    """The points of a ball on a fine grid, rounded as a binary STL rounds them."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(200, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    ball = ss.ConvexHull(points)
    rounded = (ball.vertices * np.array([1.0, 1.0, 1e-2])).astype(np.float32).astype(float)
    assert ss.ConvexHull(ss.shapes.Mesh(rounded, ball.triangles)).volume == pytest.approx(
        1e-2 * ball.volume, rel=1e-5
    )


def test_a_box_without_a_lid_has_no_volume():
    mesh = cube()
    with pytest.raises(ss.ModelError, match=r"it is open \(4 edges .* no volume, .* has 1 m³"):
        ss.ConvexHull(ss.shapes.Mesh(mesh.points, mesh.triangles[:-1][[*range(8), 8, 10]]))


def test_a_dent_and_two_bodies_in_one_mesh_are_not_convex():
    mesh = cube()
    top = [k for k, t in enumerate(mesh.triangles) if (mesh.points[t, 2] == 1.0).all()]
    rest = np.delete(mesh.triangles, top, axis=0)
    dented = ss.shapes.Mesh(
        np.concatenate([mesh.points, [[0.5, 0.5, 0.9]]]),
        np.concatenate([rest, [[4, 5, 8], [5, 6, 8], [6, 7, 8], [7, 4, 8]]]),
    )
    with pytest.raises(ss.ModelError, match=r"encloses 0\.966667 m³, and the hull of its points has 1 m³"):
        ss.ConvexHull(dented)
    two = ss.shapes.Mesh(
        np.concatenate([mesh.points, mesh.points + np.array([3.0, 0.0, 0.0])]),
        np.concatenate([mesh.triangles, mesh.triangles + 8]),
    )
    with pytest.raises(ss.ModelError, match=r"encloses 2 m³, and the hull of its points has 4 m³"):
        ss.ConvexHull(two)


def test_a_mesh_of_mixed_order_that_is_not_convex_has_no_known_volume():
    mesh = l_prism()
    triangles = mesh.triangles.copy()
    triangles[0] = triangles[0][::-1]
    with pytest.raises(ss.ModelError, match=r"edges have neighbours of opposite order"):
        ss.ConvexHull(ss.shapes.Mesh(mesh.points, triangles))
