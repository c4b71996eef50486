"""What `stickslip info` tells of campaigns: their results, and sweeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stickslip.cli.errors import refused, usable

Facts = Iterator[tuple[str, Any, str, str]]
"""What there is to say about a file: a key and its value for JSON, a name and a text for readers. What has no
key is said to readers only, and what has no text to programs only."""


def of_results(path: Path) -> Facts:
    """The results of a campaign."""
    from stickslip.bench.campaigns.results_file import read_results
    from stickslip.exhibits import power

    with refused(ValueError):
        results = read_results(path)
    said, families = results.conditions, list(results.families)
    place, outcomes = said.environment, dict(Counter(run.outcome.value for run in results.runs))
    met = ", ".join(f"{number} {what}" for what, number in outcomes.items())
    solvers = {
        solver: {"runs": len(runs), "solved": sum(run.solved for run in runs)}
        for solver in results.solvers
        for runs in [[run for run in results.runs if run.solver == solver]]
    }
    limits = f"{said.timeout:g} s, {said.memory:g} MiB, best of {said.best_of}, {said.workers} side by side"
    yield "kind", "results", "kind", "results of a campaign"
    problems = len(results.problems)
    yield "problems", problems, "problems", f"{problems}, families {', '.join(families)}"
    yield "families", families, "", ""
    yield "runs", len(results.runs), "runs", f"{len(results.runs)}: {met}"
    yield "outcomes", outcomes, "", ""
    yield "solvers", solvers, "", ""
    for name, found in solvers.items():
        yield "", None, f"solver {name}", f"{found['solved']} of {found['runs']} runs solved"
    yield "tolerances", list(said.tolerances), "tolerances", ", ".join(map(power, said.tolerances))
    for key in ("timeout", "memory", "best_of", "workers"):
        yield key, getattr(said, key), "limits", limits if key == "timeout" else ""
    machine = f"{place.processor}, {place.cores} cores, {place.system}"
    yield "environment", place.as_json(), "machine", machine
    yield "", None, "versions", f"stickslip {place.stickslip} (code {place.code}), {place.python}"
    yield "command", results.command, "command", " ".join(results.command.split())


def of_sweep(path: Path) -> Facts:
    """The runs of a sweep."""
    from stickslip.sweeps.result import read_sweep

    with usable(path, "sweep"):
        found = read_sweep(path)
    sweep, place = found.head.sweep, found.head.environment
    yield "kind", "sweep", "kind", "sweep"
    yield "make", sweep.make, "model", sweep.make
    yield "parameters", list(found.parameters), "", ""
    yield "runs", len(found), "", ""
    yield "planned", found.planned, "", ""
    yield "outcomes", dict(Counter(one.value for one in found.outcomes)), "", ""
    yield "measures", list(found.measures), "", ""
    for line in str(found).split("\n")[1:]:
        name, _, text = line.strip().partition(" ")
        yield "", None, name, text.strip()
    yield "versions", place.as_json(), "versions", f"stickslip {place.stickslip} (code {place.code})"
    yield "command", found.head.command, "command", found.head.command
