"""Interior point for a step of bodies as one nonlinear cone complementarity problem (`StepProblem`).

    InteriorPointStep(tolerance=1e-8, max_iterations=100, kappa=0.0).solve(problem, guess=None) -> Solution
    InteriorPointStep(...).solve_point(problem, guess=None) -> (Solution, StepPoint)

Primal-dual, with predictor and corrector, in one compiled call; `kernels/variational/interior_point.py` has the
iteration. The Solution speaks of the tangent problem at the answer (`problem/step_tangent.py`): `.problem` is that
GlobalProblem, `.v` (6 nd,) and `.r` (n,) stand in its order, and residuals are the judge's.

Status: SOLVED where the judge accepts; APPROXIMATE where another law than Coulomb's was asked for (model
`pyramid`, model `impact` where some mu > 0, or kappa > 0), it is solved to tolerance in its own terms and the
judge refuses it, the reason saying which; otherwise the best iterate with what was seen.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels.jit import timed
from stickslip.kernels.variational import interior_point as kernels
from stickslip.kernels.variational import law
from stickslip.options import Options, iterations_option, option, tolerance_option
from stickslip.problem.checks import Array, ProblemError, frozen
from stickslip.problem.residuals import Residuals, examine
from stickslip.problem.solution import Solution, Status
from stickslip.problem.step_graph import step_graph
from stickslip.problem.step_point import StepPoint
from stickslip.problem.step_problem import MODELS, StepProblem
from stickslip.problem.step_tangent import StepBlocks, step_blocks, step_tables, tangent_problem
from stickslip.solvers.registry import Progress

NOTHING: Array = frozen(np.zeros(0))
TIGHTER = (1.0, 0.1, 0.01)
"""Shares of the tolerance asked of the iteration, whose natural maps are not quite the judge's, until he accepts."""
STATUS = {
    kernels.SOLVED: Status.SOLVED,
    kernels.LIMIT: Status.MAX_ITERATIONS,
    kernels.STALLED: Status.STALLED,
    kernels.NOT_FINITE: Status.NOT_FINITE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InteriorPointStep(Options):
    """Interior point over the graph of bodies, joints and contacts; for steps of the variational scheme."""

    takes_steps: ClassVar[bool] = True
    """Whether `solve` takes a StepProblem whole."""
    takes_tangents: ClassVar[bool] = False
    """Whether it takes the tangent problems of one, too."""
    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(100)
    kappa: float = option(
        0.0, "stop on the central path here: γ s of gaps in N s m, (mu γ)∘η of friction in N s m/s; 0: its end",
        unit="N s m", low=0.0, open_high=True,
    )  # fmt: skip

    def solve(
        self, problem: StepProblem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve a StepProblem; the answer is one of its tangent problem. `guess` is not needed and not used."""
        return self.solve_point(problem, guess=guess)[0]

    def solve_point(
        self, problem: StepProblem, *, guess: ArrayLike | None = None
    ) -> tuple[Solution, StepPoint]:
        """The same, with gaps, η and facets beside velocities and impulses, for those who differentiate."""
        if not isinstance(problem, StepProblem):
            raise ProblemError(
                f"ipm-step takes a StepProblem, which the variational scheme makes, not a {type(problem).__name__};"
                " ipm takes contact problems"
            )
        blocks = step_blocks(problem)
        moving = problem.row >= 0
        graph = step_graph(blocks, int(np.count_nonzero(moving)))
        relaxed = _relaxed(problem, self.kappa)
        given = (
            float(problem.h), MODELS.index(problem.model), *step_tables(problem), blocks.arrays,
            graph.plan.arrays, graph.plan.blocks, graph.wires, float(self.kappa),
        )  # fmt: skip
        left, seconds, compiling = self.max_iterations, 0.0, 0.0
        iterations, v = 0, np.empty((int(np.count_nonzero(moving)), 6))
        for share in TIGHTER:
            found, took, compiled = timed(kernels.solve_step, *given, share * self.tolerance, int(left))
            v_all, X, F, rows, _, M, root, f, u_bias, control, history = found
            seconds, compiling = seconds + took, compiling + compiled
            iterations += int(control[kernels.ITERATIONS])
            left -= int(control[kernels.ITERATIONS])
            v[problem.row[moving]] = v_all[moving]
            r, flat_v = frozen(X[:, law.R].copy()), frozen(v.reshape(-1).copy())
            tangent = tangent_problem(blocks, rows, M, root, f, u_bias)
            residuals, u = examine(tangent, r, flat_v, NOTHING)
            state = int(control[kernels.STATE])
            if relaxed or state != kernels.SOLVED or residuals.solved(self.tolerance) or left <= 0:
                break
        status, reason = self._verdict(problem, relaxed, residuals, state, float(control[kernels.ERROR]))
        solution = Solution.unchecked(
            problem=tangent, r=r, u=u, status=status, residuals=residuals, solver="ipm-step",
            tolerance=self.tolerance, iterations=iterations, seconds=seconds, compile_seconds=compiling,
            history=history, v=flat_v, lam=NOTHING, reason=reason, tried=(), operations=0.0, certificate=None,
        )  # fmt: skip
        slack = _slack(blocks, X[:, law.W], problem.h)
        return solution, StepPoint(flat_v, r, slack, F[:, :10], float(self.kappa))

    def _verdict(
        self, problem: StepProblem, relaxed: str, residuals: Residuals, state: int, own: float
    ) -> tuple[Status, str]:
        """What to call the answer: the judge's word, and for other laws than Coulomb's their own."""
        solved = residuals.solved(self.tolerance)
        if solved and not (relaxed and problem.model == "impact"):
            return Status.SOLVED, ""
        if relaxed and (state == kernels.SOLVED or (solved and problem.model == "impact")):
            return Status.APPROXIMATE, f"{relaxed}, solved to {own:.1e} in its own terms"
        status = STATUS[state]
        if status is Status.SOLVED:
            return Status.STALLED, f"the judge measures {residuals.error:.2e} where the method saw {own:.2e}"
        if status is Status.STALLED:
            return status, f"steps came to a halt at {residuals.error:.2e}" + (
                f" ({relaxed})" if relaxed else ""
            )
        return status, ""


def _relaxed(problem: StepProblem, kappa: float) -> str:
    """Which law is solved in the place of Coulomb's; empty where it is Coulomb's."""
    if kappa > 0.0:
        return f"the law smoothed with kappa = {kappa:g}"
    if problem.model == "pyramid" and (problem.contacts.law[:, :2] > 0.0).any():
        return "pyramids in the place of cones"
    if problem.model == "impact" and (problem.contacts.law[:, :3] > 0.0).any():
        return "contacts without their friction"
    return ""


def _slack(blocks: StepBlocks, w: Array, h: float) -> Array:
    """Gaps as lengths, and η, from the kernel's slacks in units of velocity."""
    K, slack = blocks.K, w.copy()
    gaps = K.offset[:-1][(K.kind == 1) | (K.kind == 3)]
    slack[gaps] *= h
    return frozen(slack)
