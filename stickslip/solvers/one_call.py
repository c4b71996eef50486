"""The first attempt of `auto`: one compiled call that solves and certifies a problem.

A run of a small model solves problems of a few unknowns a hundred thousand times, and calls from Python are
most of the cost. Each form of small problem therefore has one kernel, which checks the guess, solves, and
computes the judge's measures. The other fields of a solution are computed when they are first read. Contacts
of bodies start from the impulses of the last step, which often are the answer; many contacts without a guess
are left to the stages of `auto` at once. The stages also continue from the best iterate of a failed attempt.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.compilation.timing import timed
from stickslip.kernels import body_problems, residuals, schedule, small_boxes, small_contacts
from stickslip.kernels.residuals import MEASURES
from stickslip.problem import parts
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.operator import BlockDelassus, DenseDelassus
from stickslip.problem.residuals import from_measures
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import AnyProblem, Late, Solution, Stage, Status
from stickslip.solvers.certify import checked_guess
from stickslip.solvers.domain_sweeps import solve_bodies

NOTHING: Array = frozen(np.zeros(0))
FEW = 60
"""Components up to which contacts between bodies are tried in one call without a guess; heuristic."""


class FirstTry(NamedTuple):
    """Result of the first attempt."""

    solution: Solution | None
    """The certified answer; None if the call found none."""
    guess: Array | None
    """Impulses to continue from [N s], shape (n,); None for zero."""
    tried: tuple[Stage, ...] = ()
    """The stages of a failed attempt."""


def solve_in_one_call(problem: AnyProblem, guess: ArrayLike | None, tolerance: float, name: str) -> FirstTry:
    """Try to solve a small problem, or contacts between bodies, in one call.

    name: solver name of the solution. A guess that is not an array of n finite numbers is an error.
    """
    if type(problem) is ContactProblem:
        W = problem.W
        if 0 < problem.u_free.shape[0] <= small_contacts.SMALL:
            if isinstance(W, DenseDelassus):
                return _contacts(problem, small_contacts.answer, W.rows, guess, tolerance, name)
            if isinstance(W, BlockDelassus) and W.offset is problem.K.offset:
                arrays = tuple(W.arrays)
                return _contacts(problem, small_contacts.answer_blocks, arrays, guess, tolerance, name)
    elif type(problem) is BoxProblem:
        if 0 < problem.b.shape[0] <= small_boxes.SMALL:
            return _box(problem, guess, tolerance, name)
    elif type(problem) is GlobalProblem and problem.G is None and problem.u_bias.shape[0] > 0:
        if isinstance(problem.H, ContactBlocks) and problem.M.is_body_blocks:
            return _bodies(problem, guess, tolerance, name)
        if problem.u_bias.shape[0] <= small_contacts.SMALL and problem.dense is not None:
            return _velocities(problem, guess, tolerance, name)
    return FirstTry(None, checked_guess(problem, guess))


def _contacts(
    problem: ContactProblem, kernel: Any, W: Any, guess: ArrayLike | None, tolerance: float, name: str
) -> FirstTry:
    """Solve a problem of few contacts by sweeps and Newton's method."""
    u_free = problem.u_free
    n = u_free.shape[0]
    r, u, report = np.empty(n), np.empty(n), np.empty(small_contacts.REPORT)
    _, *spent = timed(
        kernel, tuple(problem.K.arrays), W, u_free, _given(problem, guess, n), tolerance, r, u, report
    )
    if report[small_contacts.SOLVED] != 1.0:
        return _unsolved(problem, guess, _contact_details(report))
    return _solved((_contact_details, report), problem, {"r": r, "u": u}, spent, tolerance, name)


def _velocities(problem: GlobalProblem, guess: ArrayLike | None, tolerance: float, name: str) -> FirstTry:
    """Solve a global problem of few contacts, whose velocities are eliminated."""
    u_bias = problem.u_bias
    n = u_bias.shape[0]
    r, u, report, v = np.empty(n), np.empty(n), np.empty(small_contacts.REPORT), np.empty(problem.f.shape[0])
    start = _given(problem, guess, n)
    _, *spent = timed(
        small_contacts.answer_global, tuple(problem.K.arrays), problem.dense, u_bias, start, tolerance,
        r, u, v, report,
    )  # fmt: skip
    if report[small_contacts.SOLVED] != 1.0:
        return _unsolved(problem, guess, _contact_details(report))
    v.flags.writeable = False
    answer = {"r": r, "u": u, "v": v, "lam": NOTHING}
    return _solved((_contact_details, report), problem, answer, spent, tolerance, name)


def _contact_details(report: Array) -> dict[str, Any]:
    """Fields of a `Solution` from the report of `_contacts` or `_velocities`."""
    sweeps, steps = int(report[small_contacts.SWEEPS]), int(report[small_contacts.NEWTONS])
    return _details(
        report, (("nsgs", sweeps), ("newton-ac", steps)), float(report[small_contacts.EQUILIBRIUM])
    )


def _box(problem: BoxProblem, guess: ArrayLike | None, tolerance: float, name: str) -> FirstTry:
    """Solve a small box problem by active sets."""
    b = problem.b
    n = b.shape[0]
    z, w, report = np.empty(n), np.empty(n), np.empty(small_boxes.TOLD)
    start = _given(problem, guess, n)
    _, *spent = timed(
        small_boxes.answer, problem.rows, b, problem.lower, problem.upper, start, tolerance, z, w, report
    )
    if report[small_boxes.SOLVED] != 1.0:
        return _unsolved(problem, guess, _box_details(report))
    return _solved((_box_details, report), problem, {"r": z, "u": w}, spent, tolerance, name)


def _box_details(report: Array) -> dict[str, Any]:
    """Fields of a `Solution` from the report of `_box`."""
    return _details(report, (("newton-min", int(report[small_boxes.ROUNDS_MADE])),))


def _bodies(problem: GlobalProblem, guess: ArrayLike | None, tolerance: float, name: str) -> FirstTry:
    """Solve contacts between bodies by sweeps, and by Newton's method if contacts are few or joints many;
    without an answer, return the best iterate as the guess."""
    H, M, K, n = problem.H, problem.M, problem.K, problem.u_bias.shape[0]
    start: Array | None = _given(problem, guess, n)
    if guess is not None and not small_contacts.is_fit(start, problem.f, problem.u_bias):
        start = checked_guess(problem, guess)  # an error, or None
    large = parts.are_coulomb(K, H)
    if start is None or not start.shape[0]:
        if n > FEW and not large:  # the stages know better how many sweeps to make from nothing
            return FirstTry(None, None)
        start = np.zeros(n)
    arguments: Any = (problem, tolerance) if large else (
        tuple(K.arrays), H.bodies, H.rows, M.matrix, M.inverse_root,  # type: ignore[union-attr]
        problem.f.reshape(-1, H.rows.shape[2]), problem.u_bias, tolerance,  # type: ignore[union-attr]
    )  # fmt: skip
    kernel = solve_bodies if large else _kernel(K)
    (r, v, u, report, control, history), *spent = timed(kernel, *arguments, start)
    if control[schedule.STATE] != schedule.SOLVED:
        best, r.flags.writeable = float(control[schedule.BEST]), False
        tried = (Stage(_method(control), int(control[schedule.SWEEPS]), 0.0, best),)
        return FirstTry(None, r if best < np.inf else checked_guess(problem, guess), tried)
    call = report, control, history
    if not (residuals.is_solved(report, tolerance) and report[MEASURES] <= tolerance):
        return _unsolved(problem, guess, _body_details(call))
    v.flags.writeable = False
    answer = {"r": r, "u": u, "v": v.reshape(-1), "lam": NOTHING}
    return _solved((_body_details, call), problem, answer, spent, tolerance, name)


def _body_details(call: tuple[Array, Array, Array]) -> dict[str, Any]:
    """Fields of a `Solution` from the report, the control and the history of `_bodies`."""
    report, control, history = call
    work = ((_method(control), int(control[schedule.SWEEPS])),)
    return _details(report, work, float(report[MEASURES])) | {"history": history}


def _method(control: Array) -> str:
    """Name of the method that solved a problem over bodies."""
    if control[schedule.SWEEPS] and not control[schedule.CHECKS]:
        return "prox"
    return "anderson" if control[schedule.ERROR_THEN] > 0.0 else "nsgs"


def _kernel(K: ProductSet) -> Any:
    """The kernel for problems over bodies with these blocks."""
    if K.family == parts.COULOMB_3D:
        return body_problems.solve_coulomb3
    return body_problems.solve_jointed if body_problems.is_jointed(K.kind) else body_problems.solve_blocks


def _solved(
    late: Late, problem: AnyProblem, answer: dict[str, Any], spent: list[float], tolerance: float, name: str
) -> FirstTry:
    """Return the certified answer; spent: time of the call and of its compilation [s]."""
    answer["r"].flags.writeable = False
    solution = Solution.deferred(
        late, problem=problem, status=Status.SOLVED, solver=name, tolerance=tolerance, seconds=spent[0],
        compile_seconds=spent[1], **answer,
    )  # fmt: skip
    return FirstTry(solution, None)


def _unsolved(problem: AnyProblem, guess: ArrayLike | None, report: dict[str, Any]) -> FirstTry:
    """Return a failed attempt."""
    return FirstTry(None, checked_guess(problem, guess), report["tried"])


def _details(report: Array, work: tuple[tuple[str, int], ...], equilibrium: float = 0.0) -> dict[str, Any]:
    """Fields of a `Solution` from the measures of the judge, and from each method with its iterations."""
    measures = from_measures(report[:MEASURES], equilibrium)
    iterations = sum(count for _, count in work)
    used = [(method, count) for method, count in work if count] or [work[0]]
    return {
        "residuals": measures, "iterations": iterations,
        "history": np.array([[float(iterations), measures.natural, measures.natural_scaled]]),
        "tried": tuple(Stage(method, count, 0.0, measures.error) for method, count in used),
    }  # fmt: skip


def _given(problem: AnyProblem, guess: ArrayLike | None, n: int) -> Array:
    """Return a guess as an array for the kernels, which check its numbers; empty for none."""
    if guess is None:
        return NOTHING
    if (
        type(guess) is np.ndarray
        and guess.dtype == np.float64
        and guess.shape == (n,)
        and guess.flags.c_contiguous
    ):
        return guess
    start = checked_guess(problem, guess)
    return NOTHING if start is None else start
