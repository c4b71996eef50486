"""Derivatives of users' functions: central differences, extrapolated to a step of zero.

Differences at steps s, s/2, s/4, ... are the values at s² of a smooth function, whose value at 0 is the
derivative; Neville's scheme gives it, with what two neighbours in the table differ by as the error (Ridders
1982). Functions that are differences themselves (rows without a given Jacobian) have noise of 1e-11, which
small steps would magnify: each component takes the entry of the table whose error is least.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from stickslip.state import Array, BoolArray

FIRST = 2e-3
"""The first step, over the size of what is changed [-]."""
LEVELS = 9
"""Most steps, each half of the one before."""
WORSE = 2.0
"""A component whose error grows by this from one step to the next has met its noise: it is taken as it is."""
GOOD = 1e-12
"""Error, over the largest component, at which no smaller step is tried [-]."""


def jacobian(function: Callable[[Array], Array], x: Array, size: Array) -> Array:
    """d function / dx, shape (rows, columns); `size`, shape (columns,): what a change is small beside,
    0 for what cannot be changed."""
    columns = []
    for j in range(x.size):
        if size[j] > 0.0:
            columns.append(slope(partial(_along, function, x, j), float(x[j]), float(size[j])))
        else:
            columns.append(np.zeros(function(x).size))
    return np.stack(columns, axis=1) if columns else np.zeros((function(x).size, 0))


def slope(function: Callable[[float], Array], x: float, size: float) -> Array:
    """Derivative of a function of one number, shape (rows,); one that is not finite has none and is NaN."""
    best: Array | None = None
    error: Array | None = None
    moves: BoolArray | None = None
    row: list[Array] = []
    for level in range(LEVELS):
        step = FIRST * size * 0.5**level
        up, down = x + step, x - step
        found = (function(up) - function(down)) / (up - down)
        if not np.isfinite(found).all():
            row = []  # beyond where the function is defined: begin again with smaller steps
            continue
        table = [found]
        for k, above in enumerate(row):
            table.append(table[-1] + (table[-1] - above) / (4.0 ** (k + 1) - 1.0))
        if best is None or error is None or moves is None:
            best, error, moves = found, np.full(found.shape, np.inf), np.ones(found.shape, bool)
        for k in range(1, len(table)):
            off = np.maximum(np.abs(table[k] - table[k - 1]), np.abs(table[k] - row[k - 1]))
            better = moves & (off < error)
            best, error = np.where(better, table[k], best), np.where(better, off, error)
        if row:
            moves &= np.abs(table[-1] - row[-1]) < WORSE * error
        row = table
        if (~moves | (error <= GOOD * np.abs(best).max(initial=0.0))).all():
            break
    return np.full(function(x).shape, np.nan) if best is None else best


def _along(function: Callable[[Array], Array], x: Array, j: int, end: float) -> Array:
    moved = x.copy()
    moved[j] = end
    return function(moved)
