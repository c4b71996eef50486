"""Writing problems in text (`.dat`): the same sequences of numbers that `dat` reads.

Reals have 17 significant digits, so a problem that is written and read is the same bit for bit.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from stickslip.files.dat import COMMENT
from stickslip.files.errors import FormatError
from stickslip.files.matrix_text import (
    Matrix,
    as_array,
    integers,
    reals,
    write_blocks,
    write_dense,
    write_sparse,
)
from stickslip.files.record import ProblemRecord
from stickslip.files.tokens import is_number
from stickslip.problem.box import BoxProblem
from stickslip.problem.contact import ContactProblem, GlobalProblem, Level
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.operator import BlockDelassus, BodyDelassus, DenseDelassus
from stickslip.problem.solution import Problem

STORAGES = ("dense", "block", "sparse")
"""Ways to write a matrix in text."""

FAMILIES = {(1,): "friction", (2,): "friction", (2, 2): "rolling"}
"""Friction families that FCLIB and text files know, and their kinds."""


def kind_of(problem: Problem) -> str | None:
    """The kind of a problem, None if text files hold no such problem.

    An empty product set has no family; it goes as friction in 3D.
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
    """The content of the text file `path`. What is said in `record.info` follows the numbers."""
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
    """The comment as it was, then everything else that is said, one line each."""
    said = [f"{name}: {value}" for name, value in info.items() if name != "comment"]
    text = "\n".join([*filter(None, [info.get("comment")]), *said]).strip()
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
    own = "block" if M.is_body_blocks else "sparse" if sp.issparse(M.matrix) else "dense"
    mass = _matrix(M.sparse if M.is_body_blocks else M.matrix, storage or own, (k, k))
    own = "block" if isinstance(H, ContactBlocks) else "sparse"
    jacobian = _matrix(problem.H_sparse(), storage or own, (k, d))
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
    """Velocities per body, where the problem says so."""
    if problem.M.is_body_blocks:
        return int(problem.M.matrix.shape[1])
    return int(problem.H.rows.shape[2]) if isinstance(problem.H, ContactBlocks) else _divisor(problem.M.size)


def _divisor(n: int) -> int:
    """Size of the blocks of a matrix that has none of its own."""
    return next(k for k in (6, 3, 2, 1) if n % k == 0)
