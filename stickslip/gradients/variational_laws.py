"""Linearised equations of a step of the variational scheme in velocities and impulses.

    A dv - B dr = e,    A = ∂P/∂v,  B = (H, G) at the start
    C dv + D dr = c,    the laws of joints and of closed contacts; with smoothing, of all contacts

A has one regular 6 × 6 block per dynamic body; each row of B', C and D acts on two bodies. dr is computed
with the
Schur complement S = D + C A⁻¹ B, which is dense for few rows. If S is singular, because impulses are not
unique,
the least-squares solution dr of least norm [N s, N m s] is taken.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.gradients.solution_factor import Factor
from stickslip.gradients.variational_equations import Values, VariationalEquations
from stickslip.kernels.bodies.joint_geometry import HOLD
from stickslip.kernels.derivatives import laws
from stickslip.problem.step_problem import MODELS
from stickslip.state import Array, BoolArray, IntArray

Entries = tuple[Array, IntArray, IntArray]
"""Entries of a matrix, their lines and columns, shape (k,) each."""
NEGLIGIBLE = 1e-5
"""Lower bound of the scale of velocities of a row: this share of its lever arm per step [-]; heuristic."""
FEW = 400
"""Largest number of rows of a dense complement; heuristic."""
WHOLE = 200_000
"""Largest number of entries of a dense matrix of rows; heuristic."""
RANK = 1e-9
"""Ratio to the largest singular value below which singular values count as zero [-]; heuristic."""
ALONE = 1e-6
"""Velocities caused by null-space impulses, relative to those of their components, that count as 0 [-];
heuristic."""
TORN = 1e-6
"""Share of a right-hand side that may be outside the range of the system [-]; heuristic."""


class Linear:
    """Linearised laws of a step, and its linear system; rows are six components per contact, then joints."""

    def __init__(self, equations: VariationalEquations, kappa: float):
        self.equations, self.nc = equations, equations.problem.contacts.gap.size
        n, dynamic = equations.bodies.count, equations.bodies.dynamic
        values, A, C, self.end = equations.by_end
        self.rows = values.rows[0].real
        """Rows of contacts and joints at the start [-, m], shape (p, 2, 6)."""
        inverse: Array = np.asarray(np.linalg.inv(A), float)
        self._light = np.zeros((n + 1, 6, 6))
        self._light[dynamic] = inverse
        self._fast = np.zeros((n + 1, 6))
        pushed = np.matmul(self._light[:n], equations.problem.p[:, :, None])[:, :, 0]
        self._fast[:n] = np.abs(equations.v) + np.abs(pushed)
        self._contacts(values, kappa)
        self._joints(values, kappa)
        self._solve(inverse, C)

    def _weights(self, rows: Array, body: IntArray) -> tuple[Array, Array]:
        """Return the velocity of a unit impulse, and the scale of velocities, of rows (m, 2, 6), shape (m,)
        each."""
        w = np.einsum("rsi,rsij,rsj->r", rows, self._light[body], rows)
        # lower bound of the scale: a small share of the lever arm per step
        arm = np.sqrt((rows[:, :, 3:] ** 2).sum(axis=(1, 2)))
        scale = (np.abs(rows) * self._fast[body]).sum(axis=(1, 2)) + NEGLIGIBLE / self.equations.h * arm
        return np.maximum(w, 1e-300), scale

    def _contacts(self, found: Values, kappa: float) -> None:
        """Compute the derivatives of contact laws by their variables and impulses, (nc, 6, 6) each, and by
        coefficients, (nc, 6, 3)."""
        equations, nc, problem = self.equations, self.nc, self.equations.problem
        w, scale = (x.reshape(nc, 6) for x in self._weights(self.rows[: 6 * nc], equations.sides[: 6 * nc]))
        scale[:, 0] = scale[:, :3].max(
            axis=1, initial=0.0
        )  # what slides has no normal velocity to measure by
        u, y = (x[0, : 6 * nc].real.reshape(nc, 6) for x in (found.u, found.y))
        self.L_u, self.L_r, self.L_mu = np.empty((nc, 6, 6)), np.empty((nc, 6, 6)), np.empty((nc, 6, 3))
        self.state, self.mark = np.empty((nc, 4), np.int64), np.empty(nc, np.int64)
        laws.contact_laws(
            laws.Choice(MODELS.index(problem.model), kappa, equations.h), problem.contacts.law,
            equations.r[: 6 * nc].reshape(nc, 6), y[:, 0].copy(), u.copy(), laws.Sizes(w, scale),
            laws.Slopes(self.L_u, self.L_r, self.L_mu, self.state, self.mark),
        )  # fmt: skip

    def _joints(self, found: Values, kappa: float) -> None:
        """Compute the derivatives of the laws of joint rows by their variables, impulses and bounds, (mj,)
        each."""
        equations, first = self.equations, 6 * self.nc
        mj, law = len(equations.sides) - first, np.flatnonzero(equations.part != HOLD)
        self.on, self.slack, self.by_most = np.ones(mj), np.zeros(mj), np.zeros(mj)
        self.joint_mark = np.zeros(mj, np.int64)
        if not law.size:
            return
        out = laws.Slopes(*np.zeros((3, law.size)), *np.zeros((2, law.size), np.int64))
        sizes = laws.Sizes(*self._weights(self.rows[first + law], equations.sides[first + law]))
        laws.joint_laws(
            laws.Choice(0, kappa, equations.h), equations.dry[law], found.most[0, law].real.copy(),
            equations.r[first + law], found.y[0, first + law].real.copy(), sizes, out,
        )  # fmt: skip
        self.on[law], self.slack[law], self.by_most[law], self.joint_mark[law] = *out[:3], out.mark

    def _solve(self, inverse: Array, C: Array) -> None:
        """Select the unknown impulses, of contacts whose laws do not fix them and of joints, and factor the
        system."""
        nc, joints = self.nc, np.ones(self.on.size, bool)
        off = self.L_r.copy()
        off[:, range(6), range(6)] = 0.0
        components: BoolArray = (self.L_u != 0.0).any(axis=-1) | (off != 0.0).any(axis=-1)
        self.unknown = np.flatnonzero(np.concatenate([components.reshape(-1), joints]))
        """Rows with unknown impulses; other impulses depend only on coefficients [-], shape (m,)."""
        moves = np.matmul(self.L_u, C[: 6 * nc].reshape(nc, 6, 12)).reshape(-1, 2, 6)
        moves = np.concatenate([moves, self.on[:, None, None] * C[6 * nc :]])
        at = np.full(len(moves), -1)
        at[self.unknown] = np.arange(self.unknown.size)
        i, k, m = np.nonzero(components[:, :, None] & components[:, None, :] & (self.L_r != 0.0))
        slack = np.flatnonzero(self.slack)
        D = (
            np.concatenate([self.L_r[i, k, m], self.slack[slack]]),
            np.concatenate([at[6 * i + k], at[6 * nc + slack]]),
            np.concatenate([at[6 * i + m], at[6 * nc + slack]]),
        )
        unknown = self.unknown
        self._acts = on_bodies(self.rows, self.equations.row, len(inverse))
        by_v = on_bodies(moves, self.equations.row, len(inverse))
        self.system = System(inverse, self._acts[unknown], by_v[unknown], D)

    def right_sides(self, effects: Array) -> tuple[Array, Array, Array]:
        """Return e (6 nd, k), c (m, k), and the impulses that depend only on coefficients, (p, k)."""
        e, y, law, most = (effects[self.equations.lines[i]] for i in (0, 1, 6, 7))
        nc, k = self.nc, effects.shape[1]
        of_contacts = np.matmul(self.L_u, y[: 6 * nc].reshape(nc, 6, k))
        of_contacts += np.matmul(self.L_mu, law.reshape(nc, 3, k))
        of_joints = self.on[:, None] * y[6 * nc :] + self.by_most[:, None] * most
        c = -np.concatenate([of_contacts.reshape(6 * nc, k), of_joints])
        known = c.copy()
        known[self.unknown] = 0.0
        if known.any():
            e = e + self._acts.T @ known
        return e, c[self.unknown], known

    def right_sides_transposed(self, on_e: Array, on_c: Array, on_r: Array) -> Array:
        """Return weights of the effects, for weights of e, of c and of the impulses (p, k)."""
        nc, k = self.nc, on_e.shape[1]
        out = np.zeros((self.equations.size, k))
        on_known = on_r + self._acts @ on_e
        on_known[self.unknown] = on_c
        contacts, joints = on_known[: 6 * nc].reshape(nc, 6, k), on_known[6 * nc :]
        lines = self.equations.lines
        out[lines[0]] = on_e
        out[lines[1]] = -np.concatenate(
            [np.matmul(self.L_u.transpose(0, 2, 1), contacts).reshape(6 * nc, k), self.on[:, None] * joints]
        )
        out[lines[6]] = -np.matmul(self.L_mu.transpose(0, 2, 1), contacts).reshape(3 * nc, k)
        out[lines[7]] = -self.by_most[:, None] * joints
        return out


class System:
    """Linear system, factored once."""

    def __init__(self, inverse: Array, acts: Any, moves: Any, D: Entries):
        """inverse: A⁻¹ by dynamic bodies, (nd, 6, 6); acts, moves: B' and C of the unknown impulses, (m, 6
        nd)
        each, both dense or both sparse; D: entries of D."""
        self._inverse, self._acts, self._moves = inverse, acts, moves
        S = self._complement(*D)
        largest = abs(S).max(axis=1).toarray() if sp.issparse(S) else np.abs(S).max(axis=1, initial=0.0)
        size = np.asarray(largest).reshape(-1, 1)
        self._weight = 1.0 / np.where(size > 0.0, size, 1.0)
        weighed = sp.csr_array(S * self._weight) if sp.issparse(S) else self._weight * S
        self._factor = Factor(weighed, np.zeros(len(size), bool), RANK)
        self.unique = self._factor.full_rank
        """Whether impulses are unique."""
        self.moves_alone = not self.unique and self._moves_alone()
        """Whether null-space impulses change velocities."""

    def _complement(self, entries: Array, lines: IntArray, columns: IntArray) -> Any:
        """Return S = D + C A⁻¹ B, dense for few rows."""
        m, nd = self._acts.shape[0], len(self._inverse)
        if not sp.issparse(self._acts):
            S = np.matmul(self._moves.reshape(m, nd, 1, 6), self._inverse).reshape(m, 6 * nd) @ self._acts.T
            S[lines, columns] += entries
            return S
        square = sp.csr_array((entries, (lines, columns)), shape=(m, m))
        S = square + self._moves @ sp.block_diag(list(self._inverse), format="csr") @ self._acts.T
        return S.toarray() if m <= FEW else sp.csr_array(S)

    def _moves_alone(self) -> bool:
        free, acts = self._factor.null_space(), self._acts
        moved, parts = (
            np.abs(self._times(rows.T @ x, transposed=False))
            for rows, x in ((acts, free), (abs(acts), np.abs(free)))
        )
        return bool((moved > ALONE * parts.max(initial=0.0)).any())

    def _times(self, e: Array, *, transposed: bool) -> Array:
        """Return A⁻¹ e or A⁻ᵀ e."""
        blocks = self._inverse.transpose(0, 2, 1) if transposed else self._inverse
        return np.matmul(blocks, e.reshape(blocks.shape[0], 6, e.shape[1])).reshape(e.shape)

    def solve(self, e: Array, c: Array) -> tuple[Array, Array]:
        """Return (dv, dr) for e (6 nd, k) and c (m, k)."""
        a = self._times(e, transposed=False)
        dr = self._factor.solve(self._weight * (c - self._moves @ a))
        return a + self._times(self._acts.T @ dr, transposed=False), dr

    def torn(self, e: Array, c: Array) -> bool:
        """Whether some columns of e, c are outside the range of the system: they would open redundant
        rows."""
        if self.unique:
            return False
        right_side = c - self._moves @ self._times(e, transposed=False)
        right_side *= self._weight
        size = np.linalg.norm(right_side, axis=0)
        return bool((self._factor.mismatch(right_side) * size > TORN * size.max(initial=0.0)).any())

    def solve_transposed(self, g_v: Array, g_r: Array) -> tuple[Array, Array]:
        """Return weights of e and c, for weights of dv (6 nd, k) and dr (m, k)."""
        back = self._times(g_v, transposed=True)
        y = self._weight * self._factor.solve_transposed(g_r + self._acts @ back)
        return back - self._times(self._moves.T @ y, transposed=True), y


def on_bodies(rows: Array, body: IntArray, count: int) -> Any:
    """Return rows (m, 2, 6) of pairs of bodies (m, 2) as a matrix (m, 6 count), sparse if it is large.

    Entries of body -1 are omitted.
    """
    m = len(body)
    if m <= FEW and 6 * m * count <= WHOLE:
        out = np.zeros((m, count + 1, 6))
        for side in range(2):
            out[np.arange(m), body[:, side]] += rows[:, side]
        return out[:, :count].reshape(m, 6 * count)
    line = np.broadcast_to(np.arange(m)[:, None, None], rows.shape)
    column = np.broadcast_to(6 * body[:, :, None] + np.arange(6), rows.shape)
    there = np.broadcast_to(body[:, :, None] >= 0, rows.shape)
    return sp.csr_array((rows[there], (line[there], column[there])), shape=(m, 6 * count))
