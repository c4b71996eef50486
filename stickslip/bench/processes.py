"""The executor of processes on this machine."""

from collections.abc import Iterator, Sequence

from stickslip.bench.jobs import Job, Limits, Told
from stickslip.bench.records import RunRecord


class Processes:
    """Runs jobs in warm processes on this machine."""

    def __init__(self, workers: int = 1):
        """`workers`: processes that run side by side."""
        self.workers = workers

    def run(self, jobs: Sequence[Job], limits: Limits, told: Told | None = None) -> Iterator[RunRecord]:
        """The record of every job, as they end; closing the iterator ends all processes at once."""
        raise NotImplementedError
