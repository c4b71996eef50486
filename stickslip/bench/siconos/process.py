"""The process that Siconos runs in: its interpreter, requests and replies, and its end.

It stays in the process group of the one that starts it, and ends with its standard input.
"""

import contextlib
import json
import math
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from stickslip.bench.records import Outcome

VARIABLE = "STICKSLIP_SICONOS"
"""Environment variable that may name the interpreter."""
START = 60.0
"""Time that an interpreter may take to import Siconos [s]."""
LATER = 1.0
"""After the end of its time, the process ends itself so much later, if nobody else has done it [s]."""
GLANCE = 0.1
"""Time between two looks at the memory of the process [s]."""
LAST = 0.2
"""Time that it has to end by itself [s]."""
LONGEST = 100_000
"""Bytes of a reply, at most."""
PROBE = "import numpy, siconos.numerics, siconos; print('siconos', getattr(siconos, 'version', 'unknown'))"


@dataclass(frozen=True)
class Found:
    """An interpreter that imports Siconos, or why there is none."""

    python: str | None
    """The interpreter; None where there is none."""
    version: str = ""
    """What Siconos says of itself: `4.5.0`."""
    tried: tuple[str, ...] = ()
    """Interpreters that were tried in vain, each with what came of it."""

    def __bool__(self) -> bool:
        return self.python is not None

    @property
    def source(self) -> str:
        """What runs, as records say it: `siconos 4.5.0`."""
        return f"siconos {self.version}" if self else ""


@cache
def find_siconos(given: str | None = None) -> Found:
    """An interpreter that imports Siconos: `given`, or the first that does of STICKSLIP_SICONOS, this one,
    /usr/bin/python3 and python3 on the path."""
    usual = [os.environ.get(VARIABLE), sys.executable, "/usr/bin/python3", shutil.which("python3")]
    tried: list[str] = []
    for candidate in dict.fromkeys([given] if given else filter(None, usual)):
        assert candidate is not None
        version, message = _probed(candidate)
        if version:
            return Found(candidate, version, tuple(tried))
        tried.append(f"{candidate}: {message}")
    return Found(None, "", tuple(tried))


def _probed(python: str) -> tuple[str, str]:
    """The version of Siconos, empty if there is none, and then why."""
    try:
        done = subprocess.run(
            [python, "-c", PROBE], capture_output=True, text=True, errors="replace", timeout=START,
            env=_environment(), stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    words = (done.stdout.strip().splitlines() or [""])[-1].split()
    if done.returncode == 0 and len(words) == 2 and words[0] == "siconos":
        return words[1][:40], ""
    return "", (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1][:200]


def _environment() -> dict[str, str]:
    """One thread, and none of our own modules in the way."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return kept | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class NoAnswer(Exception):  # noqa: N818 (it says what is)
    """A request that has no answer: what became of it, and why."""

    def __init__(self, outcome: Outcome, reason: str):
        super().__init__(reason)
        self.outcome, self.reason = outcome, reason


class SiconosProcess:
    """A process with Siconos in it; one that ended is started anew by the next request."""

    def __init__(self, python: str, files: Sequence[int] = (), memory: float = math.inf):
        """`files`: open ones that it may use; `memory`: what it may take more than at its start [MiB]."""
        self.python, self.files, self.memory = python, tuple(files), memory
        self._process: subprocess.Popen[bytes] | None = None
        self._read, self._before = b"", 0

    def ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        """The reply to `request` within `limit` seconds; a `NoAnswer` says why there is none."""
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request | {"limit": limit + LATER}).encode() + b"\n")
            process.stdin.flush()
            line = self._line(limit)
        except OSError:  # it has ended
            line = b""
        except NoAnswer:
            self.close()
            raise
        if line:
            return self._understood(line)
        ended = self.close()
        code = process.returncode
        how = f"crash (signal {-code})" if code < 0 else f"it ended with code {code}"
        raise NoAnswer(Outcome.CRASHED, how if ended else "it closed its pipe and went on")

    def close(self) -> bool:
        """End the process; whether it ended by itself, and has its own code."""
        if self._process is None:
            return True
        process, self._process, self._read = self._process, None, b""
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()
        try:
            process.wait(LAST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False
        return True

    def _start(self) -> None:
        # As text: the folder of the file, full of other modules, stays out of its path.
        program = Path(__file__).with_name("worker.py").read_text(encoding="utf-8")
        try:
            self._process = subprocess.Popen(
                [self.python, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=_environment(), cwd="/", pass_fds=self.files, bufsize=0,
            )  # fmt: skip
            ready = self._line(START)
        except OSError as error:
            raise NoAnswer(Outcome.CRASHED, f"it does not start: {error}") from None
        except NoAnswer as error:
            self.close()
            raise NoAnswer(Outcome.CRASHED, f"it does not start: {error.reason}") from None
        if ready != b"ready\n":
            self.close()
            raise NoAnswer(Outcome.CRASHED, "it does not start")
        self._before = self._resident()

    def _line(self, limit: float) -> bytes:
        """The next line of the process, empty if it ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        end = time.monotonic() + limit
        while b"\n" not in self._read:
            left = end - time.monotonic()
            if left <= 0.0:
                raise NoAnswer(Outcome.TIMEOUT, f"no answer within {limit:.1f} s")
            if self._resident() - self._before > self.memory * 2**20:
                raise NoAnswer(Outcome.MEMORY, f"it took more than {self.memory:.0f} MiB")
            if select.select([self._process.stdout], [], [], min(left, GLANCE))[0]:
                some = os.read(self._process.stdout.fileno(), LONGEST)
                if not some:
                    return b""
                self._read += some
            if len(self._read) > LONGEST:
                raise NoAnswer(Outcome.RAISED, f"its reply has more than {LONGEST} bytes")
        line, _, self._read = self._read.partition(b"\n")
        return line + b"\n"

    def _understood(self, line: bytes) -> dict[str, Any]:
        """The reply that a line holds."""
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if isinstance(reply, dict) and isinstance(reply.get("failed"), str):
            raise NoAnswer(Outcome.RAISED, reply["failed"][:300])
        numbers = ("info", "seconds", "wall", "cpu", "repetitions", "iterations", "memory")
        if isinstance(reply, dict) and all(_is_number(reply.get(name)) for name in numbers):
            return reply
        self.close()
        raise NoAnswer(Outcome.RAISED, f"its reply is none: {line[:60]!r}")

    def _resident(self) -> int:
        """Bytes of memory it has now; 0 once it ended."""
        if math.isinf(self.memory) or self._process is None:
            return 0
        try:
            return int(psutil.Process(self._process.pid).memory_info().rss)
        except psutil.Error:
            return 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
