"""The verb of solvers: a method on contact or box problems becomes one on any problem, before the judge."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from stickslip.options import Options, iterations_option, tolerance_option
from stickslip.problem.checks import Array
from stickslip.problem.solution import Problem, Solution
from stickslip.solvers.certify import Attempt, Form, as_box, as_contacts, certified
from stickslip.solvers.registry import Progress
from stickslip.solvers.watch import Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactSolver(Options):
    """Base of solvers that see contact problems: others come to them through their contact form."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(1_000)

    name: ClassVar[str]
    """Name in the registry."""
    form_of: ClassVar[Form] = staticmethod(as_contacts)
    """What the method sees of a problem."""
    patience: ClassVar[int] = 0
    """Iterations without halving the error before the method counts as stalled; 0 for any."""
    relaxed: ClassVar[bool] = False
    """Whether it solves the convex relaxation."""

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none); any problem, through the form that the method sees."""
        method = partial(self.attempt, progress=progress)
        return certified(self.name, method, problem, guess, self.tolerance, form=type(self).form_of)

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
    """Base of solvers that see box problems: contact and global ones come to them without friction."""

    form_of: ClassVar[Form] = staticmethod(as_box)
