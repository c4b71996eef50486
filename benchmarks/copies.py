"""A solver on copies of the recorded problems: perturbed, permuted, rotated, in other units.

Perturbed copies have u_free + W noise, the noise a share of the mean normal impulse of the original's
answer. The work of a copy is compared with that of the original, in operations or iterations.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from stickslip import ContactProblem, GlobalProblem, Solution, judge, read
from stickslip.problem.convert import Conversion, rescale
from stickslip.problem.copies import mean_impulse, permuted, perturbed, rotated
from stickslip.solvers import registry

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "problems"
UNITS = {"g, mm": (1e-3, 1e-3), "t, m": (1e3, 1.0), "kg, km": (1.0, 1e3)}
"""Other units of mass [kg] and length [m]."""
COSTLY = 20.0
"""Ratio to the work of the original above which a copy is costly [-]."""
MOST_FAILED, MOST_COSTLY = 1 / 200, 1 / 50
"""Allowed shares of the perturbed copies that fail, and that are costly [-]."""

Problem = ContactProblem | GlobalProblem


def work(solution: Solution) -> float:
    """Return the operations of a solve if the solver counts them, otherwise its iterations."""
    return solution.operations or float(solution.iterations)


def noisy_copies(
    problem: Problem, impulse: float, shares: list[float], seeds: int
) -> Iterator[tuple[str, Problem]]:
    """Yield perturbed copies with their names."""
    for share in shares:
        for seed in range(1, seeds + 1):
            yield f"noise {100 * share:g} %, seed {seed}", perturbed(problem, share * impulse, seed)


def equal_copies(problem: Problem, seeds: int) -> Iterator[tuple[str, Conversion[Any]]]:
    """Yield names and conversions of copies with an equivalent answer: permuted, rotated, other units."""
    for seed in range(1, seeds + 1):
        yield f"permuted, seed {seed}", permuted(problem, seed)
        yield f"rotated, seed {seed}", rotated(problem, seed)
    for name, (mass, length) in UNITS.items():
        yield f"units {name}", rescale(problem, mass * length, length, length)


def outcome(solution: Solution, original: Solution) -> dict[str, Any]:
    """Return the result of one copy, with its work relative to the original."""
    return {
        "ok": solution.ok, "status": solution.status.name, "error": solution.residuals.error,
        "work": work(solution), "ratio": work(solution) / max(work(original), 1.0),
        "seconds": solution.seconds,
    }  # fmt: skip


def run(problem: Problem, solver: registry.Solver, shares: list[float], seeds: int) -> dict[str, Any]:
    """Solve a problem and all its copies; return their results."""
    original = solver.solve(problem)
    impulse = mean_impulse(problem.K, original.r)
    noisy, equal = [], []
    if impulse > 0.0:  # otherwise no contact is active, and the noise would be zero
        for name, copy in noisy_copies(problem, impulse, shares, seeds):
            noisy.append({"copy": name, **outcome(solver.solve(copy), original)})
    for name, change in equal_copies(problem, seeds):
        solution = solver.solve(change.problem)
        answer = change.recover(solution.r)
        back = judge(problem, answer.r, answer.v, answer.lam)
        equal.append({"copy": name, **outcome(solution, original), "scaled_error_back": back.natural_scaled})
    return {
        "contacts": problem.contacts, "kinds": list(problem.K.census), "mean_impulse": impulse,
        "original": outcome(original, original), "noisy": noisy, "equal": equal,
    }  # fmt: skip


def summarize(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the numbers of failed and costly copies over all problems."""
    noisy = [copy for record in records for copy in record["noisy"]]
    equal = [(copy, record["original"]["ok"]) for record in records for copy in record["equal"]]
    return {
        "problems": len(records), "solved": sum(record["original"]["ok"] for record in records),
        "noisy": len(noisy), "noisy_failed": sum(not copy["ok"] for copy in noisy),
        "noisy_costly": sum(copy["ratio"] > COSTLY for copy in noisy),
        "equal": len(equal), "equal_failed": sum(ok and not copy["ok"] for copy, ok in equal),
        "equal_costly": sum(copy["ratio"] > COSTLY for copy, _ in equal),
    }  # fmt: skip


def print_tables(records: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    """Print one line per problem, the failed or costly copies, and the totals."""
    print(
        f"{'problem':<38} {'nc':>4} {'original':>14} {'work':>9}"
        f"   {'noisy: failed':>13} {'worst ratio':>11}   {'equal: failed':>13} {'worst ratio':>11}"
    )
    for record in records:
        cells = ""
        for kind in ("noisy", "equal"):
            failed = sum(not copy["ok"] for copy in record[kind])
            worst = max((copy["ratio"] for copy in record[kind]), default=0.0)
            cells += f"   {f'{failed} of {len(record[kind])}':>13} {worst:11.1f}"
        original = record["original"]
        print(
            f"{record['problem'][:38]:<38} {record['contacts']:4d} {original['status'].lower():>14}"
            f" {original['work']:9.0f}{cells}"
        )
    print("\nFailed or costly:")
    for record in records:
        for copy in record["noisy"] + record["equal"]:
            if not copy["ok"] or copy["ratio"] > COSTLY:
                print(
                    f"  {record['problem'][:38]:<38} {copy['copy']:<20} {copy['status'].lower():<14}"
                    f" error {copy['error']:.1e}, {copy['ratio']:.1f} times the work"
                )
    s = summary
    print(
        f"\nOriginals solved: {s['solved']} of {s['problems']}\n"
        f"Perturbed copies: {s['noisy_failed']} of {s['noisy']} failed (allowed:"
        f" {MOST_FAILED * s['noisy']:.1f}), {s['noisy_costly']} cost more than {COSTLY:g} times the original"
        f" (allowed: {MOST_COSTLY * s['noisy']:.1f})\n"
        f"Permuted, rotated, other units: {s['equal_failed']} of {s['equal']} failed with a solved"
        f" original, {s['equal_costly']} cost more than {COSTLY:g} times the original"
    )


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", type=Path, default=[FOLDER / "friction", FOLDER / "rolling"],
                        metavar="PATH", help="files or folders (default: friction and rolling)")  # fmt: skip
    parser.add_argument("--solver", default="auto", help="name of the solver")
    parser.add_argument("--tolerance", type=float, default=1e-10)
    parser.add_argument("--noise", nargs="+", type=float, default=[2.0, 10.0, 50.0], metavar="PERCENT",
                        help="noise, in per cent of the mean normal impulse")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds for each kind of copy")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write records and summary")
    options = parser.parse_args()
    if options.solver not in registry.names():
        parser.error(f"no solver {options.solver!r}; known: {', '.join(registry.names())}")
    return options


def main() -> None:
    """Solve the problems and their copies, and print the tables."""
    options = arguments()
    solver = registry.make(options.solver, tolerance=options.tolerance)
    folders = (sorted(folder.iterdir()) if folder.is_dir() else [folder] for folder in options.problems)
    paths = [path for folder in folders for path in folder]
    records = []
    with threadpool_limits(1):
        for k, path in enumerate(paths):
            problem = read(path)
            if not isinstance(problem, ContactProblem | GlobalProblem) or not problem.contacts:
                continue
            start = time.perf_counter()
            shares = [percent / 100.0 for percent in options.noise]
            records.append({"problem": path.stem, **run(problem, solver, shares, options.seeds)})
            failed = sum(not copy["ok"] for copy in records[-1]["noisy"] + records[-1]["equal"])
            seconds = time.perf_counter() - start
            print(f"[{k + 1}/{len(paths)}] {path.name}: {failed} failed ({seconds:.1f} s)",
                  file=sys.stderr, flush=True)  # fmt: skip
    summary = summarize(records)
    print_tables(records, summary)
    if options.json:
        options.json.write_text(json.dumps({"records": records, "summary": summary}, indent=1) + "\n")


if __name__ == "__main__":
    main()
