"""Users' solvers in place of solvers of stickslip: in a single solve, and in every step of a run."""

import time
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from stickslip.bench.campaigns.contestants import Contestant, contestants, make, takes
from stickslip.bench.running.answers import Answer as GivenAnswer
from stickslip.bench.running.answers import NoAnswer, answer_of, sentence
from stickslip.problem.checks import Array
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.convert import Answer, reduce_to_contacts
from stickslip.problem.solution import AnyProblem, Solution, Status
from stickslip.solvers.certify import Attempt, certified_as_given
from stickslip.solvers.registry import Progress


class OwnSolverError(ValueError):
    """A user's solver cannot be used or has failed; the message names it and the reason."""


@dataclass(frozen=True, eq=False)
class OwnSolver:
    """A class with `solve(problem)` that returns impulses r or a `Solution`, certified like every solver.

    Each call uses a new object, so that solutions do not depend on earlier calls. The judge determines the
    status, not the class.
    """

    contestant: Contestant = field(repr=False)
    """Place of the class, its name and its options."""
    tolerance: float = 1e-8
    """Tolerance of the judge's residuals [-]; passed to the class if it accepts one."""

    @classmethod
    def of(cls, text: str, options: list[str] | None = None, tolerance: float | None = None) -> "OwnSolver":
        """Load the class at `file.py:Class` or `package.module:Class`, optionally preceded by `NAME=`.

        options: texts `name=value` for its `__init__`; they are checked immediately.
        """
        name, equals, place = text.partition("=")
        if not equals:
            name, place = text.rpartition(":")[2], text
        for option in options or []:
            if set(option) & set(",:"):
                raise OwnSolverError(
                    f"{name}: {option!r}: a value with a comma or a colon cannot be given here"
                )
        contestant = contestants(":".join([name, *(options or [])]), [f"{name}={place}"])[0]
        return cls(contestant) if tolerance is None else cls(contestant, tolerance)

    @property
    def label(self) -> str:
        """Name in reports and in files of runs, with the options that differ from the defaults."""
        return self.contestant.label

    def solve(
        self, problem: AnyProblem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem`; the class gets `guess` and `progress` if it accepts them."""
        how = {"progress": progress}

        def method(seen: AnyProblem, start: Array | None, tolerance: float) -> tuple[Attempt, Answer]:
            begun = time.perf_counter()
            answer = self._called(seen, how | {"guess": start})
            seconds = time.perf_counter() - begun
            status = Status.STALLED if answer.status != Status.SOLVED.name else Status.SOLVED
            reason = answer.reason or "the judge does not accept it"
            attempt = Attempt(
                answer.r, status, answer.iterations, seconds, 0.0, history=answer.history, reason=reason
            )
            if answer.v is None and isinstance(seen, GlobalProblem):
                return attempt, reduce_to_contacts(seen).recover(answer.r)
            return attempt, Answer(answer.r, answer.v, answer.lam)

        return certified_as_given(self.label, method, problem, guess, self.tolerance)

    def _called(self, problem: AnyProblem, how: dict[str, Any]) -> GivenAnswer:
        """Call the class and convert its answer; its exceptions become an `OwnSolverError`."""
        name = self.contestant.name
        try:
            solver = make(self.contestant, self.tolerance)
            options = {key: one for key, one in how.items() if one is not None and takes(solver.solve, key)}
            answer = answer_of(solver.solve(problem, **options))
        except NotImplementedError as error:
            refusal = str(error) or type(problem).__name__
            raise OwnSolverError(f"{name} does not take this problem: {refusal}") from error
        except NoAnswer as error:
            raise OwnSolverError(f"{name}: {error}") from error
        except (Exception, SystemExit) as error:  # a user's class may do anything
            raise OwnSolverError(f"{name} failed with {sentence(error)}") from error
        if answer.r.size != problem.size:
            raise OwnSolverError(f"{name} gave an r of shape {answer.r.shape}; expected ({problem.size},)")
        return answer
