"""Interior point for a step of bodies as one nonlinear cone complementarity problem (`StepProblem`).

    StepInteriorPoint(tolerance=1e-8, max_iterations=200, kappa=0.0).solve(problem) -> Solution
    StepInteriorPoint(...).solve_point(problem) -> (Solution, StepPoint)

Primal-dual, with predictor and corrector, and near the solution Newton on the unsmoothed law, in one compiled
call: the iteration is in `kernels/variational/interior_point.py`. The Solution refers to the tangent problem
at the solution (`problem/step_tangent.py`): `.problem` is that GlobalProblem, `.v` (6 nd,) and `.r` (n,) are
in its order, and the residuals are the judge's.

Status: SOLVED if the judge accepts. APPROXIMATE if another law than Coulomb's was requested (model `pyramid`,
model `impact` with some mu > 0, or kappa > 0), that law is solved to tolerance and the judge rejects the
result; the reason names the law. Otherwise the best iterate with the reason of the failure.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip.compilation.timing import timed
from stickslip.kernels.variational import interior_point as kernels
from stickslip.kernels.variational import law
from stickslip.kernels.variational.layout import StepWires
from stickslip.options import Options, iterations_option, kappa_option, tolerance_option
from stickslip.problem.checks import Array, ProblemError, frozen
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.residuals import Residuals, examine
from stickslip.problem.solution import Solution, Status
from stickslip.problem.step_graph import step_graph
from stickslip.problem.step_problem import RELAXATIONS, SMOOTHED, StepPoint, StepProblem
from stickslip.problem.step_tangent import StepBlocks, step_arrays, step_blocks, tangent_problem
from stickslip.solvers.registry import Progress

NOTHING: Array = frozen(np.zeros(0))
LEAST, MOST_CAREFUL = 0.005, 2
"""Smallest factor on the tolerance of the iteration, which is reduced until the judge accepts, because the
natural maps of the iteration differ from the judge's; and number of restarts of a stalled iteration, with
smaller steps from further inside the cones."""
MOST = 10_000
"""Largest number of iterations of one call, for which its history has room."""
STATUS = {
    kernels.SOLVED: Status.SOLVED,
    kernels.LIMIT: Status.MAX_ITERATIONS,
    kernels.STALLED: Status.STALLED,
    kernels.NOT_FINITE: Status.NOT_FINITE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInteriorPoint(Options):
    """Interior point over the graph of bodies, joints and contacts; for steps of the variational scheme."""

    takes_steps: ClassVar[bool] = True
    """Whether `solve` accepts a whole StepProblem."""
    takes_tangents: ClassVar[bool] = False
    """Whether `solve` also accepts the tangent problems of a step."""
    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(200)
    kappa: float = kappa_option()

    def solve(
        self, problem: StepProblem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve a StepProblem; the solution is that of its tangent problem. `guess` is not used."""
        return self.solve_point(problem)[0]

    @property
    def other_law(self) -> bool:
        """Whether the law smoothed with kappa is requested."""
        return self.kappa > 0.0

    def on_path(self, kappa: float) -> "StepInteriorPoint":
        """Return a solver with the same options that stops on the central path at `kappa`."""
        return replace(self, kappa=kappa)

    def solve_point(self, problem: StepProblem) -> tuple[Solution, StepPoint]:
        """Solve a StepProblem; return its solution, and the point with gaps, η and facets for derivatives."""
        if not isinstance(problem, StepProblem):
            raise ProblemError(
                "ipm-step takes a StepProblem, which the variational scheme makes of worlds, not a"
                f" {type(problem).__name__}; ipm takes contact problems"
            )
        # 1. Arrays and graph of the step for the kernel.
        blocks = step_blocks(problem)
        relaxed = _relaxed(problem, self.kappa)
        graph = step_graph(blocks, int(np.count_nonzero(problem.row >= 0)))
        wires = StepWires(graph.plan.arrays, graph.plan.blocks, graph.wires)
        arguments = step_arrays(problem, blocks), wires, float(self.kappa)
        share, careful, iterations, seconds, compiling = 1.0, 0, 0, 0.0, 0.0
        best: _Result | None = None
        # 2. Calls of the kernel: to finer tolerances, or more carefully, until the judge accepts.
        while True:
            budget = min(self.max_iterations - iterations, MOST)
            arrays, took, compiled = timed(
                kernels.solve_step, *arguments, share * self.tolerance, int(budget), careful
            )
            result = _Result(problem, blocks, arrays)
            iterations, seconds, compiling = (
                iterations + result.iterations,
                seconds + took,
                compiling + compiled,
            )
            ended = result.residuals.solved(self.tolerance) or (relaxed and result.state == kernels.SOLVED)
            if best is None or ended or result.rank(relaxed) < best.rank(relaxed):
                best = result
            if ended or iterations >= self.max_iterations:
                break
            if result.state == kernels.SOLVED and share > LEAST:  # the judge's residuals are larger
                share *= 0.1
            elif result.state != kernels.SOLVED and careful < MOST_CAREFUL:
                careful += 1
            else:
                break
        # 3. Status of the best result.
        status, reason = self._verdict(problem, relaxed, best.residuals, best.state, best.own_error)
        solution = Solution.unchecked(
            problem=best.tangent, r=best.r, u=best.u, status=status, residuals=best.residuals,
            solver="ipm-step", tolerance=self.tolerance, iterations=iterations, seconds=seconds,
            compile_seconds=compiling, history=best.history, v=best.v, lam=NOTHING, reason=reason, tried=(),
            operations=0.0, certificate=None,
        )  # fmt: skip
        slack = _slack(blocks, best.X[:, law.W], problem.h)
        return solution, StepPoint(best.v, best.r, slack, best.facets, float(self.kappa))

    def _verdict(
        self, problem: StepProblem, relaxed: str, residuals: Residuals, state: int, own_error: float
    ) -> tuple[Status, str]:
        """Return status and reason: by the judge, and for other laws than Coulomb's by the iteration."""
        solved = residuals.solved(self.tolerance)
        if solved and not (relaxed and problem.model == "impact"):
            return Status.SOLVED, ""
        if relaxed and (state == kernels.SOLVED or solved):
            return Status.APPROXIMATE, f"{relaxed}, solved to {own_error:.1e} in its own terms"
        status = STATUS[state]
        if status is Status.SOLVED:
            reason = f"the judge measures {residuals.error:.2e} where the method computed {own_error:.2e}"
            return Status.STALLED, reason
        if status is Status.STALLED:
            instead = f" ({relaxed})" if relaxed else ""
            return status, f"the steps became too small at {residuals.error:.2e}{instead}"
        return status, ""


class _Result:
    """Result of one call of the kernel, examined by the judge."""

    def __init__(self, problem: StepProblem, blocks: StepBlocks, result: tuple[Any, ...]):
        v, self.X, F, rows, _, M, root, f, u_bias, control, self.history = result
        moving = problem.row >= 0
        velocities = np.empty((M.shape[0], 6))
        velocities[problem.row[moving]] = v[moving]
        self.v: Array = frozen(velocities.reshape(-1))
        self.r: Array = frozen(self.X[:, law.R].copy())
        self.facets: Array = F[:, : law.CHANGE]
        self.tangent: GlobalProblem = tangent_problem(blocks, rows, M, root, f, u_bias)
        self.residuals, self.u = examine(self.tangent, self.r, self.v, NOTHING)
        self.state, self.iterations = int(control[kernels.STATE]), int(control[kernels.ITERATIONS])
        self.own_error = float(control[kernels.ERROR])

    def rank(self, relaxed: str) -> float:
        """Return the error by which results are compared."""
        return self.own_error if relaxed else self.residuals.error


def _relaxed(problem: StepProblem, kappa: float) -> str:
    """Return the name of the law that replaces Coulomb's; empty for Coulomb's."""
    if kappa > 0.0:
        return SMOOTHED.format(kappa)
    if problem.model == "pyramid" and (problem.contacts.law[:, :2] > 0.0).any():
        return RELAXATIONS["pyramid"]
    if problem.model == "impact" and (problem.contacts.law[:, :3] > 0.0).any():
        return RELAXATIONS["impact"]
    return ""


def _slack(blocks: StepBlocks, w: Array, h: float) -> Array:
    """Return gaps as lengths, and η, from the kernel's slacks in units of velocity."""
    K, slack = blocks.K, w.copy()
    gaps = K.offset[:-1][(K.kind == 1) | (K.kind == 3)]
    slack[gaps] *= h
    return frozen(slack)
