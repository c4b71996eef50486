"""Third-party solvers, on the cone programs of contact problems.

Each solves one convex program at a time, scaled to dimensionless units, in impulses (dual) or velocities
(primal). Coulomb's law is solved by a loop around it: the shift s of the normal velocities is fixed, the
program is solved, and

    s <- sum_k mu_k |u_k|

until the judge accepts (Acary, Cadoux, Lemaréchal & Malick 2011; for one block on a slope it contracts by mu²
/ (1 + mu²)). One program with s = 0 is the convex relaxation. With `facets` the cones are pyramids: the law
of the pyramids is solved exactly, Coulomb's law only to their accuracy. Recorded matrices W are slightly
unsymmetric: the program contains the symmetric part P, and (W - P) r is fixed together with s.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from stickslip.options import LARGEST_INT, Options, iterations_option, option, tolerance_option
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer, Conversion, reduce_to_contacts
from stickslip.problem.convert.cone_programs import ProgramConversion, dual_program, primal_program
from stickslip.problem.convert.program_units import program_units
from stickslip.problem.program import ConeProgram
from stickslip.problem.program_solution import judged_solution
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Problem, Solution, Status
from stickslip.solvers.base import check_pyramid, facets_option
from stickslip.solvers.certify import Attempt, certified, certified_globally
from stickslip.solvers.infeasibility import find_certificate
from stickslip.solvers.program_loop import ACCURACY, TOLERANCES, ProgramLoop, answer_of
from stickslip.solvers.programs import Adapter, needed
from stickslip.solvers.registry import Progress
from stickslip.solvers.watch import Watch

FINER = 1e-3
"""Factor on the tolerance of complementarity solvers, whose error measure differs from the judge's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class External(Options):
    """Base of the third-party solvers: the options, and the loop around the programs."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(200, "iterations on one program")
    formulation: str = option(
        "dual", "unknowns of the program: impulses, or velocities (GlobalProblem only)",
        choices=("dual", "primal"),
    )  # fmt: skip
    law: str = option(
        "exact", "Coulomb's law by a loop on the shift, or its convex relaxation by one program",
        choices=("exact", "relaxed"),
    )  # fmt: skip
    facets: int = facets_option()
    outer: int = option(200, "largest number of programs in the loop on the shift", low=1)
    scale: bool = option(True, "scale every program before it is passed to the solver")

    name: ClassVar[str]
    """Name in the registry."""
    adapter: ClassVar[str]
    """Module and function of the adapter in `stickslip.solvers.adapters`."""
    interior: ClassVar[bool] = True
    """Whether it is an interior-point method, whose programs are solved to the highest accuracy."""
    linear: ClassVar[bool] = False
    """Whether it accepts only linear rows."""

    def __post_init__(self) -> None:
        super(External, self).__post_init__()
        check_pyramid(self)

    @property
    def other_law(self) -> bool:
        """Whether the relaxation or pyramids are requested."""
        return self.law == "relaxed" or self.facets > 0

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem`; `guess` gives the initial shift, and is returned if the judge accepts it."""
        run = self._adapter()
        if isinstance(problem, ConeProgram):
            return self._program(run, problem)
        if self.formulation == "primal":
            method = partial(self._primal, run, progress)
            setting = 'formulation="primal"'
            return certified_globally(self.name, setting, method, problem, guess, self.tolerance)
        return certified(self.name, partial(self._dual, run, progress), problem, guess, self.tolerance)

    def _program(self, run: Adapter, program: ConeProgram) -> Any:
        """Return the optimum of a program, examined by the judge, as a `ProgramSolution`."""
        start = time.perf_counter()
        target = TOLERANCES[0] if self.interior else ACCURACY * self.tolerance
        answer = answer_of(self, run, program, program_units(program), target)
        return judged_solution(
            program, answer.x, answer.y, answer.status, solver=self.name, tolerance=self.tolerance,
            iterations=answer.iterations, seconds=time.perf_counter() - start, message=answer.message,
        )  # fmt: skip

    def _adapter(self) -> Adapter:
        """Return the adapter with its own options; raise `MissingPackage` if its package is missing."""
        needed(self.name)
        module, _, function = self.adapter.partition(".")
        run: Adapter = getattr(import_module(f"stickslip.solvers.adapters.{module}"), function)
        return partial(run, **self._settings())

    def _settings(self) -> dict[str, Any]:
        return {}

    def _dual(
        self, run: Adapter, progress: Progress | None,
        problem: ContactProblem, guess: Array | None, tolerance: float,
    ) -> Attempt:  # fmt: skip
        self._refuse(problem.K)
        with Watch(problem, tolerance, LARGEST_INT, progress, relaxed=self.law == "relaxed") as watch:
            start = None if guess is None else Answer(guess)
            loop = ProgramLoop(self, run, watch, partial(self._converted, dual_program, problem), start)
        return loop.attempt(lambda direction: find_certificate(problem, direction))

    def _primal(
        self, run: Adapter, progress: Progress | None,
        problem: GlobalProblem, guess: Array | None, tolerance: float,
    ) -> tuple[Attempt, Answer]:  # fmt: skip
        self._refuse(problem.K)
        with Watch(problem, tolerance, LARGEST_INT, progress, relaxed=self.law == "relaxed") as watch:
            start = None
            if guess is not None:
                reduction = reduce_to_contacts(problem)
                start = reduction.recover(reduction.guess(guess))
            loop = ProgramLoop(self, run, watch, partial(self._converted, primal_program, problem), start)
        attempt = loop.attempt(lambda direction: _reduced_certificate(reduce_to_contacts(problem), direction))
        return attempt, Answer(attempt.r, loop.answer.v, loop.answer.lam)

    def _converted(self, convert: Callable[[Any, int], ProgramConversion], problem: Any) -> ProgramConversion:
        try:
            return convert(problem, self.facets)
        except ProblemError as error:
            raise ProblemError(f"{self.name}: {error}") from None

    def _refuse(self, K: ProductSet) -> None:
        if self.linear and not self.facets and (K.group_size > 1).any():
            raise ProblemError(
                f"{self.name} takes linear rows only, not the cones of 3D friction; give facets of 3"
                " or more to use pyramids"
            )


def _reduced_certificate(
    reduction: Conversion[ContactProblem], direction: Array | None
) -> Certificate | None:
    """Return a certificate of a global problem, from one of its reduced problem."""
    reduced = None if direction is None else reduction.guess(direction)
    certificate = find_certificate(reduction.problem, reduced)
    return None if certificate is None else reduction.certificate(certificate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarabel(External):
    """Clarabel: interior point on the cone program, in a loop on the shift."""

    name, adapter = "clarabel", "conic.clarabel"


@dataclass(frozen=True, slots=True, kw_only=True)
class SCS(External):
    """SCS: operator splitting on the cone program, in a loop on the shift."""

    name, adapter, interior = "scs", "conic.scs", False
    max_iterations: int = iterations_option(100_000, "iterations on one program")


@dataclass(frozen=True, slots=True, kw_only=True)
class QOCO(External):
    """QOCO: interior point on the cone program, in a loop on the shift."""

    name, adapter = "qoco", "conic.qoco"


@dataclass(frozen=True, slots=True, kw_only=True)
class ECOS(External):
    """ECOS: interior point on the cone program with its objective as a cone, in a loop on the shift."""

    name, adapter = "ecos", "conic.ecos"


@dataclass(frozen=True, slots=True, kw_only=True)
class PIQP(External):
    """PIQP: proximal interior point on the pyramid, in a loop on the shift."""

    name, adapter, linear = "piqp", "conic.piqp", True
    facets: int = facets_option(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxQP(External):
    """ProxQP: proximal augmented Lagrangian on the pyramid, in a loop on the shift."""

    name, adapter, interior, linear = "proxqp", "conic.proxqp", False, True
    max_iterations: int = iterations_option(10_000, "iterations on one program")
    facets: int = facets_option(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ipopt(External):
    """Ipopt through CasADi: interior point on the program as a smooth problem, in a loop on the shift."""

    name, adapter = "ipopt", "ipopt_casadi.run"
    max_iterations: int = iterations_option(500, "iterations on one program")
    form: str = option("qcp", "cones as s_0² >= |s|², or as s_0 >= |s| smoothed", choices=("qcp", "nlp"))

    def _settings(self) -> dict[str, Any]:
        return {"form": self.form}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gurobi(External):
    """Gurobi: barrier method on the cone program, in a loop on the shift; needs a licence."""

    name, adapter = "gurobi", "gurobi.run"
    max_iterations: int = iterations_option(500, "iterations on one program")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mosek(External):
    """MOSEK: interior point on the cone program, in a loop on the shift; needs a licence."""

    name, adapter = "mosek", "mosek_task.run"
    max_iterations: int = iterations_option(500, "iterations on one program")


@dataclass(frozen=True, slots=True, kw_only=True)
class GAMS(External):
    """GAMS through gamspy: one of its solvers on the program, in a loop on the shift; needs a licence."""

    name, adapter = "gams", "gams_programs.run"
    max_iterations: int = iterations_option(10_000, "iterations on one program")
    formulation: str = option(
        "dual", "unknowns: impulses, velocities, or all of the equations of motion (for PATH, MILES, NLPEC)",
        choices=("dual", "primal", "motion"),
    )  # fmt: skip
    engine: str = option("CONOPT", "solver of GAMS: CONOPT, CPLEX, IPOPT, KNITRO, MINOS, PATH, ...")
    form: str = option("qcp", "cones as s_0² >= |s|², or as s_0 >= |s| smoothed", choices=("qcp", "nlp"))

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` as the other solvers do; formulation 'motion' is one complementarity problem."""
        if self.formulation != "motion":
            return External.solve(self, problem, guess=guess, progress=progress)
        needed(self.name)
        setting = 'formulation="motion"'
        return certified_globally(self.name, setting, self._motion, problem, guess, self.tolerance)

    def _motion(
        self, problem: GlobalProblem, guess: Array | None, tolerance: float
    ) -> tuple[Attempt, Answer]:
        from stickslip.solvers.adapters.gams_motion import run_motion

        start = time.perf_counter()
        result = run_motion(problem, FINER * tolerance, self.max_iterations, solver=self.engine, law=self.law)
        status = result.status
        if status.ok and self.law == "relaxed":
            status = Status.RELAXED
        reason = f"{self.engine} says: {result.message}"
        seconds = time.perf_counter() - start
        attempt = Attempt(result.r, status, result.iterations, seconds, 0.0, reason=reason)
        return attempt, Answer(result.r, result.v, result.lam)

    def _settings(self) -> dict[str, Any]:
        return {"solver": self.engine, "form": self.form}
