"""Spread of times: differences between repeated calls of a run, and comparisons that remain undecided."""

import math
from dataclasses import dataclass

import numpy as np

from stickslip.bench.analysis.costs import Grid
from stickslip.bench.records import RunRecord
from stickslip.problem.checks import Array

Interval = tuple[float, float, float]
"""Shortest, median and longest time of the calls of a run [s]."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Times of the repeated runs of one solver at one tolerance, relative to the shortest of each run."""

    solver: str
    problems: tuple[str, ...]
    """Names of the solved problems with more than one timed call, one for each row."""
    calls: Array
    """Numbers of timed calls [-], shape (problems,)."""
    medians: Array
    """Ratios of median to shortest time [-], shape (problems,)."""
    longest: Array
    """Ratios of longest to shortest time [-], shape (problems,)."""


def interval(grid: Grid, run: RunRecord | None) -> Interval | None:
    """Times of a solved run, by the clock of the grid; None with fewer than two timed calls."""
    if run is None or not run.solved or run.repetitions < 2:
        return None
    wall = run.seconds, run.median_seconds, run.longest_seconds
    cpu = run.cpu_seconds, run.median_cpu_seconds, run.longest_cpu_seconds
    times = wall if grid.time == "wall" else cpu
    return times if all(0.0 < seconds < math.inf for seconds in times) else None


def overlap(first: Interval, second: Interval) -> bool:
    """Whether the times of two runs overlap, so that the faster one is undecided."""
    return max(first[0], second[0]) <= min(first[2], second[2])


def spread(grid: Grid, solver: str, tolerance: float) -> Spread:
    """Spread of the times of repeated calls of a solver."""
    timed = [(entry, interval(grid, grid.run(entry, solver, tolerance))) for entry in grid.problems]
    pairs = [(entry, times) for entry, times in timed if times is not None]
    runs = [grid.run(entry, solver, tolerance) for entry, _ in pairs]
    ratios = np.array([(middle / least, most / least) for _, (least, middle, most) in pairs]).reshape(-1, 2)
    return Spread(
        solver, tuple(entry.name for entry, _ in pairs),
        np.array([run.repetitions for run in runs if run is not None], float), ratios[:, 0], ratios[:, 1],
    )  # fmt: skip


def undecided(grid: Grid, tolerance: float) -> tuple[int, int]:
    """Numbers of problems on which the two fastest solvers overlap, and on which both were repeated."""
    open_, compared = 0, 0
    for entry in grid.problems:
        runs = sorted(
            (run for run in grid.made(entry, tolerance).values() if math.isfinite(grid.cost(run))),
            key=grid.cost,
        )[:2]
        times = [span for run in runs if (span := interval(grid, run)) is not None]
        if len(times) == 2:
            compared += 1
            open_ += overlap(*times)
    return open_, compared
