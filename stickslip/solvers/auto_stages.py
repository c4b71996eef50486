"""Stages of `auto` for a contact problem that the first sweeps have not solved.

Each stage starts from the best iterate so far, or inside the cones, and adds its result to a `Trail`.
"""

import time
from collections.abc import Callable
from functools import cached_property

import numpy as np

from stickslip.compilation.timing import Compilation, timed
from stickslip.kernels import cones, prox_newton
from stickslip.problem.checks import Array, frozen
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import BodyDelassus
from stickslip.problem.residuals import examine
from stickslip.problem.solution import Stage, Status
from stickslip.solvers.certify import Attempt, after
from stickslip.solvers.cone_path import Start, follow_path, relaxed_centre
from stickslip.solvers.effort import accelerated_allowed, is_hyperstatic, plain_allowed, too_large
from stickslip.solvers.gauss_seidel import COULOMB, Anderson
from stickslip.solvers.interior_point import SHIFTABLE, InteriorPoint
from stickslip.solvers.newton_systems import COMPILED
from stickslip.solvers.prox import proximal
from stickslip.solvers.registry import Progress

WINDOW = 50
"""Number of accelerated sweeps over which their rate is averaged, if Newton's steps cost many of them."""
QUICK = {"patience": 5.0}
"""Proximal Newton stops after this number of outer steps without halving the residual."""
PATIENT = {"shrink": 0.5, "grow": 2.0, "most_inner": 10.0, "eta": 0.5, "patience": 200.0}
"""Settings of proximal Newton after all other stages have failed (heuristic)."""
CENTRED = {**PATIENT, "patience": 20.0}
"""Settings of proximal Newton from the centre of the relaxation (heuristic)."""
AHEAD = 10.0
"""First proximal weight over the error reached by sweeps over bodies [-]. Chosen on a sliding wall, a Kapla
tower and a press: 1 and 100 take as long; 0.1, or a fixed weight of 1e-3, take a tenth longer on the wall."""
NEAR = 1e-4
"""Error after the first proximal Newton below which a more patient one is likely to converge (heuristic)."""
MOST_FACTORS = 500
"""Largest number of factorisations on the exact law's path; benchmarks/hard.py needed 60 to 320."""
JAMMED, TELLING = 10.0, 0.1
"""An answer counts as jammed (held by self-stress) if the sweeps reached an error of at most TELLING and its
impulses are at least JAMMED times theirs (heuristic). `Solution.reason` then says so."""
LEAST = 1e-300
"""Ratio of norms of impulses below which the smaller counts as zero."""
NO_WEIGHT = 1e-12
"""Proximal weight that only keeps redundant rows from making the matrix singular."""
FINISHING = (1e-9, 4), (1e-3, 25)
"""Proximal weights and Newton steps after an interior point; mostly one step is enough."""
FEW_DIGITS = 1e-6
"""Error of the interior point from which Newton converges in a few steps (heuristic)."""


class Trail:
    """Record of the stages tried on one problem, and the best iterate."""

    def __init__(self, problem: ContactProblem, tolerance: float, limit: int, progress: Progress | None):
        self.problem, self.tolerance, self.limit, self.progress = problem, tolerance, limit, progress
        self.total = Attempt(np.zeros(problem.size), Status.STALLED, 0, 0.0, 0.0)
        """Sum of the work of all attempts."""
        self.best, self.error = self.total.r, np.inf
        self.swept: tuple[Array, float] | None = None
        """Result of the first sweeps, and its error."""
        self.steps = 0
        self.is_swept = False
        """Whether the starting point is the result of sweeps over bodies."""

    def begin(self, r: Array, error: float) -> None:
        """Set the starting point to a result of sweeps with this error."""
        self.best, self.error, self.swept, self.is_swept = r, error, (r, error), True

    @property
    def goes_on(self) -> bool:
        """Whether the problem is unsolved and the step budget is not spent."""
        return not self.error <= self.tolerance and self.steps < self.limit

    @cached_property
    def refusal(self) -> str:
        """Reason why stages that factor matrices are skipped; empty if they are tried."""
        return too_large(self.problem)

    @property
    def steps_left(self) -> int:
        """Remaining Newton and interior-point steps."""
        return self.limit - self.steps

    def note(self, attempt: Attempt, stage: Stage) -> None:
        """Add the result of a stage."""
        self.total = after(self.total, attempt._replace(tried=(stage,), operations=stage.operations))
        self.steps += attempt.iterations if stage.solver in ("prox", "ipm") else 0
        if stage.error < self.error:
            self.best, self.error = attempt.r, stage.error
        if self.progress is not None:
            self.progress(self.total.iterations, self.error)

    def attempt(self) -> Attempt:
        """Return the best iterate with its status and reason."""
        status, reason = Status.SOLVED, ""
        if not self.error < np.inf:
            status = Status.NOT_FINITE
        elif self.error > self.tolerance:
            status = Status.STALLED if self.steps < self.limit else Status.MAX_ITERATIONS
            reason = "tried " + ", ".join(map(str, self.total.tried))
            if self.refusal:
                reason += f"; too large for Newton's method: {self.refusal}"
        elif self.swept is not None and self.swept[1] <= TELLING:
            size, before = float(np.linalg.norm(self.best)), float(np.linalg.norm(self.swept[0]))
            times = size / before if before > LEAST * size else np.inf
            if times >= JAMMED:
                reason = f"residual below tolerance; jammed: impulses {times:.0f} times those of sweeps"
        return self.total._replace(r=self.best, status=status, reason=reason)


def is_coulomb(problem: ContactProblem) -> bool:
    """Whether all contacts are Coulomb contacts of one dimension and W is not matrix-free."""
    return problem.K.family in COULOMB and type(problem.W) is not BodyDelassus


def stage_of(solver: str, attempt: Attempt, operations: float) -> Stage:
    """Return the stage of an attempt, with the error from its history."""
    error = float(attempt.history[:, 1:].max(axis=1).min(initial=np.inf))
    return Stage(solver, attempt.iterations, operations, error)


def joints(trail: Trail, guess: Array | None) -> None:
    """Solve bodies coupled by joints: Newton from the guess, then from the result of an interior point."""
    problem = trail.problem
    if trail.refusal:
        return
    # 1. Newton from the guess, projected onto K.
    r = np.zeros(problem.size)
    if guess is not None:
        cones.project(problem.K.arrays, guess, r)
    _proximal(trail, r, NO_WEIGHT, 12, QUICK)
    if not trail.goes_on or not SHIFTABLE.issuperset(problem.K.census):
        return
    # 2. Interior point, first to low accuracy, then to a tenth of the tolerance; Newton after each.
    rounds = [(max(FEW_DIGITS, trail.tolerance), 25), (0.1 * trail.tolerance, 60)]
    if not problem.K.group_size.size:  # convex: the interior point converges to full accuracy, more reliably
        del rounds[0]
    for tolerance, steps in rounds:
        if not trail.goes_on:
            return
        attempt = InteriorPoint(polish=0, max_iterations=steps).attempt(problem, None, tolerance)
        trail.note(attempt, stage_of("ipm", attempt, attempt.operations))
        for alpha, budget in FINISHING:
            if trail.goes_on:
                _proximal(trail, attempt.r, alpha, budget, QUICK)


def accelerated(trail: Trail) -> None:
    """Run sweeps with Anderson's acceleration if a Newton step costs many of them."""
    problem = trail.problem
    if problem.size <= COMPILED or is_coulomb(problem) or trail.is_swept:  # accelerated already
        return
    (plain_sweeps, _), (accelerated_sweeps, cost) = plain_allowed(problem), accelerated_allowed(problem)
    patient = accelerated_sweeps > plain_sweeps and not is_hyperstatic(problem)
    attempt = Anderson(max_iterations=int(accelerated_sweeps if patient else plain_sweeps)).attempt(
        problem, frozen(trail.best), trail.tolerance, trail.progress,
        hopeful=True, window=WINDOW if patient else 0,
    )  # fmt: skip
    trail.note(attempt, stage_of("anderson", attempt, cost * attempt.iterations))


def _newton(trail: Trail) -> None:
    """Run proximal Newton from the best iterate; after sweeps, its first weight follows their error."""
    weight = prox_newton.weight_at(AHEAD * trail.error) if trail.is_swept else 1e-3
    _proximal(trail, trail.best, weight, 150, QUICK)


def _proximal(trail: Trail, r: Array, alpha: float, budget: int, settings: dict[str, float]) -> None:
    """Run proximal Newton from r as one stage."""
    problem, budget = trail.problem, min(budget, trail.steps_left)
    if problem.size <= COMPILED and settings is QUICK:
        arguments = (
            problem.K.arrays, problem.W.blocks(problem.K).arrays, problem.u_free, r,
            alpha, trail.tolerance, float(budget), settings["patience"],
        )  # fmt: skip
        (best, control, history), seconds, compiling = timed(prox_newton.solve_small, *arguments)
        steps, error = int(control[prox_newton.NEWTON]), float(control[prox_newton.BEST])
        attempt = Attempt(best, Status.STALLED, steps, seconds, compiling, history)
        trail.note(attempt, Stage("prox", steps, float(control[prox_newton.OPERATIONS]), error))
        return
    report, before = trail.progress, trail.total.iterations

    def progress(steps: int, error: float) -> None:
        if report is not None:
            report(before + steps, min(trail.error, error))

    attempt, error = proximal(problem, r, alpha, trail.tolerance, budget, progress, **settings)
    trail.note(attempt, Stage("prox", attempt.iterations, attempt.operations, error))


def _nearness(trail: Trail) -> None:
    """Run proximal Newton with more patience if the best iterate is near a solution.

    The solution found there has smaller impulses than the one found from the relaxation.
    """
    if trail.problem.K.group_size.size and trail.error <= NEAR:
        _proximal(trail, trail.best, 1e-3, 200, {**PATIENT, "patience": 60.0})


def _relaxation(trail: Trail) -> None:
    """Run proximal Newton with more patience from the centre of the relaxation's solutions."""
    if _has_friction(trail):
        _start_from(trail, lambda: relaxed_centre(trail.problem))


def _path(trail: Trail) -> None:
    """Run proximal Newton with more patience from the end of the exact law's central path."""
    if _has_friction(trail):
        _start_from(trail, lambda: follow_path(trail.problem, MOST_FACTORS))


def _has_friction(trail: Trail) -> bool:
    """Whether the problem has friction and the squares of its numbers are finite."""
    return trail.problem.K.group_size.size > 0 and trail.error < np.inf


def _start_from(trail: Trail, find: Callable[[], Start]) -> None:
    """Find a start inside the cones and run proximal Newton from it; each is one stage."""
    with Compilation() as compilation, np.errstate(all="ignore"):  # an overflow yields no start
        start = time.perf_counter()
        inner = find()
        seconds = time.perf_counter() - start
    r = inner.r
    if not np.isfinite(r).all():
        return
    error = examine(trail.problem, r, None, None)[0].error
    spent = seconds - compilation.seconds, compilation.seconds
    attempt = Attempt(r, Status.STALLED, inner.factors, *spent, operations=inner.operations)
    trail.note(attempt, Stage(inner.name, inner.factors, inner.operations, error))
    if trail.goes_on:
        _proximal(trail, r, prox_newton.weight_at(error), 400, CENTRED)


def _interior_point(trail: Trail) -> None:
    """Run the interior point and proximal Newton on a problem without friction.

    Skipped with friction: of all recorded problems, the standard collection and benchmarks/hard.py, it solved
    none there that other starts did not solve.
    """
    if trail.problem.K.group_size.size:
        return
    attempt = InteriorPoint(polish=0, max_iterations=60).attempt(
        trail.problem, None, trail.tolerance, trail.progress
    )
    trail.note(attempt, stage_of("ipm", attempt, attempt.operations))
    if trail.goes_on:
        _proximal(trail, attempt.r, prox_newton.weight_at(trail.total.tried[-1].error), 150, QUICK)


def _patience(trail: Trail) -> None:
    """Run proximal Newton from the best iterate with small changes of its weight and the largest patience."""
    _proximal(trail, trail.best, 1e-3, 1200, PATIENT)


Stages = tuple[Callable[[Trail], None], ...]
"""Stages in the order in which they are tried."""
FIRST: Stages = (accelerated, _newton)
LAST: Stages = (_nearness, _relaxation, _path, _interior_point, _patience)
