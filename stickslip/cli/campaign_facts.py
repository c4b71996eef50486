"""Facts that `stickslip info` prints about campaigns and sweeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stickslip.cli.errors import refused, usable

Facts = Iterator[tuple[str, Any, str, str]]
"""Facts about a file: key and value for JSON, name and text for readers. Facts with an empty key are printed
for readers only, facts with an empty text appear in JSON only."""


def of_results(path: Path) -> Facts:
    """Facts of the results of a campaign."""
    from stickslip.bench.campaigns.results_file import read_results
    from stickslip.exhibits import power

    with refused(ValueError):
        results = read_results(path)
    setup, families = results.conditions, list(results.families)
    place, outcomes = setup.environment, dict(Counter(run.outcome.value for run in results.runs))
    outcome_text = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    solvers = {
        solver: {"runs": len(runs), "solved": sum(run.solved for run in runs)}
        for solver in results.solvers
        for runs in [[run for run in results.runs if run.solver == solver]]
    }
    limits = (
        f"{setup.timeout:g} s, {setup.memory:g} MiB, best of {setup.best_of}, {setup.workers} side by side"
    )
    yield "kind", "results", "kind", "results of a campaign"
    problems = len(results.problems)
    yield "problems", problems, "problems", f"{problems}, families {', '.join(families)}"
    yield "families", families, "", ""
    yield "runs", len(results.runs), "runs", f"{len(results.runs)}: {outcome_text}"
    yield "outcomes", outcomes, "", ""
    yield "solvers", solvers, "", ""
    for name, counts in solvers.items():
        yield "", None, f"solver {name}", f"{counts['solved']} of {counts['runs']} runs solved"
    yield "tolerances", list(setup.tolerances), "tolerances", ", ".join(map(power, setup.tolerances))
    for key in ("timeout", "memory", "best_of", "workers"):
        yield key, getattr(setup, key), "limits", limits if key == "timeout" else ""
    machine = f"{place.processor}, {place.cores} cores, {place.system}"
    yield "environment", place.as_json(), "machine", machine
    yield "", None, "versions", f"stickslip {place.stickslip} (code {place.code}), {place.python}"
    yield "command", results.command, "command", " ".join(results.command.split())


def of_sweep(path: Path) -> Facts:
    """Facts of the runs of a sweep."""
    from stickslip.sweeps.result import read_sweep

    with usable(path, "sweep"):
        result = read_sweep(path)
    sweep, place = result.head.sweep, result.head.environment
    yield "kind", "sweep", "kind", "sweep"
    yield "make", sweep.make, "model", sweep.make
    yield "parameters", list(result.parameters), "", ""
    yield "runs", len(result), "", ""
    yield "planned", result.planned, "", ""
    yield "outcomes", dict(Counter(one.value for one in result.outcomes)), "", ""
    yield "measures", list(result.measures), "", ""
    for line in str(result).split("\n")[1:]:
        name, _, text = line.strip().partition(" ")
        yield "", None, name, text.strip()
    yield "versions", place.as_json(), "versions", f"stickslip {place.stickslip} (code {place.code})"
    yield "command", result.head.command, "command", result.head.command
