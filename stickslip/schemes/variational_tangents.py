"""A step of the variational scheme by a solver of global problems: one tangent problem after another."""

from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np

from stickslip.problem.residuals import examine
from stickslip.problem.solution import Solution, Status
from stickslip.problem.step_problem import StepProblem
from stickslip.problem.step_tangent import step_tangent
from stickslip.schemes.step import Solver
from stickslip.state import ModelError

MOST = 50
"""Most tangent problems of a step."""
FINER = 0.1
"""Tolerance of the tangent problems over that of the step: from one to the next a little is lost."""


def solve_by_tangents(problem: StepProblem, solver: Solver, start: Solution | None = None) -> Solution:
    """The answer of the step, judged on the tangent problem there; from that of another solver if given."""
    if problem.model == "pyramid":
        raise ModelError(
            f"contact='pyramid' is solved by auto and ipm-step; {type(solver).__name__} takes cones only"
        )
    tolerance = float(getattr(solver, "tolerance", 0.0))
    if tolerance and is_dataclass(solver) and not isinstance(solver, type):
        solver = replace(solver, tolerance=FINER * tolerance)  # type: ignore[type-var]
    moving = np.flatnonzero(problem.row >= 0)
    v: Any = problem.v[moving[np.argsort(problem.row[moving])]].reshape(-1)
    guess, iterations, seconds, compiling = None, 0, 0.0, 0.0
    if start is not None:
        iterations, seconds, compiling = start.iterations, start.seconds, start.compile_seconds
        if start.v is not None and np.isfinite(start.v).all() and np.isfinite(start.r).all():
            v, guess = start.v, start.r
    tangent = step_tangent(problem, v)
    for _ in range(MOST):
        found = solver.solve(tangent, guess=guess)
        iterations, seconds = iterations + found.iterations, seconds + found.seconds
        compiling += found.compile_seconds
        if found.v is None or not np.isfinite(found.v).all():
            return found
        tangent = step_tangent(problem, found.v)
        residuals, u = examine(tangent, found.r, found.v, None)
        tolerance = tolerance or found.tolerance
        solved = residuals.solved(tolerance)
        if solved or not found.ok:
            break
        guess = found.r if found.r.any() else None
    return replace(
        found, problem=tangent, u=u, tolerance=tolerance, residuals=residuals, iterations=iterations,
        seconds=seconds, compile_seconds=compiling,
        status=Status.SOLVED if solved else Status.STALLED if found.ok else found.status,
        reason="" if solved else found.reason or f"{MOST} tangent problems did not lead to the step's answer",
    )  # fmt: skip
