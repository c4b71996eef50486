"""A solver's small problems in one compiled call, the others by the solver itself.

A step of a small model asks for problems of a few unknowns, a hundred thousand times: then what costs is
calls. `Quick` stands before a solver: what is small and dense goes through one kernel, which solves it and
asks the judge's own measures; what that does not bring to tolerance goes to the solver as it came.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels import small_boxes, small_contacts
from stickslip.kernels.jit import timed
from stickslip.kernels.residuals import NATURAL, SCALED
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, frozen
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.residuals import from_measures
from stickslip.problem.solution import AnyProblem, Solution, Stage, Status
from stickslip.schemes.step import Solver

SMALL = 30
"""Most unknowns of a problem that goes through one call."""
NO_HISTORY: Array = frozen(np.zeros((0, 3)))


class Quick:
    """Solves what is small at once, and hands on the rest."""

    def __init__(self, solver: Solver, tolerance: float, name: str = "auto"):
        self.solver, self.tolerance, self.name = solver, tolerance, name

    def solve(self, problem: AnyProblem, *, guess: ArrayLike | None = None) -> Solution:
        """The certified answer, from `guess` if there is one."""
        found: Solution | None = None
        if type(problem) is ContactProblem:
            if type(problem.W) is DenseDelassus and 0 < problem.u_free.shape[0] <= SMALL:
                found = self._contacts(problem, guess)
        elif type(problem) is BoxProblem and type(problem.A) is np.ndarray and 0 < problem.size <= SMALL:
            found = self._box(problem, guess)
        return self.solver.solve(problem, guess=guess) if found is None else found

    def _contacts(self, problem: ContactProblem, guess: ArrayLike | None) -> Solution | None:
        n = problem.u_free.shape[0]
        r, u = _start(guess, n), np.empty(n)
        read = r.view()
        read.flags.writeable = False
        matrix = problem.W.matrix  # type: ignore[attr-defined]
        (measures, sweeps, solved), seconds, compiling = timed(
            small_contacts.solve, *problem.K.arrays, _flat(matrix), problem.u_free, self.tolerance, r, read, u
        )
        if not solved:
            return None
        return self._solution(problem, r, u, measures, sweeps, "nsgs", seconds, compiling)

    def _box(self, problem: BoxProblem, guess: ArrayLike | None) -> Solution | None:
        z, w = _start(guess, problem.size), np.empty(problem.size)
        (measures, rounds, solved), seconds, compiling = timed(
            small_boxes.solve, _flat(problem.A), problem.b, problem.lower, problem.upper, self.tolerance, z, w
        )
        if not solved:
            return None
        return self._solution(problem, z, w, measures, rounds, "newton-min", seconds, compiling)

    def _solution(
        self, problem: AnyProblem, r: Array, u: Array, measures: Array, iterations: int, method: str,
        seconds: float, compiling: float,
    ) -> Solution:  # fmt: skip
        r.flags.writeable = False
        error = float(max(measures[NATURAL], measures[SCALED]))
        return Solution.unchecked(
            problem=problem, r=r, u=u, status=Status.SOLVED, residuals=from_measures(measures),
            solver=self.name, tolerance=self.tolerance, iterations=iterations, seconds=seconds,
            compile_seconds=compiling, history=NO_HISTORY, v=None, lam=None, reason="",
            tried=(Stage(method, iterations, 0.0, error),), operations=0.0, certificate=None,
        )  # fmt: skip


def _start(guess: ArrayLike | None, n: int) -> Array:
    return np.zeros(n) if guess is None else np.array(guess, float)


def _flat(matrix: Any) -> Array:
    """A matrix row by row, to be read."""
    if not matrix.flags.c_contiguous or matrix.flags.writeable:
        matrix = frozen(np.array(matrix, order="C"))
    return np.asarray(matrix.reshape(-1))
