"""Enumeration of all complementary bases: every solution of a small problem, or the proof of none.

Reference for the other methods on problems without friction. `solutions(problem)` returns all of them.
"""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stickslip.compilation.timing import Compilation
from stickslip.options import iterations_option
from stickslip.problem.box import BoxProblem
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.exhaustion import count_bases, exhaust
from stickslip.problem.solution import Status
from stickslip.solvers.base import BoxSolver
from stickslip.solvers.certify import Attempt
from stickslip.solvers.registry import Progress

BASES = 1 << 18
"""Default limit of the number of bases examined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumeration(BoxSolver):
    """Enumeration of all complementary bases: finds a solution, or proves that there is none."""

    name: ClassVar[str] = "enumerate"
    max_iterations: int = iterations_option(BASES, "complementary bases")

    def attempt(
        self, problem: BoxProblem, guess: Array | None, tolerance: float, progress: Progress | None = None
    ) -> Attempt:
        """Examine the bases of a box problem; the result is not yet certified."""
        with Compilation() as compilation:
            start = time.perf_counter()
            result = exhaust(problem, tolerance, self.max_iterations, first=True)
            seconds = time.perf_counter() - start - compilation.seconds
        z, certificate, reason = np.clip(np.zeros(problem.size), problem.lower, problem.upper), None, ""
        if result.solutions:
            z, status = result.solutions[0], Status.SOLVED
        elif result.proves_none:
            status, certificate = Status.INFEASIBLE, Certificate(np.zeros(problem.size), bases=result.total)
        elif result.examined < result.total:
            status = Status.MAX_ITERATIONS
            reason = f"{result.examined} of {result.total} complementary bases examined; raise max_iterations"
        else:
            status = Status.STALLED
            reason = (
                f"rounding leaves {result.undecided} of {result.total} complementary bases undecided,"
                " and the others give no solution"
            )
        return Attempt(
            z, status, result.examined, seconds, compilation.seconds, reason=reason, certificate=certificate
        )


def solutions(problem: BoxProblem, tolerance: float = 1e-10, limit: int = BASES) -> tuple[Array, ...]:
    """Return every solution of a small box problem, one per basis that has any [unit of z], shape (n,) each.

    If a basis has infinitely many, one of them is returned.
    """
    total = count_bases(problem)
    if total > limit:
        raise ProblemError(f"there are {total} complementary bases, more than {limit}; raise limit")
    return exhaust(problem, tolerance, limit).solutions
