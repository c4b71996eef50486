"""What runs inside a worker of Dask: one warm process of ours, and the files of problems it was sent.

Only JSON and bytes come and go. Jobs run one at a time on a worker, however many threads it has. All of a
campaign ends with `leave`, or some time after its last job if nobody says so.
"""

import tempfile
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from stickslip.bench.environment import here
from stickslip.bench.jobs import Job, Limits
from stickslip.bench.running.attempt import JobError
from stickslip.bench.running.process import Closed, WarmProcess

IDLE = 1800.0
"""A campaign that has sent nothing for so long is taken for dead [s]."""
KEPT = 2**30
"""Bytes of files that are kept, at most; those of one problem in any case."""


def take_job(campaign: str, job: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    """Run a job on this worker: its record, or what is missing, or why it cannot be run."""
    from distributed import get_worker

    worker = get_worker()
    said = _seat(worker, campaign).run(Job.from_json(job), Limits(**limits))
    return {"address": worker.address, **said}


def take_file(campaign: str, problem: str, name: str, content: bytes, dask_worker: Any) -> None:
    """Keep the file of a problem on this worker."""
    _seat(dask_worker, campaign).keep(problem, name, content)


def arrive() -> dict[str, Any]:
    """The environment of this worker, as JSON holds it."""
    return here().as_json()


def leave(campaign: str, dask_worker: Any) -> None:
    """End all of a campaign on this worker, at once; jobs of it that come later are refused."""
    _seat(dask_worker, campaign).close()


class Seat:
    """One campaign on one worker: a warm process and a folder."""

    def __init__(self, turn: threading.Lock):
        """`turn`: held while a job runs, the same for all campaigns."""
        self._turn, self._lock = turn, threading.Lock()
        self._process = WarmProcess("dask")
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: dict[tuple[str, str], Path] = {}
        self._closed = False
        self._timer: threading.Timer | None = None

    def run(self, job: Job, limits: Limits) -> dict[str, Any]:
        """The record of a job, or what stands in its way."""
        with self._turn:
            with self._lock:
                sent = self._files.get((job.problem, Path(job.path).name))
            path = sent or Path(job.path)
            if not path.exists():
                return {"missing": True}
            self._rest(None)
            try:
                record = self._process.run(replace(job, path=str(path)), limits)
            except JobError as error:
                # The path may mean another file here.
                return {"impossible": str(error)} if sent else {"missing": True}
            except Closed:
                return {"closed": True}
            except Exception as error:  # the machine's fault, not the solver's
                return {"failed": f"{type(error).__name__}: {error}"}
            finally:
                self._rest(IDLE)
        return {"record": replace(record, environment=record.environment or here()).as_json()}

    def keep(self, problem: str, name: str, content: bytes) -> None:
        """Keep a file, and drop older ones where all together are too large."""
        with self._lock:
            if self._closed:
                return
            self._folder = self._folder or tempfile.TemporaryDirectory(prefix="stickslip-")
            while self._files and sum(path.stat().st_size for path in self._files.values()) > KEPT:
                self._files.pop(next(iter(self._files))).unlink()
            path = Path(tempfile.mkdtemp(dir=self._folder.name)) / Path(name).name
            path.write_bytes(content)
            self._files[problem, name] = path

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


_LOCK = threading.Lock()


def _seat(worker: Any, campaign: str) -> Seat:
    """The one of a campaign on that worker, made on its first job; kept with the worker, since several may
    share a process."""
    with _LOCK:
        turn = worker.__dict__.setdefault("stickslip_turn", threading.Lock())
        seat: Seat = worker.__dict__.setdefault("stickslip_seats", {}).setdefault(campaign, Seat(turn))
        return seat
