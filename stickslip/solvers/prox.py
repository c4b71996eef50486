"""Proximal point around Newton's method on the Alart-Curnier function, with full Newton steps.

Each outer step adds alpha D (x - r) to the velocities, which makes the Newton systems regular where W
is singular (more contacts than the bodies can tell apart), and vanishes at the solution. The method
is in `kernels/prox_newton.py`; here its linear systems are solved: in one compiled call while they
are small, by `linalg.front_lu` otherwise.
"""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stickslip.compilation.timing import Compilation
from stickslip.kernels import cones
from stickslip.kernels import prox_newton as kernel
from stickslip.options import iterations_option, option
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.problem.solution import Status
from stickslip.solvers.base import ContactSolver
from stickslip.solvers.certify import Attempt
from stickslip.solvers.gauss_seidel import GaussSeidel
from stickslip.solvers.newton_reduced import ContactSystem
from stickslip.solvers.registry import Progress

STATUS = {
    kernel.SOLVED: Status.SOLVED,
    kernel.BUDGET_SPENT: Status.MAX_ITERATIONS,
    kernel.STALLED: Status.STALLED,
    kernel.NOT_FINITE: Status.NOT_FINITE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proximal(ContactSolver):
    """Proximal point around full Newton steps on the Alart-Curnier function, for every kind of block."""

    name: ClassVar[str] = "prox"
    max_iterations: int = iterations_option(2000, "Newton steps")
    alpha: float = option(
        1e-3, "weight of the first proximal term, as a share of W_ii", low=0.0, high=1e3, open_low=True
    )
    sweeps: int = option(10, "Gauss-Seidel sweeps before the first Newton step", low=0)

    def attempt(
        self, problem: ContactProblem, guess: Array | None, tolerance: float, progress: Progress | None = None
    ) -> Attempt:
        """Sweeps, then outer steps on a contact problem; what was found, not yet certified."""
        r = np.zeros(problem.size)
        if guess is not None:
            cones.project(problem.K.arrays, guess, r)
        swept = Attempt(r, Status.STALLED, 0, 0.0, 0.0)
        if self.sweeps:
            swept = GaussSeidel(max_iterations=self.sweeps).attempt(problem, r, tolerance)
        found, _ = proximal(problem, swept.r, self.alpha, tolerance, self.max_iterations, progress)
        return found._replace(
            seconds=swept.seconds + found.seconds,
            compile_seconds=swept.compile_seconds + found.compile_seconds,
        )


def proximal(
    problem: ContactProblem, r: Array, alpha: float, tolerance: float, budget: int,
    progress: Progress | None = None, **settings: float,
) -> tuple[Attempt, float]:  # fmt: skip
    """Outer steps from r to their end, as `ProximalNewton` takes them: the best of them, and its error."""
    with Compilation() as compilation:
        start = time.perf_counter()
        newton = ProximalNewton(problem, r, alpha, tolerance, budget, **settings).run(progress)
        seconds = time.perf_counter() - start
    reason = "no outer step halved the residual for long" if newton.status is Status.STALLED else ""
    found = Attempt(
        newton.best, newton.status, newton.steps, seconds - compilation.seconds, compilation.seconds,
        newton.history, reason, operations=newton.operations,
    )  # fmt: skip
    return found, newton.error


class ProximalNewton:
    """One solve by the kernel, step by step: set it up, `advance` until false, read the best iterate."""

    def __init__(
        self, problem: ContactProblem, r: Array, alpha: float, tolerance: float, budget: int,
        **settings: float,
    ):  # fmt: skip
        """`settings` are slots of the kernel's control by their names in small letters."""
        self._system = ContactSystem(problem)
        self._vectors = np.zeros((kernel.VECTORS, problem.size))
        self.control, self._history = np.zeros(kernel.SLOTS), np.empty((kernel.LINES, 3))
        self._vectors[kernel.R] = r
        kernel.begin(self.control, alpha, tolerance, float(budget))
        for name, value in settings.items():
            self.control[getattr(kernel, name.upper())] = value

    def run(self, progress: Progress | None = None) -> "ProximalNewton":
        """Advance to the end, telling `progress`; itself."""
        while self.advance():
            if progress is not None:
                progress(self.steps, self.error)
        return self

    def advance(self) -> bool:
        """One Newton step, or all of them where the systems are small; false at the end."""
        system, arguments = self._system, (self._vectors, self.control, self._history)
        if system.lu is None:
            kernel.run_dense(system.at, *arguments)
            return False
        if not kernel.advance_blocks(system.arrays, *arguments):
            return False
        dx = system.solve_blocks()
        self.control[kernel.OPERATIONS] = system.operations
        if dx is None:
            self.control[kernel.SINGULAR] = 1.0
        else:
            system.at.rhs[:] = dx
        return True

    @property
    def best(self) -> Array:
        """Best impulses by the judge's measures [N s], shape (n,)."""
        return self._vectors[kernel.KEEP].copy()

    @property
    def error(self) -> float:
        """Error of `best` [-]."""
        return float(self.control[kernel.BEST])

    @property
    def steps(self) -> int:
        """Newton steps made."""
        return int(self.control[kernel.NEWTON])

    @property
    def operations(self) -> float:
        """Multiplications of the factorisations."""
        return float(self.control[kernel.OPERATIONS])

    @property
    def status(self) -> Status:
        """Why it ended."""
        return STATUS.get(float(self.control[kernel.STATE]), Status.MAX_ITERATIONS)

    @property
    def history(self) -> Array:
        """Newton step, natural, natural_scaled after each outer step [-], shape (checks, 3)."""
        return self._history[: int(self.control[kernel.LOOKS])].copy()
