"""Executors: jobs shared among workers, records as they end, in processes of this machine or on Dask."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from typing import Protocol
from urllib.parse import urlsplit

from stickslip.bench.records import Executor, Job, Limits, RunRecord, Told
from stickslip.bench.running.attempt import JobError
from stickslip.bench.running.process import Closed, WarmProcess
from stickslip.names import alternatives

KNOWN = ("processes", "dask", "dask://HOST:PORT", "tcp://HOST:PORT")
"""What may be typed."""
Event = tuple[str, Job | RunRecord | BaseException | None]
"""What a worker says: its name, and the job that it begins, a record, why it cannot go on, or that it is
done."""


class Worker(Protocol):
    """Runs one job at a time."""

    @property
    def name(self) -> str:
        """As it is shown to people."""

    def run(self, job: Job, limits: Limits) -> RunRecord:
        """The record of a job; `JobError` if it cannot be run, `Closed` if the worker was closed."""

    def close(self) -> None:
        """End what runs at once, from any thread."""


class Processes:
    """Runs jobs in warm processes on this machine."""

    def __init__(self, workers: int = 1):
        """`workers`: processes that run side by side."""
        if workers < 1:
            raise ValueError(f"workers is {workers}; it must be at least 1")
        self.workers = workers

    def run(self, jobs: Sequence[Job], limits: Limits, told: Told | None = None) -> Iterator[RunRecord]:
        """The record of every job, as they end; closing the iterator ends all processes at once."""
        count = min(self.workers, len(jobs))
        yield from run_jobs([WarmProcess(f"process {k + 1}") for k in range(count)], jobs, limits, told)


def run_jobs(
    workers: Sequence[Worker], jobs: Sequence[Job], limits: Limits, told: Told | None
) -> Iterator[RunRecord]:
    """The record of every job, as the workers end them: jobs of one problem together, a thread for each.

    A job that cannot be run, since its file has changed, is a `JobError` after all the others have run.
    """
    shares, events = Shares(jobs, len(workers)), SimpleQueue[Event]()
    threads = [
        threading.Thread(target=_work, args=(k, worker, shares, limits, events), daemon=True)
        for k, worker in enumerate(workers)
    ]
    impossible: list[JobError] = []
    try:
        for thread in threads:
            thread.start()
        working = len(threads)
        while working:
            name, said = events.get()
            if isinstance(said, Job):
                if told is not None:
                    told(name, said)
            elif isinstance(said, RunRecord):
                yield said
            elif isinstance(said, JobError):
                impossible.append(said)
            elif said is not None:
                raise said
            else:
                working -= 1
    finally:
        shares.clear()
        for worker in workers:
            worker.close()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if impossible:
        more = f" (and {len(impossible) - 1} more jobs that cannot be run)" if len(impossible) > 1 else ""
        raise JobError(f"{impossible[0]}{more}")


class Shares:
    """Who has which job to do: problems as wholes, and at the end, by jobs, whoever is free helps."""

    def __init__(self, jobs: Sequence[Job], workers: int):
        groups: dict[tuple[str, str], deque[Job]] = {}
        for job in jobs:
            groups.setdefault((job.path, job.problem), deque()).append(job)
        self._waiting, self._lock = deque(groups.values()), threading.Lock()
        self._own: list[deque[Job]] = [deque() for _ in range(workers)]

    def next(self, worker: int) -> Job | None:
        """The next job of a worker, None if nothing is left to do."""
        with self._lock:
            if not self._own[worker] and self._waiting:
                self._own[worker] = self._waiting.popleft()
            if self._own[worker]:
                return self._own[worker].popleft()
            longest = max(self._own, key=len)
            return longest.pop() if longest else None

    def clear(self) -> None:
        """Nothing is left to do."""
        with self._lock:
            self._waiting.clear()
            for own in self._own:
                own.clear()


def _work(k: int, worker: Worker, shares: Shares, limits: Limits, events: "SimpleQueue[Event]") -> None:
    try:
        while (job := shares.next(k)) is not None:
            events.put((worker.name, job))
            try:
                events.put((worker.name, worker.run(job, limits)))
            except JobError as error:
                events.put((worker.name, error))
    except Closed:
        pass
    except BaseException as error:
        events.put((worker.name, error))
    finally:
        events.put((worker.name, None))


def executor(text: str, workers: int = 1) -> Executor:
    """The executor that `text` names.

    `processes` and `dask` start so many workers on this machine, and end them; of a scheduler that runs
    already all workers are taken. A `ValueError` for texts that name none, a `DaskError` where Dask is
    absent or does not answer.
    """
    if text == "processes":
        return Processes(workers)
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("dask", "tcp") and parts.hostname and parts.port and parts.path in ("", "/")
    except ValueError:  # a port that is no number
        known = False
    if text != "dask" and not known:
        raise ValueError(f"no executor {text!r}; {alternatives(text, KNOWN)}")
    from stickslip.bench.running.dask_executor import Dask

    return Dask(f"tcp://{parts.netloc}" if known else None, workers)
