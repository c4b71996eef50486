"""Projection methods on the exact law: De Saxcé's fixed point and the extragradient method.

r <- P_K(r - rho u_hat(r)) (De Saxcé & Feng 1998), and with a second projection that makes it converge
for every monotone u_hat (Korpelevich 1976, Khobotov 1987, Marcotte 1991, He & Liao 2002). Each finds
its own step. They run on the problem in its own units, so that kilograms and grams take the same path.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels import projected as kernels
from stickslip.options import Options, iterations_option, option, tolerance_option
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert import unit_free
from stickslip.problem.operator import product_arrays
from stickslip.problem.solution import Problem, Solution, Status
from stickslip.solvers.certify import Attempt, certified
from stickslip.solvers.registry import Progress
from stickslip.solvers.watch import Watch

PATIENCE = 2_000
"""Iterations without halving the error before these methods count as stalled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projected(Options):
    """Base of the two: the options of the step, and the loop between two looks at the judge."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(20_000)
    step: float = option(1.0, "first rho, in units where the mean diagonal of W_ii is 1", low=1e-4, high=1e4)
    largest: float = option(
        0.9, "a step passes if rho |u_hat(r) - u_hat(r_bar)| is at most this share of |r - r_bar|",
        low=0.0, high=1.0, open_low=True, open_high=True,
    )  # fmt: skip
    smallest: float = option(
        0.3, "a step that passes with less than this share is lengthened", low=0.0, high=1.0, open_high=True
    )
    shrink: float = option(
        2.0 / 3.0, "factor of a shortened step, its inverse that of a lengthened one",
        low=0.0, high=1.0, open_low=True, open_high=True,
    )  # fmt: skip

    def __post_init__(self) -> None:
        super(Projected, self).__post_init__()
        if self.smallest >= self.largest:
            raise ValueError(
                f"{type(self).__name__}: smallest must be below largest ({self.largest}), got {self.smallest}"
            )

    def _run(
        self, method: int, relaxation: float, progress: Progress | None,
        problem: ContactProblem, guess: Array | None, tolerance: float,
    ) -> Attempt:  # fmt: skip
        with Watch(problem, tolerance, self.max_iterations, progress, PATIENCE) as watch:
            own = unit_free(problem)
            K, W, u_free = own.problem.K, product_arrays(own.problem.W, problem.K), own.problem.u_free
            z = K.project(np.zeros(K.size) if guess is None else own.guess(guess))
            work, state = np.zeros((4, K.size)), np.zeros(kernels.SLOTS)
            state[kernels.RHO] = self.step
            watch.look(own.recover(z).r, 0)
            while watch.goes_on:
                made = kernels.iterate(
                    K.arrays, W, u_free, method, float(self.largest), float(self.smallest),
                    float(self.shrink), relaxation, z, work, state, watch.gap,
                )  # fmt: skip
                watch.look(own.recover(z).r, int(made))
                if state[kernels.STUCK] and watch.goes_on:
                    watch.stop(
                        Status.STALLED, "an iteration changed nothing, yet the residual is above tolerance"
                    )
        return watch.attempt()


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPoint(Projected):
    """De Saxcé fixed point: project r - rho u_hat(r), with a step that adapts itself."""

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none); any problem, through its contact form."""
        method = partial(self._run, kernels.FIXED_POINT, 1.0, progress)
        return certified("fixed-point", method, problem, guess, self.tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extragradient(Projected):
    """Extragradient: a trial projection, then one with the velocity found there; adaptive step."""

    correction: str = option(
        "he-liao", "second step as long as the first (khobotov), or as long as the trial allows (he-liao)",
        choices=("he-liao", "khobotov"),
    )  # fmt: skip
    relaxation: float = option(
        1.5, "share of he-liao's step that is taken", low=0.0, high=2.0, open_low=True, open_high=True
    )

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none); any problem, through its contact form."""
        method = kernels.HE_LIAO if self.correction == "he-liao" else kernels.KHOBOTOV
        run = partial(self._run, method, float(self.relaxation), progress)
        return certified("extragradient", run, problem, guess, self.tolerance)
