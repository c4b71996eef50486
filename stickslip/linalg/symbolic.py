"""Symbolic factorisation, which depends on the graph only: order, supernodes and layout of the factor."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.compilation import JIT
from stickslip.linalg.bodies import SaddlePattern
from stickslip.linalg.factor import SINGULAR, Buffers, CholeskyFactor, QuasiDefiniteFactor, Regularisation
from stickslip.linalg.kernels import assembly, elimination
from stickslip.linalg.kernels import fronts as kernels
from stickslip.linalg.kernels.fronts import Blocks, Fronts, Tree
from stickslip.linalg.ordering import elimination_order
from stickslip.linalg.pattern import BlockPattern, fixed
from stickslip.state import Array, IntArray
from stickslip.threads import allowed_threads

if TYPE_CHECKING:
    from stickslip.linalg.sharing import Sharing


@dataclass(frozen=True, eq=False)
class Symbolic:
    """Symbolic factorisation of a pattern; any number of matrices with this pattern are factored with it."""

    pattern: BlockPattern
    """The pattern."""
    negative: np.ndarray
    """Whether each block row has negative pivots, for a quasi-definite matrix [-], shape (n,)."""
    order: IntArray
    """Block rows in the order of elimination [-], shape (n,)."""
    fronts: Fronts | None
    """Arrays of the numeric kernels; None without compilation."""
    blocks: Blocks | None
    """Position of each block of the matrix in the factor; None without compilation."""
    stack: int
    """Largest size of the stack of update matrices [-]."""
    job: IntArray | None = None
    """Subtree of each front, for threads; None without compilation [-], shape (fronts,)."""
    shared: bool = False
    """Whether there is memory for several threads."""

    @cached_property
    def sharing(self) -> "Sharing":
        """Distribution of the fronts over threads."""
        from stickslip.linalg.sharing import Sharing

        assert self.job is not None
        return Sharing(self.job, self.shared)

    @property
    def entries(self) -> int:
        """Number of stored entries of L, including zeros inside panels."""
        return int(self.fronts.panel[-1]) if self.fronts is not None else 0

    @property
    def flops(self) -> float:
        """Approximate number of multiplications and additions of a Cholesky factorisation."""
        if self.fronts is None:
            return 0.0
        c, r = self.fronts.columns.astype(float), self.fronts.rows.astype(float)
        return float((c**3 / 3.0 + c * c * r + c * r * r).sum())

    def cholesky(
        self, values: ArrayLike, *, singular: float = SINGULAR, buffers: Buffers | None = None
    ) -> CholeskyFactor:
        """Factor a positive definite matrix with these values of its blocks.

        A pivot below `singular` times its diagonal entry is considered zero. Raises NotPositiveDefinite or
        NotFinite, whose message names the block row. buffers: those of a factor that is not needed any more,
        for reuse.
        """
        if self.negative.any():
            raise ValueError("the pattern was analysed with negative block rows; use quasi_definite")
        return CholeskyFactor(self, singular, buffers or Buffers()).refactor(values)

    def quasi_definite(
        self,
        values: ArrayLike,
        *,
        regularisation: Regularisation | None = None,
        buffers: Buffers | None = None,
    ) -> QuasiDefiniteFactor:
        """Factor a matrix that is positive definite on some block rows, negative definite on others."""
        chosen = Regularisation() if regularisation is None else regularisation
        return QuasiDefiniteFactor(self, chosen, buffers or Buffers()).refactor(values)


def analyse(
    pattern: BlockPattern,
    *,
    positions: ArrayLike | None = None,
    negative: ArrayLike | None = None,
    order: ArrayLike | None = None,
) -> Symbolic:
    """Order the block rows and lay out the factor.

    positions: positions of the block rows (n, axes) for nested dissection of large graphs; they are ignored
    if they are not finite or not useful. negative: whether each block row has negative pivots (n,) bool, for
    a quasi-definite matrix. order: a permutation to use instead of a computed one.

    A SaddlePattern defines its negative rows, and takes the positions of its bodies. Its contacts are
    eliminated first, then the bodies as for M + H D H', which is better than an order of the whole graph.
    """
    n = pattern.widths.size
    if isinstance(pattern, SaddlePattern) and negative is None:
        negative = pattern.negative
    minus = np.zeros(n, np.bool_) if negative is None else np.array(negative)
    if minus.shape != (n,) or minus.dtype != np.bool_:
        raise ValueError(f"negative must be {n} booleans, got {minus.dtype} of shape {minus.shape}")
    start, neighbour = _graph(pattern)
    if order is None and isinstance(pattern, SaddlePattern):
        count = pattern.graph.widths.size
        bodies = elimination_order(*_graph(pattern.graph), _positions(positions, count))
        chosen = np.concatenate([np.arange(count, n), bodies])
    elif order is None:
        chosen = elimination_order(start, neighbour, _positions(positions, n))
    else:
        chosen = np.array(order, dtype=np.int64)
        if not np.array_equal(np.sort(chosen.reshape(-1)), np.arange(n)):
            raise ValueError(f"order is not a permutation of {n} block rows")
    if not JIT:
        return Symbolic(pattern, fixed(minus), fixed(chosen), None, None, 0)
    return _lay_out(pattern, fixed(minus), start, neighbour, fixed(chosen))


def _graph(pattern: BlockPattern) -> tuple[IntArray, IntArray]:
    """Return the adjacency lists: index of the first neighbour of each block row, and the neighbours."""
    start = np.empty(pattern.widths.size + 1, np.int64)
    neighbour = assembly.graph(pattern.one, pattern.other, start)
    return fixed(start), fixed(neighbour)


def _positions(positions: ArrayLike | None, n: int) -> Array | None:
    if positions is None:
        return None
    array = np.asarray(positions, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != n:
        raise ValueError(f"positions has shape {array.shape}, expected ({n}, axes), one row per block row")
    return array


def _lay_out(
    pattern: BlockPattern, negative: np.ndarray, start: IntArray, neighbour: IntArray, order: IntArray
) -> Symbolic:
    shape, shared = tree(start, neighbour, pattern.widths, negative, order, 1), allowed_threads() > 1
    fronts, row_offset, offset, stack, job = kernels.lay_out(
        shape, negative, pattern.widths, pattern.offset, shared
    )
    front, to, flip = kernels.places(pattern.one, pattern.other, shape, fronts, row_offset, offset)
    sort = np.argsort(front, kind="stable")
    begin = np.searchsorted(front[sort], np.arange(fronts.columns.size + 1))
    height, width = pattern.widths[pattern.one], pattern.widths[pattern.other]
    blocks = (begin, *(array[sort] for array in (pattern.source[:-1], height, width, to, flip)))
    return Symbolic(
        pattern, negative, fixed(shape.permutation), Fronts(*(fixed(array) for array in fronts)),
        Blocks(*(fixed(array) for array in blocks)), int(stack), fixed(job), shared,
    )  # fmt: skip


def tree(
    start: IntArray, neighbour: IntArray, widths: IntArray, negative: np.ndarray, order: IntArray, dear: int
) -> Tree:
    """Return the supernodes and their structure, from the graph and an order of elimination.

    dear: factor of the sizes of fronts in the cost model of merging.
    """
    # 1. Elimination tree, in postorder.
    n = order.size
    parent, blocks, scalars, post = (ints(n) for _ in range(4))
    elimination.tree(start, neighbour, order, widths, parent, blocks, scalars)
    elimination.postorder(parent, post)
    back = np.empty(n + 1, np.int64)
    back[post], back[n] = np.arange(n), -1  # index -1, of the parents of roots, is the last
    # 2. Supernodes.
    permutation, first, above = elimination.supernodes(
        order[post], widths, back[parent[post]], blocks[post], scalars[post], negative, dear
    )
    # 3. Rows and children of the fronts.
    place = np.empty(n, np.int64)
    place[permutation] = np.arange(n)
    child_start, child, row_start, row = kernels.structure(
        start, neighbour, permutation, place, first, above
    )  # fmt: skip
    front_of = np.repeat(np.arange(above.size), np.diff(first))
    return Tree(permutation, place, first, above, child_start, child, row_start, row, front_of)


def ints(count: int) -> Any:
    """Return an uninitialised array of integers."""
    return np.empty(count, np.int64)
