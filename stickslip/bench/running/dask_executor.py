"""Runs on Dask: a cluster on this machine for the duration of the campaign, or an existing scheduler.

Every worker of Dask keeps one warm process, so that a limit, a crash or a hang affects only one record. A
file that does not exist on the worker is sent to it once, together with the modules that it imports from its
folder. When a worker of Dask dies, the scheduler gives its work to another one, at most `allowed-failures`
times (a setting of Dask; once on a cluster of this machine). After that the items are sent one by one, and an
item that ends workers is recorded as crashed.

Messages consist of JSON and bytes. A worker does one item at a time, whatever its number of threads. One
message carries several items; the worker answers with the records that it has after `ANSWERED` seconds, or
after the first item if that takes longer. `leave` ends the processes of a campaign and removes its files;
without it this happens `IDLE` seconds after the last work.
"""

import logging
import shutil
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from stickslip.bench.environment import Environment, here
from stickslip.bench.records import JobError, Limits, Outcome, Record, Told, Work
from stickslip.bench.running.executors import run_jobs
from stickslip.bench.running.process import Closed, WarmProcess
from stickslip.bench.running.worker import thing

REACHED = 5.0
"""Time limit for the answer of a scheduler [s]."""
STARTING = 60.0
"""Time limit for the start of workers on this machine [s]."""
ALONE = 60.0
"""Time without any worker after which a run fails [s]."""
RETRIES = 1
"""Number of restarts of a job after the death of its worker, on a cluster of this machine."""
IDLE = 1800.0
"""Time without work after which a campaign is closed on a worker [s]."""
KEPT = 2**30
"""Largest size of the stored files of a campaign [bytes]; the last file is stored in any case."""
MACHINE = ("system", "processor", "cores", "memory")
"""Fields of an environment that affect only times."""
ANSWERED = 1.0
"""Time after which a worker with several items returns its finished records [s]."""


LOGGERS = "distributed", "distributed.client", "distributed.gc"
"""Loggers with their own handlers in Dask's default configuration."""


_LOCK = threading.Lock()


class DaskError(RuntimeError):
    """Dask cannot be used: it is not installed, does not answer, or has no usable workers."""


class Dask:
    """Executor on the workers of Dask, with one item at a time on each."""

    def __init__(self, address: str | None = None, workers: int = 1, times: bool = True):
        """address: address of a scheduler, of which all workers are used; None starts a cluster of `workers`
        processes. times: whether times will be compared, which requires equal machines."""
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise DaskError('Dask is not installed; pip install "stickslip[dask]"') from None
        if workers < 1:
            raise ValueError(f"workers is {workers}; it must be at least 1")
        self.address, self.workers = address, workers
        self.environment = here()
        """Environment of the work, the same on all workers."""
        if address is not None:
            with self._client() as client:
                places = _places(client, address, times)
            self.workers, self.environment = len(places), next(iter(places.values()))

    def run(self, jobs: Sequence[Any], limits: Limits, told: Told | None = None) -> Iterator[Any]:
        """Yield the records of all items as they end; closing the iterator ends all runs."""
        if not jobs:
            return
        campaign = uuid.uuid4().hex
        with self._client() as client:
            addresses = sorted(_present(client))[: len(jobs)]
            try:
                yield from run_jobs([Seat(client, campaign, each) for each in addresses], jobs, limits, told)
            finally:
                with suppress(Exception):  # ignore schedulers that have ended
                    client.run(leave, campaign, on_error="ignore")

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Context with a client of the scheduler, or of a cluster that ends with the context."""
        from distributed import Client

        with ExitStack() as stack:
            stack.enter_context(_quiet())
            place = self.address or stack.enter_context(local_cluster(self.workers))
            try:
                client = Client(place, timeout=REACHED, set_as_default=False)
            except (OSError, ValueError) as error:
                raise DaskError(f"no Dask scheduler answers at {self.address}: {error}") from None
            stack.callback(client.close, timeout=REACHED)
            if self.address is None:
                client.wait_for_workers(self.workers, timeout=STARTING)
            yield client


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """Context with a cluster of processes that is reachable only from this machine and leaves no files."""
    import dask
    from distributed import LocalCluster

    settings: dict[str, Any] = {"distributed.scheduler.allowed-failures": RETRIES}
    for threshold in ("target", "spill", "pause", "terminate"):  # `WarmProcess` limits memory
        settings[f"distributed.worker.memory.{threshold}"] = False
    with (
        _quiet(),
        tempfile.TemporaryDirectory(prefix="stickslip-dask-", ignore_cleanup_errors=True) as folder,
        dask.config.set(settings),
    ):
        try:
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
                dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False},
                memory_limit=0, local_directory=folder, silence_logs=logging.CRITICAL,
            )  # fmt: skip
        except RuntimeError as error:
            raise DaskError(
                f"the workers of Dask did not start on this machine ({error}); a script must call this under"
                ' if __name__ == "__main__":'
            ) from None
        with cluster:
            yield cluster


class Seat:
    """Connection to a worker of Dask for one campaign; a `Worker` of `run_jobs`."""

    def __init__(self, client: Any, campaign: str, address: str):
        self._client, self._campaign, self._address = client, campaign, address
        self._future: Any = None
        self._closed = False

    @property
    def name(self) -> str:
        """Host and port."""
        return self._address.partition("://")[2]

    def runs(self, jobs: Sequence[Work], limits: Limits) -> Iterator[Record | JobError]:
        """Yield the record of each item; send its files to the worker if they are missing there."""
        left, most = deque(jobs), len(jobs)
        while left:
            try:
                sent = set[str]()
                while "missing" in (reply := self._asked(list(left)[:most], limits)):
                    if self._address in sent:
                        files = ", ".join(left[0].files.values())
                        raise JobError(f"{files} does not arrive at the worker of Dask at {self._address}")
                    self._send(left[0])
                    sent.add(self._address)
            except JobError as error:
                left.popleft()
                yield error
                continue
            if "failed" in reply or "closed" in reply:
                why = reply.get("failed", "closed")
                raise DaskError(f"a worker of Dask, {self._address}, cannot go on: {why}")
            most = 1 if "killed" in reply and most > 1 else most
            for one in reply["answers"]:
                job = left.popleft()
                yield job.record(one["record"]) if "record" in one else JobError(one["impossible"])

    def close(self) -> None:
        """Cancel the current work; the waiting thread then raises `Closed`."""
        self._closed = True
        if self._future is not None:
            with suppress(Exception):  # ignore schedulers that have ended
                self._client.cancel([self._future], force=True)

    def _send(self, job: Work) -> None:
        """Send the files of an item of work to the worker."""
        for identity, path in job.files.items():
            try:
                contents = job.contents(path)
            except OSError as error:
                raise JobError(str(error)) from None
            arguments = self._campaign, identity, Path(path).name, contents
            self._client.run(take_file, *arguments, workers=[self._address], on_error="ignore")

    def _asked(self, jobs: Sequence[Work], limits: Limits) -> dict[str, Any]:
        """Submit items and return the answer of the worker.

        The scheduler chooses the worker: work bound to one worker would never be given to a worker that
        starts after all have died.
        """
        from distributed.scheduler import KilledWorker

        items = [job.as_json() for job in jobs]
        self._future = self._client.submit(
            take_jobs, self._campaign, jobs[0].place(), items, asdict(limits), pure=False
        )
        if self._closed:  # by another thread
            self.close()
        try:
            reply = self._answer()
        except KilledWorker:
            if len(jobs) > 1:  # send them one by one to find the item
                return {"killed": True, "answers": []}
            self._await_workers()  # fails if the cluster is being closed
            reason = "the worker of Dask ended under it, again and again"
            return {"answers": [{"record": jobs[0].blank(Outcome.CRASHED, reason=reason).as_json()}]}
        except DaskError:
            raise
        except BaseException as error:
            if self._closed:
                raise Closed(f"{self.name} was closed") from None
            if isinstance(error, CancelledError):
                raise DaskError(
                    "the connection to the Dask scheduler was lost; start the same work again to continue it"
                ) from None
            raise DaskError(f"a job on Dask failed: {type(error).__name__}: {error}") from None
        self._address = reply["address"]
        return reply

    def _answer(self) -> dict[str, Any]:
        """Wait for the answer without a time limit; raise `DaskError` if there is no worker for `ALONE`
        seconds."""
        since: float | None = None
        while True:
            try:
                reply: dict[str, Any] = self._future.result(timeout=REACHED)
                return reply
            except TimeoutError:
                if self._future.done():
                    raise
                since = None if _present(self._client) else since or time.monotonic()
                if since is not None and time.monotonic() - since > ALONE:
                    raise DaskError(f"no worker of Dask has been there for {ALONE:.0f} s") from None

    def _await_workers(self) -> None:
        """Wait for a worker; raise `DaskError` if none appears within `ALONE` seconds, or the scheduler does
        not answer."""
        end = time.monotonic() + ALONE
        while not _present(self._client):
            if time.monotonic() > end:
                raise DaskError(f"no worker of Dask has been there for {ALONE:.0f} s")
            time.sleep(0.1)


def _present(client: Any) -> list[str]:
    """Addresses of the present workers; raise `DaskError` if the scheduler does not answer."""
    try:
        return list(client.nthreads())
    except (OSError, TimeoutError) as error:
        raise DaskError(f"the Dask scheduler does not answer any more: {error}") from None


def _places(client: Any, address: str, times: bool) -> dict[str, Environment]:
    """Return the environments of all workers by address; raise `DaskError` if they differ.

    times: whether times will be compared; otherwise differences in `MACHINE` are allowed.
    """
    try:
        replies = client.run(arrive)
    except Exception as error:
        raise DaskError(
            f"a worker of the Dask scheduler at {address} cannot run stickslip"
            f" ({type(error).__name__}: {error}); install the same version there"
        ) from None
    if not replies:
        raise DaskError(f"the Dask scheduler at {address} has no workers; start some with `dask worker`")
    places = {name: Environment.from_json(data) for name, data in replies.items()}
    (first, one), *others = places.items()
    for name, other in others:
        unlike = [key for key, value in asdict(one).items() if value != asdict(other)[key]]
        unlike = [key for key in unlike if times or key not in MACHINE]
        if unlike:
            raise DaskError(
                f"the workers {first} and {name} of Dask differ in {', '.join(unlike)}, so that their"
                " runs cannot be compared; use equal workers"
            )
    return places


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the loggers of Dask: records and errors report what matters."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def take_jobs(
    campaign: str, work: str, jobs: Sequence[dict[str, Any]], limits: dict[str, Any]
) -> dict[str, Any]:
    """Do work on this worker (called by Dask).

    Returns the address of the worker, and either `answers` (the records in order), `missing` (files of the
    work are missing), `failed` or `closed`. A worker that is being closed ends its processes, which looks
    like a crash of the run; the work is then rescheduled on another worker.
    """
    from distributed import Reschedule, get_worker
    from distributed.core import Status

    worker, kind = get_worker(), thing(work)
    reply = _room(worker, campaign).run([kind.from_json(job) for job in jobs], Limits(**limits))
    if worker.status not in (Status.running, Status.paused):
        raise Reschedule
    return {"address": worker.address, **reply}


def take_file(campaign: str, identity: str, name: str, contents: dict[str, bytes], dask_worker: Any) -> None:
    """Store a file and the files of its folder that it needs on this worker (called by Dask)."""
    _room(dask_worker, campaign).keep(identity, name, contents)


def arrive() -> dict[str, Any]:
    """Return the environment of this worker as data for JSON (called by Dask)."""
    return here().as_json()


def leave(campaign: str, dask_worker: Any) -> None:
    """End a campaign on this worker immediately; later jobs of it are refused (called by Dask)."""
    _room(dask_worker, campaign).close()


class Room:
    """State of one campaign on one worker: a warm process and a folder of files."""

    def __init__(self, turn: threading.Lock):
        """turn: lock of the worker, shared by all campaigns and held while a job runs."""
        self._turn, self._lock = turn, threading.Lock()
        self._process = WarmProcess("dask")
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: dict[tuple[str, str], Path] = {}
        self._closed = False
        self._timer: threading.Timer | None = None

    def run(self, jobs: Sequence[Work], limits: Limits) -> dict[str, Any]:
        """Return the records of items in order, at least that of the first, or why there are none."""
        answers: list[dict[str, Any]] = []
        begun, part = time.monotonic(), 1
        with self._turn:
            self._rest(None)
            try:
                while len(answers) < len(jobs) and (not answers or time.monotonic() - begun < ANSWERED):
                    some = jobs[len(answers) : len(answers) + part]
                    if not self._take(some, limits, answers):
                        return {"answers": answers} if answers else {"missing": True}
                    part *= 2
            except Closed:
                return {"closed": True}
            except Exception as error:  # a failure of the machine, not of the work
                return {"failed": f"{type(error).__name__}: {error}"}
            finally:
                self._rest(IDLE)
        return {"answers": answers}

    def _take(self, jobs: Sequence[Work], limits: Limits, answers: list[dict[str, Any]]) -> bool:
        """Run items and add their answers; return False if files are missing on this worker."""
        with self._lock:
            files = {name: self._files.get((name, Path(path).name)) for name, path in jobs[0].files.items()}
        sent = all(files.values())
        paths = {name: str(files[name] or path) for name, path in jobs[0].files.items()}
        if not all(Path(path).exists() for path in paths.values()):
            return False
        for result in self._process.runs([job.placed(paths) for job in jobs], limits):
            if not isinstance(result, JobError):
                record: Any = result
                record = replace(record, environment=record.environment or here())
                answers.append({"record": record.as_json()})
            elif sent or not paths:
                answers.append({"impossible": str(result)})
            else:  # the file at this path may be another one on this machine
                return False
        return True

    def keep(self, identity: str, name: str, contents: dict[str, bytes]) -> None:
        """Store a file in a new folder, with the files it needs; delete the oldest files if the total size
        exceeds `KEPT`.

        contents: contents of the files by their path relative to the folder.
        """
        with self._lock:
            if self._closed:
                return
            self._folder = self._folder or tempfile.TemporaryDirectory(prefix="stickslip-")
            folder = Path(self._folder.name)
            while self._files and sum(one.stat().st_size for one in folder.rglob("*")) > KEPT:
                shutil.rmtree(self._files.pop(next(iter(self._files))).parent)
            path = Path(tempfile.mkdtemp(dir=folder)) / Path(name).name
            for beside, content in contents.items():
                place = path.parent / beside
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            self._files[identity, name] = path

    def close(self) -> None:
        """End the process and remove the files."""
        self._rest(None)
        self._process.close()
        with self._lock:
            self._closed = True
            self._files.clear()
            if self._folder is not None:
                with suppress(OSError):
                    self._folder.cleanup()
                self._folder = None

    def _rest(self, seconds: float | None) -> None:
        """Restart the timer that closes the campaign after `seconds` [s]; None stops it."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            if seconds is not None and not self._closed:
                self._timer = threading.Timer(seconds, self.close)
                self._timer.daemon = True
                self._timer.start()


def _room(worker: Any, campaign: str) -> Room:
    """Return the room of a campaign on a worker, made at the first call.

    It is an attribute of the worker, as several workers may share a process.
    """
    with _LOCK:
        turn = worker.__dict__.setdefault("stickslip_turn", threading.Lock())
        room: Room = worker.__dict__.setdefault("stickslip_rooms", {}).setdefault(campaign, Room(turn))
        return room
