"""The Newton system in the impulses alone: F(r, W r + u_free) = 0, open contacts eliminated.

Siconos Developer's Notes 2017, 16.1 (u eliminated by its first line): the rows of the blocks that are
not open are A δ_ij + B W_ij. Small systems are solved in compiled code, large ones, in the blocks of W,
by `linalg.front_lu`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.kernels import blocks, newton_systems, prox_newton, schedule
from stickslip.linalg.front_lu import BlockLU
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.solvers.gauss_seidel import HISTORY, NSGS, first_look
from stickslip.solvers.watch import Watch

COMPILED = 120
"""Unknowns of the largest system that is solved in compiled code."""


class ContactSystem:
    """The Newton systems of one contact problem, formed by kernels; those in blocks are solved here."""

    def __init__(self, problem: ContactProblem):
        W, n = problem.W.blocks(problem.K), problem.size
        self.lu = BlockLU(*W.arrays[:3]) if n > COMPILED else None
        """Factor of systems in blocks; None where they are dense."""
        matrix = np.empty((n, n)) if self.lu is None else np.empty(W.data.size)
        self.at: newton_systems.System = newton_systems.prepare(
            problem.K.arrays, W.arrays, problem.u_free, matrix
        )
        """The map, its Jacobians and the system at the last point."""
        self.arrays = plain(self.at)
        """The same, as kernels take it."""
        self.operations = 0.0
        """Multiplications of the factorisations so far."""

    def advance(self, vectors: Array, control: Array, history: Array) -> bool:
        """Whether another system in blocks is to be solved by `solve`; else the proximal steps have come to
        an end."""
        return bool(prox_newton.advance_blocks(self.arrays, vectors, control, history))

    def solve(self) -> bool:
        """The step that was asked for into `at.rhs`; false if the system is singular."""
        dx = self.solve_blocks()
        if dx is not None:
            self.at.rhs[:] = dx
        return dx is not None

    def solve_blocks(self) -> Array | None:
        """The solution of the system that is assembled in blocks; None if it is singular."""
        assert self.lu is not None
        dx = self.lu.solve(self.at.rhs) if self.lu.refactor(self.at.matrix, self.at.state != 0) else None
        self.operations += self.lu.operations
        return dx


def plain(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Named tuples in one another as plain ones."""
    return tuple(plain(part) if isinstance(part, tuple) else part for part in arrays)


class ReducedSystem(ContactSystem):
    """Steps and sweeps of one contact problem; the unknown is r."""

    def __init__(self, problem: ContactProblem, evaluate: Callable[..., float], scale: float):
        K = problem.K
        self.problem = ContactProblem.unchecked(problem.W.blocks(K), problem.u_free, K, problem.level)
        super().__init__(self.problem)
        rho = self.at.rho
        self.at = self.at._replace(rho=scale * rho, weight=1.0 / rho)
        self.arrays = plain(self.at)
        self._evaluate, self._u = evaluate, np.empty(K.size)
        self._measured: Array | None = None

    def measure(self, r: Array) -> float:
        """|F|² at r in the norm of 1/rho [J], and all that `step` needs."""
        blocks.multiply(self.at.W, r, self.at.u_free, self._u)
        self._measured = r
        return self._evaluate(self.arrays, r, self._u)

    def step(self, r: Array, alpha: float) -> Array | None:
        """Newton's step from r with W + alpha diag(weight); None if the matrix is singular."""
        if self._measured is not r:
            self.measure(r)
        if self.lu is not None:
            newton_systems.step_blocks(self.arrays, alpha, r)
            return self.solve_blocks()
        dx = np.empty(r.size)
        m = int(newton_systems.step_dense(self.arrays, alpha, r, dx))
        self.operations += (m if m >= 0 else -1 - m) ** 3 / 3.0
        return dx if m >= 0 else None

    def sweep(self, r: Array, count: int, tolerance: float) -> Array:
        """What at most `count` Gauss-Seidel sweeps make of r."""
        return sweep_on(self.problem, r, count, tolerance)

    def look(self, watch: Watch, r: Array, iterations: int) -> float:
        """The judge's error of r."""
        return watch.look(r, iterations)

    def best(self, watch: Watch) -> Array:
        """The best impulses so far."""
        return watch.best.copy()


def sweep_on(problem: ContactProblem, r: Array, count: int, tolerance: float) -> Array:
    """What at most `count` Gauss-Seidel sweeps make of r; they end when the judge's measures are met."""
    run, r = NSGS().prepare(problem), r.copy()
    best, control, history = r.copy(), np.zeros(schedule.SLOTS), np.empty((HISTORY, 3))
    control[schedule.STATE], control[schedule.NEXT] = schedule.NEW, first_look(problem, r)
    run(tolerance, float(count), (r, best, control, history))
    return r
