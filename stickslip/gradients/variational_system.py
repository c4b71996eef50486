"""The linear system of a step's derivative:  A dv - B dr = e,  C dv + D dr = c.

A, one 6 × 6 block per dynamic body, is regular; rows of B', C and D are those of what holds, presses or rubs
at the solution, each on two bodies. Few rows are solved for by their Schur complement S = D + C A⁻¹ B,
dense; many by a sparse LU of the whole. Where S is singular, because impulses are not unique, dr is the one
of least norm [N s, N m s], and where no dv can follow c the nearest is taken.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import splu

from stickslip.kernels.variational_derivatives import system as kernels
from stickslip.state import Array, IntArray

FEW = 400
"""Most rows of a dense complement."""
MOST_DENSE = 2000
"""Most rows of a complement that is taken apart by singular values."""
SINGULAR = 1e-11
"""Reciprocal condition below which S counts as singular."""
RANK = 1e-9
"""Singular values below this share of the largest are zero."""
ALONE = 1e-6
"""Velocities by impulses that are not unique, over those of their parts, that are rounding."""
TORN = 1e-6
"""Share of a right-hand side that may lie where no change of velocities leads."""
TINY = 1e-9
"""Share of the rows' own velocities by which very many rows that are not independent are loosened."""


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Rows of the unknown impulses."""

    body: IntArray
    """Rows of the dynamic bodies, -1 for what does not move by forces [-], shape (m, 2)."""
    acts: Array
    """Of B': what a unit impulse does to the bodies [-, m], shape (m, 2, 6)."""
    moves: Array
    """Of C [s, m s, -, m], shape (m, 2, 6)."""
    D: tuple[Array, IntArray, IntArray]
    """Entries of D, their lines and columns [-], shape (k,) each."""

    def square(self) -> Any:
        """D, sparse."""
        entries, lines, columns = self.D
        m = self.body.shape[0]
        return sparse.csc_matrix((entries, (lines, columns)), shape=(m, m))


class System:
    """The system, factored once."""

    def __init__(self, A: Array, inverse: Array, rows: Rows):
        """A and A⁻¹ of the dynamic bodies, (nd, 6, 6)."""
        self._count, self._rows = 6 * A.shape[0], rows
        self._m = rows.body.shape[0]
        self._inverse, self._A = inverse, A
        self.unique = True
        """Whether impulses are."""
        self.moves_alone = False
        """Whether changes of impulses that no law minds move bodies."""
        self._lu: Any = None
        self._pinv: Array | None = None
        if self._m and self._m <= FEW:
            self._dense()
        elif self._m:
            self._sparse()

    def _complement(self) -> Array:
        """S, dense; of C and B the rows are enough."""
        rows, S = self._rows, np.empty((self._m, self._m))
        kernels.complement(rows.moves, rows.acts, rows.body, self._inverse, np.empty_like(rows.acts), S)
        entries, lines, columns = rows.D
        S[lines, columns] += entries
        return S

    def _of_bodies(self, rows: Array, x: Array) -> Array:
        """Rows times x (6 nd, k), shape (m, k)."""
        out = np.empty((self._m, x.shape[1]))
        kernels.rows_times(rows, self._rows.body, x, out)
        return out

    def _on_bodies(self, rows: Array, x: Array) -> Array:
        """Their transpose times x (m, k), shape (6 nd, k)."""
        out = np.zeros((self._count, x.shape[1]))
        kernels.add_transposed(rows, self._rows.body, x, out)
        return out

    def _dense(self) -> None:
        S = self._complement()
        lu, pivots, failed = lapack.dgetrf(S)
        condition = 0.0 if failed else lapack.dgecon(lu, np.abs(S).sum(axis=0).max())[0]
        if condition > SINGULAR:
            self._lu = lu, pivots
        else:
            self._unique_no_more(S)

    def _unique_no_more(self, S: Array) -> None:
        size = np.abs(S).max(axis=1)
        weight = 1.0 / np.where(size > 0.0, size, 1.0)
        U, values, V = np.linalg.svd(weight[:, None] * S)
        keep = values > RANK * values[0] if values.size else np.zeros(0, bool)
        self.unique = bool(keep.all())
        self._pinv = (V[keep].T / values[keep]) @ (U[:, keep].T * weight)
        self._said_twice, self._weight = U[:, ~keep].T * weight, weight
        free = np.ascontiguousarray(V[~keep].T)
        moved = self._times(self._on_bodies(self._rows.acts, free), transposed=False)
        answers = np.abs(
            self._times(self._on_bodies(np.abs(self._rows.acts), np.abs(free)), transposed=False)
        )
        self.moves_alone = bool((np.abs(moved) > ALONE * answers.max(initial=0.0)).any())

    def _sparse(self) -> None:
        B = spread_sparse(self._rows.acts, self._rows.body, self._count // 6).T
        C = spread_sparse(self._rows.moves, self._rows.body, self._count // 6)
        A = sparse.block_diag(list(self._A), format="csc")
        K = sparse.bmat([[A, -B], [C, self._rows.square()]], format="csc")
        try:
            self._lu = splu(K)
            probe = np.ones(K.shape[0])
            answer = self._lu.solve(K @ probe)
            fine = bool(np.abs(answer - probe).max() < 1e-5)
        except RuntimeError:  # exactly singular
            fine = False
        if fine:
            return
        self._lu = None
        if self._m <= MOST_DENSE:
            self._unique_no_more(self._complement())
            return
        self.unique = False
        own = np.abs(C @ self._times(B.toarray(), transposed=False)).diagonal() + 1e-300
        self._lu = splu(K + sparse.block_diag([0.0 * A, sparse.diags(TINY * own)], format="csc"))

    def _times(self, e: Array, *, transposed: bool) -> Array:
        """A⁻¹ e or A⁻ᵀ e."""
        blocks = self._inverse.transpose(0, 2, 1) if transposed else self._inverse
        return np.matmul(blocks, e.reshape(blocks.shape[0], 6, e.shape[1])).reshape(e.shape)

    @cached_property
    def _schur(self) -> bool:
        return self._pinv is not None or isinstance(self._lu, tuple)

    def solve(self, e: Array, c: Array) -> tuple[Array, Array]:
        """(dv, dr) from e (6 nd, k) and c (m, k)."""
        if not self._m:
            return self._times(e, transposed=False), c
        if not self._schur:
            out = self._lu.solve(np.vstack([e, c]))
            return out[: self._count], out[self._count :]
        a = self._times(e, transposed=False)
        dr = self._small(c - self._of_bodies(self._rows.moves, a), transposed=False)
        return a + self._times(self._on_bodies(self._rows.acts, dr), transposed=False), dr

    def torn(self, e: Array, c: Array) -> bool:
        """Whether some columns of e, c want apart what is held more than once, so that no dv follows them."""
        if self._pinv is None or self.unique:
            return False
        wanted = c - self._of_bodies(self._rows.moves, self._times(e, transposed=False))
        return bool(
            (
                np.abs(self._said_twice @ wanted)
                > TORN * np.abs(self._weight[:, None] * wanted).max(initial=0.0)
            ).any()
        )

    def solve_transposed(self, g_v: Array, g_r: Array) -> tuple[Array, Array]:
        """Weights of e and c from weights of dv (6 nd, k) and dr (m, k)."""
        if not self._m:
            return self._times(g_v, transposed=True), g_r
        if not self._schur:
            out = self._lu.solve(np.vstack([g_v, g_r]), "T")
            return out[: self._count], out[self._count :]
        back = self._times(g_v, transposed=True)
        y = self._small(g_r + self._of_bodies(self._rows.acts, back), transposed=True)
        return back - self._times(self._on_bodies(self._rows.moves, y), transposed=True), y

    def _small(self, c: Array, *, transposed: bool) -> Array:
        if self._pinv is not None:
            return (self._pinv.T if transposed else self._pinv) @ c
        found = lapack.dgetrs(*self._lu, c, trans=1 if transposed else 0)[0]
        return np.ascontiguousarray(found)  # rows are what kernels go along


def spread(rows: Array, body: IntArray, count: int) -> Array:
    """Rows (m, 2, 6) of pairs of bodies as a matrix (m, 6 count); those of body -1 are left out."""
    m = body.shape[0]
    out = np.zeros((m, count + 1, 6))
    number = np.arange(m)
    out[number, body[:, 0]] = rows[:, 0]
    out[number, body[:, 1]] += rows[:, 1]
    return out[:, :count].reshape(m, 6 * count)


def spread_sparse(rows: Array, body: IntArray, count: int) -> Any:
    """The same, sparse."""
    m = body.shape[0]
    line = np.broadcast_to(np.arange(m)[:, None, None], rows.shape)
    column = np.broadcast_to(6 * body[:, :, None] + np.arange(6), rows.shape)
    there = np.broadcast_to(body[:, :, None] >= 0, rows.shape)
    return sparse.csr_matrix((rows[there], (line[there], column[there])), shape=(m, 6 * count))
