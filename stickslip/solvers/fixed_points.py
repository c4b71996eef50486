"""Fixed points around convex problems: the s-loop and Tresca's thresholds.

Both fix one part of Coulomb's law, solve the remaining convex problem, and update the fixed part:

- s-loop: u_hat = u + s e_N with s = sum_k mu_k |u_k| fixed; K* ∋ W r + u_free + s e_N ⟂ r ∈ K is convex
  (Cadoux 2009; Acary, Cadoux, Lemaréchal & Malick 2011). For one block on a slope it contracts by
  mu² / (1 + mu²).
- Tresca: the thresholds mu_k r_N fixed; r_N >= 0, |r_k| <= threshold is convex (Haslinger 1983).

The convex problems are solved only a little more accurately than the outer loop has converged.
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
"""Number of outer iterations without halving the error after which the loop counts as stalled."""
FINEST = 1e-15
"""Smallest tolerance requested of a convex method."""
SLOW = 0.5
"""If the outer error does not fall to this fraction, the convex problems are solved more accurately."""
CIRCLING = 10
"""Outer iterations without a smaller error after which the update is damped, as both loops may cycle."""
LEAST_SHARE, LEAST_DAMPING = 1e-3, 0.2
"""Smallest relative tolerance of the convex problems, and smallest damping factor (heuristic)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(ContactSolver):
    """Base of the two loops: the outer iteration and its options."""

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
        """Make the outer iterations."""
        # 1. Dimensionless problem and initial impulses.
        scaled = unit_free(problem)
        law = scaled.problem
        convex = ConvexProblem.relaxation(law)
        z = convex.project(np.zeros(law.size) if guess is None else scaled.guess(guess))
        watch.look(scaled.recover(z).r, 0)
        error, share, damping = watch.scaled, self.accuracy, self.damping
        best, since = error, 0
        if watch.goes_on:
            method = convex_method(self.inner, convex)
            fixed = self.held(law, z)
        try:
            while watch.goes_on:
                # 2. Convex problem with the fixed part.
                method.start(self.subproblem(convex, law, fixed), z)
                method.advance(max(share * min(error, 1.0), FINEST), self.inner_iterations)
                z, before = method.z.copy(), error
                watch.look(scaled.recover(z).r)
                error = watch.scaled
                # 3. Accuracy of the convex problems, and damping, from the progress of the outer error.
                if error > SLOW * before:
                    share = max(share / 3.0, LEAST_SHARE)
                best, since = (error, 0) if error < best else (best, since + 1)
                if since == CIRCLING:
                    damping, since = max(0.7 * damping, LEAST_DAMPING), 0
                # 4. Damped update of the fixed part.
                fixed = fixed + damping * (self.held(law, z) - fixed)
        except Singular as failure:
            watch.stop(Status.STALLED, f"{self.inner}: {failure}")

    @abstractmethod
    def held(self, law: ContactProblem, z: Array) -> Array:
        """Return the fixed part at z: shifts or thresholds, one per block, shape (nb,)."""

    @abstractmethod
    def subproblem(self, convex: ConvexProblem, law: ContactProblem, held: Array) -> ConvexProblem:
        """Return the convex problem with the part `held` fixed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftLoop(Loop):
    """The s-loop: convex problems with fixed shift s = mu |u_T|, which is then updated."""

    name = "s-loop"

    def held(self, law: ContactProblem, z: Array) -> Array:
        """Return s = sum_k mu_k |u_k| at z, shape (nb,)."""
        s = np.zeros(len(law.K))
        splitting.shift_from(law.K.arrays, True, law.W.apply(z, law.u_free), s)
        return s

    def subproblem(self, convex: ConvexProblem, law: ContactProblem, held: Array) -> ConvexProblem:
        """Return the convex problem with these shifts."""
        return convex.shifted(law.u_free, held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tresca(Loop):
    """Tresca's fixed point: convex problems with fixed thresholds mu r_N, which are then updated."""

    name = "tresca"

    def held(self, law: ContactProblem, z: Array) -> Array:
        """Return the first component of each block: r_N of contacts, shape (nb,)."""
        return z[law.K.offset[:-1]]

    def subproblem(self, convex: ConvexProblem, law: ContactProblem, held: Array) -> ConvexProblem:
        """Return the convex problem with the thresholds of these normal impulses."""
        return convex.with_thresholds(held)
