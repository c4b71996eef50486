"""`auto`: the method that fits, and the next one when it does not.

Where joints (`free` blocks) couple bodies into chains, sweeps carry impulses one link at a time. There
Newton comes first, with next to no proximal weight, which is one linear solve if nothing else bears (for
bodies and up to 120 components in the same call as its sweeps); then the interior point to few digits and
Newton from there.

Small dense problems and contacts between bodies are first tried in one compiled call (`one_call.py`).
Otherwise, and where that did not do, the order, each stage starting from the best iterate of those before:

1. Gauss-Seidel sweeps (`nsgs`), as long as their rate promises an end sooner than Newton would come to
   one; with Anderson's acceleration (`anderson`) where many are ahead, for Coulomb contacts in the same
   call, for other blocks and matrix-free on larger problems as a stage of its own. What Newton would cost
   is estimated from the elimination of the graph of contacts or bodies (`effort.py`); of hyperstatic
   bodies, matrix-free, few sweeps are made, because most of them stall there;
2. proximal Newton (`prox`), full steps, as long as they halve the residual;
3. without friction: a certificate that there is no solution; complementary pivots (`lemke`); all bases
   (`enumerate`) where they are few, which finds a solution or proves that there is none;
4. with friction, proximal Newton with patience where it is near; from the centre of the relaxation's
   solutions (`ipm`); from the end of the exact law's central path (`path`, both in
   `cone_path.py`);
5. without friction, the interior point (`ipm`), and proximal Newton from where it ends;
6. proximal Newton with small changes of its weight, and much patience;
7. a certificate that there is no solution, where one is found.

Stages 4 to 6 are in `auto_stages.py`. Where a factor would be too large for memory, or take too long, by the
graph of the problem, sweeps are all that is tried, and the reason says so.

Decisions are made on counts of operations and on residuals, never on the clock: the same problem and
the same guess give the same answer, bit for bit, whatever the number of BLAS threads.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip.compilation.timing import timed
from stickslip.kernels import cones, first_phase, schedule
from stickslip.kernels.body_problems import MANY, is_jointed
from stickslip.options import Options, iterations_option, kappa_option, tolerance_option
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, ProblemError, frozen
from stickslip.problem.contact import ContactProblem
from stickslip.problem.exhaustion import count_bases
from stickslip.problem.program import ConeProgram
from stickslip.problem.residuals import examine
from stickslip.problem.solution import Problem, Solution, Stage, Status
from stickslip.problem.step_problem import StepProblem
from stickslip.problem.step_tangent import step_tangent
from stickslip.solvers.auto_stages import (
    FIRST,
    LAST,
    Stages,
    Trail,
    accelerated,
    is_coulomb,
    joints,
    stage_of,
)
from stickslip.solvers.certify import Attempt, after, certified, shortfall
from stickslip.solvers.effort import (
    PER_CONTACT,
    accelerated_allowed,
    is_hyperstatic,
    plain_allowed,
    sweeps_allowed,
)
from stickslip.solvers.enumeration import Enumeration
from stickslip.solvers.gauss_seidel import COULOMB, NSGS
from stickslip.solvers.infeasibility import find_certificate
from stickslip.solvers.lemke import Lemke
from stickslip.solvers.newton_systems import COMPILED
from stickslip.solvers.one_call import FirstTry, solve_in_one_call
from stickslip.solvers.registry import Progress, Solver, make

STATUS = {schedule.SOLVED: Status.SOLVED, schedule.NOT_FINITE: Status.NOT_FINITE}
UNDECIDED = schedule.RUNNING, schedule.SLOW
"""States of sweeps that end because they were allowed no more."""
TANGENTS = 12
"""Most tangent problems of a step that the interior point does not solve."""
PIVOTED, FEW_BASES = 500, 1 << 14
"""Most unknowns of problems that are given to pivots, and most bases that are examined, at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto(Options):
    """Default solver: tries several methods in turn, selected by the problem; for every kind of block."""

    takes_steps: ClassVar[bool] = True
    """Whether `solve` accepts a whole StepProblem."""
    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(5000, "Newton and interior-point steps")
    kappa: float = kappa_option()

    @property
    def compiled_steps(self) -> bool:
        """Whether schemes may make steps in compiled code, which solves small problems by `one_call.py`."""
        return not self.kappa > 0.0

    @property
    def takes_tangents(self) -> bool:
        """Whether it takes the tangent problems of a step, too."""
        return not self.kappa > 0.0

    @property
    def other_law(self) -> bool:
        """Whether the law smoothed with kappa is asked for."""
        return self.kappa > 0.0

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none); any problem, through its contact form.

        A StepProblem goes to `ipm-step`; where that does not come to an end, one tangent problem after the
        other through the stages above. A ConeProgram goes to `clarabel`.
        """
        if isinstance(problem, StepProblem):
            return self._step(problem)
        self._refuse_kappa(problem)
        if isinstance(problem, ConeProgram):
            return make("clarabel", tolerance=self.tolerance).solve(problem)
        if not isinstance(problem, Problem):
            return self._by_stages(problem, guess, progress)
        first = self.begin(problem, guess)
        return first.solution or self.go_on(first, problem, progress)

    def begin(self, problem: Problem, guess: ArrayLike | None) -> FirstTry:
        """What one compiled call makes of a problem that is data: the answer, or where to go on."""
        self._refuse_kappa(problem)
        return solve_in_one_call(problem, guess, self.tolerance, "auto")

    def _refuse_kappa(self, problem: object) -> None:
        """An error for problems that are no whole steps, where the smoothed law is asked for."""
        if self.kappa > 0.0:
            raise ProblemError(
                f"kappa = {self.kappa:g} is of whole steps, which scheme='variational' makes of worlds, and"
                f" this is a {type(problem).__name__}; leave kappa out"
            )

    def go_on(self, first: FirstTry, problem: Problem, progress: Progress | None = None) -> Solution:
        """The stages, after a first try without an answer."""
        few = problem.size <= MANY
        reached = min((stage.error for stage in first.tried if few), default=np.inf)
        solution = self._by_stages(problem, first.guess, progress, reached)
        if not first.tried:
            return solution
        vain = sum(stage.iterations for stage in first.tried)
        return solution.with_(tried=(*first.tried, *solution.tried), iterations=solution.iterations + vain)

    def _by_stages(
        self, problem: Problem, guess: ArrayLike | None, progress: Progress | None, reached: float = np.inf
    ) -> Solution:
        """The stages, with pivots between them where these can decide; reached: error of the guess, where
        sweeps have led to it."""
        if not _may_pivot(problem):
            return self._certified(problem, guess, progress, (*FIRST, *LAST), reached)
        solution = self._certified(problem, guess, progress, FIRST)
        if _undecided(solution):
            solution = _by_bases(solution)
        if _undecided(solution):
            best = guess if solution.status is Status.NOT_FINITE else solution.r
            last = self._certified(problem, best, progress, LAST)
            solution = _after(solution, last)
        return solution

    def on_path(self, kappa: float) -> Solver:
        """The solver of steps that stops on their central path at `kappa`."""
        made: Solver = make(
            "ipm-step", tolerance=self.tolerance, max_iterations=min(self.max_iterations, 200), kappa=kappa
        )
        return made

    def _step(self, problem: StepProblem) -> Solution:
        """A whole step; the answer is one of its tangent problem."""
        first = self.on_path(self.kappa).solve(problem)  # type: ignore[arg-type]
        if first.ok or first.status is Status.APPROXIMATE or problem.model == "pyramid" or self.kappa > 0.0:
            return first.with_(solver="auto")
        best, v, r = first, first.v, first.r
        tried = [Stage("ipm-step", first.iterations, 0.0, first.residuals.error)]
        for _ in range(TANGENTS):
            found = self.solve(step_tangent(problem, v), guess=r)  # type: ignore[arg-type]
            v, r = found.v, found.r
            if v is None or not np.isfinite(v).all():
                break
            at_v = step_tangent(problem, v)
            residuals, u = examine(at_v, r, v, None)
            tried.append(Stage("tangent", found.iterations, found.operations, residuals.error))
            if shortfall(residuals, self.tolerance) < shortfall(best.residuals, self.tolerance):
                solved = residuals.solved(self.tolerance)
                status = Status.SOLVED if solved else Status.STALLED
                best = first.with_(problem=at_v, r=r, v=v, u=u, residuals=residuals, status=status)
            if best.ok:
                break
        reason = "" if best.ok else "tried " + ", ".join(map(str, tried))
        seconds = first.seconds
        return best.with_(solver="auto", tried=tuple(tried), reason=reason, seconds=seconds)

    def _certified(
        self, problem: Problem, guess: ArrayLike | None, progress: Progress | None, stages: Stages,
        reached: float = np.inf,
    ) -> Solution:  # fmt: skip
        """What these stages make of a problem, or the proof that there is no solution where one is found."""
        method = partial(self.attempt, progress=progress, stages=stages, reached=reached)
        return certified("auto", method, problem, guess, self.tolerance, find_certificate)

    def attempt(
        self, problem: ContactProblem, guess: Array | None, tolerance: float,
        progress: Progress | None = None, stages: Stages | None = None, reached: float = np.inf,
    ) -> Attempt:  # fmt: skip
        """Stage after stage on a contact problem, all if not said otherwise; what was found, uncertified.

        reached: error of the guess, where sweeps have led to it: of hyperstatic bodies no more are made.
        """
        trail = Trail(problem, tolerance, self.max_iterations, progress)
        none = stages is LAST or problem.K.family in COULOMB
        chained = 0 if none else int(np.count_nonzero(problem.K.kind == cones.FREE))
        if chained and is_jointed(problem.K.kind):
            joints(trail, guess)
            if not trail.goes_on:
                return trail.attempt()
            guess, chained = frozen(trail.best) if trail.error < np.inf else guess, 0
        if guess is not None and reached < np.inf and not chained and is_hyperstatic(problem):
            trail.begin(guess, reached)
            return self._staged(trail, stages)
        if is_coulomb(problem):
            first = _sweep_in_one_call(problem, guess, tolerance)
        else:
            first = _sweep(problem, guess, tolerance, progress)
        if first.status.ok and not trail.whole.tried:
            return first
        trail.note(first, first.tried[0])
        trail.swept = first.r, trail.error
        if chained and trail.goes_on:
            joints(trail, frozen(trail.best))
        return self._staged(trail, stages)

    @staticmethod
    def _staged(trail: Trail, stages: Stages | None) -> Attempt:
        """The attempt after one stage and the next."""
        for stage in (*FIRST, *LAST) if stages is None else stages:
            if trail.goes_on and (stage is accelerated or not trail.refusal):
                stage(trail)
        return trail.attempt()


def _sweep_in_one_call(problem: ContactProblem, guess: Array | None, tolerance: float) -> Attempt:
    """Gauss-Seidel while it is cheaper than Newton: small problems are mostly calls, so this is one.

    On larger ones a second, where the rate promises an end sooner than Newton by what the graph says.
    """
    K, W = problem.K, problem.W.blocks(problem.K)
    n, nc = problem.u_free.size, K.coefficient.size
    allowed, cost = sweeps_allowed(n, nc, W.data.size, PER_CONTACT[K.family])
    first, r = float(min(4, (nc + 1) // 2)), np.zeros(n)
    if guess is not None:
        first = 0.0
        cones.project(K.arrays, guess, r)
    arguments = tuple(K.arrays), tuple(W.arrays), problem.u_free
    found, control = _phase(*arguments, r, first, tolerance, allowed)
    mixed = control[schedule.ERROR_THEN] > 0.0
    if n > COMPILED and control[schedule.STATE] in UNDECIDED:
        more = accelerated_allowed(problem)[0] - found.iterations
        if control[schedule.AHEAD] <= more:
            later, control = _phase(*arguments, found.r, 0.0, tolerance, more)
            found = after(found, later)
    sweeps, best = found.iterations, float(control[schedule.BEST])
    stage = Stage("anderson" if mixed else "nsgs", sweeps, cost * sweeps, best)
    return found._replace(tried=(stage,), operations=stage.operations)


def _phase(*arguments: Any) -> tuple[Attempt, Array]:
    """One call of sweeps as an attempt, and its control."""
    (r, control, history), seconds, compiling = timed(first_phase.sweep_coulomb, *arguments)
    status = STATUS.get(control[schedule.STATE], Status.MAX_ITERATIONS)
    return Attempt(r, status, int(control[schedule.SWEEPS]), seconds, compiling, history), control


def _sweep(
    problem: ContactProblem, guess: Array | None, tolerance: float, progress: Progress | None
) -> Attempt:
    """The same for other blocks, and matrix-free."""
    allowed, cost = plain_allowed(problem)
    found = NSGS(max_iterations=int(allowed)).attempt(problem, guess, tolerance, progress, hopeful=True)
    stage = stage_of("nsgs", found, cost * found.iterations)
    return found._replace(tried=(stage,), operations=stage.operations)


def _may_pivot(problem: Problem) -> bool:
    """Whether pivots and bases can decide a problem: no friction, and not too large."""
    if not isinstance(problem, Problem):
        return False
    return problem.size <= PIVOTED and (isinstance(problem, BoxProblem) or not problem.K.group_size.size)


def _undecided(solution: Solution) -> bool:
    return not solution.ok and solution.certificate is None


def _by_bases(solution: Solution) -> Solution:
    """Pivots, and all bases where they are few, on a problem without friction."""
    problem, tolerance = solution.problem, solution.tolerance
    assert isinstance(problem, Problem)
    pivoted = Lemke(tolerance=tolerance).solve(problem)
    solution = _after(solution, pivoted, "lemke")
    few = count_bases(problem) if isinstance(problem, BoxProblem) else 3 ** len(problem.K)
    if _undecided(solution) and few <= FEW_BASES:
        found = Enumeration(tolerance=tolerance, max_iterations=FEW_BASES).solve(problem)
        solution = _after(solution, found, "enumerate")
    return solution


def _after(solution: Solution, found: Solution, name: str = "") -> Solution:
    """The better of two answers, as one of `auto` that has tried both; `name` of a single method."""
    more = (Stage(name, found.iterations, 0.0, found.residuals.error),) if name else found.tried
    tried = (*solution.tried, *more)
    decided = not _undecided(found)
    best = found if decided or found.residuals.error < solution.residuals.error else solution
    return best.with_(
        solver="auto", tried=tried, history=solution.history if name else best.history,
        reason=found.reason if decided else "tried " + ", ".join(map(str, tried)),
        iterations=solution.iterations + found.iterations, seconds=solution.seconds + found.seconds,
        compile_seconds=solution.compile_seconds + found.compile_seconds,
        operations=solution.operations + found.operations,
    )  # fmt: skip
