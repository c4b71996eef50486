"""Faces of boxes and convex hulls as polygons, for contacts between faces."""

import itertools

import numpy as np

from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Cuboid, Shape
from stickslip.state import Array

FLAT = 1e-7
"""Tolerance for triangles of one face: difference of normals, and distance of corners from the plane relative
to the size [-]. Meshes in files have single precision."""
MOST_FACES = 100
"""Largest number of faces for which contacts between faces are computed; hulls with more faces are treated as
rounded, with the contacts of MuJoCo's narrow phase. Heuristic."""


def outline(shape: Shape) -> object:
    """Return a key for the geometry of a shape: shapes with equal keys have equal faces, edges and
    corners."""
    if isinstance(shape, Cuboid):
        return tuple(map(float, shape.size))
    if isinstance(shape, ConvexHull):
        return shape.vertices.tobytes(), shape.triangles.tobytes()
    return id(shape)


class KnownFaces:
    """Cache of the faces of shapes, by `outline`."""

    def __init__(self) -> None:
        self._known: dict[object, list[tuple[Array, Array]]] = {}

    def faces(self, shape: Shape) -> list[tuple[Array, Array]]:
        """Return `faces(shape)` from the cache."""
        which = outline(shape)
        if which not in self._known:
            self._known[which] = faces(shape)
        return self._known[which]


def faces(shape: Shape) -> list[tuple[Array, Array]]:
    """Return outward normal [-], shape (3,), and corners [m], shape (k, 3), of each face of a shape.

    Corners are in counter-clockwise order seen from outside. The list is empty for shapes that are not
    polyhedra or have more than `MOST_FACES` faces.
    """
    if isinstance(shape, Cuboid):
        corners = 0.5 * np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * shape.size
        normals = np.concatenate([np.eye(3), -np.eye(3)])
    elif isinstance(shape, ConvexHull):
        corners = shape.vertices
        a, b, c = (corners[shape.triangles[:, k]] for k in range(3))
        across = np.cross(b - a, c - a)
        area = np.linalg.norm(across, axis=1)
        normals = np.zeros((0, 3))
        # The largest triangle of a face gives the most accurate normal.
        for k in np.argsort(-area, kind="stable"):
            if (
                area[k] > 0.0
                and not (np.abs(normals - across[k] / area[k]).max(axis=1, initial=0.0) < FLAT).any()
            ):
                normals = np.concatenate([normals, across[k : k + 1] / area[k]])
            if len(normals) > MOST_FACES:
                return []
    else:
        return []
    size = float(np.ptp(corners, axis=0).max())
    return [(normal, _ring(corners, normal, FLAT * size)) for normal in normals]


def _ring(corners: Array, normal: Array, near: float) -> Array:
    """Return the corners within `near` of the supporting plane with this normal, ordered about the normal."""
    height = corners @ normal
    flat = corners[height > height.max() - near]
    middle = flat.mean(axis=0)
    start = flat[0] - middle
    start -= (start @ normal) * normal
    side = np.cross(normal, start)
    angle = np.arctan2((flat - middle) @ side, (flat - middle) @ start)
    return np.asarray(flat[np.argsort(angle, kind="stable")])
