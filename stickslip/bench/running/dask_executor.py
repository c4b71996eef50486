"""Runs on Dask: a cluster of this machine that comes and goes with the campaign, or a scheduler elsewhere.

Every worker of Dask keeps one warm process, so that limits, crashes and hangs cost one record there too.
A problem whose file the worker does not find is sent to it once. When a worker of Dask dies, the scheduler
gives its job to another one, at most as often as its setting `allowed-failures` says (once on a cluster of
this machine); then the job is recorded as crashed.
"""

import logging
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from stickslip.bench.environment import Environment, here
from stickslip.bench.jobs import Job, Limits, Told
from stickslip.bench.records import Outcome, RunRecord
from stickslip.bench.running.attempt import JobError, blank
from stickslip.bench.running.dask_worker import arrive, leave, take_file, take_job
from stickslip.bench.running.processes import Shares

REACHED = 5.0
"""Time that a scheduler has to answer [s]."""
STARTING = 60.0
"""Time that workers of this machine have to come up [s]."""
ALONE = 60.0
"""Time without any worker after which nobody waits any longer [s]."""
RETRIES = 1
"""How often a job begins anew after its worker died, on a cluster of this machine."""


class DaskError(RuntimeError):
    """Dask cannot be used as it is: absent, not reached, without workers."""


class Dask:
    """Runs jobs on the workers of Dask, one at a time on each."""

    def __init__(self, address: str | None = None, workers: int = 1):
        """`address`: of a scheduler, whose workers are all taken; None: a cluster of `workers` processes."""
        _installed()
        if workers < 1:
            raise ValueError(f"workers is {workers}; it must be at least 1")
        self.address, self.workers = address, workers
        self.environment = here()
        """Where jobs run; the same on all workers."""
        if address is not None:
            with self._client() as client:
                places = _places(client, address)
            self.workers, self.environment = len(places), next(iter(places.values()))

    def run(self, jobs: Sequence[Job], limits: Limits, told: Told | None = None) -> Iterator[RunRecord]:
        """The record of every job, as they end; closing the iterator ends all that runs for it.

        A job that cannot be run, since its file has changed, is a `JobError` after all the others have run.
        """
        if not jobs:
            return
        with self._client() as client:
            crew = _Crew(client, jobs, limits, told)
            try:
                yield from crew.records()
            finally:
                crew.dismiss()

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Connected to the scheduler, or to a cluster that ends with it."""
        from distributed import Client

        with ExitStack() as stack:
            stack.enter_context(_quiet())
            place = (
                self.address if self.address is not None else stack.enter_context(local_cluster(self.workers))
            )
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
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False},  # a server it has anyway
            memory_limit=0, local_directory=folder, silence_logs=logging.CRITICAL,
        ) as cluster,
    ):  # fmt: skip
        yield cluster


class _Crew:
    """The workers of Dask at the jobs of one campaign; each worker has one job at a time."""

    def __init__(self, client: Any, jobs: Sequence[Job], limits: Limits, told: Told | None):
        self._client, self._limits, self._told = client, asdict(limits), told
        self._name = uuid.uuid4().hex
        self._addresses = sorted(self._present())[: len(jobs)]
        self._shares = Shares(jobs, len(self._addresses))
        self._ended: SimpleQueue[tuple[int, Job, Any]] = SimpleQueue()
        self._running: dict[int, Any] = {}
        self._sent: set[tuple[str, str, str]] = set()
        """Worker, problem and path of the files that were sent."""
        self._impossible: list[str] = []

    def records(self) -> Iterator[RunRecord]:
        """Those of all jobs, as they end."""
        for place in range(len(self._addresses)):
            self._begin(place)
        while self._running:
            place, job, future = self._next()
            del self._running[place]
            record = self._understood(place, job, future)
            if record is None:
                continue
            self._begin(place)
            if isinstance(record, RunRecord):
                yield record
        if self._impossible:
            more = len(self._impossible) - 1
            raise JobError(
                self._impossible[0] + (f" (and {more} more jobs that cannot be run)" if more else "")
            )

    def dismiss(self) -> None:
        """End everything that runs, and what was kept for it."""
        self._shares.clear()
        with suppress(Exception):  # a scheduler that is gone needs no farewell
            self._client.cancel(list(self._running.values()), force=True)
            self._client.run(leave, self._name, on_error="ignore")

    def _begin(self, place: int) -> None:
        """Give the next job to a worker, if one is left."""
        job = self._shares.next(place)
        if job is None:
            return
        if self._told is not None:
            self._told(self._addresses[place].partition("://")[2], job)
        self._submit(place, job)

    def _submit(self, place: int, job: Job) -> None:
        future = self._client.submit(
            take_job, self._name, job.as_json(), self._limits, pure=False,
            workers=[self._addresses[place]], allow_other_workers=True,  # where that one has died
        )  # fmt: skip
        self._running[place] = future
        future.add_done_callback(partial(self._put, place, job))

    def _put(self, place: int, job: Job, future: Any) -> None:
        self._ended.put((place, job, future))

    def _next(self) -> tuple[int, Job, Any]:
        """The next that has ended; `DaskError` once there is nobody left to wait for."""
        since: float | None = None
        while True:
            try:
                return self._ended.get(timeout=REACHED)
            except Empty:
                since = None if self._present() else since or time.monotonic()
                if since is not None and time.monotonic() - since > ALONE:
                    raise DaskError(f"no worker of Dask has been there for {ALONE:.0f} s") from None

    def _present(self) -> list[str]:
        """Addresses of the workers that are there now."""
        try:
            return list(self._client.nthreads())
        except (OSError, TimeoutError) as error:
            raise DaskError(f"the Dask scheduler does not answer any more: {error}") from None

    def _understood(self, place: int, job: Job, future: Any) -> RunRecord | str | None:
        """The record, the word that there is none, or None if the job was given out again."""
        from distributed.scheduler import KilledWorker

        try:
            said: dict[str, Any] = future.result(timeout=REACHED)
        except KilledWorker:
            return blank(job, Outcome.CRASHED, reason="the worker of Dask ended under it, again and again")
        except Exception as error:
            raise DaskError(f"a job on Dask failed: {type(error).__name__}: {error}") from None
        self._addresses[place] = said["address"]
        if "record" in said:
            return RunRecord.from_json(said["record"])
        if "missing" in said:
            return self._sends(place, job)
        if "impossible" in said:
            self._impossible.append(said["impossible"])
            return "impossible"
        raise DaskError(f"a worker of Dask, {said['address']}, cannot go on: {said.get('failed', 'closed')}")

    def _sends(self, place: int, job: Job) -> str | None:
        """Send the file of a job to its worker and give it the job again."""
        address, path = self._addresses[place], Path(job.path)
        if (address, job.problem, job.path) in self._sent:
            self._impossible.append(f"{job.path} does not arrive at the worker of Dask at {address}")
            return "impossible"
        try:
            content = path.read_bytes()
        except OSError as error:
            self._impossible.append(str(error))
            return "impossible"
        self._client.run(
            take_file, self._name, job.problem, path.name, content, workers=[address], on_error="ignore"
        )
        self._sent.add((address, job.problem, job.path))
        self._submit(place, job)
        return None


def _places(client: Any, address: str) -> dict[str, Environment]:
    """The environments of all workers by address, which must be one and the same."""
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
        if unlike:
            raise DaskError(
                f"the workers {first} and {name} of Dask differ in {', '.join(unlike)}, so their times"
                " may not stand in one table; use workers that are alike"
            )
    return places


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask says nothing of its own: what matters is said as records and errors."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _installed() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise DaskError('Dask is not installed; pip install "stickslip[dask]"') from None
