"""The Newton system over the graph of bodies, for problems whose W is J J' over bodies.

Contacts are eliminated and velocities of bodies are left, so that hyperstatic piles and walls cost what their
bodies cost; the formulas are in `kernels/newton_bodies.py`.
"""

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import newton_bodies as kernels
from stickslip.kernels import newton_systems
from stickslip.linalg.front_lu import BlockLU
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert.bodies import over_bodies
from stickslip.problem.operator import BodyDelassus
from stickslip.solvers.factors import one_side_each
from stickslip.solvers.newton_reduced import COMPILED, ContactSystem, plain

CROWDED = 1.0
"""Components for each velocity of the bodies from which elimination over bodies is the cheaper one."""
MOST_ENTRIES = 2.0**26
"""Most numbers of W in blocks where it is left in its form over bodies otherwise: half a gigabyte."""


class BodySystem:
    """Newton systems of one contact problem over its bodies, formed by kernels and solved here."""

    def __init__(self, problem: ContactProblem):
        assert isinstance(problem.W, BodyDelassus)
        W, K = one_side_each(problem.W), problem.K
        k, names, bodies = W.rows.shape[2], *_touched(W.bodies)
        graph = _graph(bodies, names.size)
        self.lu = BlockLU(np.arange(names.size + 1) * k, graph.indptr, graph.indices)
        """Factor of the systems."""
        diagonal, place = _places(graph, bodies, k * k)
        at = kernels.BodyGraph(K.offset, bodies, W.rows, diagonal, place, np.empty((names.size, k)))
        values = np.empty(graph.indices.size * k * k)
        self.at: newton_systems.System = kernels.prepare(K.arrays, at, problem.u_free, values)
        """The map, its Jacobians and the system at the last point."""
        self.arrays = plain(self.at)
        """The same, as kernels take it."""
        self.operations = 0.0
        """Multiplications of the factorisations so far."""

    def advance(self, vectors: Array, control: Array, history: Array) -> bool:
        """Whether another system is to be solved by `solve`; else the proximal steps have come to an end."""
        return bool(kernels.advance(self.arrays, vectors, control, history))

    def solve(self) -> bool:
        """The step that was asked for into `at.rhs`; false if the system is singular."""
        W, values = self.at.W, self.at.matrix
        w = self.lu.solve(W.w.reshape(-1)) if np.isfinite(values).all() and self.lu.refactor(values) else None
        self.operations += self.lu.operations
        if w is None:
            return False
        kernels.finish(self.arrays, w.reshape(W.w.shape))
        return True


def proximal_system(problem: ContactProblem) -> ContactSystem | BodySystem:
    """The systems of proximal Newton on a problem: over its bodies where contacts are many."""
    problem = over_bodies(problem)
    if isinstance(problem.W, BodyDelassus) and problem.size > COMPILED and goes_over_bodies(problem):
        return BodySystem(problem)
    return ContactSystem(problem)


def goes_over_bodies(problem: ContactProblem) -> bool:
    """Whether the systems of a problem over bodies are those of its bodies: where contacts are many, or all
    meet on one body, which couples each with each."""
    W = problem.W
    assert isinstance(W, BodyDelassus)
    velocities = W.rows.shape[2] * touched_bodies(W)
    return problem.size > CROWDED * velocities or contact_entries(problem) > MOST_ENTRIES


def touched_bodies(W: BodyDelassus) -> int:
    """How many bodies have contacts."""
    return int(np.unique(W.bodies[W.bodies >= 0]).size)


def contact_entries(problem: ContactProblem) -> float:
    """Numbers of W in blocks of contacts, about."""
    W, d = problem.W, problem.size / max(len(problem.K), 1)
    assert isinstance(W, BodyDelassus)
    at = np.bincount(W.bodies[W.bodies >= 0]).astype(float)
    return d * d * float((at * at).sum())


def _touched(bodies: IntArray) -> tuple[IntArray, IntArray]:
    """The bodies that have contacts, and the pairs of contacts by their places among these."""
    names, place = np.unique(np.append(bodies.reshape(-1), -1), return_inverse=True)
    return names[1:], np.ascontiguousarray(place[:-1].reshape(-1, 2) - 1)


def _graph(bodies: IntArray, count: int) -> sp.csr_array:
    """Which bodies meet, each with itself too, in order."""
    one, other = bodies[(bodies >= 0).all(axis=1)].T
    every = np.arange(count)
    row, column = np.concatenate([every, one, other]), np.concatenate([every, other, one])
    graph = sp.coo_array((np.ones(row.size), (row, column)), shape=(count, count)).tocsr()
    graph.sum_duplicates()
    graph.sort_indices()
    return graph


def _places(graph: sp.csr_array, bodies: IntArray, numbers: int) -> tuple[IntArray, IntArray]:
    """First number of each body's own block, shape (count,), and of the blocks of each contact by the sides
    of row and column, shape (nb, 2, 2); -1 where a side is fixed."""
    count = graph.shape[0]
    keys = np.repeat(np.arange(count), np.diff(graph.indptr)) * count + graph.indices
    every = np.arange(count) * (count + 1)
    place = np.full((len(bodies), 2, 2), -1)
    for row in range(2):
        for column in range(2):
            both = (bodies[:, row] >= 0) & (bodies[:, column] >= 0)
            wanted = bodies[both, row] * count + bodies[both, column]
            place[both, row, column] = numbers * np.searchsorted(keys, wanted)
    return numbers * np.searchsorted(keys, every), place
