"""Errors of solvers as functions of time and of the iteration."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stickslip.bench.analysis.costs import Grid, costs
from stickslip.bench.records import RunRecord
from stickslip.bench.results import Entry
from stickslip.problem.checks import Array

SPREAD = np.logspace(-2.0, 2.0, 81)
"""Times relative to the fastest solver at which accuracies are compared [-], shape (81,)."""


@dataclass(frozen=True, eq=False)
class Reached:
    """The smallest error of a solver on a problem as a function of time."""

    times: Array
    """Times at which the error decreases, ascending [s], shape (points,)."""
    errors: Array
    """Smallest error from these times on, descending [-], shape (points,)."""

    def at(self, times: Array) -> Array:
        """Smallest error up to these times, infinite before the first one [-], shape (times,)."""
        before = np.searchsorted(self.times, times, side="right")
        return np.append(np.inf, self.errors)[before]


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Errors over a set of problems, at times relative to the fastest solver."""

    solvers: tuple[str, ...]
    """Compared solvers."""
    spread: Array
    """Times relative to the fastest solver to the tightest tolerance on the same problem [-], shape (k,)."""
    quartiles: Array
    """Error reached by these times on a quarter, half, three quarters of the problems; infinite if there are
    fewer [-], shape (3, solvers, k)."""
    problems: tuple[Entry, ...]
    """Compared problems."""
    unsolved: int
    """Number of omitted problems on which no solver reaches the tightest tolerance."""
    missing: int
    """Number of omitted problems on which some solver has no run."""


def reached(grid: Grid, entry: Entry, solver: str) -> Reached:
    """Errors of a solver on one problem, from its runs at all tolerances."""
    points = [np.zeros((0, 2))]
    for tolerance in grid.tolerances:
        run = grid.run(entry, solver, tolerance)
        if run is not None:
            points.append(_points(run, grid.seconds(run)))
    t, error = np.concatenate(points).T
    order = np.lexsort((error, t))
    t, error = t[order], np.minimum.accumulate(error[order])
    better = np.append(np.inf, error)[:-1] > error
    return Reached(t[better], error[better])


def accuracy(
    grid: Grid, solvers: Sequence[str] | None = None, family: str | None = None, spread: Array = SPREAD
) -> Accuracy:
    """Quartiles over the problems on which all solvers were run and at least one of them solved."""
    compared = costs(grid, grid.tightest, family, solvers)
    best = compared.seconds.min(axis=1, initial=np.inf)
    places = [k for k in range(len(compared.problems)) if math.isfinite(best[k]) and best[k] > 0.0]
    errors = np.full((len(places), len(compared.solvers), len(spread)), np.inf)
    for row, k in enumerate(places):
        for column, solver in enumerate(compared.solvers):
            errors[row, column] = reached(grid, compared.problems[k], solver).at(spread * best[k])
    quartiles = np.full((3, *errors.shape[1:]), np.inf)
    if places:  # without interpolation, which is undefined between infinite values
        quartiles = np.quantile(errors, (0.25, 0.5, 0.75), axis=0, method="inverted_cdf")
    return Accuracy(
        compared.solvers, spread, quartiles, tuple(compared.problems[k] for k in places),
        len(compared.problems) - len(places), len(compared.missing),
    )  # fmt: skip


def falling(run: RunRecord) -> tuple[Array, Array]:
    """Iterations, and the maximum of natural and natural_scaled at each check [-], shapes (checks,)."""
    with np.errstate(invalid="ignore"):
        error = run.history[:, 1:].max(axis=1, initial=0.0)
    good = np.isfinite(error) & np.isfinite(run.history[:, 0]) & (run.history[:, 0] >= 0.0)
    return run.history[good, 0], error[good]


def telling_problem(grid: Grid, family: str, solvers: Sequence[str] | None = None) -> Entry | None:
    """The problem of a family on which the times of the solvers differ most; None if there is none.

    Only problems count that some solver solves, and on which at least two solvers have histories of two or
    more checks.
    """
    tightest = grid.tightest
    compared = costs(grid, tightest, family, solvers)
    best: tuple[float, int] | None = None
    chosen = None
    for entry, row in zip(compared.problems, compared.seconds, strict=True):
        runs = (grid.run(entry, solver, tightest) for solver in compared.solvers)
        histories = sum(run is not None and len(falling(run)[0]) > 1 for run in runs)
        if not np.isfinite(row).any() or histories < 2:
            continue
        solved = np.isfinite(row)
        logs = np.log10(np.maximum(np.where(solved, row, 10.0 * row[solved].max(initial=0.0)), 1e-9))
        rank = (round(float(logs.std()), 9), entry.features.contacts)
        if best is None or rank > best:
            best, chosen = rank, entry
    return chosen


def _points(run: RunRecord, seconds: float) -> Array:
    """Times and errors of the history and the end of one run, shape (points, 2)."""
    if not math.isfinite(seconds):
        return np.zeros((0, 2))
    iterations, errors = falling(run)
    total = max(float(run.iterations), float(iterations.max(initial=0.0)))
    times = seconds * iterations / total if total else np.full(len(iterations), seconds)
    points = np.column_stack([times, errors])
    return np.vstack([points, [[seconds, run.error]]]) if math.isfinite(run.error) else points
