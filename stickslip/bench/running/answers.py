"""Convert the return values of solvers to data, and judge them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.residuals import CLOSING, Residuals, judge
from stickslip.problem.solution import Problem, Solution

ROWS = 500
"""Largest number of stored rows of a history."""
LONGEST = 300
"""Largest number of stored characters of a sentence."""


class NoAnswer(ValueError):  # noqa: N818 (describes a return value)
    """The return value of a solver cannot be judged; the message gives the reason."""


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer as data."""

    r: Array
    """Impulses [N s], shape as returned."""
    v: Array | None = None
    """Velocities of a global problem [m/s, rad/s], shape as returned."""
    lam: Array | None = None
    """Bilateral multipliers of a global problem [N s], shape as returned."""
    status: str = ""
    """Status reported by the solver."""
    reason: str = ""
    """Reason reported by the solver."""
    iterations: int = 0
    """Number of iterations, as counted by the solver."""
    history: Array = field(default_factory=lambda: np.zeros((0, 3)))
    """Iteration, natural and natural_scaled at each check [-], shape (checks, 3)."""

    @property
    def bits(self) -> tuple[bytes | None, ...]:
        """Bytes of the arrays, which are equal for identical answers."""
        return tuple(None if x is None else x.tobytes() for x in (self.r, self.v, self.lam))

    def remark(self, solved: bool, error: float) -> str:
        """Remark on the answer in addition to the judge's residuals."""
        if solved:
            if self.status in ("", "SOLVED"):
                return ""
            return f"the judge accepts it, the solver itself says {self.status}: {self.reason}".rstrip(": ")
        if self.status == "SOLVED":
            return f"it reports a solution, but the judge finds an error of {error:.1e}"
        return self.reason


def answer_of(value: Any) -> Answer:
    """Convert the return value of a solver, a Solution or an array r; raise `NoAnswer` for others."""
    if not isinstance(value, Solution):
        return Answer(_numbers("r", value))
    return Answer(
        _numbers("r", value.r),
        None if value.v is None else _numbers("v", value.v),
        None if value.lam is None else _numbers("lam", value.lam),
        one_line(getattr(value.status, "name", value.status)),
        one_line(value.reason or getattr(value.status, "value", "")),
        count_of(value.iterations),
        _history(value.history),
    )


def worst(problem: Problem, answers: Sequence[Answer]) -> tuple[Answer, Residuals]:
    """The answer with the largest residuals of the judge, and these residuals."""
    judged = []
    for answer in answers:
        if answer.r.size != problem.size:
            raise NoAnswer(f"its r has shape {answer.r.shape}, expected ({problem.size},)")
        try:
            judged.append((answer, judge(problem, answer.r, v=answer.v, lam=answer.lam)))
        except ProblemError as error:
            raise NoAnswer(f"its answer cannot be judged: {error}") from None
    return max(judged, key=lambda pair: (not pair[1].approach <= CLOSING, pair[1].error))


def sentence(error: BaseException) -> str:
    """Describe an exception in one line: its type, unless it is generic, and its message."""
    try:
        message = one_line(error)
    except Exception:  # users' exceptions may fail, too
        message = ""
    kind, module = type(error).__name__, type(error).__module__
    if message and module.partition(".")[0] == "stickslip":
        return message
    return f"{kind}: {message}" if message else kind


def one_line(text: Any) -> str:
    """Convert an object to one printable line of bounded length."""
    words = " ".join("".join(c if c.isprintable() else " " for c in str(text)[: 10 * LONGEST]).split())
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def _numbers(name: str, value: Any) -> Array:
    """Convert to an array of finite numbers; raise `NoAnswer` otherwise."""
    if not isinstance(value, np.ndarray | list | tuple):
        raise NoAnswer(f"it returned a {type(value).__name__}, which is neither a Solution nor an array r")
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise NoAnswer(f"its {name} is not an array of numbers: {one_line(error)}") from None
    if not np.isfinite(array).all():
        raise NoAnswer(f"its {name} holds NaN or inf")
    return array


def count_of(value: Any) -> int:
    """Convert a count to an integer; 0 for invalid values."""
    return int(value) if isinstance(value, int | np.integer) and 0 <= value < 2**53 else 0


def _history(value: Any) -> Array:
    """Evenly spaced rows of a history, including the last; empty for invalid values."""
    rows = np.zeros((0, 3))
    with suppress(TypeError, ValueError):
        rows = np.array(value, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 3:
        return np.zeros((0, 3))
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(ROWS, len(rows))).astype(int))]
