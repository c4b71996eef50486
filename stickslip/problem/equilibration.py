"""Equilibration of the rows and columns of a matrix by powers of two, without rounding."""

import numpy as np

from stickslip.problem.checks import Array

ROUNDS = 8
"""Number of scaling rounds; each halves the logarithm of the largest entries."""


def equilibrate(A: Array) -> tuple[Array, Array]:
    """Return powers of two r, c such that r_i A_ij c_j has largest entries about 1 in rows and columns.

    Ruiz 2001. Zero rows and columns keep 1. A (n, m); r (n,), c (m,).
    """
    rows, columns = np.ones(A.shape[0]), np.ones(A.shape[1])
    if not A.size:
        return rows, columns
    size = np.abs(A)
    for _ in range(ROUNDS):
        scaled = rows[:, None] * size * columns
        rows *= _step(scaled.max(axis=1))
        columns *= _step(scaled.max(axis=0))
    return rows, columns


def _step(largest: Array) -> Array:
    """Return the power of two nearest to 1 / sqrt(largest)."""
    power = np.zeros(largest.size)
    known = (largest > 0.0) & np.isfinite(largest)
    power[known] = -np.round(0.5 * np.log2(largest[known]))
    return np.exp2(power)
