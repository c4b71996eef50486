"""Runs on Dask: a cluster of this machine, or a scheduler elsewhere."""

from collections.abc import Iterator, Sequence

from stickslip.bench.jobs import Job, Limits, Told
from stickslip.bench.records import RunRecord


class Dask:
    """Runs jobs on the workers of Dask, one at a time on each."""

    def __init__(self, address: str | None, workers: int = 1):
        """`address`: of a scheduler that runs; None for a cluster of this machine with so many workers."""
        self.address, self.workers = address, workers

    def run(self, jobs: Sequence[Job], limits: Limits, told: Told | None = None) -> Iterator[RunRecord]:
        """The record of every job, as they end."""
        raise NotImplementedError
