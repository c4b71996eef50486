"""Results of solvers of cone programs, with the residuals of the judge."""

from dataclasses import dataclass

import numpy as np

from stickslip.problem.checks import Array, flat
from stickslip.problem.program import ConeProgram, ProgramResiduals, judge_program, nearest
from stickslip.problem.solution import SolverFailure, Status, Verdict

PROOF = 1e-8
"""Largest relative error of a proof that a program has no optimum [-]."""


@dataclass(frozen=True, eq=False, repr=False)
class ProgramSolution:
    """Certified optimum of a cone program, or the best point with the reason why it is not certified."""

    problem: ConeProgram
    """The original program."""
    x: Array
    """Unknowns [unit of x], shape (n,)."""
    y: Array
    """Multipliers of A x + b ∈ C [J / unit of s], shape (m,)."""
    s: Array
    """A x + b, recomputed [unit of s], shape (m,)."""
    status: Status
    """Reason why the solver stopped, decided by the judge's residuals."""
    residuals: ProgramResiduals
    """Residuals of this solution, computed by the judge."""
    solver: str
    """Name of the solver."""
    tolerance: float
    """Requested tolerance on every residual [-]."""
    iterations: int
    """Number of iterations, as the solver counts them."""
    seconds: float
    """Time of the solve [s]."""
    reason: str = ""
    """Details of the status, if any."""

    @property
    def ok(self) -> bool:
        """Whether the answer is certified at the tolerance."""
        return self.status.ok

    @property
    def verdict(self) -> Verdict:
        """Verdict on the answer: certified or missed."""
        return self.status.verdict

    @property
    def objective(self) -> float:
        """½ x'P x + c'x [J]."""
        return self.problem.objective(self.x)

    @property
    def measures(self) -> str:
        """The judge's error as text."""
        return f"error {self.residuals.error:.2e}"

    def or_raise(self) -> "ProgramSolution":
        """Return this solution if it is certified, otherwise raise `SolverFailure` with it."""
        if not self.ok:
            raise SolverFailure(self)
        return self

    def __repr__(self) -> str:
        r = self.residuals
        return "\n".join(
            [
                f"{self.solver}: {self.status.name} ({self.reason or self.status.value})",
                f"  problem     {self.problem!r}",
                f"  iterations  {self.iterations}",
                f"  objective   {self.objective:.9g}",
                f"  residuals   primal {r.primal:.1e}, stationarity {r.stationarity:.1e}, dual {r.dual:.1e},"
                f" gap {r.gap:.1e}; tolerance {self.tolerance:.0e}",
            ]
        )


def judged_solution(
    program: ConeProgram, x: Array, y: Array, reported: Status, *, solver: str, tolerance: float,
    iterations: int, seconds: float, message: str,
) -> ProgramSolution:  # fmt: skip
    """Return an answer examined by the judge; `reported` and `message` come from the solver."""
    x, y = flat("x", x, program.size), flat("y", y, program.rows)
    residuals, status, reason = judge_program(program, x, y), reported, ""
    if residuals.error <= tolerance:
        status = Status.SOLVED
    elif reported is Status.INFEASIBLE:
        reason = no_optimum(program, x, y)
        status = Status.INFEASIBLE if reason else Status.STALLED
        reason = reason or f"{solver} reports that the program is infeasible, without proof: {message}"
    elif reported.ok:
        status = Status.STALLED
        reason = f"the judge measures {residuals.error:.1e}, and the last message of {solver} is {message!r}"
    else:
        reason = f"{solver} says: {message}"
    with np.errstate(all="ignore"):
        s = program.A @ x + program.b
    return ProgramSolution(
        program, x, y, s, status, residuals, solver, tolerance, iterations, seconds, reason
    )


def no_optimum(program: ConeProgram, x: Array, y: Array) -> str:
    """Return what x or y proves about a program without optimum; empty if they prove nothing.

    y ∈ C* with A'y = 0 and b'y < 0: no x is feasible, because y'(A x + b) would be negative. x with P x = 0,
    A x ∈ C and c'x < 0: the objective is unbounded along x, if the program is feasible. The rounding errors
    of A'y and P x are small if an optimum would have to be far beyond the scale of x given by A, b, P and c.
    """
    A, b, P, c = program.A, program.b, program.P, program.c
    steep, stiff = (float(abs(matrix).max()) if matrix.nnz else 0.0 for matrix in (A, P))
    size = _norm(b) / steep if steep and b.any() else _norm(c) / stiff if stiff and c.any() else 1.0
    with np.errstate(all="ignore"):
        along, outside = float(b @ y), y - nearest(program, y)
        outside[: program.zero] = 0.0
        if along < 0.0 and size * _norm(A.T @ y) + _norm(b) * _norm(outside) <= -PROOF * along:
            return "no x meets the constraints: y in C* has A'y = 0 and b'y < 0"
        fall, s = float(c @ x), A @ x
        inside = _norm(s - nearest(program, s)) <= PROOF * steep * _norm(x)
        if fall < 0.0 and inside and size * float(x @ (P @ x)) <= -PROOF * fall * _norm(x):
            return "the objective is unbounded below along x"
    return ""


def _norm(x: Array) -> float:
    return float(np.linalg.norm(x))
