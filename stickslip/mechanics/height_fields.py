"""Ground given by heights over a rectangle."""

from dataclasses import dataclass

import numpy as np

from stickslip.mechanics.given import numbers, positives
from stickslip.mechanics.shapes import Endless
from stickslip.state import Array, ModelError

TALLEST = 1e60
"""Largest height [m]: differences and products of heights are numbers of the machine."""


@dataclass(frozen=True, eq=False)
class HeightField(Endless):
    """Ground below a surface over a rectangle centred in the frame; on fixed and kinematic bodies only.

    `heights[i, j]` stands at `x[i]`, `y[j]`; the numbers are evenly spaced and reach the rectangle's edges.
    """

    heights: Array
    """z of the surface [m], shape (nx, ny), at least 2 x 2."""
    size: tuple[float, float]
    """Lengths of the rectangle along x and y [m]."""

    def __post_init__(self) -> None:
        heights = numbers("HeightField", "heights", self.heights, (None, None))
        if min(heights.shape) < 2:
            raise ModelError(f"HeightField: heights has shape {heights.shape}, expected at least (2, 2)")
        if np.abs(heights).max() > TALLEST:
            raise ModelError(
                f"HeightField: heights reach {np.abs(heights).max():g} m, more than {TALLEST:g} m"
            )
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "size", positives("HeightField", "size", self.size, 2))

    @property
    def x(self) -> Array:
        """Of the rows of `heights` [m], shape (nx,)."""
        return np.linspace(-0.5 * self.size[0], 0.5 * self.size[0], self.heights.shape[0])

    @property
    def y(self) -> Array:
        """Of the columns of `heights` [m], shape (ny,)."""
        return np.linspace(-0.5 * self.size[1], 0.5 * self.size[1], self.heights.shape[1])
