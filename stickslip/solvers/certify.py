"""From a method on contact problems to certified answers of any problem.

A method sees contact problems only. Global and box problems go through their conversion, the answer
comes back, and the judge examines it on the problem as it was given: its word is the status.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels.jit import Compilation
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, ProblemError, finite, flat, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer, Conversion, box_to_contacts, reduce_to_contacts
from stickslip.problem.residuals import Residuals, examine
from stickslip.problem.solution import Problem, Solution, Stage, Status
from stickslip.solvers.registry import entry, names

PROBLEMS = (ContactProblem, GlobalProblem, BoxProblem)
TIGHTER = (1.0, 0.1, 0.01)
"""Shares of the tolerance asked of the converted problem until the original one is solved."""


NO_HISTORY: Array = frozen(np.zeros((0, 3)))


class Attempt(NamedTuple):
    """What a method found on a contact problem, in its own words."""

    r: Array
    """Best impulses found [N s], shape (n,)."""
    status: Status
    """Why the method stopped."""
    iterations: int
    """Iterations made."""
    seconds: float
    """Time without compilation [s]."""
    compile_seconds: float
    """Time of compilation [s]."""
    history: Array = NO_HISTORY
    """Iteration, natural, natural_scaled at each look at the judge [-], shape (checks, 3)."""
    reason: str = ""
    """What was seen, when the status needs more than its own sentence."""
    tried: tuple[Stage, ...] = ()
    """Methods tried on the way, in their order."""
    operations: float = 0.0
    """Multiplications made, about; 0 where the method does not count them."""


Method = Callable[[ContactProblem, Array | None, float], Attempt]
"""Takes a contact problem, a guess and a tolerance."""


def certified(
    name: str, method: Method, problem: Problem, guess: ArrayLike | None, tolerance: float
) -> Solution:
    """Solve `problem` by `method` and let the judge say how well."""
    if not isinstance(problem, PROBLEMS):
        raise TypeError(f"a problem is needed, not {type(problem).__name__}")
    start = None if guess is None else _start(guess, problem.size)
    if isinstance(problem, ContactProblem):
        refuse_unknown_blocks(name, problem)
        attempt = method(problem, start, tolerance)
        return judged(name, problem, Answer(attempt.r), attempt, tolerance)
    conversion, seconds, compiling = _converted(problem)
    refuse_unknown_blocks(name, conversion.problem)
    start = None if start is None else frozen(np.ascontiguousarray(conversion.guess(start)))
    tried: tuple[Stage, ...] = ()
    iterations, operations, history = 0, 0.0, []
    for share in TIGHTER:
        attempt = method(conversion.problem, start, share * tolerance)
        seconds, compiling = seconds + attempt.seconds, compiling + attempt.compile_seconds
        history.append(attempt.history + np.array([iterations, 0.0, 0.0]))
        iterations, start = iterations + attempt.iterations, frozen(attempt.r.view())
        tried, operations = tried + attempt.tried, operations + attempt.operations
        whole = Attempt(
            attempt.r, attempt.status, iterations, seconds, compiling, np.concatenate(history),
            attempt.reason, tried, operations,
        )  # fmt: skip
        solution = judged(name, problem, conversion.recover(attempt.r), whole, tolerance)
        if solution.ok or not attempt.status.ok or solution.residuals.error <= tolerance:
            break
    return solution


def _start(guess: ArrayLike, size: int) -> Array:
    """The guess as kernels take it; an array that already is so is not copied."""
    ready = type(guess) is np.ndarray and guess.dtype == np.float64 and guess.flags.c_contiguous
    start = guess.reshape(-1) if ready and guess.size == size else flat("guess", guess, size)  # type: ignore
    finite("guess", start)
    return np.asarray(frozen(start.view()))


def _converted(problem: GlobalProblem | BoxProblem) -> tuple[Conversion[ContactProblem], float, float]:
    with Compilation() as compilation:
        start = time.perf_counter()
        if isinstance(problem, GlobalProblem):
            conversion = reduce_to_contacts(problem)
        else:
            conversion = box_to_contacts(problem)
        seconds = time.perf_counter() - start
    return conversion, seconds - compilation.seconds, compilation.seconds


def judged(name: str, problem: Problem, answer: Answer, attempt: Attempt, tolerance: float) -> Solution:
    """An attempt with the judge's word on it."""
    residuals, u = examine(problem, answer.r, answer.v, answer.lam)
    status, reason = attempt.status, attempt.reason
    if residuals.solved(tolerance):
        status, reason = Status.SOLVED, ""
    elif status.ok:
        status, reason = Status.STALLED, _why_not(residuals, tolerance)
    return Solution(
        problem, answer.r, u, status, residuals, name, tolerance, attempt.iterations,
        attempt.seconds, attempt.compile_seconds, attempt.history, answer.v, answer.lam, reason,
        attempt.tried, attempt.operations,
    )  # fmt: skip


def _why_not(residuals: Residuals, tolerance: float) -> str:
    """Why the judge refuses what the method took for solved."""
    if residuals.error <= tolerance:
        return "impulses outgrow every bound while contacts still close: there seems to be no solution"
    return "the converted problem is solved, but rounding keeps the original above tolerance"


def refuse_unknown_blocks(name: str, problem: ContactProblem) -> None:
    """A `ProblemError` that names the kinds of block the solver does not take, and who does."""
    strangers = [kind for kind in problem.K.census if kind not in entry(name).accepts]
    if strangers:
        others = ", ".join(names(accepting=list(problem.K.census))) or "none"
        raise ProblemError(f"{name} does not take {' or '.join(strangers)} blocks; solvers that do: {others}")
