"""Boxes of planes for bodies to fall into, and places for many bodies that do not touch yet."""

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
"""Sides of a box: place in widths of it, and the quaternion that turns +z inwards."""


def add_floor(b: WorldBuilder, material: str = "default") -> None:
    """A fixed floor z = 0."""
    b.body("floor", Plane(), fixed=True, material=material)


def add_walls(
    b: WorldBuilder, size: tuple[float, float], sides: Iterable[str] = tuple(WALLS), material: str = "default"
) -> None:
    """Fixed vertical walls about the origin, `size` (along x, along y) apart [m]."""
    for side in sides:
        (x, y), p = WALLS[side]
        place = (x * size[0], y * size[1], 0.0)
        b.body(side, Plane(), position=place, quaternion=p, fixed=True, material=material)


def lattice(
    rng: np.random.Generator, bodies: int, columns: tuple[int, int], reach: float, slack: float = 0.15
) -> tuple[Array, tuple[float, float]]:
    """Centres of bodies that lie within `reach` [m] of them, layer upon layer over z = 0, none touching.

    Each stands at random in its cell of a lattice of so many columns along x and y, centred; a cell is
    `slack` wider than the body. Returns the centres [m], shape (bodies, 3), and the widths of the lattice.
    """
    cell = 2.0 * (1.0 + slack) * reach
    layer, place = np.divmod(np.arange(bodies), columns[0] * columns[1])
    i, j = np.divmod(place, columns[1])
    corner = np.stack([i - 0.5 * columns[0], j - 0.5 * columns[1], layer], axis=1)
    room = 0.9 * slack * reach
    centres = cell * (corner + 0.5) + rng.uniform(-room, room, (bodies, 3))
    return np.asarray(centres), (columns[0] * cell, columns[1] * cell)


def orientations(rng: np.random.Generator, count: int) -> Array:
    """Unit quaternions, uniform over all orientations [-], shape (count, 4)."""
    p = rng.normal(size=(count, 4))
    return np.asarray(p / np.linalg.norm(p, axis=1, keepdims=True))
