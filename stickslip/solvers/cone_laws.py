"""The interior point on split cones as a method: which law it solves, watched by the judge.

"relaxed" is the convex problem with s = 0; "inside" follows the exact law's s at every iteration; "outer"
solves convex problems with s held, s taken from the last one (Acary, Cadoux, Lemaréchal & Malick 2011).
"""

from dataclasses import dataclass, replace

import numpy as np

from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer, reduce_to_contacts
from stickslip.problem.solution import Status
from stickslip.solvers.certify import Attempt
from stickslip.solvers.cone_motion import Motion, motion
from stickslip.solvers.cone_point import ConePoint
from stickslip.solvers.prox import ProximalNewton
from stickslip.solvers.registry import Progress
from stickslip.solvers.watch import Watch

LAWS = ("exact", "relaxed", "inside", "outer")
SHORT, STILL, MOST_SHORT = 0.1, 1e-2, 3
"""MOST_SHORT steps in a row below SHORT, on convex problems below STILL, are a jam."""
LATE, MOST_STILL = 1e-8, 5
"""On convex problems so many iterations without halving the residual are the end, once the barrier is that
share of the first: scaled matrices lose half of all digits, for J G J' holds the square of the scaling."""
MOST_INNER = 25
"""Iterations at most on one convex problem with s held."""
FALL = 0.1
"""A convex problem of the outer loop is left when its barrier is this share of what s last changed by."""
POLISHING = 1e-6
"""Proximal weight of the Newton steps at the end."""


@dataclass(frozen=True)
class Run:
    """Settings of a run."""

    algorithm: str
    """One of the four algorithms."""
    law: str
    """One of LAWS; "exact" is "inside", then "outer" where that fails."""
    separate: bool
    """Whether primal and dual steps differ."""
    factor: str
    """Factorisation, empty for what suits."""
    restarts: int
    """Times that a jammed iterate is moved back inside the cones."""
    polish: int
    """Most proximal Newton steps at the end."""
    limit: int
    """Most iterations."""
    corrections: int = 0
    """Most centrality corrections of an iteration."""


def run(
    settings: Run, problem: ContactProblem | GlobalProblem, tolerance: float, progress: Progress | None = None
) -> tuple[Attempt, Answer]:
    """Iterate on `problem` in its own unknowns; what was found, not yet certified."""
    relaxed = settings.law == "relaxed"
    with Watch(problem, tolerance, settings.limit, progress, relaxed=relaxed) as watch:
        form = motion(problem)
        if _nothing_to_do(problem, form, watch):
            pass
        elif relaxed:
            _convex(settings, form, watch)
        elif settings.law == "outer":
            _outer(_Watched(settings, form, watch))
        else:
            _iterate(_Watched(settings, form, watch, inside=True), settings.restarts)
            if settings.law == "exact" and watch.status is Status.STALLED:
                watch.status, watch.reason = None, ""
                _outer(_Watched(settings, form, watch))
        if settings.polish and not relaxed and watch.status is not Status.SOLVED:
            _polish(problem, watch, settings.polish)
    return watch.attempt(), Answer(watch.best, watch.best_v, watch.best_lam)


class _Watched:
    """Iterates that the judge looks at."""

    def __init__(self, settings: Run, form: Motion, watch: Watch, inside: bool = False):
        self.settings, self.watch = settings, watch
        self.point = ConePoint(
            form, settings.algorithm, inside=inside, separate=settings.separate, factor=settings.factor,
            corrections=settings.corrections,
        )  # fmt: skip
        self._operations = watch.operations
        self.look(0)

    def look(self, iterations: int = 1) -> None:
        """Show the iterate to the judge."""
        problem, answer = self.watch.problem, self.point.answer()
        self.watch.operations = self._operations + self.point.system.operations
        r, v, lam = answer.r, None, None
        if isinstance(problem, GlobalProblem):
            r, v = answer.r[: problem.size], answer.v
            lam = answer.r[problem.size :] if problem.G is not None else None
        self.watch.look(r, iterations, v, lam)

    def advance(self) -> float:
        """One watched iteration; the length of its step, 0 if there was none."""
        step = self.point.advance()
        if isinstance(step, str):
            self.watch.stop(Status.STALLED, step)
            return 0.0
        self.look()
        return min(step.alpha_p, step.alpha_d)


def _nothing_to_do(problem: ContactProblem | GlobalProblem, form: Motion, watch: Watch) -> bool:
    """Whether the free motion solves the problem, which has no size to begin an interior point with then."""
    r, n = form.split.fixed, problem.size
    if isinstance(problem, GlobalProblem):
        watch.look(r[:n], 0, form.free(), r[n:] if problem.G is not None else None)
    else:
        watch.look(r, 0)
    if watch.status is Status.NOT_FINITE:
        watch.status = None
    return watch.status is not None


def _convex(settings: Run, form: Motion, watch: Watch) -> None:
    """The relaxation; where scaled steps jam, the last digits by unscaled ones, which keep more of them."""
    run = _Watched(settings, form, watch)
    _iterate(run)
    if watch.status is Status.STALLED and settings.polish and settings.algorithm.startswith("nt"):
        watch.status, watch.reason = None, ""
        last = _Watched(replace(settings, algorithm="mehrotra", factor="lu"), form, watch)
        last.point.take(run.point)
        _iterate(last)


def _iterate(run: _Watched, restarts: int = 0) -> None:
    """Until the judge is satisfied, with restarts from inside the cones where steps stay short."""
    short, watch, point = 0, run.watch, run.point
    least = SHORT if point.inside else STILL
    mark, still, late = watch.error, 0, LATE * point.kappa
    while watch.goes_on:
        short = short + 1 if run.advance() < least else 0
        mark, still = (watch.error, 0) if watch.error <= 0.5 * mark else (mark, still + 1)
        if short >= MOST_SHORT and watch.status is None:
            watch.stop(Status.STALLED, "the iterates jam at the cones")
        if still >= MOST_STILL and point.kappa <= late and not point.inside and watch.status is None:
            watch.stop(Status.STALLED, f"the residual has not halved for {still} iterations")
        if watch.status is Status.STALLED and restarts:
            watch.status, watch.reason = None, ""
            run.point.move_inside()
            short, restarts = 0, restarts - 1


def _outer(run: _Watched) -> None:
    """Convex problems with s held, each left when its gap is small beside the change of s."""
    watch, point = run.watch, run.point
    worth = FALL * point.kappa
    while watch.goes_on:
        for _ in range(MOST_INNER):
            run.advance()
            if not watch.goes_on or point.kappa <= FALL * worth:
                break
        if watch.goes_on:
            worth = point.follow_held()


def _polish(problem: ContactProblem | GlobalProblem, watch: Watch, most: int) -> None:
    """Proximal Newton steps from the best iterate, on the reduced problem."""
    if isinstance(problem, ContactProblem):
        newton = ProximalNewton(problem, watch.best, POLISHING, watch.tolerance, most)
        while newton.advance():
            pass
        watch.look(newton.best, newton.steps)
        return
    conversion = reduce_to_contacts(problem)
    start = np.array(conversion.guess(watch.best))
    if watch.best_lam is not None and start.size == watch.best.size + watch.best_lam.size:
        start[watch.best.size :] = watch.best_lam
    for share in (1.0, 0.1):
        newton = ProximalNewton(conversion.problem, start, POLISHING, share * watch.tolerance, most)
        while newton.advance():
            pass
        answer = conversion.recover(newton.best)
        watch.look(answer.r, newton.steps, answer.v, answer.lam)
        if watch.status is Status.SOLVED or newton.status is not Status.SOLVED:
            break
        start = newton.best
