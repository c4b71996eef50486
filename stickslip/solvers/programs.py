"""What an adapter of somebody else's conic solver is: a cone program in, its answer out.

An adapter is one function in `stickslip.solvers.adapters`, and imports its package when it is called.
It sees numbers of order one: scaling, the outer loop on the shift and the judge are not its business.
"""

from typing import Any, NamedTuple, Protocol

from stickslip import extras
from stickslip.extras import MissingPackage
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.registry import entry


class ProgramAnswer(NamedTuple):
    """What a conic solver found, in its own words; nothing of it is believed before it is judged."""

    x: Array
    """Unknowns of the program, the best known if it failed [unit of x], shape (n,)."""
    y: Array
    """Multipliers of A x + b ∈ C, with P x + c = A'y [J / unit of s], shape (m,)."""
    status: Status
    """SOLVED, MAX_ITERATIONS, STALLED, NOT_FINITE, or INFEASIBLE where it says so (unbounded included)."""
    iterations: int
    """Its iterations, counted its own way."""
    message: str
    """Its own last word, e.g. "AlmostSolved"."""


class Adapter(Protocol):
    """How every adapter is called."""

    def __call__(self, program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
        """Solve `program`, asked for `tolerance` on its own residuals."""


def no_second_order(name: str, program: ConeProgram) -> None:
    """A `ProblemError` where a solver of quadratic programs is given a second-order cone."""
    if program.second_order.size:
        raise ProblemError(
            f"{name} takes linear rows only, and the program has {program.second_order.size} second-order"
            " cones; give facets=8 for the pyramid"
        )


def needed(name: str) -> Any:
    """The package of the solver `name`; `MissingPackage` with what to install, where it is not there."""
    line = entry(name)
    if not line.installed:
        raise MissingPackage(
            f"{name} needs the package {line.package}, which is not installed; {extras.advice(line.package)}"
        )
    return extras.needed(line.package, name)
