"""Runs as data: one to be made, its limits and who makes it; and one made, which describes itself.

`Work` is what campaigns of every kind run: solves of problems (`Job`), simulations of a sweep
(`stickslip.sweeps`). Executors, processes and journals know work and its records by these two classes alone.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from stickslip.bench.campaigns.contestants import Contestant
from stickslip.bench.environment import Environment
from stickslip.bench.json_data import Fail, Stored, refuse
from stickslip.options import Options, option
from stickslip.problem.checks import Array

Key = tuple[str, str, str, float]
"""What makes two runs the same one: problem hash, label of the contestant, hash of its source, tolerance."""


class Outcome(Enum):
    """Outcome of a run. The value is the word shown in tables."""

    SOLVED = "solved"
    """The judge finds the answer within the tolerance."""
    MISSED = "missed"
    """There is an answer, and the judge does not."""
    TIMEOUT = "timeout"
    """The time limit was reached first."""
    MEMORY = "memory"
    """The memory limit was reached first."""
    CRASHED = "crashed"
    """The process ended under it."""
    RAISED = "raised"
    """It ended with an exception, or its answer is no answer: a wrong shape, NaN."""
    REFUSED = "refused"
    """It does not take problems of this kind; no failure of the method, and no success either."""


class Record(Protocol):
    """What became of one item of work."""

    @property
    def key(self) -> Hashable:
        """The key of the work."""

    @property
    def outcome(self) -> Outcome:
        """What became of it."""

    @property
    def environment(self) -> Environment | None:
        """Where it ran; of the campaign's own where None."""

    def as_json(self) -> dict[str, Any]:
        """As JSON holds it."""


class JobError(ValueError):
    """Work that cannot be done as it is described, such as a file that has changed: nobody has failed."""


@dataclass(frozen=True)
class Work(Stored, ABC):
    """One item of work, as data that goes to any process."""

    maker: ClassVar[str]
    """What does it, `module:Class` of a `Maker`."""
    together: ClassVar[int] = 1
    """How many go to a process in one message, at most."""

    @classmethod
    def place(cls) -> str:
        """Where the class is, `module:Class`, for another process."""
        return f"{cls.__module__}:{cls.__qualname__}"

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What makes two items the same one: that of the record."""

    @property
    @abstractmethod
    def group(self) -> Hashable:
        """Items of one group are best done by one worker, one after the other."""

    @property
    @abstractmethod
    def own(self) -> bool:
        """Whether it calls code of the user, which may leave threads and processes behind."""

    @property
    @abstractmethod
    def files(self) -> Mapping[str, str]:
        """Paths of the files that it reads, by what identifies their content."""

    def contents(self, path: str) -> dict[str, bytes]:
        """What another machine needs in the place of one of these files: contents by their names in its
        folder."""
        return {Path(path).name: Path(path).read_bytes()}

    @abstractmethod
    def placed(self, files: Mapping[str, str]) -> Self:
        """The same work with these paths."""

    @abstractmethod
    def blank(self, outcome: Outcome, options: dict[str, Any] | None = None, **fields: Any) -> Any:
        """A record of it with that outcome. fields: `reason`, `seconds`, `compile_seconds`, `memory`."""

    @classmethod
    @abstractmethod
    def record(cls, data: Any, place: str = "JSON", fail: Fail = refuse) -> Any:
        """The record that JSON holds; `fail` refuses what is not one."""


class Maker(Protocol):
    """Does work of one kind, in a process that lives longer than a run."""

    def read(self, job: Any) -> Any:
        """What `make` needs of files; `JobError` where they are not what the work says."""

    def make(self, job: Any, limits: "Limits", given: Any, tell: Callable[..., None]) -> Any:
        """The record; `given` is what `read` gave."""

    def forget(self) -> None:
        """Keep nothing of what was read: code of the user has failed and may have changed it."""


FIGURES = ("natural", "natural_scaled", "error", "impulse", "velocity", "work")
"""What a record takes over from the judge's residuals."""


@dataclass(frozen=True, eq=False)
class RunRecord(Stored):
    """Result of one solver on one problem at one tolerance."""

    problem: str
    """Fingerprint of the problem."""
    solver: str
    """Label of the contestant."""
    options: dict[str, Any]
    """All its options, defaults too; a peer's as it calls them."""
    source: str
    """Version of the solver: `clarabel 0.11.1`, `siconos 4.4.0`, the hash of a user's own file; empty for our
    own."""
    tolerance: float
    """Tolerance of the campaign, on the judge's measures [-]."""
    outcome: Outcome
    """Outcome of the run, decided by the judge."""
    status: str = ""
    """Status reported by the solver, a name of `Status` for solvers of stickslip."""
    reason: str = ""
    """Reason of the outcome, where needed."""
    natural: float = math.nan
    """The judge's natural of the answer [-]; NaN where there is none."""
    natural_scaled: float = math.nan
    """The judge's natural_scaled [-]."""
    error: float = math.nan
    """The largest of the judge's relative measures, equilibrium and joints too [-]."""
    impulse: float = math.nan
    """Largest distance of r to K [N s]."""
    velocity: float = math.nan
    """Largest distance of u_hat to K* [m/s]."""
    work: float = math.nan
    """Largest |r·u_hat| [J]."""
    iterations: int = 0
    """Counted the solver's own way."""
    seconds: float = math.nan
    """Shortest wall time of the whole call, compilation apart [s]; at a timeout the time after which it was
    stopped."""
    cpu_seconds: float = math.nan
    """Shortest processor time of the whole call, compilation apart [s]."""
    median_seconds: float = math.nan
    """Median wall time of the calls that were timed [s]; NaN where that was not kept."""
    longest_seconds: float = math.nan
    """Longest wall time of them [s]; NaN where that was not kept."""
    median_cpu_seconds: float = math.nan
    """Median processor time of them [s]; NaN where that was not kept."""
    longest_cpu_seconds: float = math.nan
    """Longest processor time of them [s]; NaN where that was not kept."""
    compile_seconds: float = 0.0
    """Compiling, or loading what was compiled, before the first of the calls [s]."""
    repetitions: int = 0
    """Calls that were timed."""
    memory: float = math.nan
    """Most memory of the process during the run above what it had before [MiB]."""
    history: Array = field(default_factory=lambda: np.zeros((0, 3)))
    """Iteration, natural, natural_scaled at each check [-], shape (checks, 3)."""
    environment: Environment | None = None
    """Environment of the run; that of the campaign if None."""

    @property
    def key(self) -> Key:
        """Return the key that identifies a run."""
        return self.problem, self.solver, self.source, self.tolerance

    @property
    def solved(self) -> bool:
        """Whether the judge accepts the answer."""
        return self.outcome is Outcome.SOLVED


def timings(wall: Sequence[float], cpu: Sequence[float]) -> dict[str, Any]:
    """Fields of a record from the wall and processor times of all calls that were timed [s]."""
    return {
        "seconds": min(wall), "median_seconds": median(wall), "longest_seconds": max(wall),
        "cpu_seconds": min(cpu), "median_cpu_seconds": median(cpu), "longest_cpu_seconds": max(cpu),
        "repetitions": len(wall),
    }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Options):
    """Limits of one run, the same for all runs of a campaign."""

    timeout: float = option(
        20.0, "time of one solve, without compilation", unit="s", low=0.0, high=1e6, open_low=True
    )
    memory: float = option(4096.0, "memory limit of a process for a run", unit="MiB", low=64.0)
    best_of: int = option(3, "number of timed calls; the shortest counts", low=1)
    patience: float = option(2.0, "total time after which no further call is timed", unit="s", low=0.0)
    compile_timeout: float = option(
        600.0, "time of compilation in one run", unit="s", low=0.0, high=1e6, open_low=True
    )


@dataclass(frozen=True)
class Job(Work):
    """One solve to be made: a problem, a contestant, a tolerance."""

    maker = "stickslip.bench.running.attempt:Attempts"

    problem: str
    """Fingerprint that the problem must have when it is read."""
    path: str
    """The file."""
    kind: str | None
    """What a text file holds where its name leaves it open, as `read` takes it."""
    contestant: Contestant
    source: str
    """What exactly is to run beside stickslip, as `RunRecord.source` says it."""
    tolerance: float
    """On the judge's measures [-]."""

    @property
    def key(self) -> Key:
        """What makes two runs the same one: that of the record."""
        return self.problem, self.contestant.label, self.source, self.tolerance

    @property
    def group(self) -> Hashable:
        """The problem, which is then read once."""
        return self.path, self.problem

    @property
    def own(self) -> bool:
        """Whether the solver is the user's own."""
        return bool(self.contestant.place)

    @property
    def files(self) -> Mapping[str, str]:
        """The file of the problem."""
        return {self.problem: self.path}

    def placed(self, files: Mapping[str, str]) -> Self:
        """The same job on another file."""
        return replace(self, path=files[self.problem])

    def blank(self, outcome: Outcome, options: dict[str, Any] | None = None, **fields: Any) -> RunRecord:
        """A record of that outcome; options that are not given are those that the job names."""
        contestant = self.contestant
        return RunRecord(
            self.problem, contestant.label, dict(contestant.options) if options is None else options,
            self.source, self.tolerance, outcome, **fields,
        )  # fmt: skip

    @classmethod
    def record(cls, data: Any, place: str = "JSON", fail: Fail = refuse) -> RunRecord:
        """The record that JSON holds."""
        return RunRecord.from_json(data, place, fail)


Told = Callable[[str, Any], None]
"""Called when an item of work begins on a worker: the name of the worker, and the work."""


class Executor(Protocol):
    """Does work somewhere. Whatever an item does, it costs one record and never the campaign."""

    workers: int
    """Items that are done side by side."""

    def run(self, jobs: Sequence[Any], limits: Limits, told: Told | None = None) -> Iterator[Any]:
        """The record of every item, as they end; closing the iterator ends all processes at once."""
