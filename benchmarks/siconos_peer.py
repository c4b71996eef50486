"""Siconos as a peer: its solvers, in its own interpreter, one process per problem.

Problems go over as text files in Siconos's own format, 17 digits, in each storage that may suit a
solver; impulses come back as .npy. A crash, a hang or an error of Siconos costs one cell of the
table: the process is ended and a new one started.
"""

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from stickslip.files import write
from stickslip.files.dat_write import kind_of
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.residuals import Residuals, judge

LADDER = (1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-4, 1e-6, 1e-10, 1e-14, 1e-18, 1e-22)
"""Tolerances given to Siconos, over the one asked for, until our judge agrees; where its measure is
absolute and the numbers are tiny, it takes the last ones."""
ITERATIONS = 10_000_000
"""So many that only time limits a solver."""
SLOWER = 10.0
"""A solver is given up when it takes so many times longer than the best so far."""
LEAST = 1.0
"""But never before so many seconds."""
QUICK, FEW = 0.02, 5
"""Time box [s] and repetitions of a first trial."""


@dataclass(frozen=True, slots=True)
class Method:
    """One solver of Siconos."""

    name: str
    """Name in the table."""
    constant: str
    """Name of its number in `siconos.numerics`."""
    counts: bool = True
    """Whether it is one of NSGS, PROX, ADMM and NSN_AC, which are compared with."""


def _methods(prefix: str, names: str, counted: str = "NSGS PROX ADMM NSN_AC") -> tuple[Method, ...]:
    return tuple(
        Method(name, prefix + name, name.removesuffix("_WR") in counted.split()) for name in names.split()
    )


METHODS = {
    ("friction", 2): _methods("SICONOS_FRICTION_2D_", "NSGS CPG LEMKE ENUM"),
    ("friction", 3): _methods("SICONOS_FRICTION_3D_", "PROX NSN_AC NSGS ADMM"),
    ("rolling", 5): _methods("SICONOS_ROLLING_FRICTION_3D_", "NSGS ADMM"),
    ("global", 3): _methods(
        "SICONOS_GLOBAL_FRICTION_3D_", "PROX_WR NSN_AC_WR NSN_AC NSGS_WR NSGS ADMM_WR ADMM"
    ),
    ("global-rolling", 5): _methods("SICONOS_GLOBAL_ROLLING_FRICTION_3D_", "NSGS_WR"),
}
"""Solvers by kind of problem and components of a contact, those likely to be fast first."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one solver of Siconos did on one problem."""

    method: Method
    storage: str
    """How its matrices were held: dense, block or sparse."""
    tolerance: float = 0.0
    """Tolerance given to Siconos, on its own measure."""
    seconds: float = float("inf")
    """Shortest time of the driver call [s]."""
    residuals: Residuals | None = None
    """Our judge's measures on the original problem."""
    passed: bool = False
    """Whether natural is at most the tolerance asked for."""
    failed: str = ""
    """Why there is no answer, if there is none."""

    @property
    def name(self) -> str:
        """Name for the table."""
        return f"{self.method.name}/{self.storage}"


def find_interpreter(given: str | None) -> tuple[str | None, list[str]]:
    """An interpreter that imports Siconos, and what was tried."""
    candidates = [given] if given else [sys.executable, "/usr/bin/python3", shutil.which("python3") or ""]
    tried = []
    for candidate in dict.fromkeys(filter(None, candidates)):
        probe = [candidate, "-c", "import siconos.numerics, numpy"]
        try:
            done = subprocess.run(probe, capture_output=True, text=True, timeout=60, env=_environment())
        except (OSError, subprocess.TimeoutExpired) as error:
            tried.append(f"{candidate}: {error}")
            continue
        if done.returncode == 0:
            return candidate, tried
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        tried.append(f"{candidate}: {last}")
    return None, tried


def _environment() -> dict[str, str]:
    """One thread, and none of our own modules in the way."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return kept | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Peer:
    """A process with Siconos in it, for one problem."""

    def __init__(
        self,
        python: str,
        problem: ContactProblem | GlobalProblem,
        folder: Path,
        cpu_from: float = float("inf"),
    ):
        """`folder`: where the files of this problem may go; `cpu_from`: solves that take longer [s]
        are measured in processor time."""
        self.python, self.problem, self.folder, self.cpu_from = python, problem, folder, cpu_from
        self.kind = kind_of(problem) or ""
        self.methods = METHODS.get((self.kind, problem.K.dimension or 0), ()) if problem.contacts else ()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Peer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def storages(self) -> tuple[str, ...]:
        """The storages worth trying: dense while it is small, sparse once it is not."""
        if self.kind.startswith("global"):
            return ("sparse", "block", "dense") if self.problem.M.size <= 500 else ("sparse", "block")
        nc = self.problem.contacts
        sparse = nc >= 50 and self.problem.K.dimension == 3  # its other drivers do not take it
        return ("block",) + ("dense",) * (nc <= 100) + ("sparse",) * sparse

    def search(self, tolerance: float, timeout: float) -> list[Run]:
        """Each solver at the loosest tolerance of the ladder with which our judge is content."""
        runs: list[Run] = []
        best = float("inf")
        for method in self.methods:
            for storage in self.storages():
                limit = min(timeout, max(LEAST, SLOWER * best))
                run = self._climb(Run(method, storage), tolerance, limit)
                if run.passed:
                    best = min(best, run.seconds)
                runs.append(run)
        return runs

    def _climb(self, run: Run, tolerance: float, limit: float) -> Run:
        """Tighter and tighter until it passes; the whole ladder takes at most `limit` seconds."""
        end = time.perf_counter() + limit
        for share in LADDER:
            run = replace(run, tolerance=share * tolerance)
            run = self.time(run, tolerance, QUICK, FEW, end - time.perf_counter())
            if run.passed or run.failed:
                break
        return run

    def time(self, run: Run, tolerance: float, box: float, most: int, limit: float) -> Run:
        """Run it for `box` seconds, at most `most` times; the shortest time so far counts."""
        answer = self.folder / "answer.npy"
        request = {
            "kind": self.kind, "file": str(self._file(run.storage)), "solver": run.method.constant,
            "tolerance": run.tolerance, "iterations": ITERATIONS, "box": box, "most": most,
            "answer": str(answer), "cpu_from": self.cpu_from,
            "velocities": self.problem.M.size if isinstance(self.problem, GlobalProblem) else 0,
        }  # fmt: skip
        reply = self._ask(request, max(limit, 0.1) + box)
        if "failed" in reply:
            return replace(run, failed=reply["failed"], passed=False)
        r = np.load(answer, allow_pickle=False)
        residuals = judge(self.problem, r) if np.isfinite(r).all() else None
        passed = residuals is not None and residuals.natural <= tolerance
        seconds = min(reply["seconds"], run.seconds) if run.passed else reply["seconds"]
        return replace(run, seconds=seconds, residuals=residuals, passed=passed)

    def _file(self, storage: str) -> Path:
        path = self.folder / f"{storage}.dat"
        if not path.exists():
            write(path, self.problem, storage=storage)
        return path

    def _ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        if self._process is None and not self._started():
            return {"failed": "it does not start"}
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = self._line(limit)
        except OSError:
            line = b""
        if line is not None and line.endswith(b"\n"):
            reply: dict[str, Any] = json.loads(line)
            return reply
        self._end()
        if line is None:
            return {"failed": f"no answer within {limit:.1f} s"}
        code = process.returncode
        return {"failed": f"crash (signal {-code})" if code < 0 else f"ended with code {code}"}

    def _started(self) -> bool:
        worker = Path(__file__).with_name("siconos_worker.py")
        self._process = subprocess.Popen(
            [self.python, str(worker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=_environment(), cwd=self.folder,
        )  # fmt: skip
        if self._line(60.0) != b"ready\n":
            self._end()
        return self._process is not None

    def _line(self, limit: float) -> bytes | None:
        """The next line of the process, empty if it ended, None if none came in time."""
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], limit)
        return self._process.stdout.readline() if ready else None

    def _end(self) -> None:
        """End the process; one that ended by itself keeps its own code."""
        if self._process is None:
            return
        process, self._process = self._process, None
        assert process.stdin is not None
        assert process.stdout is not None
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
