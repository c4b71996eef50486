"""Compare versions of solvers: the same solver in several results files, for example of two releases."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stickslip.bench.analysis.costs import TIMES, Grid, count
from stickslip.bench.analysis.spread import Interval, interval, overlap
from stickslip.bench.records import RunRecord
from stickslip.bench.reports.subject import TOLERANCE, base
from stickslip.bench.results import Results
from stickslip.exhibits import Cell, Column, Section, Table

MARK = "@"
"""Separator of the name of a solver and its version."""
LISTED = 20
"""Number of listed problems, those on which versions differ most."""


def tagged(results: Results, version: str) -> Results:
    """Return the results with the version in the names of all solvers: `nsgs@old:max_iterations=50`."""

    def named(run: RunRecord) -> RunRecord:
        name, colon, options = run.solver.partition(":")
        return replace(run, solver=f"{name}{MARK}{version}{colon}{options}")

    return results.with_runs(tuple(map(named, results.runs))).in_order()


def versions_section(results: Results, versions: Sequence[str], time: str = "wall") -> Section:
    """Compare each later version of every solver with its first: problems solved, gained and lost, and times
    on problems that both solve."""
    grid = Grid(results, time)
    rows: list[list[Cell]] = []
    changes: list[tuple[float, list[Cell]]] = []
    for solver in grid.solvers:
        first = _of(solver, versions[0])
        if first is None:
            continue
        for later in versions[1:]:
            second = solver.replace(f"{MARK}{versions[0]}", f"{MARK}{later}", 1)
            for tolerance in grid.tolerances if second in grid.solvers else ():
                row, rows_of_changes = _compared(grid, solver, second, tolerance, time)
                rows.append([first, later, tolerance, *row])
                changes += [(change, [first, later, tolerance, *cells]) for change, cells in rows_of_changes]
    changes.sort(key=lambda pair: -pair[0])
    note = (
        f"Times are {TIMES[time]}, of {versions[0]} over that of the other version: above 1 it is faster."
        " Of the problems that both solve, faster and slower are those whose repeated calls do not overlap."
    )
    summary = Table(
        f"Versions compared with {versions[0]}",
        ["solver", "version", TOLERANCE, "solved before", "solved", "gained", "lost", "both",
         "faster", "slower", Column("mean speed", ".3g"), Column("least", ".3g"), Column("most", ".3g")],
        rows, note,
    )  # fmt: skip
    largest = Table(
        "Largest changes",
        ["solver", "version", TOLERANCE, "problem", "before", "after", Column("speed", ".3g")],
        [cells for _, cells in changes[:LISTED]],
        f"The {LISTED} largest of {count(len(changes), 'comparison')}; problems gained or lost come first.",
    )
    text = ["The mean is geometric, over the problems that both versions solve."]
    return Section("Versions", text, [summary, largest])


def _of(solver: str, version: str) -> str | None:
    """Label of a solver without its version; None for other versions."""
    mark = f"{MARK}{version}"
    return solver.replace(mark, "", 1) if base(solver).endswith(mark) else None


def _compared(
    grid: Grid, before: str, after: str, tolerance: float, time: str
) -> tuple[list[Cell], list[tuple[float, list[Cell]]]]:
    """Compare two columns of a grid: cells of the summary, and the change of each problem with its cells."""
    ratios, gained, lost, solved, changed = [], 0, 0, [0, 0], [0, 0]
    changes: list[tuple[float, list[Cell]]] = []
    for entry in grid.problems:
        first, second = grid.run(entry, before, tolerance), grid.run(entry, after, tolerance)
        if first is None or second is None:
            continue
        runs, won = (first, second), (first.solved, second.solved)
        solved[0] += won[0]
        solved[1] += won[1]
        gained += won[1] > won[0]
        lost += won[0] > won[1]
        seconds = [run.seconds if time == "wall" else run.cpu_seconds for run in runs]
        ratio = seconds[0] / seconds[1] if all(won) and min(seconds) > 0.0 else math.nan
        if all(won) and math.isfinite(ratio):
            ratios.append(ratio)
            times = [span for run in runs if (span := interval(grid, run)) is not None]
            if len(times) == 2 and not overlap(*times):
                changed[0] += ratio > 1.0
                changed[1] += ratio < 1.0
            change = abs(math.log(ratio))
        else:
            change = math.inf if won[0] != won[1] else -1.0
        if change >= 0.0:
            shown = [
                _shown(passed, interval(grid, run)) if run.solved else run.outcome.value
                for run, passed in zip(runs, seconds, strict=True)
            ]
            changes.append((change, [entry.name, *shown, ratio]))
    logs = np.log(ratios)
    mean = float(np.exp(logs.mean())) if ratios else math.nan
    least, most = (min(ratios), max(ratios)) if ratios else (math.nan, math.nan)
    return [*solved, gained, lost, len(ratios), *changed, mean, least, most], changes


def _shown(passed: float, times: Interval | None) -> str:
    """The shortest time, and for repeated runs the longest."""
    return f"{passed:.3g} s" if times is None else f"{passed:.3g} to {times[2]:.3g} s"
