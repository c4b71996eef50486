"""Meshes of shapes: closed, seen from outside, and as large as the shapes."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.simulation.world_model import ShapeRecord
from stickslip.state import ModelError
from stickslip.view.browser import meshes
from stickslip.view.browser.instances import tiles
from stickslip.view.browser.meshes import Mesh, levels, marker, mesh_key, shape_mesh, shape_scale

SHAPES = [
    ss.Sphere(0.3),
    ss.Cuboid((0.1, 0.2, 0.4)),
    ss.Capsule(0.1, 0.5),
    ss.Capsule(0.2, 0.01),
    ss.Cylinder(0.2, 0.7),
    ss.shapes.Ellipsoid((0.1, 0.2, 0.3)),
    ss.ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0.3, 0.3, 0.3]]),
]
POINTED = ("Cuboid", "ConvexHull")


def drawn(shape) -> Mesh:
    record = ShapeRecord.of(shape)
    mesh, scale = shape_mesh(record), shape_scale(record)
    return Mesh(mesh.vertices * scale, mesh.triangles, mesh.flat)


def edges(mesh: Mesh) -> set:
    """Directed edges by the places of their ends: vertices may be there more than once."""
    places = np.unique(mesh.vertices.round(12) + 0.0, axis=0, return_inverse=True)[1].reshape(-1)
    found = [(int(a), int(b)) for t in places[mesh.triangles] for a, b in zip(t, np.roll(t, -1), strict=True)]
    assert len(found) == len(set(found)), "an edge runs the same way twice"
    return set(found)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: type(s).__name__)
def test_meshes_are_closed_and_look_outwards(shape):
    mesh = drawn(shape)
    found = edges(mesh)
    assert found == {(b, a) for a, b in found}
    middle = mesh.vertices[mesh.triangles].mean(axis=1)
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    # All shapes are convex: the normals point away from the middle.
    away = middle - np.asarray(shape.centroid)
    assert (np.einsum("ij,ij->i", np.cross(b - a, c - a), away) > 0.0).all()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: type(s).__name__)
def test_volume_is_that_of_the_shape(shape, monkeypatch):
    coarse = abs(drawn(shape).volume / shape.volume - 1.0)
    if type(shape).__name__ in POINTED:
        assert coarse < 1e-12
        return
    monkeypatch.setattr(meshes, "AROUND", 4 * meshes.AROUND)
    fine = abs(drawn(shape).volume / shape.volume - 1.0)
    assert coarse < 0.05
    assert fine < coarse / 14.0  # second order: 16 times


def test_levels_of_round_shapes_are_ever_coarser_and_others_have_none():
    found = levels(ShapeRecord("sphere", (1.0,)))
    counts = [len(mesh.triangles) for mesh in found]
    assert counts == sorted(counts, reverse=True)
    assert len(found) == 3
    assert all(0.75 < mesh.volume / (4.0 * np.pi / 3.0) < 1.0 for mesh in found)
    assert levels(ShapeRecord("cuboid", (1.0, 1.0, 1.0))) == levels(ShapeRecord("sphere", (np.nan,))) == ()


def test_a_height_field_stands_where_its_heights_are():
    field = ss.HeightField(np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]), (4.0, 2.0))
    mesh = drawn(field)
    expected = [[x, y, field.heights[i, j]] for i, x in enumerate(field.x) for j, y in enumerate(field.y)]
    np.testing.assert_allclose(mesh.vertices, expected)
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0.0).all()
    assert np.cross(b - a, c - a)[:, 2].sum() / 2.0 == pytest.approx(8.0)


def test_a_fine_height_field_is_drawn_with_fewer_points_up_to_its_edges():
    heights = np.zeros((1000, 3))
    mesh = drawn(ss.HeightField(heights, (2.0, 2.0)))
    assert len(mesh.vertices) == 3 * meshes.FINEST
    np.testing.assert_allclose([mesh.vertices[:, 0].min(), mesh.vertices[:, 0].max()], [-1.0, 1.0])


def test_shapes_share_meshes_unless_scale_is_not_all_that_differs():
    def key(*given):
        return mesh_key(ShapeRecord(*given))

    assert key("sphere", (1.0,)) == key("ellipsoid", (1.0, 2.0, 3.0))
    assert key("cuboid", (1.0, 1.0, 1.0)) == key("cuboid", (1.0, 2.0, 3.0))
    assert key("capsule", (1.0, 2.0)) == key("capsule", (2.0, 4.0))
    assert key("capsule", (1.0, 2.0)) != key("capsule", (1.0, 3.0))


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [("blob", ()), ("sphere", ()), ("sphere", (-1.0,)), ("cuboid", (1.0, np.nan, 1.0)), ("capsule", (1.0,))],
)
def test_what_cannot_be_drawn_is_refused(kind, numbers):
    record = ShapeRecord(kind, numbers)
    assert shape_scale(record) is None
    assert mesh_key(record) == ("unknown", kind)
    with pytest.raises(ModelError, match=kind):
        shape_mesh(record)


def test_a_flat_hull_is_refused():
    with pytest.raises(ModelError):
        shape_mesh(ShapeRecord("convex-hull", (), np.zeros((5, 3))))


def test_the_marker_is_an_octahedron():
    assert marker().volume == pytest.approx(4.0 / 3.0)


def test_tiles_fill_what_cuts_leave():
    def area(mesh):
        a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
        return np.cross(b - a, c - a)[:, 2].sum() / 2.0

    light, dark = tiles()
    assert area(light) == pytest.approx(2.0)
    assert area(dark) == pytest.approx(2.0)
    # Half of the square, and of that what is right of x = -0.35.
    assert sum(map(area, tiles([(1.0, 1.0, 0.0)]))) == pytest.approx(2.0)
    assert sum(map(area, tiles([(0.0, 1.0, 0.0), (1.0, 0.0, -0.35)]))) == pytest.approx(1.35)
    assert sum(map(area, tiles([(1.0, 0.0, 2.0)]))) == 0.0


def test_very_many_round_shapes_are_coarse_and_few_are_fine():
    ball = ShapeRecord.of(ss.Sphere(1.0))
    sizes = [len(shape_mesh(ball, copies).triangles) for copies in (1, 200, 600, 1500, 100_000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == sizes[1] == 528
    assert all(count * size <= 150_000 for count, size in zip((200, 600, 1500), sizes[1:4], strict=True))
    assert sizes[-1] == 80
