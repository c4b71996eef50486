"""Engine of a factor by SciPy, without compilation: L U without row exchanges has the same pivots."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from stickslip.state import Array

ROUNDS = 12
"""Largest number of factorisations with replaced pivots; in the last two all pivots are replaced
(heuristic)."""


class PlainEngine:
    """Factorisation and solves by `scipy.sparse.linalg.splu`."""

    def __init__(self, symbolic: Any):
        pattern = symbolic.pattern
        self._pattern = pattern
        width = pattern.widths[symbolic.order]
        first = np.cumsum(width) - width
        self._scalar = np.repeat(pattern.offset[symbolic.order] - first, width) + np.arange(pattern.size)
        self._sign = np.repeat(np.where(symbolic.negative, -1.0, 1.0), pattern.widths)[self._scalar]
        self._factor: Any = None

    def cholesky(self, values: Array, singular: float) -> tuple[int, float]:
        """Factor; return (scalar row of the first invalid pivot or -1, smallest pivot over its entry)."""
        A = self._permuted(values)
        if A.shape[0] == 0:
            return -1, np.inf
        self._factor, pivots = _pivots(A)
        diagonal = A.diagonal()[: pivots.size]
        valid = (pivots > singular * diagonal) & (pivots < np.inf) & (diagonal > 0.0)
        if self._factor is None or not valid.all():
            bad = pivots.size - 1 if valid.all() else int(np.argmin(valid))
            return int(self._scalar[bad]), 0.0
        return -1, float((pivots / diagonal).min())

    def quasi_definite(
        self, values: Array, shift: Array, scale: Array, least: float, replacement: float
    ) -> tuple[int, int]:
        """Factor; return (number of replaced pivots, scalar row of the first non-finite pivot or -1)."""
        K = self._permuted(values)
        if K.shape[0] == 0:
            return 0, -1
        scale, added = scale[self._scalar], shift[self._scalar]
        replaced = np.zeros(K.shape[0], np.bool_)
        bare = self._sign * K.diagonal() + added <= least * scale
        for attempt in range(ROUNDS):
            self._factor, pivots = _pivots(sp.csc_matrix(K + sp.diags_array(self._sign * added)))
            size = self._sign[: pivots.size] * pivots
            if not np.isfinite(size).all():
                return int(replaced.sum()), int(self._scalar[np.argmin(np.isfinite(size))])
            wrong = np.zeros(K.shape[0], np.bool_)
            wrong[: pivots.size] = size <= least * scale[: pivots.size]
            if self._factor is not None and not wrong.any():
                break
            # SuperLU stops at a zero pivot. The first retry changes all rows that may have one, the last two
            # all rows.
            wrong |= bare if attempt == 0 else attempt >= ROUNDS - 2
            added[wrong] += replacement * scale[wrong]
            replaced |= wrong
        bad = -1 if self._factor is not None else int(self._scalar[pivots.size - 1])
        return int(replaced.sum()), bad

    def solve(self, b: Array) -> Array:
        """Return the solution for b (size,), or the solutions for rows (count, size)."""
        out = np.empty(b.shape)
        if b.size:
            out[..., self._scalar] = self._factor.solve(np.ascontiguousarray(b[..., self._scalar].T)).T
        return out

    def _permuted(self, values: Array) -> sp.csc_matrix:
        A = self._pattern.sparse(values)
        return sp.csc_matrix(A[self._scalar][:, self._scalar])


def _pivots(A: sp.csc_matrix) -> tuple[Any, Array]:
    """Return (factor, pivots in the order of A), or (None, pivots up to the first zero) if A is singular."""
    try:
        factor = spla.splu(A, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular: bisection for the largest regular leading block
        low, high = 0, A.shape[0]
        while high - low > 1:
            middle = (low + high) // 2
            if _pivots(sp.csc_matrix(A[:middle, :middle]))[0] is None:
                high = middle
            else:
                low = middle
        before = _pivots(sp.csc_matrix(A[:low, :low]))[1] if low else np.empty(0)
        return None, np.append(before, 0.0)
    pivots = factor.U.diagonal()[factor.perm_c]
    exchanged = factor.perm_r != factor.perm_c
    pivots[exchanged] = 0.0  # SuperLU exchanges rows only at a zero pivot
    return factor, pivots
