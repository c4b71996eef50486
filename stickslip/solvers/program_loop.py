"""Loop of programs around a conic solver: solve, judge, update the fixed terms.

Fixed are the shift s and, if W is slightly unsymmetric, (W - P) r with the symmetric part P of the program;
see `solvers/external.py`. The judge ends the loop. The status reported by the solver only decides whether it
is called again.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from stickslip.problem.certificate import Certificate, matrix_of
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer
from stickslip.problem.convert.cone_programs import ProgramConversion, friction_shift
from stickslip.problem.convert.program_units import ProgramUnits, program_units
from stickslip.problem.operator import BodyDelassus
from stickslip.problem.program import ConeProgram, judge_program
from stickslip.problem.residuals import examine
from stickslip.problem.solution import Stage, Status
from stickslip.solvers.certify import Attempt
from stickslip.solvers.programs import Adapter, ProgramAnswer
from stickslip.solvers.watch import HALVING, Watch

if TYPE_CHECKING:
    from stickslip.solvers.external import External

TOLERANCES = (1e-15, 1e-12, 1e-11, 1e-10, 1e-9)
"""Tolerances requested of an interior point, in turn while it fails to reach them. The finest comes first:
natural residuals on the boundary of a cone are square roots of its gap."""
CLEARLY = 0.1
"""Ratio of errors below which the answer to a coarser tolerance replaces one to a finer tolerance."""
ENOUGH = 1e-10
"""Error of a program below which it is not solved again."""
ACCURACY, LEAST_ACCURACY = 0.1, 1e-4
"""Tolerance of other solvers relative to the error of the loop: its first and its smallest value."""
SLOW = 0.5
"""If the error of the loop does not fall to this fraction, the programs are solved more accurately."""
CIRCLING = 8
"""Number of programs without a smaller error after which the update is damped, as it may cycle."""
LEAST_DAMPING = 0.2
"""Smallest damping factor."""
PATIENCE = 40
"""Number of programs without halving the error after which the loop counts as stalled."""
TIGHTENING = 0.2
"""Factor on the relative tolerance when programs are solved more accurately."""
ROUGH = 1e-2
"""Largest error of the loop from which the tolerance of a program is derived."""
OUTGROWN = 1e12
"""Size of an answer in units of its program beyond which it is rejected: the load is lost in rounding."""
ROUNDING = 1e-14
"""Relative asymmetry of W that is rounding."""
SETTLED = 0.01
"""Change of the shift relative to the tolerance below which the law of pyramids is solved."""
WIDEST = 1e20
"""Largest number in a program that is passed on; some solvers treat larger ones as infinite, and print."""
STILL = 1e-15
"""Relative change of the shift that counts as no change."""


class ProgramLoop:
    """The programs of one solve, in turn, and the best answer."""

    def __init__(
        self, options: "External", run: Adapter, watch: Watch, convert: Callable[[], ProgramConversion],
        start: Answer | None,
    ):  # fmt: skip
        self.options, self.watch, self._run = options, watch, run
        problem = watch.problem
        assert isinstance(problem, ContactProblem | GlobalProblem)
        self.problem = problem
        self.last = _at_rest(problem)
        """Answer of the last program; before the first, the answer without impulses."""
        self.direction: Array | None = None
        """Impulses along which the solver reports the program to be unbounded [N s], shape (n,)."""
        self.single = options.law == "relaxed" or not problem.K.coefficient.any()
        """Whether one program is sufficient, without fixed terms."""
        self.unsymmetric = not _symmetric(problem)
        self.pyramids = bool(options.facets) and bool((problem.K.group_size > 1).any())
        self._answered = False
        """Whether the solver has solved a program."""
        self._look(start or self.last, 0)
        if watch.status is None:
            self._programs(convert(), start is not None)

    def _programs(self, conversion: ProgramConversion, warm: bool) -> None:
        """Solve programs, judge their answers and update the fixed terms, until the loop ends."""
        options, watch = self.options, self.watch
        held = self._held(conversion) if warm else np.zeros_like(self._held(conversion))
        units = program_units(conversion.problem)
        share, damping, error, least, mark = ACCURACY, 1.0, np.inf, np.inf, np.inf
        worse = since = 0
        for _ in range(options.outer):
            program = self._program(conversion, held)
            tolerance = self._tolerance(share, error)
            # 1. Solve the program with the fixed terms.
            result = answer_of(options, self._run, program, units, tolerance, self._answered)
            if result.status is Status.INFEASIBLE:
                self.direction = conversion.recover(result.x, result.y).r
                watch.iterations += result.iterations
                return watch.stop(Status.STALLED, f"{options.name} says: {result.message}")
            # 2. Judge its answer.
            before, error = error, self._look(conversion.recover(result.x, result.y), result.iterations)
            self._answered |= result.status is Status.SOLVED
            if watch.status is not None:
                return None
            if result.status is Status.MAX_ITERATIONS:
                return watch.stop(Status.MAX_ITERATIONS)
            # 3. Change of the fixed terms, and progress.
            step = self._held(conversion) - held
            change = _norm(step) / max(_norm(held + step), 1e-300)
            if self.pyramids and self._solves_pyramid(program, result, change):
                return None
            if self.pyramids:  # the judge's error is bounded below by the error of the pyramids
                error = min(error, change)
            mark, since = (error, 0) if error < HALVING * mark else (mark, since + 1)
            least, worse = (error, 0) if error < least else (least, worse + 1)
            finest = options.interior or share <= LEAST_ACCURACY
            if (change <= STILL and finest) or since >= PATIENCE:
                last = f"{options.name} reached {watch.error:.0e}, its last message is {result.message!r}"
                return watch.stop(Status.STALLED, last)
            # 4. Accuracy of the programs, damping, and update of the fixed terms.
            if error > SLOW * before or change <= STILL:
                share = max(TIGHTENING * share, LEAST_ACCURACY)
            if worse >= CIRCLING:
                damping, worse = max(0.7 * damping, LEAST_DAMPING), 0
            held = held + damping * step
        return watch.stop(Status.MAX_ITERATIONS, f"{options.outer} programs are solved; raise outer")

    def _tolerance(self, share: float, error: float) -> float:
        """Return the tolerance of the next program."""
        if self.options.interior:
            return TOLERANCES[0]
        tolerance = self.watch.tolerance
        if self.single or self.options.linear:  # a single program, or cheap ones
            return max(share * tolerance, TOLERANCES[0])
        return max(share * min(max(error, tolerance), ROUGH), TOLERANCES[0])

    def _look(self, answer: Answer, iterations: int) -> float:
        self.last = answer
        return self.watch.look(answer.r, iterations, answer.v, answer.lam)

    def _held(self, conversion: ProgramConversion) -> Array:
        """Return s of the last judged answer and, for an unsymmetric W or M, (W - P) r or v behind it [m/s].

        Shape (nb,), (nb + n,) or (nb + nv,).
        """
        problem, u = self.problem, self.watch.u
        s = np.zeros(len(problem.K))
        if self.options.law == "exact":
            s = friction_shift(problem.K, u, self.options.facets)
        if not self.unsymmetric:
            return s
        if isinstance(problem, GlobalProblem):
            return np.concatenate([s, _velocities(problem, self.last)])
        return np.concatenate([s, u - problem.u_free - conversion.problem.P @ self.last.r])

    def _program(self, conversion: ProgramConversion, held: Array) -> ConeProgram:
        """Return the program with these fixed terms."""
        nb = len(self.problem.K)
        if isinstance(self.problem, GlobalProblem) and self.unsymmetric:
            return conversion.shifted(held[:nb], Answer(self.last.r, held[nb:]))
        program = conversion.shifted(held[:nb]) if held[:nb].any() else conversion.problem
        return program.with_(c=program.c + held[nb:]) if held.size > nb else program

    def _solves_pyramid(self, program: ConeProgram, result: ProgramAnswer, change: float) -> bool:
        """Whether the law of the pyramids is solved, so that more programs cannot improve the answer."""
        tolerance, facets = self.watch.tolerance, self.options.facets
        error = judge_program(program, result.x, result.y).error
        if change > SETTLED * tolerance or error > tolerance:
            return False
        exact = examine(self.problem, *self.last)[0].error
        law = "their convex relaxation" if self.options.law == "relaxed" else "their law"
        self.watch.stop(
            Status.APPROXIMATE,
            f"pyramids of {facets} facets: {law} is solved to {max(error, change):.0e}, Coulomb's to"
            f" {exact:.1e}",
        )
        return True

    @property
    def answer(self) -> Answer:
        """The best answer; with pyramids, the answer of their law."""
        watch = self.watch
        if watch.status is Status.APPROXIMATE or not np.isfinite(watch.error):
            return self.last if _finite(self.last.r) else _at_rest(self.problem)
        return Answer(watch.best, watch.best_v, watch.best_lam)

    def attempt(self, prove: Callable[[Array | None], Certificate | None]) -> Attempt:
        """Return the result; if it is not a solution, with a certificate of infeasibility if one is found."""
        attempt, name = self.watch.attempt(), self.options.name
        certificate = None
        if attempt.status in (Status.STALLED, Status.MAX_ITERATIONS):
            known = self.direction is not None and _finite(self.direction)
            certificate = prove(self.direction if known else None)
        stage = Stage(name, attempt.iterations, 0.0, self.watch.error)
        return attempt._replace(r=self.answer.r, tried=(stage,), certificate=certificate)


def answer_of(
    options: "External", run: Adapter, program: ConeProgram, units: ProgramUnits, tolerance: float,
    solvable: bool = False,
) -> ProgramAnswer:  # fmt: skip
    """Return the answer of a solver; call it again to coarser tolerances if it fails to reach finer ones.

    solvable: whether the program is known to have a solution, whatever the solver reports.
    """
    scaled = units.scaled(program) if options.scale else program
    if max(map(_norm, (scaled.P.data, scaled.c, scaled.A.data, scaled.b))) > WIDEST:
        beyond = f"not called: the program has numbers beyond {WIDEST:g}; use inf for a missing bound"
        return ProgramAnswer(np.zeros(program.size), np.zeros(program.rows), Status.NOT_FINITE, 0, beyond)
    best, least, iterations = None, np.inf, 0
    for target in TOLERANCES if options.interior else (tolerance,):
        answer = run(scaled, target, options.max_iterations)
        iterations += answer.iterations
        error = judge_program(scaled, answer.x, answer.y).error if _finite(answer.x, answer.y) else np.inf
        if best is None or error < CLEARLY * least:  # of similar errors, the finer tolerance is better
            best, least = answer, error
        again = answer.status is Status.STALLED or (answer.status is Status.INFEASIBLE and solvable)
        if error <= ENOUGH or not again:
            break
    assert best is not None
    status, message = best.status, best.message
    if status is Status.INFEASIBLE and solvable:
        status = Status.STALLED
    if status is Status.MAX_ITERATIONS and least <= ENOUGH:  # the tolerance cannot be reached
        status = Status.STALLED
    x, y = units.back(best.x, best.y) if options.scale else (best.x, best.y)
    if _finite(x, y) and units.extent(x, y) > OUTGROWN:
        status, message = Status.INFEASIBLE, f"{message}, with impulses that grow without bound"
    return ProgramAnswer(x, y, status, iterations, message)


def _at_rest(problem: ContactProblem | GlobalProblem) -> Answer:
    """Return the answer without impulses."""
    r = np.zeros(problem.size)
    if isinstance(problem, ContactProblem):
        return Answer(r)
    return Answer(r, problem.M.solve(problem.f), np.zeros(problem.g_bias.size))


def _symmetric(problem: ContactProblem | GlobalProblem) -> bool:
    """Whether W is symmetric relative to its largest entry, or M relative to its smallest diagonal entry."""
    if not problem.size or (isinstance(problem, ContactProblem) and isinstance(problem.W, BodyDelassus)):
        return True
    matrix = problem.M.sparse if isinstance(problem, GlobalProblem) else matrix_of(problem.W)
    size = np.abs(matrix.diagonal()).min() if isinstance(problem, GlobalProblem) else abs(matrix).max()
    return bool(abs(matrix - matrix.T).max() <= ROUNDING * size)


def _velocities(problem: GlobalProblem, answer: Answer) -> Array:
    """Return v of an answer, by default that without impulses, shape (nv,)."""
    return problem.M.solve(problem.f) if answer.v is None else answer.v


def _finite(*arrays: Array) -> bool:
    return all(bool(np.isfinite(x).all()) for x in arrays)


def _norm(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))
