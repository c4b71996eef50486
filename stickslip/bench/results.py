"""The table of a campaign: conditions, problems and runs, and what may stand in one table."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from stickslip.bench.environment import Environment
from stickslip.bench.features import Features
from stickslip.bench.records import Key, RunRecord

MEASURE = "natural and natural_scaled"
"""What the judge's success rests on; `stickslip.problem.residuals` says how they are computed."""


class Mixed(ValueError):  # noqa: N818 (it says what is)
    """Records that may not stand in one table; the message names the difference."""


@dataclass(frozen=True)
class Conditions:
    """What all runs of a table have in common."""

    tolerances: tuple[float, ...]
    """Tolerances of the campaign, descending [-]."""
    timeout: float
    """Time limit of a solve [s]."""
    memory: float
    """Memory limit of a run [MiB]."""
    best_of: int
    """Calls that are timed."""
    workers: int
    """Jobs that run side by side."""
    environment: Environment
    measure: str = MEASURE

    def as_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self) | {
            "tolerances": list(self.tolerances), "environment": self.environment.as_json(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Conditions":
        """The inverse of `as_json`."""
        environment = Environment.from_json(data["environment"])
        return cls(**data | {"tolerances": tuple(data["tolerances"]), "environment": environment})


@dataclass(frozen=True)
class Entry:
    """One problem of a collection."""

    name: str
    """As people know it, unique in a collection: `stack/boxes-20-t0.31`."""
    family: str
    """Problems that belong together, such as those of one scene."""
    hash: str
    """Fingerprint of its numbers."""
    features: Features
    recipe: str = ""
    """The command that makes it anew, where there is one."""
    title: str = ""
    """What the file says that it is."""

    def as_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Entry":
        """The inverse of `as_json`."""
        return cls(**data | {"features": Features(**data["features"])})


@dataclass(frozen=True, eq=False)
class Results:
    """All that one campaign has found so far. A run that is not here was not made: it has not failed."""

    conditions: Conditions
    problems: tuple[Entry, ...]
    """In the order of the collection."""
    runs: tuple[RunRecord, ...] = ()
    """In the order of problems, then solvers, then tolerances, whatever the order they were made in."""
    command: str = ""
    """The command that made it."""

    @property
    def done(self) -> dict[Key, RunRecord]:
        """The runs by what makes them the same one."""
        return {run.key: run for run in self.runs}

    @property
    def solvers(self) -> tuple[str, ...]:
        """Labels of all contestants that have runs, in the order of their first run."""
        return tuple(dict.fromkeys(run.solver for run in self.runs))

    @property
    def families(self) -> tuple[str, ...]:
        """Families of the problems, in their order."""
        return tuple(dict.fromkeys(entry.family for entry in self.problems))

    def with_runs(self, runs: tuple[RunRecord, ...]) -> "Results":
        """The same table with these runs."""
        return replace(self, runs=runs)
