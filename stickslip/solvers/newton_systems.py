"""Newton systems of contact problems, assembled by kernels and solved by `linalg.front_lu`.

The unknowns are the impulses, F(r, W r + u_free) = 0, with open contacts eliminated (Siconos Developer's
Notes 2017, 16.1, u eliminated by its first line): the rows of the blocks that are not open are A δ_ij + B
W_ij. Small systems are dense and solved in compiled code. If W is J J' over bodies, the contacts can be
eliminated instead, which leaves the velocities of the bodies as unknowns; hyperstatic piles and walls then
cost only as much as their bodies (formulas in `kernels/newton_bodies.py`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import blocks, newton_systems, prox_newton, schedule
from stickslip.kernels import newton_bodies as kernels
from stickslip.linalg.front_lu import BlockLU
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert.bodies import over_bodies
from stickslip.problem.operator import BodyDelassus
from stickslip.solvers.factors import one_side_each
from stickslip.solvers.gauss_seidel import HISTORY, NSGS, first_look
from stickslip.solvers.watch import Watch

COMPILED = 120
"""Largest number of unknowns of a dense system, solved in compiled code."""
CROWDED = 1.0
"""Ratio of contact components to velocities of bodies above which elimination over bodies is cheaper."""
MOST_ENTRIES = 2.0**26
"""Largest number of entries of W in blocks before the form over bodies is used: half a gigabyte."""


class ContactSystem:
    """Newton systems of one contact problem over contacts: assembled by kernels, solved here if in blocks."""

    def __init__(self, problem: ContactProblem):
        W, n = problem.W.blocks(problem.K), problem.size
        self.lu = BlockLU(*W.arrays[:3]) if n > COMPILED else None
        """Factor of systems in blocks; None if they are dense."""
        matrix = np.empty((n, n)) if self.lu is None else np.empty(W.data.size)
        self.at: newton_systems.System = newton_systems.prepare(
            problem.K.arrays, W.arrays, problem.u_free, matrix
        )
        """The map, its Jacobians and the system at the last point."""
        self.arrays = plain(self.at)
        """`at` as plain tuples, for kernels."""
        self.operations = 0.0
        """Number of multiplications of the factorisations."""

    def advance(self, vectors: Array, control: Array, history: Array) -> bool:
        """Advance the proximal steps; return whether a system in blocks is to be solved by `solve`."""
        return bool(prox_newton.advance_blocks(self.arrays, vectors, control, history))

    def solve(self) -> bool:
        """Solve for the step requested by `advance` into `at.rhs`; return False if the system is singular."""
        dx = self.solve_blocks()
        if dx is not None:
            self.at.rhs[:] = dx
        return dx is not None

    def solve_blocks(self) -> Array | None:
        """Return the solution of the assembled system in blocks; None if it is singular."""
        assert self.lu is not None
        dx = self.lu.solve(self.at.rhs) if self.lu.refactor(self.at.matrix, self.at.state != 0) else None
        self.operations += self.lu.operations
        return dx


def plain(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return nested named tuples as plain tuples, for kernels."""
    return tuple(plain(part) if isinstance(part, tuple) else part for part in arrays)


class BodySystem:
    """Newton systems of one contact problem over its bodies: assembled by kernels, solved here."""

    def __init__(self, problem: ContactProblem):
        assert isinstance(problem.W, BodyDelassus)
        W, K = one_side_each(problem.W), problem.K
        k, names, bodies = W.rows.shape[2], *_touched(W.bodies)
        graph = _graph(bodies, names.size)
        self.lu = BlockLU(np.arange(names.size + 1) * k, graph.indptr, graph.indices)
        """Factor of the systems over bodies."""
        diagonal, place = _places(graph, bodies, k * k)
        at = kernels.BodyGraph(K.offset, bodies, W.rows, diagonal, place, np.empty((names.size, k)))
        values = np.empty(graph.indices.size * k * k)
        self.at: newton_systems.System = kernels.prepare(K.arrays, at, problem.u_free, values)
        """The map, its Jacobians and the system at the last point."""
        self.arrays = plain(self.at)
        """`at` as plain tuples, for kernels."""
        self.operations = 0.0
        """Number of multiplications of the factorisations."""

    def advance(self, vectors: Array, control: Array, history: Array) -> bool:
        """Advance the proximal steps; return whether a system is to be solved by `solve`."""
        return bool(kernels.advance(self.arrays, vectors, control, history))

    def solve(self) -> bool:
        """Solve for the step requested by `advance` into `at.rhs`; return False if the system is singular."""
        W, values = self.at.W, self.at.matrix
        w = self.lu.solve(W.w.reshape(-1)) if np.isfinite(values).all() and self.lu.refactor(values) else None
        self.operations += self.lu.operations
        if w is None:
            return False
        kernels.finish(self.arrays, w.reshape(W.w.shape))
        return True


def proximal_system(problem: ContactProblem) -> ContactSystem | BodySystem:
    """Return the Newton systems of a problem: over its bodies if it has many contacts, else over contacts."""
    problem = over_bodies(problem)
    if isinstance(problem.W, BodyDelassus) and problem.size > COMPILED and goes_over_bodies(problem):
        return BodySystem(problem)
    return ContactSystem(problem)


def goes_over_bodies(problem: ContactProblem) -> bool:
    """Whether a problem over bodies is solved over its bodies: if W in blocks would be larger or too large.

    This is the case for many contacts, or if many contacts share one body, which couples all of them.
    """
    W = problem.W
    assert isinstance(W, BodyDelassus)
    velocities = W.rows.shape[2] * touched_bodies(W)
    return problem.size > CROWDED * velocities or contact_entries(problem) > MOST_ENTRIES


def touched_bodies(W: BodyDelassus) -> int:
    """Return the number of bodies with contacts."""
    return int(np.unique(W.bodies[W.bodies >= 0]).size)


def contact_entries(problem: ContactProblem) -> float:
    """Return the approximate number of entries of W in blocks."""
    W, d = problem.W, problem.size / max(len(problem.K), 1)
    assert isinstance(W, BodyDelassus)
    touching = np.bincount(W.bodies[W.bodies >= 0]).astype(float)
    return d * d * float((touching * touching).sum())


def _touched(bodies: IntArray) -> tuple[IntArray, IntArray]:
    """Return the bodies with contacts, and the pair of each contact as indices into them."""
    names, place = np.unique(np.append(bodies.reshape(-1), -1), return_inverse=True)
    return names[1:], np.ascontiguousarray(place[:-1].reshape(-1, 2) - 1)


def _graph(bodies: IntArray, count: int) -> sp.csr_array:
    """Return the graph of bodies in contact, with loops, in sorted order."""
    first, second = bodies[(bodies >= 0).all(axis=1)].T
    every = np.arange(count)
    row, column = np.concatenate([every, first, second]), np.concatenate([every, second, first])
    graph = sp.coo_array((np.ones(row.size), (row, column)), shape=(count, count)).tocsr()
    graph.sum_duplicates()
    graph.sort_indices()
    return graph


def _places(graph: sp.csr_array, bodies: IntArray, numbers: int) -> tuple[IntArray, IntArray]:
    """Return the start of each body's diagonal block, shape (count,), and of the blocks of each contact.

    The latter have shape (nb, 2, 2), by the sides of row and column; -1 if a side is fixed.
    """
    count = graph.shape[0]
    keys = np.repeat(np.arange(count), np.diff(graph.indptr)) * count + graph.indices
    every = np.arange(count) * (count + 1)
    place = np.full((len(bodies), 2, 2), -1)
    for row in range(2):
        for column in range(2):
            both = (bodies[:, row] >= 0) & (bodies[:, column] >= 0)
            pair_keys = bodies[both, row] * count + bodies[both, column]
            place[both, row, column] = numbers * np.searchsorted(keys, pair_keys)
    return numbers * np.searchsorted(keys, every), place


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
        """Return |F|² at r in the norm of 1/rho [J], and store what `step` needs."""
        blocks.multiply(self.at.W, r, self.at.u_free, self._u)
        self._measured = r
        return self._evaluate(self.arrays, r, self._u)

    def step(self, r: Array, alpha: float) -> Array | None:
        """Return Newton's step from r with W + alpha diag(weight); None if the matrix is singular."""
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
        """Make at most `count` Gauss-Seidel sweeps from r; return the impulses."""
        return sweep_on(self.problem, r, count, tolerance)

    def look(self, watch: Watch, r: Array, iterations: int) -> float:
        """Have the judge examine r; return the error."""
        return watch.look(r, iterations)

    def best(self, watch: Watch) -> Array:
        """Return the best impulses so far."""
        return watch.best.copy()


def sweep_on(problem: ContactProblem, r: Array, count: int, tolerance: float) -> Array:
    """Make at most `count` Gauss-Seidel sweeps from r, or until the judge's tolerance is met; return r."""
    run, r = NSGS().prepare(problem), r.copy()
    best, control, history = r.copy(), np.zeros(schedule.SLOTS), np.empty((HISTORY, 3))
    control[schedule.STATE], control[schedule.NEXT] = schedule.NEW, first_look(problem, r)
    run(tolerance, float(count), (r, best, control, history))
    return r
