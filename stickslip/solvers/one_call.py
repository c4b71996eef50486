"""What `auto` tries first: problems that one compiled call solves and measures.

A step of a small model asks for problems of a few unknowns, a hundred thousand times: then the calls are
what costs. Small dense problems go through one kernel, which solves them and asks the judge's own
measures. Contacts of bodies go through sweeps from the impulses of the last step, which often are the
answer, and then before the judge; without a guess the stages begin at once. The stages of `auto` take what
is not solved here, from the best of it.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.compilation.timing import timed
from stickslip.kernels import body_problems, schedule, small_boxes, small_contacts
from stickslip.kernels.residuals import MEASURES, NATURAL, SCALED
from stickslip.kernels.small_contacts import SMALL
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.residuals import Residuals, examine, from_measures
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import AnyProblem, Solution, Stage, Status
from stickslip.solvers.domain_sweeps import is_large, solve_bodies

NOTHING: Array = frozen(np.zeros(0))
FEW = 60
"""Components up to which contacts between bodies are tried in one call from nothing."""
NOTHING_YET: Array = frozen(np.zeros(FEW))
COULOMB_3D = (2,)
"""Sizes of the groups of Coulomb's cone in space."""


class FirstTry(NamedTuple):
    """What one call made of a problem."""

    solution: Solution | None
    """The certified answer; None where the call found none."""
    guess: Array | None
    """Impulses to go on from [N s], shape (n,); None for zero."""
    stage: Stage | None
    """The work that was done in vain; None where there was none."""


def solve_in_one_call(problem: AnyProblem, guess: Array | None, tolerance: float, name: str) -> FirstTry:
    """The answer of a small dense problem, or of contacts between bodies, if one call finds it.

    guess: flat and finite. name: of the solver, for the solution.
    """
    if type(problem) is ContactProblem:
        if type(problem.W) is DenseDelassus and 0 < problem.u_free.shape[0] <= SMALL:
            return _contacts(problem, guess, tolerance, name)
    elif type(problem) is BoxProblem and type(problem.A) is np.ndarray and 0 < problem.size <= SMALL:
        return _box(problem, guess, tolerance, name)
    elif type(problem) is GlobalProblem and _is_of_bodies(problem):
        return _bodies(problem, guess, tolerance, name)
    return FirstTry(None, guess, None)


def _contacts(problem: ContactProblem, guess: Array | None, tolerance: float, name: str) -> FirstTry:
    """Sweeps over few contacts with W dense."""
    n = problem.u_free.shape[0]
    r, u = _start(guess, n), np.empty(n)
    matrix = problem.W.matrix  # type: ignore[attr-defined]
    (measures, sweeps, solved), seconds, compiling = timed(
        small_contacts.solve, tuple(problem.K.arrays), _flat(matrix), problem.u_free, tolerance, r, u
    )
    stage = Stage("nsgs", sweeps, 0.0, _error(measures))
    if not solved:
        return FirstTry(None, guess, stage)
    parts, residuals = (r, u, None, None), from_measures(measures)
    return _solved(problem, parts, residuals, stage, (seconds, compiling), tolerance, name)


def _box(problem: BoxProblem, guess: Array | None, tolerance: float, name: str) -> FirstTry:
    """Active sets of few unknowns between bounds."""
    z, w = _start(guess, problem.size), np.empty(problem.size)
    (measures, rounds, solved), seconds, compiling = timed(
        small_boxes.solve, _flat(problem.A), problem.b, problem.lower, problem.upper, tolerance, z, w
    )
    residuals = examine(problem, z, None, None)[0]  # sums of the kernel round in another order
    stage = Stage("newton-min", rounds, 0.0, _error(measures))
    if not (solved and residuals.solved(tolerance)):
        return FirstTry(None, guess, stage)
    return _solved(problem, (z, w, None, None), residuals, stage, (seconds, compiling), tolerance, name)


def _bodies(problem: GlobalProblem, guess: Array | None, tolerance: float, name: str) -> FirstTry:
    """Sweeps over contacts between bodies, Newton's method where contacts are few or joints are many; without
    an answer, the best to go on from."""
    H, M, K = problem.H, problem.M, problem.K
    large = is_large(K, H)
    if (
        guess is None and problem.size > FEW and not large
    ):  # the stages know better how many sweeps to make from nothing
        return FirstTry(None, None, None)
    start = (np.zeros(problem.size) if guess is None else guess).view()
    start.flags.writeable = False
    arguments: Any = (problem, tolerance) if large else (
        tuple(K.arrays), H.bodies, H.rows, M.matrix, M.inverse_root,  # type: ignore[union-attr]
        problem.f.reshape(-1, 6), problem.u_bias, tolerance,
    )  # fmt: skip
    kernel = solve_bodies if large else _kernel(K)
    (r, v, u, told, control, history), seconds, compiling = timed(kernel, *arguments, start)
    sweeps = int(control[schedule.SWEEPS])
    method = "anderson" if control[schedule.ERROR_THEN] > 0.0 else "nsgs"
    if sweeps and not control[schedule.CHECKS]:
        method = "prox"
    if control[schedule.STATE] != schedule.SOLVED:
        best = float(control[schedule.BEST])
        r.flags.writeable = False
        return FirstTry(None, r if best < np.inf else guess, Stage(method, sweeps, 0.0, best))
    residuals = from_measures(told[:MEASURES], float(told[MEASURES]))
    stage = Stage(method, sweeps, 0.0, residuals.error)
    if not residuals.solved(tolerance):
        return FirstTry(None, guess, stage)
    v.flags.writeable = False
    parts = r, u, v.reshape(-1), NOTHING
    return _solved(problem, parts, residuals, stage, (seconds, compiling), tolerance, name, history)


def _solved(
    problem: AnyProblem, parts: tuple[Array, Array, Array | None, Array | None], residuals: Residuals,
    stage: Stage, spent: tuple[float, float], tolerance: float, name: str, history: Array | None = None,
) -> FirstTry:  # fmt: skip
    """The certified answer; parts: r, u, v and lam; spent: on the call and on its compilation [s]."""
    r, u, v, lam = parts
    r.flags.writeable = False
    if history is None:
        history = np.array([[float(stage.iterations), residuals.natural, residuals.natural_scaled]])
    solution = Solution.unchecked(
        problem=problem, r=r, u=u, status=Status.SOLVED, residuals=residuals, solver=name,
        tolerance=tolerance, iterations=stage.iterations, seconds=spent[0], compile_seconds=spent[1],
        history=history, v=v, lam=lam, reason="", tried=(stage,), operations=0.0, certificate=None,
    )  # fmt: skip
    return FirstTry(solution, None, None)


def _is_of_bodies(problem: GlobalProblem) -> bool:
    """Whether contacts are blocks between rigid bodies, with no bilateral rows beside them."""
    H, plain = problem.H, problem.G is None and problem.size > 0
    return plain and isinstance(H, ContactBlocks) and H.rows.shape[2] == 6 and problem.M.is_body_blocks


def _kernel(K: ProductSet) -> Any:
    """The kernel that solves problems of bodies over such blocks."""
    if K.family == COULOMB_3D:
        return body_problems.solve_coulomb3
    return body_problems.solve_jointed if body_problems.is_jointed(K.kind) else body_problems.solve_blocks


def _error(measures: Array) -> float:
    """The larger of the norms [-]."""
    return float(max(measures[NATURAL], measures[SCALED]))


def _start(guess: Array | None, n: int) -> Array:
    """Memory for the answer, with the guess in it."""
    return np.zeros(n) if guess is None else np.array(guess, float)


def _flat(matrix: Any) -> Array:
    """A matrix row by row, to be read."""
    if not matrix.flags.c_contiguous or matrix.flags.writeable:
        matrix = frozen(np.array(matrix, order="C"))
    return np.asarray(matrix.reshape(-1))
