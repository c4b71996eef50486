"""Interior-point solver of contact problems: selection of the algorithm and of the law, and the loops.

The algorithms are in `cone_point`, on cones split into Lorentz cones, for every kind of block. The law
"relaxed" is the convex problem with s = 0. The law "inside" updates s of the exact law at every iteration.
The law "outer" solves convex problems with s fixed, and then updates s from the last of them (Acary, Cadoux,
Lemaréchal & Malick 2011). `algorithm="shift"` linearises De Saxcé's shift in Newton's equation, smoothed as
sqrt(|u_T|² + eps²) - eps with a tiny eps.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip.options import iterations_option, option
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer, reduce_to_contacts
from stickslip.problem.solution import Problem, Solution, Status
from stickslip.solvers.base import ContactSolver
from stickslip.solvers.certify import Attempt, certified_globally
from stickslip.solvers.cone_motion import DelassusMotion, Motion, motion
from stickslip.solvers.cone_point import ALGORITHMS, EXPONENTS, SHIFT, ConePoint
from stickslip.solvers.cone_systems import FACTORS
from stickslip.solvers.prox import proximal
from stickslip.solvers.registry import Progress
from stickslip.solvers.watch import Watch

LAWS = ("exact", "relaxed", "inside", "outer")
SHORT, STILL, MOST_SHORT = 0.1, 1e-2, 3
"""Stall: MOST_SHORT successive steps shorter than SHORT (STILL on convex problems) (heuristic)."""
LATE, MOST_STILL = 1e-8, 5
"""Stall of convex problems: MOST_STILL iterations without halving the residual, once the barrier has fallen
to LATE times the first. Scaled matrices lose half of all digits: J G J' holds the square of the scaling."""
MOST_INNER = 25
"""Largest number of iterations on one convex problem with s fixed."""
FALL = 0.1
"""An outer iteration ends when its barrier is this fraction of the effect of the last change of s."""
POLISHING = 1e-6
"""Proximal weight of the final Newton steps."""
SHIFTABLE = frozenset(("free", "nonnegative", "interval", "coulomb2d", "coulomb3d"))
"""Kinds of block that algorithm `shift` accepts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InteriorPoint(ContactSolver):
    """Interior-point method: with the shift linearised, or on split cones for all kinds of block."""

    name: ClassVar[str] = "ipm"
    max_iterations: int = iterations_option(150, "interior-point steps")
    algorithm: str = option(
        "auto", "shift: the friction's shift linearised, no rolling; the others: on split cones; auto: shift"
        " where it can be, otherwise mehrotra, relaxed nt-f", choices=("auto", SHIFT, *ALGORITHMS),
    )  # fmt: skip
    law: str = option(
        "exact", "on split cones: relaxed; the exact law inside, or by an outer loop; or exact: inside,"
        " then outer where that fails", choices=LAWS,
    )  # fmt: skip
    steps: str = option(
        "equal", "on split cones: equal steps of velocities and impulses, or separate ones",
        choices=("equal", "separate"),
    )  # fmt: skip
    factor: str = option(
        "auto", "on split cones: factor of the Newton matrix; auto: L D L' where it is symmetric, else L U",
        choices=("auto", *FACTORS),
    )  # fmt: skip
    corrections: int = option(
        3,
        "largest number of centrality corrections in an iteration of nt-qp and nt-f on convex"
        " problems; 0: none",
        low=0,
    )
    exponent: str = option(
        "auto", "e of sigma = (mu_a / mu)^e, all algorithms but simple: a number; late: up to 3 once the"
        " barrier is small (Nguyen 2021); early: up to 3 while it is large (SDPT3); auto: 3 with corrections"
        " and of shift, else 2", choices=EXPONENTS,
    )  # fmt: skip
    restarts: int = option(2, "number of times that a stalled iterate is moved back inside the cones", low=0)
    polish: int = option(40, "largest number of proximal Newton steps at the end, for the last digits", low=0)

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem`; `guess` is not used, because the method starts inside the cones."""
        if isinstance(problem, GlobalProblem) and self._algorithm(problem) != SHIFT:
            method = partial(run, self, self._algorithm(problem), progress=progress)
            setting = f"algorithm={self.algorithm!r}"
            return certified_globally(
                "ipm", setting, lambda p, _, tol: method(p, tol), problem, guess, self.tolerance
            )
        return ContactSolver.solve(self, problem, guess=guess, progress=progress)

    def attempt(
        self, problem: ContactProblem, guess: Array | None, tolerance: float, progress: Progress | None = None
    ) -> Attempt:
        """Make interior-point steps on a contact problem; the result is not yet certified."""
        return run(self, self._algorithm(problem), problem, tolerance, progress)[0]

    @property
    def other_law(self) -> bool:
        """Whether the convex relaxation is requested."""
        return self.law == "relaxed"

    def _algorithm(self, problem: ContactProblem | GlobalProblem) -> str:
        """Return the algorithm for this problem."""
        unsupported = sorted(set(problem.K.census) - SHIFTABLE)
        if self.algorithm == "shift" and unsupported:
            raise ProblemError(
                f"ipm: algorithm='shift' does not take {' or '.join(unsupported)} blocks; the others do:"
                f" {', '.join(ALGORITHMS)}"
            )
        if self.algorithm != "auto":
            return self.algorithm
        if not unsupported and self.law == "exact":
            return "shift"
        return "nt-f" if self.law == "relaxed" else "mehrotra"  # both by L U: unscaled keeps more digits


def run(
    options: InteriorPoint, algorithm: str, problem: ContactProblem | GlobalProblem, tolerance: float,
    progress: Progress | None = None,
) -> tuple[Attempt, Answer]:  # fmt: skip
    """Iterate on `problem` in its own unknowns by one of the algorithms; the result is not yet certified.

    Algorithm `shift` solves the exact law, whatever `options.law` is.
    """
    law = "inside" if algorithm == SHIFT else options.law
    relaxed = law == "relaxed"
    with Watch(problem, tolerance, options.max_iterations, progress, relaxed=relaxed) as watch:
        form = _form(algorithm, problem)
        if algorithm != SHIFT and _nothing_to_do(problem, form, watch):
            pass
        elif relaxed:
            _convex(options, algorithm, form, watch)
        elif law == "outer":
            _outer(_Watched(options, algorithm, form, watch))
        else:
            _iterate(_Watched(options, algorithm, form, watch, inside=True), options.restarts)
            if law == "exact" and watch.status is Status.STALLED:
                watch.status, watch.reason = None, ""
                _outer(_Watched(options, algorithm, form, watch))
        if options.polish and not relaxed and watch.status is not Status.SOLVED:
            _polish(problem, watch, options.polish)
    return watch.attempt(), Answer(watch.best, watch.best_v, watch.best_lam)


def _form(algorithm: str, problem: ContactProblem | GlobalProblem) -> Motion:
    """Return the linear part of a problem; `shift` needs contacts with W in blocks."""
    if algorithm == SHIFT and isinstance(problem, ContactProblem):
        return DelassusMotion(problem.K, problem.W.blocks(problem.K), problem.u_free)
    return motion(problem)


class _Watched:
    """Iterates of one algorithm, each examined by the judge."""

    def __init__(
        self, options: InteriorPoint, algorithm: str, form: Motion, watch: Watch, inside: bool = False,
        factor: str = "",
    ):  # fmt: skip
        self.watch, shift = watch, algorithm == SHIFT
        if not (factor or shift or options.factor == "auto"):
            factor = options.factor
        self.point = ConePoint(
            form, algorithm, inside=inside, separate=options.steps == "separate" and not shift, factor=factor,
            corrections=options.corrections, exponent=options.exponent,
        )  # fmt: skip
        self._operations = watch.operations
        self.look(0)

    def look(self, iterations: int = 1) -> None:
        """Have the judge examine the iterate."""
        problem, answer = self.watch.problem, self.point.answer()
        self.watch.operations = self._operations + self.point.system.operations
        r, v, lam = answer.r, None, None
        if isinstance(problem, GlobalProblem):
            r, v = answer.r[: problem.size], answer.v
            lam = answer.r[problem.size :] if problem.G is not None else None
        self.watch.look(r, iterations, v, lam)

    def advance(self) -> float:
        """Make one iteration; return the length of its step, 0 if it failed."""
        step = self.point.advance()
        if isinstance(step, str):
            self.watch.stop(Status.STALLED, step)
            return 0.0
        self.look()
        return min(step.alpha_p, step.alpha_d)


def _nothing_to_do(problem: ContactProblem | GlobalProblem, form: Motion, watch: Watch) -> bool:
    """Whether the free motion solves the problem; then an interior point has no scale to start from."""
    r, n = form.split.fixed, problem.size
    if isinstance(problem, GlobalProblem):
        watch.look(r[:n], 0, form.free(), r[n:] if problem.G is not None else None)
    else:
        watch.look(r, 0)
    if watch.status is Status.NOT_FINITE:
        watch.status = None
    return watch.status is not None


def _convex(options: InteriorPoint, algorithm: str, form: Motion, watch: Watch) -> None:
    """Solve the relaxation; if scaled steps stall, continue with unscaled ones, which keep more digits."""
    run = _Watched(options, algorithm, form, watch)
    _iterate(run)
    if watch.status is Status.STALLED and options.polish and algorithm.startswith("nt"):
        watch.status, watch.reason = None, ""
        last = _Watched(options, "mehrotra", form, watch, factor="lu")
        last.point.take(run.point)
        _iterate(last)


def _iterate(run: _Watched, restarts: int = 0) -> None:
    """Iterate until the judge accepts, with restarts from inside the cones if steps stay short."""
    short, watch, point = 0, run.watch, run.point
    least = SHORT if point.inside else STILL
    mark, still, late = watch.error, 0, LATE * point.kappa
    while watch.goes_on:
        short = short + 1 if run.advance() < least else 0
        mark, still = (watch.error, 0) if watch.error <= 0.5 * mark else (mark, still + 1)
        if short >= MOST_SHORT and watch.status is None:
            watch.stop(Status.STALLED, "the iterates stall at the boundary of the cones")
        if still >= MOST_STILL and point.kappa <= late and not point.inside and watch.status is None:
            watch.stop(Status.STALLED, f"the residual has not halved for {still} iterations")
        if watch.status is Status.STALLED and restarts:
            watch.status, watch.reason = None, ""
            run.point.move_inside()
            short, restarts = 0, restarts - 1


def _outer(run: _Watched) -> None:
    """Solve convex problems with s fixed, each until its gap is small beside the change of s."""
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
    """Make proximal Newton steps from the best iterate, on the reduced problem."""
    if isinstance(problem, ContactProblem):
        attempt, _ = proximal(problem, watch.best, POLISHING, watch.tolerance, most)
        watch.look(attempt.r, attempt.iterations)
        return
    conversion = reduce_to_contacts(problem)
    start = np.array(conversion.guess(watch.best))
    if watch.best_lam is not None and start.size == watch.best.size + watch.best_lam.size:
        start[watch.best.size :] = watch.best_lam
    for share in (1.0, 0.1):
        attempt, _ = proximal(conversion.problem, start, POLISHING, share * watch.tolerance, most)
        answer = conversion.recover(attempt.r)
        watch.look(answer.r, attempt.iterations, answer.v, answer.lam)
        if watch.status is Status.SOLVED or attempt.status is not Status.SOLVED:
            break
        start = attempt.r
