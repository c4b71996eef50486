"""Interface of adapters of third-party conic solvers: from a cone program to its answer.

An adapter is one function in `stickslip.solvers.adapters`, which imports its package when called. Its
programs have numbers of order one: scaling, the outer loop on the shift and the judge are implemented
elsewhere.
"""

from typing import Any, NamedTuple, Protocol

from stickslip import extras
from stickslip.extras import MissingPackage
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.registry import entry


class ProgramAnswer(NamedTuple):
    """Result of a conic solver as it reports it; the judge examines it afterwards."""

    x: Array
    """Unknowns of the program, the best known if it failed [unit of x], shape (n,)."""
    y: Array
    """Multipliers of A x + b ∈ C, with P x + c = A'y [J / unit of s], shape (m,)."""
    status: Status
    """SOLVED, MAX_ITERATIONS, STALLED, NOT_FINITE, or INFEASIBLE if reported (also unbounded)."""
    iterations: int
    """Number of iterations, as the solver counts them."""
    message: str
    """Last message of the solver, e.g. "AlmostSolved"."""


class Adapter(Protocol):
    """Call signature of adapters."""

    def __call__(self, program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
        """Solve `program` with `tolerance` on the solver's own residuals."""


def no_second_order(name: str, program: ConeProgram) -> None:
    """Raise a `ProblemError` if a program for a quadratic-programming solver has second-order cones."""
    if program.second_order.size:
        raise ProblemError(
            f"{name} takes linear rows only, and the program has {program.second_order.size} second-order"
            " cones; give facets=8 for the pyramid"
        )


def needed(name: str) -> Any:
    """Return the package of the solver `name`; raise `MissingPackage` with the remedy if it is missing."""
    line = entry(name)
    if not line.installed:
        raise MissingPackage(
            f"{name} needs the package {line.package}, which is not installed; {extras.advice(line.package)}"
        )
    return extras.needed(line.package, name)
