"""Problems in text files (`.dat`) in the format of Siconos, which contains numbers without names.

A file does not name the kind of its problem. Therefore every kind is tried, and the number of words decides:
repeated sizes must agree, and the numbers must reach the end of the file or a word that is not a number (a
comment may follow). See `choose` for ambiguous files.

Reals are written with 17 significant digits, so that problems are preserved bit for bit.
Layouts of the kinds, with d numbers per contact, normal component first:

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
import scipy.sparse as sp

from stickslip.files.errors import FormatError
from stickslip.files.matrix_text import (
    Matrix,
    as_array,
    integers,
    read_matrix,
    reals,
    write_blocks,
    write_dense,
    write_sparse,
)
from stickslip.files.record import ProblemRecord
from stickslip.files.tokens import Misread, Tokens, is_number
from stickslip.problem.box import BoxProblem, lcp, mlcp
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem, Level
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.operator import BlockDelassus, BodyDelassus, DenseDelassus
from stickslip.problem.sets import coulomb, rolling
from stickslip.problem.solution import Problem

KINDS = ("friction", "global", "rolling", "global-rolling", "lcp", "mlcp")
"""Kinds of problems in text files."""

HINTS = (
    ("grfc", "global-rolling"), ("rfc3d", "rolling"), ("gfc2d", "global"), ("gfc3d", "global"),
    ("fc2d", "friction"), ("fc3d", "friction"), ("mlcp", "mlcp"), ("lcp", "lcp"),
)  # fmt: skip
"""Parts of file names that indicate a kind; the first match counts."""

COMMENT = "comment: "
"""Prefix of comments that begin with a number, which would otherwise not end the numbers."""

AGREE = 1e-6
"""Allowed difference between two copies of one matrix, relative to its largest entry [-]; heuristic."""

Make = Callable[[], Problem]
"""Function that makes the problem from the numbers, called when the kind has been decided."""
STORAGES = ("dense", "block", "sparse")
"""Storage formats of matrices in text."""
FAMILIES = {(1,): "friction", (2,): "friction", (2, 2): "rolling"}
"""Friction families of FCLIB and text files, and their kinds."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A file read as one kind of problem, to the end of its numbers."""

    make: Make
    """Function that makes the problem."""
    end: int
    """Index of the first unused word."""
    clean: bool
    """Whether the file ends there or continues with a word that is not a number."""


def read_dat(path: Path, data: bytes, kind: str | None) -> ProblemRecord:
    """Read the problem in `data`, the content of the text file `path`."""
    tokens = Tokens(data)
    if not len(tokens):
        raise FormatError.at(path, "the file", "a problem", "nothing but blanks" if data else "an empty file")
    kind, reading = choose(path, tokens) if kind is None else (kind, _try(tokens, kind))
    if isinstance(reading, Misread):
        raise _refusal(path, tokens, kind, reading)
    try:
        # Extreme numbers may overflow in the checks of the problem, which report them.
        with np.errstate(all="ignore"):
            problem = reading.make()
    except ValueError as error:
        raise FormatError.at(path, f"the {kind} problem in it", "well-posed data", f"this: {error}") from None
    tokens.at = reading.end
    comment = tokens.rest().removeprefix(COMMENT)
    return ProblemRecord(problem, {"comment": comment} if comment else {})


def choose(path: Path, tokens: Tokens) -> tuple[str, Reading | Misread]:
    """Decide the kind of the problem in a file; return the kind and the file read as this kind.

    Candidates are the kinds whose numbers are complete, and those for which the file is only too short, as it
    may be truncated. The candidate that reads furthest is chosen if it ends cleanly and the file name does
    not indicate a truncated candidate, or if it is the only one. Otherwise the file name decides. An
    ambiguous file is refused.
    """
    readings = {kind: _try(tokens, kind) for kind in KINDS}
    complete = [kind for kind, description in readings.items() if isinstance(description, Reading)]
    truncated = [
        kind
        for kind, description in readings.items()
        if isinstance(description, Misread) and description.ended
    ]
    hint = next((kind for sign, kind in HINTS if sign in path.name.lower()), "")
    first = max(
        complete + truncated or KINDS,
        key=lambda kind: (_reach(readings[kind]), kind in complete, kind == hint),
    )
    best = readings[first]
    if isinstance(best, Reading) and (
        (best.clean and hint not in truncated) or complete + truncated == [first]
    ):
        return first, best
    if hint in complete + truncated:
        return hint, readings[hint]
    if complete:
        candidates = " and as ".join(f"'{kind}'" for kind in complete + truncated)
        description = f"a file that may be read as {candidates}; pass kind= with one of these"
        raise FormatError.at(path, "the whole file", "one kind of problem", description)
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


def _with_friction(of_motion: bool, rolls: bool) -> Callable[[Tokens], Make]:
    """Make a reader of problems with friction; of_motion: global problems; rolls: with rolling friction."""

    def read(tokens: Tokens) -> Make:
        d = tokens.integer("components per contact", *((5, 5) if rolls else (2, 3)))
        nc = tokens.dimension("number of contacts")
        M = read_matrix(tokens, "M", *((None, None) if of_motion else (d * nc, d * nc)))
        nv = M.shape[0]
        if M.shape[1] != nv:
            tokens.fail("M to be square", f"{nv} rows and {M.shape[1]} columns")
        H = read_matrix(tokens, "H", nv, d * nc) if of_motion else None
        q = tokens.reals(nv, "q")
        b = tokens.reals(d * nc, "b") if of_motion else q
        mu = [tokens.reals(nc, name) for name in ("mu", "mu_r")[: 1 + rolls]]

        def make() -> Problem:
            K = rolling(*mu) if rolls else coulomb(mu[0], d)
            return ContactProblem(M, q, K) if H is None else GlobalProblem(M, q, H, b, K)  # type: ignore[arg-type]

        return make

    return read


def _read_lcp(tokens: Tokens) -> Make:
    n = tokens.dimension("number of unknowns")
    A, b = read_matrix(tokens, "M", n, n), tokens.reals(n, "q")
    return lambda: lcp(A, b)


def _read_mlcp(tokens: Tokens) -> Make:
    """Read a mixed problem: has_rows has_parts n m, followed by one or both of

    rows:  block ends from 0 to n + m, 0 or 1 per block (1 complementarity), M, q;
    parts: A (n, n), B (m, m), C (n, m), D (m, n) row by row, a (n), b (m).

    M is [A C; D B] with rows and columns in the order of the blocks; if both are given, they must agree.
    Problems with more equations than unknowns are refused.
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
    """Read the blocks of a mixed problem; return whether each of the n + m unknowns is free."""
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
    """Read [A C; D B] and (a, b)."""
    A = tokens.reals(n * n, "A").reshape(n, n)
    B = tokens.reals(m * m, "B").reshape(m, m)
    C = tokens.reals(n * m, "C").reshape(n, m)
    D = tokens.reals(m * n, "D").reshape(m, n)
    return np.block([[A, C], [D, B]]), np.concatenate([tokens.reals(n, "a"), tokens.reals(m, "b")])


def _check_parts(tokens: Tokens, A: Matrix, b: Array, free: np.ndarray, parts: Array, q: Array) -> None:
    """Refuse a file whose two descriptions of the problem differ."""
    order = np.argsort(~free, kind="stable")
    reordered = as_array(A)[order][:, order]
    for name, x, y in (
        ("A, B, C, D to agree with M", reordered, parts),
        ("a, b to agree with q", b[order], q),
    ):
        # Both copies may be rounded; NaN is reported by the checks of the problem.
        with np.errstate(all="ignore"):
            far = np.abs(x - y) > AGREE * max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0))
        if far.any():
            k = tuple(int(i) for i in np.argwhere(far)[0])
            tokens.fail(name, f"{y[k]} for {x[k]} at {k} of the equations first")


_READERS: dict[str, Callable[[Tokens], Make]] = {
    "friction": _with_friction(of_motion=False, rolls=False),
    "global": _with_friction(of_motion=True, rolls=False),
    "rolling": _with_friction(of_motion=False, rolls=True),
    "global-rolling": _with_friction(of_motion=True, rolls=True),
    "lcp": _read_lcp,
    "mlcp": _read_mlcp,
}


def kind_of(problem: Problem) -> str | None:
    """Kind of a problem in text files; None if the format does not support it.

    An empty product set has no family and counts as friction in 3D.
    """
    if isinstance(problem, BoxProblem):
        return problem.kind if problem.kind in ("lcp", "mlcp") else None
    kind = FAMILIES.get(problem.K.family or ()) if len(problem.K) else "friction"
    if kind is None or problem.level is not Level.VELOCITY:
        return None
    if isinstance(problem, ContactProblem):
        return kind
    return "global-rolling" if kind == "rolling" else "global"


def write_dat(path: Path, record: ProblemRecord, storage: str | None) -> bytes:
    """Return the content of the text file `path`; `record.info` is written after the numbers."""
    problem = record.problem
    if record.solution is not None or record.guesses:
        raise _unfit(path, "a record without stored answers, for which text has no place",
                     "a solution or guesses; write the problem alone, or to .hdf5")  # fmt: skip
    kind = kind_of(problem)
    if kind is None:
        raise _unfit(path, "Coulomb or rolling friction of one family at velocity level, an LCP or an MLCP",
                     f"{problem!r}; write it to .hdf5")  # fmt: skip
    if isinstance(problem, BoxProblem):
        text = _box(problem, storage)
    elif isinstance(problem, ContactProblem):
        text = _contact(path, problem, storage)
    else:
        text = _global(path, problem, storage)
    return (text + _comment(record.info)).encode("utf-8", "backslashreplace")


def _comment(info: dict[str, str]) -> str:
    """Text after the numbers: the comment, and the other entries of `info`, one line each."""
    lines = [f"{name}: {value}" for name, value in info.items() if name != "comment"]
    text = "\n".join([*filter(None, [info.get("comment")]), *lines]).strip()
    if not text:
        return ""
    starts_badly = text.startswith(COMMENT) or is_number(text.split()[0].encode("utf-8", "replace"))
    return COMMENT * starts_badly + text + "\n"


def _unfit(path: Path, expected: str, found: str) -> FormatError:
    return FormatError.at(path, "what is to be written", expected, found)


def _contact(path: Path, problem: ContactProblem, storage: str | None) -> str:
    W, K = problem.W, problem.K
    if isinstance(W, BodyDelassus) and storage is None:
        raise _unfit(path, "a matrix W", 'a matrix-free one; pass storage="block" to form W, or write .hdf5')
    form = storage or ("dense" if isinstance(W, DenseDelassus) else "block")
    matrix: Matrix
    if form == "dense" or isinstance(W, DenseDelassus):
        matrix = W.dense()
    else:
        matrix = (W if isinstance(W, BlockDelassus) else W.blocks(K)).sparse()
    d = K.dimension or 3
    return _head(problem) + _matrix(matrix, form, (d, d)) + reals(problem.u_free) + _coefficients(problem)


def _global(path: Path, problem: GlobalProblem, storage: str | None) -> str:
    if problem.G is not None:
        raise _unfit(path, "a problem without bilateral constraints G", f"{problem!r}; write it to .hdf5")
    M, H = problem.M, problem.H
    d, k = problem.K.dimension or 3, _velocity_block(problem)
    layout = "block" if M.is_body_blocks else "sparse" if sp.issparse(M.matrix) else "dense"
    mass = _matrix(M.sparse if M.is_body_blocks else M.matrix, storage or layout, (k, k))
    layout = "block" if isinstance(H, ContactBlocks) else "sparse"
    jacobian = _matrix(problem.H_sparse(), storage or layout, (k, d))
    vectors = reals(problem.f) + reals(problem.u_bias)
    return _head(problem) + mass + jacobian + vectors + _coefficients(problem)


def _box(problem: BoxProblem, storage: str | None) -> str:
    n = problem.size
    d = _divisor(n)
    A = _matrix(problem.A, storage or ("sparse" if sp.issparse(problem.A) else "dense"), (d, d))
    if problem.kind == "lcp":
        return f"{n}\n" + A + reals(problem.b)
    free = problem.lower == -np.inf
    ends = np.concatenate([[0], np.flatnonzero(np.diff(free)) + 1, [n]])
    blocks = integers(ends) + integers(np.where(free[ends[:-1]], 0, 1))
    return f"1\n0\n{free.sum()}\n{n - free.sum()}\n" + blocks + A + reals(problem.b)


def _head(problem: ContactProblem | GlobalProblem) -> str:
    return f"{problem.K.dimension or 3}\n{len(problem.K)}\n"


def _coefficients(problem: ContactProblem | GlobalProblem) -> str:
    groups = len(problem.K.family or (2,))
    return "".join(reals(problem.K.friction(g)) for g in range(groups))


def _matrix(matrix: Matrix, storage: str, block: tuple[int, int]) -> str:
    if storage == "dense":
        return write_dense(as_array(matrix))
    csr = sp.csr_array(matrix, copy=True)
    csr.sum_duplicates()
    return write_blocks(csr, block) if storage == "block" else write_sparse(csr)


def _velocity_block(problem: GlobalProblem) -> int:
    """Number of velocities per body if it is known, else a divisor of the number of velocities."""
    if problem.M.is_body_blocks:
        return int(problem.M.matrix.shape[1])
    return int(problem.H.rows.shape[2]) if isinstance(problem.H, ContactBlocks) else _divisor(problem.M.size)


def _divisor(n: int) -> int:
    """Block size of a matrix without natural blocks."""
    return next(k for k in (6, 3, 2, 1) if n % k == 0)
