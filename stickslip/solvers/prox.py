"""Proximal point around Newton's method on the Alart-Curnier function, with full Newton steps.

Each outer step adds alpha D (x - r) to the velocities, which makes the Newton systems regular where W
is singular (more contacts than the bodies can tell apart), and vanishes at the solution. The method
is in `kernels/prox_newton.py`; here its linear systems are solved: in one compiled call while they
are small, by `linalg.front_lu` otherwise.
"""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.compilation.timing import Compilation
from stickslip.kernels import cones, gauss_seidel
from stickslip.kernels import prox_newton as kernel
from stickslip.linalg.front_lu import BlockLU
from stickslip.options import Options, iterations_option, option, tolerance_option
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.problem.residuals import metric
from stickslip.problem.solution import Problem, Solution, Status
from stickslip.solvers.certify import Attempt, certified
from stickslip.solvers.gauss_seidel import GaussSeidel
from stickslip.solvers.registry import Progress

COMPILED = 120
"""Unknowns up to which everything is done in one compiled call."""
STATUS = {
    kernel.SOLVED: Status.SOLVED,
    kernel.BUDGET_SPENT: Status.MAX_ITERATIONS,
    kernel.STALLED: Status.STALLED,
    kernel.NOT_FINITE: Status.NOT_FINITE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proximal(Options):
    """Proximal point around full Newton steps on the Alart-Curnier function, for every kind of block."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(2000, "Newton steps")
    alpha: float = option(
        1e-3, "weight of the first proximal term, as a share of W_ii", low=0.0, high=1e3, open_low=True
    )
    sweeps: int = option(10, "Gauss-Seidel sweeps before the first Newton step", low=0)

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none); any problem, through its contact form."""
        return certified("prox", partial(self._proximal, progress), problem, guess, self.tolerance)

    def _proximal(
        self, progress: Progress | None, problem: ContactProblem, guess: Array | None, tolerance: float
    ) -> Attempt:
        with Compilation() as compilation:
            start = time.perf_counter()
            r = np.zeros(problem.size)
            if guess is not None:
                cones.project(problem.K.arrays, guess, r)
            if self.sweeps:
                r = swept(problem, r, self.sweeps, tolerance)
            newton = ProximalNewton(problem, r, self.alpha, tolerance, self.max_iterations)
            while newton.advance():
                if progress is not None:
                    progress(newton.steps, newton.error)
            seconds = time.perf_counter() - start
        reason = "no outer step halved the residual for long" if newton.status is Status.STALLED else ""
        return Attempt(
            newton.best, newton.status, newton.steps, seconds - compilation.seconds, compilation.seconds,
            newton.history, reason, operations=newton.operations,
        )  # fmt: skip


class ProximalNewton:
    """One solve by the kernel, step by step: set it up, `advance` until false, read the best iterate."""

    def __init__(
        self, problem: ContactProblem, r: Array, alpha: float, tolerance: float, budget: int,
        **settings: float,
    ):  # fmt: skip
        """`settings` are slots of the kernel's control by their names in small letters."""
        K, W = problem.K, problem.W.blocks(problem.K)
        n, nb, d = K.size, len(K), int(np.diff(K.offset).max(initial=1))
        scales = metric(K, W.diagonal())
        start = np.concatenate([[0], np.cumsum(np.diff(K.offset) ** 2)]).astype(np.int64)
        local, augment, weight = np.zeros(start[-1]), np.empty(n), np.empty(n)
        gauss_seidel.own_blocks(W.arrays, K.offset, local, start, weight)
        kernel.augmentation(K.arrays, local, start, scales, augment)
        kernel.weights(K.offset, scales, weight)
        self._lu = BlockLU(*W.arrays[:3]) if n > COMPILED else None
        self._vectors, self._rhs = np.zeros((kernel.VECTORS, n)), np.zeros(n + 1)
        self._values, indices = np.empty(W.data.size), np.empty(W.data.size, np.int32)
        self._states = np.zeros(nb, np.int64)
        self.control, self._history = np.zeros(kernel.SLOTS), np.empty((kernel.LINES, 3))
        self._arguments: tuple[Any, ...] = (
            K.arrays, W.arrays, scales, problem.u_free, augment, weight, np.arange(nb), self._vectors,
            np.zeros((nb, d, d)), np.zeros((nb, d, d)), self._states, np.zeros(nb, np.int64),
            np.zeros(n + 1, np.int32), indices, self._values, self._rhs, np.zeros(d),
            self.control, self._history,
        )  # fmt: skip
        self._size = n
        self.restart(r, alpha, tolerance, budget, **settings)

    def restart(self, r: Array, alpha: float, tolerance: float, budget: int, **settings: float) -> None:
        """Begin anew from r; the preparations stay."""
        self._vectors[kernel.R] = r
        kernel.begin(self.control, alpha, tolerance, float(budget))
        self.control[kernel.IN_BLOCKS] = float(self._lu is not None)
        for name, value in settings.items():
            self.control[getattr(kernel, name.upper())] = value

    def advance(self) -> bool:
        """One Newton step, or all of them where the systems are small; false at the end."""
        if self._lu is None:
            kernel.run_dense(*self._arguments, np.empty((self._size, self._size)))
            return False
        if not kernel.advance(*self._arguments):
            return False
        dx = None
        if self._lu.refactor(self._values, self._states != 0):
            dx = self._lu.solve(self._rhs[: self._size])
        self.control[kernel.OPERATIONS] += self._lu.operations
        if dx is None:
            self.control[kernel.SINGULAR] = 1.0
        else:
            self._rhs[: self._size] = dx
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


def swept(problem: ContactProblem, r: Array, sweeps: int, tolerance: float) -> Array:
    """r after so many Gauss-Seidel sweeps, fewer if they solve the problem [N s], shape (n,)."""
    return GaussSeidel(max_iterations=sweeps).attempt(problem, r, tolerance).r
