"""A campaign: every problem to every contestant at every tolerance, once, whatever interrupts it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from stickslip.bench.contestants import Contestant
from stickslip.bench.jobs import Executor, Job, Limits
from stickslip.bench.records import RunRecord
from stickslip.bench.results import Entry, Results


class Problems(Protocol):
    """What a campaign needs to know of a collection."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The problems, in their order."""

    def path(self, entry: Entry) -> Path:
        """The file of a problem."""

    def kind(self, entry: Entry) -> str | None:
        """What a text file holds where its name leaves it open, as `read` takes it."""


class Progress(Protocol):
    """Who wants to know how a campaign goes on."""

    def planned(self, jobs: Sequence[Job], results: Results) -> None:
        """Called once: what is to be done, and what was found done."""

    def started(self, worker: str, job: Job) -> None:
        """Called when a job begins on a worker."""

    def ended(self, record: RunRecord) -> None:
        """Called when the record of a job is safe."""


def run_campaign(
    collection: Problems,
    contestants: Sequence[Contestant],
    tolerances: Sequence[float],
    limits: Limits,
    executor: Executor,
    out: Path,
    progress: Progress | None = None,
    command: str = "",
) -> Results:
    """Run what `out` does not hold yet, and write it there."""
    raise NotImplementedError
