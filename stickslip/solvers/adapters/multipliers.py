"""Multipliers of a cone program from its unknowns, for solvers whose own are missing or poor.

At the tip of a cone (s = 0) solvers that see s_0² >= |s_rest|² have no gradient to multiply: Gurobi's y then
misses P x + c = A'y by ten per cent and more at the right x, and CPLEX, Xpress and COPT give none in GAMS.
"""

from itertools import pairwise

import numpy as np

from stickslip.problem.checks import Array
from stickslip.problem.program import ConeProgram, nearest

LARGEST = 4_000_000
"""Entries of A, zeros counted, up to which multipliers are mended."""

SOFT = 1e-7
"""What is added to s [unit of s], numbers of order one: a row that vanishes is not free beyond measure."""


def mended(program: ConeProgram, x: Array, y: Array) -> Array:
    """The best of y and of those nearest to it and to 0 with P x + c = A'y [J / unit of s], shape (m,).

    Nearest in the metric of interior points, |Q(s)½ dy| with Q the quadratic representation of s: it costs
    much to change y_i where s_i is inside its cone and y_i must vanish, little at the tip, and on the
    boundary little along (s_0, -s_rest) only. Dense, so that y is left as it is beyond `LARGEST` entries.
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
    tries = (y, *better, *inside)
    return min(tries, key=lambda given: _worst(program, x, given))


def _inverse_root(program: ConeProgram, s: Array) -> Array:
    """Q(s + SOFT)^-½, shape (m, m): eigenvalues 1/(s_0 ± |s_rest|) along (1, ± s_rest/|s_rest|)."""
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
    """Largest of what is wrong with y, for numbers of order one."""
    s = program.A @ x + program.b
    outside = (y - nearest(program, y))[program.zero :]
    wrong = np.concatenate([program.P @ x + program.c - program.A.T @ y, outside, [s @ y]])
    return float(np.abs(wrong).max())
