"""The worker process as its parent holds it: started, asked, read with bounds, watched, ended."""

import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import psutil

STARTING = 300.0
"""Time that a process has to come up [s]: importing for the first time may compile."""
LONGEST_ANSWER = 1 << 20
"""Most bytes of a line of a process."""
CHUNK = 1 << 16
LAST_WAIT = 5.0
"""For a process that was killed to be gone [s]."""
SOON = 2.0
"""For a process that closed its pipe to be gone by itself [s]."""
MIB = 2.0**20
MARK = "STICKSLIP_BENCH_PROCESS"
"""Variable of the environment that all processes inherit which a worker has started, and so are found."""
THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA", "VECLIB_MAXIMUM")
"""Libraries that are kept to one thread, as their variables of the environment begin."""


class Garbled(RuntimeError):  # noqa: N818 (it says what came)
    """What a process said is not what it should say."""


class StartFailure(RuntimeError):  # noqa: N818 (a failure is not an error of the caller)
    """A worker process does not come up: nothing about a solver."""


class Child:
    """One worker process."""

    def __init__(self) -> None:
        self._mark = secrets.token_hex(8)
        lifeline, self._lifeline = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "stickslip.bench.running.worker", str(lifeline)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
                env=_environment() | {MARK: self._mark}, pass_fds=(lifeline,), start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(lifeline)
        self.pid = self._process.pid
        self.memory = 0.0
        """What it had when it came up, and what was compiled since [MiB]."""
        self._buffer = b""
        self.silent = False
        """Whether it has ended, or closed its pipe."""
        self._lock = threading.RLock()

    def greet(self) -> None:
        """Wait until it is ready; `StartFailure` with its last words if it is not."""
        end = time.monotonic() + STARTING
        while time.monotonic() < end and not self.silent:
            for message in self.messages(0.2):
                if message.get("event") == "ready":
                    self.memory = float(message["memory"])
                    self._pipe("stderr").close()
                    return
        words = self._last_words()
        raise StartFailure(f"a worker process does not start: {words or 'it says nothing'}")

    def send(self, request: dict[str, Any]) -> None:
        """One line to it; one that has ended is found out when it does not answer."""
        with contextlib.suppress(OSError):
            self._pipe("stdin").write(json.dumps(request).encode() + b"\n")

    def messages(self, seconds: float) -> list[dict[str, Any]]:
        """The lines that have come, after at most so long; `Garbled` for what is no JSON object."""
        file = self._pipe("stdout").fileno()
        if not select.select([file], [], [], seconds)[0]:
            self.silent = self.ended()
            return []
        data = os.read(file, CHUNK)
        self.silent = not data
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        if len(self._buffer) > LONGEST_ANSWER:
            raise Garbled("its answer does not end")
        return [_object(line) for line in lines]

    def ended(self) -> bool:
        """Whether it is over; its number stays its own until `end`."""
        if self._process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def ends_soon(self) -> bool:
        """Whether it is over, or will be in a moment: its pipe closes before its code is known."""
        end = time.monotonic() + SOON
        while not self.ended() and time.monotonic() < end:
            time.sleep(0.01)
        return self.ended()

    def memory_now(self, family: bool) -> float | None:
        """What it has now [MiB], with all that it has started where `family` is asked for; None if gone."""
        try:
            process = psutil.Process(self.pid)
            total = process.memory_info().rss
            for one in process.children(recursive=True) if family else ():
                with contextlib.suppress(psutil.Error):
                    total += one.memory_info().rss
        except psutil.Error:
            return None
        return float(total / MIB)

    def has_family(self) -> bool:
        """Whether it has started processes that are still there."""
        with contextlib.suppress(psutil.Error):
            for one in psutil.Process(self.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if one.status() != psutil.STATUS_ZOMBIE:
                        return True
        return False

    def kill(self) -> None:
        """End it and all that it has started, at once; from any thread."""
        with self._lock:
            if self._process.returncode is not None:
                return
            # Its number cannot be another's by now: nobody has waited for it yet.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            for one in psutil.process_iter():  # those that have left for a session of their own
                with contextlib.suppress(psutil.Error, OSError):
                    if one.environ().get(MARK) == self._mark:
                        one.kill()

    def end(self) -> int | None:
        """The same, and let go of it; its exit code, None if even that has not ended it."""
        with self._lock:
            self.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(LAST_WAIT)
            for name in ("stdin", "stdout", "stderr"):
                with contextlib.suppress(OSError):
                    self._pipe(name).close()
            if self._lifeline >= 0:
                os.close(self._lifeline)
                self._lifeline = -1
            return self._process.returncode

    def _last_words(self) -> str:
        file = self._pipe("stderr").fileno()
        if not select.select([file], [], [], 0.0)[0]:
            return ""
        lines = os.read(file, CHUNK).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _pipe(self, name: str) -> Any:
        return getattr(self._process, name)


def _object(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise Garbled("its answer is garbled")
    return said


def _environment() -> dict[str, str]:
    """One thread, and modules found where this process finds them."""
    places = [place or os.getcwd() for place in sys.path]
    threads = {f"{name}_NUM_THREADS": "1" for name in THREADS}
    return dict(os.environ) | threads | {"PYTHONPATH": os.pathsep.join(places)}
