"""Solvers of a user's own, good ones and very bad ones. They run in processes of the benchmark."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import stickslip.solvers.gauss_seidel  # noqa: F401 (that the first call need not)
from stickslip import solve

SECOND = 1_000_000
HOARD = []


class Good:
    """The answer as an array; tells nothing."""

    def solve(self, problem):
        return solve(problem, "nsgs", tolerance=1e-10).r


@dataclass
class Told:
    """Takes a tolerance, an option, and tells its progress."""

    tolerance: float = 1e-3
    steps: int = 1

    def solve(self, problem, *, guess=None, progress=None):
        for step in range(self.steps):
            if self.steps > 1:
                time.sleep(0.02)
            if progress is not None:
                progress(step, 1.0 / (step + 1))
        return solve(problem, "nsgs", tolerance=self.tolerance)


class Segfault:
    def solve(self, problem):
        ctypes.string_at(0)


class Leaves:
    def solve(self, problem):
        sys.exit("goodbye")


class Spins:
    def solve(self, problem):
        while True:
            pass


class HoldsTheInterpreter:
    """A call of C that never lets go of the interpreter, nor hears any signal that can be ignored."""

    def solve(self, problem):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM, signal.SIGIO):
            signal.signal(number, signal.SIG_IGN)
        if "STICKSLIP_TEST_TOKEN" in os.environ:
            Path(os.environ["STICKSLIP_TEST_TOKEN"], "holding").touch()
        ctypes.PyDLL(None).usleep(600 * SECOND)


class Absurd:
    def solve(self, problem):
        return np.ones(1 << 40)


class Grows:
    """Asks for memory in small pieces until it is stopped."""

    def solve(self, problem):
        pieces = []
        while True:
            pieces.append(np.ones(1 << 22))
            time.sleep(0.005)


class Threads:
    """Solves, and leaves a thread behind."""

    def solve(self, problem):
        threading.Thread(target=time.sleep, args=(600.0,), daemon=True).start()
        return solve(problem, "nsgs", tolerance=1e-10)


class Leaks:
    """Solves, and keeps memory."""

    def solve(self, problem):
        HOARD.append(np.ones(20 << 20))
        return solve(problem, "nsgs", tolerance=1e-10)


class Floods:
    """Prints without end, then solves."""

    def solve(self, problem):
        for _ in range(50):
            print("x" * 100_000)
            os.write(1, b"y" * 100_000 + b"\n")
            os.write(2, b"z" * 100_000 + b"\n")
        return solve(problem, "nsgs", tolerance=1e-10).r


class NotNumbers:
    def solve(self, problem):
        return np.full(problem.size, np.nan)


class WrongShape:
    def solve(self, problem):
        return np.zeros(problem.size + 1)


class Nothing:
    def solve(self, problem):
        return None


class Liar:
    """Says SOLVED of an answer that is none."""

    def solve(self, problem):
        good = solve(problem, "nsgs", tolerance=1e-10)
        return good.with_(r=1.01 * good.r)


class Modest:
    """Says of a good answer that it is none."""

    def solve(self, problem):
        solution = solve(problem, "nsgs", tolerance=1e-10)
        return solution.with_(status=type(solution.status).STALLED, reason="no idea")


class Raises:
    def solve(self, problem):
        raise RuntimeError("this is\nnot my\x1b day")


class Picky:
    def solve(self, problem):
        raise NotImplementedError("I take nothing")


class Fickle:
    """Another answer in the last bit, each time."""

    calls = 0

    def solve(self, problem):
        Fickle.calls += 1
        r = solve(problem, "nsgs", tolerance=1e-12).r.copy()
        r[0] *= 1.0 + 1e-12 * Fickle.calls
        return r


class Forger:
    """Changes the problem until its answer is right."""

    def solve(self, problem):
        ctypes.memset(problem.u_free.ctypes.data, 0, problem.u_free.nbytes)
        return np.zeros(problem.size)


class Parent:
    """Leaves a process behind, in a session of its own, that holds every pipe it can."""

    def solve(self, problem):
        if os.fork() == 0:
            os.setsid()
            time.sleep(600.0)
            os._exit(0)
        os._exit(4)


class Nurse:
    """Leaves a process behind and solves."""

    def solve(self, problem):
        if not HOARD:
            HOARD.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]))
        return solve(problem, "nsgs", tolerance=1e-10).r


class Twin:
    """Doubles the process, and both come back."""

    def solve(self, problem):
        os.fork()
        return solve(problem, "nsgs", tolerance=1e-10).r


class Compiles:
    """Compiles for half a second at its first call, by Numba's own lock, and works for a moment."""

    done = False

    def solve(self, problem):
        from numba.core.compiler_lock import global_compiler_lock

        if not Compiles.done:
            with global_compiler_lock:
                end = time.perf_counter() + 0.5
                while time.perf_counter() < end:
                    pass
            Compiles.done = True
        time.sleep(0.02)
        return solve(problem, "nsgs", tolerance=1e-10).r


class CompilesForever:
    def solve(self, problem):
        from numba.core.compiler_lock import global_compiler_lock

        with global_compiler_lock:
            time.sleep(600.0)


class Wanders:
    """Goes elsewhere in the file system."""

    def solve(self, problem):
        os.chdir("/")
        return solve(problem, "nsgs", tolerance=1e-10).r


class Heavy:
    """Takes 100 MiB for a moment."""

    def solve(self, problem):
        np.ones(100 << 17).sum()
        return solve(problem, "nsgs", tolerance=1e-10).r


class Closes:
    """Closes every file that is open, and goes on for ever."""

    def solve(self, problem):
        os.closerange(0, 100)
        time.sleep(600.0)


class Vandal:
    """Writes without end wherever it can: into the pipe of the benchmark too."""

    def solve(self, problem):
        while True:
            for number in range(3, 12):
                try:
                    os.set_blocking(number, False)
                    os.write(number, b"x" * 65536)
                except OSError:
                    continue


class Counts:
    """Wants a problem that no earlier call has left its factors in."""

    calls = 0

    def solve(self, problem):
        Counts.calls += 1
        assert "_factor" not in problem.M.__dict__
        problem.M.solve(problem.f)
        return solve(problem, "nsgs", tolerance=1e-10)


class Remembers:
    """Keeps its answer for the next call, and needs a moment without it."""

    def __init__(self):
        self.answer = None

    def solve(self, problem):
        if self.answer is None:
            time.sleep(0.02)
            self.answer = solve(problem, "nsgs", tolerance=1e-10).r
        return self.answer


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError


class RaisesUnspeakably:
    def solve(self, problem):
        raise UnspeakableError
