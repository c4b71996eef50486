"""From a contestant to the solver that takes part in one run."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from stickslip.bench.campaigns.contestants import Contestant, make
from stickslip.bench.campaigns.own import takes
from stickslip.solvers.registry import Progress


@dataclass(frozen=True)
class Entrant:
    """A solver made for one run."""

    solver: Any
    """With a verb `solve(problem)`."""
    options: dict[str, Any]
    """All its options that can be seen, defaults too."""
    tells: bool
    """Whether `solve` takes `progress`."""

    def solve(self, problem: Any, progress: Progress | None = None) -> Any:
        """What it finds; `progress` goes to those who take it."""
        if progress is None or not self.tells:
            return self.solver.solve(problem)
        return self.solver.solve(problem, progress=progress)


def entrant(contestant: Contestant, tolerance: float) -> Entrant:
    """The solver of a contestant with its options, and with the tolerance where it takes one."""
    solver = make(contestant, tolerance)
    return Entrant(solver, _options(solver, dict(contestant.options)), takes(solver.solve, "progress"))


def _options(solver: Any, given: dict[str, Any]) -> dict[str, Any]:
    """All fields of a dataclass, otherwise what was given; values that no file can hold as text."""
    seen = given
    if is_dataclass(solver) and not isinstance(solver, type):
        seen = {spec.name: getattr(solver, spec.name) for spec in fields(solver) if spec.init}
    return {
        name: value if isinstance(value, bool | int | float | str) else str(value)[:200]
        for name, value in sorted(seen.items())
    }
