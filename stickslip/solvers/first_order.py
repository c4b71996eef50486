"""First-order methods for contact problems, in dimensionless units, so that results do not depend on units.

- Gradient methods on the convex relaxation min ½ r'W r + r'u_free over K, which omits De Saxcé's shift:
  sliding contacts also separate, at u_N = mu |u_T|. If no contact slides, its solution satisfies Coulomb's
  law and the status is SOLVED; otherwise it is RELAXED.
- Projection methods on the exact law: r <- P_K(r - rho u_hat(r)) (De Saxcé & Feng 1998), and with a second
  projection, which makes it converge for every monotone u_hat (Korpelevich 1976, Khobotov 1987, Marcotte
  1991, He & Liao 2002). Each adapts its step.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stickslip.kernels import projected as kernels
from stickslip.options import iterations_option, option
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert import unit_free
from stickslip.problem.operator import product_arrays
from stickslip.problem.solution import Status
from stickslip.solvers.base import ContactSolver
from stickslip.solvers.convex import ConvexMethod, ConvexProblem, Descent
from stickslip.solvers.factors import Singular
from stickslip.solvers.watch import Watch

STUCK = "an iteration changed nothing, but the residual is above the tolerance"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstOrder(ContactSolver):
    """Base of the first-order methods: iterations with checks by the judge in between."""

    max_iterations: int = iterations_option(20_000)

    patience: ClassVar[int] = 2_000

    def iterate(self, problem: ContactProblem, guess: Array | None, watch: Watch) -> None:
        """Iterate with checks by the judge in between."""
        scaled = unit_free(problem)
        convex = ConvexProblem.relaxation(scaled.problem)
        method = self.method(convex)
        method.start(convex, np.zeros(problem.size) if guess is None else scaled.guess(guess))
        watch.look(scaled.recover(method.z).r, 0)
        try:
            while watch.goes_on:
                iterations = method.advance(0.0, watch.gap)
                watch.look(scaled.recover(method.z).r, iterations)
                if watch.goes_on and not iterations:
                    watch.stop(Status.STALLED, STUCK)
        except Singular as error:
            watch.stop(Status.STALLED, f"{error}; try another rho")

    @abstractmethod
    def method(self, convex: ConvexProblem) -> ConvexMethod:
        """Return the iteration on a dimensionless problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratedGradient(FirstOrder):
    """Accelerated projected gradient with restart (APGD), for the convex relaxation."""

    name, relaxed = "apgd", True

    def method(self, convex: ConvexProblem) -> ConvexMethod:
        """See the base."""
        return Descent("apgd", convex, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectralGradient(FirstOrder):
    """Barzilai-Borwein spectral projected gradient, for the convex relaxation."""

    name, relaxed = "bb", True
    memory: int = option(
        10, "number of previous objective values of the nonmonotone line search", low=1, high=1000
    )

    def method(self, convex: ConvexProblem) -> ConvexMethod:
        """See the base."""
        return Descent("bb", convex, int(self.memory))


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPoint(FirstOrder):
    """De Saxcé's fixed point: project r - rho u_hat(r), with an adaptive step."""

    name = "fixed-point"
    step: float = option(1.0, "first rho, in units where the mean diagonal of W_ii is 1", low=1e-4, high=1e4)
    largest: float = option(
        0.9, "a step is accepted if rho |u_hat(r) - u_hat(r_bar)| is at most this fraction of |r - r_bar|",
        low=0.0, high=1.0, open_low=True, open_high=True,
    )  # fmt: skip
    smallest: float = option(
        0.3, "an accepted step with less than this fraction is lengthened", low=0.0, high=1.0, open_high=True
    )
    shrink: float = option(
        2.0 / 3.0, "factor of a shortened step; its inverse is that of a lengthened step",
        low=0.0, high=1.0, open_low=True, open_high=True,
    )  # fmt: skip

    def __post_init__(self) -> None:
        super(FixedPoint, self).__post_init__()
        if self.smallest >= self.largest:
            raise ValueError(
                f"{type(self).__name__}: smallest must be below largest ({self.largest}), got {self.smallest}"
            )

    def method(self, convex: ConvexProblem) -> ConvexMethod:
        """See the base."""
        return Projection(self, kernels.FIXED_POINT, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extragradient(FixedPoint):
    """Extragradient: a trial projection, then one with the velocity at the trial point; adaptive step."""

    name = "extragradient"
    correction: str = option(
        "he-liao", "second step: as long as the first (khobotov), or the longest that is allowed (he-liao)",
        choices=("he-liao", "khobotov"),
    )  # fmt: skip
    relaxation: float = option(
        1.5, "fraction of the step of he-liao", low=0.0, high=2.0, open_low=True, open_high=True
    )

    def method(self, convex: ConvexProblem) -> ConvexMethod:
        """See the base."""
        rule = kernels.HE_LIAO if self.correction == "he-liao" else kernels.KHOBOTOV
        return Projection(self, rule, float(self.relaxation))


class Projection:
    """Iteration of the projection methods, on the exact law."""

    def __init__(self, options: FixedPoint, method: int, relaxation: float):
        shares = float(options.largest), float(options.smallest), float(options.shrink), relaxation
        self._rule = kernels.Rule(method, *shares)
        self._state = np.zeros(kernels.SLOTS)
        self._state[kernels.RHO] = options.step
        self.z, self.error = np.zeros(0), np.inf

    def start(self, problem: ConvexProblem, z: Array) -> None:
        """Start at `z`; the adapted step is kept."""
        self._law = problem.K.arrays, product_arrays(problem.W, problem.K), problem.q
        self.z, self._work = problem.project(z), np.zeros((4, z.size))
        self._state[kernels.STARTED] = 0.0

    def advance(self, tolerance: float, count: int) -> int:
        """Make at most `count` iterations; none after one that changed nothing."""
        law, state = self._law, self._state
        if state[kernels.STUCK]:
            return 0
        return int(kernels.iterate(*law, self._rule, self.z, self._work, state, count))
