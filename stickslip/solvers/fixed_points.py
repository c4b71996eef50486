"""Fixed points around convex problems: the s-loop and Tresca's thresholds.

Both freeze one half of Coulomb's law, solve the convex problem that remains, and update:

- s-loop: u_hat = u + s e_N with s = sum_k mu_k |u_k| held; K* ∋ W r + u_free + s e_N ⟂ r ∈ K is convex
  (Cadoux 2009; Acary, Cadoux, Lemaréchal & Malick 2011). For one block on a slope it contracts by
  mu² / (1 + mu²).
- Tresca: the thresholds mu_k r_N held; r_N >= 0, |r_k| <= threshold is convex (Haslinger 1983).

The convex problems need be solved only a little better than the outer loop has come.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stickslip.kernels import splitting
from stickslip.options import iterations_option, option
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert import unit_free
from stickslip.problem.solution import Status
from stickslip.solvers.base import ContactSolver
from stickslip.solvers.convex import METHODS, ConvexProblem, convex_method
from stickslip.solvers.factors import Singular
from stickslip.solvers.watch import Watch

PATIENCE = 100
"""Outer iterations without halving the error before the loop counts as stalled."""
FINEST = 1e-15
"""Smallest tolerance asked of a convex method."""
SLOW = 0.5
"""An outer error that falls by less makes the convex problems be solved better."""
CIRCLING = 10
"""Outer iterations without a better error after which the loop is damped: both may go round in circles."""
LEAST_SHARE, LEAST_DAMPING = 1e-3, 0.2
"""Where the tightening of the convex problems and the damping of the loop end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(ContactSolver):
    """Base of the two: the outer iteration and its options."""

    max_iterations: int = iterations_option(500, "outer iterations")
    inner: str = option("apgd", "method for the convex problems", choices=METHODS)
    inner_iterations: int = option(5_000, "largest number of iterations on one convex problem", low=1)
    accuracy: float = option(
        0.1, "tolerance of a convex problem, relative to the outer error", low=0.0, high=1.0,
        open_low=True, open_high=True,
    )  # fmt: skip
    damping: float = option(
        1.0,
        "relaxation of the outer update, reduced where the loop cycles",
        low=0.0,
        high=1.0,
        open_low=True,
    )

    patience: ClassVar[int] = PATIENCE

    def iterate(self, problem: ContactProblem, guess: Array | None, watch: Watch) -> None:
        """The outer iteration."""
        own = unit_free(problem)
        law = own.problem
        convex = ConvexProblem.relaxation(law)
        z = convex.project(np.zeros(law.size) if guess is None else own.guess(guess))
        watch.look(own.recover(z).r, 0)
        error, share, damping = watch.scaled, self.accuracy, self.damping
        best, since = error, 0
        if watch.goes_on:
            method = convex_method(self.inner, convex)
            now = self.held(law, z)
        try:
            while watch.goes_on:
                method.start(self.subproblem(convex, law, now), z)
                method.advance(max(share * min(error, 1.0), FINEST), self.inner_iterations)
                z, before = method.z.copy(), error
                watch.look(own.recover(z).r)
                error = watch.scaled
                if error > SLOW * before:  # is it the loop, or the half-solved problem in it?
                    share = max(share / 3.0, LEAST_SHARE)
                best, since = (error, 0) if error < best else (best, since + 1)
                if since == CIRCLING:
                    damping, since = max(0.7 * damping, LEAST_DAMPING), 0
                now = now + damping * (self.held(law, z) - now)
        except Singular as failure:
            watch.stop(Status.STALLED, f"{self.inner}: {failure}")

    @abstractmethod
    def held(self, law: ContactProblem, z: Array) -> Array:
        """What the loop holds at z: shifts or thresholds, one per block, shape (nb,)."""

    @abstractmethod
    def subproblem(self, convex: ConvexProblem, law: ContactProblem, held: Array) -> ConvexProblem:
        """The convex problem that remains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftLoop(Loop):
    """The s-loop: convex problems with the shift s = mu |u_T| held, then updated."""

    name = "s-loop"

    def held(self, law: ContactProblem, z: Array) -> Array:
        """s = sum_k mu_k |u_k| at z, shape (nb,)."""
        s = np.zeros(len(law.K))
        splitting.shift_from(law.K.arrays, True, law.W.apply(z, law.u_free), s)
        return s

    def subproblem(self, convex: ConvexProblem, law: ContactProblem, held: Array) -> ConvexProblem:
        """With these shifts."""
        return convex.shifted(law.u_free, held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tresca(Loop):
    """Tresca's fixed point: convex problems with the thresholds mu r_N held, then updated."""

    name = "tresca"

    def held(self, law: ContactProblem, z: Array) -> Array:
        """The first component of each block: r_N of contacts, shape (nb,)."""
        return z[law.K.offset[:-1]]

    def subproblem(self, convex: ConvexProblem, law: ContactProblem, held: Array) -> ConvexProblem:
        """With the thresholds of these normal impulses."""
        return convex.with_thresholds(held)
