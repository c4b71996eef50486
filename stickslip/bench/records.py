"""Items of work and their records as data, and the limits of runs.

`Work` is the base class of the work of all campaigns: solves of problems (`Job`), and simulations of a sweep
(`stickslip.sweeps`). Executors, processes and journals use only the interfaces `Work` and `Record`.
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
"""Key of a run: hash of the problem, label of the contestant, source of the contestant, tolerance."""


class Outcome(Enum):
    """Outcome of a run. The value is the word shown in tables."""

    SOLVED = "solved"
    """The judge's residuals of the answer are within the tolerance."""
    MISSED = "missed"
    """The judge's residuals of the answer exceed the tolerance."""
    TIMEOUT = "timeout"
    """The time limit was reached."""
    MEMORY = "memory"
    """The memory limit was reached."""
    CRASHED = "crashed"
    """The process crashed."""
    RAISED = "raised"
    """The solver raised an exception, or its answer is invalid: wrong shape, NaN."""
    REFUSED = "refused"
    """The solver does not accept problems of this kind, which is neither success nor failure."""


class Record(Protocol):
    """Record of one item of work."""

    @property
    def key(self) -> Hashable:
        """The key of the work."""

    @property
    def outcome(self) -> Outcome:
        """Outcome of the work."""

    @property
    def environment(self) -> Environment | None:
        """Environment of the run; None for that of the campaign."""

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON data."""


class JobError(ValueError):
    """Work cannot be done as described, for example because a file has changed; not a failure of a solver."""


@dataclass(frozen=True)
class Work(Stored, ABC):
    """One item of work, as data for any process."""

    maker: ClassVar[str]
    """Class of the `Maker` that does the work, `module:Class`."""
    together: ClassVar[int] = 1
    """Largest number of items sent to a process in one message."""

    @classmethod
    def place(cls) -> str:
        """Place of the class, `module:Class`, for another process."""
        return f"{cls.__module__}:{cls.__qualname__}"

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """Key that identifies the item and its record."""

    @property
    @abstractmethod
    def group(self) -> Hashable:
        """Group of the item; items of a group are preferably done by one worker."""

    @property
    @abstractmethod
    def own(self) -> bool:
        """Whether it calls users' code, which may leave threads and processes behind."""

    @property
    @abstractmethod
    def files(self) -> Mapping[str, str]:
        """Paths of the files that it reads, by identifiers of their content."""

    def contents(self, path: str) -> dict[str, bytes]:
        """Contents that another machine needs in place of one of these files, by names in its folder."""
        return {Path(path).name: Path(path).read_bytes()}

    @abstractmethod
    def placed(self, files: Mapping[str, str]) -> Self:
        """Return the same work with these paths."""

    @abstractmethod
    def blank(self, outcome: Outcome, options: dict[str, Any] | None = None, **fields: Any) -> Any:
        """Make a record with an outcome; fields: `reason`, `seconds`, `compile_seconds`, `memory`."""

    @classmethod
    @abstractmethod
    def record(cls, data: Any, place: str = "JSON", fail: Fail = refuse) -> Any:
        """Make a record from JSON data; `fail` refuses invalid data."""


class Maker(Protocol):
    """Does work of one kind, in a process that lives longer than a run."""

    def read(self, job: Any) -> Any:
        """Read the files for `make`; raise a `JobError` if they do not agree with the work."""

    def make(self, job: Any, limits: "Limits", given: Any, tell: Callable[..., None]) -> Any:
        """Do the work and return the record; given: result of `read`."""

    def forget(self) -> None:
        """Discard data that were read, which failed users' code may have changed."""


FIGURES = ("natural", "natural_scaled", "error", "impulse", "velocity", "work")
"""Residuals of the judge that are fields of a record."""


@dataclass(frozen=True, eq=False)
class RunRecord(Stored):
    """Result of one solver on one problem at one tolerance."""

    problem: str
    """Fingerprint of the problem."""
    solver: str
    """Label of the contestant."""
    options: dict[str, Any]
    """All options of the solver, including defaults; options of a peer by its own names."""
    source: str
    """Version of the solver: `clarabel 0.11.1`, `siconos 4.4.0`, the hash of a user's own file; empty for our
    own."""
    tolerance: float
    """Tolerance of the campaign, for the judge's residuals [-]."""
    outcome: Outcome
    """Outcome of the run, decided by the judge."""
    status: str = ""
    """Status reported by the solver, a name of `Status` for solvers of stickslip."""
    reason: str = ""
    """Reason of the outcome, where needed."""
    natural: float = math.nan
    """Residual natural of the answer by the judge [-]; NaN without an answer."""
    natural_scaled: float = math.nan
    """Residual natural_scaled by the judge [-]."""
    error: float = math.nan
    """Largest of the judge's relative residuals, including equilibrium and joints [-]."""
    impulse: float = math.nan
    """Largest distance of r to K [N s]."""
    velocity: float = math.nan
    """Largest distance of u_hat to K* [m/s]."""
    work: float = math.nan
    """Largest |r·u_hat| [J]."""
    iterations: int = 0
    """Number of iterations, as counted by the solver."""
    seconds: float = math.nan
    """Shortest wall time of the whole call without compilation [s]; for a timeout the time at which it was
    stopped."""
    cpu_seconds: float = math.nan
    """Shortest processor time of the whole call without compilation [s]."""
    median_seconds: float = math.nan
    """Median wall time of the timed calls [s]; NaN if it was not stored."""
    longest_seconds: float = math.nan
    """Longest wall time of the timed calls [s]; NaN if it was not stored."""
    median_cpu_seconds: float = math.nan
    """Median processor time of the timed calls [s]; NaN if it was not stored."""
    longest_cpu_seconds: float = math.nan
    """Longest processor time of the timed calls [s]; NaN if it was not stored."""
    compile_seconds: float = 0.0
    """Time to compile kernels, or to load compiled ones, before the first timed call [s]."""
    repetitions: int = 0
    """Number of timed calls."""
    memory: float = math.nan
    """Largest memory of the process during the run, above that before the run [MiB]."""
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
    """Fields of a record from the wall and processor times of all timed calls [s]."""
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
    """One solve: a problem, a contestant, a tolerance."""

    maker = "stickslip.bench.running.attempt:Attempts"

    problem: str
    """Fingerprint of the problem, which is checked when the file is read."""
    path: str
    """File of the problem."""
    kind: str | None
    """Kind of the problem in an ambiguous text file, an argument of `read`."""
    contestant: Contestant
    source: str
    """Source of the contestant, see `RunRecord.source`."""
    tolerance: float
    """Tolerance of the judge's residuals [-]."""

    @property
    def key(self) -> Key:
        """Key that identifies the run and its record."""
        return self.problem, self.contestant.label, self.source, self.tolerance

    @property
    def group(self) -> Hashable:
        """File and fingerprint of the problem, which is then read once."""
        return self.path, self.problem

    @property
    def own(self) -> bool:
        """Whether the solver is a user's own solver."""
        return bool(self.contestant.place)

    @property
    def files(self) -> Mapping[str, str]:
        """File of the problem by fingerprint."""
        return {self.problem: self.path}

    def placed(self, files: Mapping[str, str]) -> Self:
        """Return the same job for another file."""
        return replace(self, path=files[self.problem])

    def blank(self, outcome: Outcome, options: dict[str, Any] | None = None, **fields: Any) -> RunRecord:
        """Make a record with an outcome; options are by default those of the contestant."""
        contestant = self.contestant
        return RunRecord(
            self.problem, contestant.label, dict(contestant.options) if options is None else options,
            self.source, self.tolerance, outcome, **fields,
        )  # fmt: skip

    @classmethod
    def record(cls, data: Any, place: str = "JSON", fail: Fail = refuse) -> RunRecord:
        """Make a record from JSON data."""
        return RunRecord.from_json(data, place, fail)


Told = Callable[[str, Any], None]
"""Called when an item of work begins on a worker: the name of the worker, and the work."""


class Executor(Protocol):
    """Does work in processes. A failing item gives a record and does not affect the campaign."""

    workers: int
    """Number of simultaneous items."""

    def run(self, jobs: Sequence[Any], limits: Limits, told: Told | None = None) -> Iterator[Any]:
        """Yield the records of all items as they end; closing the iterator ends all processes immediately."""
