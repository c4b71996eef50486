"""Terrain as a grid of heights over a rectangle."""

import math
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np

from stickslip.mechanics.given import numbers, positives
from stickslip.mechanics.shapes import Endless
from stickslip.state import Array, BoolArray, ModelError

TALLEST = 1e60
"""Largest height [m], for which differences and products of heights are finite in double precision."""
MARKERS = (
    -999.0, -9999.0, -99999.0, -999999.0, 9999.0, 99999.0, 32767.0, -32767.0, -32768.0, 65535.0, 2147483647.0,
    -2147483648.0, 4294967295.0,
)  # fmt: skip
"""Usual NoData values of raster files: ESRI grids, 16-bit and 32-bit integers."""
HUGE = 1e19
"""Height above which a value is taken for NoData [m]: NetCDF writes 1e20 or 9.97e36, GMT 1e30, GDAL and ESRI
the largest single-precision number."""


@dataclass(frozen=True, eq=False)
class HeightField(Endless):
    """Terrain over a rectangle centred in the frame; for fixed and kinematic bodies only.

    `heights[i, j]` is the height [m] at `x[i]`, `y[j]`; both are evenly spaced up to the edges of the
    rectangle. Missing heights (NaN, masked entries, the NoData value of a raster file) are errors unless
    `fill` [m] defines a height for them; `nodata` is the value that marks them.

    Example:

        heights = 0.1 * np.sin(np.linspace(0.0, 6.0, 20))[:, None] * np.ones(20)
        b = ss.WorldBuilder()
        b.body("ground", ss.HeightField(heights, size=(4.0, 4.0)), fixed=True)
    """

    heights: Array
    """Heights z of the surface [m], shape (nx, ny), at least 2 x 2."""
    size: tuple[float, float]
    """Lengths of the rectangle along x and y [m]."""
    nodata: InitVar[float | None] = None
    fill: InitVar[float | None] = None

    def __post_init__(self, nodata: float | None, fill: float | None) -> None:
        heights = numbers("HeightField", "heights", _measured(self.heights, nodata, fill), (None, None))
        if min(heights.shape) < 2:
            raise ModelError(f"HeightField: heights has shape {heights.shape}, expected at least (2, 2)")
        if np.abs(heights).max() > TALLEST:
            raise ModelError(
                f"HeightField: heights reach {np.abs(heights).max():g} m, more than {TALLEST:g} m"
            )
        if nodata is None:
            _refuse_markers(heights)
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "size", positives("HeightField", "size", self.size, 2))

    @property
    def x(self) -> Array:
        """Coordinates of the rows of `heights` [m], shape (nx,)."""
        return np.linspace(-0.5 * self.size[0], 0.5 * self.size[0], self.heights.shape[0])

    @property
    def y(self) -> Array:
        """Coordinates of the columns of `heights` [m], shape (ny,)."""
        return np.linspace(-0.5 * self.size[1], 0.5 * self.size[1], self.heights.shape[1])

    def surface(self, x: Array, y: Array) -> Array:
        """Return the height at points x, y of its frame, bilinear between grid points [m], same shape as x.

        Points outside the rectangle have the height of the nearest point of its edge.
        """
        nx, ny = self.heights.shape
        a = np.clip((x / self.size[0] + 0.5) * (nx - 1), 0.0, nx - 1)
        c = np.clip((y / self.size[1] + 0.5) * (ny - 1), 0.0, ny - 1)
        i, j = np.minimum(a.astype(int), nx - 2), np.minimum(c.astype(int), ny - 2)
        a, c, z = a - i, c - j, self.heights
        return np.asarray(
            (1 - a) * ((1 - c) * z[i, j] + c * z[i, j + 1])
            + a * ((1 - c) * z[i + 1, j] + c * z[i + 1, j + 1])
        )


def _measured(heights: Any, nodata: float | None, fill: float | None) -> Any:
    """Return the heights with missing ones replaced by `fill`; raise a ModelError if there is no `fill`."""
    data = np.ma.getdata(heights) if np.ma.isMaskedArray(heights) else heights
    try:
        values = np.asarray(data, float)
    except (TypeError, ValueError):
        return heights  # `numbers` raises the error
    masked = np.ma.getmaskarray(heights) if np.ma.isMaskedArray(heights) else np.zeros(values.shape, bool)
    empty, kind = masked | np.isnan(values), "masked or NaN"
    if nodata is not None:
        if not (isinstance(nodata, float) and math.isnan(nodata)):
            empty = empty | (values == float(numbers("HeightField", "nodata", nodata, ())))
        kind = f"the NoData value {nodata:g}, masked or NaN"
    if not empty.any():
        return values
    if fill is None:
        raise ModelError(
            f"HeightField: {int(empty.sum())} of {values.size} heights are {kind}, the first at"
            f" heights{_first(empty)}; crop the terrain, fill them in, or give a height for all: fill=0.0"
        )
    return np.where(empty, float(numbers("HeightField", "fill", fill, ())), values)


def _refuse_markers(heights: Array) -> None:
    """Raise a ModelError for heights that look like NoData: a usual NoData value, and farther from all other
    heights than their range."""
    odd = np.isin(heights, MARKERS) | (np.abs(heights) > HUGE)
    if not odd.any() or odd.all():
        return
    low, high = float(heights[~odd].min()), float(heights[~odd].max())
    far = odd & (np.maximum(low - heights, heights - high) > high - low)
    if far.any():
        at = _first(far)
        value = float(heights[far][0])
        raise ModelError(
            f"HeightField: {int(far.sum())} of {heights.size} heights are {value:g} m, the first at"
            f" heights{at}, while all others are from {low:g} to {high:g} m: a NoData value of the terrain?"
            f" Name it, with the height for such places: HeightField(..., nodata={value:g}, fill={low:g})"
        )


def _first(where: BoolArray) -> str:
    return f"[{', '.join(str(int(k)) for k in np.argwhere(where)[0])}]"
