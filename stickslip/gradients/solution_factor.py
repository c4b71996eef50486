"""One factorisation for both directions of a derivative, also where the matrix is singular.

K z = c is solved by LU. Where K has no full rank, that is where impulses are not unique, the pseudo-inverse
is taken: of all z that fulfil K z = c the shortest, and where there is none, the z that comes nearest.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.linalg import lapack

from stickslip.state import Array, BoolArray

RANK = 1e-12
"""Singular values below this share of the largest are zero [-]."""
DENSE = 400
"""Unknowns up to which a sparse K is factored as one array: singular values are dear beyond."""
SHIFT = 1e-11
"""Share of |K|² by which the normal equations of large singular systems are shifted, taken back by
refinement [-]."""
REFINEMENTS = 30


class Factor:
    """K factored; rows of `passive` unknowns are those of the identity, and are not factored."""

    def __init__(self, K: Array | sp.csr_array, passive: BoolArray, rank: float = RANK):
        self.active, self.passive = np.flatnonzero(~passive), np.flatnonzero(passive)
        if sp.issparse(K) and self.active.size <= DENSE:
            part = sp.csr_array(K[self.active])
            inner: Any = part[:, self.active].toarray()
            self.coupling: Any = sp.csr_array(part[:, self.passive])
        elif sp.issparse(K):
            part = sp.csr_array(K[self.active])
            inner, self.coupling = sp.csc_array(part[:, self.active]), sp.csr_array(part[:, self.passive])
        else:
            inner = K[np.ix_(self.active, self.active)] if self.passive.size else K
            self.coupling = K[np.ix_(self.active, self.passive)]
        self._inner = inner
        self._solver: _Dense | _Sparse = _Sparse(inner) if sp.issparse(inner) else _Dense(inner, rank)

    @property
    def full_rank(self) -> bool:
        """Whether K has an inverse."""
        return self._solver.full_rank

    def solve(self, c: Array) -> Array:
        """z of K z = c, shape (n, k)."""
        out = np.empty(c.shape)
        out[self.passive] = c[self.passive]
        out[self.active] = self._solver.solve(c[self.active] - self.coupling @ c[self.passive], False)
        return out

    def solve_transposed(self, g: Array) -> Array:
        """The transpose of `solve`, shape (n, k)."""
        out = np.empty(g.shape)
        out[self.active] = self._solver.solve(g[self.active], True)
        out[self.passive] = g[self.passive] - self.coupling.T @ out[self.active]
        return out

    def null_space(self) -> Array:
        """Directions z with K z = 0, shape (n, count): all there are, or some of a large sparse K."""
        inner = self._solver.null_space()
        out = np.zeros((self.active.size + self.passive.size, inner.shape[1]))
        out[self.active] = inner
        return out

    def mismatch(self, c: Array) -> Array:
        """|K z - c| / |c| of every column, 0 where a solution exists, shape (k,)."""
        z = self.solve(c)
        left = self._inner @ z[self.active] + self.coupling @ z[self.passive] - c[self.active]
        size = np.linalg.norm(c, axis=0)
        return np.asarray(np.linalg.norm(left, axis=0) / np.where(size > 0.0, size, 1.0))


class _Dense:
    """LU, or singular values where LU tells of no inverse."""

    def __init__(self, K: Array, rank: float):
        self.full_rank = True
        self._null: Array = np.zeros((K.shape[0], 0))
        self._lu: Any = None
        if K.size == 0:
            return
        lu, pivots, _ = lapack.dgetrf(K)
        reciprocal, _ = lapack.dgecon(lu, np.abs(K).sum(axis=0).max())
        if reciprocal > rank:
            self._lu = (lu, pivots)
            return
        U, s, Vt = np.linalg.svd(K)
        count = int((s > rank * s[0]).sum()) if s[0] > 0.0 else 0
        self.full_rank = count == s.size
        self._left, self._right = U[:, :count], Vt[:count].T
        self._values, self._null = s[:count, None], Vt[count:].T

    def solve(self, c: Array, transposed: bool) -> Array:
        if c.size == 0:
            return c
        if self._lu is not None:
            return np.asarray(lapack.dgetrs(*self._lu, c, trans=int(transposed))[0])
        left, right = (self._right, self._left) if transposed else (self._left, self._right)
        return np.asarray(right @ ((left.T @ c) / self._values))

    def null_space(self) -> Array:
        return self._null


class _Sparse:
    """Sparse LU, or the shifted normal equations (quasi-definite, with refinement) where it fails."""

    def __init__(self, K: sp.csc_array):
        self._K = K
        self.full_rank = True
        try:
            lu = spla.splu(sp.csc_matrix(K))
            pivots = np.abs(lu.U.diagonal())
            self.full_rank = bool(pivots.min() > RANK * pivots.max())
        except RuntimeError:  # exactly singular
            self.full_rank = False
        if self.full_rank:
            self._lu = lu
            return
        n = K.shape[0]
        self._shift = SHIFT * float(spla.norm(K, np.inf) * spla.norm(K, 1))
        whole = sp.block_array([[sp.eye_array(n), K.T], [K, -self._shift * sp.eye_array(n)]])
        self._lu = spla.splu(sp.csc_matrix(whole))

    def solve(self, c: Array, transposed: bool) -> Array:
        if self.full_rank:
            return np.asarray(self._lu.solve(c, trans="T" if transposed else "N"))
        # x + K'y = a, K x = b: x is the shortest solution for a = 0, y that of K' y = a for b = 0.
        n, K, zero = c.shape[0], self._K, np.zeros_like(c)
        a, b = (c, zero) if transposed else (zero, c)
        x, y = zero.copy(), zero.copy()
        before = np.inf
        for _ in range(REFINEMENTS):
            step = self._lu.solve(np.concatenate([a - x - K.T @ y, b - K @ x]))
            moved = float(np.linalg.norm(step[n:] if transposed else step[:n]))
            if not moved < 0.5 * before:  # rounding
                break
            x, y, before = x + step[:n], y + step[n:], moved
            if moved <= 1e-13 * np.linalg.norm(y if transposed else x):
                break
        return y if transposed else x

    def null_space(self) -> Array:
        """What is left of some directions without their part that K sees."""
        tried = np.random.default_rng(0).normal(size=(self._K.shape[0], 0 if self.full_rank else 3))
        left = tried - self.solve(self._K @ tried, False) if tried.size else tried
        return np.asarray(left / np.maximum(np.linalg.norm(left, axis=0), 1e-300))
