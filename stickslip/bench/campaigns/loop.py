"""The loop of all campaigns: each item of work is done once, and its record is written immediately."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from stickslip.bench.campaigns.journal import Journal
from stickslip.bench.json_data import written
from stickslip.bench.records import Executor, Limits, Record, Told, Work


class Progress(Protocol):
    """Receiver of the progress of a campaign."""

    def planned(self, jobs: Sequence[Any], done: Any) -> None:
        """Called once with the planned work and the existing results."""

    def started(self, worker: str, job: Any) -> None:
        """Called when an item of work begins on a worker."""

    def ended(self, record: Any) -> None:
        """Called when the record of an item has been written."""


def carry_out(
    jobs: Sequence[Work], executor: Executor, limits: Limits, journal: Journal,
    look: Callable[[Any], None], keep: Callable[[Any], None], progress: Progress | None = None,
) -> None:  # fmt: skip
    """Do all work, and write every record to the journal before waiting for the next one.

    look: function that refuses a record by an exception, which ends the campaign. keep: function that
    receives each written record.
    """
    started = None if progress is None else progress.started
    for record in _records(jobs, executor, limits, look, started):
        journal.add(record)
        keep(record)
        if progress is not None:
            progress.ended(record)


def _records(
    jobs: Sequence[Work], executor: Executor, limits: Limits, look: Callable[[Any], None], told: Told | None
) -> Iterator[Any]:
    """Yield the records of all jobs as they arrive, checked by `look`, and exactly as files contain them."""
    pending = {job.key for job in jobs}
    kind = {type(job) for job in jobs}
    runs = executor.run(jobs, limits, told)
    try:
        for record in runs:
            if record.key not in pending:
                raise RuntimeError(f"the executor gave a run that nobody waits for: {record.key}")
            pending.remove(record.key)
            look(record)
            (work_type,) = kind
            yield work_type.record(json.loads(written(_at_home(record))), "a record")
        if pending:
            raise RuntimeError(f"the executor ended with {len(pending)} jobs left; the same campaign goes on")
    finally:
        with suppress(AttributeError):
            runs.close()  # type: ignore[attr-defined]


def _at_home(record: Any) -> Record:
    """Return a record without its environment, which is that of the campaign."""
    copy: Record = replace(record, environment=None)
    return copy
