"""Borders of shapes: tests whether a point of a feature's surface belongs to the shape."""

from collections.abc import Callable

import numpy as np

from stickslip.kernels.bodies.features import CORE, CORNER, CYLINDER, FACE, FIELD, ShapeFeatures
from stickslip.kernels.bodies.fields import Field, surface
from stickslip.state import Array

BORDER = 1e-9
"""Tolerance of these tests, relative to the size of the shape [-]; heuristic."""
Within = Callable[[Array], bool]
"""Test of a point [m], shape (3,), in the frame of the body."""


def borders_of(features: ShapeFeatures) -> list[Within]:
    """Return a test for each shape: whether a point is on or in the shape, to `BORDER` of its size."""
    return [_border(features, s) for s in range(len(features.family))]


def _border(features: ShapeFeatures, s: int) -> Within:
    x, A, family, r = features.position[s], features.R[s], int(features.family[s]), features.radius[s]
    first, last = features.start[s], features.start[s + 1]
    corners = features.corner[first[CORNER] : last[CORNER]]
    if family == CORE and last[FACE] > first[FACE]:
        normals = features.normal[first[FACE] : last[FACE]]
        start = features.ring[features.ring_start[first[FACE] : last[FACE]]]
        offset = np.einsum("ij,ij->i", normals, start) + r + BORDER * np.abs(corners).max()
        return lambda place: bool((normals @ (A.T @ (place - x)) <= offset).all())
    if family == CORE and len(corners) == 2:  # a capsule, whose caps are separate features
        half = 0.5 * float(corners[1, 2] - corners[0, 2])
        return lambda place: bool(_to_axis(A.T @ (place - x), half) <= r + BORDER * (half + r))
    if family == CYLINDER:
        half = features.size[s, 0]
        allowed = BORDER * (half + r)

        def on_cylinder(place: Array) -> bool:
            p = A.T @ (place - x)
            return bool(abs(p[2]) <= half + allowed and np.hypot(p[0], p[1]) <= r + allowed)

        return on_cylinder
    if family == FIELD:
        begin, rows, columns = features.grid[s]
        heights = features.heights[begin : begin + rows * columns].reshape(rows, columns)
        field = Field(heights, features.size[s, 0], features.size[s, 1], x, A)
        allowed = BORDER * float(features.size[s, :2].max() + np.ptp(heights))

        def on_field(place: Array) -> bool:
            p = A.T @ (place - x)
            return bool(abs(p[2] - surface(p[0], p[1], field)[0]) <= allowed)

        return on_field
    return lambda place: True


def _to_axis(p: Array, half: float) -> float:
    """Distance of p (3,) from the segment -half <= z <= half of the z axis [m]."""
    return float(np.hypot(np.hypot(p[0], p[1]), max(abs(p[2]) - half, 0.0)))
