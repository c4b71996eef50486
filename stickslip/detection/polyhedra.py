"""Faces of boxes and hulls as polygons, for contacts of faces that lie on each other."""

import itertools

import numpy as np

from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Cuboid, Shape
from stickslip.state import Array

FLAT = 1e-7
"""Triangles whose normals are closer than that, and corners so near to a plane beside the size, are of one
face: what files in single precision have."""
MOST_FACES = 100
"""A hull with more has no faces to lie on: it is rounded, and the narrow phase's contacts will do."""


def outline(shape: Shape) -> object:
    """What faces, edges and corners of a shape follow from: shapes of the same outline have the same ones."""
    if isinstance(shape, Cuboid):
        return tuple(map(float, shape.size))
    if isinstance(shape, ConvexHull):
        return shape.vertices.tobytes(), shape.triangles.tobytes()
    return id(shape)


class KnownFaces:
    """Faces of shapes, found once for all shapes of the same outline."""

    def __init__(self) -> None:
        self._known: dict[object, list[tuple[Array, Array]]] = {}

    def faces(self, shape: Shape) -> list[tuple[Array, Array]]:
        """`faces` of a shape."""
        which = outline(shape)
        if which not in self._known:
            self._known[which] = faces(shape)
        return self._known[which]


def faces(shape: Shape) -> list[tuple[Array, Array]]:
    """Outward normal, shape (3,), and corners [m], counter-clockwise seen from outside, shape (k, 3), of each
    face; none of shapes that are no polyhedra or have too many."""
    if isinstance(shape, Cuboid):
        corners = 0.5 * np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * shape.size
        normals = np.concatenate([np.eye(3), -np.eye(3)])
    elif isinstance(shape, ConvexHull):
        corners = shape.vertices
        a, b, c = (corners[shape.triangles[:, k]] for k in range(3))
        across = np.cross(b - a, c - a)
        area = np.linalg.norm(across, axis=1)
        normals = np.zeros((0, 3))
        # The largest triangles say best where a face looks.
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
    """Corners within `near` of the plane that supports them, in order about the normal."""
    height = corners @ normal
    flat = corners[height > height.max() - near]
    middle = flat.mean(axis=0)
    start = flat[0] - middle
    start -= (start @ normal) * normal
    side = np.cross(normal, start)
    angle = np.arctan2((flat - middle) @ side, (flat - middle) @ start)
    return np.asarray(flat[np.argsort(angle, kind="stable")])
