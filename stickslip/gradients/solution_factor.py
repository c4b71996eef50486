"""Factorisation of a matrix for forward and transposed solves, which may be singular.

K z = c is solved by LU. If K does not have full rank, that is if impulses are not unique, the pseudo-inverse
is
applied: z is the least-squares solution of least norm.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.linalg import lapack

from stickslip.state import Array, BoolArray

RANK = 1e-12
"""Ratio to the largest singular value below which singular values count as zero [-]; heuristic."""
DENSE = 400
"""Number of unknowns up to which a sparse K is factored as a dense array; heuristic. Singular values are too
expensive for larger ones."""
SHIFT = 1e-11
"""Shift of the normal equations of large singular systems, relative to |K|² [-]; heuristic. Refinement
removes
its effect."""
REFINEMENTS = 30
"""Largest number of refinements; heuristic."""


class Factor:
    """Factorisation of K; rows of `passive` unknowns are rows of the identity, and are eliminated first."""

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
        """Return z with K z = c, shape (n, k)."""
        out = np.empty(c.shape)
        out[self.passive] = c[self.passive]
        out[self.active] = self._solver.solve(c[self.active] - self.coupling @ c[self.passive], False)
        return out

    def solve_transposed(self, g: Array) -> Array:
        """Return z with K'z = g, shape (n, k)."""
        out = np.empty(g.shape)
        out[self.active] = self._solver.solve(g[self.active], True)
        out[self.passive] = g[self.passive] - self.coupling.T @ out[self.active]
        return out

    def null_space(self) -> Array:
        """Return vectors z with K z = 0, shape (n, count): a basis, or a few vectors for a large sparse K."""
        inner = self._solver.null_space()
        out = np.zeros((self.active.size + self.passive.size, inner.shape[1]))
        out[self.active] = inner
        return out

    def mismatch(self, c: Array) -> Array:
        """Return |K z - c| / |c| of each column, 0 if a solution exists, shape (k,)."""
        z = self.solve(c)
        residual = self._inner @ z[self.active] + self.coupling @ z[self.passive] - c[self.active]
        size = np.linalg.norm(c, axis=0)
        return np.asarray(np.linalg.norm(residual, axis=0) / np.where(size > 0.0, size, 1.0))


class _Dense:
    """LU factorisation, or singular value decomposition if K is singular."""

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
    """Sparse LU, or the shifted normal equations (quasi-definite, with refinement) if K is singular."""

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
        # x + K'y = a, K x = b: for a = 0, x is the solution of K x = b of least norm; for b = 0, y solves K'y
        # = a.
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
        """Return random vectors projected onto the null space, normalised."""
        random = np.random.default_rng(0).normal(size=(self._K.shape[0], 0 if self.full_rank else 3))
        projected = random - self.solve(self._K @ random, False) if random.size else random
        return np.asarray(projected / np.maximum(np.linalg.norm(projected, axis=0), 1e-300))
