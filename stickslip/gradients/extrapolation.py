"""Derivatives of users' functions: central differences, extrapolated to a step of zero.

Differences with steps s, s/2, s/4, ... are values at s² of a smooth function, whose value at 0 is the
derivative. Neville's scheme extrapolates to 0; differences of neighbours in its table estimate the error
(Ridders 1982). Functions that are themselves computed by differences (rows without a given Jacobian) have
noise
of 1e-11, which small steps amplify; each component therefore takes the entry with the smallest error
estimate.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from stickslip.state import Array, BoolArray

FIRST = 2e-3
"""First step, relative to the size of the argument [-]; heuristic."""
LEVELS = 9
"""Largest number of steps, each half of the previous one; heuristic."""
WORSE = 2.0
"""Growth of the error from one step to the next at which a component is dominated by noise, and final [-];
heuristic."""
GOOD = 1e-12
"""Error relative to the largest component at which no smaller step is tried [-]; heuristic."""


def jacobian(function: Callable[[Array], Array], x: Array, size: Array) -> Array:
    """Return d function / dx, shape (rows, columns).

    size   scale of each argument, relative to which steps are chosen, shape (columns,); 0 for a zero column
    """
    columns = []
    for j in range(x.size):
        if size[j] > 0.0:
            columns.append(slope(partial(_along, function, x, j), float(x[j]), float(size[j])))
        else:
            columns.append(np.zeros(function(x).size))
    return np.stack(columns, axis=1) if columns else np.zeros((function(x).size, 0))


def slope(function: Callable[[float], Array], x: float, size: float) -> Array:
    """Return the derivative of a function of one number, shape (rows,); NaN if no difference is finite."""
    best: Array | None = None
    error: Array | None = None
    moves: BoolArray | None = None
    row: list[Array] = []
    for level in range(LEVELS):
        step = FIRST * size * 0.5**level
        up, down = x + step, x - step
        difference = (function(up) - function(down)) / (up - down)
        if not np.isfinite(difference).all():
            row = []  # outside the domain of the function: restart with smaller steps
            continue
        table = [difference]
        for k, above in enumerate(row):
            table.append(table[-1] + (table[-1] - above) / (4.0 ** (k + 1) - 1.0))
        if best is None or error is None or moves is None:
            best, error, moves = (
                difference,
                np.full(difference.shape, np.inf),
                np.ones(difference.shape, bool),
            )
        for k in range(1, len(table)):
            estimate = np.maximum(np.abs(table[k] - table[k - 1]), np.abs(table[k] - row[k - 1]))
            better = moves & (estimate < error)
            best, error = np.where(better, table[k], best), np.where(better, estimate, error)
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
