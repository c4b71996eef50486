"""Figures of a report: profiles, errors over time and iterations, time over contacts."""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from stickslip.bench.analysis.accuracy import Accuracy, falling, reached, telling_problem
from stickslip.bench.analysis.costs import TIMES, Costs, costs, count
from stickslip.bench.analysis.profiles import data_profile, performance_profile
from stickslip.bench.analysis.scaling import scaling
from stickslip.bench.reports.subject import Subject, is_peer
from stickslip.bench.results import Entry
from stickslip.exhibits import Curve, Figure, Panel, power
from stickslip.problem.checks import Array

WIDEST = 1e4
"""Largest factor tau in profiles [-]."""
SHARES = (0.0, 1.03)
"""Range of the axis of shares [-]."""
LINE = 64
"""Number of points of a straight line; curves of few points are drawn with marks, like data."""
FLOOR = 1e-16
"""Smallest drawn error [-]; smaller ones, zeros or rounding, are drawn there."""
POINTS = 200
"""Largest number of drawn checks of a history."""

Steps = tuple[Array, Array]
"""Step function: places at which a share increases, and the shares from there on."""


def profile_figures(grid: Subject) -> tuple[list[Figure], list[Figure]]:
    """Performance profiles and data profiles: over all problems at every tolerance, and for several families
    a panel for each at every tolerance; empty if nothing is comparable."""
    families = grid.results.families
    performance, data = [], []
    everything = [(f"tolerance {power(t)}", costs(grid, t)) for t in grid.tolerances]
    performance.append(
        _figure("Performance profiles, all families", [_profile_panel(grid, *one) for one in everything])
    )
    panels = [_data_panel(grid, *one, each) for one in everything for each in (True, False)]
    data.append(_figure("Data profiles, all families", panels))
    for t in grid.tolerances if len(families) > 1 else ():
        pairs = [(family, costs(grid, t, family)) for family in families]
        at = f"by family, tolerance {power(t)}"
        panels = [_profile_panel(grid, *one) for one in pairs]
        performance.append(_figure(f"Performance profiles {at}", panels, 3))
        panels = [_data_panel(grid, *one, True) for one in pairs]
        data.append(_figure(f"Data profiles {at}", panels, 3))
    return [one for one in performance if one], [one for one in data if one]


def accuracy_figure(grid: Subject, found: Accuracy) -> Figure | None:
    """Quartiles of the error over the problems, by time relative to the fastest solver."""
    if not found.problems:
        return None
    column = {solver: k for k, solver in enumerate(found.solvers)}
    tightest = power(grid.tightest)
    panels = []
    for k, share in enumerate(("a quarter", "half", "three quarters")):
        errors = found.quartiles[k]
        shown = np.where(np.isfinite(errors), np.maximum(errors, FLOOR), np.nan)
        curves = _seen(_curve(solver, found.spread, shown[column[solver]]) for solver in grid.drawn)
        title, label = f"reached on {share} of the problems", f"time / fastest time to {tightest}"
        panel = Panel(title, label, "error (judge)", curves, log_x=True, log_y=True, level=grid.tightest)
        panels.append(panel)
    return _figure("Accuracy against time, all families", panels, 3)


def telling(grid: Subject) -> list[Entry]:
    """The problem of each family on which the solvers differ most."""
    chosen = (telling_problem(grid, family) for family in grid.results.families)
    return [entry for entry in chosen if entry is not None]


def problem_accuracy_figure(grid: Subject, entries: Sequence[Entry]) -> Figure | None:
    """Smallest error over time on single problems."""

    def curve(entry: Entry, solver: str) -> Curve:
        history = reached(grid, entry, solver)
        shown = history.times > 0.0
        times, errors = history.times[shown], np.maximum(history.errors[shown], FLOOR)
        if len(times):  # extend the last value to the end of the axis
            times, errors = np.append(times, max(end[entry.hash], times[-1])), np.append(errors, errors[-1])
        return _curve(solver, times, errors)

    # End of the axis, shortly after the last improvement of any solver.
    end = {
        entry.hash: 1.3 * max(reached(grid, entry, each).times.max(initial=0.0) for each in grid.drawn)
        for entry in entries
    }
    title = "Accuracy against time, one problem of each family"
    return _by_problem(grid, title, f"{TIMES[grid.time]} [s]", entries, curve)


def histories_figure(grid: Subject, entries: Sequence[Entry]) -> Figure | None:
    """Error over iterations at the tightest tolerance, on single problems."""

    def curve(entry: Entry, solver: str) -> Curve:
        run = grid.run(entry, solver, grid.tightest)
        iterations, errors = (np.zeros(0), np.zeros(0)) if run is None else falling(run)
        shown = np.flatnonzero(iterations > 0.0)
        if len(shown) > POINTS:
            places = np.geomspace(1, len(shown), POINTS).round().astype(int) - 1
            shown = shown[np.unique(places)]
        return _curve(solver, iterations[shown], np.maximum(errors[shown], FLOOR))

    title = f"Convergence, tolerance {power(grid.tightest)}, one problem of each family"
    return _by_problem(grid, title, "iteration", entries, curve)


def scaling_figure(grid: Subject, tolerance: float) -> Figure | None:
    """Time over contacts with fits, a panel for each family with a fit."""
    panels = []
    for family in grid.results.families:
        fits = [scaling(grid, family, solver, tolerance) for solver in grid.drawn]
        if all(fit.exponent is None for fit in fits):
            continue
        curves = []
        for fit in fits:
            if fit.factor is not None and fit.exponent is not None:
                contacts = np.geomspace(fit.contacts[0], fit.contacts[-1], LINE)
                curves.append(_curve(fit.solver, contacts, fit.factor * contacts**fit.exponent))
            curves.append(Curve(fit.solver, fit.contacts, fit.seconds, "o"))
        label = f"{TIMES[grid.time]} [s]"
        panels.append(Panel(family, "contacts", label, _seen(curves), log_x=True, log_y=True))
    return _figure(f"Time against contacts, tolerance {power(tolerance)}", panels, 3)


def _figure(title: str, panels: Sequence[Panel | None], across: int = 2) -> Figure | None:
    drawn = [panel for panel in panels if panel is not None and panel.curves]
    return Figure(title, drawn, across) if drawn else None


def _curve(solver: str, x: Array, y: Array) -> Curve:
    return Curve(solver, x, y, "--" if is_peer(solver) else "-")


def _seen(curves: Iterable[Curve]) -> list[Curve]:
    """Curves with at least one finite value."""
    return [curve for curve in curves if np.isfinite(curve.y).any()]


def _profile_panel(grid: Subject, title: str, found: Costs) -> Panel | None:
    if not found.problems:
        return None
    profile = performance_profile(found.seconds)
    largest = min(float(profile.places[-1]), WIDEST)
    end = 10.0 ** max(1, math.ceil(math.log10(largest) - 1e-9))
    label = "tau: factor of the best time"
    return _share_panel(grid, found, title, label, (profile.places, profile.shares), (1.0, end))


def _data_panel(grid: Subject, title: str, found: Costs, per_contact: bool) -> Panel | None:
    if not found.problems:
        return None
    profile = data_profile(found.seconds, found.contacts if per_contact else None)
    label = "time per contact [s]" if per_contact else "time [s]"
    positive = profile.places[profile.places > 0.0]
    if not len(positive):
        return None
    ends = positive[0] / 1.5, positive[-1] * 1.5
    return _share_panel(grid, found, title, f"alpha: {label}", (profile.places, profile.shares), ends)


def _share_panel(
    grid: Subject, found: Costs, title: str, label: str, profile: Steps, ends: tuple[float, float]
) -> Panel:
    places, shares = profile
    curves = [
        _curve(solver, *_steps(places, shares[found.solvers.index(solver)], *ends)) for solver in grid.drawn
    ]
    return Panel(
        f"{title} ({count(len(found.problems), 'problem')})", label, "share of problems",
        curves, log_x=True, steps=True, y_range=SHARES,
    )  # fmt: skip


def _steps(places: Array, shares: Array, start: float, end: float) -> Steps:
    """One step curve from `start` to `end`, reduced to the points at which it increases."""
    grows = np.append(True, np.diff(shares) > 0.0) & (places > start) & (places < end)
    first = shares[max(int(np.searchsorted(places, start, side="right")) - 1, 0)]
    last = shares[int(np.searchsorted(places, end, side="right")) - 1]
    return np.concatenate([[start], places[grows], [end]]), np.concatenate([[first], shares[grows], [last]])


def _by_problem(
    grid: Subject, title: str, label: str, entries: Sequence[Entry], curve: Callable[[Entry, str], Curve]
) -> Figure | None:
    panels = [
        Panel(
            f"{entry.name} ({count(entry.features.contacts, 'contact')})", label, "error",
            _seen(curve(entry, solver) for solver in grid.drawn),
            log_x=True, log_y=True, steps=label != "iteration", level=grid.tightest,
        )
        for entry in entries
    ]  # fmt: skip
    return _figure(title, panels, 3)
