"""Shapes of a world by their features, as kernels take them (`kernels/bodies/features.py`)."""

import math

import numpy as np

from stickslip.detection.polyhedra import KnownFaces, outline
from stickslip.kernels.bodies.features import ALIGNED, CORE, CYLINDER, ELLIPSOID, FIELD, PLANE, ShapeFeatures
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Capsule, Cuboid, Cylinder, Ellipsoid, Plane, Shape, Sphere
from stickslip.mechanics.world import World
from stickslip.rotations import matrices
from stickslip.state import Array, ModelError

NEAR = 1e-6
"""How far from a feature a place on it may be, over the size of the shape: what single precision leaves."""


def shape_features(world: World, known: KnownFaces | None = None) -> ShapeFeatures:
    """Those of all shapes of a world; known: faces found already."""
    known = KnownFaces() if known is None else known
    shapes, ns = world.shapes, len(world.shapes.shape)
    family, radius, near = np.zeros(ns, np.int64), np.zeros(ns), np.zeros(ns)
    size, grid, start = np.zeros((ns, 3)), np.zeros((ns, 3), np.int64), np.zeros((ns + 1, 3), np.int64)
    corners, edges, normals, rings = ([np.zeros(shape)] for shape in ((0, 3), (0, 2, 3), (0, 3), (0, 3)))
    sides, heights = [0], [np.zeros(0)]
    parts: dict[object, tuple[Array, Array, Array, list[Array]]] = {}
    height = 0
    for s, shape in enumerate(shapes.shape):
        family[s] = _family(shape)
        radius[s] = getattr(shape, "radius", 0.0)
        near[s] = NEAR * shape.reach if math.isfinite(shape.reach) else 0.0
        if isinstance(shape, Ellipsoid):
            size[s] = shape.radii
        elif isinstance(shape, Cylinder):
            size[s, 0] = 0.5 * shape.length
        elif isinstance(shape, HeightField):
            size[s, :2] = 0.5 * np.array(shape.size)
            near[s] = 2.0 * NEAR * max(*shape.size, float(np.ptp(shape.heights)))
            grid[s] = height, *shape.heights.shape[::-1]
            heights.append(shape.heights.T.ravel())
            height += shape.heights.size
        which = outline(shape)
        if which not in parts:
            parts[which] = _polyhedron(shape, known)
        found = parts[which]
        for table, part in zip((corners, edges, normals), (found[0], found[1], found[2]), strict=True):
            table.append(part)
        rings += found[3]
        sides += [len(ring) for ring in found[3]]
        start[s + 1] = start[s] + [len(part) for part in found[:3]]
    return ShapeFeatures(
        family, np.array(shapes.body, np.int64), np.array(shapes.position),
        matrices(shapes.quaternion).reshape(ns, 3, 3), radius, size, near, start, np.concatenate(corners),
        np.concatenate(edges), np.concatenate(normals), np.cumsum(sides), np.concatenate(rings), grid,
        np.concatenate(heights), ALIGNED, np.array([_searched(shape) for shape in shapes.shape], np.int64),
    )  # fmt: skip


def _family(shape: Shape) -> int:
    for kind, family in ((Plane, PLANE), (Ellipsoid, ELLIPSOID), (Cylinder, CYLINDER), (HeightField, FIELD)):
        if isinstance(shape, kind):
            return family
    if isinstance(shape, Sphere | Capsule | Cuboid | ConvexHull):
        return CORE
    raise ModelError(f"detection knows no shape {type(shape).__name__}")


def _searched(shape: Shape) -> int:
    """As `ShapeFeatures.searched`."""
    return 2 if isinstance(shape, ConvexHull) else int(isinstance(shape, Ellipsoid | Cylinder | HeightField))


def _polyhedron(shape: Shape, known: KnownFaces) -> tuple[Array, Array, Array, list[Array]]:
    """Corners (nv, 3), edges (ne, 2, 3), normals of faces (nf, 3) and their rings of corners, all [m]."""
    none, no_edge = np.zeros((0, 3)), np.zeros((0, 2, 3))
    if isinstance(shape, Sphere):
        return np.zeros((1, 3)), no_edge, none, []
    if isinstance(shape, Capsule):
        ends = np.array([[0.0, 0.0, -0.5 * shape.length], [0.0, 0.0, 0.5 * shape.length]])
        return ends, ends[None], none, []
    if not isinstance(shape, Cuboid | ConvexHull):
        return none, no_edge, none, []
    found = known.faces(shape)
    if not found:  # a rounded hull: each of its triangles is a face
        assert isinstance(shape, ConvexHull)
        rings = shape.vertices[shape.triangles]
        across = np.cross(rings[:, 1] - rings[:, 0], rings[:, 2] - rings[:, 0])
        area = np.linalg.norm(across, axis=1)
        found = [(across[k] / area[k], rings[k]) for k in np.flatnonzero(area > 0.0)]
    edges: dict[tuple[bytes, ...], tuple[Array, Array]] = {}
    for _, ring in found:
        for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True):
            edges.setdefault(tuple(sorted((a.tobytes(), b.tobytes()))), (a, b))
    corners = np.unique(np.concatenate([ring for _, ring in found]), axis=0)
    return corners, np.array(list(edges.values())), np.array([n for n, _ in found]), [r for _, r in found]
