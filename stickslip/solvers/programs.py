"""What an adapter of somebody else's conic solver is: a cone program in, its answer out.

An adapter is one function in `stickslip.solvers.adapters`, and imports its package when it is called.
It sees numbers of order one: scaling, the outer loop on the shift and the judge are not its business.
"""

from typing import NamedTuple, Protocol

from stickslip.problem.checks import Array
from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status


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


class MissingPackage(ImportError):  # noqa: N818 (a package that is not there is not an error of ours)
    """The package behind a solver cannot be used here; the message says what to install or to license."""
