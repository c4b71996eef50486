"""Runs in the interpreter of Siconos: solves files on request and measures the time.

Requests are lines of JSON on standard input, replies are lines of JSON on the original standard output; the
output of Siconos is discarded. Problems and answers (impulses, and velocities of global problems) are passed
through unnamed files that the parent holds open. The process ends with its parent or standard input, and by
SIGALRM if a request exceeds its time limit, even in compiled code and without a parent. Requires only NumPy
and Siconos.
"""

import ctypes
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import siconos.numerics as sn

PR_SET_PDEATHSIG = 1
"""prctl command of Linux that sets the signal of the parent's death."""


def contact_reader(function: Callable[[str], Any]) -> Callable[[str], tuple[Any, int]]:
    """Make a reader of contact problems, which also returns the number of components of r."""

    def read(path: str) -> tuple[Any, int]:
        problem = function(path)
        return problem, problem.dimension * problem.numberOfContacts

    return read


def read_lcp(path: str) -> tuple[Any, int]:
    """Read a linear complementarity problem; return it and its size."""
    problem = sn.newLCP()
    sn.linearComplementarity_newFromFilename(problem, path)
    return problem, problem.size


def read_mlcp(path: str) -> tuple[Any, int]:
    """Read a mixed complementarity problem; return it and its size."""
    problem = sn.mixedLinearComplementarity_new()
    sn.mixedLinearComplementarity_newFromFilename(problem, path)
    return problem, problem.n + problem.m


READ = {
    "friction": contact_reader(sn.frictionContact_new_from_filename),
    "rolling": contact_reader(sn.rollingFrictionContact_new_from_filename),
    "global": contact_reader(sn.globalFrictionContact_new_from_filename),
    "global-rolling": contact_reader(sn.globalRollingFrictionContact_new_from_filename),
    "lcp": read_lcp,
    "mlcp": read_mlcp,
}


def most_memory() -> float:
    """Peak memory of this process [MiB]."""
    unit = 2.0**20 if sys.platform == "darwin" else 2.0**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


BEFORE = most_memory()
"""Peak memory before the first request [MiB]."""


def mlcp_driver(problem: Any, z: np.ndarray, w: np.ndarray, options: Any) -> int:
    """Call the driver of mixed problems with work space, which it does not allocate."""
    sn.mlcp_driver_init(problem, options)
    try:
        return int(sn.mlcp_driver(problem, z, w, options))
    finally:
        sn.mlcp_driver_reset(problem, options)


def call(
    kind: str, problem: Any, size: int, velocities: int, options: Any
) -> tuple[list[np.ndarray], Callable[[], int]]:
    """Zero impulses, and velocities of global problems, and the solve as a function without arguments."""
    r, u = np.zeros(size), np.zeros(size)
    if kind.startswith("global"):
        v = np.zeros(velocities)
        driver = sn.gfc3d_driver if kind == "global" else sn.g_rolling_fc3d_driver
        return [r, v], lambda: driver(problem, r, u, v, options)
    if kind == "friction":
        driver = sn.fc2d_driver if problem.dimension == 2 else sn.fc3d_driver
    else:
        driver = {
            "rolling": sn.rolling_fc3d_driver, "lcp": sn.linearComplementarity_driver, "mlcp": mlcp_driver,
        }[kind]  # fmt: skip
    return [r], lambda: driver(problem, r, u, options)


def solve(request: dict[str, Any]) -> dict[str, Any]:
    """Solve one file repeatedly within a time limit; the shortest times count."""
    kind, done = request["kind"], 0
    best, walls, cpus = float("inf"), [], []
    solver = getattr(sn, request["solver"])
    end = time.perf_counter() + request["box"]
    while done == 0 or (done < request["most"] and time.perf_counter() < end):
        os.lseek(request["file"], 0, os.SEEK_SET)  # where systems do not open it anew
        # Read anew: some solvers leave factors in it, or rounding. With a point: an extension is looked for.
        problem, size = READ[kind](f"/dev/fd/./{request['file']}")
        options = sn.SolverOptions(solver)
        options.dparam[sn.SICONOS_DPARAM_TOL] = request["tolerance"]
        options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = request["iterations"]
        answer, run = call(kind, problem, size, request["velocities"], options)
        cpu_start, start = time.process_time(), time.perf_counter()
        info = run()
        wall = time.perf_counter() - start
        cpu = time.process_time() - cpu_start
        best = min(best, cpu if wall > request["cpu_from"] else wall)
        walls.append(wall)
        cpus.append(cpu)
        done += 1
    with open(request["answer"], "r+b", closefd=False) as file:
        file.seek(0)
        np.save(file, np.concatenate(answer))
    return {
        "info": int(info), "seconds": best, "repetitions": done,
        "wall": min(walls), "wall_median": float(np.median(walls)), "wall_longest": max(walls),
        "cpu": min(cpus), "cpu_median": float(np.median(cpus)), "cpu_longest": max(cpus),
        "iterations": int(options.iparam[sn.SICONOS_IPARAM_ITER_DONE]), "memory": most_memory() - BEFORE,
    }  # fmt: skip


def end_with_parent() -> None:
    """Make the system end this process with its parent, if it supports that, even in compiled code."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))


def main() -> None:
    """Answer requests until the end of the input."""
    end_with_parent()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    replies = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    replies.write("ready\n")
    replies.flush()
    for line in sys.stdin:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, request["limit"])
        try:
            reply = solve(request)
        except Exception as error:  # its wrappers raise exceptions of any class
            reply = {"failed": " ".join(str(error).split()) or type(error).__name__}
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
