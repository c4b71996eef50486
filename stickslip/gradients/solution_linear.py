"""Linearised contact problems at their solution: changes of impulses and velocities for changes of the data.

    local:    du = W dr + velocity
    global:   M dv - H dr - G dlam = momentum,   du = H'dv + velocity,   0 = G'dv + joint

together with the linearised law, which includes changes of coefficients and bounds. Callers compute
`momentum`,
`velocity` and `joint` from the changes of their data: df - dM v + dH r + dG lam, dH'v + du_bias, and
dG'v + dg_bias.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.gradients.solution_exact import exact_point
from stickslip.gradients.solution_factor import DENSE, RANK, Factor
from stickslip.gradients.solution_rows import Causes, Reduced
from stickslip.gradients.solution_smooth import central_point
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.mass import MassMatrix
from stickslip.problem.sets import free
from stickslip.state import Array, BoolArray

NOT_UNIQUE = (
    "impulses are not unique: of their changes the one of least norm is taken, and changes of the data that"
    " no impulses can follow have no derivative (mismatch tells)"
)
NOR_VELOCITIES = "nor are velocities unique: they change with the impulses"
NOR_THEIR_CHANGES = "nor are changes of velocities: how a slip turns depends on the impulses that are taken"
TRIED = 3
"""Number of random changes, and of random impulses from the null space, by which it is tested whether changes
of velocities depend on the choice of impulses. One of each detects it with probability 1."""


class Changes(NamedTuple):
    """Changes of the unknowns of a global problem, or weights of these, each of shape (size, k)."""

    v: Array
    """Velocities [m/s, rad/s]."""
    lam: Array
    """Bilateral multipliers [N s]."""
    r: Array
    """Contact impulses [N s]."""
    u: Array
    """Contact velocities [m/s]."""


class ReducedLinearisation:
    """Linearisation of u = W r + u_free and of the law of K."""

    def __init__(
        self, problem: Reduced, r: Array, tolerance: float, kappa: float = 0.0, found: bool = False,
        share: float = 0.0,
    ):  # fmt: skip
        """Linearise at impulses r that are accurate to `tolerance`.

        found: at exactly these impulses, even if they are not unique.
        share: relative accuracy of the velocities of the data [-]; borders closer than that are kinks.
        """
        self.K, self.W = problem.K, problem.W
        if kappa > 0.0:
            self.r, self.law = central_point(problem, r, kappa)
            self._factor = Factor(self.law.matrix(self.W), self.law.passive, RANK)
        else:
            point = exact_point(problem, r, tolerance, found)
            self.r, self.law, self._factor = point.r, point.doubted(share), point.factor
        self.u = problem.u(self.r)
        self.unique = self._factor.full_rank
        doubts = self._ambiguities()
        self.exists = not self.law.kinks and len(doubts) <= 1
        self.notes = (*self.law.kinks, *doubts, *self.law.notes)

    def _ambiguities(self) -> tuple[str, ...]:
        """Return sentences about quantities that are not unique.

        If more than the impulses is not unique, there is no derivative.
        """
        if self.unique:
            return ()
        scales, other = self.law.scales, self._factor.null_space()
        if self._moves(other) > 1e-8:
            return NOT_UNIQUE, NOR_VELOCITIES
        rng = np.random.default_rng(0)
        push, mixed = (rng.normal(size=(count, TRIED)) for count in (self.K.size, other.shape[1]))
        if self._turns(self.W @ (scales.length[:, None] * push), other @ mixed):
            return NOT_UNIQUE, NOR_THEIR_CHANGES
        return (NOT_UNIQUE,)

    @property
    def presses(self) -> BoolArray:
        """Components of all blocks except contacts that open, away from the border [-], shape (n,)."""
        return np.broadcast_to(~self.law.opens, self.r.shape)

    @property
    def near(self) -> Array:
        """Velocities below which the accuracy of the data cannot distinguish u from 0 [m/s, rad/s], shape
        (n,)."""
        return np.broadcast_to(self.law.doubt / self.law.scales.push, self.r.shape)

    @property
    def varying(self) -> BoolArray:
        """Components of r that are not unique [-], shape (n,)."""
        if self.unique:
            return np.zeros(self.K.size, bool)
        return np.asarray(np.abs(self._factor.null_space()).max(axis=1, initial=0.0) > 1e-8)

    def _turns(self, velocity: Array, other: Array) -> bool:
        """Whether changes of velocities due to `velocity`, (n, k), differ at impulses r + d.

        d is each column of `other`, shape (n, count). The direction of a slipping contact turns in proportion
        to its force, which may differ there.
        """
        du = self.W @ self.forward(Causes(velocity=velocity)) + velocity
        for k in range(other.shape[1]):
            turned = self.law.turned(other[:, k], self.law.scales.push[:, None] * du)
            size = float(np.abs(turned).max(initial=0.0))
            if size > 1e-9 and self._moves(self._factor.solve(turned)) > 1e-6 * size:
                return True
        return False

    def _moves(self, dz: Array) -> float:
        """Return the largest velocity that impulses dz (n, k) cause, in the units of the law."""
        scales = self.law.scales
        moved = scales.push[:, None] * (self.W @ (scales.length[:, None] * dz))
        return float(np.abs(moved).max(initial=0.0))

    def forward(self, given: Causes) -> Array:
        """Return dr, shape (n, k), for changes of u at constant r and of the law."""
        return self.law.scales.length[:, None] * self._factor.solve(self.law.right_hand_side(given))

    def backward(self, weights: Array) -> Causes:
        """Transpose of `forward`: return weights of velocity, coefficient, lower and upper, for weights of
        dr."""
        y = self._factor.solve_transposed(self.law.scales.length[:, None] * weights)
        return self.law.right_hand_side_transposed(y, len(self.K))

    def mismatch(self, given: Causes) -> Array:
        """Share of these changes that no impulses can follow, 0 to 1, shape (k,); 0 if `unique`."""
        if self.unique:
            return np.zeros(given.columns)
        return self._factor.mismatch(self.law.right_hand_side(given))


class GlobalLinearisation:
    """Linearisation of a GlobalProblem at its solution, or at a point of its central path.

    `r`, `u`, `v`, `lam` are the point of linearisation: the solution refined to rounding, or the smoothed
    one.
    """

    def __init__(
        self, problem: GlobalProblem, r: Array, lam: Array | None = None, tolerance: float = 1e-8,
        kappa: float = 0.0, found: bool = False, share: float = 0.0,
    ):  # fmt: skip
        """Linearise at a solution that is accurate to `tolerance`; other arguments as in
        `ReducedLinearisation`."""
        self.problem = problem
        M, p = problem.M, problem.g_bias.size
        self._symmetric = M.is_body_blocks or not _skew(M)
        self._transposed = M if self._symmetric else MassMatrix(M.matrix.T)
        H = problem.H_matrix if p == 0 else sp.csr_array(sp.hstack([problem.H_sparse(), problem.G_sparse()]))
        self._H = H.toarray() if sp.issparse(H) and H.shape[1] <= DENSE else H
        W = self._H.T @ M.solve(self._H)
        bias = np.concatenate([problem.u_bias, problem.g_bias])
        u_free = self._H.T @ M.solve(problem.f) + bias
        K = problem.K + free(*(1,) * p) if p else problem.K
        both = np.concatenate([r, np.zeros(p) if lam is None else lam])
        core = ReducedLinearisation(Reduced(K, W, u_free), both, tolerance, kappa, found, share)
        self._core, n = core, problem.size
        self.r, self.lam = core.r[:n], core.r[n:]
        self.v = M.solve(problem.f + self._H @ core.r)
        self.u = core.u[:n]
        self.exists, self.unique, self.notes = core.exists, core.unique, core.notes
        self.kappa = kappa

    @property
    def presses(self) -> BoolArray:
        """Components of all blocks except contacts that open, away from the border [-], shape (n,)."""
        return self._core.presses[: self.problem.size]

    @property
    def varying(self) -> BoolArray:
        """Components of r that are not unique [-], shape (n,)."""
        return self._core.varying[: self.problem.size]

    def forward(self, given: Causes) -> Changes:
        """Return the changes of the unknowns, each (size, k)."""
        start, apart, reduced = self._reduced(given)
        dr, n = self._core.forward(reduced), self.problem.size
        dv = start + self.problem.M.solve(self._H @ dr)
        return Changes(dv, dr[n:], dr[:n], self._H.T[:n] @ dv + apart[:n])

    def backward(
        self, v: Array | None = None, lam: Array | None = None, r: Array | None = None, u: Array | None = None
    ) -> Causes:
        """Transpose of `forward`: return weights of all causes, for weights of the changes (zero unless
        given)."""
        problem, n = self.problem, self.problem.size
        k = next((x.shape[1] for x in (v, lam, r, u) if x is not None), 0)
        direct = np.zeros((self._core.K.size, k))
        if u is not None:
            direct[:n] = u
        on_v = self._H @ direct
        if v is not None:
            on_v = on_v + v
        on_p = self._transposed.solve(on_v)
        on_r = self._H.T @ on_p
        if r is not None:
            on_r[:n] += r
        if lam is not None:
            on_r[n:] += lam
        causes, nb = self._core.backward(on_r), len(problem.K)
        momentum = on_p + self._transposed.solve(self._H @ causes.velocity)
        velocity = causes.velocity + direct
        bounds = causes.lower[:nb], causes.upper[:nb]
        return Causes(momentum, velocity[:n], velocity[n:], causes.coefficient, *bounds)

    def mismatch(self, given: Causes) -> Array:
        """Share of these changes that no impulses can follow, 0 to 1, shape (k,)."""
        return self._core.mismatch(self._reduced(given)[2])

    def _reduced(self, given: Causes) -> tuple[Array, Array, Causes]:
        """Return the change of v at constant r, the change of the biases of H'v and G'v, and the causes of
        the
        reduced problem."""
        problem, n, k = self.problem, self.problem.size, given.columns
        bias = np.zeros((self._core.K.size, k))
        for part, change in ((bias[:n], given.velocity), (bias[n:], given.joint)):
            if change.size:
                part[:] = change
        start = problem.M.solve(given.momentum) if given.momentum.size else np.zeros((problem.M.size, k))
        lower, upper = (
            np.concatenate([bound, np.zeros((problem.g_bias.size, k))]) if bound.size else bound
            for bound in (given.lower, given.upper)
        )
        velocity = self._H.T @ start + bias
        return start, bias, Causes(velocity=velocity, coefficient=given.coefficient, lower=lower, upper=upper)


def _skew(M: MassMatrix) -> bool:
    """Whether M is not symmetric."""
    difference = M.sparse - M.sparse.T
    return bool(difference.nnz and np.abs(difference.data).max() > 0.0)
