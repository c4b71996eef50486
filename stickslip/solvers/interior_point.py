"""Interior points on the cones of contact problems, as a solver: which algorithm, which law, which options.

The algorithms are in `cone_point`, on cones split into Lorentz cones for every kind of block; the laws they
solve in `cone_laws`. `algorithm="shift"` has De Saxcé's shift in Newton's
equation with its derivative, smoothed as sqrt(|u_T|² + eps²) - eps with eps falling with the barrier; for
lagged shifts see Acary, Cadoux, Lemaréchal & Malick 2011.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from numpy.typing import ArrayLike

from stickslip.options import iterations_option, option
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.solution import Problem, Solution
from stickslip.solvers.base import ContactSolver
from stickslip.solvers.certify import Attempt, certified_globally
from stickslip.solvers.cone_laws import LAWS, run
from stickslip.solvers.cone_point import ALGORITHMS, RULES, SHIFT
from stickslip.solvers.cone_systems import FACTORS
from stickslip.solvers.registry import Progress

SHIFTABLE = frozenset(("free", "nonnegative", "interval", "coulomb2d", "coulomb3d"))
"""Blocks that the algorithm with the shift linearised takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InteriorPoint(ContactSolver):
    """Interior point on the cones, the shift linearised or the cones split as for rolling friction."""

    name: ClassVar[str] = "ipm"
    max_iterations: int = iterations_option(150, "interior-point steps")
    algorithm: str = option(
        "auto", "shift: the friction's shift linearised, no rolling; the others: on split cones; auto: shift"
        " where it can be, otherwise mehrotra, relaxed nt-f", choices=("auto", SHIFT, *ALGORITHMS),
    )  # fmt: skip
    law: str = option(
        "exact", "on split cones: relaxed; the exact law inside, or by an outer loop; or exact: inside,"
        " then outer where that fails", choices=LAWS,
    )  # fmt: skip
    steps: str = option(
        "equal", "on split cones: equal steps of velocities and impulses, or separate ones",
        choices=("equal", "separate"),
    )  # fmt: skip
    factor: str = option(
        "auto", "on split cones: factor of the Newton matrix; auto: L D L' where it is symmetric, else L U",
        choices=("auto", *FACTORS),
    )  # fmt: skip
    corrections: int = option(
        3, "most centrality corrections of an iteration of nt-qp and nt-f on convex problems; 0: none", low=0
    )
    rule: str = option(
        "fixed", "smoothing of the shift: fixed and tiny, or falling with the barrier or with its root",
        choices=RULES,
    )  # fmt: skip
    smoothing: float = option(
        0.1, "smoothing where it falls, relative to the barrier as a velocity", low=0.0, high=10.0
    )
    restarts: int = option(2, "times that a jammed iterate is moved back inside the cones", low=0)
    polish: int = option(40, "most proximal Newton steps at the end, for the last digits", low=0)

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem`; a guess is not used, because an interior point starts in the interior."""
        if isinstance(problem, GlobalProblem) and self._algorithm(problem) != SHIFT:
            method = partial(run, self, self._algorithm(problem), progress=progress)
            asked = f"algorithm={self.algorithm!r}"
            return certified_globally(
                "ipm", asked, lambda p, _, tol: method(p, tol), problem, guess, self.tolerance
            )
        return ContactSolver.solve(self, problem, guess=guess, progress=progress)

    def attempt(
        self, problem: ContactProblem, guess: Array | None, tolerance: float, progress: Progress | None = None
    ) -> Attempt:
        """Interior-point steps on a contact problem; what was found, not yet certified."""
        return run(self, self._algorithm(problem), problem, tolerance, progress)[0]

    def _algorithm(self, problem: ContactProblem | GlobalProblem) -> str:
        """The algorithm for this problem."""
        strange = sorted(set(problem.K.census) - SHIFTABLE)
        if self.algorithm == "shift" and strange:
            raise ProblemError(
                f"ipm: algorithm='shift' does not take {' or '.join(strange)} blocks; the others do:"
                f" {', '.join(ALGORITHMS)}"
            )
        if self.algorithm != "auto":
            return self.algorithm
        if not strange and self.law == "exact":
            return "shift"
        return "nt-f" if self.law == "relaxed" else "mehrotra"  # L U either way, and more digits unscaled
