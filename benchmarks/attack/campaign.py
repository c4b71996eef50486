"""Tasks of the attack for several processes, and tables of their counts."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.attack import derivatives, runs, solves

CHUNK = {"solves": 250, "runs": 50, "derivatives": 25}
"""Number of problems per task of a worker."""


def work(
    kind: str, indices: range, seed: int, only: str, external: bool, folder: Path
) -> tuple[str, int, Any]:
    """Run one task; return its kind, its number of problems and its tally."""
    if kind == "solves":
        names = [only] if only else solves.solver_names(external)
        return kind, len(indices), solves.attack(indices, seed, names, folder)
    if kind == "runs":
        return kind, len(indices), runs.attack(indices, seed, folder, only=only)
    return kind, len(indices), derivatives.attack(indices, seed, folder)


def tasks(counts: dict[str, int]) -> Iterable[tuple[str, range]]:
    """Yield all tasks, with the kinds interleaved evenly, so that early counts include all kinds."""
    parts = []
    for kind, count in counts.items():
        for i in range(0, count, CHUNK[kind]):
            parts.append((i / count, kind, range(i, min(i + CHUNK[kind], count))))
    for _, kind, part in sorted(parts, key=lambda one: one[:2]):
        yield kind, part


def table(title: str, claims: Counter[tuple[str, str]]) -> str:
    """Return a text table of claims by solver or scheme."""
    names = sorted({name for name, _ in claims})
    kinds = sorted({claim for _, claim in claims})
    width = max(map(len, (*names, title)), default=0)
    lines = [f"{title:<{width}} " + " ".join(f"{kind:>18}" for kind in kinds)]
    for name in (*names, "all"):
        counts = [
            sum(v for (n, c), v in claims.items() if c == kind and name in (n, "all")) for kind in kinds
        ]
        lines.append(f"{name:<{width}} " + " ".join(f"{count or '':>18}" for count in counts))
    return "\n".join(lines)


def summary(tallies: dict[str, Any]) -> dict[str, Any]:
    """Return the counts as data for JSON."""
    out: dict[str, Any] = {}
    for kind, tally in tallies.items():
        out[kind] = {
            "claims": {f"{name}: {claim}": n for (name, claim), n in sorted(tally.claims.items())},
            "families": {": ".join(key): n for key, n in sorted(tally.families.items())},
            "seconds": {name: round(s, 3) for name, s in sorted(tally.seconds.items())},
            "false": tally.false,
        }
    return out
