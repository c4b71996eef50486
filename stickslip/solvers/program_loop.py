"""The loop of programs around a conic solver: solve, judge, update what is held.

Held are the shift s and, where W is a little unsymmetric, (W - P) r for the symmetric part P that the program
has; see `solvers/external.py`. The judge ends the loop; the solver's own word decides nothing but whether
to ask it again.
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

ASKED = (1e-15, 1e-12, 1e-11, 1e-10, 1e-9)
"""Tolerances asked of an interior point, one after the other while it breaks off on the way to them. The
first is the best: natural residuals on the border of a cone are roots of its gap."""
CLEARLY = 0.1
"""Share of the error at which a coarser answer is taken for better than a finer one."""
ENOUGH = 1e-10
"""Error of a program that is not asked for again."""
ACCURACY, LEAST_ACCURACY = 0.1, 1e-4
"""Tolerance asked of the others, as a share of the error of the loop, and where its tightening ends."""
SLOW = 0.5
"""An error of the loop that falls by less makes the programs be solved better."""
CIRCLING = 8
"""Programs without a better error after which the loop is damped: it may go round in circles."""
LEAST_DAMPING = 0.2
"""Where that ends."""
PATIENCE = 40
"""Programs without halving the error before the loop counts as stalled."""
TIGHTENING = 0.2
"""Factor by which the programs are then solved better."""
ROUGH = 1e-2
"""Error of the loop beyond which programs are not solved more roughly."""
OUTGROWN = 1e12
"""Size of an answer in units of its program beyond which it is no answer: the load is rounding beside it."""
ROUNDING = 1e-14
"""Unsymmetric share of W that is rounding."""
SETTLED = 0.01
"""Change of the shift, as a share of the tolerance, at which the law of pyramids is solved."""
WIDEST = 1e20
"""Largest number of a program that is handed over; larger ones some take for infinite, and print it."""
STILL = 1e-15
"""A shift that changes by less than this share of the largest does not change."""


class ProgramLoop:
    """The programs of one solve, one after the other, and the best answer among theirs."""

    def __init__(
        self, options: "External", run: Adapter, watch: Watch, convert: Callable[[], ProgramConversion],
        start: Answer | None,
    ):  # fmt: skip
        self.options, self.watch, self._run = options, watch, run
        problem = watch.problem
        assert isinstance(problem, ContactProblem | GlobalProblem)
        self.problem = problem
        self.last = _at_rest(problem)
        """The answer of the last program; of none, that without impulses."""
        self.direction: Array | None = None
        """Impulses along which the solver says that the program has no end [N s], shape (n,)."""
        self.single = options.law == "relaxed" or not problem.K.coefficient.any()
        """Whether one program is all, nothing being held."""
        self.unsymmetric = not _symmetric(problem)
        self.pyramids = bool(options.facets) and bool((problem.K.group_size > 1).any())
        self._answered = False
        """Whether a program was solved."""
        self._look(start or self.last, 0)
        if watch.status is None:
            self._programs(convert(), start is not None)

    def _programs(self, conversion: ProgramConversion, warm: bool) -> None:
        """Solve, judge, update what is held; until an end is found."""
        options, watch = self.options, self.watch
        held = self._held(conversion) if warm else np.zeros_like(self._held(conversion))
        units = program_units(conversion.problem)
        share, damping, error, least, mark = ACCURACY, 1.0, np.inf, np.inf, np.inf
        worse = since = 0
        for _ in range(options.outer):
            program = self._program(conversion, held)
            asked = self._asked(share, error)
            found = answer_of(options, self._run, program, units, asked, self._answered)
            if found.status is Status.INFEASIBLE:
                self.direction = conversion.recover(found.x, found.y).r
                watch.iterations += found.iterations
                return watch.stop(Status.STALLED, f"{options.name} says: {found.message}")
            before, error = error, self._look(conversion.recover(found.x, found.y), found.iterations)
            self._answered |= found.status is Status.SOLVED
            if watch.status is not None:
                return None
            if found.status is Status.MAX_ITERATIONS:
                return watch.stop(Status.MAX_ITERATIONS)
            step = self._held(conversion) - held
            change = _norm(step) / max(_norm(held + step), 1e-300)
            if self.pyramids and self._solves_pyramid(program, found, change):
                return None
            if self.pyramids:  # the judge's error ends at that of the pyramids
                error = min(error, change)
            mark, since = (error, 0) if error < HALVING * mark else (mark, since + 1)
            least, worse = (error, 0) if error < least else (least, worse + 1)
            finest = options.interior or share <= LEAST_ACCURACY
            if (change <= STILL and finest) or since >= PATIENCE:
                last = f"{options.name} reached {watch.error:.0e}, its last message is {found.message!r}"
                return watch.stop(Status.STALLED, last)
            if error > SLOW * before or change <= STILL:  # is it the loop, or the program in it?
                share = max(TIGHTENING * share, LEAST_ACCURACY)
            if worse >= CIRCLING:
                damping, worse = max(0.7 * damping, LEAST_DAMPING), 0
            held = held + damping * step
        return watch.stop(Status.MAX_ITERATIONS, f"{options.outer} programs are solved; raise outer")

    def _asked(self, share: float, error: float) -> float:
        """Tolerance of the next program."""
        if self.options.interior:
            return ASKED[0]
        tolerance = self.watch.tolerance
        if self.single or self.options.linear:  # of one program, or of cheap ones
            return max(share * tolerance, ASKED[0])
        return max(share * min(max(error, tolerance), ROUGH), ASKED[0])

    def _look(self, answer: Answer, iterations: int) -> float:
        self.last = answer
        return self.watch.look(answer.r, iterations, answer.v, answer.lam)

    def _held(self, conversion: ProgramConversion) -> Array:
        """s of the answer last looked at and, of an unsymmetric W or M, (W - P) r or v after it [m/s].

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
        """The program for what is held."""
        nb = len(self.problem.K)
        if isinstance(self.problem, GlobalProblem) and self.unsymmetric:
            return conversion.shifted(held[:nb], Answer(self.last.r, held[nb:]))
        program = conversion.shifted(held[:nb]) if held[:nb].any() else conversion.problem
        return program.with_(c=program.c + held[nb:]) if held.size > nb else program

    def _solves_pyramid(self, program: ConeProgram, found: ProgramAnswer, change: float) -> bool:
        """Whether the pyramids' own law is solved, so that nothing more is to be had from them."""
        tolerance, facets = self.watch.tolerance, self.options.facets
        error = judge_program(program, found.x, found.y).error
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
        """The best answer; of pyramids their own."""
        watch = self.watch
        if watch.status is Status.APPROXIMATE or not np.isfinite(watch.error):
            return self.last if _finite(self.last.r) else _at_rest(self.problem)
        return Answer(watch.best, watch.best_v, watch.best_lam)

    def attempt(self, prove: Callable[[Array | None], Certificate | None]) -> Attempt:
        """What was found; where that is no answer, with a certificate that there is none, if it is found."""
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
    """The answer of a solver; asked again for less where it broke off on the way to too much.

    solvable: whether the program is known to have an answer, whatever the solver may say.
    """
    given = units.scaled(program) if options.scale else program
    if max(map(_norm, (given.P.data, given.c, given.A.data, given.b))) > WIDEST:
        beyond = f"not called: the program has numbers beyond {WIDEST:g}; use inf for a missing bound"
        return ProgramAnswer(np.zeros(program.size), np.zeros(program.rows), Status.NOT_FINITE, 0, beyond)
    best, least, iterations = None, np.inf, 0
    for asked in ASKED if options.interior else (tolerance,):
        found = run(given, asked, options.max_iterations)
        iterations += found.iterations
        error = judge_program(given, found.x, found.y).error if _finite(found.x, found.y) else np.inf
        if best is None or error < CLEARLY * least:  # where they are alike, the finer one is nearer
            best, least = found, error
        again = found.status is Status.STALLED or (found.status is Status.INFEASIBLE and solvable)
        if error <= ENOUGH or not again:
            break
    assert best is not None
    status, message = best.status, best.message
    if status is Status.INFEASIBLE and solvable:
        status = Status.STALLED
    if status is Status.MAX_ITERATIONS and least <= ENOUGH:  # on the way to what cannot be reached
        status = Status.STALLED
    x, y = units.back(best.x, best.y) if options.scale else (best.x, best.y)
    if _finite(x, y) and units.extent(x, y) > OUTGROWN:
        status, message = Status.INFEASIBLE, f"{message}, with impulses that grow without bound"
    return ProgramAnswer(x, y, status, iterations, message)


def _at_rest(problem: ContactProblem | GlobalProblem) -> Answer:
    """The answer without impulses."""
    r = np.zeros(problem.size)
    if isinstance(problem, ContactProblem):
        return Answer(r)
    return Answer(r, problem.M.solve(problem.f), np.zeros(problem.g_bias.size))


def _symmetric(problem: ContactProblem | GlobalProblem) -> bool:
    """Whether W or M is symmetric to rounding, beside the smallest entry of its diagonal."""
    if not problem.size or (isinstance(problem, ContactProblem) and isinstance(problem.W, BodyDelassus)):
        return True
    matrix = problem.M.sparse if isinstance(problem, GlobalProblem) else matrix_of(problem.W)
    size = np.abs(matrix.diagonal()).min() if isinstance(problem, GlobalProblem) else abs(matrix).max()
    return bool(abs(matrix - matrix.T).max() <= ROUNDING * size)


def _velocities(problem: GlobalProblem, answer: Answer) -> Array:
    """v of an answer, or that without impulses, shape (nv,)."""
    return problem.M.solve(problem.f) if answer.v is None else answer.v


def _finite(*arrays: Array) -> bool:
    return all(bool(np.isfinite(x).all()) for x in arrays)


def _norm(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))
