"""From a method on contact problems to certified answers of any problem.

A method sees contact problems only. Global and box problems go through their conversion, the answer
comes back, and the judge examines it on the problem as it was given: its word is the status.
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
"""Most calls of a method, each asked for more digits than the one before, until the judge is content."""
MORE_DIGITS = 0.1
"""Share of what was asked that is asked for next where rounding of a conversion is in the way."""
ONE_THREAD = 60
"""Unknowns up to which BLAS works on one thread by itself. Beyond, it is limited to one, so that answers have
the same bits for any number of threads, and no time is lost where they wait for each other."""
FINEST = 1e-17
"""Finest tolerance that a method is asked for: below, all is rounding."""
FAR = 1e12
"""Square of a ratio of impulses to load up to which nothing is lost in rounding."""
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
    """What a method found on a contact problem, in its own words."""

    r: Array
    """Best impulses found [N s], shape (n,)."""
    status: Status
    """Why the method stopped."""
    iterations: int
    """Iterations made."""
    seconds: float
    """Time without compilation [s]."""
    compile_seconds: float
    """Time of compilation [s]."""
    history: Array = NO_HISTORY
    """Iteration, natural, natural_scaled at each look at the judge [-], shape (checks, 3)."""
    reason: str = ""
    """What was seen, when the status needs more than its own sentence."""
    tried: tuple[Stage, ...] = ()
    """Methods tried on the way, in their order."""
    operations: float = 0.0
    """Multiplications made, about; 0 where the method does not count them."""
    certificate: Certificate | None = None
    """Why there is no solution, in the method's view; only the door's check makes it INFEASIBLE."""


Method = Callable[[Any, Array | None, float], Attempt]
"""Takes a problem in the form that it sees, a guess and a tolerance."""
Prover = Callable[[ContactProblem, Array], Certificate | None]
"""Takes a contact problem and the impulses a method ended with; gives a proof that nothing solves it."""
Form = Callable[[str, Problem], Conversion[Any] | None]
"""Takes the name of a solver and a problem; gives the problem as that solver sees it, None if it is so."""
GivenMethod = Callable[[AnyProblem, Array | None, float], tuple[Attempt, Answer]]
"""Takes any problem as it is; gives its answer beside the attempt."""
GlobalMethod = Callable[[GlobalProblem, Array | None, float], tuple[Attempt, Answer]]
"""Takes a global problem as it is; gives its answer beside the attempt."""


def as_contacts(name: str, problem: Problem) -> Conversion[Any] | None:
    """Any problem in its contact form."""
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
    """Solve `problem` by `method` and let the judge say how well; where not, try to `prove` why."""
    _refuse_strangers(name, problem)
    start = checked_guess(problem, guess)
    conversion, seconds, compiling = _converted(form, name, problem)
    seen: Any = problem if conversion is None else conversion.problem
    if conversion is not None and start is not None:
        start = frozen(np.ascontiguousarray(conversion.guess(start)))
    target = tolerance
    whole = Attempt(np.zeros(0), Status.STALLED, 0, seconds, compiling)
    best: Solution | None = None
    run = single_threaded(method) if problem.size > ONE_THREAD else method
    for _ in range(TRIES):
        attempt = run(seen, start, target)
        start = frozen(attempt.r.view())
        whole = after(whole, attempt)
        answer = Answer(attempt.r)
        if conversion is not None:
            whole = whole._replace(certificate=_carried_back(conversion, attempt.certificate))
            answer = conversion.recover(attempt.r)
        solution = judged(name, problem, answer, whole, tolerance)
        best = solution if best is None or _is_better(solution, best) else _counted(best, solution)
        if best.ok or best.certificate is not None:
            return best
        claims = attempt.status.ok or attempt.status is Status.RELAXED
        if not claims or best is not solution or (best.status is attempt.status and not best.ok):
            break
        if prove is not None and _outgrows(solution, seen, attempt.r):
            best = proved(best, _carried_back(conversion, prove(seen, attempt.r)))
            if best.certificate is not None:
                return best
        target = finer(solution.residuals, tolerance, target)
        if target < FINEST:
            break
    assert best is not None
    if prove is not None:
        best = proved(best, _carried_back(conversion, prove(seen, attempt.r)))
    return best


def certified_globally(
    name: str, setting: str, method: GlobalMethod, problem: Problem, guess: ArrayLike | None, tolerance: float
) -> Solution:
    """Solve a global problem in its own unknowns by `method`, and let the judge say how well.

    `setting` is the option that asked for it, which the error for other problems names.
    """
    _refuse_strangers(name, problem)
    if not isinstance(problem, GlobalProblem):
        raise ProblemError(
            f"{name}: {setting} needs a GlobalProblem, with M, f and H; this is a {type(problem).__name__}"
        )
    return certified_as_given(name, method, problem, guess, tolerance)  # type: ignore[arg-type]


def certified_as_given(
    name: str, method: GivenMethod, problem: AnyProblem, guess: ArrayLike | None, tolerance: float
) -> Solution:
    """Solve any problem, a NonlinearProblem too, in its own unknowns by `method`; the judge says how well."""
    _refuse_steps(name, problem)
    if not isinstance(problem, (*PROBLEMS, NonlinearProblem)):
        raise TypeError(f"a problem is needed, not {type(problem).__name__}")
    if isinstance(problem, ContactProblem | GlobalProblem):
        refuse_unknown_blocks(name, problem)
    start = checked_guess(problem, guess)
    attempt, answer = method(problem, start, tolerance)
    return judged(name, problem, answer, attempt, tolerance)


def _refuse_strangers(name: str, problem: object) -> None:
    """An error that says what is no problem at all, or none for this solver."""
    _refuse_steps(name, problem)
    if isinstance(problem, NonlinearProblem):
        raise ProblemError(f"{name} does not take a NonlinearProblem; mcp does")
    if not isinstance(problem, PROBLEMS):
        raise TypeError(f"a problem is needed, not {type(problem).__name__}")


def _refuse_steps(name: str, problem: object) -> None:
    """A whole step is no contact problem, though its tangent problems are; and a cone program is none."""
    if isinstance(problem, ConeProgram):
        raise ProblemError(f"{name} does not take a ConeProgram; those that do: {', '.join(PROGRAM_SOLVERS)}")
    if isinstance(problem, StepProblem):
        raise ProblemError(
            f"{name} does not take a StepProblem; ipm-step and auto do, and {name} takes its tangent problems"
            " (problem.step_tangent)"
        )


def checked_guess(problem: AnyProblem, guess: ArrayLike | None) -> Array | None:
    """The guess as kernels take it; an array that already is so is not copied.

    None where the guess buries the load: impulses without load are self-stress, and zero is as good a start.
    """
    if guess is None:
        return None
    size = problem.size
    ready = type(guess) is np.ndarray and guess.dtype == np.float64 and guess.flags.c_contiguous
    start = guess.reshape(-1) if ready and guess.size == size else flat("guess", guess, size)  # type: ignore
    finite("guess", start)
    return np.asarray(frozen(start.view())) if _ordinary(problem, start, BURYING) else None


def _converted(form: Form, name: str, problem: Problem) -> tuple[Conversion[Any] | None, float, float]:
    """The conversion to a form, its time and that of compilation [s]; contacts are not timed."""
    if isinstance(problem, ContactProblem):
        return form(name, problem), 0.0, 0.0
    with Compilation() as compilation:
        start = time.perf_counter()
        conversion = form(name, problem)
        seconds = time.perf_counter() - start
    return conversion, seconds - compilation.seconds, compilation.seconds


def judged(name: str, problem: AnyProblem, answer: Answer, attempt: Attempt, tolerance: float) -> Solution:
    """An attempt with the judge's word on it."""
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
    """An attempt that went on from another, counted with it."""
    return attempt._replace(
        iterations=before.iterations + attempt.iterations,
        seconds=before.seconds + attempt.seconds,
        compile_seconds=before.compile_seconds + attempt.compile_seconds,
        history=np.concatenate((before.history, attempt.history + np.array([before.iterations, 0.0, 0.0]))),
        tried=before.tried + attempt.tried,
        operations=before.operations + attempt.operations,
    )


def finer(residuals: Residuals, tolerance: float, asked: float) -> float:
    """Tolerance to ask of a method whose answer the judge refuses, though the method takes it for solved.

    Where single contacts are what fails, the one at which they would meet their bound; otherwise less than
    what was asked before.
    """
    error = residuals.error
    if not error < np.inf:
        return 0.0
    if error > tolerance:
        return MORE_DIGITS * asked
    return 0.5 * error * single_bound(tolerance) / residuals.single if residuals.single > 0.0 else 0.0


def _is_better(solution: Solution, than: Solution) -> bool:
    """Whether an answer is nearer to what the judge asks for."""
    tolerance = solution.tolerance
    return solution.ok or shortfall(solution.residuals, tolerance) < shortfall(than.residuals, tolerance)


def shortfall(residuals: Residuals, tolerance: float) -> float:
    """The judge's measures over what is allowed [-]; at most 1 for a solved problem."""
    return max(residuals.error / tolerance, residuals.single / single_bound(tolerance))


def _counted(solution: Solution, later: Solution) -> Solution:
    """An answer with the work of a later, worse one counted in."""
    return solution.with_(
        iterations=later.iterations, seconds=later.seconds, compile_seconds=later.compile_seconds,
        history=later.history, tried=later.tried, operations=later.operations,
    )  # fmt: skip


def _outgrows(solution: Solution, contact: Problem, r: Array) -> bool:
    """Whether norms are small beside impulses far larger than the load, and contacts close all the same."""
    return solution.residuals.error <= solution.tolerance and not _ordinary(contact, r)


def _ordinary(problem: AnyProblem, r: Array, far: float = FAR) -> bool:
    """Whether impulses are far from outgrowing the load, told from sums that cost next to nothing.

    The load of a global problem is taken as momenta and prescribed velocities together, whatever their units.
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
    """The same, but INFEASIBLE with the certificate if the door accepts it."""
    if claim is None or solution.certificate is not None:
        return solution
    found = _proved(solution.problem, claim, solution.status, solution.reason)
    return solution.with_(status=found[0], reason=found[1], certificate=found[2])


def _proved(
    problem: AnyProblem, claim: Certificate | None, status: Status, reason: str
) -> tuple[Status, str, Certificate | None]:
    """INFEASIBLE where the door accepts the certificate; what else is said otherwise."""
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
    """A certificate in the unknowns of the problem as it was given."""
    return claim if claim is None or conversion is None else conversion.certificate(claim)


def _relaxed(exact: Residuals, relaxed: Residuals, tolerance: float) -> tuple[Status, str]:
    """What to call an answer of the convex relaxation that the exact law refuses."""
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
    """Why the judge refuses what the method took for solved."""
    if residuals.error <= tolerance:
        bound = single_bound(tolerance)
        if residuals.approach <= bound:
            return SINGLE.format(residuals.local, bound)
        return CLOSES.format(residuals.approach, bound) if _ordinary(problem, r) else OUTGROWN
    return (
        "the converted problem is solved, but rounding keeps the residual of the original above the tolerance"
    )


def refuse_unknown_blocks(name: str, problem: ContactProblem | GlobalProblem, advice: str = "") -> None:
    """A `ProblemError` that names the kinds of block the solver does not take, and who does."""
    strangers = [kind for kind in problem.K.census if kind not in accepted(name)]
    if strangers:
        others = ", ".join(names(accepting=list(problem.K.census))) or "none"
        kinds = " or ".join(strangers)
        raise ProblemError(f"{name} does not take {kinds} blocks; solvers that do: {others}{advice}")
