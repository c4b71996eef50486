"""`auto`: the default solver, which selects methods by the problem and tries them in turn.

Small dense problems and contacts between bodies are first tried in one compiled call (`one_call.py`).
If that call finds no solution, the stages below follow. Each starts from the best iterate of the stages
before it.

1. Gauss-Seidel sweeps (`nsgs`), as long as their rate of convergence predicts less work than Newton's method.
   Anderson's acceleration (`anderson`) is added if many sweeps are expected: in the same compiled call for
   Coulomb contacts, as a separate stage for other blocks and for larger matrix-free problems. The cost of
   Newton's method is estimated from the elimination of the graph of contacts or bodies (`effort.py`).
   Hyperstatic matrix-free bodies get few sweeps, because sweeps mostly stall there.
2. Proximal Newton (`prox`) with full steps, as long as they halve the residual.
3. Without friction: a certificate of infeasibility; complementary pivots (`lemke`); enumeration of all bases
   (`enumerate`) if they are few, which finds a solution or proves that there is none.
4. With friction: proximal Newton with more patience if the error is small; proximal Newton from the centre
   of the relaxation's solutions (`ipm`); proximal Newton from the end of the central path of the exact law
   (`path`). Both starts are computed in `cone_path.py`.
5. Without friction: the interior point (`ipm`), then proximal Newton from its last iterate.
6. Proximal Newton with small changes of its weight and the largest patience.
7. A certificate of infeasibility, if one can be found.

If joints (`free` blocks) couple bodies into chains, sweeps propagate impulses by one link at a time.
Newton's method is then tried before the sweeps, with an almost vanishing proximal weight; it is a single
linear solve if no contact is active. (Bodies and problems of up to 120 components do this in the same call
as their sweeps.) If it fails, an interior point to low accuracy and Newton's method from its result follow.

Stages 4 to 6 are in `auto_stages.py`. If the graph of the problem predicts a factor that exceeds the memory
or takes too long, only sweeps are tried, and `Solution.reason` says so.

Decisions depend on operation counts and residuals, never on measured time: the same problem and guess give
the same answer, bit for bit, for any number of BLAS threads.
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
"""States of sweeps that ended because their budget was spent."""
TANGENTS = 12
"""Largest number of tangent problems for a step that the interior point does not solve (heuristic)."""
PIVOTED, FEW_BASES = 500, 1 << 14
"""Largest number of unknowns for Lemke's pivots, and of bases for the enumeration (heuristic)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto(Options):
    """Default solver: selects methods by the problem and tries them in turn; takes every kind of block."""

    takes_steps: ClassVar[bool] = True
    """Whether `solve` accepts a whole StepProblem."""
    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(5000, "Newton and interior-point steps")
    kappa: float = kappa_option()

    @property
    def compiled_steps(self) -> bool:
        """Whether schemes may use their compiled steps, which solve small problems as `one_call.py` does."""
        return not self.kappa > 0.0

    @property
    def takes_tangents(self) -> bool:
        """Whether `solve` also accepts the tangent problems of a step."""
        return not self.kappa > 0.0

    @property
    def other_law(self) -> bool:
        """Whether the law smoothed with kappa is requested."""
        return self.kappa > 0.0

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if None); any problem, through its contact form.

        A StepProblem is solved by `ipm-step`; if that fails, by a sequence of tangent problems, each solved
        by the stages above. A ConeProgram is solved by `clarabel`.
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
        """Try `problem` in one compiled call: return its solution, or the guess for the stages."""
        self._refuse_kappa(problem)
        return solve_in_one_call(problem, guess, self.tolerance, "auto")

    def _refuse_kappa(self, problem: object) -> None:
        """Raise a ProblemError if the smoothed law is requested: only a StepProblem has it."""
        if self.kappa > 0.0:
            raise ProblemError(
                f"kappa = {self.kappa:g} applies only to whole steps of worlds (scheme='variational'), not to"
                f" a {type(problem).__name__}; leave kappa out"
            )

    def go_on(self, first: FirstTry, problem: Problem, progress: Progress | None = None) -> Solution:
        """Solve by the stages, after a compiled call without a solution."""
        is_small = problem.size <= MANY
        reached = min((stage.error for stage in first.tried if is_small), default=np.inf)
        solution = self._by_stages(problem, first.guess, progress, reached)
        if not first.tried:
            return solution
        earlier = sum(stage.iterations for stage in first.tried)
        return solution.with_(tried=(*first.tried, *solution.tried), iterations=solution.iterations + earlier)

    def _by_stages(
        self, problem: Problem, guess: ArrayLike | None, progress: Progress | None, reached: float = np.inf
    ) -> Solution:
        """Solve by the stages, with pivots between the first and the last ones if these can decide.

        `reached` is the error of the guess if it is the result of sweeps, else infinite.
        """
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
        """Return the solver of steps that stops on their central path at `kappa`."""
        solver: Solver = make(
            "ipm-step", tolerance=self.tolerance, max_iterations=min(self.max_iterations, 200), kappa=kappa
        )
        return solver

    def _step(self, problem: StepProblem) -> Solution:
        """Solve a whole step; the solution is that of its tangent problem."""
        # 1. Interior point on the step itself.
        first = self.on_path(self.kappa).solve(problem)  # type: ignore[arg-type]
        if first.ok or first.status is Status.APPROXIMATE or problem.model == "pyramid" or self.kappa > 0.0:
            return first.with_(solver="auto")
        best, v, r = first, first.v, first.r
        tried = [Stage("ipm-step", first.iterations, 0.0, first.residuals.error)]
        # 2. Tangent problems: linearise at v, solve, judge the result on the tangent problem at the new v.
        for _ in range(TANGENTS):
            solution = self.solve(step_tangent(problem, v), guess=r)  # type: ignore[arg-type]
            v, r = solution.v, solution.r
            if v is None or not np.isfinite(v).all():
                break
            at_v = step_tangent(problem, v)
            residuals, u = examine(at_v, r, v, None)
            tried.append(Stage("tangent", solution.iterations, solution.operations, residuals.error))
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
        """Solve by these stages and have the judge certify the result, or a proof of infeasibility."""
        method = partial(self.attempt, progress=progress, stages=stages, reached=reached)
        return certified("auto", method, problem, guess, self.tolerance, find_certificate)

    def attempt(
        self, problem: ContactProblem, guess: Array | None, tolerance: float,
        progress: Progress | None = None, stages: Stages | None = None, reached: float = np.inf,
    ) -> Attempt:  # fmt: skip
        """Try the stages (default: all) on a contact problem; the result is not yet certified.

        `reached` is the error of the guess if it is the result of sweeps: hyperstatic bodies get no more.
        """
        trail = Trail(problem, tolerance, self.max_iterations, progress)
        # 1. Joints that couple the bodies into chains: Newton's method before the sweeps.
        skip_joints = stages is LAST or problem.K.family in COULOMB
        chained = 0 if skip_joints else int(np.count_nonzero(problem.K.kind == cones.FREE))
        if chained and is_jointed(problem.K.kind):
            joints(trail, guess)
            if not trail.goes_on:
                return trail.attempt()
            guess, chained = frozen(trail.best) if trail.error < np.inf else guess, 0
        # 2. Sweeps, unless they have already been made on hyperstatic bodies.
        if guess is not None and reached < np.inf and not chained and is_hyperstatic(problem):
            trail.begin(guess, reached)
            return self._staged(trail, stages)
        if is_coulomb(problem):
            first = _sweep_in_one_call(problem, guess, tolerance)
        else:
            first = _sweep(problem, guess, tolerance, progress)
        if first.status.ok and not trail.total.tried:
            return first
        trail.note(first, first.tried[0])
        trail.swept = first.r, trail.error
        # 3. Other joints: Newton's method from the result of the sweeps.
        if chained and trail.goes_on:
            joints(trail, frozen(trail.best))
        # 4. The stages of `auto_stages.py`.
        return self._staged(trail, stages)

    @staticmethod
    def _staged(trail: Trail, stages: Stages | None) -> Attempt:
        """Run the stages in turn until the problem is solved, and return the attempt."""
        for stage in (*FIRST, *LAST) if stages is None else stages:
            if trail.goes_on and (stage is accelerated or not trail.refusal):
                stage(trail)
        return trail.attempt()


def _sweep_in_one_call(problem: ContactProblem, guess: Array | None, tolerance: float) -> Attempt:
    """Run Gauss-Seidel sweeps on Coulomb contacts while they are expected to cost less than Newton's method.

    One compiled call, because the overhead of calls dominates small problems. Larger problems get a second
    call if the rate of the first predicts fewer operations than Newton's method on the graph of the problem.
    """
    K, W = problem.K, problem.W.blocks(problem.K)
    n, nc = problem.u_free.size, K.coefficient.size
    allowed, cost = sweeps_allowed(n, nc, W.data.size, PER_CONTACT[K.family])
    first, r = float(min(4, (nc + 1) // 2)), np.zeros(n)
    if guess is not None:
        first = 0.0
        cones.project(K.arrays, guess, r)
    arguments = tuple(K.arrays), tuple(W.arrays), problem.u_free
    attempt, control = _phase(*arguments, r, first, tolerance, allowed)
    mixed = control[schedule.ERROR_THEN] > 0.0
    if n > COMPILED and control[schedule.STATE] in UNDECIDED:
        budget = accelerated_allowed(problem)[0] - attempt.iterations
        if control[schedule.AHEAD] <= budget:
            later, control = _phase(*arguments, attempt.r, 0.0, tolerance, budget)
            attempt = after(attempt, later)
    sweeps, best = attempt.iterations, float(control[schedule.BEST])
    stage = Stage("anderson" if mixed else "nsgs", sweeps, cost * sweeps, best)
    return attempt._replace(tried=(stage,), operations=stage.operations)


def _phase(*arguments: Any) -> tuple[Attempt, Array]:
    """Make one compiled call of sweeps; return its attempt and its control array."""
    (r, control, history), seconds, compiling = timed(first_phase.sweep_coulomb, *arguments)
    status = STATUS.get(control[schedule.STATE], Status.MAX_ITERATIONS)
    return Attempt(r, status, int(control[schedule.SWEEPS]), seconds, compiling, history), control


def _sweep(
    problem: ContactProblem, guess: Array | None, tolerance: float, progress: Progress | None
) -> Attempt:
    """Run plain sweeps on other blocks or a matrix-free problem while they are expected to pay."""
    allowed, cost = plain_allowed(problem)
    attempt = NSGS(max_iterations=int(allowed)).attempt(problem, guess, tolerance, progress, hopeful=True)
    stage = stage_of("nsgs", attempt, cost * attempt.iterations)
    return attempt._replace(tried=(stage,), operations=stage.operations)


def _may_pivot(problem: Problem) -> bool:
    """Whether pivots and enumeration can decide a problem: it has no friction and is not too large."""
    if not isinstance(problem, Problem):
        return False
    return problem.size <= PIVOTED and (isinstance(problem, BoxProblem) or not problem.K.group_size.size)


def _undecided(solution: Solution) -> bool:
    return not solution.ok and solution.certificate is None


def _by_bases(solution: Solution) -> Solution:
    """Try pivots, and all bases if they are few, on a problem without friction."""
    problem, tolerance = solution.problem, solution.tolerance
    assert isinstance(problem, Problem)
    pivoted = Lemke(tolerance=tolerance).solve(problem)
    solution = _after(solution, pivoted, "lemke")
    bases = count_bases(problem) if isinstance(problem, BoxProblem) else 3 ** len(problem.K)
    if _undecided(solution) and bases <= FEW_BASES:
        enumerated = Enumeration(tolerance=tolerance, max_iterations=FEW_BASES).solve(problem)
        solution = _after(solution, enumerated, "enumerate")
    return solution


def _after(solution: Solution, later: Solution, name: str = "") -> Solution:
    """Return the better of two solutions with the work of both; `name` if the later is a single method's."""
    stages = (Stage(name, later.iterations, 0.0, later.residuals.error),) if name else later.tried
    tried = (*solution.tried, *stages)
    decided = not _undecided(later)
    best = later if decided or later.residuals.error < solution.residuals.error else solution
    return best.with_(
        solver="auto", tried=tried, history=solution.history if name else best.history,
        reason=later.reason if decided else "tried " + ", ".join(map(str, tried)),
        iterations=solution.iterations + later.iterations, seconds=solution.seconds + later.seconds,
        compile_seconds=solution.compile_seconds + later.compile_seconds,
        operations=solution.operations + later.operations,
    )  # fmt: skip
