"""What `auto` tries one after the other on a contact problem that the first sweeps have not solved.

Each stage begins at the best iterate so far, or inside the cones, and notes what it found in a `Trail`.
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
"""Accelerated sweeps over which their rate is taken, where Newton costs many of them."""
QUICK = {"patience": 5.0}
"""Proximal Newton hands on after so many outer steps that did not halve the residual."""
PATIENT = {"shrink": 0.5, "grow": 2.0, "most_inner": 10.0, "eta": 0.5, "patience": 200.0}
"""Its settings where nothing else has come to an end."""
CENTRED = {**PATIENT, "patience": 20.0}
"""Its settings from the centre of the relaxation."""
AHEAD = 10.0
"""Proximal weight over the error that sweeps over bodies have come to: 1 and 100 take as long on a sliding
wall, a kapla tower and a press, 0.1 and a weight of 1e-3 a tenth longer on the wall."""
NEAR = 1e-4
"""Error of the best after the first proximal Newton from which patience is likely to end it."""
MOST_FACTORS = 500
"""Of the path of the exact law: those of benchmarks/hard.py took 60 to 320."""
JAMMED, TELLING = 10.0, 0.1
"""An answer with so many times the impulses of the sweeps, where these have come to an error of TELLING, is
held by stresses that no load has made; its reason says that it is jammed."""
LEAST = 1e-300
"""Impulses over others below which they are nothing beside them."""
NO_WEIGHT = 1e-12
"""Proximal weight that only keeps redundant rows from being singular."""
FINISHING = (1e-9, 4), (1e-3, 25)
"""Proximal weights and Newton steps after an interior point: mostly one step will do."""
FEW_DIGITS = 1e-6
"""Error at which the interior point is near enough for Newton to end it in few steps."""


class Trail:
    """What has been tried on one problem, and the best of it."""

    def __init__(self, problem: ContactProblem, tolerance: float, limit: int, progress: Progress | None):
        self.problem, self.tolerance, self.limit, self.progress = problem, tolerance, limit, progress
        self.whole = Attempt(np.zeros(problem.size), Status.STALLED, 0, 0.0, 0.0)
        """All attempts counted together."""
        self.best, self.error = self.whole.r, np.inf
        self.swept: tuple[Array, float] | None = None
        """What the first sweeps found, and its error."""
        self.steps = 0
        self.is_swept = False
        """Whether sweeps over bodies have led to where this begins."""

    def begin(self, r: Array, error: float) -> None:
        """Begin where sweeps have led to, at this error."""
        self.best, self.error, self.swept, self.is_swept = r, error, (r, error), True

    @property
    def goes_on(self) -> bool:
        """Whether the problem is unsolved and steps are left."""
        return not self.error <= self.tolerance and self.steps < self.limit

    @cached_property
    def refusal(self) -> str:
        """Why no stage that factors matrices is tried; nothing where they are."""
        return too_large(self.problem)

    @property
    def left(self) -> int:
        """Newton and interior-point steps left."""
        return self.limit - self.steps

    def note(self, found: Attempt, stage: Stage) -> None:
        """Take note of a stage and what it found."""
        self.whole = after(self.whole, found._replace(tried=(stage,), operations=stage.operations))
        self.steps += found.iterations if stage.solver in ("prox", "ipm") else 0
        if stage.error < self.error:
            self.best, self.error = found.r, stage.error
        if self.progress is not None:
            self.progress(self.whole.iterations, self.error)

    def attempt(self) -> Attempt:
        """The best iterate, and an honest word on how it came about."""
        status, reason = Status.SOLVED, ""
        if not self.error < np.inf:
            status = Status.NOT_FINITE
        elif self.error > self.tolerance:
            status = Status.STALLED if self.steps < self.limit else Status.MAX_ITERATIONS
            reason = "tried " + ", ".join(map(str, self.whole.tried))
            if self.refusal:
                reason += f"; too large for Newton's method: {self.refusal}"
        elif self.swept is not None and self.swept[1] <= TELLING:
            size, before = float(np.linalg.norm(self.best)), float(np.linalg.norm(self.swept[0]))
            times = size / before if before > LEAST * size else np.inf
            if times >= JAMMED:
                reason = f"residual below tolerance; jammed: impulses {times:.0f} times those of sweeps"
        return self.whole._replace(r=self.best, status=status, reason=reason)


def is_coulomb(problem: ContactProblem) -> bool:
    """Whether all contacts are Coulomb's in one dimension and W is not matrix-free."""
    return problem.K.family in COULOMB and type(problem.W) is not BodyDelassus


def stage_of(solver: str, found: Attempt, operations: float) -> Stage:
    """A stage from its attempt, its error from the history."""
    error = float(found.history[:, 1:].max(axis=1).min(initial=np.inf))
    return Stage(solver, found.iterations, operations, error)


def joints(trail: Trail, guess: Array | None) -> None:
    """Newton from the guess, and from near the end of an interior point, for bodies coupled by joints."""
    problem = trail.problem
    if trail.refusal:
        return
    r = np.zeros(problem.size)
    if guess is not None:
        cones.project(problem.K.arrays, guess, r)
    _proximal(trail, r, NO_WEIGHT, 12, QUICK)
    if not trail.goes_on or not SHIFTABLE.issuperset(problem.K.census):
        return
    rounds = [(max(FEW_DIGITS, trail.tolerance), 25), (0.1 * trail.tolerance, 60)]
    if not problem.K.group_size.size:  # convex: the interior point comes to its end, which is the surer way
        del rounds[0]
    for tolerance, steps in rounds:
        if not trail.goes_on:
            return
        found = InteriorPoint(polish=0, max_iterations=steps).attempt(problem, None, tolerance)
        trail.note(found, stage_of("ipm", found, found.operations))
        for alpha, budget in FINISHING:
            if trail.goes_on:
                _proximal(trail, found.r, alpha, budget, QUICK)


def accelerated(trail: Trail) -> None:
    """Sweeps with Anderson's acceleration, where Newton's steps cost many of them."""
    problem = trail.problem
    if problem.size <= COMPILED or is_coulomb(problem) or trail.is_swept:  # these have had it
        return
    (few, _), (many, cost) = plain_allowed(problem), accelerated_allowed(problem)
    patient = many > few and not is_hyperstatic(problem)
    found = Anderson(max_iterations=int(many if patient else few)).attempt(
        problem, frozen(trail.best), trail.tolerance, trail.progress,
        hopeful=True, window=WINDOW if patient else 0,
    )  # fmt: skip
    trail.note(found, stage_of("anderson", found, cost * found.iterations))


def _newton(trail: Trail) -> None:
    """Proximal Newton from the best so far; in small steps of its weight where sweeps over bodies have come
    near."""
    weight = prox_newton.weight_at(AHEAD * trail.error) if trail.is_swept else 1e-3
    _proximal(trail, trail.best, weight, 150, QUICK)


def _proximal(trail: Trail, r: Array, alpha: float, budget: int, settings: dict[str, float]) -> None:
    """Proximal Newton from r, noted as one stage."""
    problem, budget = trail.problem, min(budget, trail.left)
    if problem.size <= COMPILED and settings is QUICK:
        arguments = (
            problem.K.arrays, problem.W.blocks(problem.K).arrays, problem.u_free, r,
            alpha, trail.tolerance, float(budget), settings["patience"],
        )  # fmt: skip
        (best, control, history), seconds, compiling = timed(prox_newton.solve_small, *arguments)
        steps, error = int(control[prox_newton.NEWTON]), float(control[prox_newton.BEST])
        found = Attempt(best, Status.STALLED, steps, seconds, compiling, history)
        trail.note(found, Stage("prox", steps, float(control[prox_newton.OPERATIONS]), error))
        return
    tell, before = trail.progress, trail.whole.iterations

    def progress(steps: int, error: float) -> None:
        if tell is not None:
            tell(before + steps, min(trail.error, error))

    found, error = proximal(problem, r, alpha, trail.tolerance, budget, progress, **settings)
    trail.note(found, Stage("prox", found.iterations, found.operations, error))


def _nearness(trail: Trail) -> None:
    """Proximal Newton with patience from a best that is near: the answer there has smaller impulses than that
    from the relaxation."""
    if trail.problem.K.group_size.size and trail.error <= NEAR:
        _proximal(trail, trail.best, 1e-3, 200, {**PATIENT, "patience": 60.0})


def _relaxation(trail: Trail) -> None:
    """Proximal Newton from the centre of the relaxation's solutions, with patience."""
    if _has_friction(trail):
        _start_from(trail, lambda: relaxed_centre(trail.problem))


def _path(trail: Trail) -> None:
    """The same from the end of the exact law's central path."""
    if _has_friction(trail):
        _start_from(trail, lambda: follow_path(trail.problem, MOST_FACTORS))


def _has_friction(trail: Trail) -> bool:
    """Whether there is a shift to deal with, in numbers whose squares are finite."""
    return trail.problem.K.group_size.size > 0 and trail.error < np.inf


def _start_from(trail: Trail, find: Callable[[], Start]) -> None:
    """Proximal Newton with patience from a start inside the cones, each noted as a stage."""
    with Compilation() as compilation, np.errstate(all="ignore"):  # what overflows is no start
        start = time.perf_counter()
        found = find()
        seconds = time.perf_counter() - start
    r = found.r
    if not np.isfinite(r).all():
        return
    error = examine(trail.problem, r, None, None)[0].error
    spent = seconds - compilation.seconds, compilation.seconds
    attempt = Attempt(r, Status.STALLED, found.factors, *spent, operations=found.operations)
    trail.note(attempt, Stage(found.name, found.factors, found.operations, error))
    if trail.goes_on:
        _proximal(trail, r, prox_newton.weight_at(error), 400, CENTRED)


def _interior_point(trail: Trail) -> None:
    """From the interior, without friction. With it, this has solved nothing that other starts have not, of
    all problems that are recorded, of the standard collection, and of benchmarks/hard.py."""
    if trail.problem.K.group_size.size:
        return
    found = InteriorPoint(polish=0, max_iterations=60).attempt(
        trail.problem, None, trail.tolerance, trail.progress
    )
    trail.note(found, stage_of("ipm", found, found.operations))
    if trail.goes_on:
        _proximal(trail, found.r, prox_newton.weight_at(trail.whole.tried[-1].error), 150, QUICK)


def _patience(trail: Trail) -> None:
    """Proximal Newton from the best so far, in small changes of its weight."""
    _proximal(trail, trail.best, 1e-3, 1200, PATIENT)


Stages = tuple[Callable[[Trail], None], ...]
"""What is tried one after the other."""
FIRST: Stages = (accelerated, _newton)
LAST: Stages = (_nearness, _relaxation, _path, _interior_point, _patience)
