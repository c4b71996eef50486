"""Alternating direction method of multipliers (ADMM), on Coulomb's law or on convex problems.

In dimensionless units (`unit_free`), u_hat = W r + q + s with the shift s. Split u_hat = h, h = W t + q + s:

    (I + rho W) t = r - rho (q + s - y)          W t by a factor of I + rho W
    h = alpha (W t + q + s) + (1 - alpha) y      over-relaxation (Eckstein & Bertsekas 1992)
    r <- P_K(r - rho h),  y <- h + (r_new - r_old) / rho        so that y in K*, y ⟂ r

(Boyd et al. 2011, 3.1 and 3.4.3). The first line is solved in the impulses, or in the velocities of the
bodies, delta = J't (`solvers/factors.py`). Coulomb's law is the convex problem with s = sum_k mu_k |y_k|,
where s is updated from y in every step. rho is adapted to balance the two residuals (He, Yang & Wang 2000),
at longer and longer intervals, so that it finally stays fixed. In dimensionless units r and u have the same
size, so both residuals are measured relative to one length. Residuals relative to r and to u separately
(Wohlberg 2017) are misleading if most contacts are open.
"""

from dataclasses import dataclass

import numpy as np

from stickslip.kernels import splitting as kernels
from stickslip.options import iterations_option, option
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import BodyDelassus
from stickslip.solvers.convex import ConvexProblem
from stickslip.solvers.factors import factor_of
from stickslip.solvers.first_order import FirstOrder
from stickslip.solvers.watch import Watch

SMALLEST, LARGEST = 1e-4, 1e4
"""Bounds of rho, in units where W_ii is about 1: beyond, rounding of one residual hides the other."""
NOISE = 1e-14
"""Residuals below this (the dual one times rho) are rounding errors."""
FURTHEST = 10.0
"""Largest factor of rho in one update (heuristic)."""


class Splitting:
    """The iteration: a `ConvexMethod`; with `exact`, for Coulomb's law."""

    def __init__(
        self, problem: ConvexProblem, *, exact: bool = False, form: str = "auto", rho: float = 10.0,
        alpha: float = 1.6, balance: float = 5.0,
    ):  # fmt: skip
        """`balance`: rho is updated if the residuals require a change by more than this factor."""
        n, nb = problem.K.size, len(problem.K)
        self.exact, self.rho, self.alpha, self.balance = exact, float(rho), float(alpha), float(balance)
        self._factor, self._factored_for = factor_of(problem.W, form), 0.0
        self._s, self._b, self._x = np.zeros(nb), np.zeros(n), np.zeros(n)
        self._state = np.zeros(kernels.SLOTS)
        self._made, self.z = 0, np.zeros(n)
        self.start(problem, self.z)

    def start(self, problem: ConvexProblem, z: Array) -> None:
        """Start at `z`; rho and its factor are kept, and also y if `z` is the result of the last run.

        Without y, the first step from a half-converged z would be of length rho along its velocity.
        """
        again = self._made > 0 and np.array_equal(z, self.z)
        self.problem, self.z, self.error = problem, problem.project(z), np.inf
        if not again:
            self._y = problem.W.apply(self.z, problem.q)
            kernels.shift_from(problem.C, self.exact, self._y, self._s)
            self._y[problem.K.offset[:-1]] += self._s
            self._next = self._made + 10
        self._begun = False

    def advance(self, tolerance: float, count: int) -> int:
        """Make at most `count` iterations; with tolerance > 0, stop once the convex residual is below it."""
        p, state = self.problem, self._state
        if not self._begun:
            self._set_rho(self.rho)
            self._begun = True
        for iteration in range(1, count + 1):
            Wt = self._factor.product(self._b)
            kernels.step(p.C, self.exact, self.rho, self.alpha, p.q, self._at, Wt, state)
            self._made += 1
            if tolerance and max(state[kernels.PRIMAL], state[kernels.DUAL]) <= tolerance:
                self.error = p.natural(self.z)
                if self.error <= tolerance:
                    return iteration
            if self._made >= self._next:
                self._rebalance()
        if tolerance:
            self.error = p.natural(self.z)
        return count

    def _rebalance(self) -> None:
        """Update rho <- rho sqrt(primal / dual), at longer and longer intervals."""
        self._next = self._made + max(10, self._made // 2)
        primal, dual = float(self._state[kernels.PRIMAL]), float(self._state[kernels.DUAL])
        if not (primal < np.inf and dual < np.inf):
            return
        ratio = np.sqrt(max(primal, NOISE) / max(dual, NOISE * self.rho))
        if ratio > self.balance or self.balance * ratio < 1.0:
            factor = min(max(ratio, 1.0 / FURTHEST), FURTHEST)
            self._set_rho(min(max(self.rho * factor, SMALLEST), LARGEST))

    def _set_rho(self, rho: float) -> None:
        self.rho = rho
        if rho != self._factored_for:
            self._factor.factor(rho)
            self._factored_for = rho
        p = self.problem
        kernels.right_side(p.C, rho, p.q, self._at)

    @property
    def _at(self) -> tuple[Array, ...]:
        """Arrays of the iterate, as the kernels take them."""
        return self.z, self._y, self._s, self._b, self._x


@dataclass(frozen=True, slots=True, kw_only=True)
class ADMM(FirstOrder):
    """ADMM on the exact law: one factorisation per value of rho, over-relaxation, adaptive rho."""

    name, patience = "admm", 1_000
    max_iterations: int = iterations_option(10_000)
    rho: float = option(
        10.0, "first rho, in units where the mean diagonal of W_ii is 1", low=SMALLEST, high=LARGEST
    )
    over_relaxation: float = option(
        1.6, "over-relaxation: share of the new velocity in the projection; 1 for none", low=0.0, high=2.0,
        open_low=True, open_high=True,
    )  # fmt: skip
    balance: float = option(
        5.0,
        "change rho if the residuals require more than this factor; inf for never",
        low=1.0,
        open_low=True,
    )
    form: str = option(
        "auto", "factorise I + rho W or the velocities of the bodies; auto: the form of the problem",
        choices=("auto", "delassus", "bodies"),
    )  # fmt: skip

    def iterate(self, problem: ContactProblem, guess: Array | None, watch: Watch) -> None:
        """See the base."""
        if self.form == "bodies" and not isinstance(problem.W, BodyDelassus):
            raise ProblemError(
                "admm: form='bodies' needs a matrix-free problem: H as contact blocks over bodies"
                f" and M as body blocks; this one has {type(problem.W).__name__}"
            )
        FirstOrder.iterate(self, problem, guess, watch)

    def method(self, convex: ConvexProblem) -> Splitting:
        """See the base."""
        return Splitting(
            convex, exact=True, form=self.form, rho=self.rho, alpha=self.over_relaxation, balance=self.balance
        )
