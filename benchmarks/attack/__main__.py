"""Attack every solver and every scheme with random degenerate problems and count false claims.

    python -m benchmarks.attack --solves 100000 --runs 10000 --seed 0 --workers 2
    python -m benchmarks.attack --solves 5000 --only nsgs
    python -m benchmarks.attack --replay out/attack/nsgs-0-17.npz

The claims SOLVED, RELAXED, INFEASIBLE, `existence`, `ok` of runs, `exists` of derivatives, and interrupted
runs are checked by formulas that do not import stickslip (`laws`, `proofs`, `motions`, `systems`). Every
false claim is written to a file for --replay. The exit code is 1 if there are false claims.
"""

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.attack import derivatives, runs, solves
from benchmarks.attack.campaign import summary, table, tasks, work


def main() -> int:
    """Parse the command line, run the attack, and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--solves", type=int, default=1000, help="problems to solve")
    parser.add_argument("--runs", type=int, default=100, help="runs to make")
    parser.add_argument("--derivatives", type=int, default=0, help="steps to differentiate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", help="one solver, or one scheme with --solves 0")
    parser.add_argument("--external", action="store_true", help="include installed external solvers")
    parser.add_argument(
        "--out", type=Path, default=Path("out/attack"), help="folder for false claims and counts"
    )
    parser.add_argument("--replay", type=Path, help="repeat the false claim of a file")
    arguments = parser.parse_args()
    if arguments.replay:
        return bool(replay(arguments.replay))
    arguments.out.mkdir(parents=True, exist_ok=True)
    tallies: dict[str, Any] = {
        "solves": solves.Tally(),
        "runs": runs.Tally(),
        "derivatives": derivatives.Tally(),
    }
    counts = {"solves": arguments.solves, "runs": arguments.runs, "derivatives": arguments.derivatives}
    done, start = Counter[str](), perf_counter()
    with ProcessPoolExecutor(arguments.workers, get_context("spawn")) as pool:
        waiting = [
            pool.submit(work, kind, part, arguments.seed, arguments.only, arguments.external, arguments.out)
            for kind, part in tasks(counts)
        ]
        for future in as_completed(waiting):
            kind, size, tally = future.result()
            tallies[kind].add(tally)
            done[kind] += size
            false = sum(len(one.false) for one in tallies.values())
            progress = ", ".join(f"{done[name]} of {count} {name}" for name, count in counts.items() if count)
            print(
                f"{progress}; {false} false claims; {perf_counter() - start:.0f} s",
                file=sys.stderr,
                flush=True,
            )
            (arguments.out / "figures.json").write_text(
                json.dumps({"done": done, **summary(tallies)}, indent=1)
            )
    for kind, tally in tallies.items():
        if tally.claims:
            print(table(kind, tally.claims), end="\n\n")
    return report(tallies)


def report(tallies: dict[str, Any]) -> int:
    """Print every false claim; return 1 if there are any."""
    false = [line for tally in tallies.values() for line in tally.false]
    for line in false:
        method = line.get("solver") or line.get("scheme")
        print(f"FALSE {method} {line['claim']} {line['family']}: {line['why'][0]}  {line.get('file', '')}")
    print(f"{len(false)} false claims")
    return int(bool(false))


def replay(path: Path) -> list[str]:
    """Repeat the false claim of a file; return its faults."""
    if path.suffix == ".npz":
        return solves.replay(path)
    return derivatives.replay(path) if path.name.startswith("derivative") else runs.replay(path)


if __name__ == "__main__":
    sys.exit(main())
