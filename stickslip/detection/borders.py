"""Where shapes end: whether a place is on a shape, or beyond the borders of its features."""

from collections.abc import Callable

import numpy as np

from stickslip.kernels.bodies.features import CORE, CORNER, CYLINDER, FACE, FIELD, ShapeFeatures
from stickslip.kernels.bodies.fields import Field, surface
from stickslip.state import Array

BORDER = 1e-9
"""Share of the size of a shape by which a place may be off it."""
Within = Callable[[Array], bool]
"""Whether something is within borders."""


def borders_of(features: ShapeFeatures) -> list[Within]:
    """Whether a place in the frame of its body [m], shape (3,), is on the surface of a shape or in it, but
    for `BORDER` of its size; of each shape."""
    return [_border(features, s) for s in range(len(features.family))]


def _border(features: ShapeFeatures, s: int) -> Within:
    x, A, family, r = features.position[s], features.R[s], int(features.family[s]), features.radius[s]
    first, last = features.start[s], features.start[s + 1]
    corners = features.corner[first[CORNER] : last[CORNER]]
    if family == CORE and last[FACE] > first[FACE]:
        normals = features.normal[first[FACE] : last[FACE]]
        start = features.ring[features.ring_start[first[FACE] : last[FACE]]]
        most = np.einsum("ij,ij->i", normals, start) + r + BORDER * np.abs(corners).max()
        return lambda place: bool((normals @ (A.T @ (place - x)) <= most).all())
    if family == CORE and len(corners) == 2:  # a capsule: its caps are features of their own
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
    """Distance of p (3,) from the line along z that is `half` long either way [m]."""
    return float(np.hypot(np.hypot(p[0], p[1]), max(abs(p[2]) - half, 0.0)))
