"""Executors distribute work to workers, processes of this machine or Dask, and yield the records."""

import threading
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, Protocol
from urllib.parse import urlsplit

from stickslip.bench.records import Executor, JobError, Limits, Record, Told, Work
from stickslip.bench.running.process import Closed, WarmProcess
from stickslip.names import alternatives

KNOWN = ("processes", "dask", "dask://HOST:PORT", "tcp://HOST:PORT", "here")
"""Names of executors."""
Event = tuple[str, Work | Record | BaseException | None]
"""Message of a worker: its name, and the work that it starts, a record, an error, or None at its end."""


class Worker(Protocol):
    """Does one item of work at a time."""

    @property
    def name(self) -> str:
        """Displayed name."""

    def runs(self, jobs: Sequence[Any], limits: Limits) -> Iterator[Record | JobError]:
        """Yield the record of each item in order, or a JobError; raise `Closed` if the worker was closed."""

    def close(self) -> None:
        """End the current work immediately; may be called by any thread."""


class Processes:
    """Executor with warm processes on this machine."""

    def __init__(self, workers: int = 1):
        """workers: number of simultaneous processes."""
        if workers < 1:
            raise ValueError(f"workers is {workers}; it must be at least 1")
        self.workers = workers

    def run(self, jobs: Sequence[Any], limits: Limits, told: Told | None = None) -> Iterator[Any]:
        """Yield the records of all items as they end; closing the iterator ends all processes immediately."""
        count = min(self.workers, len(jobs))
        yield from run_jobs([WarmProcess(f"process {k + 1}") for k in range(count)], jobs, limits, told)


class Here:
    """Executor in this process, one item after the other and without limits, for debugging."""

    workers = 1

    def run(self, jobs: Sequence[Any], limits: Limits, told: Told | None = None) -> Iterator[Any]:
        """Yield the records of all items; a `JobError` of an item is raised after all others."""
        from stickslip.bench.running.calls import untold
        from stickslip.bench.running.worker import maker_of

        impossible: list[JobError] = []
        for job in jobs:
            if told is not None:
                told("here", job)
            try:
                maker = maker_of(job.maker)
                yield maker.make(job, limits, maker.read(job), untold)
            except JobError as error:
                impossible.append(error)
        _raise_first(impossible)


def run_jobs(
    workers: Sequence[Worker], jobs: Sequence[Work], limits: Limits, told: Told | None
) -> Iterator[Any]:
    """Distribute items to workers, with a thread for each; yield the records as they end.

    Items of one group go to one worker. A `JobError` of an item, for example because its file has changed, is
    raised after all others.
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
            name, message = events.get()
            if isinstance(message, Work):
                if told is not None:
                    told(name, message)
            elif isinstance(message, JobError):
                impossible.append(message)
            elif isinstance(message, BaseException):
                raise message
            elif message is not None:
                yield message
            else:
                working -= 1
    finally:
        shares.clear()
        for worker in workers:
            worker.close()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    _raise_first(impossible)


def _raise_first(impossible: Sequence[JobError]) -> None:
    """Raise the first error of the jobs that cannot be run, with the number of the others."""
    if impossible:
        more = f" (and {len(impossible) - 1} more jobs that cannot be run)" if len(impossible) > 1 else ""
        raise JobError(f"{impossible[0]}{more}")


class Shares:
    """Distribution of work: whole groups, and at the end single items for idle workers."""

    def __init__(self, jobs: Sequence[Work], workers: int):
        groups: dict[Hashable, deque[Work]] = {}
        for job in jobs:
            groups.setdefault(job.group, deque()).append(job)
        self._waiting, self._lock = deque(groups.values()), threading.Lock()
        self._groups: list[deque[Work]] = [deque() for _ in range(workers)]
        self._remaining = len(jobs)

    def next(self, worker: int) -> Work | None:
        """Return the next item for a worker; None if no item is left."""
        with self._lock:
            return self._next(worker)

    def some(self, worker: int) -> list[Work]:
        """Return the next items for a worker, which are sent in one message.

        Their number is at most what their kind allows, and smaller near the end, so that other workers are
        not idle.
        """
        with self._lock:
            items = [job for job in [self._next(worker)] if job is not None]
            if items:
                limit = min(items[0].together, 1 + self._remaining // (2 * len(self._groups)))
                while len(items) < limit and self._groups[worker]:
                    items += [job for job in [self._next(worker)] if job is not None]
            return items

    def _next(self, worker: int) -> Work | None:
        """Next item of the worker's group, of a new group, or the last item of the longest group."""
        if not self._groups[worker] and self._waiting:
            self._groups[worker] = self._waiting.popleft()
        group = self._groups[worker]
        longest = group or max(self._groups, key=len)
        if not longest:
            return None
        self._remaining -= 1
        return group.popleft() if group else longest.pop()

    def clear(self) -> None:
        """Discard the remaining work."""
        with self._lock:
            self._waiting.clear()
            for group in self._groups:
                group.clear()


def _work(k: int, worker: Worker, shares: Shares, limits: Limits, events: "SimpleQueue[Event]") -> None:
    """Run the items of worker k, and put its messages into `events`."""
    try:
        while jobs := shares.some(k):
            events.put((worker.name, jobs[0]))
            for number, result in enumerate(worker.runs(jobs, limits), 1):
                events.put((worker.name, result))
                if number < len(jobs):
                    events.put((worker.name, jobs[number]))
    except Closed:
        pass
    except BaseException as error:
        events.put((worker.name, error))
    finally:
        events.put((worker.name, None))


def executor(text: str, workers: int = 1, times: bool = True) -> Executor:
    """Make the executor named by `text`.

    `processes` and `dask` start `workers` processes on this machine, and end them; an address of a scheduler
    uses all its workers; `here` is this process. times: whether times will be compared, so that the workers
    of Dask must be equal machines, not only have equal versions. Raises a `ValueError` for unknown names, and
    a `DaskError` if Dask is not installed or does not answer.
    """
    if text == "processes":
        return Processes(workers)
    if text == "here":
        return Here()
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("dask", "tcp") and parts.hostname and parts.port and parts.path in ("", "/")
    except ValueError:  # the port is not a number
        known = False
    if text != "dask" and not known:
        raise ValueError(f"unknown executor {text!r}; {alternatives(text, KNOWN)}")
    from stickslip.bench.running.dask_executor import Dask

    return Dask(f"tcp://{parts.netloc}" if known else None, workers, times)
