"""Newton systems of a global problem in its own unknowns; W is never formed.

Siconos Developer's Notes 2017, 16.2, with bilateral constraints G' v + g_bias = 0 and their multipliers lam.
The unknowns are (v, u, r, lam), (16.17)-(16.21), or with u = H' v + u_bias eliminated
(v, r, lam), (16.23)-(16.25), where the chain rule gives dF/dv = B H' (B on the left).
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse import linalg as sparse_linalg

from stickslip.kernels import newton_systems
from stickslip.kernels.blocks import BlockW
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer, Conversion, reduce_to_contacts
from stickslip.problem.operator import block_diagonal
from stickslip.problem.residuals import delassus_diagonal
from stickslip.problem.sets import ProductSet
from stickslip.solvers.newton_systems import plain, sweep_on
from stickslip.solvers.watch import Watch


class GlobalSystem:
    """Steps and sweeps of one global problem; the unknown x stacks v, u (on request), r and lam."""

    def __init__(self, problem: GlobalProblem, evaluate: Callable[..., float], scale: float, with_u: bool):
        K = problem.K
        self.problem, self.with_u = problem, with_u
        self.M, self.H, self.G = problem.M.sparse, problem.H_sparse(), problem.G_sparse()
        nothing, W = np.zeros((0, 0)), _diagonal_blocks(K, delassus_diagonal(problem))
        system: newton_systems.System = newton_systems.prepare(K.arrays, W, problem.u_bias, nothing)
        self.at, self._evaluate = system._replace(rho=scale * system.rho, weight=1.0 / system.rho), evaluate
        """The map and its Jacobians at the last point; `weight` scales the regularisation [1/kg]."""
        self._arrays = plain(self.at)
        mass = self.M.diagonal()
        joint = np.asarray(self.G.multiply(self.G).T @ (1.0 / mass)).reshape(-1)
        self.joint_weight = np.where(joint > 0.0, joint, 1.0)
        """Scale of the regularisation of each bilateral row, about G' M^-1 G [1/kg], shape (p,)."""
        self._scales = 1.0 / mass, system.rho, 1.0 / self.joint_weight
        nv, n, p = problem.M.size, problem.size, problem.g_bias.size
        sizes = (nv, n, n, p) if with_u else (nv, n, p)
        self._ends = np.cumsum(sizes)
        self._residual: tuple[Array, ...] = ()
        self._measured: Array | None = None
        self.operations = 0.0
        """Approximate number of multiplications of the factorisations."""

    def start(self, guess: Array | None) -> Array:
        """Return x with r from the guess, lam = 0 and M v = f + H r."""
        n, p = self.problem.size, self.problem.g_bias.size
        r, lam = np.zeros(n) if guess is None else guess, np.zeros(p)
        return self._joined(self.problem.M.solve(self.problem.f + self.problem.pushed(r, lam)), r, lam)

    def answer(self, x: Array) -> Answer:
        """Return r, v and lam of x."""
        v, _, r, lam = self._parts(x)
        return Answer(r.copy(), v.copy(), lam.copy() if self.problem.G is not None else None)

    def residual(self, x: Array) -> Array:
        """Return the residuals of all equations at x, in the order of the unknowns, shape (x.size,)."""
        self.measure(x)
        return np.concatenate(self._residual)

    def measure(self, x: Array) -> float:
        """Return |F|² at x [J]: momenta, velocities and impulses in the norms of mass and rho."""
        v, u, r, lam = self._parts(x)
        from_v = self.H.T @ v + self.problem.u_bias
        u_law = np.ascontiguousarray(u) if self.with_u else from_v
        law = self._evaluate(self._arrays, np.ascontiguousarray(r), u_law)
        momentum = -(self.M @ v) + self.H @ r + self.G @ lam + self.problem.f
        joint = self.G.T @ v + self.problem.g_bias
        by_mass, by_rho, by_joint = self._scales
        total = law + float(by_mass @ momentum**2) + float(by_joint @ joint**2)
        self._measured = x
        if not self.with_u:
            self._residual = momentum, self.at.F, joint
            return total
        self._residual = momentum, from_v - u, self.at.F, joint
        return total + float(by_rho @ (from_v - u) ** 2)

    def jacobian(self, x: Array, alpha: float) -> sp.csr_array:
        """Return the matrix (16.21) or (16.25) at x; alpha regularises the impulses and the multipliers."""
        if self._measured is not x:
            self.measure(x)
        A, B = self._blocks(self.at.A), self._blocks(self.at.B)
        if alpha > 0.0:
            A = A + B @ sp.diags_array(alpha * self.at.weight)
        hold = sp.diags_array(-alpha * self.joint_weight) if self.joint_weight.size else None
        G, Gt = (self.G, self.G.T) if self.joint_weight.size else (None, None)
        rows = [[-self.M, self.H, G], [B @ self.H.T, A, None], [Gt, None, hold]]
        if self.with_u:
            rows = [
                [-self.M, None, self.H, G],
                [self.H.T, -sp.eye_array(self.problem.size), None, None],
                [None, B, A, None],
                [Gt, None, None, hold],
            ]
        if not self.joint_weight.size:
            rows = [row[:-1] for row in rows[:-1]]
        return sp.block_array(rows, format="csr")

    def step(self, x: Array, alpha: float) -> Array | None:
        """Return Newton's step from x; None if the matrix is singular."""
        matrix, rhs = sp.csc_array(self.jacobian(x, alpha)), -np.concatenate(self._residual)
        if not (np.isfinite(matrix.data).all() and np.isfinite(rhs).all()):
            return None
        try:
            factors = sparse_linalg.splu(matrix)
        except RuntimeError:  # exactly singular
            return None
        self.operations += float(factors.nnz) ** 2 / (2.0 * rhs.size)
        dx = factors.solve(rhs)
        return dx if np.isfinite(dx).all() else None

    def sweep(self, x: Array, count: int, tolerance: float) -> Array:
        """Make at most `count` Gauss-Seidel sweeps on the contact form of the problem from x; return x."""
        r = self._parts(x)[2]
        z = np.ascontiguousarray(self._contacts.guess(r))
        answer = self._contacts.recover(sweep_on(self._contacts.problem, z, count, tolerance))
        assert answer.v is not None
        return self._joined(answer.v, answer.r, np.zeros(0) if answer.lam is None else answer.lam)

    def look(self, watch: Watch, x: Array, iterations: int) -> float:
        """Have the judge examine v, r and lam; return the error."""
        v, _, r, lam = self._parts(x)
        return watch.look(r, iterations, v, lam)

    def best(self, watch: Watch) -> Array:
        """Return the unknowns of the best iterate."""
        v, lam = watch.best_v, watch.best_lam
        if v is None or lam is None:  # no iterate was judged, or none was finite
            return self.start(watch.best)
        return self._joined(v, watch.best, lam)

    @cached_property
    def _contacts(self) -> Conversion[ContactProblem]:
        return reduce_to_contacts(self.problem)

    def _parts(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return v, u, r, lam as views of x; u is empty if it is not an unknown."""
        parts = np.split(x, self._ends[:-1])
        if self.with_u:
            return parts[0], parts[1], parts[2], parts[3]
        return parts[0], parts[0][:0], parts[1], parts[2]

    def _joined(self, v: Array, r: Array, lam: Array) -> Array:
        u = self.H.T @ v + self.problem.u_bias
        return np.concatenate([v, u, r, lam] if self.with_u else [v, r, lam])

    def _blocks(self, values: Array) -> sp.csr_array:
        """Return A or B as a block-diagonal matrix, shape (n, n)."""
        offset = self.problem.K.offset
        return block_diagonal(offset, offset, values)


def _diagonal_blocks(K: ProductSet, diagonal: Array) -> BlockW:
    """Return a W of diagonal blocks without coupling, which is sufficient to choose rho."""
    sizes, every = np.diff(K.offset), np.arange(len(K) + 1)
    start = np.concatenate([[0], np.cumsum(sizes * sizes)]).astype(np.int64)
    data = np.zeros(start[-1])
    component = np.arange(K.size) - np.repeat(K.offset[:-1], sizes)
    data[np.repeat(start[:-1], sizes) + component * (np.repeat(sizes, sizes) + 1)] = diagonal
    return BlockW(K.offset, every, every[:-1], start, data)
