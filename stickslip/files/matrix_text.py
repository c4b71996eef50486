"""Matrices in text: the block that Siconos calls NumericsMatrix, in its three storages.

    storage (0 dense, 1 sparse blocks, 2 sparse), rows, columns, then

- dense:  rows and columns again, and the numbers column by column;
- block:  block rows over cumulative sizes, each block preceded by its number, column by column;
- sparse: as CSparse prints it (`sparse_text`).

What is read as dense is an array, the rest a SciPy CSR matrix with duplicates summed.
"""

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from stickslip.files.sparse_text import REAL, read_sparse, write_triplets
from stickslip.files.tokens import Tokens
from stickslip.problem.checks import Array, IntArray

Matrix: TypeAlias = np.ndarray | sp.csr_array

DENSE, BLOCK, SPARSE = 0, 1, 2


def read_matrix(tokens: Tokens, name: str, rows: int | None, columns: int | None) -> Matrix:
    """The next matrix, of the given shape where it is known."""
    storage = tokens.integer(f"storage of {name} (0 dense, 1 block, 2 sparse)", 0, 2)
    m = _size(tokens, f"rows of {name}", rows)
    n = _size(tokens, f"columns of {name}", columns)
    if storage == DENSE:
        return _read_dense(tokens, name, m, n)
    return _read_blocks(tokens, name, m, n) if storage == BLOCK else read_sparse(tokens, name, m, n)


def write_dense(matrix: np.ndarray) -> str:
    """`matrix` in dense storage, one column a line."""
    m, n = matrix.shape
    return f"{DENSE}\n{m}\n{n}\n{m}\t{n}\n" + "".join(reals(column) for column in matrix.T)


def write_blocks(matrix: sp.csr_array, block: tuple[int, int]) -> str:
    """`matrix` in storage by blocks of one shape, which must divide its own."""
    m, n = matrix.shape
    head = f"{BLOCK}\n{m}\n{n}\n"
    if matrix.nnz == 0:
        return head + "0\n"
    blocks = matrix.tobsr(blocksize=block)
    blocks.sort_indices()
    count = blocks.indices.size
    row_ends, column_ends = (np.arange(d, size + 1, d) for d, size in zip(block, (m, n), strict=True))
    sizes = f"{row_ends.size}\n{column_ends.size}\n" + integers(row_ends) + integers(column_ends)
    index = f"{row_ends.size + 1}\n{count}\n" + integers(blocks.indptr) + integers(blocks.indices)
    numbers = blocks.data.transpose(0, 2, 1).reshape(count, -1)
    data = "".join(f"{k}\n" + reals(x) for k, x in enumerate(numbers))
    return head + f"{count}\n" + sizes + index + data


def write_sparse(matrix: sp.csr_array) -> str:
    """`matrix` in sparse storage, by triplets."""
    return f"{SPARSE}\n{matrix.shape[0]}\n{matrix.shape[1]}\n" + write_triplets(matrix)


def as_array(matrix: Any) -> np.ndarray:
    """An array or a SciPy matrix as an array."""
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix)


def reals(values: Array) -> str:
    """One line of numbers."""
    return (f"{REAL} " * values.size)[:-1] % tuple(values.tolist()) + "\n"


def integers(values: IntArray) -> str:
    """One line of integers."""
    return "\t".join(map(str, values.tolist())) + "\n"


def _size(tokens: Tokens, what: str, wanted: int | None) -> int:
    size = tokens.dimension(what)
    if wanted is not None and size != wanted:
        tokens.fail(f"{what} to be {wanted}", f"{size}")
    return size


def _read_dense(tokens: Tokens, name: str, m: int, n: int) -> np.ndarray:
    _size(tokens, f"rows of {name}, said again", m)
    _size(tokens, f"columns of {name}, said again", n)
    return tokens.reals(m * n, name).reshape(n, m).T


def _read_blocks(tokens: Tokens, name: str, m: int, n: int) -> sp.csr_array:
    count = tokens.dimension(f"number of blocks of {name}")
    if count == 0:
        return sp.csr_array((m, n))
    block_rows = tokens.dimension(f"block rows of {name}")
    block_columns = tokens.dimension(f"block columns of {name}")
    row_start, row_size = _ranges(tokens, f"row ends of the blocks of {name}", block_rows, m)
    column_start, column_size = _ranges(tokens, f"column ends of the blocks of {name}", block_columns, n)
    filled = tokens.integer(f"filled block rows of {name}, plus one", 1, block_rows + 1)
    tokens.integer(f"stored blocks of {name}", count, count)
    pointer = tokens.integers(filled, f"block row pointer of {name}")
    if pointer[0] != 0 or pointer[-1] != count or (np.diff(pointer) < 0).any():
        tokens.fail(f"block row pointer of {name} to rise from 0 to {count}", "one that does not")
    start = tokens.at
    words = tokens.words(count, f"block columns of {name}")
    column = tokens.to_integers(words, f"block column of {name}", lambda k: start + k, block_columns)
    row = np.repeat(np.arange(filled - 1), np.diff(pointer))
    height, width = row_size[row], column_size[column]
    numbers, block, local = _read_block_data(tokens, name, height, width)
    i = row_start[row][block] + local % height[block]
    j = column_start[column][block] + local // height[block]
    return sp.coo_array((numbers, (i, j)), shape=(m, n)).tocsr()


def _read_block_data(
    tokens: Tokens, name: str, height: IntArray, width: IntArray
) -> tuple[Array, IntArray, IntArray]:
    """Numbers of the blocks, the block of each, and its place in the block, column by column."""
    count, start = height.size, tokens.at
    # In floating point first: sums of products of hostile sizes may not fit any integer.
    total = count + float(np.dot(height.astype(float), width.astype(float)))
    if total > tokens.left:
        tokens.need(max(int(total), tokens.left + 1), f"the {count} blocks of {name}")
    span = height * width + 1
    first = np.concatenate([[0], np.cumsum(span)])
    numbers = tokens.reals(int(first[-1]), f"the blocks of {name}")
    wrong = np.flatnonzero(numbers[first[:-1]] != np.arange(count))
    if wrong.size:
        k = int(wrong[0])
        at = start + int(first[k])
        tokens.fail(f"{k}, the number of the next block of {name}", f"{numbers[first[k]]:g}", at)
    local = np.arange(first[-1]) - np.repeat(first[:-1], span) - 1
    kept = local >= 0
    return numbers[kept], np.repeat(np.arange(count), span)[kept], local[kept]


def _ranges(tokens: Tokens, what: str, count: int, total: int) -> tuple[IntArray, IntArray]:
    """First index and size of each block, from cumulative ends."""
    ends = tokens.integers(count, what)
    sizes = np.diff(ends, prepend=0)
    if not count or ends[-1] != total or (sizes < 1).any():
        tokens.fail(f"{what} to rise from above 0 to {total}", f"{count} that do not")
    return ends - sizes, sizes
