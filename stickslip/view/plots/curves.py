"""Reduce the curves of long runs to few points: the error is below a pixel, and extrema are kept."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.exhibits import GUIDE, Curve, Figure
from stickslip.problem.checks import Array, IntArray

POINTS = 2000
"""Approximate largest number of points of a curve."""
DOTS = 1000
"""Approximate largest number of points of a cloud; an SVG file has a line for each."""
LARGEST = 1e100
"""Magnitude from which numbers are drawn as gaps, as in diverged runs."""
PER_PIXEL = 5
"""Number of points kept per pixel of a history: first, smallest, largest, last, and a gap."""
FINEST, COARSEST = 1e-3, 3e-3
"""Allowed distance of chords from a curve, relative to its size [-]: half a pixel, and the largest distance
without visible corners."""


def history(
    name: str, t: Array, y: Any, style: str = "-", colour: int | None = None, points: int = POINTS
) -> Curve:
    """y over time t as a curve of at most `points` points; non-finite values are gaps."""
    t, y = np.asarray(t, float), drawable(y)
    indices = _envelope(t, y, points)
    return Curve(name, t[indices], y[indices], style, colour)


def orbit(name: str, x: Any, y: Any, points: int = POINTS) -> Curve:
    """A curve in the plane of at most about `points` points; points of straight parts are removed."""
    x, y = drawable(x), drawable(y)
    indices = _bends(x, y, points)
    return Curve(name, x[indices], y[indices])


def part_to_draw(x: Any, y: Any, points: int = POINTS) -> int:
    """Start of the last part of a curve that `points` points draw without visible corners."""
    x, y = drawable(x), drawable(y)
    start = 0
    while _bends(x[start:], y[start:], points, COARSEST).size > points:
        start += (x.size - start) // 2
    return start


def cloud(name: str, x: Any, y: Any, colour: int | None = None, points: int = DOTS) -> Curve:
    """Points in the plane, at most about `points`; points that hide each other are drawn once."""
    x, y = drawable(x), drawable(y)
    indices = _apart(x, y, points)
    return Curve(name, x[indices], y[indices], "o", colour)


def guide(name: str, x: Any, y: Any, style: str = "-") -> Curve:
    """A guide line, thin and grey, that is not data."""
    return Curve(name, np.asarray(x, float), np.asarray(y, float), style, GUIDE)


def drawable(y: Any) -> Array:
    """y with NaN in place of numbers that cannot be drawn."""
    y = np.asarray(y, float)
    return np.where(np.abs(y) < LARGEST, y, np.nan)


def finished(figure: Figure, path: str | Path | None, *notes: str) -> Figure:
    """Add notes to a figure, and write it to `path` if one is given."""
    figure = replace(figure, note=" ".join(note for note in (figure.note, *notes) if note))
    if path is not None:
        from stickslip.view.figures import draw

        draw(figure, path)
    return figure


def _envelope(t: Array, y: Array, points: int) -> IntArray:
    """Indices of the kept points of a history: on every pixel of t the first, last, smallest and largest."""
    n = t.size
    if n <= points:
        return np.arange(n)
    pixels = max(1, points // PER_PIXEL)
    low, high = float(t.min()), float(t.max())
    share = (t - low) / (high - low) if high > low else np.zeros(n)
    pixel = np.minimum((share * pixels).astype(np.int64), pixels - 1)
    indices = [_first(pixel), n - 1 - _first(pixel[::-1])]
    known = np.flatnonzero(~np.isnan(y))
    order = known[np.lexsort((y[known], pixel[known]))]
    indices += [order[_first(pixel[order])], order[order.size - 1 - _first(pixel[order[::-1]])]]
    gaps = np.flatnonzero(np.isnan(y))
    indices.append(gaps[_first(pixel[gaps])])
    return np.unique(np.concatenate(indices))


def _first(group: Any) -> IntArray:
    """Index of the first occurrence of each value of `group`."""
    return np.unique(group, return_index=True)[1]


def _bends(x: Array, y: Array, points: int, coarsest: float = np.inf) -> IntArray:
    """Indices of the kept points of a curve: every second point is removed if it is near its chord.

    The threshold of the distance grows until at most `points` points are left, or up to `coarsest`.
    """
    indices = np.arange(x.size)
    if x.size <= points:
        return indices
    unit_x, unit_y = _unit(x), _unit(y)
    fixed = np.zeros(x.size, bool)
    fixed[[0, -1]] = True
    for values in (unit_x, unit_y):
        if not np.isnan(values).all():
            fixed[[np.nanargmin(values), np.nanargmax(values)]] = True
    gap = np.isnan(unit_x) | np.isnan(unit_y)
    fixed |= gap & ~np.concatenate([[False], gap[:-1]])
    indices = indices[~gap | fixed]
    near = FINEST
    while indices.size > max(points, 2 * int(fixed.sum())) and near <= coarsest:
        before = indices.size
        for start in (1, 2):
            indices = _without(indices, start, unit_x, unit_y, fixed, near)
        if indices.size > 0.99 * before:
            near *= 1.5
    return indices


def _without(kept: IntArray, start: int, x: Array, y: Array, fixed: np.ndarray, near: float) -> IntArray:
    """Remove from `kept` those of every second point that lie near the chord of their neighbours."""
    middle = np.arange(start, kept.size - 1, 2)
    a, b, c = kept[middle - 1], kept[middle], kept[middle + 1]
    along_x, along_y = x[c] - x[a], y[c] - y[a]
    off_x, off_y = x[b] - x[a], y[b] - y[a]
    square = along_x**2 + along_y**2
    share = np.clip((off_x * along_x + off_y * along_y) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    distance = np.hypot(off_x - share * along_x, off_y - share * along_y)
    removed = (distance <= near) & ~fixed[b]  # next to a gap the distance is NaN, and the point is kept
    return np.delete(kept, middle[removed])


def _apart(x: Array, y: Array, points: int) -> IntArray:
    """Indices of one point per cell of a grid, and the outermost points; the grid is coarsened as needed."""
    known = np.flatnonzero(~(np.isnan(x) | np.isnan(y)))
    if known.size <= points:
        return known
    unit_x, unit_y = _unit(x[known]), _unit(y[known])
    outer = [f(values) for values in (unit_x, unit_y) for f in (np.argmin, np.argmax)]
    cells = 512
    while cells > 1:
        cell = np.floor(unit_x * cells) * (2.0 * cells) + np.floor(unit_y * cells)
        indices = np.unique(np.concatenate([_first(cell), outer]))
        if indices.size <= points:
            return known[indices]
        cells = cells * 3 // 4
    return known[np.unique(outer)]


def _unit(x: Array) -> Array:
    """x scaled to the range from 0 to 1; NaN stays NaN."""
    if np.isnan(x).all():
        return x
    low, high = float(np.nanmin(x)), float(np.nanmax(x))
    size = high / 2.0 - low / 2.0  # halves: the difference of huge numbers overflows
    return np.asarray((x / 2.0 - low / 2.0) / size if size > 0.0 else x * 0.0)
