"""Child processes that communicate by lines of JSON: start, send, read with bounds, end."""

import contextlib
import json
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import psutil

LONGEST_ANSWER = 1 << 20
"""Largest length of a line of a process [bytes]."""
CHUNK = 1 << 16
"""Largest number of bytes per read."""
LAST_WAIT = 5.0
"""Time limit for the end of a killed process [s]."""
SOON = 2.0
"""Time limit for the end of a process that closed its pipe [s]."""
MIB = 2.0**20


class Garbled(RuntimeError):  # noqa: N818 (describes a message)
    """A process has sent an invalid message."""


class Child:
    """A process, its standard input and output, and its descendants."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], *, mark: tuple[str, str] | None = None,
        **how: Any,
    ):  # fmt: skip
        """mark: environment variable by which its descendants are found; the process then has its own
        session. how: arguments of `subprocess.Popen`."""
        self._mark = mark
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
            env=dict(environment) | dict([mark] if mark else []), start_new_session=mark is not None, **how,
        )  # fmt: skip
        self.pid = self._process.pid
        self.silent = False
        """Whether the process has ended or closed its pipe."""
        self._buffer, self._lock = b"", threading.RLock()

    def send(self, request: dict[str, Any]) -> None:
        """Send one line; errors of an ended process are ignored, as it will not answer."""
        with contextlib.suppress(OSError):
            self._pipe("stdin").write(json.dumps(request).encode() + b"\n")

    def lines(self, seconds: float) -> list[bytes]:
        """Received lines, after waiting at most `seconds`; raise `Garbled` for a line that is too long."""
        file = self._pipe("stdout").fileno()
        if not select.select([file], [], [], max(seconds, 0.0))[0]:
            self.silent = self.ended()
            return []
        data = os.read(file, CHUNK)
        self.silent = not data
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        if len(self._buffer) > LONGEST_ANSWER:
            raise Garbled("its answer does not end")
        return lines

    def last_words(self) -> str:
        """Last line of the standard error of the process."""
        file = self._pipe("stderr").fileno()
        data = os.read(file, CHUNK) if select.select([file], [], [], 0.0)[0] else b""
        return (data.decode(errors="replace").strip().splitlines() or [""])[-1]

    def ended(self) -> bool:
        """Whether the process has ended; its process id is not reused before `end`."""
        if self._process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def memory(self, family: bool = False) -> float | None:
        """Memory of the process [MiB], with `family` including its descendants; None if it has ended."""
        try:
            process = psutil.Process(self.pid)
            total = process.memory_info().rss
            for descendant in process.children(recursive=True) if family else ():
                with contextlib.suppress(psutil.Error):
                    total += descendant.memory_info().rss
        except psutil.Error:
            return None
        return float(total / MIB)

    def has_family(self) -> bool:
        """Whether the process has running descendants."""
        with contextlib.suppress(psutil.Error):
            for descendant in psutil.Process(self.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if descendant.status() != psutil.STATUS_ZOMBIE:
                        return True
        return False

    def kill(self) -> None:
        """Kill the process, and if it is marked its descendants; may be called by any thread."""
        with self._lock:
            if self._process.returncode is not None:
                return
            if self._mark is None:
                self._process.kill()
                return
            # The process id has not been reused, as nobody has waited for the process yet.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            for process in psutil.process_iter():  # descendants in other sessions
                with contextlib.suppress(psutil.Error, OSError):
                    if process.environ().get(self._mark[0]) == self._mark[1]:
                        process.kill()

    def end(self) -> int | None:
        """Kill the process and wait for it; return its exit code, or None if it has not ended."""
        with self._lock:
            self.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(LAST_WAIT)
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            return self._process.returncode

    def end_as_it_does(self, seconds: float = SOON) -> str:
        """Describe the end of a silent process, after waiting for its exit code."""
        end = time.monotonic() + seconds
        while not self.ended() and time.monotonic() < end:
            time.sleep(0.01)
        by_itself, code = self.ended(), self.end()
        if not by_itself:
            return "has closed its pipe"
        if code is None:
            return "cannot be ended"
        if code >= 0:
            return f"ended by itself with code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"was ended by {name}{', perhaps by the system for want of memory' * (name == 'SIGKILL')}"

    def _pipe(self, name: str) -> Any:
        return getattr(self._process, name)


def understood(line: bytes) -> dict[str, Any]:
    """Parse the JSON object of a line; raise `Garbled` for other content."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise Garbled("its answer is garbled")
    return message
