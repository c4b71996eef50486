"""A contact problem to first order at its solution: how impulses and velocities follow other changes.

    local:    du = W dr + velocity
    global:   M dv - H dr - G dlam = momentum,   du = H'dv + velocity,   0 = G'dv + joint

and the law, differentiated with the changes of its coefficients and bounds. Callers put into `momentum`,
`velocity` and `joint` whatever their own variables change: df - dM v + dH r + dG lam, dH'v + du_bias, and
dG'v + dg_bias.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.gradients.solution_exact import exact_point
from stickslip.gradients.solution_factor import DENSE, RANK, Factor
from stickslip.gradients.solution_laws import LawScales
from stickslip.gradients.solution_smooth import central_point
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.mass import MassMatrix
from stickslip.problem.sets import ProductSet, free
from stickslip.state import Array, BoolArray

NOT_UNIQUE = (
    "impulses are not unique: of their changes the one of least norm is taken, and changes of the data that"
    " no impulses can follow have no derivative (mismatch tells)"
)
NOR_VELOCITIES = "nor are velocities unique: they change with the impulses"
NOR_THEIR_CHANGES = "nor are changes of velocities: how a slip turns depends on the impulses that are taken"
TRIED = 3
"""Random changes, and random impulses that are not unique, by which it is tried whether changes of velocities
depend on such impulses: one of each shows it almost surely."""


class Changes(NamedTuple):
    """What changes in a global problem, each of shape (size, k); as weights, what is asked of each."""

    v: Array
    """Velocities [m/s, rad/s]."""
    lam: Array
    """Bilateral multipliers [N s]."""
    r: Array
    """Contact impulses [N s]."""
    u: Array
    """Contact velocities [m/s]."""


class Causes(NamedTuple):
    """Weights of what a global problem can be changed by, each of shape (size, k)."""

    momentum: Array
    """Of M dv - H dr - G dlam = momentum, shape (nv, k)."""
    velocity: Array
    """Of du = H'dv + velocity, shape (n, k)."""
    joint: Array
    """Of 0 = G'dv + joint, shape (p, k)."""
    coefficient: Array
    """Of friction, one for each group of K, shape (ng, k)."""
    lower: Array
    """Of the lower bounds of the blocks of K, shape (nb, k)."""
    upper: Array
    """Of their upper bounds, shape (nb, k)."""


class ReducedLinearisation:
    """u = W r + u_free and the law of K, to first order; W dense or sparse, symmetric or not."""

    def __init__(
        self,
        K: ProductSet,
        W: Array | sp.csr_array,
        u_free: Array,
        r: Array,
        tolerance: float,
        kappa: float = 0.0,
        found: bool = False,
        share: float = 0.0,
    ):
        """At impulses r accurate to `tolerance`; `found`: at these impulses, though they are not unique.

        share: what velocities of the data are known to [-]; borders closer than that are kinks.
        """
        self.K, self.W = K, W
        scales = LawScales.of(K, W.diagonal())
        if kappa > 0.0:
            self.r, self.law = central_point(K, scales, W, u_free, r, kappa)
            self._factor = Factor(self.law.matrix(W), self.law.passive, RANK)
        else:
            point = exact_point(K, scales, W, u_free, r, tolerance, found)
            self.r, self.law, self._factor = point.r, point.doubted(share), point.factor
        self.u = W @ self.r + u_free
        self.unique = self._factor.full_rank
        doubts = self._ambiguities()
        self.exists = not self.law.kinks and len(doubts) <= 1
        self.notes = (*self.law.kinks, *doubts, *self.law.notes)

    def _ambiguities(self) -> tuple[str, ...]:
        """Sentences about what is not unique; beyond impulses, there is no derivative."""
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
        """Components of all blocks but those that open, away from the border [-], shape (n,)."""
        return np.broadcast_to(~self.law.opens, self.r.shape)

    @property
    def near(self) -> Array:
        """Velocities that the data are not known to tell from 0 [m/s, rad/s], shape (n,)."""
        return np.broadcast_to(self.law.doubt / self.law.scales.push, self.r.shape)

    @property
    def varying(self) -> BoolArray:
        """Components of r that are not unique [-], shape (n,)."""
        if self.unique:
            return np.zeros(self.K.size, bool)
        return np.asarray(np.abs(self._factor.null_space()).max(axis=1, initial=0.0) > 1e-8)

    def _turns(self, velocity: Array, other: Array) -> bool:
        """Whether changes of velocities that follow from `velocity`, (n, k), are others at impulses r + d.

        What slips turns with the force that it has there.   d: each column of `other`, shape (n, count).
        """
        du = self.W @ self.forward(velocity) + velocity
        for k in range(other.shape[1]):
            turned = self.law.turned(other[:, k], self.law.scales.push[:, None] * du)
            size = float(np.abs(turned).max(initial=0.0))
            if size > 1e-9 and self._moves(self._factor.solve(turned)) > 1e-6 * size:
                return True
        return False

    def _moves(self, dz: Array) -> float:
        """Largest velocity of impulses dz (n, k), in the units of the law."""
        scales = self.law.scales
        moved = scales.push[:, None] * (self.W @ (scales.length[:, None] * dz))
        return float(np.abs(moved).max(initial=0.0))

    def forward(
        self,
        velocity: Array,
        coefficient: Array | None = None,
        lower: Array | None = None,
        upper: Array | None = None,
    ) -> Array:
        """dr, shape (n, k), where u changes by `velocity` besides W dr."""
        c = self.law.right_hand_side(velocity, coefficient, lower, upper)
        return self.law.scales.length[:, None] * self._factor.solve(c)

    def backward(self, weights: Array) -> tuple[Array, Array, Array, Array]:
        """The transpose: weights of velocity, coefficient, lower and upper from those of dr."""
        y = self._factor.solve_transposed(self.law.scales.length[:, None] * weights)
        return self.law.right_hand_side_transposed(y, len(self.K))

    def mismatch(
        self,
        velocity: Array,
        coefficient: Array | None = None,
        lower: Array | None = None,
        upper: Array | None = None,
    ) -> Array:
        """How much of these changes no impulses can follow, 0 to 1, shape (k,): 0 unless not `unique`."""
        if self.unique:
            return np.zeros(velocity.shape[1])
        return self._factor.mismatch(self.law.right_hand_side(velocity, coefficient, lower, upper))


class GlobalLinearisation:
    """A GlobalProblem to first order at its solution, or at a point of its central path.

    `r`, `u`, `v`, `lam` are where it is taken: the solution, polished to rounding, or the smoothed one.
    """

    def __init__(
        self,
        problem: GlobalProblem,
        r: Array,
        lam: Array,
        tolerance: float,
        kappa: float = 0.0,
        found: bool = False,
        share: float = 0.0,
    ):
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
        core = ReducedLinearisation(K, W, u_free, np.concatenate([r, lam]), tolerance, kappa, found, share)
        self._core, n = core, problem.size
        self.r, self.lam = core.r[:n], core.r[n:]
        self.v = M.solve(problem.f + self._H @ core.r)
        self.u = core.u[:n]
        self.exists, self.unique, self.notes = core.exists, core.unique, core.notes
        self.kappa = kappa

    @property
    def presses(self) -> BoolArray:
        """Components of all blocks but those that open, away from the border [-], shape (n,)."""
        return self._core.presses[: self.problem.size]

    @property
    def varying(self) -> BoolArray:
        """Components of r that are not unique [-], shape (n,)."""
        return self._core.varying[: self.problem.size]

    @classmethod
    def of(
        cls,
        problem: GlobalProblem,
        v: Array | None,
        lam: Array | None,
        r: Array,
        u: Array | None = None,
        tolerance: float = 1e-8,
        kappa: float = 0.0,
        share: float = 0.0,
    ) -> "GlobalLinearisation":
        """At an answer accurate to `tolerance`; v and u follow from r and lam and are computed anew."""
        multipliers = np.zeros(problem.g_bias.size) if lam is None else lam
        return cls(problem, r, multipliers, tolerance, kappa, share=share)

    def forward(
        self,
        momentum: Array | None = None,
        velocity: Array | None = None,
        joint: Array | None = None,
        coefficient: Array | None = None,
        lower: Array | None = None,
        upper: Array | None = None,
    ) -> Changes:
        """Changes that follow from these, each (size, k); what is not given is zero."""
        start, pulled, apart = self._given(momentum, velocity, joint, coefficient, lower, upper)
        dr = self._core.forward(pulled, coefficient, self._of_all(lower), self._of_all(upper))
        dv = start + self.problem.M.solve(self._H @ dr)
        n = self.problem.size
        return Changes(dv, dr[n:], dr[:n], self._H.T[:n] @ dv + apart[:n])

    def backward(
        self,
        v: Array | None = None,
        lam: Array | None = None,
        r: Array | None = None,
        u: Array | None = None,
    ) -> Causes:
        """The transpose: weights of all causes from those of the changes; what is not given is zero."""
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
        velocity, coefficient, lower, upper = self._core.backward(on_r)
        momentum = on_p + self._transposed.solve(self._H @ velocity)
        velocity = velocity + direct
        nb = len(problem.K)
        return Causes(momentum, velocity[:n], velocity[n:], coefficient, lower[:nb], upper[:nb])

    def mismatch(
        self,
        momentum: Array | None = None,
        velocity: Array | None = None,
        joint: Array | None = None,
        coefficient: Array | None = None,
        lower: Array | None = None,
        upper: Array | None = None,
    ) -> Array:
        """How much of these changes no impulses can follow, 0 to 1, shape (k,): there is no derivative."""
        _, pulled, _ = self._given(momentum, velocity, joint, coefficient, lower, upper)
        return self._core.mismatch(pulled, coefficient, self._of_all(lower), self._of_all(upper))

    def _of_all(self, bound: Array | None) -> Array | None:
        """Changes of bounds with those of the bilateral rows, which have none."""
        p = self.problem.g_bias.size
        return bound if bound is None or not p else np.concatenate([bound, np.zeros((p, bound.shape[1]))])

    def _given(
        self, momentum: Array | None, velocity: Array | None, joint: Array | None, *law: Array | None
    ) -> tuple[Array, Array, Array]:
        """Change of v with r held, of H'v + ... with it, and of that apart from v."""
        problem, n = self.problem, self.problem.size
        k = next((x.shape[1] for x in (momentum, velocity, joint, *law) if x is not None), 0)
        bias = np.zeros((self._core.K.size, k))
        if velocity is not None:
            bias[:n] = velocity
        if joint is not None:
            bias[n:] = joint
        if momentum is None:
            return np.zeros((problem.M.size, k)), bias, bias
        start = problem.M.solve(momentum)
        return start, self._H.T @ start + bias, bias


def _skew(M: MassMatrix) -> bool:
    difference = M.sparse - M.sparse.T
    return bool(difference.nnz and np.abs(difference.data).max() > 0.0)
