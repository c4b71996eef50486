"""Reading problems in text (`.dat`), as Siconos writes them: numbers, and nothing that names them.

A file does not say which kind of problem it holds. Every kind is therefore tried, and the word
count decides: sizes said several times must agree, and the numbers must reach the end of the file
or a text that is not a number (a free comment may follow). See `choose` for the rest.

How the numbers become problems, normal component first, d numbers per contact:

    friction        d nc M q mu            ContactProblem(W=M, u_free=q, coulomb(mu, d)), d = 2, 3
    rolling         d nc M q mu mu_r       ContactProblem(W=M, u_free=q, rolling(mu, mu_r)), d = 5
    global          d nc M H q b mu        GlobalProblem(M, f=q, H, u_bias=b, coulomb(mu, d))
    global-rolling  d nc M H q b mu mu_r   GlobalProblem(M, f=q, H, u_bias=b, rolling(mu, mu_r))
    lcp             n M q                  0 <= z ⟂ M z + q >= 0
    mlcp            see `_read_mlcp`       equations 0 = A u + C v + a, 0 <= v ⟂ D u + B v + b >= 0
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stickslip.files.errors import FormatError
from stickslip.files.matrix_text import Matrix, as_array, read_matrix
from stickslip.files.record import ProblemRecord
from stickslip.files.tokens import Misread, Tokens, is_number
from stickslip.problem.box import lcp, mlcp
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.sets import ProductSet, coulomb, rolling
from stickslip.problem.solution import Problem

KINDS = ("friction", "global", "rolling", "global-rolling", "lcp", "mlcp")
"""Kinds of problem that a text file may hold."""

HINTS = (
    ("grfc", "global-rolling"), ("rfc3d", "rolling"), ("gfc2d", "global"), ("gfc3d", "global"),
    ("fc2d", "friction"), ("fc3d", "friction"), ("mlcp", "mlcp"), ("lcp", "lcp"),
)  # fmt: skip
"""What names of files say about their kind; the first that fits counts."""

COMMENT = "comment: "
"""Written before a comment that begins with a number, which would not end the numbers cleanly."""

AGREE = 1e-6
"""How far two copies of one matrix may differ, relative to its largest entry."""

Make = Callable[[], Problem]
"""Makes the problem from the numbers read: put off until the kind is known."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A file read as one kind of problem, to the end of its numbers."""

    make: Make
    """Makes the problem."""
    end: int
    """Index of the first word that was not needed."""
    clean: bool
    """Whether the file ends there, or goes on with a word that is not a number."""


def read_dat(path: Path, data: bytes, kind: str | None) -> ProblemRecord:
    """The problem in `data`, the content of the text file `path`."""
    tokens = Tokens(data)
    if not len(tokens):
        raise FormatError.at(path, "the file", "a problem", "nothing but blanks" if data else "an empty file")
    kind, reading = choose(path, tokens) if kind is None else (kind, _try(tokens, kind))
    if isinstance(reading, Misread):
        raise _refusal(path, tokens, kind, reading)
    try:
        # Hostile numbers overflow in the checks of the problem, which then say what is wrong.
        with np.errstate(all="ignore"):
            problem = reading.make()
    except ValueError as error:
        raise FormatError.at(path, f"the {kind} problem in it", "well-posed data", f"this: {error}") from None
    tokens.at = reading.end
    comment = tokens.rest().removeprefix(COMMENT)
    return ProblemRecord(problem, {"comment": comment} if comment else {})


def choose(path: Path, tokens: Tokens) -> tuple[str, Reading | Misread]:
    """The kind of problem in a file, and the file read so.

    Kinds that read to the end of their numbers are candidates, and so are those for which the file
    is only too short: it may have been cut. A candidate that ends cleanly wins, if no other reads
    further and the name of the file does not speak for one that was cut. Otherwise the name decides
    between candidates, or there is only one; if not, the file is refused.
    """
    readings = {kind: _try(tokens, kind) for kind in KINDS}
    whole = [kind for kind, found in readings.items() if isinstance(found, Reading)]
    cut = [kind for kind, found in readings.items() if isinstance(found, Misread) and found.ended]
    hint = next((kind for sign, kind in HINTS if sign in path.name.lower()), "")
    first = max(whole + cut or KINDS, key=lambda kind: (_reach(readings[kind]), kind in whole, kind == hint))
    best = readings[first]
    if isinstance(best, Reading) and ((best.clean and hint not in cut) or whole + cut == [first]):
        return first, best
    if hint in whole + cut:
        return hint, readings[hint]
    if whole:
        candidates = " and as ".join(f"'{kind}'" for kind in whole + cut)
        found = f"a file that may be read as {candidates}; pass kind= with one of these"
        raise FormatError.at(path, "the whole file", "one kind of problem", found)
    first = max(KINDS, key=lambda kind: (_reach(readings[kind]), kind == hint))
    return first, readings[first]


def _reach(reading: Reading | Misread) -> int:
    return reading.token if isinstance(reading, Misread) else reading.end


def _try(tokens: Tokens, kind: str) -> Reading | Misread:
    tokens.at = 0
    try:
        make = _READERS[kind](tokens)
    except Misread as misread:
        return misread
    return Reading(make, tokens.at, not is_number(tokens.peek()))


def _refusal(path: Path, tokens: Tokens, kind: str, misread: Misread) -> FormatError:
    place = f"{tokens.place(misread.token)}, read as a problem of kind '{kind}'"
    return FormatError.at(path, place, misread.expected, misread.found)


def _head(tokens: Tokens, low: int, high: int) -> tuple[int, int, int]:
    """Dimension d, number of contacts nc, and their product."""
    d = tokens.integer("components per contact", low, high)
    nc = tokens.dimension("number of contacts")
    return d, nc, d * nc


def _read_friction(tokens: Tokens) -> Make:
    d, nc, n = _head(tokens, 2, 3)
    W, q = _square(tokens, "M", n)
    mu = tokens.reals(nc, "mu")
    return lambda: ContactProblem(W, q, coulomb(mu, d))  # type: ignore[arg-type]


def _read_rolling(tokens: Tokens) -> Make:
    _, nc, n = _head(tokens, 5, 5)
    W, q = _square(tokens, "M", n)
    mu, mu_roll = tokens.reals(nc, "mu"), tokens.reals(nc, "mu_r")
    return lambda: ContactProblem(W, q, rolling(mu, mu_roll))  # type: ignore[arg-type]


def _read_global(tokens: Tokens) -> Make:
    d, nc, n = _head(tokens, 2, 3)
    read = _global_matrices(tokens, n)
    mu = tokens.reals(nc, "mu")
    return lambda: _global_problem(*read, coulomb(mu, d))


def _read_global_rolling(tokens: Tokens) -> Make:
    _, nc, n = _head(tokens, 5, 5)
    read = _global_matrices(tokens, n)
    mu, mu_roll = tokens.reals(nc, "mu"), tokens.reals(nc, "mu_r")
    return lambda: _global_problem(*read, rolling(mu, mu_roll))


def _square(tokens: Tokens, name: str, n: int) -> tuple[Matrix, Array]:
    """A square matrix and its vector q."""
    return read_matrix(tokens, name, n, n), tokens.reals(n, "q")


def _global_matrices(tokens: Tokens, n: int) -> tuple[Matrix, Matrix, Array, Array]:
    M = read_matrix(tokens, "M", None, None)
    nv = M.shape[0]
    if M.shape[1] != nv:
        tokens.fail("M to be square", f"{nv} rows and {M.shape[1]} columns")
    H = read_matrix(tokens, "H", nv, n)
    return M, H, tokens.reals(nv, "q"), tokens.reals(n, "b")


def _global_problem(M: Matrix, H: Matrix, f: Array, u_bias: Array, K: ProductSet) -> GlobalProblem:
    return GlobalProblem(M, f, H, u_bias, K)  # type: ignore[arg-type]


def _read_lcp(tokens: Tokens) -> Make:
    n = tokens.dimension("number of unknowns")
    A, b = _square(tokens, "M", n)
    return lambda: lcp(A, b)


def _read_mlcp(tokens: Tokens) -> Make:
    """has_rows has_parts n m, then the one, the other or both of

    rows:  block ends from 0 to n + m, 0 or 1 per block (1 complementarity), M, q;
    parts: A (n, n), B (m, m), C (n, m), D (m, n) row by row, a (n), b (m).

    M is [A C; D B] with its rows and columns in the order of the blocks; if both are there they
    must agree. Problems with more equations than unknowns are refused.
    """
    has_rows = tokens.integer("whether M is given", 0, 1)
    has_parts = tokens.integer("whether A, B, C and D are given", 1 - has_rows, 1)
    n, m = tokens.dimension("number of equations"), tokens.dimension("number of complementarities")
    parts = None
    if has_rows:
        free = _read_blocks(tokens, n, m)
        A = read_matrix(tokens, "M", None, n + m)
        if A.shape[0] != n + m:
            tokens.fail(
                f"{n + m} rows of M, one per unknown (a rectangular MLCP is no box problem)",
                f"{A.shape[0]} rows",
            )
        b = tokens.reals(n + m, "q")
    if has_parts:
        parts = _read_parts(tokens, n, m)
    if not has_rows and parts is not None:
        (A, b), free = parts, np.arange(n + m) < n
    elif parts is not None:
        _check_parts(tokens, A, b, free, *parts)
    return lambda: mlcp(A, b, free)


def _read_blocks(tokens: Tokens, n: int, m: int) -> np.ndarray:
    """Which of the n + m unknowns are free, from the blocks of a mixed problem."""
    ends = [tokens.integer("the first block end", 0, 0)]
    while ends[-1] != n + m:
        ends.append(tokens.integer("a block end", ends[-1] + 1, n + m))
    start, count = tokens.at, len(ends) - 1
    words = tokens.words(count, "whether blocks are complementarities")
    is_comp = tokens.to_integers(words, "whether a block is a complementarity", lambda k: start + k, 2)
    free = np.repeat(is_comp == 0, np.diff(ends))
    if free.sum() != n:
        tokens.fail(f"blocks of equations with {n} rows together", f"{free.sum()} rows")
    return free


def _read_parts(tokens: Tokens, n: int, m: int) -> tuple[Array, Array]:
    """[A C; D B] and (a, b)."""
    A = tokens.reals(n * n, "A").reshape(n, n)
    B = tokens.reals(m * m, "B").reshape(m, m)
    C = tokens.reals(n * m, "C").reshape(n, m)
    D = tokens.reals(m * n, "D").reshape(m, n)
    return np.block([[A, C], [D, B]]), np.concatenate([tokens.reals(n, "a"), tokens.reals(m, "b")])


def _check_parts(tokens: Tokens, A: Matrix, b: Array, free: np.ndarray, parts: Array, q: Array) -> None:
    """Refuse a file that holds two different problems."""
    order = np.argsort(~free, kind="stable")
    whole = as_array(A)[order][:, order]
    for name, x, y in (("A, B, C, D to agree with M", whole, parts), ("a, b to agree with q", b[order], q)):
        # Numbers printed twice may have lost digits twice; nan is left to the checks of the problem.
        with np.errstate(all="ignore"):
            far = np.abs(x - y) > AGREE * max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0))
        if far.any():
            k = tuple(int(i) for i in np.argwhere(far)[0])
            tokens.fail(name, f"{y[k]} for {x[k]} at {k} of the equations first")


_READERS: dict[str, Callable[[Tokens], Make]] = {
    "friction": _read_friction,
    "global": _read_global,
    "rolling": _read_rolling,
    "global-rolling": _read_global_rolling,
    "lcp": _read_lcp,
    "mlcp": _read_mlcp,
}
