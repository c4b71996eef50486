"""The loop of every campaign: each item of work once, its record on the disk at once."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from stickslip.bench.campaigns.journal import Journal
from stickslip.bench.json_data import written
from stickslip.bench.records import Executor, Limits, Record, Told, Work


class Progress(Protocol):
    """Who wants to know how a campaign goes on."""

    def planned(self, jobs: Sequence[Any], done: Any) -> None:
        """Called once: what is to be done, and what was done before."""

    def started(self, worker: str, job: Any) -> None:
        """Called when an item of work begins on a worker."""

    def ended(self, record: Any) -> None:
        """Called when the record of an item is safe."""


def carry_out(
    jobs: Sequence[Work], executor: Executor, limits: Limits, journal: Journal,
    look: Callable[[Any], None], keep: Callable[[Any], None], progress: Progress | None = None,
) -> None:  # fmt: skip
    """Do work, and write every record to the journal before the next is waited for.

    `look` refuses a record by an exception, which ends the campaign; `keep` gets each record that is safe.
    """
    told = None if progress is None else progress.started
    for record in _records(jobs, executor, limits, look, told):
        journal.add(record)
        keep(record)
        if progress is not None:
            progress.ended(record)


def _records(
    jobs: Sequence[Work], executor: Executor, limits: Limits, look: Callable[[Any], None], told: Told | None
) -> Iterator[Any]:
    """The records of all jobs as they come, each looked at, exactly as files will hold them."""
    waited = {job.key for job in jobs}
    kind = {type(job) for job in jobs}
    runs = executor.run(jobs, limits, told)
    try:
        for record in runs:
            if record.key not in waited:
                raise RuntimeError(f"the executor gave a run that nobody waits for: {record.key}")
            waited.remove(record.key)
            look(record)
            (made,) = kind
            yield made.record(json.loads(written(_at_home(record))), "a record")
        if waited:
            raise RuntimeError(f"the executor ended with {len(waited)} jobs left; the same campaign goes on")
    finally:
        with suppress(AttributeError):
            runs.close()  # type: ignore[attr-defined]


def _at_home(record: Any) -> Record:
    """The record without where it was made: that is where the campaign is."""
    made: Record = replace(record, environment=None)
    return made
