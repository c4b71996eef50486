"""What a step asks for again and again, in few compiled calls; the rest by the solver itself.

A step of a small model asks for problems of a few unknowns, a hundred thousand times: then what costs is
calls. `Quick` stands before a solver: what is small and dense goes through one kernel, which solves it and
asks the judge's own measures. Contacts of bodies go through sweeps from the last step's impulses, which
often are the answer, and then before the judge. What neither brings to tolerance goes to the solver, from
the best of it.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels import body_problems, cones, schedule, small_boxes, small_contacts
from stickslip.kernels.jit import timed
from stickslip.kernels.residuals import MEASURES, NATURAL, SCALED
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.residuals import CLOSING, from_measures
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import AnyProblem, Solution, Stage, Status
from stickslip.schemes.step import Solver

SMALL = 30
"""Most unknowns of a problem that goes through one call."""
NO_HISTORY: Array = frozen(np.zeros((0, 3)))
NOTHING: Array = frozen(np.zeros(0))
COULOMB_3D = (2,)
"""Sizes of the groups of Coulomb's cone in space."""
MOST_WORK, JOINTED_WORK = 1_000_000, 4_000
"""Components that sweeps may visit before the solver is asked, 10 ms and more; and where joints couple bodies
into chains, along which sweeps carry impulses one link at a time."""
JOINTED = 20
"""Blocks for each joint below which joints are what a problem is about."""
PLAIN = 60.0
"""Plain sweeps over Coulomb contacts that are followed by accelerated ones."""


class Quick:
    """Solves what is small at once, and hands on the rest."""

    def __init__(self, solver: Solver, tolerance: float, name: str = "auto"):
        self.solver, self.tolerance, self.name = solver, tolerance, name
        self.takes_steps = bool(getattr(solver, "takes_steps", False))
        """Whether the solver takes steps of bodies whole."""

    def on_path(self, kappa: float) -> Solver:
        """The solver that stops on the central path of steps at `kappa`; AttributeError if there is none."""
        made: Solver = self.solver.on_path(kappa)  # type: ignore[attr-defined]
        return made

    def solve(self, problem: AnyProblem, *, guess: ArrayLike | None = None) -> Solution:
        """The certified answer, from `guess` if there is one."""
        found: Solution | None = None
        if type(problem) is ContactProblem:
            if type(problem.W) is DenseDelassus and 0 < problem.u_free.shape[0] <= SMALL:
                found = self._contacts(problem, guess)
        elif type(problem) is BoxProblem and type(problem.A) is np.ndarray and 0 < problem.size <= SMALL:
            found = self._box(problem, guess)
        elif type(problem) is GlobalProblem and _is_of_bodies(problem):
            found, guess = self._bodies(problem, guess)
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

    def _bodies(
        self, problem: GlobalProblem, guess: ArrayLike | None
    ) -> tuple[Solution | None, ArrayLike | None]:
        """The answer by sweeps if they come to one, and from where to go on otherwise."""
        H, M, K, size = problem.H, problem.M, problem.K, problem.K.size
        start = np.zeros(size) if guess is None else np.asarray(guess, float).view()
        start.flags.writeable = False
        solve = body_problems.solve_coulomb3 if K.family == COULOMB_3D else body_problems.solve_blocks
        (r, v, u, told, control, history), seconds, compiling = timed(
            solve, *K.arrays, H.bodies, H.rows, M.matrix, M.inverse_root,  # type: ignore[union-attr]
            problem.f.reshape(-1, 6), problem.u_bias, self.tolerance, sweeps_worth(K), start,
        )  # fmt: skip
        r.flags.writeable = v.flags.writeable = False
        if control[schedule.STATE] != schedule.SOLVED:
            return None, (r if control[schedule.BEST] < np.inf else guess)
        residuals = from_measures(told[:MEASURES], float(told[MEASURES]))
        if not residuals.solved(self.tolerance) or residuals.closing > max(CLOSING, self.tolerance):
            return None, guess
        sweeps = int(control[schedule.SWEEPS])
        method = "anderson" if control[schedule.ERROR_THEN] > 0.0 else "nsgs"
        return Solution.unchecked(
            problem=problem, r=r, u=u, status=Status.SOLVED, residuals=residuals,
            solver=self.name, tolerance=self.tolerance, iterations=sweeps, seconds=seconds,
            compile_seconds=compiling, history=history, v=v.reshape(-1), lam=NOTHING, reason="",
            tried=(Stage(method, sweeps, 0.0, residuals.error),), operations=0.0, certificate=None,
        ), None  # fmt: skip

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


def _is_of_bodies(problem: GlobalProblem) -> bool:
    """Whether contacts are blocks between rigid bodies, with no bilateral rows beside them."""
    H, plain = problem.H, problem.G is None and problem.size > 0
    return plain and isinstance(H, ContactBlocks) and H.rows.shape[2] == 6 and problem.M.is_body_blocks


def sweeps_worth(K: ProductSet) -> float:
    """Sweeps over so many blocks of bodies before the solver is asked."""
    size = max(K.size, 1)
    if K.family != COULOMB_3D and JOINTED * np.count_nonzero(K.kind == cones.FREE) > len(K):
        return float(max(3, JOINTED_WORK // size))
    if (
        K.family == COULOMB_3D and size > body_problems.MANY
    ):  # accelerated sweeps follow, which soon are the better ones
        return PLAIN
    return float(max(500, min(5000, MOST_WORK // size)))


def _start(guess: ArrayLike | None, n: int) -> Array:
    return np.zeros(n) if guess is None else np.array(guess, float)


def _flat(matrix: Any) -> Array:
    """A matrix row by row, to be read."""
    if not matrix.flags.c_contiguous or matrix.flags.writeable:
        matrix = frozen(np.array(matrix, order="C"))
    return np.asarray(matrix.reshape(-1))
