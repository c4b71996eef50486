"""The part of a factorisation that depends on the graph alone: order, supernodes, where numbers go."""

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
    """A pattern, analysed: any number of matrices with this pattern are factored with it."""

    pattern: BlockPattern
    """Where the blocks are."""
    negative: np.ndarray
    """Block rows with negative pivots, of a quasi-definite matrix [-], shape (n,)."""
    order: IntArray
    """Block rows in the order of elimination [-], shape (n,)."""
    fronts: Fronts | None
    """Arrays of the numeric kernels; None without compilation."""
    blocks: Blocks | None
    """Where each block of the matrix goes; None without compilation."""
    stack: int
    """Numbers on the stack of update matrices, at most [-]."""
    job: IntArray | None = None
    """In which of the subtrees that threads share each front is [-], shape (fronts,); None as `fronts`."""
    shared: bool = False
    """Whether there is room for several threads."""

    @cached_property
    def sharing(self) -> "Sharing":
        """What threads share of a factorisation."""
        from stickslip.linalg.sharing import Sharing

        assert self.job is not None
        return Sharing(self.job, self.shared)

    @property
    def entries(self) -> int:
        """Numbers stored for L, its zeros inside panels included."""
        return int(self.fronts.panel[-1]) if self.fronts is not None else 0

    @property
    def flops(self) -> float:
        """Multiplications and additions of one Cholesky factorisation, about."""
        if self.fronts is None:
            return 0.0
        c, r = self.fronts.columns.astype(float), self.fronts.rows.astype(float)
        return float((c**3 / 3.0 + c * c * r + c * r * r).sum())

    def cholesky(
        self, values: ArrayLike, *, singular: float = SINGULAR, buffers: Buffers | None = None
    ) -> CholeskyFactor:
        """Factor a positive definite matrix, given as the values of its blocks.

        A pivot below `singular` times its diagonal entry counts as zero. Raises NotPositiveDefinite,
        or NotFinite, naming the block row. `buffers` of a factor that is no longer needed are reused.
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
        """Factor a matrix that is positive definite on some block rows, negative on the others."""
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

    positions: of the block rows (n, axes), for nested dissection of large graphs; NaN, or positions
    that tell nothing, are no error. negative: block rows whose pivots are negative (n,) bool, for a
    quasi-definite matrix. order: a permutation to use instead.

    A SaddlePattern knows its negative rows and takes the positions of its bodies: its contacts go
    first, then the bodies as for M + H D H', which beats any order of the whole graph.
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
    """Adjacency lists: where each starts, and the neighbours."""
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
    """Supernodes and their structure, from the graph and an order of elimination.

    dear: how many times as large as they are the model of merging takes fronts to be.
    """
    n = order.size
    parent, blocks, scalars, post = (ints(n) for _ in range(4))
    elimination.tree(start, neighbour, order, widths, parent, blocks, scalars)
    elimination.postorder(parent, post)
    back = np.empty(n + 1, np.int64)
    back[post], back[n] = np.arange(n), -1  # index -1, of the parents of roots, is the last
    permutation, first, above = elimination.supernodes(
        order[post], widths, back[parent[post]], blocks[post], scalars[post], negative, dear
    )
    place = np.empty(n, np.int64)
    place[permutation] = np.arange(n)
    child_start, child, row_start, row = kernels.structure(
        start, neighbour, permutation, place, first, above
    )  # fmt: skip
    front_of = np.repeat(np.arange(above.size), np.diff(first))
    return Tree(permutation, place, first, above, child_start, child, row_start, row, front_of)


def ints(count: int) -> Any:
    """Room for so many integers, of any value."""
    return np.empty(count, np.int64)
