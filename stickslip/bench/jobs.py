"""What is to be run, within which limits, and who runs it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from stickslip.bench.campaigns.contestants import Contestant
from stickslip.bench.json_data import Stored
from stickslip.bench.records import Key, RunRecord
from stickslip.options import Options, option


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Options):
    """What one run may take; the same for all runs of a campaign."""

    timeout: float = option(
        20.0, "time of one solve, compilation apart", unit="s", low=0.0, high=1e6, open_low=True
    )
    memory: float = option(4096.0, "memory that a process may take for a run", unit="MiB", low=64.0)
    best_of: int = option(3, "calls that are timed, the shortest counts", low=1)
    patience: float = option(
        2.0, "no further call is timed once all together took so long", unit="s", low=0.0
    )
    compile_timeout: float = option(
        600.0, "time of compilation in one run", unit="s", low=0.0, high=1e6, open_low=True
    )


@dataclass(frozen=True)
class Job(Stored):
    """One run to be made: a problem, a contestant, a tolerance."""

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


Told = Callable[[str, Job], None]
"""Called when a job begins on a worker: the name of the worker, and the job."""


class Executor(Protocol):
    """Runs jobs somewhere. Whatever a job does, it costs one record and never the campaign."""

    workers: int
    """Jobs that run side by side."""

    def run(self, jobs: Sequence[Job], limits: Limits, told: Told | None = None) -> Iterator[RunRecord]:
        """The record of every job, as they end; closing the iterator ends all processes at once."""
