"""The verb of solvers: a method on contact or box problems becomes one on any problem, before the judge."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from numpy.typing import ArrayLike

from stickslip.options import Options, tolerance_option
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.problem.solution import Problem, Solution
from stickslip.solvers.certify import Attempt, certified, certified_box
from stickslip.solvers.registry import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactSolver(Options):
    """Base of solvers that see contact problems: others come to them through their contact form."""

    tolerance: float = tolerance_option()

    name: ClassVar[str]
    """Name in the registry."""

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none); any problem, through its contact form."""
        return certified(self.name, partial(self.attempt, progress=progress), problem, guess, self.tolerance)

    @abstractmethod
    def attempt(
        self, problem: ContactProblem, guess: Array | None, tolerance: float, progress: Progress | None = None
    ) -> Attempt:
        """What the method finds on a contact problem, not yet certified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxSolver(Options):
    """Base of solvers that see box problems: contact and global ones come to them without friction."""

    tolerance: float = tolerance_option()

    name: ClassVar[str]
    """Name in the registry."""

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem`, which has no friction, from `guess` where the method takes one (zero if none)."""
        method = partial(self.attempt, progress=progress)
        return certified_box(self.name, method, problem, guess, self.tolerance)

    @abstractmethod
    def attempt(
        self, problem: BoxProblem, guess: Array | None, tolerance: float, progress: Progress | None = None
    ) -> Attempt:
        """What the method finds on a box problem, not yet certified."""
