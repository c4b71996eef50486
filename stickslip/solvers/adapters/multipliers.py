"""Multipliers of a cone program from its unknowns, for solvers whose multipliers are missing or inaccurate.

At the tip of a cone (s = 0) the constraint s_0² >= |s_rest|² has a zero gradient, so its multiplier is
undetermined. Gurobi's y then violates P x + c = A'y by ten per cent and more at the right x, and CPLEX,
Xpress and COPT return none in GAMS.
"""

from itertools import pairwise

import numpy as np

from stickslip.problem.checks import Array
from stickslip.problem.program import ConeProgram, nearest

LARGEST = 4_000_000
"""Number of entries of A, zeros included, up to which multipliers are improved."""

SOFT = 1e-7
"""Regularisation of s [unit of s], for numbers of order one, so that rows with s = 0 have a finite weight."""


def mended(program: ConeProgram, x: Array, y: Array) -> Array:
    """Return the best of y and of the multipliers nearest to it and to 0 with P x + c = A'y, shape (m,).

    Their unit is [J / unit of s]. Distances are in the metric of interior points, |Q(s)½ dy| with Q the
    quadratic representation of s: changes of y_i cost much if s_i is inside its cone, where y_i must vanish,
    and little at the tip; on the boundary, only changes along (s_0, -s_rest) cost little. The method is
    dense, so y is returned unchanged beyond `LARGEST` entries.
    """
    y = np.where(np.isfinite(y), y, 0.0)
    if program.rows == 0 or program.rows * program.size > LARGEST or not np.isfinite(x).all():
        return y
    s = nearest(program, program.A @ x + program.b)
    root = _inverse_root(program, s)
    starts = np.column_stack([y, np.zeros_like(y)])
    miss = (program.P @ x + program.c)[:, None] - program.A.T @ starts
    better = (starts + root @ np.linalg.lstsq(program.A.T @ root, miss)[0]).T
    inside = [np.concatenate([z[: program.zero], nearest(program, z)[program.zero :]]) for z in better]
    candidates = (y, *better, *inside)
    return min(candidates, key=lambda multipliers: _worst(program, x, multipliers))


def _inverse_root(program: ConeProgram, s: Array) -> Array:
    """Return Q(s + SOFT)^-½, shape (m, m): eigenvalues 1/(s_0 ± |s_rest|) along (1, ± s_rest/|s_rest|)."""
    root = np.zeros((program.rows, program.rows))
    plain = np.arange(program.zero + program.nonnegative)
    root[plain, plain] = 1.0 / (s[plain] + SOFT)
    for first, last in pairwise(program.cone_start.tolist()):
        tip, side = s[first] + SOFT, s[first + 1 : last]
        length = float(np.linalg.norm(side))
        high, low = tip + length, max(tip - length, SOFT)
        block = np.eye(last - first) / np.sqrt(high * low)
        direction = np.zeros(last - first)
        direction[0] = 1.0
        if length > 0.0:
            along = np.concatenate([[0.0], side / length])
            block += np.outer(along, along) * (0.5 / high + 0.5 / low - 1.0 / np.sqrt(high * low))
            cross = np.outer(direction, along) * (0.5 / high - 0.5 / low)
            block += cross + cross.T
        block[0, 0] = 0.5 / high + 0.5 / low
        root[first:last, first:last] = block
    return root


def _worst(program: ConeProgram, x: Array, y: Array) -> float:
    """Return the largest error of the optimality conditions of y, for numbers of order one."""
    s = program.A @ x + program.b
    outside = (y - nearest(program, y))[program.zero :]
    wrong = np.concatenate([program.P @ x + program.c - program.A.T @ y, outside, [s @ y]])
    return float(np.abs(wrong).max())
