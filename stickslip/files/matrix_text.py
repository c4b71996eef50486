"""Matrices in text: the NumericsMatrix of Siconos in its three storage formats.

    storage (0 dense, 1 sparse blocks, 2 sparse), rows, columns, then

- dense:  rows and columns again, and the numbers column by column; - block:  cumulative sizes of block rows
and columns, block CSR, each block preceded by its number, column-wise; - sparse: the output of CSparse,
triplets, columns or rows after a banner. Siconos reads it line by line; as every
  line has a fixed number of words, it is read here by words.

Dense matrices become arrays, the others SciPy CSR matrices with duplicates summed.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from stickslip.files.errors import shown
from stickslip.files.tokens import Tokens, plain_integer
from stickslip.problem.checks import Array, IntArray

Matrix: TypeAlias = np.ndarray | sp.csr_array

DENSE, BLOCK, SPARSE = 0, 1, 2
TRIPLETS, COLUMNS, ROWS = 1, 2, 3
BANNER = "CSparse Version 3.2.0, Sept 12, 2017.  Copyright (c) Timothy A. Davis, 2006-2016"
BANNER_WORDS = 64
"""Number of words of the banner that are searched for the shape of the matrix."""
SHAPE = re.compile(rb"(\d{1,18})-by-(\d{1,18}),")
REAL = "%.16e"
"""Format of reals: 17 significant digits, which preserve numbers bit for bit; the exponent distinguishes
reals from integers, by which the kind of a file is decided."""


def read_matrix(tokens: Tokens, name: str, rows: int | None, columns: int | None) -> Matrix:
    """Read the next matrix, of the given shape if it is known."""
    storage = tokens.integer(f"storage of {name} (0 dense, 1 block, 2 sparse)", 0, 2)
    m = _size(tokens, f"rows of {name}", rows)
    n = _size(tokens, f"columns of {name}", columns)
    if storage == DENSE:
        return _read_dense(tokens, name, m, n)
    return _read_blocks(tokens, name, m, n) if storage == BLOCK else _read_sparse(tokens, name, m, n)


def write_dense(matrix: np.ndarray) -> str:
    """Text of `matrix` in dense storage, one column per line."""
    m, n = matrix.shape
    return f"{DENSE}\n{m}\n{n}\n{m}\t{n}\n" + "".join(reals(column) for column in matrix.T)


def write_blocks(matrix: sp.csr_array, block: tuple[int, int]) -> str:
    """Text of `matrix` in block storage; the shape of the blocks must divide that of the matrix."""
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
    """Text of `matrix` in sparse storage as triplets, with the banner."""
    m, n = matrix.shape
    coo = matrix.tocoo()
    row, column = coo.coords
    head = f"{SPARSE}\n{m}\n{n}\n{TRIPLETS}\n{BANNER}\n"
    head += f"triplet: {m}-by-{n}, nzmax: {max(coo.nnz, 1)} nnz: {coo.nnz}\n"
    entries = zip(row.tolist(), column.tolist(), coo.data.tolist(), strict=True)
    lines = f"    %d %d : {REAL}\n" * int(coo.nnz)
    return head + lines % tuple(x for entry in entries for x in entry)


def as_array(matrix: Any) -> np.ndarray:
    """Convert an array or a SciPy matrix to an array."""
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
    """Read the numbers of the blocks; return numbers, blocks, and column-wise indices in the blocks."""
    count, start = height.size, tokens.at
    # In floating point first, because sums of products of extreme sizes may overflow integers.
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
    is_kept = local >= 0
    return numbers[is_kept], np.repeat(np.arange(count), span)[is_kept], local[is_kept]


def _ranges(tokens: Tokens, what: str, count: int, total: int) -> tuple[IntArray, IntArray]:
    """Read cumulative ends of blocks; return the first index and the size of each block."""
    ends = tokens.integers(count, what)
    sizes = np.diff(ends, prepend=0)
    if not count or ends[-1] != total or (sizes < 1).any():
        tokens.fail(f"{what} to rise from above 0 to {total}", f"{count} that do not")
    return ends - sizes, sizes


def _read_sparse(tokens: Tokens, name: str, m: int, n: int) -> sp.csr_array:
    """Read the next sparse matrix, of shape (m, n)."""
    origin = tokens.integer(f"storage of sparse {name} (1 triplets, 2 columns, 3 rows)", 1, 3)
    _skip_banner(tokens, name, m, n)
    tokens.literal(b"nzmax:", f"the header of {name}")
    tokens.integer(f"nzmax of {name}")
    tokens.literal(b"nnz:", f"the header of {name}")
    word = tokens.word(f"nnz of {name}")
    count = plain_integer(word.rstrip(b","))
    if count is None or count < 0:
        tokens.fail(f"nnz of {name}, an integer that is not negative", shown(word))
    if origin == TRIPLETS:
        return _read_triplets(tokens, name, m, n, count)
    if tokens.peek() == b"1-norm:":
        tokens.words(2, f"the 1-norm of {name}")
    if origin == COLUMNS:
        return sp.csr_array(_read_lines(tokens, name, (n, m), count, "row").T)
    return _read_lines(tokens, name, (m, n), count, "column")


def _skip_banner(tokens: Tokens, name: str, m: int, n: int) -> None:
    tokens.literal(b"CSparse", f"the banner of {name}")
    start = tokens.at
    for _ in range(BANNER_WORDS):
        word = tokens.word(f"the header of {name}")
        shape = SHAPE.fullmatch(word)
        if shape:
            if (int(shape[1]), int(shape[2])) != (m, n):
                tokens.fail(f"{name} to be {m}-by-{n}", shown(word))
            return
    tokens.fail(f"the shape {m}-by-{n} in the header of {name}", f"none in {BANNER_WORDS} words", start)


def _read_triplets(tokens: Tokens, name: str, m: int, n: int, count: int) -> sp.csr_array:
    start = tokens.at
    words = tokens.words(4 * count, f"the {count} entries of {name}")
    _check_colons(tokens, words[2::4], f"row column : value, an entry of {name}", lambda k: start + 4 * k + 2)
    row = tokens.to_integers(words[0::4], f"row of an entry of {name}", lambda k: start + 4 * k, m)
    column = tokens.to_integers(words[1::4], f"column of an entry of {name}", lambda k: start + 4 * k + 1, n)
    value = tokens.to_reals(words[3::4], f"value of an entry of {name}", lambda k: start + 4 * k + 3)
    return sp.coo_array((value, (row, column)), shape=(m, n)).tocsr()


def _read_lines(tokens: Tokens, name: str, shape: tuple[int, int], count: int, across: str) -> sp.csr_array:
    """Read compressed lines (columns for CSC): "col j : locations a to b", followed by "i : value"."""
    lines, below = shape
    pointer = np.zeros(lines + 1, np.int64)
    entries: list[bytes] = []
    headers = []
    for j in range(lines):
        headers.append(tokens.at)
        _read_line_header(tokens, name, j, pointer)
        size = int(pointer[j + 1] - pointer[j])
        entries += tokens.words(3 * size, f"the {size} entries of line {j} of {name}")
    if pointer[-1] != count:
        tokens.fail(f"nnz of {name} to be the sum of its lines, {pointer[-1]}", f"{count}")

    def place(part: int, k: int) -> int:
        line = int(np.searchsorted(pointer, k, side="right") - 1)
        return headers[line] + 7 + 3 * (k - int(pointer[line])) + part

    _check_colons(tokens, entries[1::3], f"{across} : value, an entry of {name}", lambda k: place(1, k))
    label = f"{across} of an entry of {name}"
    index = tokens.to_integers(entries[0::3], label, lambda k: place(0, k), below)
    value = tokens.to_reals(entries[2::3], f"value of an entry of {name}", lambda k: place(2, k))
    matrix = sp.csr_array((value, index, pointer), shape=shape)
    matrix.sum_duplicates()
    return matrix


def _read_line_header(tokens: Tokens, name: str, j: int, pointer: np.ndarray) -> None:
    label = f"the header of line {j} of {name}"
    word = tokens.word(label)
    if word not in (b"col", b"row"):
        tokens.fail(f"the word 'col' or 'row' of {label}", shown(word))
    tokens.integer(label, j, j)
    for word in (b":", b"locations"):
        tokens.literal(word, label)
    a = int(pointer[j])
    tokens.integer(f"first location of line {j} of {name}", a, a)
    tokens.literal(b"to", label)
    last = tokens.integer(f"last location of line {j} of {name}", a - 1)
    tokens.need(3 * (last + 1 - a), f"the {last + 1 - a} entries of line {j} of {name}")
    pointer[j + 1] = last + 1


def _check_colons(tokens: Tokens, words: list[bytes], what: str, place: Callable[[int], int]) -> None:
    if words.count(b":") != len(words):
        k = next(k for k, word in enumerate(words) if word != b":")
        tokens.fail(f"the colon of {what}", shown(words[k]), place(k))
