"""Time of the factorisation of M + rho H H', compared with SciPy and qdldl in the same run.

    python benchmarks/factor.py [--large] [--json]

Sphere packings (`stickslip.scenes`, periodic sideways) of about 1,000 and 10,000 contacts, 50,000 with
--large (ours only). All methods factor the same matrix in alternating turns, on one BLAS thread. Times are
the shortest CPU times of several calls, as the machine is shared. SciPy's splu is measured with its best
settings for a symmetric matrix (order MMD_AT_PLUS_A, symmetric mode, no row exchanges) and with its defaults.
Both compute the order in every call, so our time is also given including the analysis. qdldl is measured by
`update`, without its analysis. Then follow the quasi-definite matrices [M H; H' -D] of the same packings,
with D over eight decades, and the time of a new process to load the kernels. The benchmark takes about 80 s,
mostly for the other packages.
"""

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import qdldl
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from threadpoolctl import threadpool_limits

from stickslip.linalg.bodies import body_pattern, saddle_pattern
from stickslip.linalg.symbolic import analyse
from stickslip.problem.jacobian import ContactBlocks
from stickslip.scenes import make
from stickslip.scenes.packing import deposit

SPHERES = {1_000: 352, 10_000: 3_420, 50_000: 16_900}
"""Numbers of spheres by approximate number of contacts."""
REQUIRED = {1_000: 5.0, 10_000: 8.0}
"""Required ratio of the times of splu and of our factorisation [-]."""
BUDGET = 8.0
"""CPU time after which slow methods are not repeated [s]."""

LOAD = """
import time
start = time.process_time()
import numpy as np
from stickslip.linalg.bodies import body_pattern
from stickslip.linalg.symbolic import analyse
from stickslip.scenes.packing import deposit
packing = deposit(500)
loaded = time.process_time()
pattern = body_pattern(packing.bodies, 500)
values = np.zeros((pattern.one.size, 6, 6))
values[:500] = np.eye(6)
factor = analyse(pattern, positions=packing.centre).cholesky(values)
factor.solve(np.ones(3000))
print(time.process_time() - loaded)
"""


def best_of(actions: dict[str, Callable[[], Any]], repetitions: int) -> dict[str, float]:
    """Return the shortest CPU time of each action [s], in alternating turns with equal disturbances."""
    best, spent = dict.fromkeys(actions, math.inf), dict.fromkeys(actions, 0.0)
    for _ in range(repetitions):
        for name, action in actions.items():
            if spent[name] > BUDGET:
                continue
            start = time.process_time()
            action()
            seconds = time.process_time() - start
            best[name], spent[name] = min(best[name], seconds), spent[name] + seconds
    return best


def splu(A: sp.csc_matrix) -> Any:
    """Factor by SuperLU with its best settings for symmetric positive definite matrices."""
    return spla.splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})


def cholesky(contacts: int, peers: bool) -> dict[str, Any]:
    """Measure M + rho H H' of a packing with all methods; return one row."""
    spheres = SPHERES[contacts]
    problem, centre = make("packing-problem", spheres=spheres), deposit(spheres).centre
    H, M = problem.H, problem.M.matrix
    assert isinstance(H, ContactBlocks)
    rho = float(np.median(M[:, 0, 0]))
    pattern = body_pattern(H.bodies, spheres)
    values = pattern.values(M, H, rho)
    symbolic = analyse(pattern, positions=centre)
    factor = symbolic.cholesky(values)
    A, b = sp.csc_matrix(pattern.sparse(values)), np.random.default_rng(0).normal(size=pattern.size)
    actions: dict[str, Callable[[], Any]] = {
        "factor": lambda: factor.refactor(values),
        "solve": lambda: factor.solve(b),
        "analysis": lambda: analyse(body_pattern(H.bodies, spheres), positions=centre),
        "assembly": lambda: pattern.values(M, H, rho, out=values),
    }
    answers = {"ours": factor.solve(b)}
    if peers:
        solvers = {"splu": splu(A), "qdldl": qdldl.Solver(A)}
        answers |= {name: peer.solve(b) for name, peer in solvers.items()}
        actions |= {
            "splu": lambda: splu(A),
            "splu default": lambda: spla.splu(A),
            "qdldl": lambda: solvers["qdldl"].update(A),
            "splu solve": lambda: solvers["splu"].solve(b),
            "qdldl solve": lambda: solvers["qdldl"].solve(b),
        }
    row: dict[str, Any] = {
        "contacts": problem.contacts,
        "gigaflop": symbolic.flops / 1e9,
        "megabytes": 8e-6 * (symbolic.entries + symbolic.stack),
        "residual": {k: float(np.abs(A @ x - b).max() / np.abs(b).max()) for k, x in answers.items()},
        "ms": {k: 1e3 * s for k, s in best_of(actions, 12 if contacts < 5_000 else 4).items()},
    }
    if peers:
        ours = row["ms"]["factor"]
        row["ratio"] = {name: row["ms"][name] / ours for name in ("splu", "splu default", "qdldl")}
        row["ratio"]["splu, ours with analysis"] = row["ms"]["splu"] / (ours + row["ms"]["analysis"])
        row["required"] = REQUIRED[contacts]
    return row


def quasi_definite(contacts: int) -> dict[str, Any]:
    """Measure [M H; H' -D] of a packing, with D over eight decades; return one row."""
    spheres = SPHERES[contacts]
    problem, centre = make("packing-problem", spheres=spheres), deposit(spheres).centre
    H, M = problem.H, problem.M.matrix
    assert isinstance(H, ContactBlocks)
    random = np.random.default_rng(0)
    D = 10.0 ** random.uniform(-4.0, 4.0, problem.contacts) / float(np.median(M[:, 0, 0]))
    pattern = saddle_pattern(H.bodies, H.offset, spheres)
    values = pattern.values(M, H, np.repeat(D, 3))
    symbolic = analyse(pattern, positions=centre)
    factor, b = symbolic.quasi_definite(values), random.normal(size=pattern.size)
    actions: dict[str, Callable[[], Any]] = {
        "factor": lambda: factor.refactor(values),
        "solve": lambda: factor.solve(b),
    }
    if contacts < 5_000:
        K = sp.csc_matrix(pattern.sparse(values))
        peer = qdldl.Solver(K)
        actions |= {"qdldl": lambda: peer.update(K), "qdldl solve": lambda: peer.solve(b)}
    seconds = best_of(actions, 6)
    return {
        "contacts": problem.contacts,
        "ms": {name: 1e3 * s for name, s in seconds.items()},
        "refinements": factor.refinements,
        "backward_error": factor.backward_error,
        "replaced": factor.replaced,
    }


def load_time() -> float:
    """Return the CPU time of the first analysis, factor and solve of a process with cached kernels [s]."""
    runs = [subprocess.run([sys.executable, "-c", LOAD], capture_output=True, check=True) for _ in range(3)]
    return min(float(done.stdout) for done in runs)


def main() -> None:
    """Parse the command line, measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the tables as JSON")
    parser.add_argument(
        "--large", action="store_true", help="also 50,000 contacts, without the other packages"
    )
    arguments = parser.parse_args()
    with threadpool_limits(1):
        rows = [cholesky(contacts, contacts in REQUIRED) for contacts in SPHERES if contacts in REQUIRED]
        if arguments.large:
            rows.append(cholesky(50_000, False))
        signed = [quasi_definite(contacts) for contacts in REQUIRED]
    load = load_time()
    if arguments.json:
        print(json.dumps({"cholesky": rows, "quasi_definite": signed, "load_s": load}, indent=2))
        return
    print("M + rho H H' of sphere packings, CPU time, one thread (ms)")
    for row in rows:
        ms = row["ms"]
        print(
            f"{row['contacts']:6d} contacts: factor {ms['factor']:.2f}, solve {ms['solve']:.3f},"
            f" analysis {ms['analysis']:.2f}, assembly {ms['assembly']:.2f};"
            f" {row['gigaflop']:.3g} Gflop, {row['megabytes']:.3g} MB, residual {row['residual']['ours']:.1e}"
        )
        for name in ("splu", "splu default", "qdldl"):
            if name in ms:
                solve = f", solve {ms[f'{name} solve']:.2f}" if f"{name} solve" in ms else ""
                residual = f", residual {row['residual'][name]:.1e}" if name in row["residual"] else ""
                print(f"{name:>22}: {ms[name]:10.1f}, {row['ratio'][name]:6.1f} times ours{solve}{residual}")
        if "required" in row:
            verdict = "reached" if row["ratio"]["splu"] >= row["required"] else "NOT REACHED"
            print(
                f"{'required':>22}: {row['required']:.0f} times splu: {verdict};"
                f" with our analysis {row['ratio']['splu, ours with analysis']:.1f} times"
            )
    print("\n[M H; H' -D] of the same, D over eight decades (ms)")
    for row in signed:
        ms = row["ms"]
        peer = f"; qdldl {ms['qdldl']:.1f}, solve {ms['qdldl solve']:.2f}" if "qdldl" in ms else ""
        print(
            f"{row['contacts']:6d} contacts: factor {ms['factor']:.2f}, solve {ms['solve']:.2f}"
            f" ({row['refinements']} refinements), backward error {row['backward_error']:.1e},"
            f" {row['replaced']} pivots replaced{peer}"
        )
    print(f"\nFirst analysis, factor and solve of a new process, kernels from Numba's cache: {load:.2f} s")


if __name__ == "__main__":
    main()
