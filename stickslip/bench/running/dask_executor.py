"""Runs on Dask: a cluster of this machine that comes and goes with the campaign, or a scheduler elsewhere.

Every worker of Dask keeps one warm process, so that limits, crashes and hangs cost one record there too.
A file that the worker does not find is sent to it once, with those that it imports from beside it. When a
worker of Dask dies, the scheduler gives its work to another one, at most as often as its setting
`allowed-failures` says (once on a cluster of this machine); then the items are sent one by one, and the one
that ends workers is recorded as crashed.

Only JSON and bytes come and go. Work is done one item at a time on a worker, however many threads it has.
Several items go there in one message; after a second at the latest, or after the item that lasts longer,
the worker answers with the records that it has. All of a campaign ends with `leave`, or some time after its
last work if nobody says so.
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
"""Time that a scheduler has to answer [s]."""
STARTING = 60.0
"""Time that workers of this machine have to come up [s]."""
ALONE = 60.0
"""Time without any worker after which nobody waits any longer [s]."""
RETRIES = 1
"""How often a job begins anew after its worker died, on a cluster of this machine."""
IDLE = 1800.0
"""A campaign that has sent nothing for so long is taken for dead [s]."""
KEPT = 2**30
"""Bytes of files that are kept, at most; those of one problem in any case."""
MACHINE = ("system", "processor", "cores", "memory")
"""What of an environment decides about times alone."""
ANSWERED = 1.0
"""A worker that has several items to do says what it has after so long [s]."""


LOGGERS = "distributed", "distributed.client", "distributed.gc"
"""Loggers of Dask with handlers of their own, as its default configuration sets them up."""


_LOCK = threading.Lock()


class DaskError(RuntimeError):
    """Dask cannot be used as it is: absent, not reached, without workers."""


class Dask:
    """Does work on the workers of Dask, one item at a time on each."""

    def __init__(self, address: str | None = None, workers: int = 1, times: bool = True):
        """`address`: of a scheduler, whose workers are all taken; None: a cluster of `workers` processes.
        times: whether times will be compared, so that workers must be alike."""
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise DaskError('Dask is not installed; pip install "stickslip[dask]"') from None
        if workers < 1:
            raise ValueError(f"workers is {workers}; it must be at least 1")
        self.address, self.workers = address, workers
        self.environment = here()
        """Where work is done; the same on all workers."""
        if address is not None:
            with self._client() as client:
                places = _places(client, address, times)
            self.workers, self.environment = len(places), next(iter(places.values()))

    def run(self, jobs: Sequence[Any], limits: Limits, told: Told | None = None) -> Iterator[Any]:
        """The record of every item, as they end; closing the iterator ends all that runs for it."""
        if not jobs:
            return
        campaign = uuid.uuid4().hex
        with self._client() as client:
            addresses = sorted(_present(client))[: len(jobs)]
            try:
                yield from run_jobs([Seat(client, campaign, each) for each in addresses], jobs, limits, told)
            finally:
                with suppress(Exception):  # a scheduler that is gone needs no farewell
                    client.run(leave, campaign, on_error="ignore")

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Connected to the scheduler, or to a cluster that ends with it."""
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
    """Workers in processes of this machine that nobody else reaches and that leave no files."""
    import dask
    from distributed import LocalCluster

    settings: dict[str, Any] = {"distributed.scheduler.allowed-failures": RETRIES}
    for what in ("target", "spill", "pause", "terminate"):  # the memory of a run is watched by its process
        settings[f"distributed.worker.memory.{what}"] = False
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
    """A worker of Dask at the work of one campaign."""

    def __init__(self, client: Any, campaign: str, address: str):
        self._client, self._campaign, self._address = client, campaign, address
        self._future: Any = None
        self._closed = False

    @property
    def name(self) -> str:
        """Host and port."""
        return self._address.partition("://")[2]

    def runs(self, jobs: Sequence[Work], limits: Limits) -> Iterator[Record | JobError]:
        """The record of each item; its files are sent to the worker where they are missing there."""
        left, most = deque(jobs), len(jobs)
        while left:
            try:
                sent = set[str]()
                while "missing" in (said := self._asked(list(left)[:most], limits)):
                    if self._address in sent:
                        files = ", ".join(left[0].files.values())
                        raise JobError(f"{files} does not arrive at the worker of Dask at {self._address}")
                    self._send(left[0])
                    sent.add(self._address)
            except JobError as error:
                left.popleft()
                yield error
                continue
            if "failed" in said or "closed" in said:
                why = said.get("failed", "closed")
                raise DaskError(f"a worker of Dask, {self._address}, cannot go on: {why}")
            most = 1 if "killed" in said and most > 1 else most
            for one in said["answers"]:
                job = left.popleft()
                yield job.record(one["record"]) if "record" in one else JobError(one["impossible"])

    def close(self) -> None:
        """Wait for nothing any longer."""
        self._closed = True
        if self._future is not None:
            with suppress(Exception):  # a scheduler that is gone needs no farewell
                self._client.cancel([self._future], force=True)

    def _send(self, job: Work) -> None:
        """Let the worker have the files of an item of work."""
        for identity, path in job.files.items():
            try:
                contents = job.contents(path)
            except OSError as error:
                raise JobError(str(error)) from None
            given = self._campaign, identity, Path(path).name, contents
            self._client.run(take_file, *given, workers=[self._address], on_error="ignore")

    def _asked(self, jobs: Sequence[Work], limits: Limits) -> dict[str, Any]:
        """What a worker says of some items; the scheduler chooses which. It would never give work that is
        meant for one worker to another that comes after all have died."""
        from distributed.scheduler import KilledWorker

        items = [job.as_json() for job in jobs]
        self._future = self._client.submit(
            take_jobs, self._campaign, jobs[0].place(), items, asdict(limits), pure=False
        )
        if self._closed:  # meanwhile
            self.close()
        try:
            said = self._answer()
        except KilledWorker:
            if len(jobs) > 1:  # one of them: each alone
                return {"killed": True, "answers": []}
            self._await_workers()  # a cluster that is being closed looks the same
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
        self._address = said["address"]
        return said

    def _answer(self) -> dict[str, Any]:
        """What comes back, after any time; `DaskError` once there is nobody left to wait for."""
        since: float | None = None
        while True:
            try:
                said: dict[str, Any] = self._future.result(timeout=REACHED)
                return said
            except TimeoutError:
                if self._future.done():
                    raise
                since = None if _present(self._client) else since or time.monotonic()
                if since is not None and time.monotonic() - since > ALONE:
                    raise DaskError(f"no worker of Dask has been there for {ALONE:.0f} s") from None

    def _await_workers(self) -> None:
        """Return when some worker is there; `DaskError` where none comes, or the scheduler is gone."""
        end = time.monotonic() + ALONE
        while not _present(self._client):
            if time.monotonic() > end:
                raise DaskError(f"no worker of Dask has been there for {ALONE:.0f} s")
            time.sleep(0.1)


def _present(client: Any) -> list[str]:
    """Addresses of the workers that are there now."""
    try:
        return list(client.nthreads())
    except (OSError, TimeoutError) as error:
        raise DaskError(f"the Dask scheduler does not answer any more: {error}") from None


def _places(client: Any, address: str, times: bool) -> dict[str, Environment]:
    """The environments of all workers by address, which must be one and the same, but for the machine where
    no times are compared."""
    try:
        said = client.run(arrive)
    except Exception as error:
        raise DaskError(
            f"a worker of the Dask scheduler at {address} cannot run stickslip"
            f" ({type(error).__name__}: {error}); install the same version there"
        ) from None
    if not said:
        raise DaskError(f"the Dask scheduler at {address} has no workers; start some with `dask worker`")
    places = {name: Environment.from_json(data) for name, data in said.items()}
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
    """Do work on this worker: its records in their order, or what is missing, or why it cannot be done.

    A worker that is being closed ends its processes, so that a run looks like one that crashed: another
    worker makes it.
    """
    from distributed import Reschedule, get_worker
    from distributed.core import Status

    worker, kind = get_worker(), thing(work)
    said = _room(worker, campaign).run([kind.from_json(job) for job in jobs], Limits(**limits))
    if worker.status not in (Status.running, Status.paused):
        raise Reschedule
    return {"address": worker.address, **said}


def take_file(campaign: str, identity: str, name: str, contents: dict[str, bytes], dask_worker: Any) -> None:
    """Keep a file on this worker, and what belongs beside it."""
    _room(dask_worker, campaign).keep(identity, name, contents)


def arrive() -> dict[str, Any]:
    """The environment of this worker, as JSON holds it."""
    return here().as_json()


def leave(campaign: str, dask_worker: Any) -> None:
    """End all of a campaign on this worker, at once; jobs of it that come later are refused."""
    _room(dask_worker, campaign).close()


class Room:
    """One campaign on one worker: a warm process and a folder."""

    def __init__(self, turn: threading.Lock):
        """`turn`: held while a job runs, the same for all campaigns."""
        self._turn, self._lock = turn, threading.Lock()
        self._process = WarmProcess("dask")
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: dict[tuple[str, str], Path] = {}
        self._closed = False
        self._timer: threading.Timer | None = None

    def run(self, jobs: Sequence[Work], limits: Limits) -> dict[str, Any]:
        """The records of some items in their order, of the first of them at least, or what stands in the
        way."""
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
            except Exception as error:  # the machine's fault, not that of the work
                return {"failed": f"{type(error).__name__}: {error}"}
            finally:
                self._rest(IDLE)
        return {"answers": answers}

    def _take(self, jobs: Sequence[Work], limits: Limits, answers: list[dict[str, Any]]) -> bool:
        """Add what comes of some items; whether all that they need is here."""
        with self._lock:
            files = {name: self._files.get((name, Path(path).name)) for name, path in jobs[0].files.items()}
        sent = all(files.values())
        paths = {name: str(files[name] or path) for name, path in jobs[0].files.items()}
        if not all(Path(path).exists() for path in paths.values()):
            return False
        for said in self._process.runs([job.placed(paths) for job in jobs], limits):
            if not isinstance(said, JobError):
                record: Any = said
                record = replace(record, environment=record.environment or here())
                answers.append({"record": record.as_json()})
            elif sent or not paths:
                answers.append({"impossible": str(said)})
            else:  # the path may mean another file here
                return False
        return True

    def keep(self, identity: str, name: str, contents: dict[str, bytes]) -> None:
        """Keep a file in a folder of its own, with what belongs beside it, and drop older ones where all
        together are too large."""
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
        """Close after so long; None: not at all."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            if seconds is not None and not self._closed:
                self._timer = threading.Timer(seconds, self.close)
                self._timer.daemon = True
                self._timer.start()


def _room(worker: Any, campaign: str) -> Room:
    """The one of a campaign on that worker, made on its first job; kept with the worker, since several may
    share a process."""
    with _LOCK:
        turn = worker.__dict__.setdefault("stickslip_turn", threading.Lock())
        room: Room = worker.__dict__.setdefault("stickslip_rooms", {}).setdefault(campaign, Room(turn))
        return room
