"""Proximal-point method around Newton's method on the Alart-Curnier function, with full Newton steps.

Each outer step adds alpha D (x - r) to the velocities. This term makes the Newton systems regular if W is
singular (redundant contacts), and vanishes at the solution. The method is in `kernels/prox_newton.py`. This
module solves its linear systems: small ones inside one compiled call, others by `linalg.front_lu`.
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
from stickslip.solvers.gauss_seidel import NSGS
from stickslip.solvers.newton_systems import proximal_system
from stickslip.solvers.registry import Progress

STATUS = {
    kernel.SOLVED: Status.SOLVED,
    kernel.BUDGET_SPENT: Status.MAX_ITERATIONS,
    kernel.STALLED: Status.STALLED,
    kernel.NOT_FINITE: Status.NOT_FINITE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProximalNewton(ContactSolver):
    """Proximal-point method with full Newton steps on the Alart-Curnier function, for every kind of block."""

    name: ClassVar[str] = "prox"
    max_iterations: int = iterations_option(2000, "Newton steps")
    alpha: float = option(
        1e-3, "weight of the first proximal term, as a share of W_ii", low=0.0, high=1e3, open_low=True
    )
    sweeps: int = option(10, "number of Gauss-Seidel sweeps before the first Newton step", low=0)

    def attempt(
        self, problem: ContactProblem, guess: Array | None, tolerance: float, progress: Progress | None = None
    ) -> Attempt:
        """Make sweeps, then outer steps on a contact problem; the result is not yet certified."""
        r = np.zeros(problem.size)
        if guess is not None:
            cones.project(problem.K.arrays, guess, r)
        swept = Attempt(r, Status.STALLED, 0, 0.0, 0.0)
        if self.sweeps:
            swept = NSGS(max_iterations=self.sweeps).attempt(problem, r, tolerance)
        newton, _ = proximal(problem, swept.r, self.alpha, tolerance, self.max_iterations, progress)
        return newton._replace(
            seconds=swept.seconds + newton.seconds,
            compile_seconds=swept.compile_seconds + newton.compile_seconds,
        )


def proximal(
    problem: ContactProblem, r: Array, alpha: float, tolerance: float, budget: int,
    progress: Progress | None = None, **settings: float,
) -> tuple[Attempt, float]:  # fmt: skip
    """Make outer steps from r until they end; return the best iterate as an attempt, and its error.

    `settings` sets slots of the kernel's control array by their names in lower case.
    """
    with Compilation() as compilation:
        start = time.perf_counter()
        system = proximal_system(problem)
        vectors, control = np.zeros((kernel.VECTORS, problem.size)), np.zeros(kernel.SLOTS)
        history = np.empty((kernel.LINES, 3))
        vectors[kernel.R] = r
        kernel.begin(control, alpha, tolerance, float(budget))
        for name, value in settings.items():
            control[getattr(kernel, name.upper())] = value
        # Small systems: one compiled call. Larger ones: the kernel returns with each linear system to solve.
        if system.lu is None:
            kernel.run_dense(system.at, vectors, control, history)
        while system.lu is not None and system.advance(vectors, control, history):
            if not system.solve():
                control[kernel.SINGULAR] = 1.0
            control[kernel.OPERATIONS] = system.operations
            if progress is not None:
                progress(int(control[kernel.NEWTON]), float(control[kernel.BEST]))
        seconds = time.perf_counter() - start
    status = STATUS.get(float(control[kernel.STATE]), Status.MAX_ITERATIONS)
    reason = "no outer step has halved the residual recently" if status is Status.STALLED else ""
    attempt = Attempt(
        vectors[kernel.KEEP].copy(), status, int(control[kernel.NEWTON]),
        seconds - compilation.seconds, compilation.seconds, history[: int(control[kernel.LOOKS])].copy(),
        reason, operations=float(control[kernel.OPERATIONS]),
    )  # fmt: skip
    return attempt, float(control[kernel.BEST])
