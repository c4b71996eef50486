"""Block patterns of symmetric matrices, from pairs or from a SciPy matrix.

A pattern is immutable. The values of a matrix are a separate flat array, block after block, each block
row-major; `pattern.source` has the index of the first value of each block.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.linalg.kernels.assembly import BlockList
from stickslip.state import Array, IntArray

SYMMETRIC = 1e-10
"""Largest asymmetry of a SciPy matrix, relative to its largest entry [-]."""


@dataclass(frozen=True, eq=False)
class BlockPattern:
    """Pattern of a symmetric block matrix: the pairs of block rows that have a block.

    Each pair occurs once, in either order. Blocks of the same pair are added. Only the lower triangle of a
    diagonal block is read; a missing diagonal block is zero.
    """

    widths: IntArray
    """Number of scalar rows of each block row [-], shape (n,)."""
    one: IntArray
    """Block row of each block [-], shape (nnzb,)."""
    other: IntArray
    """Block column of each block [-], shape (nnzb,)."""

    @property
    def size(self) -> int:
        """Number of scalar rows of the matrix."""
        return int(self.offset[-1])

    @cached_property
    def offset(self) -> IntArray:
        """First scalar row of each block row, and their number [-], shape (n + 1,)."""
        return fixed(np.concatenate([[0], np.cumsum(self.widths)]))

    @cached_property
    def source(self) -> IntArray:
        """Index of the first value of each block, and the number of values [-], shape (nnzb + 1,)."""
        sizes = self.widths[self.one] * self.widths[self.other]
        return fixed(np.concatenate([[0], np.cumsum(sizes)]))

    @property
    def blocks(self) -> BlockList:
        """The pattern as a named tuple for kernels."""
        return BlockList(self.one, self.other, self.source, self.offset)

    def flat(self, values: ArrayLike) -> Array:
        """Return `values` as a flat, read-only array; raise ValueError if their number is wrong."""
        array = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
        if array.size != self.source[-1]:
            raise ValueError(f"values has {array.size} numbers, the pattern {self.source[-1]}")
        return fixed(array)

    def sparse(self, values: ArrayLike) -> sp.csr_array:
        """Return the symmetric matrix, both triangles, as a SciPy matrix."""
        h, w = self.widths[self.one], self.widths[self.other]
        within = np.arange(self.source[-1]) - np.repeat(self.source[:-1], h * w)
        wide = np.repeat(w, h * w)
        i = np.repeat(self.offset[self.one], h * w) + within // np.maximum(wide, 1)
        j = np.repeat(self.offset[self.other], h * w) + within % np.maximum(wide, 1)
        data = self.flat(values)
        on_diagonal = np.repeat(self.one == self.other, h * w)
        stored, mirrored = ~on_diagonal | (i >= j), ~on_diagonal | (i > j)
        row = np.concatenate([i[stored], j[mirrored]])
        col = np.concatenate([j[stored], i[mirrored]])
        entries = np.concatenate([data[stored], data[mirrored]])
        return sp.coo_array((entries, (row, col)), shape=(self.size, self.size)).tocsr()


@dataclass(frozen=True, eq=False)
class MatrixPattern(BlockPattern):
    """Block pattern of a symmetric SciPy matrix."""

    start: IntArray
    """Index of the first entry of each row of the matrix [-], shape (size + 1,)."""
    column: IntArray
    """Column of each entry [-], shape (nnz,)."""
    into: IntArray
    """Index among the values of each entry of the lower block triangle [-], shape (entries,)."""
    taken: IntArray
    """Indices of these entries in the matrix [-], shape (entries,)."""
    mirror: IntArray
    """Index of the transposed entry of each entry [-], shape (nnz,)."""

    def values(self, A: Any) -> Array:
        """Return the values of the blocks of a matrix with the same sparsity pattern, flat."""
        matrix = _canonical(A)
        same = np.array_equal(matrix.indptr, self.start) and np.array_equal(matrix.indices, self.column)
        if not same:
            raise ValueError("A has other entries than the matrix of the pattern; make a pattern of A")
        data = matrix.data
        skew = np.abs(data - data[self.mirror])
        if skew.max(initial=0.0) > SYMMETRIC * np.abs(data).max(initial=0.0):
            k = int(np.argmax(skew))
            i, j = int(np.searchsorted(self.start, k, side="right") - 1), int(self.column[k])
            raise ValueError(f"A is not symmetric: entries ({i}, {j}) and ({j}, {i}) differ by {skew[k]:.3g}")
        values = np.zeros(int(self.source[-1]))
        values[self.into] = data[self.taken]
        return values


def block_pattern(widths: ArrayLike, one: ArrayLike, other: ArrayLike) -> BlockPattern:
    """Return the checked pattern of `widths` (n,) and the pairs `one`, `other` (nnzb,) that have a block."""
    width, first, second = (
        _integers(name, a) for name, a in (("widths", widths), ("one", one), ("other", other))
    )
    if (width < 1).any():
        raise ValueError(
            f"width of block row {int(np.argmax(width < 1))} is {width.min()}; it must be 1 or more"
        )
    if first.shape != second.shape:
        raise ValueError(f"one has shape {first.shape}, other {second.shape}; they are pairs")
    for name, index in (("one", first), ("other", second)):
        outside = (index < 0) | (index >= width.size)
        if outside.any():
            raise ValueError(f"{name} names block row {index[outside][0]}; there are {width.size}")
    return BlockPattern(width, first, second)


def matrix_pattern(A: Any, widths: ArrayLike) -> MatrixPattern:
    """Return the pattern of a symmetric SciPy matrix, split into block rows of these widths."""
    matrix, width = _canonical(A), _integers("widths", widths)
    size = int(width.sum())
    if matrix.shape != (size, size):
        raise ValueError(f"A has shape {matrix.shape}, the widths add up to {size}")
    home = np.repeat(np.arange(width.size), width)
    i = np.repeat(np.arange(size), np.diff(matrix.indptr))
    j = matrix.indices.astype(np.int64)
    mirror = np.lexsort((i, j))
    if not (np.array_equal(i[mirror], j) and np.array_equal(j[mirror], i)):
        raise ValueError("A has entries on one side of the diagonal only; give both triangles")
    taken = np.flatnonzero(home[i] >= home[j])
    i, j = i[taken], j[taken]
    keys, name = np.unique(home[i] * width.size + home[j], return_inverse=True)
    pattern = block_pattern(width, keys // max(width.size, 1), keys % max(width.size, 1))
    column, row = j - pattern.offset[home[j]], i - pattern.offset[home[i]]
    into = pattern.source[:-1][name] + row * width[home[j]] + column
    return MatrixPattern(
        pattern.widths, pattern.one, pattern.other, fixed(matrix.indptr.astype(np.int64)),
        fixed(matrix.indices.astype(np.int64)), fixed(into), fixed(taken), fixed(mirror),
    )  # fmt: skip


def fixed(array: Any) -> Any:
    """Return a read-only view, so that kernels are compiled for one type of array only."""
    view = array.view()
    view.flags.writeable = False
    return view


def _canonical(A: Any) -> sp.csr_array:
    matrix = sp.csr_array(A, dtype=np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _integers(name: str, value: ArrayLike) -> IntArray:
    array = np.array(value)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a flat array of integers, got {array.dtype} of shape {array.shape}")
    return fixed(array.astype(np.int64))
