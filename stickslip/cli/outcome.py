"""What became of one file that was to be solved."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stickslip.cli.errors import ExitCode, complain

if TYPE_CHECKING:
    from stickslip.files import ProblemRecord
    from stickslip.problem.solution import Solution


@dataclass(frozen=True)
class Outcome:
    """A solution, or the sentence why there is none."""

    path: Path
    """The file."""
    data: dict[str, Any] | None = None
    """The answer as JSON holds it, without arrays."""
    solution: Solution | None = None
    """The answer itself, while it is needed."""
    record: ProblemRecord | None = None
    """The content of the file, while it is needed."""
    place: Path | None = None
    """Where the answer was written."""
    error: str = ""
    """Why the file could not be used, or the answer not written."""

    @property
    def code(self) -> ExitCode:
        """The exit code this file alone gives."""
        if self.error:
            return ExitCode.BAD_INPUT
        return ExitCode.FINE if self.data and self.data["ok"] else ExitCode.MISSED

    @property
    def report(self) -> dict[str, Any]:
        """The object of this file in the JSON output."""
        report: dict[str, Any] = {"file": str(self.path)}
        if self.data is not None:
            report |= self.data | {"out": None if self.place is None else str(self.place)}
        return report | ({"error": self.error} if self.error else {})

    def complain(self) -> None:
        """Say on stderr what went wrong, if anything did."""
        if self.solution is not None and not self.solution.ok:
            from stickslip.problem.solution import SolverFailure

            where = f"; the best iterate is in {self.place}" if self.place else ""
            complain(f"{self.path}: {SolverFailure(self.solution)}{where}")
        if self.error:
            complain(self.error)

    def without_arrays(self) -> Outcome:
        """The same with only what is printed at the end."""
        return replace(self, solution=None, record=None)


def answer_data(solution: Solution, solver: Any) -> dict[str, Any]:
    """A solution and the options that led to it, as JSON holds them."""
    from stickslip.problem.box import BoxProblem
    from stickslip.problem.fingerprint import fingerprint
    from stickslip.problem.nonlinear import NonlinearProblem

    problem = solution.problem
    assert not isinstance(problem, NonlinearProblem)  # no file holds one
    return {
        "fingerprint": fingerprint(problem),
        "contacts": problem.size if isinstance(problem, BoxProblem) else problem.contacts,
        "solver": solution.solver,
        "options": {spec.name: getattr(solver, spec.name) for spec in fields(solver)},
        "status": solution.status.name,
        "ok": solution.ok,
        "reason": solution.reason or solution.status.value,
        "residuals": asdict(solution.residuals),
        "tolerance": solution.tolerance,
        "iterations": int(solution.iterations),
        "tried": [stage._asdict() for stage in solution.tried],
        "operations": float(solution.operations),
        "seconds": float(solution.seconds),
        "compile_seconds": float(solution.compile_seconds),
        "states": solution.states.count(),
        "selection": solution.selection,
        "unique": int(solution.unique.sum()) if solution.selection == "least" else None,
    }
