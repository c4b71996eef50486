"""Sparse matrices in text, as CSparse prints them: triplets, columns or rows, after a banner.

The original reads line by line; since every line has a fixed number of words, words are enough.
"""

import re
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from stickslip.files.errors import shown
from stickslip.files.tokens import Tokens, plain_integer

TRIPLETS, COLUMNS, ROWS = 1, 2, 3
BANNER = "CSparse Version 3.2.0, Sept 12, 2017.  Copyright (c) Timothy A. Davis, 2006-2016"
BANNER_WORDS = 64
"""How many words of banner are looked through for the shape of the matrix."""
SHAPE = re.compile(rb"(\d{1,18})-by-(\d{1,18}),")
REAL = "%.16e"
"""17 significant digits, so that every number comes back bit for bit; the exponent keeps reals
apart from the integers of the format, by which the kind of a file is seen."""


def read_sparse(tokens: Tokens, name: str, m: int, n: int) -> sp.csr_array:
    """The next sparse matrix, of shape (m, n)."""
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


def write_triplets(matrix: sp.csr_array) -> str:
    """`matrix` by triplets, with its banner."""
    m, n = matrix.shape
    coo = matrix.tocoo()
    row, column = coo.coords
    head = f"{TRIPLETS}\n{BANNER}\ntriplet: {m}-by-{n}, nzmax: {max(coo.nnz, 1)} nnz: {coo.nnz}\n"
    entries = zip(row.tolist(), column.tolist(), coo.data.tolist(), strict=True)
    lines = f"    %d %d : {REAL}\n" * int(coo.nnz)
    return head + lines % tuple(x for entry in entries for x in entry)


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
    """One line after the other (columns for CSC): «col j : locations a to b», then «i : value»."""
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
    what = f"{across} of an entry of {name}"
    index = tokens.to_integers(entries[0::3], what, lambda k: place(0, k), below)
    value = tokens.to_reals(entries[2::3], f"value of an entry of {name}", lambda k: place(2, k))
    matrix = sp.csr_array((value, index, pointer), shape=shape)
    matrix.sum_duplicates()
    return matrix


def _read_line_header(tokens: Tokens, name: str, j: int, pointer: np.ndarray) -> None:
    what = f"the header of line {j} of {name}"
    word = tokens.word(what)
    if word not in (b"col", b"row"):
        tokens.fail(f"the word 'col' or 'row' of {what}", shown(word))
    tokens.integer(what, j, j)
    for word in (b":", b"locations"):
        tokens.literal(word, what)
    a = int(pointer[j])
    tokens.integer(f"first location of line {j} of {name}", a, a)
    tokens.literal(b"to", what)
    last = tokens.integer(f"last location of line {j} of {name}", a - 1)
    tokens.need(3 * (last + 1 - a), f"the {last + 1 - a} entries of line {j} of {name}")
    pointer[j + 1] = last + 1


def _check_colons(tokens: Tokens, words: list[bytes], what: str, place: Callable[[int], int]) -> None:
    if words.count(b":") != len(words):
        k = next(k for k, word in enumerate(words) if word != b":")
        tokens.fail(f"the colon of {what}", shown(words[k]), place(k))
