"""Gradient methods on the convex relaxation min ½ r'W r + r'u_free over K.

The relaxation drops De Saxcé's shift: contacts that slide also separate, at u_N = mu |u_T|. Where
nothing slides its answer is Coulomb's, and the status is SOLVED; elsewhere it is RELAXED, never more.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from stickslip.options import Options, iterations_option, option, tolerance_option
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert import unit_free
from stickslip.problem.solution import Problem, Solution
from stickslip.solvers.certify import Attempt, certified
from stickslip.solvers.convex import ConvexProblem, Gradient
from stickslip.solvers.registry import Progress
from stickslip.solvers.watch import Watch

PATIENCE = 2_000
"""Iterations without halving the error before these methods count as stalled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratedGradient(Options):
    """Accelerated projected gradient with restart (APGD), for the convex relaxation."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(20_000)

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve the relaxation of `problem` from `guess` (zero if none)."""
        method = partial(_descend, "apgd", 1, self.max_iterations, progress)
        return certified("apgd", method, problem, guess, self.tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpectralGradient(Options):
    """Barzilai-Borwein spectral projected gradient, for the convex relaxation."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(20_000)
    memory: int = option(
        10, "values of the objective that the nonmonotone search looks back on", low=1, high=1000
    )

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve the relaxation of `problem` from `guess` (zero if none)."""
        method = partial(_descend, "bb", int(self.memory), self.max_iterations, progress)
        return certified("bb", method, problem, guess, self.tolerance)


def _descend(
    name: str, memory: int, limit: int, progress: Progress | None,
    problem: ContactProblem, guess: Array | None, tolerance: float,
) -> Attempt:  # fmt: skip
    with Watch(problem, tolerance, limit, progress, PATIENCE, relaxed=True) as watch:
        own = unit_free(problem)
        convex = ConvexProblem.relaxation(own.problem)
        method = Gradient(name, convex, memory)
        method.start(convex, np.zeros(problem.size) if guess is None else own.guess(guess))
        watch.look(own.recover(method.z).r, 0)
        while watch.goes_on:
            made = method.advance(0.0, watch.gap)
            watch.look(own.recover(method.z).r, made)
    return watch.attempt()
