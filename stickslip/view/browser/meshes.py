"""Triangles of shapes, as few as look well: one mesh for all shapes that differ by scale alone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stickslip.mechanics.hulls import ConvexHull
from stickslip.simulation.world_model import ShapeRecord
from stickslip.state import Array, IntArray, ModelError

AROUND, FEWEST = 24, 10
"""Meridians of round shapes, and the fewest where there are very many; there are half as many parallels."""
LEVELS = (24, 14, 8)
"""Meridians of the meshes of one round shape, from near to far."""
ROUND = ("sphere", "ellipsoid", "cylinder", "capsule")
"""Kinds of shape that are drawn with more or fewer meridians."""
TRIANGLES = 150_000
"""Of all copies of a round shape in a file, about."""
FINEST = 256
"""Most grid points of a height field along an axis; of finer ones some rows are left out."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles, counter-clockwise seen from outside."""

    vertices: Array
    """Corners [m], or parts of the scale where it is to be scaled [-], shape (nv, 3)."""
    triangles: IntArray
    """Rows of `vertices` [-], shape (nt, 3)."""
    flat: bool = False
    """Whether every triangle has a normal of its own; otherwise those at a vertex share one."""

    @property
    def volume(self) -> float:
        """Of what the triangles enclose, in the unit of the vertices cubed; negative if they look inwards."""
        return float(np.linalg.det(self.vertices[self.triangles]).sum() / 6.0)


def shape_scale(shape: ShapeRecord) -> Array | None:
    """Along the axes of its mesh [m, or - for a mesh in metres], shape (3,); None if it cannot be drawn."""
    count, axes, _ = LOOKS.get(shape.kind, (-1, (), None))
    if len(shape.numbers) != count or not all(0.0 < x < np.inf for x in shape.numbers):
        return None
    return np.array([1.0 if k is None else shape.numbers[k] for k in axes])


def mesh_key(shape: ShapeRecord) -> tuple[object, ...]:
    """Equal for shapes that share a mesh: all spheres and ellipsoids, all cuboids, all cylinders, and what
    is the same otherwise."""
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
    """The mesh of a shape, which `shape_scale` makes this one; a ModelError if it cannot be drawn.

    Of very many `copies` round ones are coarser. Planes need to know where the scene is, and one another: see
    `instances`.
    """
    around = AROUND
    while around > FEWEST and copies * around * (around - 2) > TRIANGLES:
        around -= 2
    make = LOOKS[shape.kind][2] if shape_scale(shape) is not None else None
    if make is None:
        raise ModelError(f"a shape of kind {shape.kind!r} with lengths {shape.numbers} cannot be drawn")
    return make(shape, around)


def levels(shape: ShapeRecord) -> tuple[Mesh, ...]:
    """The mesh of a round shape with fewer and fewer triangles, for copies that are small on the screen; none
    of others, or of a shape that cannot be drawn."""
    make = LOOKS[shape.kind][2] if shape_scale(shape) is not None else None
    if make is None or shape.kind not in ROUND:
        return ()
    return tuple(make(shape, around) for around in LEVELS)


def marker() -> Mesh:
    """An octahedron of radius 1 [-], for what cannot be drawn."""
    return _revolved(np.array([1.0, 0.0, -1.0]), np.array([0.0, 1.0, 0.0]), 4, flat=True)


def _ball(_: ShapeRecord, around: int) -> Mesh:
    """Of radius 1."""
    angle = np.linspace(0.0, np.pi, around // 2 + 1)
    return _revolved(np.cos(angle), np.sin(angle), around)


def _capsule(shape: ShapeRecord, around: int) -> Mesh:
    """Of radius 1, with a straight part along z."""
    length = shape.numbers[1] / shape.numbers[0]
    angle = np.linspace(0.0, 0.5 * np.pi, around // 4 + 1)
    z = np.concatenate([0.5 * length + np.cos(angle), -0.5 * length - np.cos(angle[::-1])])
    return _revolved(z, np.concatenate([np.sin(angle), np.sin(angle[::-1])]), around)


def _cylinder(_: ShapeRecord, around: int) -> Mesh:
    """Of radius 1 and length 1; each rim is there twice, for the normals of the side and of the end."""
    return _revolved(
        np.array([0.5, 0.5, 0.5, -0.5, -0.5, -0.5]), np.array([0.0, 1, 1, 1, 1, 0]), around, cut=True
    )


def _revolved(z: Array, radius: Array, around: int, *, flat: bool = False, cut: bool = False) -> Mesh:
    """The surface that a curve from the top to the bottom of the z axis makes when it turns about it.

    With `cut` nothing is spanned between two equal points of the curve.
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
    """With edges of 1, each corner three times, for the normals of its faces."""
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
    hull = ConvexHull(shape.points)
    return Mesh(hull.vertices, hull.triangles, flat=True)


def _ground(shape: ShapeRecord, _: int) -> Mesh:
    """Over the square from -1/2 to 1/2, heights as they are [m]."""
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
"""Kinds that are drawn as what they are: how many lengths the record of each has, which of them scales each
axis of its mesh, and what makes the mesh of a shape with so many meridians."""
