"""P A = L U of Newton matrices over the graph of contacts: unsymmetric blocks with a symmetric pattern.

    lu = BlockLU(W.offset, W.row_start, W.column)  # once for a graph
    if lu.refactor(values):  # blocks of the matrix, laid out as those of W
        x = lu.solve(b)

The graph determines the order of elimination, and rows are exchanged only among the pivots of a front, so a
factor may be inaccurate. Therefore each solve computes its backward error, refines the solution once if this
error is not at rounding, and uses SuperLU if it remains large (LAPACK if the matrix is almost full). SuperLU
gets rows and columns in the order of elimination, which keeps its factors sparse, and a mild threshold for
pivoting.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack
from scipy.sparse import linalg as sparse_linalg

from stickslip.compilation import JIT
from stickslip.linalg.kernels import assembly, elimination, front_plan
from stickslip.linalg.kernels import minimum_degree as bits
from stickslip.linalg.ordering import minimum_degree
from stickslip.linalg.pattern import fixed
from stickslip.linalg.symbolic import ints, tree
from stickslip.state import Array, IntArray
from stickslip.threads import allowed_threads

FULL = 0.2
"""Share of nonzeros above which the fallback uses a dense matrix [-] (heuristic)."""
PIVOT = 0.01
"""SuperLU uses a diagonal entry as pivot if it is at least this share of the largest entry in its column [-]
(heuristic)."""


if JIT:
    from stickslip.linalg.kernels import front_lu as kernel
    from stickslip.linalg.sharing import Sharing, run_lu

REFINE = 1e-14
"""Backward error (Oettli & Prager 1964) above which a solution is refined [-] (heuristic)."""
GOOD = 1e-11
"""Largest backward error of an accepted solution [-] (heuristic)."""
FEW = 1500
"""Graphs up to this number of block rows are ordered by the compiled minimum degree, faster than by qdldl."""
DEAR = 3
"""Factor of the sizes of fronts in the cost model of merging: zeros cost more here than in Cholesky
(heuristic)."""
SHRUNK = 0.7
"""Inactive rows are removed if the active rows are fewer than this share of the rows in the factor [-]
(heuristic)."""


class BlockLU:
    """LU factor of a block matrix; `refactor` factors another matrix in the same memory."""

    def __init__(self, offset: IntArray, row_start: IntArray, column: IntArray, *, fallback: bool = True):
        """Block row i has the blocks in columns column[row_start[i]:row_start[i + 1]].

        offset (n + 1,): first scalar row of each block row. Blocks may be missing on the diagonal, or on one
        side of it. fallback: whether SuperLU is used if this factorisation fails.
        """
        self.offset, self.row_start, self.column = (
            fixed(np.ascontiguousarray(array, dtype=np.int64)) for array in (offset, row_start, column)
        )
        self.widths: IntArray = np.diff(self.offset)
        """Number of scalar rows of each block row [-], shape (n,)."""
        count = self.widths.size
        row = np.repeat(np.arange(count), np.diff(self.row_start))
        sizes = self.widths[row] * self.widths[self.column]
        self.data_start: IntArray = fixed(np.concatenate([[0], np.cumsum(sizes)]))
        """Index of the first value of each block, and the number of values [-], shape (blocks + 1,)."""
        self.fallback = fallback
        """Whether SuperLU is used if this factorisation fails."""
        self.fallbacks = 0
        """Number of fallbacks to SuperLU [-]."""
        self.backward_error = np.nan
        """Backward error of the last solve: max |b - A x| / (|A| |x| + |b|) [-]."""
        self.operations = 0.0
        """Number of multiplications of the last factorisation."""
        self._row = row
        self._values: Array | None = None
        self._in_factor = np.ones(count, np.bool_)
        self._factored = False
        self._superlu: tuple[Callable[[Array], Array], IntArray] | None = None
        start = np.empty(count + 1, np.int64)
        neighbour = assembly.graph(fixed(row), self.column, start)
        self._order = _order(fixed(start), fixed(neighbour))
        if JIT:
            positive = np.zeros(count, np.bool_)
            self._tree = tree(start, neighbour, self.widths, positive, self._order, DEAR)
            self._lay_out()

    @property
    def size(self) -> int:
        """Number of scalar rows."""
        return int(self.offset[-1])

    @property
    def entries(self) -> int:
        """Number of stored entries of L and U, including zeros inside panels; 0 without compilation."""
        return int(self._plan.upper[-1]) if JIT else 0

    @property
    def flops(self) -> float:
        """Number of multiplications and additions of a factorisation; 0 without compilation."""
        if not JIT:
            return 0.0
        c, r = (x.astype(float) for x in (self._plan.fronts.columns, self._plan.fronts.rows))
        return float((2.0 / 3.0 * c**3 + 2.0 * c * c * r + 2.0 * c * r * r).sum())

    def refactor(self, values: Array, active: np.ndarray | None = None) -> bool:
        """Factor the matrix with these values of its blocks, flat, each row-major; return False on failure.

        active (n,) bool: inactive rows must be those of the identity; if there are many, they are not
        factored. The values are not copied and must not change until the last solve.
        """
        if values.shape != (self.data_start[-1],):
            raise ValueError(f"values has shape {values.shape}, the blocks {self.data_start[-1]} numbers")
        self._values = fixed(np.ascontiguousarray(values, dtype=np.float64))
        self._superlu, self._factored = None, self.size == 0
        if self._factored or not JIT:
            return self._factored or self._by_superlu()
        self._keep(np.ones(self.widths.size, np.bool_) if active is None else active)
        self.operations = 0.5 * self._flops
        bad = run_lu(self._sharing, self._plan, self._values, self._x, self._stack, self._exchange)
        self._factored = bool(bad < 0)
        return self._factored or (self.fallback and self._by_superlu())

    def solve(self, b: Array) -> Array | None:
        """Return x (size,) with A x = b, or None if no accurate solution is found."""
        if not self._factored and self._superlu is None:
            raise RuntimeError("no factor is available: the last refactor failed, or none was made")
        if b.shape != (self.size,):
            raise ValueError(f"b has shape {b.shape}, expected ({self.size},)")
        if self.size == 0:
            return b.copy()
        if self._superlu is None:
            x = self._by_fronts(fixed(np.ascontiguousarray(b, dtype=np.float64)))
            if x is not None or not (self.fallback and self._by_superlu()):
                return x
        assert self._superlu is not None
        solve, place = self._superlu
        x = np.empty(self.size)
        x[place] = solve(b[place])
        return x if np.isfinite(x).all() else None

    def sign(self) -> float:
        """Return the sign of the determinant of the last matrix, 1 or -1; 0 if it is not factored here."""
        if not self._factored or self._superlu is not None or not JIT:
            return 0.0
        return float(kernel.sign(self._plan, self._x, self._exchange))

    def _by_fronts(self, b: Array) -> Array | None:
        """Return x by this factor, refined if necessary, or None if its backward error remains large."""
        assert self._values is not None
        matrix = kernel.BlockRows(
            self.offset, self.row_start, self.column, self.data_start, self._values, self._in_factor
        )
        factor = self._plan, self._x, self._exchange
        x, rest, y, below = b.copy(), self._residuals, self._y, self._below
        if not self._has_all_rows:
            kernel.without_open(matrix, b, rest[0])
        kernel.solve(*factor, b if self._has_all_rows else fixed(rest[0]), y, below, x)
        error = kernel.residual(matrix, b, x, rest)
        if REFINE < error < np.inf:
            correction = np.zeros(self.size)
            kernel.solve(*factor, fixed(rest[0]), y, below, correction)
            correction += x
            better = kernel.residual(matrix, b, correction, rest)
            if better < error:
                x, error = correction, better
        self.backward_error = error
        return x if error <= GOOD else None

    def _keep(self, active: np.ndarray) -> None:
        """Add missing active rows to the factor, or remove inactive rows if there are many."""
        missing = (active & ~self._in_factor).any()
        if missing or np.count_nonzero(active) < SHRUNK * np.count_nonzero(self._in_factor):
            rows = active | self._in_factor if missing else active.copy()
            self._in_factor = rows if np.count_nonzero(rows) < SHRUNK * rows.size else np.ones_like(rows)
            self._lay_out()

    def _lay_out(self) -> None:
        """Compute the layout of the factor for the rows in it, and allocate its memory."""
        widths, shared = np.where(self._in_factor, self.widths, 0), allowed_threads() > 1
        self._plan, stack, job = front_plan.plan(
            self._tree, widths, self.offset, self.row_start, self.column, self.data_start, shared
        )
        size = self._plan.fronts.scalar.size
        self._x = np.empty(self.entries + 1)  # the last entry is for values of removed rows
        self._stack, self._y = np.empty(stack), np.empty(size)
        self._below = np.empty(int(self._plan.fronts.rows.max(initial=0)))
        self._exchange, self._sharing = np.empty(size, np.int32), Sharing(job, shared)
        self._residuals = np.empty((2, self.size))
        self._has_all_rows = bool(self._in_factor.all())
        self._flops = self.flops

    def _by_superlu(self) -> bool:
        """Factor the matrix by SciPy; return False on failure."""
        self.fallbacks += 1
        assert self._values is not None
        if not np.isfinite(self._values).all():
            return False
        matrix, place = self._permuted()
        n, self.operations = self.size, 0.0
        if matrix.nnz > FULL * n * n:
            lu, pivots, info = lapack.dgetrf(matrix.toarray(), overwrite_a=True)
            if info != 0:
                return False
            self._superlu = lambda b: lapack.dgetrs(lu, pivots, b)[0], place
            self.operations = n**3 / 3.0
            return True
        try:
            factors = sparse_linalg.splu(
                sp.csc_array(matrix.T), permc_spec="NATURAL", diag_pivot_thresh=PIVOT, panel_size=1,
                options={"SymmetricMode": True},
            )  # fmt: skip
        except RuntimeError:  # exactly singular
            return False
        self._superlu = lambda b: factors.solve(b, trans="T"), place
        # Columns of equal length take nnz² / (4 n) multiplications, twice that for L and U.
        self.operations = float(factors.nnz) ** 2 / (2.0 * n)
        return True

    def _permuted(self) -> tuple[Any, IntArray]:
        """Return (matrix in the order of elimination, CSR; original number of each of its scalar rows)."""
        widths = self.widths[self._order]
        first = np.cumsum(widths) - widths
        scalar = np.repeat(self.offset[self._order] - first, widths) + np.arange(self.size)
        place = np.empty(self.size, np.int64)
        place[scalar] = np.arange(self.size)
        block = np.repeat(np.arange(self.column.size), np.diff(self.data_start))
        inside = np.arange(self.data_start[-1]) - self.data_start[block]
        width = self.widths[self.column[block]]
        i = place[self.offset[self._row[block]] + inside // width]
        j = place[self.offset[self.column[block]] + inside % width]
        return sp.coo_array((self._values, (i, j)), shape=(self.size, self.size)).tocsr(), scalar


def elimination_size(widths: IntArray, one: IntArray, other: IntArray) -> tuple[float, float]:
    """Return approximate numbers (entries of L and U, multiplications) of P A = L U over a graph.

    They are computed from the order and the elimination tree. widths (n,): scalar rows of the block rows;
    one, other (blocks,): the pairs that have a block, in one or both directions.
    """
    count = widths.size
    start = np.empty(count + 1, np.int64)
    neighbour = assembly.graph(fixed(one), fixed(other), start)
    parent, blocks, scalars = (ints(count) for _ in range(3))
    order = _order(fixed(start), fixed(neighbour))
    elimination.tree(fixed(start), fixed(neighbour), fixed(order), fixed(widths), parent, blocks, scalars)
    rows = scalars.astype(float)
    columns = widths[order]
    return float((2.0 * columns * rows).sum()), float((columns * rows * rows).sum())


def _order(start: IntArray, neighbour: IntArray) -> IntArray:
    """Return the order of elimination [-], shape (n,)."""
    if not JIT or start.size - 1 > FEW:
        return minimum_degree(start, neighbour)
    order = ints(start.size - 1)
    bits.minimum_degree(start, neighbour, order)
    return order
