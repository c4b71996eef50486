"""Floors and walls made of planes, and initial positions and orientations of many separate bodies."""

import math
from collections.abc import Iterable

import numpy as np

from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Plane
from stickslip.state import Array

HALF = math.sqrt(0.5)
WALLS: dict[str, tuple[tuple[float, float], tuple[float, float, float, float]]] = {
    "left": ((-0.5, 0.0), (HALF, 0.0, HALF, 0.0)),
    "right": ((0.5, 0.0), (HALF, 0.0, -HALF, 0.0)),
    "front": ((0.0, -0.5), (HALF, -HALF, 0.0, 0.0)),
    "back": ((0.0, 0.5), (HALF, HALF, 0.0, 0.0)),
}
"""Sides of a box: position over its width, and the quaternion that turns +z inwards."""


def add_floor(b: WorldBuilder, material: str = "default") -> None:
    """Add a fixed floor at z = 0."""
    b.body("floor", Plane(), fixed=True, material=material)


def add_walls(
    b: WorldBuilder, size: tuple[float, float], sides: Iterable[str] = tuple(WALLS), material: str = "default"
) -> None:
    """Add fixed vertical walls around the origin, at distances `size` (along x, along y) [m]."""
    for side in sides:
        (x, y), p = WALLS[side]
        place = (x * size[0], y * size[1], 0.0)
        b.body(side, Plane(), position=place, quaternion=p, fixed=True, material=material)


def lattice(
    rng: np.random.Generator, bodies: int, columns: tuple[int, int], reach: float, slack: float = 0.15
) -> tuple[Array, tuple[float, float]]:
    """Return centres of bodies of radius `reach` [m], in layers above z = 0, so that no two bodies touch.

    Each body has a random position in its cell of a centred lattice with `columns` cells along x and y;
    cells are wider than a body by the share `slack`. Returns the centres [m], shape (bodies, 3), and the
    widths of the lattice along x and y [m].
    """
    cell = 2.0 * (1.0 + slack) * reach
    layer, place = np.divmod(np.arange(bodies), columns[0] * columns[1])
    i, j = np.divmod(place, columns[1])
    corner = np.stack([i - 0.5 * columns[0], j - 0.5 * columns[1], layer], axis=1)
    room = 0.9 * slack * reach
    centres = cell * (corner + 0.5) + rng.uniform(-room, room, (bodies, 3))
    return np.asarray(centres), (columns[0] * cell, columns[1] * cell)


def orientations(rng: np.random.Generator, count: int) -> Array:
    """Return random unit quaternions, uniform over all orientations [-], shape (count, 4)."""
    p = rng.normal(size=(count, 4))
    return np.asarray(p / np.linalg.norm(p, axis=1, keepdims=True))
