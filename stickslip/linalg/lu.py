"""Unsymmetric systems given in CSR form: LAPACK where they are full, SuperLU where they are sparse.

Newton matrices of contact problems are unsymmetric, their rows and columns already in an order that
keeps the factors sparse; so SuperLU is told to keep it, with a mild threshold for pivoting.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import linalg as sparse_linalg

Array = NDArray[np.float64]

FULL = 0.2
"""Share of nonzeros above which a matrix is factored as one array."""
PIVOT = 0.01
"""A diagonal entry is taken as pivot if it is at least this share of the largest in its column."""


@dataclass(frozen=True, slots=True)
class Factor:
    """P L U of a square matrix."""

    size: int
    """Number of unknowns."""
    operations: float
    """Multiplications of the factorisation, estimated from the factors."""
    _factors: Any

    def solve(self, b: Array) -> Array | None:
        """x with A x = b, shape (n,); None if it is not finite."""
        if isinstance(self._factors, tuple):
            x, _ = lapack.dgetrs(*self._factors, b)
        else:
            x = self._factors.solve(b, trans="T")
        return x if np.isfinite(x).all() else None


def factorise(indptr: Any, indices: Any, entries: Array, n: int) -> Factor | None:
    """Factor the n x n matrix given by rows; None if it is singular or not finite.

    indptr (n + 1,) and indices of 32 bits, entries (indptr[n],); longer arrays are cut.
    """
    count = int(indptr[n])
    data = (entries[:count], indices[:count], indptr[: n + 1])
    if count > FULL * n * n:
        full = sp.csr_array(data, (n, n)).toarray()
        if not np.isfinite(full).all():
            return None
        lu, pivots, info = lapack.dgetrf(full, overwrite_a=True)
        return Factor(n, n**3 / 3.0, (lu, pivots)) if info == 0 else None
    # the arrays of A by rows are those of A' by columns
    transpose = sp.csc_array(data, (n, n))
    transpose.has_sorted_indices = True
    try:
        factors = sparse_linalg.splu(
            transpose, permc_spec="NATURAL", diag_pivot_thresh=PIVOT, panel_size=1,
            options={"SymmetricMode": True},
        )  # fmt: skip
    except RuntimeError:  # exactly singular
        return None
    # columns of equal length have nnz² / (4 n) multiplications, twice that for L and U
    return Factor(n, float(factors.nnz) ** 2 / (2.0 * n), factors)
