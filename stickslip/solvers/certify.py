"""Certified solutions of any problem from a method for contact problems.

A method sees contact problems only. Global and box problems are converted first, and the result is converted
back. The judge then examines it on the original problem, and its residuals decide the status.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.compilation.timing import Compilation
from stickslip.kernels.small_contacts import BURYING
from stickslip.problem.box import BoxProblem
from stickslip.problem.certificate import Certificate, check_certificate
from stickslip.problem.checks import Array, ProblemError, finite, flat, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer, Conversion, box_to_contacts, reduce_to_contacts
from stickslip.problem.nonlinear import NonlinearProblem
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.program import ConeProgram
from stickslip.problem.residuals import Residuals, examine, single_bound
from stickslip.problem.solution import AnyProblem, Problem, Solution, Stage, Status
from stickslip.problem.step_problem import StepProblem
from stickslip.solvers.registry import PROGRAM_SOLVERS, accepted, names
from stickslip.threads import single_threaded

PROBLEMS = (ContactProblem, GlobalProblem, BoxProblem)
TRIES = 3
"""Largest number of calls of a method, each to a finer tolerance, until the judge accepts the result."""
MORE_DIGITS = 0.1
"""Factor on the tolerance for the next call if rounding in a conversion prevents acceptance (heuristic)."""
ONE_THREAD = 60
"""Number of unknowns up to which BLAS uses one thread by itself. Beyond, it is limited to one thread, so that
results have the same bits for any number of threads and small products do not wait for thread
synchronisation."""
FINEST = 1e-17
"""Finest tolerance requested of a method; finer ones are below machine precision."""
FAR = 1e12
"""Squared ratio of |W r| to |u_free| up to which rounding does not matter (heuristic)."""
OUTGROWN = "impulses grow without bound while contacts still close: the problem seems to have no solution"
CLOSES = (
    "norms are below tolerance, but contacts close at {:.2g} of the largest free velocity (at most {:.2g} is"
    " allowed): there may be no solution, or bodies with large mass ratios need a smaller tolerance"
)
SINGLE = (
    "norms are below tolerance, but a single contact misses its law by {:.2g} on its own scale (at most"
    " {:.2g} is allowed): bodies with large mass ratios need a smaller tolerance"
)
NO_HISTORY: Array = frozen(np.zeros((0, 3)))


class Attempt(NamedTuple):
    """Result of a method on a contact problem, before the judge has examined it."""

    r: Array
    """Best impulses found [N s], shape (n,)."""
    status: Status
    """Reason why the method stopped."""
    iterations: int
    """Number of iterations."""
    seconds: float
    """Time without compilation [s]."""
    compile_seconds: float
    """Time of compilation [s]."""
    history: Array = NO_HISTORY
    """Iteration, natural and natural_scaled at each check by the judge [-], shape (checks, 3)."""
    reason: str = ""
    """Details of the status, if any."""
    tried: tuple[Stage, ...] = ()
    """Methods that were tried, in their order."""
    operations: float = 0.0
    """Approximate number of multiplications; 0 if the method does not count them."""
    certificate: Certificate | None = None
    """Claimed proof of infeasibility; the status is INFEASIBLE only if `check_certificate` accepts it."""


Method = Callable[[Any, Array | None, float], Attempt]
"""Solves a problem in the method's form from a guess to a tolerance."""
Prover = Callable[[ContactProblem, Array], Certificate | None]
"""Searches for a certificate of infeasibility, given a contact problem and the last impulses of a method."""
Form = Callable[[str, Problem], Conversion[Any] | None]
"""Converts a problem to the form of the named solver; None if no conversion is needed."""
GivenMethod = Callable[[AnyProblem, Array | None, float], tuple[Attempt, Answer]]
"""Solves any problem in its own unknowns; returns the attempt and the answer."""
GlobalMethod = Callable[[GlobalProblem, Array | None, float], tuple[Attempt, Answer]]
"""Solves a global problem in its own unknowns; returns the attempt and the answer."""


def as_contacts(name: str, problem: Problem) -> Conversion[Any] | None:
    """Convert any problem to its contact form; return None if it already is a ContactProblem."""
    conversion = None
    if isinstance(problem, GlobalProblem):
        conversion = reduce_to_contacts(problem)
    elif isinstance(problem, BoxProblem):
        conversion = box_to_contacts(problem)
    refuse_unknown_blocks(name, problem if conversion is None else conversion.problem)  # type: ignore[arg-type]
    return conversion


def certified(
    name: str, method: Method, problem: Problem, guess: ArrayLike | None, tolerance: float,
    prove: Prover | None = None, form: Form = as_contacts,
) -> Solution:  # fmt: skip
    """Solve `problem` by `method`, have the judge examine the result, and `prove` infeasibility otherwise."""
    # 1. Conversion of the problem and the guess to the form of the method.
    _check_problem(name, problem)
    start = checked_guess(problem, guess)
    conversion, seconds, compiling = _converted(form, name, problem)
    converted: Any = problem if conversion is None else conversion.problem
    if conversion is not None and start is not None:
        start = frozen(np.ascontiguousarray(conversion.guess(start)))
    target = tolerance
    total = Attempt(np.zeros(0), Status.STALLED, 0, seconds, compiling)
    best: Solution | None = None
    run = single_threaded(method) if problem.size > ONE_THREAD else method
    # 2. Calls of the method to finer and finer tolerances, until the judge accepts the result or the method
    #    itself reports a failure.
    for _ in range(TRIES):
        attempt = run(converted, start, target)
        start = frozen(attempt.r.view())
        total = after(total, attempt)
        answer = Answer(attempt.r)
        if conversion is not None:
            total = total._replace(certificate=_carried_back(conversion, attempt.certificate))
            answer = conversion.recover(attempt.r)
        solution = judged(name, problem, answer, total, tolerance)
        best = solution if best is None or _is_better(solution, best) else _counted(best, solution)
        if best.ok or best.certificate is not None:
            return best
        claims = attempt.status.ok or attempt.status is Status.RELAXED
        if not claims or best is not solution or (best.status is attempt.status and not best.ok):
            break
        if prove is not None and _outgrows(solution, converted, attempt.r):
            best = proved(best, _carried_back(conversion, prove(converted, attempt.r)))
            if best.certificate is not None:
                return best
        target = finer(solution.residuals, tolerance, target)
        if target < FINEST:
            break
    # 3. Unsolved: search for a certificate of infeasibility.
    assert best is not None
    if prove is not None:
        best = proved(best, _carried_back(conversion, prove(converted, attempt.r)))
    return best


def certified_globally(
    name: str, setting: str, method: GlobalMethod, problem: Problem, guess: ArrayLike | None, tolerance: float
) -> Solution:
    """Solve a global problem in its own unknowns by `method`; the judge examines the result.

    `setting` is the option that requires a global problem; the error for other problems names it.
    """
    _check_problem(name, problem)
    if not isinstance(problem, GlobalProblem):
        raise ProblemError(
            f"{name}: {setting} needs a GlobalProblem, with M, f and H; this is a {type(problem).__name__}"
        )
    return certified_as_given(name, method, problem, guess, tolerance)  # type: ignore[arg-type]


def certified_as_given(
    name: str, method: GivenMethod, problem: AnyProblem, guess: ArrayLike | None, tolerance: float
) -> Solution:
    """Solve any problem, also a NonlinearProblem, in its own unknowns by `method`; the judge examines it."""
    _refuse_steps(name, problem)
    if not isinstance(problem, (*PROBLEMS, NonlinearProblem)):
        raise TypeError(f"a problem is needed, not {type(problem).__name__}")
    if isinstance(problem, ContactProblem | GlobalProblem):
        refuse_unknown_blocks(name, problem)
    start = checked_guess(problem, guess)
    attempt, answer = method(problem, start, tolerance)
    return judged(name, problem, answer, attempt, tolerance)


def _check_problem(name: str, problem: object) -> None:
    """Raise an error for objects that are not problems, or not problems for this solver."""
    _refuse_steps(name, problem)
    if isinstance(problem, NonlinearProblem):
        raise ProblemError(f"{name} does not take a NonlinearProblem; mcp does")
    if not isinstance(problem, PROBLEMS):
        raise TypeError(f"a problem is needed, not {type(problem).__name__}")


def _refuse_steps(name: str, problem: object) -> None:
    """Raise a ProblemError for whole steps and cone programs, which are not contact problems."""
    if isinstance(problem, ConeProgram):
        raise ProblemError(f"{name} does not take a ConeProgram; those that do: {', '.join(PROGRAM_SOLVERS)}")
    if isinstance(problem, StepProblem):
        raise ProblemError(
            f"{name} does not take a StepProblem; ipm-step and auto do, and {name} takes its tangent problems"
            " (problem.step_tangent)"
        )


def checked_guess(problem: AnyProblem, guess: ArrayLike | None) -> Array | None:
    """Return the guess as a flat float array, without a copy if it already is one.

    Return None if the guess is so much larger than the load that rounding hides the load: such impulses are
    self-stress, and zero is as good a start.
    """
    if guess is None:
        return None
    size = problem.size
    ready = type(guess) is np.ndarray and guess.dtype == np.float64 and guess.flags.c_contiguous
    start = guess.reshape(-1) if ready and guess.size == size else flat("guess", guess, size)  # type: ignore
    finite("guess", start)
    return np.asarray(frozen(start.view())) if _ordinary(problem, start, BURYING) else None


def _converted(form: Form, name: str, problem: Problem) -> tuple[Conversion[Any] | None, float, float]:
    """Return the conversion, its time and its compilation time [s]; contact problems are not timed."""
    if isinstance(problem, ContactProblem):
        return form(name, problem), 0.0, 0.0
    with Compilation() as compilation:
        start = time.perf_counter()
        conversion = form(name, problem)
        seconds = time.perf_counter() - start
    return conversion, seconds - compilation.seconds, compilation.seconds


def judged(name: str, problem: AnyProblem, answer: Answer, attempt: Attempt, tolerance: float) -> Solution:
    """Return the solution of an attempt, with the judge's residuals and the status they imply."""
    residuals, u = examine(problem, answer.r, answer.v, answer.lam)
    status, reason = attempt.status, attempt.reason
    if residuals.solved(tolerance):
        status, reason = Status.SOLVED, ""
    elif status.ok:
        status, reason = Status.STALLED, _why_not(residuals, tolerance, problem, answer.r)
    elif status is Status.RELAXED:
        status, reason = _relaxed(
            residuals, examine(problem, answer.r, answer.v, answer.lam, True)[0], tolerance
        )
    certificate = None
    if status is not Status.SOLVED:
        status, reason, certificate = _proved(problem, attempt.certificate, status, reason)
    return Solution.unchecked(
        problem=problem, r=answer.r, u=u, status=status, residuals=residuals, solver=name,
        tolerance=tolerance, iterations=attempt.iterations, seconds=attempt.seconds,
        compile_seconds=attempt.compile_seconds, history=attempt.history, v=answer.v, lam=answer.lam,
        reason=reason, tried=attempt.tried, operations=attempt.operations, certificate=certificate,
    )  # fmt: skip


def after(before: Attempt, attempt: Attempt) -> Attempt:
    """Return an attempt that continued `before`, with the work of both."""
    return attempt._replace(
        iterations=before.iterations + attempt.iterations,
        seconds=before.seconds + attempt.seconds,
        compile_seconds=before.compile_seconds + attempt.compile_seconds,
        history=np.concatenate((before.history, attempt.history + np.array([before.iterations, 0.0, 0.0]))),
        tried=before.tried + attempt.tried,
        operations=before.operations + attempt.operations,
    )


def finer(residuals: Residuals, tolerance: float, target: float) -> float:
    """Return the tolerance for the next call of a method whose result the judge rejects.

    If only single contacts exceed their bound, it is the error at which they would meet it; otherwise a
    fraction of the tolerance of the last call, `target`.
    """
    error = residuals.error
    if not error < np.inf:
        return 0.0
    if error > tolerance:
        return MORE_DIGITS * target
    return 0.5 * error * single_bound(tolerance) / residuals.single if residuals.single > 0.0 else 0.0


def _is_better(solution: Solution, than: Solution) -> bool:
    """Whether a solution is closer to acceptance by the judge than another."""
    tolerance = solution.tolerance
    return solution.ok or shortfall(solution.residuals, tolerance) < shortfall(than.residuals, tolerance)


def shortfall(residuals: Residuals, tolerance: float) -> float:
    """Largest ratio of the judge's measures to their bounds [-]; at most 1 for a solved problem."""
    return max(residuals.error / tolerance, residuals.single / single_bound(tolerance))


def _counted(solution: Solution, later: Solution) -> Solution:
    """Return a solution with the work of a later, worse one added."""
    return solution.with_(
        iterations=later.iterations, seconds=later.seconds, compile_seconds=later.compile_seconds,
        history=later.history, tried=later.tried, operations=later.operations,
    )  # fmt: skip


def _outgrows(solution: Solution, contact: Problem, r: Array) -> bool:
    """Whether the norms are small only because the impulses far exceed the load."""
    return solution.residuals.error <= solution.tolerance and not _ordinary(contact, r)


def _ordinary(problem: AnyProblem, r: Array, far: float = FAR) -> bool:
    """Whether |W r|² (estimated cheaply) is at most `far` times |u_free|², so that rounding does not matter.

    For a global problem |r|² is compared with |f|² + |u_bias|², whatever their units.
    """
    with np.errstate(all="ignore"):  # sums that overflow are not ordinary
        return _load_outweighs(problem, r, far)


def _load_outweighs(problem: AnyProblem, r: Array, far: float) -> bool:
    size = float(r.dot(r))
    if isinstance(problem, GlobalProblem):
        load = problem.f.dot(problem.f)
        return size < far * float(load + problem.u_bias.dot(problem.u_bias)) or size == 0.0
    if isinstance(problem, ContactProblem) and isinstance(problem.W, DenseDelassus):
        W = problem.W.matrix.reshape(-1)
        return float(W.dot(W)) * size < far * float(problem.u_free.dot(problem.u_free)) or size == 0.0
    if isinstance(problem, ContactProblem):
        alone = problem.W.diagonal() * r
        return float(alone.dot(alone)) < far * float(problem.u_free.dot(problem.u_free)) or size == 0.0
    return True


def proved(solution: Solution, claim: Certificate | None) -> Solution:
    """Return the solution, with status INFEASIBLE if the certificate is accepted."""
    if claim is None or solution.certificate is not None:
        return solution
    outcome = _proved(solution.problem, claim, solution.status, solution.reason)
    return solution.with_(status=outcome[0], reason=outcome[1], certificate=outcome[2])


def _proved(
    problem: AnyProblem, claim: Certificate | None, status: Status, reason: str
) -> tuple[Status, str, Certificate | None]:
    """Return INFEASIBLE if the certificate is accepted; otherwise a corrected status and reason."""
    if claim is not None and not isinstance(problem, NonlinearProblem):
        check = check_certificate(problem, claim)
        if check.accepted:
            return Status.INFEASIBLE, f"certificate {check}", claim
        if status is Status.INFEASIBLE:
            return Status.STALLED, f"progress stopped; certificate of infeasibility {check}", None
    elif status is Status.INFEASIBLE:
        return (
            Status.STALLED,
            "progress stopped; the method reports that the problem is infeasible, without proof",
            None,
        )
    return status, reason, None


def _carried_back(conversion: Conversion[Any] | None, claim: Certificate | None) -> Certificate | None:
    """Convert a certificate back to the unknowns of the original problem."""
    return claim if claim is None or conversion is None else conversion.certificate(claim)


def _relaxed(exact: Residuals, relaxed: Residuals, tolerance: float) -> tuple[Status, str]:
    """Return status and reason of a result of the convex relaxation that violates the exact law."""
    if relaxed.solved(tolerance):
        return Status.RELAXED, (
            f"solves the convex relaxation to {relaxed.error:.2e}, but Coulomb's law only to"
            f" {exact.error:.2e}: they differ at sliding contacts"
        )
    return Status.STALLED, (
        f"the convex relaxation is solved to {relaxed.error:.2e} only on the problem as given,"
        f" Coulomb's law to {exact.error:.2e}"
    )


def _why_not(residuals: Residuals, tolerance: float, problem: AnyProblem, r: Array) -> str:
    """Return the reason why the judge rejects a result that the method reports as solved."""
    if residuals.error <= tolerance:
        bound = single_bound(tolerance)
        if residuals.approach <= bound:
            return SINGLE.format(residuals.local, bound)
        return CLOSES.format(residuals.approach, bound) if _ordinary(problem, r) else OUTGROWN
    return (
        "the converted problem is solved, but rounding keeps the residual of the original above the tolerance"
    )


def refuse_unknown_blocks(name: str, problem: ContactProblem | GlobalProblem, advice: str = "") -> None:
    """Raise a `ProblemError`, naming other solvers, if the solver does not accept the problem's blocks."""
    unknown = [kind for kind in problem.K.census if kind not in accepted(name)]
    if unknown:
        others = ", ".join(names(accepting=list(problem.K.census))) or "none"
        kinds = " or ".join(unknown)
        raise ProblemError(f"{name} does not take {kinds} blocks; solvers that do: {others}{advice}")
