"""Triangle meshes of shapes, with few triangles; shapes that differ only by scale share a mesh."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stickslip.mechanics.hulls import ConvexHull
from stickslip.simulation.world_model import ShapeRecord
from stickslip.state import Array, IntArray, ModelError

AROUND, FEWEST = 24, 10
"""Number of meridians of round shapes, and its lower bound for many copies; half as many parallels."""
LEVELS = (24, 14, 8)
"""Numbers of meridians of the levels of detail of a round shape, from near to far."""
ROUND = ("sphere", "ellipsoid", "cylinder", "capsule")
"""Kinds of shapes with levels of detail."""
TRIANGLES = 150_000
"""Approximate largest number of triangles of all copies of a round shape."""
FINEST = 256
"""Largest number of grid points of a height field along an axis; finer ones are thinned."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles, counter-clockwise seen from outside."""

    vertices: Array
    """Corners [m], or relative to the scale of the shape [-], shape (nv, 3)."""
    triangles: IntArray
    """Rows of `vertices` [-], shape (nt, 3)."""
    flat: bool = False
    """Whether shading is flat, with a normal for each triangle; otherwise vertices have normals."""

    @property
    def volume(self) -> float:
        """Enclosed volume, in the unit of the vertices cubed; negative if the triangles face inwards."""
        return float(np.linalg.det(self.vertices[self.triangles]).sum() / 6.0)


def shape_scale(shape: ShapeRecord) -> Array | None:
    """Scale along the axes of the mesh [m, or - for a mesh in metres], shape (3,); None if not drawable."""
    count, axes, _ = LOOKS.get(shape.kind, (-1, (), None))
    if len(shape.numbers) != count or not all(0.0 < x < np.inf for x in shape.numbers):
        return None
    return np.array([1.0 if k is None else shape.numbers[k] for k in axes])


def mesh_key(shape: ShapeRecord) -> tuple[object, ...]:
    """Key of the mesh of a shape: equal for all spheres and ellipsoids, all cuboids, all cylinders, and for
    equal shapes of other kinds."""
    if shape_scale(shape) is None:
        return ("unknown", shape.kind)
    match shape.kind:
        case "sphere" | "ellipsoid":
            return ("ball",)
        case "cuboid" | "cylinder" | "plane":
            return (shape.kind,)
        case "capsule":
            return (shape.kind, shape.numbers[1] / shape.numbers[0])
    return (shape.kind, shape.numbers, shape.points.shape, shape.points.tobytes())


def shape_mesh(shape: ShapeRecord, copies: int = 1) -> Mesh:
    """The mesh of a shape, to be scaled by `shape_scale`; raise a ModelError if it cannot be drawn.

    Round shapes with very many `copies` are coarser. For planes, which depend on the scene, see `instances`.
    """
    around = AROUND
    while around > FEWEST and copies * around * (around - 2) > TRIANGLES:
        around -= 2
    make = LOOKS[shape.kind][2] if shape_scale(shape) is not None else None
    if make is None:
        raise ModelError(f"a shape of kind {shape.kind!r} with lengths {shape.numbers} cannot be drawn")
    return make(shape, around)


def levels(shape: ShapeRecord) -> tuple[Mesh, ...]:
    """Levels of detail of a round shape, for copies that are small on the screen; empty for other shapes and
    for those that cannot be drawn."""
    make = LOOKS[shape.kind][2] if shape_scale(shape) is not None else None
    if make is None or shape.kind not in ROUND:
        return ()
    return tuple(make(shape, around) for around in LEVELS)


def marker() -> Mesh:
    """An octahedron of radius 1 [-], the mark of shapes that cannot be drawn."""
    return _revolved(np.array([1.0, 0.0, -1.0]), np.array([0.0, 1.0, 0.0]), 4, flat=True)


def _ball(_: ShapeRecord, around: int) -> Mesh:
    """A ball of radius 1."""
    angle = np.linspace(0.0, np.pi, around // 2 + 1)
    return _revolved(np.cos(angle), np.sin(angle), around)


def _capsule(shape: ShapeRecord, around: int) -> Mesh:
    """A capsule of radius 1, with a straight part along z."""
    length = shape.numbers[1] / shape.numbers[0]
    angle = np.linspace(0.0, 0.5 * np.pi, around // 4 + 1)
    z = np.concatenate([0.5 * length + np.cos(angle), -0.5 * length - np.cos(angle[::-1])])
    return _revolved(z, np.concatenate([np.sin(angle), np.sin(angle[::-1])]), around)


def _cylinder(_: ShapeRecord, around: int) -> Mesh:
    """A cylinder of radius 1 and length 1; rims have two copies, for the normals of side and ends."""
    return _revolved(
        np.array([0.5, 0.5, 0.5, -0.5, -0.5, -0.5]), np.array([0.0, 1, 1, 1, 1, 0]), around, cut=True
    )


def _revolved(z: Array, radius: Array, around: int, *, flat: bool = False, cut: bool = False) -> Mesh:
    """Surface of revolution of a curve from the top to the bottom of the z axis.

    cut: omit the triangles between two equal points of the curve.
    """
    turn = 2.0 * np.pi * np.arange(around) / around
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    inner = range(1, len(z) - 1)
    rings = [np.column_stack([radius[k] * ring, np.full(around, z[k])]) for k in inner]
    vertices = np.concatenate([[[0.0, 0.0, z[0]]], *rings, [[0.0, 0.0, z[-1]]]])
    here, there = np.arange(around), np.roll(np.arange(around), -1)
    last = len(vertices) - 1
    parts = [np.column_stack([0 * here, 1 + here, 1 + there])]
    for k in range(len(rings) - 1):
        if cut and z[k + 1] == z[k + 2] and radius[k + 1] == radius[k + 2]:
            continue
        up, down = 1 + k * around, 1 + (k + 1) * around
        parts.append(np.column_stack([up + here, down + here, down + there]))
        parts.append(np.column_stack([up + here, down + there, up + there]))
    bottom = 1 + (len(rings) - 1) * around
    parts.append(np.column_stack([0 * here + last, bottom + there, bottom + here]))
    return Mesh(vertices, np.concatenate(parts).astype(np.int64), flat)


def _cube(*_: object) -> Mesh:
    """A cube with edges of 1; corners have three copies, for the normals of the faces."""
    vertices: list[Array] = []
    triangles: list[IntArray] = []
    for axis in range(3):
        for sign in (-0.5, 0.5):
            a, b = (axis + 1) % 3, (axis + 2) % 3
            corners = np.zeros((4, 3))
            corners[:, axis] = sign
            corners[:, a], corners[:, b] = (-0.5, 0.5, 0.5, -0.5), (-0.5, -0.5, 0.5, 0.5)
            faces = np.array([[0, 1, 2], [0, 2, 3]]) if sign > 0.0 else np.array([[0, 2, 1], [0, 3, 2]])
            triangles.append(faces + 4 * len(vertices))
            vertices.append(corners)
    return Mesh(np.concatenate(vertices), np.concatenate(triangles))


def _hull(shape: ShapeRecord, _: int) -> Mesh:
    """A convex hull."""
    hull = ConvexHull(shape.points)
    return Mesh(hull.vertices, hull.triangles, flat=True)


def _ground(shape: ShapeRecord, _: int) -> Mesh:
    """A height field over the square from -1/2 to 1/2, with heights in metres [m]."""
    heights = shape.points
    if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
        raise ModelError(f"heights of shape {heights.shape} cannot be drawn")
    picks = [np.unique(np.linspace(0, n - 1, min(n, FINEST)).round().astype(np.int64)) for n in heights.shape]
    x, y = (pick / (n - 1) - 0.5 for pick, n in zip(picks, heights.shape, strict=True))
    vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), heights[np.ix_(*picks)]], -1).reshape(-1, 3)
    ny = len(y)  # two triangles per square, seen from +z
    a = (np.arange(len(x) - 1)[:, None] * ny + np.arange(ny - 1)).reshape(-1)
    both = np.stack([a, a + ny, a + ny + 1, a, a + ny + 1, a + 1], axis=1)
    return Mesh(vertices, both.reshape(-1, 3), flat=True)


LOOKS: dict[str, tuple[int, tuple[int | None, ...], Callable[[ShapeRecord, int], Mesh] | None]] = {
    "sphere": (1, (0, 0, 0), _ball), "ellipsoid": (3, (0, 1, 2), _ball), "cuboid": (3, (0, 1, 2), _cube),
    "cylinder": (2, (0, 0, 1), _cylinder), "capsule": (2, (0, 0, 0), _capsule),
    "convex-hull": (0, (None, None, None), _hull), "height-field": (2, (0, 1, None), _ground),
    "plane": (0, (None, None, None), None),
}  # fmt: skip
"""Known kinds of shapes: number of lengths of the record, index of the length that scales each axis of the
mesh, and function that makes the mesh of a shape with a number of meridians."""
