"""Alternating direction method of multipliers (ADMM), on Coulomb's law or on convex problems.

In units of the problem's own, u_hat = W r + q + s with s the shift. Split u_hat = h, h = W t + q + s:

    (I + rho W) t = r - rho (q + s - y)          W t by a factor of I + rho W
    h = alpha (W t + q + s) + (1 - alpha) y      over-relaxation (Eckstein & Bertsekas 1992)
    r <- P_K(r - rho h),  y <- h + (r_new - r_old) / rho        so that y in K*, y ⟂ r

(Boyd et al. 2011, 3.1 and 3.4.3). Two forms of the first line,
`solvers/factors.py`: in the impulses, and in the velocities of the bodies, delta = J't.
Coulomb's law is the convex problem with s = sum_k mu_k |y_k|; s follows y from step to step.
rho balances the two residuals (He, Yang & Wang 2000), at ever longer intervals, so that the method ends
as one with fixed rho. In units of the problem's own r and u have the same size, so that both are measured
against one length; relative to r and to u apart (Wohlberg 2017) they mislead where most contacts are open.
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
"""Bounds of rho, in units where W_ii is about 1: beyond, one residual drowns in rounding of the other."""
NOISE = 1e-14
"""Residuals below this, for the dual one times rho, are rounding."""
FURTHEST = 10.0
"""Largest factor of rho in one change."""


class Splitting:
    """The iteration itself; a `ConvexMethod`, or with `exact` Coulomb's law."""

    def __init__(
        self, problem: ConvexProblem, *, exact: bool = False, form: str = "auto", rho: float = 10.0,
        alpha: float = 1.6, balance: float = 5.0,
    ):  # fmt: skip
        """`balance`: rho changes when the residuals ask for a change by more than this factor."""
        n, nb = problem.K.size, len(problem.K)
        self.exact, self.rho, self.alpha, self.balance = exact, float(rho), float(alpha), float(balance)
        self._factor, self._factored_for = factor_of(problem.W, form), 0.0
        self._s, self._b, self._x = np.zeros(nb), np.zeros(n), np.zeros(n)
        self._state = np.zeros(kernels.SLOTS)
        self._made, self.z = 0, np.zeros(n)
        self.start(problem, self.z)

    def start(self, problem: ConvexProblem, z: Array) -> None:
        """Begin at `z`; rho and its factor are kept, and where it is where the last run ended, y too.

        Without y a step from a half-converged z would be one of length rho along its velocity.
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
        """At most `count` iterations; for tolerance > 0 until the convex residual is below it."""
        p, state = self.problem, self._state
        if not self._begun:
            self._set_rho(self.rho)
            self._begun = True
        for made in range(1, count + 1):
            Wt = self._factor.product(self._b)
            kernels.step(p.C, self.exact, self.rho, self.alpha, p.q, self._at, Wt, state)
            self._made += 1
            if tolerance and max(state[kernels.PRIMAL], state[kernels.DUAL]) <= tolerance:
                self.error = p.natural(self.z)
                if self.error <= tolerance:
                    return made
            if self._made >= self._next:
                self._rebalance()
        if tolerance:
            self.error = p.natural(self.z)
        return count

    def _rebalance(self) -> None:
        """rho <- rho sqrt(primal / dual), ever more seldom."""
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
        """The iterate as kernels take it."""
        return self.z, self._y, self._s, self._b, self._x


@dataclass(frozen=True, slots=True, kw_only=True)
class ADMM(FirstOrder):
    """ADMM on the exact law: one factorisation per rho, then cheap steps; over-relaxed, balanced."""

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
