"""Attack every solver and every scheme with random degenerate problems and count false claims.

    python -m benchmarks.attack --solves 100000 --runs 10000 --seed 0 --workers 2
    python -m benchmarks.attack --solves 5000 --only nsgs
    python -m benchmarks.attack --replay out/attack/nsgs-0-17.npz

SOLVED, RELAXED, INFEASIBLE, `existence`, `ok` of runs, `exists` of derivatives and what interrupts leave are
checked by formulas that import nothing of stickslip (`laws`, `proofs`, `motions`, `systems`). Every false claim
is written to a file that --replay takes. The exit code is 1 if there is any.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.attack import derivatives, runs, solves

CHUNK = {"solves": 250, "runs": 50, "derivatives": 25}
"""Problems of one task of a worker."""


def work(kind: str, indices: range, seed: int, only: str, external: bool, folder: Path) -> tuple[str, int, Any]:
    """One task: its kind, how many it was, and what it counted."""
    if kind == "solves":
        names = [only] if only else solves.solver_names(external)
        return kind, len(indices), solves.attack(indices, seed, names, folder)
    if kind == "runs":
        return kind, len(indices), runs.attack(indices, seed, folder, only=only)
    return kind, len(indices), derivatives.attack(indices, seed, folder)


def tasks(counts: dict[str, int]) -> Iterable[tuple[str, range]]:
    """All tasks, those of the kinds in turn so that early figures tell of all."""
    queues = [
        [(kind, range(i, min(i + CHUNK[kind], count))) for i in range(0, count, CHUNK[kind])]
        for kind, count in counts.items()
    ]
    while any(queues):
        queues = [queue for queue in queues if queue]
        queue = min(queues, key=lambda q: -len(q))
        yield queue.pop(0)


def table(title: str, claims: Counter[tuple[str, str]]) -> str:
    """Claims by who made them, as text."""
    names = sorted({name for name, _ in claims})
    kinds = sorted({claim for _, claim in claims})
    width = max(map(len, (*names, title)), default=0)
    lines = [f"{title:<{width}} " + " ".join(f"{kind:>18}" for kind in kinds)]
    for name in (*names, "all"):
        counts = [sum(v for (n, c), v in claims.items() if c == kind and name in (n, "all")) for kind in kinds]
        lines.append(f"{name:<{width}} " + " ".join(f"{count or '':>18}" for count in counts))
    return "\n".join(lines)


def summary(counted: dict[str, Any]) -> dict[str, Any]:
    """What was counted, as JSON takes it."""
    out: dict[str, Any] = {}
    for kind, tally in counted.items():
        out[kind] = {
            "claims": {f"{name}: {claim}": n for (name, claim), n in sorted(tally.claims.items())},
            "families": {": ".join(key): n for key, n in sorted(tally.families.items())},
            "seconds": {name: round(s, 3) for name, s in sorted(tally.seconds.items())},
            "false": tally.false,
        }
    return out


def main() -> int:
    """Read the command line, attack, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solves", type=int, default=1000, help="problems to solve")
    parser.add_argument("--runs", type=int, default=100, help="runs to make")
    parser.add_argument("--derivatives", type=int, default=0, help="steps to differentiate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--only", default="", help="one solver, or one scheme with --solves 0")
    parser.add_argument("--external", action="store_true", help="solvers of others that are installed, too")
    parser.add_argument("--out", type=Path, default=Path("out/attack"), help="folder of false claims and figures")
    parser.add_argument("--replay", type=Path, help="a file of a false claim, to be tried again")
    given = parser.parse_args()
    if given.replay:
        return bool(replay(given.replay))
    given.out.mkdir(parents=True, exist_ok=True)
    counted: dict[str, Any] = {
        "solves": solves.Tally(), "runs": runs.Tally(), "derivatives": derivatives.Tally()
    }
    counts = {"solves": given.solves, "runs": given.runs, "derivatives": given.derivatives}
    done, start = Counter[str](), perf_counter()
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        waiting = [
            pool.submit(work, kind, part, given.seed, given.only, given.external, given.out)
            for kind, part in tasks(counts)
        ]
        for future in as_completed(waiting):
            kind, size, tally = future.result()
            counted[kind].add(tally)
            done[kind] += size
            false = sum(len(one.false) for one in counted.values())
            told = ", ".join(f"{done[name]} of {count} {name}" for name, count in counts.items() if count)
            print(f"{told}; {false} false claims; {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
            (given.out / "figures.json").write_text(json.dumps({"done": done, **summary(counted)}, indent=1))
    for kind, tally in counted.items():
        if tally.claims:
            print(table(kind, tally.claims), end="\n\n")
    return tell(counted)


def tell(counted: dict[str, Any]) -> int:
    """Print every false claim; 1 if there is any."""
    false = [line for tally in counted.values() for line in tally.false]
    for line in false:
        who = line.get("solver") or line.get("scheme")
        print(f"FALSE {who} {line['claim']} {line['family']}: {line['why'][0]}  {line.get('file', '')}")
    print(f"{len(false)} false claims")
    return int(bool(false))


def replay(path: Path) -> list[str]:
    """Try a false claim again."""
    if path.suffix == ".npz":
        return solves.replay(path)
    return derivatives.replay(path) if path.name.startswith("derivative") else runs.replay(path)


if __name__ == "__main__":
    sys.exit(main())
