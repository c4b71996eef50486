"""The answer of a step whose impact is made in parts (`schemes/body_parts.py`), to first order.

The impulses of a part change the momenta with which the next ones begin; they are chained, and the transpose
goes through them from the last to the first.
"""

from dataclasses import replace

import numpy as np

from stickslip.gradients.moreau_jean_assembly import Assembly, Changed, Middle
from stickslip.gradients.moreau_jean_response import Phase, Response
from stickslip.gradients.solution_exact import DOUBT
from stickslip.gradients.solution_linear import GlobalLinearisation
from stickslip.problem.contact import GlobalProblem
from stickslip.schemes.body_step import BodyStep
from stickslip.state import Array


class Parts(Response):
    """A step with an impact in several parts."""

    def __init__(self, assembly: Assembly, step: BodyStep, kappa: float):
        self._assembly = assembly
        self._linear: list[GlobalLinearisation] = []
        for solution in step.solves:
            problem = solution.problem
            assert isinstance(problem, GlobalProblem)
            linear = GlobalLinearisation.of(
                problem, solution.v, None, solution.r, solution.u, solution.tolerance, kappa, DOUBT
            )
            self._linear.append(linear)
        self._H = self._linear[-1].problem.H_sparse().toarray()
        self._sums = np.cumsum([one.r for one in self._linear], axis=0)
        self.v, self.r = self._linear[-1].v, self._sums[-1]
        self.presses = np.any([one.presses for one in self._linear], axis=0)
        self.exists = all(one.exists for one in self._linear)
        self.unique = all(one.unique for one in self._linear)
        self.notes = tuple(
            f"in part {j} of the impact: {note}"
            for j, one in enumerate(self._linear, start=1)
            for note in one.notes
        )

    def phases(self, at: Middle) -> tuple[Phase, ...]:
        """The parts, each with the impulses of those before it held."""
        before, parts = self._assembly.momenta_before(at), len(self._linear)
        on_the_way = [
            (before, linear.v, r, 1.0 - j / parts)
            for j, (linear, r) in enumerate(zip(self._linear, self._sums, strict=True), start=1)
        ]
        return *on_the_way[:-1], (at.f, self.v, self.r, 0.0)

    def changed(self, at: Middle, k: int) -> tuple[Changed, ...]:
        """How the problems change; only the last has bounds of forces."""
        *parts, last = super().changed(at, k)
        none = np.zeros_like(last.lower)
        return *(replace(one, lower=none, upper=none) for one in parts), last

    def forward(self, changed: tuple[Changed, ...]) -> tuple[Array, Array]:
        """Changes of v and r."""
        dr = np.zeros((self.r.size, changed[0].momentum.shape[1]))
        for linear, one in zip(self._linear, changed, strict=True):
            found = linear.forward(
                momentum=one.momentum + self._H @ dr, velocity=one.velocity, coefficient=one.coefficient,
                lower=one.lower, upper=one.upper,
            )  # fmt: skip
            dr = dr + found.r
        return found.v, dr

    def backward(self, on_v: Array, on_r: Array) -> tuple[Changed, ...]:
        """Weights of the changes of the problems."""
        causes: list[Changed] = []
        weights: Array | None = on_v
        for linear in reversed(self._linear):
            found = linear.backward(v=weights, r=on_r)
            bound = np.zeros_like(found.lower)
            lower, upper = (bound, bound) if causes else (found.lower, found.upper)
            causes.insert(0, Changed(found.momentum, found.velocity, found.coefficient, lower, upper))
            on_r, weights = on_r + self._H.T @ found.momentum, None
        return tuple(causes)
