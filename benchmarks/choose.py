"""All solvers on problems of different kinds: problems solved to 1e-8, and times compared with auto.

    python benchmarks/choose.py [--each] [--json] [--solvers auto,clarabel,...]

The problems are those of scenes, and recorded problems if they are beside the checkout. Solvers have their
default options, including the iteration limit, and no time limit. Times are processor times of whole calls
without compilation, for short calls the shortest of four. All solutions are judged by Coulomb's law; those
that solve only the convex relaxation count as RELAXED.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from stickslip import BoxProblem, ContactProblem, GlobalProblem, Solution, Status, read, scenes
from stickslip.problem.convert import reduce_to_contacts
from stickslip.solvers import registry

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "problems"
RECORDED = {
    "Rover": "friction/Rover1039.dat",
    "OneObject": "friction/OneObject-i100000-316.hdf5.dat",
    "BoxesStack": "friction/BoxesStack1-i100000-32.hdf5.dat",
    "Capsules": "friction/Capsules-i122-1617.dat",
    "LMGC": "friction/LMGC_100_PR_PerioBox-i00361-60-03000.hdf5",
    "Kaplas": "friction/KaplasTower-i1061-4.hdf5.dat",
    "2D flow": "friction/fc2d_granularflowonwall_00667_00000.dat",
    "2D global": "friction/gfc2d_granularflowonwall_00069_00350.dat",
    "rolling": "rolling/rockfall_14_25792.dat",
}
"""One file of each family, by a short name."""
SCENES: dict[str, tuple[str, dict[str, Any]]] = {
    "incline": ("incline-problem", {}),
    "wall": ("wall-problem", {}),
    "packing at rest": ("packing-problem", {"spheres": 20}),
    "packing thrown": ("packing-problem", {"spheres": 60, "velocity": 1.0}),
}
"""Scenes and their options, by a short name."""
REPETITIONS = 4
"""Largest number of timed calls."""
SHORT = 0.2
"""Calls shorter than this are repeated [s]."""
TOLERANCE = 1e-8

Problem = ContactProblem | GlobalProblem


def problems() -> Iterator[tuple[str, Problem]]:
    """Yield the problems with their names; recorded ones only if they are available."""
    for name, (scene, options) in SCENES.items():
        yield name, scenes.make(scene, **options)
    for name, place in RECORDED.items():
        if (FOLDER / place).is_file():
            problem = read(FOLDER / place)
            assert not isinstance(problem, BoxProblem)
            yield name, problem


def kinds(problem: Problem) -> set[str]:
    """Return the kinds of block that a solver of this problem must accept, including joints."""
    K = reduce_to_contacts(problem).problem.K if isinstance(problem, GlobalProblem) else problem.K
    return {K.kind_name(i) for i in range(len(K))}


def timed(solver: registry.Solver, problem: Problem) -> tuple[Solution, float]:
    """Return the solution and the shortest processor time of a call without compilation [s]."""
    best = math.inf
    for _ in range(REPETITIONS):
        start = time.process_time()
        solution = solver.solve(problem)
        seconds = time.process_time() - start
        if solution.compile_seconds < 1e-3:
            best = min(best, seconds)
        if SHORT < best < math.inf:
            break
    return solution, best


def run(names: list[str]) -> list[dict[str, Any]]:
    """Return one row for each solver and problem that it accepts."""
    rows = []
    for name, problem in problems():
        for solver in registry.names(sorted(kinds(problem))):
            if solver not in names:
                continue
            solution, seconds = timed(registry.make(solver, tolerance=TOLERANCE), problem)
            rows.append(
                {
                    "problem": name,
                    "contacts": len(problem.K),
                    "solver": solver,
                    "status": solution.status.name,
                    "error": solution.residuals.error,
                    "iterations": solution.iterations,
                    "seconds": seconds,
                }
            )
            print(f"{name}: {solver} {solution.status.name} {seconds:.3g} s", file=sys.stderr)
    return rows


def summary(rows: list[dict[str, Any]], solver: str) -> dict[str, Any]:
    """Return the results of one solver on all problems that it accepts."""
    results = {row["problem"]: row for row in rows if row["solver"] == solver}
    auto = {row["problem"]: row for row in rows if row["solver"] == "auto"}
    solved = [name for name, row in results.items() if row["status"] == Status.SOLVED.name]
    both = [name for name in solved if auto[name]["status"] == Status.SOLVED.name]
    logs = [math.log(results[name]["seconds"] / auto[name]["seconds"]) for name in both]
    return {
        "solver": solver,
        "accepted": len(results),
        "solved": len(solved),
        "relaxed": sum(row["status"] == Status.RELAXED.name for row in results.values()),
        "approximate": sum(row["status"] == Status.APPROXIMATE.name for row in results.values()),
        "ratio": math.exp(sum(logs) / len(logs)) if logs else math.nan,
        "error": max((row["error"] for row in results.values()), default=math.nan),
        "missed": [name for name in results if name not in solved],
    }


def main() -> None:
    """Parse the command line, measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", action="store_true", help="also print one line for each solver and problem")
    parser.add_argument("--json", action="store_true", help="print only JSON")
    internal = [name for name in registry.names() if not registry.entry(name).package]
    parser.add_argument(
        "--solvers",
        default=",".join(internal),
        help="solvers to run, including auto (default: those of stickslip)",
    )
    arguments = parser.parse_args()
    selected = arguments.solvers.split(",")
    with threadpool_limits(1):
        rows = run(selected)
    summaries = [summary(rows, solver) for solver in selected if any(row["solver"] == solver for row in rows)]
    if arguments.json:
        print(json.dumps({"solves": rows, "solvers": summaries}, indent=2))
        return
    if arguments.each:
        for row in rows:
            print(
                f"{row['problem']:>16} {row['contacts']:5d} {row['solver']:>14} {row['status']:>15}"
                f" {row['error']:8.1e} {row['iterations']:7d} {1e3 * row['seconds']:10.3f} ms"
            )
    print(f"\n{len({row['problem'] for row in rows})} problems, tolerance {TOLERANCE:g}")
    print("| solver | solved of accepted | time over auto | worst error | not solved |")
    print("|---|---|---|---|---|")
    for s in sorted(summaries, key=lambda s: (-s["solved"], s["ratio"])):
        law = f", {s['relaxed']} RELAXED" if s["relaxed"] else ""
        law += f", {s['approximate']} APPROXIMATE" if s["approximate"] else ""
        ratio = f"{s['ratio']:.1f}" if s["ratio"] < 10.0 else f"{s['ratio']:.0f}"
        print(
            f"| `{s['solver']}` | {s['solved']} of {s['accepted']}{law} | {ratio}"
            f" | {s['error']:.0e} | {', '.join(s['missed']) or '–'} |"
        )


if __name__ == "__main__":
    main()
