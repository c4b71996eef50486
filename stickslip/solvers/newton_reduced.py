"""The Newton system in the impulses alone: F(r, W r + u_free) = 0, open contacts eliminated.

Siconos Developer's Notes 2017, 16.1 (u eliminated by its first line): the rows of the blocks that are
not open are A δ_ij + B W_ij. Small systems are solved in compiled code, large ones, in the blocks of W,
by `linalg.front_lu`.
"""

from collections.abc import Callable

import numpy as np

from stickslip.kernels import blocks, gauss_seidel, newton_systems, prox_newton, schedule
from stickslip.linalg.front_lu import BlockLU
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem
from stickslip.problem.residuals import metric
from stickslip.problem.sets import ProductSet
from stickslip.solvers.gauss_seidel import HISTORY, GaussSeidel, first_look
from stickslip.solvers.watch import Watch

DENSE = 120
"""Largest system that is solved in compiled code."""


class Jacobians:
    """F with A, B and the states of all blocks, for one K and rho."""

    def __init__(self, K: ProductSet, evaluate: Callable[..., float], rho: Array):
        self.K, self._evaluate, self.rho = K, evaluate, rho
        nb, d = len(K), int(np.diff(K.offset).max(initial=1))
        self.F = np.zeros(K.size)
        """The map at the last point [N s], shape (n,)."""
        self.A, self.B = np.zeros((nb, d, d)), np.zeros((nb, d, d))
        self.state = np.zeros(nb, np.int64)

    def measure(self, r: Array, u: Array) -> float:
        """Fill everything at (r, u); returns |F|² in the norm of 1/rho [J]."""
        return float(self._evaluate(self.K.arrays, self.rho, r, u, self.F, self.A, self.B, self.state))


class ReducedSystem:
    """Steps and sweeps of one contact problem; the unknown is r."""

    def __init__(self, problem: ContactProblem, evaluate: Callable[..., float], scale: float):
        K = problem.K
        self.problem = ContactProblem.unchecked(problem.W.blocks(K), problem.u_free, K, problem.level)
        self._matrix = self.problem.W.blocks(K).arrays
        rho = augmentation_of(K, self._matrix)
        self.weight = 1.0 / rho
        """Unit of the regularisation, component by component [1/kg], shape (n,)."""
        self.jacobians = Jacobians(K, evaluate, scale * rho)
        nnz = self._matrix.data.shape[0]
        self._lu = BlockLU(*self._matrix[:3]) if K.size > DENSE else None
        self._place, self._order = np.zeros(len(K), np.int64), np.arange(len(K))
        self._indptr, self._indices = np.zeros(K.size + 1, np.int32), np.empty(nnz, np.int32)
        self._entries, self._rhs = np.empty(nnz), np.empty(K.size)
        self._work = np.empty(self.jacobians.A.shape[1])
        self._u = np.empty(K.size)
        self._measured: Array | None = None
        self.operations = 0.0
        """Multiplications of the factorisations so far."""

    def measure(self, r: Array) -> float:
        """|F|² at r [J], and all that `step` needs."""
        blocks.multiply(self._matrix, r, self.problem.u_free, self._u)
        self._measured = r
        return self.jacobians.measure(r, self._u)

    def step(self, r: Array, alpha: float) -> Array | None:
        """Newton's step from r with W + alpha diag(weight); None if the matrix is singular."""
        if self._measured is not r:
            self.measure(r)
        return self._dense_step(r, alpha) if self._lu is None else self._block_step(self._lu, r, alpha)

    def _block_step(self, lu: BlockLU, r: Array, alpha: float) -> Array | None:
        J = self.jacobians
        newton_systems.assemble_blocks(
            self._matrix, self.weight, alpha, r, J.F, J.A, J.B, J.state, self._place, self._entries, self._rhs
        )
        dx = lu.solve(self._rhs) if lu.refactor(self._entries, J.state != 0) else None
        self.operations += lu.operations
        return dx

    def _dense_step(self, r: Array, alpha: float) -> Array | None:
        J = self.jacobians
        m = int(
            prox_newton.assemble(
                self._matrix, self._order, self.weight, alpha, r, J.F, J.A, J.B, J.state, self._place,
                self._indptr, self._indices, self._entries, self._rhs, self._work,
            )
        )  # fmt: skip
        if not (np.isfinite(self._entries[: self._indptr[m]]).all() and np.isfinite(self._rhs[:m]).all()):
            return None
        self.operations += m**3 / 3.0
        matrix, work = (self._indptr, self._indices, self._entries), np.empty((m, m))
        if not newton_systems.solve_dense(m, *matrix, self._rhs, work):
            return None
        dx = np.empty(r.size)
        newton_systems.spread(self.problem.K.offset, self._place, self._rhs, r, dx)
        return dx

    def sweep(self, r: Array, count: int, tolerance: float) -> Array:
        """What at most `count` Gauss-Seidel sweeps make of r."""
        return sweep_on(self.problem, r, count, tolerance)

    def look(self, watch: Watch, r: Array, iterations: int) -> float:
        """The judge's error of r."""
        return watch.look(r, iterations)

    def best(self, watch: Watch) -> Array:
        """The best impulses so far."""
        return watch.best.copy()


def augmentation_of(K: ProductSet, W: blocks.BlockW) -> Array:
    """rho of the maps for W in blocks [kg], shape (n,)."""
    sizes = np.diff(K.offset)
    start = np.concatenate([[0], np.cumsum(sizes * sizes)]).astype(np.int64)
    local, diagonal = np.zeros(start[-1]), np.empty(K.size)
    gauss_seidel.own_blocks(W, K.offset, local, start, diagonal)
    return augmentation(K, local, start, diagonal)


def augmentation(K: ProductSet, local: Array, start: IntArray, diagonal: Array) -> Array:
    """rho of the maps from W_ii, row by row at `start` of `local`, and the diagonal of W [kg], shape (n,)."""
    out = np.empty(K.size)
    prox_newton.augmentation(K.arrays, local, start, metric(K, diagonal), out)
    return out


def sweep_on(problem: ContactProblem, r: Array, count: int, tolerance: float) -> Array:
    """What at most `count` Gauss-Seidel sweeps make of r; they end when the judge's measures are met."""
    run, r = GaussSeidel().prepare(problem), r.copy()
    best, control, history = r.copy(), np.zeros(schedule.SLOTS), np.empty((HISTORY, 3))
    control[schedule.STATE], control[schedule.NEXT] = schedule.NEW, first_look(problem, r)
    run(tolerance, float(count), r, best, control, history)
    return r
