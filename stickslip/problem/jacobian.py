"""Contact Jacobian H as blocks over pairs of rigid bodies, without a sparse matrix."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.kernels import blocks
from stickslip.problem import parts
from stickslip.problem.checks import Array, IntArray, ProblemError, finite, floats, frozen
from stickslip.problem.operator import rows_to_sparse
from stickslip.problem.parts import Graph
from stickslip.problem.sets import ProductSet


@dataclass(frozen=True, eq=False)
class ContactBlocks:
    """Matrix H of shape (nv, n), stored for each contact as a pair of bodies and two blocks of rows of H'.

    u = rows[:, 0] v_first + rows[:, 1] v_second (+ bias): the rows of the second side contain its sign. A
    fixed side has body -1, and its rows are ignored.
    """

    bodies: IntArray
    """First and second body of each contact, -1 for a fixed side [-], shape (nb, 2)."""
    rows: Array
    """Rows of H' over the velocities of the two bodies [-, m], shape (n, 2, k)."""
    offset: IntArray
    """First row of each contact, and the total [-], shape (nb + 1,)."""

    def __post_init__(self) -> None:
        for array in (self.bodies, self.rows, self.offset):
            frozen(array)

    @classmethod
    def unchecked(cls, bodies: IntArray, rows: Array, offset: IntArray) -> "ContactBlocks":
        """Return contact blocks from read-only arrays without checks, for internal data."""
        H = object.__new__(cls)
        H.__dict__.update(bodies=bodies, rows=rows, offset=offset)
        return H

    @property
    def size(self) -> int:
        """Number of components n of r."""
        return self.rows.shape[0]

    def check(self, name: str) -> None:
        """Raise a ProblemError for inconsistent arrays; `name`: name of the matrix in messages."""
        n, nb = self.rows.shape[0], self.bodies.shape[0]
        sides = self.bodies.shape == (nb, 2) and self.rows.shape[1:2] == (2,)
        ends = self.offset.shape == (nb + 1,) and self.offset[0] == 0 and self.offset[-1] == n
        if not (sides and ends and self.rows.ndim == 3 and (np.diff(self.offset) > 0).all()):
            raise ProblemError(f"{name} has inconsistent contact blocks; make them with contact_blocks")
        if self.rows.shape[2] == 0:
            raise ProblemError(f"{name} has contact blocks over bodies without velocities")
        if nb and self.bodies.min() < -1:
            raise ProblemError(f"{name} names a body {self.bodies.min()}; -1 is a fixed side")
        finite(name, self.rows)

    def impulses(self, r: Array, count: int) -> Array:
        """Return H r, the impulse on each of `count` bodies [N s, N m s], shape (count, k)."""
        if parts.are_many(self.bodies, self.rows):
            return parts.impulses(Graph.of(self, count).touching, self.offset, self.rows, r, count)
        w = np.empty((count, self.rows.shape[2]))
        blocks.blocks_to_bodies(self.bodies, self.offset, self.rows, r, w)
        return w

    def velocities(self, v: Array, bias: Array) -> Array:
        """Return H' v + bias [m/s], shape (n,), for body velocities of shape (count, k)."""
        if parts.are_many(self.bodies, self.rows):
            return parts.contact_velocities(self.bodies, self.offset, self.rows, v, bias)
        u = np.empty(self.size)
        blocks.bodies_to_blocks(self.bodies, self.offset, self.rows, v, bias, u)
        return u

    def sparse(self, count: int) -> sp.csr_array:
        """Return H as a SciPy matrix, shape (k * count, n)."""
        return sp.csr_array(rows_to_sparse(self.bodies, self.offset, self.rows, count).T)


def contact_blocks(bodies: ArrayLike, rows: ArrayLike, K: ProductSet) -> ContactBlocks:
    """Return checked contact blocks for the blocks of K; `bodies` has shape (nb, 2), `rows` (n, 2, k)."""
    pairs = np.array(bodies)
    if pairs.shape != (len(K), 2):
        raise ProblemError(f"bodies has shape {pairs.shape}, expected ({len(K)}, 2), one pair per contact")
    if not np.issubdtype(pairs.dtype, np.integer):
        raise ProblemError(f"bodies has type {pairs.dtype}, expected integers")
    table = floats("rows", rows)
    if table.ndim != 3 or table.shape[:2] != (K.size, 2):
        raise ProblemError(
            f"rows has shape {table.shape}, expected ({K.size}, 2, k), two sides per component"
        )
    same = np.flatnonzero((pairs[:, 0] == pairs[:, 1]) & (pairs[:, 0] >= 0))
    if same.size:
        i = int(same[0])
        raise ProblemError(f"contact {i} joins body {pairs[i, 0]} to itself; give each body one side")
    table = np.array(table)
    fixed = np.repeat(pairs < 0, np.diff(K.offset), axis=0)
    table[fixed] = 0.0
    finite("rows", table, lambda k: _side(K, pairs, k))
    pairs = np.where(pairs < 0, -1, pairs).astype(np.int64)
    return ContactBlocks(pairs, table, K.offset)


def _side(K: ProductSet, pairs: np.ndarray, index: tuple[int, ...]) -> str:
    i = int(np.searchsorted(K.offset, index[0], side="right") - 1)
    return (
        f"contact {i}, component {index[0] - int(K.offset[i])}, body {pairs[i, index[1]]}, entry {index[2]}"
    )
