"""Features (corners, edges, faces) of the shapes of a world, as arrays for `kernels/bodies/features.py`."""

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
"""Largest distance of a contact point from its feature, relative to the size of the shape [-]; MuJoCo stores
shapes in single precision."""


def shape_features(world: World, known: KnownFaces | None = None) -> ShapeFeatures:
    """Return the features of all shapes of a world; known: cache of faces."""
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
        key = outline(shape)
        if key not in parts:
            parts[key] = _polyhedron(shape, known)
        polyhedron = parts[key]
        for table, part in zip(
            (corners, edges, normals), (polyhedron[0], polyhedron[1], polyhedron[2]), strict=True
        ):
            table.append(part)
        rings += polyhedron[3]
        sides += [len(ring) for ring in polyhedron[3]]
        start[s + 1] = start[s] + [len(part) for part in polyhedron[:3]]
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
    """Entry of `ShapeFeatures.searched` for the shape."""
    return 2 if isinstance(shape, ConvexHull) else int(isinstance(shape, Ellipsoid | Cylinder | HeightField))


def _polyhedron(shape: Shape, known: KnownFaces) -> tuple[Array, Array, Array, list[Array]]:
    """Return corners (nv, 3) [m], edges (ne, 2, 3) [m], normals of faces (nf, 3) [-] and, for each face, its
    corners in order [m]."""
    empty, no_edge = np.zeros((0, 3)), np.zeros((0, 2, 3))
    if isinstance(shape, Sphere):
        return np.zeros((1, 3)), no_edge, empty, []
    if isinstance(shape, Capsule):
        ends = np.array([[0.0, 0.0, -0.5 * shape.length], [0.0, 0.0, 0.5 * shape.length]])
        return ends, ends[None], empty, []
    if not isinstance(shape, Cuboid | ConvexHull):
        return empty, no_edge, empty, []
    polygons = known.faces(shape)
    if not polygons:  # a hull with many faces: each triangle is a face
        assert isinstance(shape, ConvexHull)
        rings = shape.vertices[shape.triangles]
        across = np.cross(rings[:, 1] - rings[:, 0], rings[:, 2] - rings[:, 0])
        area = np.linalg.norm(across, axis=1)
        polygons = [(across[k] / area[k], rings[k]) for k in np.flatnonzero(area > 0.0)]
    edges: dict[tuple[bytes, ...], tuple[Array, Array]] = {}
    for _, ring in polygons:
        for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True):
            edges.setdefault(tuple(sorted((a.tobytes(), b.tobytes()))), (a, b))
    corners = np.unique(np.concatenate([ring for _, ring in polygons]), axis=0)
    return (
        corners,
        np.array(list(edges.values())),
        np.array([n for n, _ in polygons]),
        [r for _, r in polygons],
    )
