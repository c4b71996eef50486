"""Impulses with the same effect on the bodies: A r = p, for the projection onto {w in C : B w = b}.

A is H (with G) of a GlobalProblem, the root J' of W = J J' of a ContactProblem with a symmetric W, otherwise
W itself. Rows of B are divided by their norms, so that the accuracy does not depend on masses and units.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.linalg import lapack

from stickslip.kernels import blocks, cones
from stickslip.kernels import impulses as kernels
from stickslip.linalg.bodies import body_pattern
from stickslip.linalg.factor import CholeskyFactor
from stickslip.linalg.symbolic import analyse
from stickslip.problem.checks import Array, IntArray, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.operator import BodyDelassus, block_diagonal
from stickslip.problem.sets import ProductSet, blocks_of, spans

DENSE = 120
"""Number of rows of B up to which a projection is one compiled call with a dense matrix."""
ROOTED = 400
"""Number of components of a contact problem up to which W is factored as J J'."""
RANK = 1e-13
"""Relative size of pivots of W that are rounding [-]."""
ACCURACY = 1e-15
"""Relative |B w - b| at which a projection has converged [-]; rounding mostly ends it earlier."""
STEPS = 100
"""Largest number of Newton steps of a projection."""
NULL = 1e-9
"""Relative size of singular values of B that count as zero [-]."""
LEAST_NULL = 1e-10
"""Regularisation of B B' for self-stresses [-]: singular values below its root count as zero."""
REFINEMENTS = 4
"""Number of corrections of a self-stress; each multiplies its error by regularisation / singular value²."""
SAME = 1e-6
"""Relative size of a self-stress below which a block does not take part in it [-]."""
DIRECTIONS = 3
"""Number of random directions for self-stresses: almost surely one reveals all blocks."""


class Balance(Protocol):
    """Interface: the matrix B on one product set C of faces."""

    def nearest(self, centre: Array, w: Array) -> tuple[Array, float]:
        """Return the element x of {x in C : B x = B w} nearest to `centre`, and the relative |B (x - w)|.

        centre, w in C, and x have shape (f,).
        """

    def self_stress(self, w: Array, accuracy: float) -> Array:
        """Return the part of w in the null space of B, known to `accuracy`, without bounds; both (f, k)."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A' of a problem in its storage: rows over pairs of bodies, a dense array or a SciPy matrix."""

    offset: IntArray
    """First component of each block, and the total [-], shape (nb + 1,)."""
    count: int
    """Number of rows of A."""
    bodies: IntArray | None
    """First and second body of each block, -1 for a fixed side [-], shape (nb, 2); None without bodies."""
    matrix: Any
    """Rows over pairs of bodies, shape (n, 2, k), or A', shape (n, m)."""

    @classmethod
    def of(cls, problem: ContactProblem | GlobalProblem) -> "Rows":
        """Return A of a problem; bilateral multipliers follow the impulses."""
        if isinstance(problem, ContactProblem):
            return cls._local(problem)
        offset, M = problem.K.offset, problem.M.size
        if isinstance(problem.H, ContactBlocks) and problem.is_matrix_free and problem.G is None:
            return cls(offset, M, problem.H.bodies, problem.H.rows)
        p = problem.g_bias.size
        offset = frozen(np.concatenate([offset, offset[-1] + np.arange(1, p + 1)]))
        A = sp.hstack([problem.H_sparse(), problem.G_sparse()]) if p else problem.H_sparse()
        return cls(offset, M, None, sp.csr_array(A.T))

    @classmethod
    def _local(cls, problem: ContactProblem) -> "Rows":
        W, offset, n = problem.W, problem.K.offset, problem.size
        if isinstance(W, BodyDelassus):
            return cls(offset, W.count * W.rows.shape[2], W.bodies, W.rows)
        if n > ROOTED:
            return cls(offset, n, None, sp.csr_array(W.blocks(problem.K).sparse().T))
        matrix = W.dense()
        root = _root(matrix)
        return cls(offset, root.shape[1], None, root)

    def balance(self, K: ProductSet, basis: Array, length: Array) -> Balance:
        """Return B = A diag(length) E for the faces K with bases E."""
        if self.bodies is not None:
            n, _, k = self.matrix.shape
            rows = np.empty((K.size, 2 * k))
            args = self.offset, K.offset, basis, self.matrix.reshape(n, 2 * k), length, rows
            kernels.face_rows(*args)
            if self.count > DENSE:
                return _Bodies(K, self.bodies, rows.reshape(-1, 2, k), self.count // k)
            return _Small.over_bodies(K, self.bodies, rows.reshape(-1, 2, k), self.count)
        if self.count > DENSE:
            E = block_diagonal(self.offset, K.offset, basis)
            return _Sparse(K, sp.csr_array(E.T @ sp.diags_array(length) @ sp.csr_array(self.matrix)))
        A = self.matrix.toarray() if sp.issparse(self.matrix) else self.matrix
        rows = np.empty((K.size, self.count))
        kernels.face_rows(self.offset, K.offset, basis, frozen(np.ascontiguousarray(A)), length, rows)
        return _Small.dense(K, rows)


def _root(W: Array) -> Array:
    """Return J with W = J J' if W is symmetric positive semidefinite, otherwise W', shape (n, m)."""
    diagonal = np.diagonal(W)
    size = float(np.abs(W).max(initial=0.0))
    if not size or np.abs(W - W.T).max() > 1e-14 * size or diagonal.min() < 0.0:
        return np.array(W.T)
    unit = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    factor, pivots, rank, _ = lapack.dpstrf(W / unit / unit[:, None], tol=RANK, lower=1)
    factor = np.tril(factor)[:, :rank]
    J = np.empty_like(factor)
    J[pivots - 1] = factor
    J *= unit[:, None]
    return J if np.abs(J @ J.T - W).max() <= 1e-12 * size else np.array(W.T)


def _unit_rows(square: Array) -> Array:
    """Return 1 / norm of the rows of B from their squared norms; 0 for zero rows."""
    return np.where(square > 0.0, 1.0 / np.sqrt(np.where(square > 0.0, square, 1.0)), 0.0)


@dataclass(frozen=True, eq=False)
class _Small:
    """B stored by the rows that each block touches, for compiled dense projections."""

    K: ProductSet
    B: kernels.Rows
    count: int

    @classmethod
    def over_bodies(cls, K: ProductSet, bodies: IntArray, rows: Array, count: int) -> "_Small":
        k = rows.shape[2]
        moving = bodies >= 0
        row_start = np.concatenate([[0], np.cumsum(k * moving.sum(axis=1))])
        row = (bodies[moving][:, None] * k + np.arange(k)).reshape(-1)
        owner = K.owner
        data = rows[moving[owner]].reshape(-1)
        column = (bodies[owner][moving[owner]][:, None] * k + np.arange(k)).reshape(-1)
        return cls._scaled(K, row_start, row, data, column, count)

    @classmethod
    def dense(cls, K: ProductSet, rows: Array) -> "_Small":
        f, m = rows.shape
        row_start = np.arange(len(K) + 1) * m
        row, column = np.tile(np.arange(m), len(K)), np.tile(np.arange(m), f)
        return cls._scaled(K, row_start, row, rows.reshape(-1), column, m)

    @classmethod
    def _scaled(
        cls, K: ProductSet, row_start: IntArray, row: IntArray, data: Array, column: IntArray, count: int
    ) -> "_Small":
        unit = _unit_rows(np.bincount(column, data * data, count).astype(float))
        return cls(K, kernels.Rows(K.offset, row_start, row, data * unit[column]), count)

    def nearest(self, centre: Array, w: Array) -> tuple[Array, float]:
        b, x = np.zeros(self.count), np.empty(w.size)
        kernels.push(self.B, w, b)
        error, _ = kernels.nearest(self.K.arrays, self.B, centre, b, ACCURACY, STEPS, x)
        return x, float(error)

    def self_stress(self, w: Array, accuracy: float) -> Array:
        (_, row_start, row, data), sizes = self.B, np.diff(self.K.offset)
        B = np.zeros((self.K.size, self.count))
        touched = [row[a:b] for a, b in pairwise(row_start.tolist())]
        component = np.repeat(np.arange(self.K.size), np.repeat(np.diff(row_start), sizes))
        of_block = [np.tile(rows, size) for rows, size in zip(touched, sizes.tolist(), strict=True)]
        B[component, np.concatenate([row[:0], *of_block])] = data
        _, s, Vt = np.linalg.svd(B.T, full_matrices=False)
        seen = Vt[s > max(NULL, accuracy) * s.max(initial=0.0)]
        return np.asarray(w - seen.T @ (seen @ w))


class _Large(ABC):
    """The method of `kernels.nearest`, with sparse factors."""

    K: ProductSet
    count: int

    @abstractmethod
    def push(self, w: Array) -> Array:
        """Return B w, shape (m,)."""

    @abstractmethod
    def pull(self, y: Array) -> Array:
        """Return B' y, shape (f,)."""

    @abstractmethod
    def factor(self, D: Array, shift: float) -> Callable[[Array], Array]:
        """Return a solver with B D B' + shift I; D (nb, d, d)."""

    @abstractmethod
    def part(self, blocks: IntArray) -> "_Large":
        """Return B restricted to some blocks [-], shape (count,)."""

    def nearest(self, centre: Array, w: Array) -> tuple[Array, float]:
        """See `Balance`: blocks without self-stress keep their impulses; Newton's method finds the others."""
        part, chosen = self._movable
        if not chosen.size:
            return w, 0.0
        x = w.copy()
        x[chosen], error = part.newton(centre[chosen], part.push(w[chosen]))
        return x, error

    @cached_property
    def _movable(self) -> tuple["_Large", IntArray]:
        """B of the blocks that take part in self-stresses, and their components [-], shape (count,)."""
        K = self.K
        tried = np.random.default_rng(0).normal(size=(K.size, DIRECTIONS))
        moves = np.zeros(len(K), bool)
        owner = K.owner
        np.logical_or.at(moves, owner, np.abs(self.self_stress(tried, 0.0)).max(axis=1) > SAME)
        blocks = np.flatnonzero(moves)
        return (self if moves.all() else self.part(blocks)), spans(K.offset, blocks)

    def newton(self, centre: Array, b: Array) -> tuple[Array, float]:
        """Return the element of {w in C : B w = b} nearest to `centre`, and the relative |B w - b|."""
        # Newton's method on the dual problem, with a line search; the best iterate is returned.
        y = np.zeros(self.count)
        size = float(np.linalg.norm(b) + np.linalg.norm(self.push(centre))) or 1.0
        value, x, w, g = self._dual(centre, b, y)
        error = float(np.linalg.norm(g)) / size
        best, least, since = w, error, 0
        D = np.broadcast_to(np.eye(self._widest), (len(self.K), self._widest, self._widest))
        shift = kernels.LEAST_SHIFT
        for _ in range(STEPS):
            if error <= ACCURACY or (since >= kernels.PATIENCE and least < kernels.SMALL_ERROR):
                break
            dy = self._step(D, shift, g)
            slope, length = float(g @ dy), 1.0
            for _ in range(kernels.HALVINGS):
                trial = self._dual(centre, b, y + length * dy)
                bound = value + kernels.DECREASE * length * slope
                if trial[0] <= bound or np.linalg.norm(trial[3]) <= 0.5 * error * size:
                    break
                length *= 0.5
            y = y + length * dy
            value, x, w, g = trial
            error = float(np.linalg.norm(g)) / size
            since = 0 if error < 0.5 * least else since + 1
            if error < least:
                best, least = w, error
            D, shift = self._slopes(x), max(kernels.LEAST_SHIFT, kernels.SHIFT * min(error, 1.0))
        return best, least

    def self_stress(self, w: Array, accuracy: float) -> Array:
        """See `Balance`: w minus the shortest correction, refined."""
        D = np.broadcast_to(np.eye(self._widest), (len(self.K), self._widest, self._widest))
        solve = self.factor(D, max(LEAST_NULL, accuracy * accuracy))
        out = np.empty_like(w)
        for k in range(w.shape[1]):
            null_part = w[:, k]
            for _ in range(REFINEMENTS):
                null_part = null_part - self.pull(solve(self.push(null_part)))
            out[:, k] = null_part
        return out

    @cached_property
    def _widest(self) -> int:
        return int(np.diff(self.K.offset).max(initial=1))

    def _dual(self, centre: Array, b: Array, y: Array) -> tuple[float, Array, Array, Array]:
        x = centre + self.pull(y)
        w = np.empty_like(x)
        cones.project(self.K.arrays, frozen(x), w)
        g = self.push(w) - b
        return float(y @ g - 0.5 * (w - centre) @ (w - centre)), x, w, g

    def _slopes(self, x: Array) -> Array:
        D = np.zeros((len(self.K), self._widest, self._widest))
        kernels.slopes(self.K.arrays, x, D)
        return D

    def _step(self, D: Array, shift: float, g: Array) -> Array:
        for _ in range(kernels.HALVINGS):
            try:
                return self.factor(D, shift)(-g)
            except ArithmeticError:  # not positive definite because of rounding
                shift *= 10.0
        return -g


class _Bodies(_Large):
    """B over the graph of bodies, factored in blocks."""

    def __init__(self, K: ProductSet, bodies: IntArray, rows: Array, bodies_count: int):
        k = rows.shape[2]
        self.K, self.bodies, self.count, self._shape = K, bodies, bodies_count * k, (bodies_count, k)
        body = np.repeat(bodies, np.diff(K.offset), axis=0)
        moving = body >= 0
        square = np.zeros(self._shape)
        np.add.at(square, body[moving], rows[moving] ** 2)
        unit = _unit_rows(square)
        self.rows = frozen(np.where(moving[:, :, None], rows * unit[np.where(moving, body, 0)], 0.0))
        self.offset = K.offset
        self._pattern = body_pattern(bodies, bodies_count, k)
        self._factor: CholeskyFactor | None = None

    def part(self, blocks: IntArray) -> "_Bodies":
        pairs, rows = self.bodies[blocks], self.rows[spans(self.offset, blocks)]
        body, row = np.unique(np.where(pairs >= 0, pairs, -1), return_inverse=True)
        fixed = int(body.size > 0 and body[0] < 0)
        named = frozen(row.reshape(-1, 2) - fixed)
        return _Bodies(blocks_of(self.K, blocks), named, rows, body.size - fixed)

    def push(self, w: Array) -> Array:
        out = np.empty(self._shape)
        blocks.blocks_to_bodies(self.bodies, self.offset, self.rows, frozen(w.view()), out)
        return out.reshape(-1)

    def pull(self, y: Array) -> Array:
        out = np.empty(self.K.size)
        v = frozen(y.view()).reshape(self._shape)
        blocks.bodies_to_blocks(self.bodies, self.offset, self.rows, v, np.zeros(self.K.size), out)
        return out

    def factor(self, D: Array, shift: float) -> Callable[[Array], Array]:
        bodies, k = self._shape
        mass = np.broadcast_to(shift * np.eye(k), (bodies, k, k))
        sizes = np.diff(self.offset)
        inside = np.arange(self._widest) < sizes[:, None]
        weights = D[inside[:, :, None] & inside[:, None, :]]
        values = self._pattern.values(mass, self, weights)
        if self._factor is None:
            self._factor = analyse(self._pattern).cholesky(values, singular=0.0)
        else:
            self._factor.refactor(values)
        return self._factor.solve


class _Sparse(_Large):
    """B as a SciPy matrix."""

    def __init__(self, K: ProductSet, rows: sp.csr_array):
        self.K, self.count = K, rows.shape[1]
        unit = _unit_rows(np.asarray(rows.multiply(rows).sum(axis=0)).reshape(-1))
        self._pull = sp.csr_array(rows @ sp.diags_array(unit))
        self._push = sp.csr_array(self._pull.T)

    def part(self, blocks: IntArray) -> "_Sparse":
        rows = sp.csc_array(self._pull[spans(self.K.offset, blocks)])
        touched = np.flatnonzero(np.diff(rows.indptr))
        return _Sparse(blocks_of(self.K, blocks), sp.csr_array(rows[:, touched]))

    def push(self, w: Array) -> Array:
        return self._push @ w

    def pull(self, y: Array) -> Array:
        return self._pull @ y

    def factor(self, D: Array, shift: float) -> Callable[[Array], Array]:
        offset = self.K.offset
        weights = block_diagonal(offset, offset, D)
        matrix = self._push @ weights @ self._pull + shift * sp.eye_array(self.count)
        return spla.splu(sp.csc_matrix(matrix)).solve  # type: ignore[no-any-return]
