"""Curves of long runs with few points: what is left out is smaller than a pixel, and no spike is lost."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.exhibits import GUIDE, Curve, Figure
from stickslip.problem.checks import Array, IntArray

POINTS = 2000
"""Most points of a curve, about."""
DOTS = 1000
"""Most points of a cloud, about; an SVG file has a line for each."""
LARGEST = 1e100
"""Numbers from here on are gaps: a run that blew up."""
PER_PIXEL = 5
"""Points kept of what falls on one pixel of a history: first, least, largest, last, and a gap."""
FINEST, COARSEST = 1e-3, 3e-3
"""How far from a curve its chords may run, relative to its size [-]: half a pixel, and what is not yet seen
as corners."""


def history(
    name: str, t: Array, y: Any, style: str = "-", colour: int | None = None, points: int = POINTS
) -> Curve:
    """y over time t as a curve of at most `points`; infinite values are gaps, as NaN is."""
    t, y = np.asarray(t, float), drawable(y)
    kept = _envelope(t, y, points)
    return Curve(name, t[kept], y[kept], style, colour)


def orbit(name: str, x: Any, y: Any, points: int = POINTS) -> Curve:
    """A curve in the plane of at most about `points`: straight parts lose points, bends and ends do not."""
    x, y = drawable(x), drawable(y)
    kept = _bends(x, y, points)
    return Curve(name, x[kept], y[kept])


def part_to_draw(x: Any, y: Any, points: int = POINTS) -> int:
    """Where the last part of a curve begins that `points` can draw without corners; 0 if that is all."""
    x, y = drawable(x), drawable(y)
    start = 0
    while _bends(x[start:], y[start:], points, COARSEST).size > points:
        start += (x.size - start) // 2
    return start


def cloud(name: str, x: Any, y: Any, colour: int | None = None, points: int = DOTS) -> Curve:
    """Points in the plane, at most about `points`: of those that would hide each other one is kept."""
    x, y = drawable(x), drawable(y)
    kept = _apart(x, y, points)
    return Curve(name, x[kept], y[kept], "o", colour)


def guide(name: str, x: Any, y: Any, style: str = "-") -> Curve:
    """A line that is no data: thin and grey."""
    return Curve(name, np.asarray(x, float), np.asarray(y, float), style, GUIDE)


def drawable(y: Any) -> Array:
    """y with gaps in the place of numbers that no axis shows."""
    y = np.asarray(y, float)
    return np.where(np.abs(y) < LARGEST, y, np.nan)


def finished(figure: Figure, path: str | Path | None, *notes: str) -> Figure:
    """The figure with its notes, drawn into `path` where one is given."""
    figure = replace(figure, note=" ".join(note for note in (figure.note, *notes) if note))
    if path is not None:
        from stickslip.view.figures import draw

        draw(figure, path)
    return figure


def _envelope(t: Array, y: Array, points: int) -> IntArray:
    """Which points stand for the others: on every pixel of t the first, last, least and largest."""
    n = t.size
    if n <= points:
        return np.arange(n)
    pixels = max(1, points // PER_PIXEL)
    low, high = float(t.min()), float(t.max())
    share = (t - low) / (high - low) if high > low else np.zeros(n)
    pixel = np.minimum((share * pixels).astype(np.int64), pixels - 1)
    kept = [_first(pixel), n - 1 - _first(pixel[::-1])]
    known = np.flatnonzero(~np.isnan(y))
    order = known[np.lexsort((y[known], pixel[known]))]
    kept += [order[_first(pixel[order])], order[order.size - 1 - _first(pixel[order[::-1]])]]
    gaps = np.flatnonzero(np.isnan(y))
    kept.append(gaps[_first(pixel[gaps])])
    return np.unique(np.concatenate(kept))


def _first(group: Any) -> IntArray:
    """Where each value of `group` comes first."""
    return np.unique(group, return_index=True)[1]


def _bends(x: Array, y: Array, points: int, coarsest: float = np.inf) -> IntArray:
    """Points without which the curve would be another: every second one goes where it is near its chord.

    The distance below which they go grows until few enough are left, or to `coarsest`.
    """
    kept = np.arange(x.size)
    if x.size <= points:
        return kept
    unit_x, unit_y = _unit(x), _unit(y)
    fixed = np.zeros(x.size, bool)
    fixed[[0, -1]] = True
    for values in (unit_x, unit_y):
        if not np.isnan(values).all():
            fixed[[np.nanargmin(values), np.nanargmax(values)]] = True
    gap = np.isnan(unit_x) | np.isnan(unit_y)
    fixed |= gap & ~np.concatenate([[False], gap[:-1]])
    kept = kept[~gap | fixed]
    near = FINEST
    while kept.size > max(points, 2 * int(fixed.sum())) and near <= coarsest:
        before = kept.size
        for start in (1, 2):
            kept = _without(kept, start, unit_x, unit_y, fixed, near)
        if kept.size > 0.99 * before:
            near *= 1.5
    return kept


def _without(kept: IntArray, start: int, x: Array, y: Array, fixed: np.ndarray, near: float) -> IntArray:
    """`kept` without those of every second point that lie near the chord of their neighbours."""
    middle = np.arange(start, kept.size - 1, 2)
    a, b, c = kept[middle - 1], kept[middle], kept[middle + 1]
    along_x, along_y = x[c] - x[a], y[c] - y[a]
    off_x, off_y = x[b] - x[a], y[b] - y[a]
    square = along_x**2 + along_y**2
    share = np.clip((off_x * along_x + off_y * along_y) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    distance = np.hypot(off_x - share * along_x, off_y - share * along_y)
    goes = (distance <= near) & ~fixed[b]  # beside a gap the distance is NaN, and the point stays
    return np.delete(kept, middle[goes])


def _apart(x: Array, y: Array, points: int) -> IntArray:
    """One point of every cell of a grid, which gets coarser until few enough are left, and the outermost."""
    known = np.flatnonzero(~(np.isnan(x) | np.isnan(y)))
    if known.size <= points:
        return known
    unit_x, unit_y = _unit(x[known]), _unit(y[known])
    outer = [f(values) for values in (unit_x, unit_y) for f in (np.argmin, np.argmax)]
    cells = 512
    while cells > 1:
        cell = np.floor(unit_x * cells) * (2.0 * cells) + np.floor(unit_y * cells)
        kept = np.unique(np.concatenate([_first(cell), outer]))
        if kept.size <= points:
            return known[kept]
        cells = cells * 3 // 4
    return known[np.unique(outer)]


def _unit(x: Array) -> Array:
    """x over its range, from 0 to 1; NaN where it is not known."""
    if np.isnan(x).all():
        return x
    low, high = float(np.nanmin(x)), float(np.nanmax(x))
    size = high / 2.0 - low / 2.0  # halves: the difference of huge numbers overflows
    return np.asarray((x / 2.0 - low / 2.0) / size if size > 0.0 else x * 0.0)
