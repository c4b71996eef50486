"""The verb of solvers: a method on contact or box problems becomes one on any problem, before the judge."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from stickslip.options import Options, iterations_option, option, tolerance_option
from stickslip.problem.box import BoxProblem
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Conversion, contacts_to_box, pyramid_lcp, reduce_to_contacts
from stickslip.problem.convert.complementarity import program_to_box
from stickslip.problem.program import ConeProgram
from stickslip.problem.program_solution import judged_solution
from stickslip.problem.solution import Problem, Solution, Status
from stickslip.solvers.certify import Attempt, as_contacts, certified, refuse_unknown_blocks
from stickslip.solvers.registry import Progress
from stickslip.solvers.watch import Watch


def facets_option(default: int = 0, without: str = "0 keeps the cone") -> Any:
    """The sides of pyramids, of solvers that can put them in the place of cones."""
    doc = f"sides of the pyramid in place of each cone, 3 or more, even or odd; {without}"
    return option(default, doc, low=0)


def check_pyramid(options: Any) -> None:
    """Refuse a pyramid of one or two sides."""
    if 0 < options.facets < 3:
        raise ValueError(f"{type(options).__name__}: facets must be 0, or 3 or more, got {options.facets}")


def as_box(name: str, problem: Problem, facets: int = 0) -> Conversion[Any] | None:
    """Any problem without friction between bounds; with `facets` those with friction, on pyramids."""
    if isinstance(problem, BoxProblem):
        return None
    if facets and problem.K.group_size.size:
        return _as_pyramids(name, problem, facets)
    refuse_unknown_blocks(name, problem, "; or facets=4, which replaces each cone by a pyramid")
    if isinstance(problem, ContactProblem):
        return contacts_to_box(problem)
    reduced = reduce_to_contacts(problem)
    refuse_unknown_blocks(name, reduced.problem)
    box = contacts_to_box(reduced.problem)
    return Conversion(
        box.problem, reduced.recover, reduced.guess,
        lambda claim: None if claim.bases else reduced.certificate(claim),
    )  # fmt: skip


def _as_pyramids(name: str, problem: ContactProblem | GlobalProblem, facets: int) -> Conversion[BoxProblem]:
    """Contacts as the linear complementarity problem of pyramids of so many sides."""
    try:
        if isinstance(problem, ContactProblem):
            return pyramid_lcp(problem, facets)
        reduced = reduce_to_contacts(problem)
        box = pyramid_lcp(reduced.problem, facets)
    except ProblemError as error:
        raise ProblemError(f"{name}: {error}") from None

    def certificate(claim: Certificate) -> Certificate | None:
        found = None if claim.bases else box.certificate(claim)
        return None if found is None else reduced.certificate(found)

    return Conversion(
        box.problem, lambda z: reduced.recover(box.recover(z).r), lambda r: box.guess(reduced.guess(r)),
        certificate,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactSolver(Options):
    """Base of solvers that see contact problems: others come to them through their contact form."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(1_000)

    name: ClassVar[str]
    """Name in the registry."""
    patience: ClassVar[int] = 0
    """Iterations without halving the error before the method counts as stalled; 0 for any."""
    relaxed: ClassVar[bool] = False
    """Whether it solves the convex relaxation."""

    @property
    def other_law(self) -> bool:
        """Whether its answers are those of another law, so that runs by it are relaxed."""
        return self.relaxed

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none); any problem, through the form that the method sees."""
        method = partial(self.attempt, progress=progress)
        return certified(self.name, method, problem, guess, self.tolerance, form=as_contacts)

    def attempt(
        self, problem: Any, guess: Array | None, tolerance: float, progress: Progress | None = None
    ) -> Attempt:
        """What the method finds on a problem in its form, not yet certified."""
        limit, patience = self.max_iterations, self.patience
        with Watch(problem, tolerance, limit, progress, patience, relaxed=self.relaxed) as watch:
            self.iterate(problem, guess, watch)
        return watch.attempt()

    def iterate(self, problem: Any, guess: Array | None, watch: Watch) -> None:
        """The iteration on a problem in its form, from `guess` if there is one, while the watch goes on."""
        raise NotImplementedError(f"{type(self).__name__} defines neither iterate nor attempt")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxSolver(ContactSolver):
    """Base of solvers that see box problems: others come to them without friction, or with it on pyramids.

    With `facets` a contact problem is the LCP of Stewart & Trinkle (1996) and of Anitescu & Potra (1997), as
    `pyramid_lcp` has it. In a plane that is Coulomb's law; elsewhere answers are APPROXIMATE unless the exact
    law takes them.
    """

    facets: int = facets_option(0, "0 takes no friction")

    def __post_init__(self) -> None:
        super(BoxSolver, self).__post_init__()
        check_pyramid(self)

    @property
    def other_law(self) -> bool:
        """Whether pyramids are asked for."""
        return self.facets > 0

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none) through its form between bounds.

        The optimum of a ConeProgram with linear rows is that of its optimality conditions.
        """
        if isinstance(problem, ConeProgram):
            return self._program(problem, progress)
        method = partial(self._on_pyramids, problem, progress)
        form = partial(as_box, facets=self.facets)
        return certified(self.name, method, problem, guess, self.tolerance, form=form)

    def _program(self, program: ConeProgram, progress: Progress | None) -> Any:
        """The optimum of a program, judged: a `ProgramSolution`."""
        if program.second_order.size:
            raise ProblemError(f"{self.name} takes programs with linear rows, not {program!r}")
        found = self.solve(program_to_box(program), progress=progress)
        n, message = program.size, found.reason or found.status.value
        return judged_solution(
            program, found.r[:n], found.r[n:], found.status, solver=self.name, tolerance=self.tolerance,
            iterations=found.iterations, seconds=found.seconds, message=message,
        )  # fmt: skip

    def _on_pyramids(
        self, given: Problem, progress: Progress | None, box: Any, guess: Array | None, tolerance: float
    ) -> Attempt:
        """What the method finds; where it is an answer of pyramids, in the place of cones, it says so."""
        found = self.attempt(box, guess, tolerance, progress)
        if not found.status.ok or isinstance(given, BoxProblem) or not (given.K.group_size > 1).any():
            return found
        error = found.history[-1, 1:].max() if len(found.history) else tolerance
        reason = f"pyramids of {self.facets} facets: their law is solved to {error:.0e}, Coulomb's is not"
        return found._replace(status=Status.APPROXIMATE, reason=reason)
