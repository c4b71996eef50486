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
        found, seconds, compiling = timed(
            kernels.solve_step, float(problem.h), MODELS.index(problem.model), *step_tables(problem),
            blocks.arrays, graph.plan.arrays, graph.plan.blocks, (graph.node, graph.places),
            float(self.kappa), float(self.tolerance), int(self.max_iterations),
        )  # fmt: skip
        v_all, r, w, facets, rows, _, M, root, f, u_bias, control, history = found
        v = np.empty((M.shape[0], 6))
        v[problem.row[moving]] = v_all[moving]
        v = v.reshape(-1)
        tangent = tangent_problem(blocks, rows, M, root, f, u_bias)
        frozen(r)
        frozen(v)
        residuals, u = examine(tangent, r, v, NOTHING)
        state, iterations, own = int(control[0]), int(control[1]), float(control[2])
        status, reason = self._verdict(problem, residuals, state, own)
        solution = Solution.unchecked(
            problem=tangent, r=r, u=u, status=status, residuals=residuals, solver="ipm-step",
            tolerance=self.tolerance, iterations=iterations, seconds=seconds, compile_seconds=compiling,
            history=history, v=v, lam=NOTHING, reason=reason, tried=(), operations=0.0, certificate=None,
        )  # fmt: skip
        return solution, StepPoint(v, r, _slack(blocks, w, problem.h), facets, float(self.kappa))

    def _verdict(
        self, problem: StepProblem, residuals: Residuals, state: int, own: float
    ) -> tuple[Status, str]:
        """What to call the answer: the judge's word, and for other laws than Coulomb's their own."""
        relaxed = _relaxed(problem, self.kappa)
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
