"""Delassus operator W = H' M^-1 H [1/kg]: dense, in blocks, or matrix-free over bodies.

The three forms share one interface: `size`, `apply`, `diagonal`, `blocks`, `dense`. A problem stores one of
them, and solvers convert it to the form they need.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import blocks
from stickslip.kernels.blocks import BlockW
from stickslip.problem import parts
from stickslip.problem.checks import Array, IntArray, ProblemError, finite, floats, frozen, sparse
from stickslip.problem.parts import Graph
from stickslip.problem.sets import ProductSet


class Delassus(Protocol):
    """Interface of all forms of W."""

    @property
    def size(self) -> int:
        """Number of rows, equal to the number of components of r."""

    def apply(self, r: Array, bias: Array) -> Array:
        """Return W r + bias [m/s], shape (n,)."""

    def diagonal(self) -> Array:
        """Return the diagonal of W [1/kg], shape (n,)."""

    def blocks(self, K: ProductSet) -> "BlockDelassus":
        """Return W in blocks along the blocks of K."""

    def dense(self) -> Array:
        """Return W as a dense array [1/kg], shape (n, n)."""


@dataclass(frozen=True, eq=False)
class DenseDelassus:
    """W as a dense array."""

    matrix: Array
    """Delassus matrix [1/kg], shape (n, n)."""

    def __post_init__(self) -> None:
        frozen(self.matrix)

    @property
    def size(self) -> int:
        return self.matrix.shape[0]

    def apply(self, r: Array, bias: Array) -> Array:
        with np.errstate(all="ignore"):  # the judge handles overflow
            return self.matrix @ r + bias

    def diagonal(self) -> Array:
        return np.diagonal(self.matrix).copy()

    def blocks(self, K: ProductSet) -> "BlockDelassus":
        return _cached(self, K, lambda: BlockDelassus(K.offset, *blocks.dense_blocks(K.offset, self.matrix)))

    def dense(self) -> Array:
        return self.matrix

    @cached_property
    def rows(self) -> Array:
        """The matrix as a flat array of its rows, for kernels [1/kg], shape (n n,)."""
        return row_by_row(self.matrix)


@dataclass(frozen=True, eq=False)
class BlockDelassus:
    """W in block rows along the contacts; all diagonal blocks are stored."""

    offset: IntArray
    """First component of each block, and the total [-], shape (nb + 1,)."""
    row_start: IntArray
    """First stored block of each block row, and the total [-], shape (nb + 1,)."""
    column: IntArray
    """Block column of each stored block, ascending in each row [-], shape (nnzb,)."""
    data_start: IntArray
    """First number of each stored block, and the total [-], shape (nnzb + 1,)."""
    data: Array
    """Numbers of the blocks, each row by row [1/kg], shape (data_start[-1],)."""
    over_bodies: "BodyDelassus | None" = None
    """The same matrix over bodies, if these are known."""

    def __post_init__(self) -> None:
        for array in self.arrays:
            frozen(array)

    @property
    def size(self) -> int:
        return int(self.offset[-1])

    def apply(self, r: Array, bias: Array) -> Array:
        u = np.empty(self.size)
        blocks.multiply(self.arrays, r, bias, u)
        return u

    def diagonal(self) -> Array:
        out = np.empty(self.size)
        blocks.diagonal(self.arrays, out)
        return out

    def blocks(self, K: ProductSet) -> "BlockDelassus":
        if self.offset is K.offset or np.array_equal(self.offset, K.offset):
            return self
        return block_delassus(self.sparse(), K)

    def sparse(self) -> sp.csr_array:
        """Return W as a SciPy matrix, with every entry of the stored blocks."""
        row, col = np.empty(self.data.size, np.int64), np.empty(self.data.size, np.int64)
        value = np.empty(self.data.size)
        blocks.block_entries(self.arrays, row, col, value)
        n = self.size
        matrix = sp.coo_array((value, (row, col)), shape=(n, n)).tocsr()
        matrix.sort_indices()
        return matrix

    def dense(self) -> Array:
        return self.sparse().toarray()

    @cached_property
    def arrays(self) -> BlockW:
        """The matrix as arrays for kernels."""
        return BlockW(self.offset, self.row_start, self.column, self.data_start, self.data)


@dataclass(frozen=True, eq=False)
class BodyDelassus:
    """Matrix-free W = J J': J is stored as the rows of each contact over its two bodies.

    J = H' F with M^-1 = F F' body by body, so one array is used in both directions.
    """

    offset: IntArray
    """First component of each block, and the total [-], shape (nb + 1,)."""
    bodies: IntArray
    """First and second body of each contact, -1 for a fixed side [-], shape (nb, 2)."""
    rows: Array
    """Mass-scaled rows of H' [kg^-1/2], shape (n, 2, k), k velocities per body."""
    count: int
    """Number of bodies."""

    def __post_init__(self) -> None:
        for array in (self.offset, self.bodies, self.rows):
            frozen(array)

    @property
    def size(self) -> int:
        return int(self.offset[-1])

    def apply(self, r: Array, bias: Array) -> Array:
        if parts.are_many(self.bodies, self.rows):
            near = Graph.of(self, self.count).touching
            moved = parts.impulses(near, self.offset, self.rows, r, self.count)
            return parts.contact_velocities(self.bodies, self.offset, self.rows, moved, bias)
        w, u = np.empty((self.count, self.rows.shape[2])), np.empty(self.size)
        blocks.blocks_to_bodies(self.bodies, self.offset, self.rows, r, w)
        blocks.bodies_to_blocks(self.bodies, self.offset, self.rows, w, bias, u)
        return u

    def diagonal(self) -> Array:
        body = np.repeat(self.bodies, np.diff(self.offset), axis=0)
        rows = np.where((body >= 0)[:, :, None], self.rows, 0.0)
        same = body[:, 0] == body[:, 1]  # one body on both sides
        across = 2.0 * same * np.einsum("nk,nk->n", rows[:, 0], rows[:, 1])
        return np.asarray(np.einsum("nsk,nsk->n", rows, rows) + across)

    def blocks(self, K: ProductSet) -> BlockDelassus:
        J = self.sparse()
        return _cached(self, K, lambda: block_delassus(sp.csr_array(J @ J.T), K))

    def sparse(self) -> sp.csr_array:
        """Return J as a SciPy matrix, shape (n, k * bodies)."""
        return rows_to_sparse(self.bodies, self.offset, self.rows, self.count)

    def dense(self) -> Array:
        J = self.sparse()
        return (J @ J.T).toarray()


def row_by_row(matrix: Any) -> Array:
    """Return a matrix as a read-only flat array of its rows, for kernels, shape (n n,)."""
    return np.asarray(frozen(np.ascontiguousarray(matrix, np.float64).reshape(-1)))


def _cached(W: Any, K: ProductSet, make: Callable[[], BlockDelassus]) -> BlockDelassus:
    """Return the result of `make`, cached in W for the same K, because solvers and the judge use it."""
    known: tuple[ProductSet, BlockDelassus] | None = W.__dict__.get("_in_blocks")
    if known is None or known[0] is not K:
        known = K, make()
        W.__dict__["_in_blocks"] = known
    return known[1]


def product_arrays(W: Delassus, K: ProductSet) -> tuple[Array | IntArray, ...]:
    """Return W in the form of `kernels/products.py`: block rows, or rows over bodies; the other is empty."""
    no, none = frozen(np.zeros(0, np.int64)), frozen(np.zeros(0))
    if isinstance(W, BodyDelassus):
        work = np.zeros((W.count, W.rows.shape[2]))
        return no, no, no, none, W.bodies, W.rows, work
    pairs, rows = frozen(np.zeros((0, 2), np.int64)), frozen(np.zeros((0, 2, 0)))
    return *W.blocks(K).arrays[1:], pairs, rows, np.zeros((0, 0))


def delassus(name: str, W: Any, K: ProductSet) -> Delassus:
    """Return W in one of the three forms: arrays stay dense, SciPy matrices are put into the blocks of K."""
    if isinstance(W, DenseDelassus | BlockDelassus | BodyDelassus):
        if W.size != K.size:
            raise ProblemError(f"{name} has {W.size} rows, expected {K.size} for {K!r}")
        if isinstance(W, BodyDelassus) and not np.array_equal(W.offset, K.offset):
            raise ProblemError(f"{name} is matrix-free with block sizes that differ from those of {K!r}")
        return W
    if sp.issparse(W):
        check_shape(name, W.shape, K)
        return block_delassus(sparse(name, W, lambda row, column: _between(K, row, column)), K)
    matrix = floats(name, W)
    check_shape(name, matrix.shape, K)
    finite(name, matrix, lambda k: _between(K, *k))
    return DenseDelassus(matrix)


def block_delassus(matrix: sp.csr_array, K: ProductSet) -> BlockDelassus:
    """Return a SciPy CSR matrix in blocks along K; duplicates are summed."""
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    values = np.ascontiguousarray(matrix.data, np.float64)
    return BlockDelassus(K.offset, *blocks.csr_blocks(K.offset, indptr, indices, values))


def block_diagonal(offset: IntArray, column_offset: IntArray, values: Array) -> sp.csr_array:
    """Return a block-diagonal SciPy matrix; each block is the upper left corner of values[i].

    values (nb, d, d); offset and column_offset (nb + 1,): the first row and column of each block.
    """
    rows, columns = (np.arange(values.shape[1]) < np.diff(x)[:, None] for x in (offset, column_offset))
    i, p, q = np.nonzero(rows[:, :, None] & columns[:, None, :])
    shape = int(offset[-1]), int(column_offset[-1])
    return sp.csr_array(sp.coo_array((values[i, p, q], (offset[i] + p, column_offset[i] + q)), shape=shape))


def rows_to_sparse(bodies: IntArray, offset: IntArray, rows: Array, count: int) -> sp.csr_array:
    """Return contact rows over bodies as a SciPy matrix, shape (n, k * count)."""
    n, _, k = rows.shape
    body = np.repeat(bodies, np.diff(offset), axis=0)
    moving = body >= 0
    row = np.broadcast_to(np.arange(n)[:, None], (n, 2))[moving]
    col = (body[moving][:, None] * k + np.arange(k)).reshape(-1)
    data = rows[moving].reshape(-1)
    return sp.coo_array((data, (np.repeat(row, k), col)), shape=(n, k * count)).tocsr()


def check_shape(name: str, shape: tuple[int, ...], K: ProductSet) -> None:
    """Raise a ProblemError for a matrix whose shape does not fit K."""
    if shape != (K.size, K.size):
        raise ProblemError(f"{name} has shape {shape}, expected ({K.size}, {K.size}) for {K!r}")


def _between(K: ProductSet, row: int, column: int) -> str:
    i, j = (int(np.searchsorted(K.offset, k, side="right") - 1) for k in (row, column))
    return f"entry ({row}, {column}), between contacts {i} and {j},"
