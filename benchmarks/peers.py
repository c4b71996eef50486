"""Compare Siconos with our solvers on the same files, with our judge on the recorded problems.

Siconos (Debian package python3-siconos) is optional and runs in its own interpreter. Each of its solvers is
tried in every suitable storage and at tolerances from loose to tight; the fastest setting whose answer our
judge accepts counts. Peers must pass only `natural`; ours must pass `natural`, `natural_scaled` and the other
conditions of the judge. Times are the shortest of several in alternating turns; the peer's is that of its
driver call, ours that of the whole call. With `--clock cpu`, solves of more than a millisecond are measured
in processor time on both sides, for busy machines.

Global problems in 3D are solved by Siconos's global drivers, and both times include the condensation. Those
in 2D, which its drivers do not accept, are condensed first, and neither time includes it.
"""

import argparse
import json
import math
import os
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from stickslip import ContactProblem, GlobalProblem, read
from stickslip.bench.siconos.peer import METHODS, Peer, Run, find_siconos
from stickslip.files.dat import kind_of
from stickslip.problem import Residuals
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.mass import MassMatrix
from stickslip.solvers import registry

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "problems" / "friction"
ROUNDS, BOX, MOST = 5, 0.05, 2_000
"""Number of alternating turns of peers and ours; time [s] and repetitions of each in a turn, at most."""
SLOW = 0.2
"""Time from which a solve is timed in two turns only [s]."""
FINALISTS, NEAR = 4, 3.0
"""Number of peers that are timed again beside ours, and their largest ratio to the best time [-]."""
CPU_FROM = {"wall": math.inf, "cpu": 1e-3}
"""Wall time from which processor time is used, by choice of the clock [s]; shorter solves are rarely
disturbed."""
LARGE, SMALL = 20, 9
"""Smallest number of contacts for the ratio of times, and largest for the cost of a call."""


def note(text: str) -> None:
    """Print progress on standard error."""
    print(text, file=sys.stderr, flush=True)


def fresh(problem: ContactProblem | GlobalProblem) -> ContactProblem | GlobalProblem:
    """Return the problem without the cached factors of M of an earlier solve."""
    return replace(problem, M=MassMatrix(problem.M.matrix)) if isinstance(problem, GlobalProblem) else problem


def recorded_storage(path: Path) -> str:
    """Return the storage of the (first) matrix of a file; matrices of HDF5 files are sparse."""
    words = path.read_bytes()[:1000].split()
    return {b"0": "dense", b"1": "block"}.get(words[2], "sparse") if path.suffix == ".dat" else "sparse"


class Ours:
    """Our solver on one problem, with its last solution and its shortest times."""

    def __init__(self, solver: registry.Solver, problem: ContactProblem | GlobalProblem, cpu_from: float):
        self.solver, self.problem, self.cpu_from = solver, problem, cpu_from
        self.whole = self.compiled = math.inf
        solver.solve(fresh(problem))  # compiles
        self.time(0.0, 1)

    def time(self, box: float, most: int) -> None:
        """Solve for `box` seconds, at most `most` times, at least once."""
        end, done = time.perf_counter() + box, 0
        while done == 0 or (done < most and time.perf_counter() < end):
            problem = fresh(self.problem)
            cpu_start, start = time.process_time(), time.perf_counter()
            self.solution = self.solver.solve(problem)
            wall = time.perf_counter() - start
            cpu = time.process_time() - cpu_start
            self.whole = min(self.whole, cpu if wall > self.cpu_from else wall)
            self.compiled = min(self.compiled, self.solution.seconds, self.whole)
            done += 1


def measure(
    path: Path,
    problem: ContactProblem | GlobalProblem,
    solver: registry.Solver | None,
    python: str | None,
    tolerance: float,
    timeout: float,
    cpu_from: float,
) -> dict[str, Any]:
    """Solve one problem by the peers and by our solver; return the record."""
    form = "local" if isinstance(problem, ContactProblem) else "global"
    if form == "global" and problem.contacts and (kind_of(problem), problem.K.dimension) not in METHODS:
        form, problem = "condensed", reduce_to_contacts(problem).problem
    recorded = "block" if form == "condensed" else recorded_storage(path)
    runs: list[Run] = []
    with Peer(python or "", problem, cpu_from=cpu_from, natural_alone=True) as peer:
        if python is not None:
            runs = peer.search(tolerance, timeout)
        ours = None if solver is None else Ours(solver, problem, cpu_from)
        passing = sorted((run for run in runs if run.passed), key=lambda run: run.seconds)
        finalists = [run for run in passing if run.seconds <= NEAR * passing[0].seconds][:FINALISTS]
        counted = [run for run in passing if run.method.counts]
        counted = counted[:2] + [run for run in counted if run.storage == recorded][:2]
        finalists += [run for run in dict.fromkeys(counted) if run not in finalists]
        others = [run for run in runs if run not in finalists]
        slowest = max([run.seconds for run in finalists] + [ours.whole if ours else 0.0])
        for _ in range(ROUNDS if slowest < SLOW else 2):
            if ours is not None:
                ours.time(BOX, MOST)
            finalists = [peer.time(run, tolerance, BOX, MOST, timeout) for run in finalists]
    return {
        "problem": path.stem, "contacts": problem.contacts, "dimension": problem.K.dimension or 0,
        "form": form, "storage": recorded, "peers": [_peer_record(run) for run in finalists + others],
        "ours": None if ours is None else _our_record(ours),
    }  # fmt: skip


def _peer_record(run: Run) -> dict[str, Any]:
    """Record of a run of a peer."""
    return {
        "solver": run.method.name, "storage": run.storage, "counts": run.method.counts,
        "tolerance": run.tolerance, "seconds": run.seconds if run.passed else None, "passed": run.passed,
        "failed": run.failed, **_measures(run.residuals),
    }  # fmt: skip


def _our_record(ours: Ours) -> dict[str, Any]:
    """Record of our solver."""
    solution = ours.solution
    return {
        "solver": solution.solver, "ok": solution.ok, "status": solution.status.name,
        "iterations": solution.iterations, "seconds": ours.whole, "compiled_seconds": ours.compiled,
        **_measures(solution.residuals),
    }  # fmt: skip


def _measures(residuals: Residuals | None) -> dict[str, float | None]:
    if residuals is None:
        return {"natural": None, "natural_scaled": None}
    return {"natural": residuals.natural, "natural_scaled": residuals.natural_scaled}


def best_peer(record: dict[str, Any], every: bool = False, recorded: bool = False) -> dict[str, Any] | None:
    """Return the fastest peer that passed, or None.

    every: include peers that do not count in comparisons. recorded: only matrices in the storage of the file.
    """
    passed = [
        p
        for p in record["peers"]
        if p["passed"] and (every or p["counts"]) and (not recorded or p["storage"] == record["storage"])
    ]
    return min(passed, key=lambda p: p["seconds"]) if passed else None


def print_table(records: list[dict[str, Any]]) -> None:
    """Print one line per problem."""
    print(
        f"{'problem':<38} {'nc':>4} {'d':>1} {'form':<9} {'best peer':<17} {'peer ms':>9} {'ours ms':>9}"
        f" {'compiled':>9} {'ratio':>6}  natural/scaled: {'peer':<15} ours"
    )
    for record in records:
        peer, ours = best_peer(record), record["ours"]
        ratio = peer["seconds"] / ours["seconds"] if peer and ours and ours["ok"] else None
        print(
            f"{record['problem'][:38]:<38} {record['contacts']:4d} {record['dimension']:1d}"
            f" {record['form']:<9} {peer['solver'] + '/' + peer['storage'] if peer else '-':<17}"
            f" {_ms(peer, 'seconds')} {_ms(ours, 'seconds')} {_ms(ours, 'compiled_seconds')}"
            f" {'-' if ratio is None else format(ratio, '.2f'):>6}  {'':<15} {_pair(peer):<15} {_pair(ours)}"
            + ("" if ours is None or ours["ok"] else f" {ours['status']}")
        )


def _ms(row: dict[str, Any] | None, key: str) -> str:
    return f"{'-':>9}" if row is None else f"{1e3 * row[key]:9.4f}"


def _pair(row: dict[str, Any] | None) -> str:
    return "-" if row is None else f"{row['natural']:.0e}/{row['natural_scaled']:.0e}"


def print_cells(records: list[dict[str, Any]]) -> None:
    """Print the time of every solver of Siconos on every problem, in its best storage."""
    print("\nEvery solver of Siconos in its best storage [ms]; those in brackets do not count")
    for record in records:
        cells = []
        for name in dict.fromkeys(p["solver"] for p in record["peers"]):
            runs = [p for p in record["peers"] if p["solver"] == name]
            passed = [p for p in runs if p["passed"]]
            if passed:
                cell = f"{name} {1e3 * min(p['seconds'] for p in passed):.4g}"
            else:
                reasons = dict.fromkeys(p["failed"] or "not accurate" for p in runs)
                cell = f"{name} failed ({'; '.join(reasons)[:60]})"
            cells.append(cell if runs[0]["counts"] else f"[{cell}]")
        print(f"{record['problem'][:38]:<38} {', '.join(cells) or '-'}")


def summarize(records: list[dict[str, Any]], tolerance: float) -> dict[str, Any]:
    """Return the numbers of solved problems, and the ratios of times."""
    summary: dict[str, Any] = {
        "tolerance": tolerance,
        "peer_solves": sum(best_peer(r) is not None for r in records),
        "peer_solves_scaled": sum(
            any(p["passed"] and p["counts"] and p["natural_scaled"] <= tolerance for p in r["peers"])
            for r in records
        ),
        "problems": len(records),
    }
    if any(r["ours"] is None for r in records):
        return summary
    summary["ours_solves"] = sum(r["ours"]["ok"] for r in records)
    summary["peer_only"] = [r["problem"] for r in records if best_peer(r, True) and not r["ours"]["ok"]]
    both = [(r, best_peer(r)) for r in records if best_peer(r) and r["ours"]["ok"]]
    large = [r for r, _ in both if r["contacts"] >= LARGE]
    choices = {
        "best peer": (large, {}),
        "best peer, local and condensed problems only": ([r for r in large if r["form"] != "global"], {}),
        "best peer, matrices held as in the file": (large, {"recorded": True}),
        "best of every solver that was run": (large, {"every": True}),
    }
    summary["ratios"] = {name: _ratio(chosen, **options) for name, (chosen, options) in choices.items()}
    summary["small"] = [
        {
            "problem": r["problem"], "form": r["form"],
            "compiled_over_peer": r["ours"]["compiled_seconds"] / p["seconds"],
            "call_minus_peer_us": 1e6 * (r["ours"]["seconds"] - p["seconds"]),
        }
        for r, p in both if 1 <= r["contacts"] <= SMALL
    ]  # fmt: skip
    return summary


def _ratio(records: list[dict[str, Any]], **options: bool) -> dict[str, Any]:
    """Return the geometric mean of the best peer's time over that of our whole call."""
    logs = [math.log(p["seconds"] / r["ours"]["seconds"]) for r in records if (p := best_peer(r, **options))]
    return {"problems": len(logs), "ratio": math.exp(sum(logs) / len(logs)) if logs else None}


def print_summary(summary: dict[str, Any], solver: str) -> None:
    """Print the summary."""
    print(
        f"\nAt {summary['tolerance']:.0e}: peers solve {summary['peer_solves']} of"
        f" {summary['problems']} problems by natural alone, {summary['peer_solves_scaled']} of them"
        " by natural_scaled as well"
    )
    if "ours_solves" not in summary:
        return
    print(f"{solver} solves {summary['ours_solves']} (by every measure)")
    print(f"A peer succeeds and {solver} fails: {', '.join(summary['peer_only']) or 'nowhere'}")
    print(f"{LARGE} contacts and more, time of the peer over that of the whole call, geometric mean:")
    for name, row in summary["ratios"].items():
        if row["ratio"] is not None:
            print(f"  {row['ratio']:6.2f}  {name} ({row['problems']} problems)")
    print(f"\n1 to {SMALL} contacts: compiled part over best peer, and whole call minus best peer")
    for row in summary["small"]:
        print(
            f"  {row['problem'][:38]:<38} {row['form']:<9} {row['compiled_over_peer']:6.2f}"
            f" {row['call_minus_peer_us']:+9.1f} µs"
        )
    slower = sum(row["compiled_over_peer"] > 1.0 for row in summary["small"])
    dearer = sum(row["call_minus_peer_us"] > 20.0 for row in summary["small"])
    print(f"  of {len(summary['small'])}: compiled part slower on {slower}, call over +20 µs on {dearer}")


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", type=Path, default=[FOLDER], metavar="PATH",
                        help="files or folders (default: the recorded friction problems)")  # fmt: skip
    parser.add_argument("--solver", default="auto", help="our solver, or 'none' for only the peers")
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--timeout", type=float, default=20.0, help="time limit of one peer's solver [s]")
    parser.add_argument("--clock", choices=tuple(CPU_FROM), default="wall", help="cpu: for busy machines")
    parser.add_argument("--siconos-python", metavar="PATH", help="an interpreter that imports siconos")
    parser.add_argument("--cells", action="store_true", help="also print every solver of Siconos")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write records and summary")
    options = parser.parse_args()
    if options.solver not in ("none", *registry.names()):
        parser.error(f"no solver {options.solver!r}; known: none, {', '.join(registry.names())}")
    return options


def main() -> None:
    """Measure the problems, and print the tables."""
    options = arguments()
    siconos = find_siconos(options.siconos_python)
    if not siconos:
        print("Siconos is not installed, so this run has no peers (Debian: python3-siconos). Tried:")
        print("\n".join(f"  {line}" for line in siconos.tried))
    paths = [path for place in options.problems
             for path in (sorted(place.iterdir()) if place.is_dir() else [place])]  # fmt: skip
    solver = None if options.solver == "none" else registry.make(options.solver, tolerance=options.tolerance)
    records = []
    with threadpool_limits(1):
        for k, path in enumerate(paths):
            problem = read(path)
            if not isinstance(problem, ContactProblem | GlobalProblem):
                note(f"{path.name}: not a contact problem, skipped")
                continue
            start = time.perf_counter()
            records.append(
                measure(
                    path,
                    problem,
                    solver,
                    siconos.python,
                    options.tolerance,
                    options.timeout,
                    CPU_FROM[options.clock],
                )
            )
            peer = best_peer(records[-1])
            fastest = f"{peer['solver']} {1e3 * peer['seconds']:.4g} ms" if peer else "no peer solves it"
            note(f"[{k + 1}/{len(paths)}] {path.name}: {fastest} ({time.perf_counter() - start:.1f} s)")
    summary = summarize(records, options.tolerance)
    print(f"Load average {os.getloadavg()[0]:.1f}, {platform.machine()}; one thread each")
    print_table(records)
    if options.cells:
        print_cells(records)
    print_summary(summary, options.solver)
    if options.json:
        options.json.write_text(json.dumps({"records": records, "summary": summary}, indent=1) + "\n")


if __name__ == "__main__":
    main()
