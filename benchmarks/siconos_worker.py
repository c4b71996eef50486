"""Runs inside the interpreter that has Siconos: solves files on request and says how long it took.

Requests come as lines of JSON on standard input, replies go as lines of JSON to what was standard
output; Siconos's own printing goes nowhere. Impulses are written to the .npy file named in the
request. Needs NumPy and Siconos only.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import siconos.numerics as sn

READ = {
    "friction": sn.frictionContact_new_from_filename,
    "rolling": sn.rollingFrictionContact_new_from_filename,
    "global": sn.globalFrictionContact_new_from_filename,
    "global-rolling": sn.globalRollingFrictionContact_new_from_filename,
}


def call(kind: str, problem: Any, velocities: int, options: Any) -> tuple[np.ndarray, Callable[[], int]]:
    """Impulses at zero, and the solve as a call without arguments."""
    size = problem.dimension * problem.numberOfContacts
    r, u = np.zeros(size), np.zeros(size)
    if kind.startswith("global"):
        v = np.zeros(velocities)
        driver = sn.gfc3d_driver if kind == "global" else sn.g_rolling_fc3d_driver
        return r, lambda: driver(problem, r, u, v, options)
    if kind == "rolling":
        driver = sn.rolling_fc3d_driver
    else:
        driver = sn.fc2d_driver if problem.dimension == 2 else sn.fc3d_driver
    return r, lambda: driver(problem, r, u, options)


def solve(request: dict[str, Any]) -> dict[str, Any]:
    """Solve one file over and over within a time box; the shortest time counts."""
    kind, best, done = request["kind"], float("inf"), 0
    solver = getattr(sn, request["solver"])
    end = time.perf_counter() + request["box"]
    while done == 0 or (done < request["most"] and time.perf_counter() < end):
        problem = READ[kind](request["file"])  # fresh: some solvers leave factors in it, or rounding
        options = sn.SolverOptions(solver)
        options.dparam[sn.SICONOS_DPARAM_TOL] = request["tolerance"]
        options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = request["iterations"]
        r, run = call(kind, problem, request["velocities"], options)
        cpu_start, start = time.process_time(), time.perf_counter()
        info = run()
        wall = time.perf_counter() - start
        cpu = time.process_time() - cpu_start
        best = min(best, cpu if wall > request["cpu_from"] else wall)
        done += 1
    np.save(request["answer"], r)
    iterations = int(options.iparam[sn.SICONOS_IPARAM_ITER_DONE])
    return {"info": int(info), "seconds": best, "repetitions": done, "iterations": iterations}


def main() -> None:
    """Answer requests until there are no more."""
    replies = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    replies.write("ready\n")
    replies.flush()
    for line in sys.stdin:
        try:
            reply = solve(json.loads(line))
        except Exception as error:  # its wrappers raise all sorts
            reply = {"failed": " ".join(str(error).split()) or type(error).__name__}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
