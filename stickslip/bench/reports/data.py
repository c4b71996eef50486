"""Reports as data: the runs as one table, and the findings as JSON."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stickslip.bench.analysis.costs import Costs, Grid, costs
from stickslip.bench.analysis.profiles import data_profile, performance_profile
from stickslip.bench.analysis.scaling import scaling
from stickslip.bench.analysis.spread import spread
from stickslip.bench.records import Outcome
from stickslip.bench.reports.losses import Loss, claims, losses, unsolved_by_all
from stickslip.bench.reports.subject import Subject, identity, is_peer, solved
from stickslip.bench.reports.tables import TAUS
from stickslip.bench.results import Results
from stickslip.exhibits import Cell, Column, Table

ALPHAS = tuple(10.0**k for k in range(-6, 2))
"""Times per contact at which data profiles are evaluated [s]."""
LIMITS = tuple(10.0**k for k in range(-4, 3))
"""Times at which absolute data profiles are evaluated [s]."""

EXACT = ".17g"
"""Format of numbers with all digits."""


def runs_table(results: Results) -> Table:
    """Table with a row for every run, with all its data except the history, for CSV."""
    entries = {entry.hash: entry for entry in reversed(results.problems)}
    rows: list[list[Cell]] = []
    for run in results.runs:
        entry = entries.get(run.problem)
        about: list[Cell] = ["", "", float("nan")]
        if entry is not None:
            about = [entry.name, entry.family, entry.features.contacts]
        place = run.environment or results.conditions.environment
        rows.append(
            [*about, run.problem, run.solver, json.dumps(run.options, sort_keys=True), run.source,
             run.tolerance, run.outcome.value, run.status, run.reason, run.natural, run.natural_scaled,
             run.error, run.impulse, run.velocity, run.work, run.iterations, run.seconds, run.median_seconds,
             run.longest_seconds, run.cpu_seconds, run.median_cpu_seconds, run.longest_cpu_seconds,
             run.compile_seconds, run.repetitions, run.memory, place.processor, place.python,
             place.stickslip, place.code]
        )  # fmt: skip
    columns = [
        "problem", "family", "contacts", "hash", "solver", "options", "source", "tolerance", "outcome",
        "status", "reason", "natural", "natural_scaled", "error", "impulse [N s]", "velocity [m/s]",
        "work [J]", "iterations", "wall [s]", "median wall [s]", "longest wall [s]", "processor [s]",
        "median processor [s]", "longest processor [s]", "compiling [s]", "repetitions", "memory [MiB]",
        "machine", "python", "stickslip", "code",
    ]  # fmt: skip
    return Table("All runs", [Column(name, EXACT) for name in columns], rows)


def findings(results: Results, time: str = "wall", ours: str | Sequence[str] = "auto") -> dict[str, Any]:
    """Findings of the report as JSON data; undefined numbers are null."""
    grid = Subject(results, time, ours)
    data = {
        "conditions": results.conditions.as_json(),
        "command": results.command,
        "time": time,
        "collection": {
            "identity": identity(results),
            "problems": len(grid.problems),
            "families": {family: len(grid.family(family)) for family in results.families},
        },
        "solvers": [{"name": solver, "siconos": is_peer(solver)} for solver in grid.solvers],
        "runs": len(results.runs),
        "missing": grid.missing_runs,
        "tolerances": [_at(grid, tolerance) for tolerance in grid.tolerances],
        "claimed_not_solved": [
            {"problem": entry.name, "solver": solver, "tolerance": run.tolerance, "error": run.error}
            for entry, solver, run in claims(grid)
        ],
    }
    return _plain(data)


def _at(grid: Subject, tolerance: float) -> dict[str, Any]:
    return {
        "tolerance": tolerance,
        "solvers": {
            solver: {
                "solved": solved(grid, solver, tolerance),
                "runs": len(runs),
                "outcomes": {o.value: sum(run.outcome is o for run in runs) for o in Outcome},
                "spread": _spread(grid, solver, tolerance),
            }
            for solver in grid.solvers
            for runs in [grid.runs_of(solver, tolerance)]
        },
        "profiles": _profiles(costs(grid, tolerance)),
        "families": {family: _profiles(costs(grid, tolerance, family)) for family in grid.results.families},
        "exponents": [
            {
                "family": fit.family,
                "solver": fit.solver,
                "problems": len(fit.contacts),
                "exponent": fit.exponent,
                "standard_error": fit.error,
                "why_not": fit.reason,
            }
            for family in grid.results.families
            for solver in grid.solvers
            for fit in [scaling(grid, family, solver, tolerance)]
        ],
        "losses": {
            solver: {"not_solved": [_loss(one) for one in unsolved], "slower": [_loss(one) for one in slower]}
            for solver in grid.ours
            for unsolved, slower in [losses(grid, solver, tolerance)]
        },
        "solved_by_nobody": [entry.name for entry, _ in unsolved_by_all(grid, tolerance)],
    }


def _spread(grid: Grid, solver: str, tolerance: float) -> dict[str, Any]:
    """Times of repeated calls relative to the shortest of each run, by problem."""
    result = spread(grid, solver, tolerance)
    names = "calls", "median", "longest"
    rows = zip(result.calls.tolist(), result.medians.tolist(), result.longest.tolist(), strict=True)
    return {p: dict(zip(names, row, strict=True)) for p, row in zip(result.problems, rows, strict=True)}


def _profiles(found: Costs) -> dict[str, Any]:
    data: dict[str, Any] = {"problems": len(found.problems), "left_out": len(found.missing)}
    if not found.problems:
        return data
    performance = performance_profile(found.seconds)
    per_contact, absolute = data_profile(found.seconds, found.contacts), data_profile(found.seconds)
    return data | {
        "tau": list(TAUS),
        "performance": _columns(found, [performance.at(tau) for tau in TAUS]),
        "seconds_per_contact": list(ALPHAS),
        "data_per_contact": _columns(found, [per_contact.at(alpha) for alpha in ALPHAS]),
        "seconds": list(LIMITS),
        "data": _columns(found, [absolute.at(alpha) for alpha in LIMITS]),
    }


def _columns(found: Costs, rows: list[Any]) -> dict[str, list[float]]:
    return dict(zip(found.solvers, np.stack(rows).T.tolist(), strict=True))


def _loss(loss: Loss) -> dict[str, Any]:
    return {
        "problem": loss.entry.name, "hash": loss.entry.hash, "contacts": loss.entry.features.contacts,
        "outcome": loss.run.outcome.value, "winner": loss.winner or None, "siconos": is_peer(loss.winner),
        "winner_seconds": loss.seconds, "ratio": loss.ratio, "solved_by_others": loss.solvers,
    }  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
