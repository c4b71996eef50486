"""Base classes of solvers: they turn a method for contact or box problems into a solver for any problem."""

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
    """Return the option `facets` of solvers that can replace cones by pyramids."""
    doc = f"sides of the pyramid in place of each cone, 3 or more, even or odd; {without}"
    return option(default, doc, low=0)


def check_pyramid(options: Any) -> None:
    """Raise a ValueError for a pyramid of one or two sides."""
    if 0 < options.facets < 3:
        raise ValueError(f"{type(options).__name__}: facets must be 0, or 3 or more, got {options.facets}")


def as_box(name: str, problem: Problem, facets: int = 0) -> Conversion[Any] | None:
    """Convert a problem without friction to a box problem; with `facets`, friction cones become pyramids."""
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
    """Convert contacts to the linear complementarity problem of pyramids with this number of sides."""
    try:
        if isinstance(problem, ContactProblem):
            return pyramid_lcp(problem, facets)
        reduced = reduce_to_contacts(problem)
        box = pyramid_lcp(reduced.problem, facets)
    except ProblemError as error:
        raise ProblemError(f"{name}: {error}") from None

    def certificate(claim: Certificate) -> Certificate | None:
        of_contacts = None if claim.bases else box.certificate(claim)
        return None if of_contacts is None else reduced.certificate(of_contacts)

    return Conversion(
        box.problem, lambda z: reduced.recover(box.recover(z).r), lambda r: box.guess(reduced.guess(r)),
        certificate,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactSolver(Options):
    """Base of solvers for contact problems; other problems are converted to their contact form."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(1_000)

    name: ClassVar[str]
    """Name in the registry."""
    patience: ClassVar[int] = 0
    """Iterations without halving the error after which the method counts as stalled; 0 for no limit."""
    relaxed: ClassVar[bool] = False
    """Whether it solves the convex relaxation."""

    @property
    def other_law(self) -> bool:
        """Whether it solves another law than the exact one, so that runs with it are relaxed."""
        return self.relaxed

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if None); any problem, converted to the form of the method."""
        method = partial(self.attempt, progress=progress)
        return certified(self.name, method, problem, guess, self.tolerance, form=as_contacts)

    def attempt(
        self, problem: Any, guess: Array | None, tolerance: float, progress: Progress | None = None
    ) -> Attempt:
        """Run the method on a problem in its form; the result is not yet certified."""
        limit, patience = self.max_iterations, self.patience
        with Watch(problem, tolerance, limit, progress, patience, relaxed=self.relaxed) as watch:
            self.iterate(problem, guess, watch)
        return watch.attempt()

    def iterate(self, problem: Any, guess: Array | None, watch: Watch) -> None:
        """Iterate on a problem in the method's form, from `guess` if not None, until the watch stops."""
        raise NotImplementedError(f"{type(self).__name__} defines neither iterate nor attempt")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxSolver(ContactSolver):
    """Base of solvers for box problems; others are converted: without friction, or with friction on pyramids.

    With `facets` a contact problem is the LCP of Stewart & Trinkle (1996) and of Anitescu & Potra (1997), as
    built by `pyramid_lcp`. In 2D that is Coulomb's law; in 3D solutions are APPROXIMATE unless they satisfy
    the exact law.
    """

    facets: int = facets_option(0, "0 takes no friction")

    def __post_init__(self) -> None:
        super(BoxSolver, self).__post_init__()
        check_pyramid(self)

    @property
    def other_law(self) -> bool:
        """Whether pyramids are requested."""
        return self.facets > 0

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if None) through its form as a box problem.

        A ConeProgram with linear rows is solved by its optimality conditions.
        """
        if isinstance(problem, ConeProgram):
            return self._program(problem, progress)
        method = partial(self._on_pyramids, problem, progress)
        form = partial(as_box, facets=self.facets)
        return certified(self.name, method, problem, guess, self.tolerance, form=form)

    def _program(self, program: ConeProgram, progress: Progress | None) -> Any:
        """Return the optimum of a program, examined by the judge, as a `ProgramSolution`."""
        if program.second_order.size:
            raise ProblemError(f"{self.name} takes programs with linear rows, not {program!r}")
        solution = self.solve(program_to_box(program), progress=progress)
        n, message = program.size, solution.reason or solution.status.value
        return judged_solution(
            program, solution.r[:n], solution.r[n:], solution.status, solver=self.name,
            tolerance=self.tolerance, iterations=solution.iterations, seconds=solution.seconds,
            message=message,
        )  # fmt: skip

    def _on_pyramids(
        self, original: Problem, progress: Progress | None, box: Any, guess: Array | None, tolerance: float
    ) -> Attempt:
        """Run the method on a box problem; a solution for pyramids in 3D gets the status APPROXIMATE."""
        attempt = self.attempt(box, guess, tolerance, progress)
        if not attempt.status.ok or isinstance(original, BoxProblem) or not (original.K.group_size > 1).any():
            return attempt
        error = attempt.history[-1, 1:].max() if len(attempt.history) else tolerance
        reason = f"pyramids of {self.facets} facets: their law is solved to {error:.0e}, Coulomb's is not"
        return attempt._replace(status=Status.APPROXIMATE, reason=reason)
