"""Enumeration of all complementary bases: every solution of a small problem, or the proof of none.

The oracle for the other methods on problems without friction. `solutions(problem)` gives all of them.
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
"""Bases examined unless something else is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumeration(BoxSolver):
    """Enumeration of all complementary bases: finds a solution, or proves that there is none."""

    name: ClassVar[str] = "enumerate"
    max_iterations: int = iterations_option(BASES, "complementary bases")

    def attempt(
        self, problem: BoxProblem, guess: Array | None, tolerance: float, progress: Progress | None = None
    ) -> Attempt:
        """Bases of a box problem; what was found, not yet certified."""
        with Compilation() as compilation:
            start = time.perf_counter()
            found = exhaust(problem, tolerance, self.max_iterations, first=True)
            seconds = time.perf_counter() - start - compilation.seconds
        z, certificate, reason = np.clip(np.zeros(problem.size), problem.lower, problem.upper), None, ""
        if found.solutions:
            z, status = found.solutions[0], Status.SOLVED
        elif found.proves_none:
            status, certificate = Status.INFEASIBLE, Certificate(np.zeros(problem.size), bases=found.total)
        elif found.examined < found.total:
            status = Status.MAX_ITERATIONS
            reason = f"{found.examined} of {found.total} complementary bases examined; raise max_iterations"
        else:
            status = Status.STALLED
            reason = (
                f"rounding leaves {found.undecided} of {found.total} complementary bases undecided,"
                " and the others give no solution"
            )
        return Attempt(
            z, status, found.examined, seconds, compilation.seconds, reason=reason, certificate=certificate
        )


def solutions(problem: BoxProblem, tolerance: float = 1e-10, limit: int = BASES) -> tuple[Array, ...]:
    """Every solution of a small box problem, one for each basis that has any [unit of z], shape (n,) each.

    Where a basis holds many, one of them is given.
    """
    total = count_bases(problem)
    if total > limit:
        raise ProblemError(f"there are {total} complementary bases, more than {limit}; raise limit")
    return exhaust(problem, tolerance, limit).solutions
