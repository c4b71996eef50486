"""Interior point for a step of bodies as one nonlinear cone complementarity problem (`StepProblem`).

    StepInteriorPoint(tolerance=1e-8, max_iterations=200, kappa=0.0).solve(problem) -> Solution
    StepInteriorPoint(...).solve_point(problem) -> (Solution, StepPoint)

Primal-dual, with predictor and corrector, and near the answer Newton on the law as it is, in one compiled
call: `kernels/variational/interior_point.py` has the iteration. The Solution speaks of the tangent problem at
the answer (`problem/step_tangent.py`): `.problem` is that GlobalProblem, `.v` (6 nd,) and `.r` (n,) stand in
its order, and residuals are the judge's.

Status: SOLVED where the judge accepts; APPROXIMATE where another law than Coulomb's was asked for (model
`pyramid`, model `impact` where some mu > 0, or kappa > 0), it is solved to tolerance in its own terms and the
judge refuses it, the reason saying which; otherwise the best iterate with what was seen.
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
"""Least share of the tolerance asked of the iteration, whose natural maps are not quite the judge's, until he
accepts; and how often one that came to a halt is begun anew, with smaller steps from further inside."""
MOST = 10_000
"""Most iterations of one call, which keeps room for all of its history."""
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
    """Whether it takes the tangent problems of one, too."""
    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(200)
    kappa: float = kappa_option()

    def solve(
        self, problem: StepProblem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve a StepProblem; the answer is one of its tangent problem. A guess is not used."""
        return self.solve_point(problem)[0]

    @property
    def other_law(self) -> bool:
        """Whether the law smoothed with kappa is asked for."""
        return self.kappa > 0.0

    def on_path(self, kappa: float) -> "StepInteriorPoint":
        """The same, stopping on the central path at `kappa`."""
        return replace(self, kappa=kappa)

    def solve_point(self, problem: StepProblem) -> tuple[Solution, StepPoint]:
        """The same, with gaps, η and facets beside velocities and impulses, for those who differentiate."""
        if not isinstance(problem, StepProblem):
            raise ProblemError(
                "ipm-step takes a StepProblem, which the variational scheme makes of worlds, not a"
                f" {type(problem).__name__}; ipm takes contact problems"
            )
        blocks = step_blocks(problem)
        relaxed = _relaxed(problem, self.kappa)
        graph = step_graph(blocks, int(np.count_nonzero(problem.row >= 0)))
        wires = StepWires(graph.plan.arrays, graph.plan.blocks, graph.wires)
        given = step_arrays(problem, blocks), wires, float(self.kappa)
        share, careful, iterations, seconds, compiling = 1.0, 0, 0, 0.0, 0.0
        best: _Found | None = None
        while True:
            left = min(self.max_iterations - iterations, MOST)
            result, took, compiled = timed(
                kernels.solve_step, *given, share * self.tolerance, int(left), careful
            )
            found = _Found(problem, blocks, result)
            iterations, seconds, compiling = (
                iterations + found.iterations,
                seconds + took,
                compiling + compiled,
            )
            ended = found.residuals.solved(self.tolerance) or (relaxed and found.state == kernels.SOLVED)
            if best is None or ended or found.rank(relaxed) < best.rank(relaxed):
                best = found
            if ended or iterations >= self.max_iterations:
                break
            if found.state == kernels.SOLVED and share > LEAST:  # the judge sees more than the iteration did
                share *= 0.1
            elif found.state != kernels.SOLVED and careful < MOST_CAREFUL:
                careful += 1
            else:
                break
        status, reason = self._verdict(problem, relaxed, best.residuals, best.state, best.own)
        solution = Solution.unchecked(
            problem=best.tangent, r=best.r, u=best.u, status=status, residuals=best.residuals,
            solver="ipm-step", tolerance=self.tolerance, iterations=iterations, seconds=seconds,
            compile_seconds=compiling, history=best.history, v=best.v, lam=NOTHING, reason=reason, tried=(),
            operations=0.0, certificate=None,
        )  # fmt: skip
        slack = _slack(blocks, best.X[:, law.W], problem.h)
        return solution, StepPoint(best.v, best.r, slack, best.facets, float(self.kappa))

    def _verdict(
        self, problem: StepProblem, relaxed: str, residuals: Residuals, state: int, own: float
    ) -> tuple[Status, str]:
        """What to call the answer: the judge's word, and for other laws than Coulomb's their own."""
        solved = residuals.solved(self.tolerance)
        if solved and not (relaxed and problem.model == "impact"):
            return Status.SOLVED, ""
        if relaxed and (state == kernels.SOLVED or solved):
            return Status.APPROXIMATE, f"{relaxed}, solved to {own:.1e} in its own terms"
        status = STATUS[state]
        if status is Status.SOLVED:
            seen = f"the judge measures {residuals.error:.2e} where the method computed {own:.2e}"
            return Status.STALLED, seen
        if status is Status.STALLED:
            instead = f" ({relaxed})" if relaxed else ""
            return status, f"the steps became too small at {residuals.error:.2e}{instead}"
        return status, ""


class _Found:
    """What one call of the kernel found, and the judge's word on it."""

    def __init__(self, problem: StepProblem, blocks: StepBlocks, result: tuple[Any, ...]):
        v, self.X, F, rows, _, M, root, f, u_bias, control, self.history = result
        moving = problem.row >= 0
        own = np.empty((M.shape[0], 6))
        own[problem.row[moving]] = v[moving]
        self.v: Array = frozen(own.reshape(-1))
        self.r: Array = frozen(self.X[:, law.R].copy())
        self.facets: Array = F[:, : law.CHANGE]
        self.tangent: GlobalProblem = tangent_problem(blocks, rows, M, root, f, u_bias)
        self.residuals, self.u = examine(self.tangent, self.r, self.v, NOTHING)
        self.state, self.iterations = int(control[kernels.STATE]), int(control[kernels.ITERATIONS])
        self.own = float(control[kernels.ERROR])

    def rank(self, relaxed: str) -> float:
        """The smaller, the better."""
        return self.own if relaxed else self.residuals.error


def _relaxed(problem: StepProblem, kappa: float) -> str:
    """Which law is solved in the place of Coulomb's; empty where it is Coulomb's."""
    if kappa > 0.0:
        return SMOOTHED.format(kappa)
    if problem.model == "pyramid" and (problem.contacts.law[:, :2] > 0.0).any():
        return RELAXATIONS["pyramid"]
    if problem.model == "impact" and (problem.contacts.law[:, :3] > 0.0).any():
        return RELAXATIONS["impact"]
    return ""


def _slack(blocks: StepBlocks, w: Array, h: float) -> Array:
    """Gaps as lengths, and η, from the kernel's slacks in units of velocity."""
    K, slack = blocks.K, w.copy()
    gaps = K.offset[:-1][(K.kind == 1) | (K.kind == 3)]
    slack[gaps] *= h
    return frozen(slack)
