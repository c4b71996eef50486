"""The process of Siconos: its interpreter, requests and replies, and its end.

It belongs to the process group of its parent, and ends with its standard input.
"""

import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stickslip.bench.records import Outcome
from stickslip.bench.running.child import Child, Garbled, understood

VARIABLE = "STICKSLIP_SICONOS"
"""Environment variable that may name the interpreter."""
START = 60.0
"""Time limit for importing Siconos [s]."""
LATER = 1.0
"""Time after the limit at which the process ends itself, if its parent has not ended it [s]."""
GLANCE = 0.1
"""Time between two checks of the memory of the process [s]."""
LONGEST = 100_000
"""Largest length of a reply [bytes]."""
LAST = 0.2
"""Time limit for the end of a silent process [s]."""
TIMES = ("wall", "wall_median", "wall_longest", "cpu", "cpu_median", "cpu_longest")
"""Times of a reply: shortest, median and longest of all calls [s]."""
NUMBERS = ("info", "seconds", *TIMES, "repetitions", "iterations", "memory")
"""Numbers of a reply."""
PROBE = "import numpy, siconos.numerics, siconos; print('siconos', getattr(siconos, 'version', 'unknown'))"


@dataclass(frozen=True)
class Found:
    """An interpreter that imports Siconos, or the reasons why there is none."""

    python: str | None
    """The interpreter; None if there is none."""
    version: str = ""
    """Version of Siconos: `4.5.0`."""
    tried: tuple[str, ...] = ()
    """Interpreters that were tried without success, with the reasons."""

    def __bool__(self) -> bool:
        return self.python is not None

    @property
    def source(self) -> str:
        """Source in records: `siconos 4.5.0`."""
        return f"siconos {self.version}" if self else ""


@cache
def find_siconos(given: str | None = None) -> Found:
    """Find an interpreter that imports Siconos: `given`, or the first of STICKSLIP_SICONOS, this interpreter,
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
    """Return the version of Siconos, or an empty text and the reason why there is none."""
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
    """Environment variables: one thread, and no modules of this environment."""
    items = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return items | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class NoAnswer(Exception):  # noqa: N818 (describes a state)
    """A request without an answer: its outcome and the reason."""

    def __init__(self, outcome: Outcome, reason: str):
        super().__init__(reason)
        self.outcome, self.reason = outcome, reason


class SiconosProcess:
    """A process of Siconos, restarted on demand if it has ended."""

    def __init__(self, python: str, files: Sequence[int] = (), memory: float = math.inf):
        """files: open files for its use; memory: limit of its growth since its start [MiB]."""
        self.python, self.files, self.memory = python, tuple(files), memory
        self._child: Child | None = None
        self._before = 0.0

    def ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        """Return the reply to `request` within `limit` seconds, or raise `NoAnswer` with the reason."""
        child = self._child or self._started()
        child.send(request | {"limit": limit + LATER})
        try:
            line = self._line(child, limit)
            reply = understood(line)
        except Garbled:
            reply = {}
        if isinstance(reply.get("failed"), str):
            raise NoAnswer(Outcome.RAISED, reply["failed"][:300])
        if not all(_is_number(reply.get(name)) for name in NUMBERS):
            self.close()
            raise NoAnswer(Outcome.RAISED, f"invalid reply: {line[:60]!r}")
        return reply

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def _started(self) -> Child:
        # As text, so that the folder of the file with its modules is not on the path.
        program = Path(__file__).with_name("worker.py").read_text(encoding="utf-8")
        try:
            child = self._child = Child(
                [self.python, "-c", program], _environment(), stderr=subprocess.DEVNULL, cwd="/",
                pass_fds=self.files,
            )  # fmt: skip
            ready = self._line(child, START)
        except (OSError, NoAnswer) as error:
            raise NoAnswer(Outcome.CRASHED, f"it does not start: {error}") from None
        if ready != b"ready":
            self.close()
            raise NoAnswer(Outcome.CRASHED, "it does not start")
        self._before = child.memory() or 0.0
        return child

    def _line(self, child: Child, limit: float) -> bytes:
        """Read the next line of the process; end it if it exceeds the limit of time or memory."""
        end = time.monotonic() + limit
        try:
            while not (lines := child.lines(min(end - time.monotonic(), GLANCE))):
                if child.silent:
                    raise NoAnswer(Outcome.CRASHED, f"it {child.end_as_it_does(LAST)}")
                if math.isfinite(self.memory) and (child.memory() or 0.0) - self._before > self.memory:
                    raise NoAnswer(Outcome.MEMORY, f"it took more than {self.memory:.0f} MiB")
                if time.monotonic() >= end:
                    raise NoAnswer(Outcome.TIMEOUT, f"no answer within {limit:.1f} s")
            if len(lines[0]) > LONGEST:
                raise Garbled
        except Garbled:
            self.close()
            raise NoAnswer(Outcome.RAISED, f"its reply has more than {LONGEST} bytes") from None
        except NoAnswer:
            self.close()
            raise
        return lines[0]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
