"""Figures of a report: profiles, errors against time and iterations, time against contacts."""

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from stickslip.bench.analysis.accuracy import Accuracy, falling, reached, telling_problem
from stickslip.bench.analysis.costs import TIMES, Costs, costs, count
from stickslip.bench.analysis.profiles import data_profile, performance_profile
from stickslip.bench.analysis.scaling import Scaling, scaling
from stickslip.bench.reports.subject import Subject, is_peer
from stickslip.bench.results import Entry
from stickslip.exhibits import Curve, Figure, Panel, power
from stickslip.problem.checks import Array

WIDEST = 1e4
"""Largest factor tau that profiles show [-]."""
SHARES = (0.0, 1.03)
"""Ends of the axis of shares [-]."""
LINE = 64
"""Points of a straight line: one of few points is drawn with marks, as if they were data."""
FLOOR = 1e-16
"""Errors below are drawn here: zeros, and what rounding leaves by chance [-]."""
POINTS = 200
"""Checks of a history that are drawn at most."""

Steps = tuple[Array, Array]
"""Where a share grows, and the shares from there on."""


def profiles_figure(subject: Subject, tolerances: Sequence[float]) -> Figure | None:
    """Performance profiles over all problems, a panel for each tolerance; None if nothing is comparable."""
    panels = [_profile_panel(subject, f"tolerance {power(t)}", costs(subject.grid, t)) for t in tolerances]
    return _figure("Performance profiles, all families", panels)


def data_profiles_figure(subject: Subject, tolerances: Sequence[float]) -> Figure | None:
    """Data profiles over all problems, per contact and absolute."""
    panels = [
        _data_panel(subject, f"tolerance {power(tolerance)}", costs(subject.grid, tolerance), per_contact)
        for tolerance in tolerances
        for per_contact in (True, False)
    ]
    return _figure("Data profiles, all families", panels)


def family_figures(subject: Subject, tolerance: float) -> tuple[Figure | None, Figure | None]:
    """Performance and data profiles (per contact) of each family at one tolerance; None for less than two."""
    families = subject.grid.results.families
    if len(families) < 2:
        return None, None
    found = {family: costs(subject.grid, tolerance, family) for family in families}
    performance = [_profile_panel(subject, family, of) for family, of in found.items()]
    data = [_data_panel(subject, family, of, per_contact=True) for family, of in found.items()]
    at = f"by family, tolerance {power(tolerance)}"
    return _figure(f"Performance profiles {at}", performance, 3), _figure(f"Data profiles {at}", data, 3)


def accuracy_figure(subject: Subject, found: Accuracy) -> Figure | None:
    """The error that shares of the problems have reached, by time relative to the fastest solver's."""
    if not found.problems:
        return None
    column = {solver: k for k, solver in enumerate(found.solvers)}
    tightest = power(subject.grid.tightest)
    panels = []
    for k, share in enumerate(("a quarter", "half", "three quarters")):
        errors = found.quartiles[k]
        shown = np.where(np.isfinite(errors), np.maximum(errors, FLOOR), np.nan)
        curves = _seen(_curve(solver, found.spread, shown[column[solver]]) for solver in subject.drawn)
        panels.append(
            Panel(
                f"reached on {share} of the problems",
                f"time / fastest time to {tightest}",
                "error (judge)",
                curves,
                log_x=True,
                log_y=True,
                level=subject.grid.tightest,
            )
        )
    return _figure("Accuracy against time, all families", panels, 3)


def telling(subject: Subject) -> list[Entry]:
    """The problem of each family that separates the solvers most."""
    chosen = (telling_problem(subject.grid, family) for family in subject.grid.results.families)
    return [entry for entry in chosen if entry is not None]


def problem_accuracy_figure(subject: Subject, entries: Sequence[Entry]) -> Figure | None:
    """The best error reached by time, on single problems."""
    grid = subject.grid

    def curve(entry: Entry, solver: str) -> Curve:
        found = reached(grid, entry, solver)
        shown = found.times > 0.0
        times, errors = found.times[shown], np.maximum(found.errors[shown], FLOOR)
        if len(times):  # what is reached stays so
            times, errors = np.append(times, max(end[entry.hash], times[-1])), np.append(errors, errors[-1])
        return _curve(solver, times, errors)

    end = {entry.hash: _longest(subject, entry) for entry in entries}

    title = "Accuracy against time, one problem of each family"
    return _by_problem(subject, title, f"{TIMES[grid.time]} [s]", entries, curve)


def histories_figure(subject: Subject, entries: Sequence[Entry]) -> Figure | None:
    """Error against iteration at the tightest tolerance, on single problems."""
    grid = subject.grid

    def curve(entry: Entry, solver: str) -> Curve:
        run = grid.run(entry, solver, grid.tightest)
        iterations, errors = (np.zeros(0), np.zeros(0)) if run is None else falling(run)
        shown = np.flatnonzero(iterations > 0.0)
        if len(shown) > POINTS:
            places = np.geomspace(1, len(shown), POINTS).round().astype(int) - 1
            shown = shown[np.unique(places)]
        return _curve(solver, iterations[shown], np.maximum(errors[shown], FLOOR))

    title = f"Convergence, tolerance {power(grid.tightest)}, one problem of each family"
    return _by_problem(subject, title, "iteration", entries, curve)


def scaling_figure(subject: Subject, tolerance: float) -> Figure | None:
    """Time against contacts, points and fits, a panel for each family in which something was fitted."""
    grid = subject.grid
    panels = []
    for family in grid.results.families:
        found = [scaling(grid, family, solver, tolerance) for solver in subject.drawn]
        if all(fit.exponent is None for fit in found):
            continue
        curves = _seen(curve for fit in found for curve in _fit(fit))
        label = f"{TIMES[grid.time]} [s]"
        panels.append(Panel(family, "contacts", label, curves, log_x=True, log_y=True))
    return _figure(f"Time against contacts, tolerance {power(tolerance)}", panels, 3)


def _figure(title: str, panels: Sequence[Panel | None], across: int = 2) -> Figure | None:
    drawn = [panel for panel in panels if panel is not None and panel.curves]
    return Figure(title, drawn, across) if drawn else None


def _curve(solver: str, x: Array, y: Array) -> Curve:
    return Curve(solver, x, y, "--" if is_peer(solver) else "-")


def _seen(curves: Iterable[Curve]) -> list[Curve]:
    """Those that have something to show."""
    return [curve for curve in curves if np.isfinite(curve.y).any()]


def _fit(fit: Scaling) -> list[Curve]:
    points = Curve(fit.solver, fit.contacts, fit.seconds, "o")
    if fit.factor is None or fit.exponent is None:
        return [points]
    contacts = np.geomspace(fit.contacts[0], fit.contacts[-1], LINE)
    return [_curve(fit.solver, contacts, fit.factor * contacts**fit.exponent), points]


def _profile_panel(subject: Subject, title: str, found: Costs) -> Panel | None:
    if not found.problems:
        return None
    profile = performance_profile(found.seconds)
    largest = min(float(profile.taus[-1]), WIDEST)
    end = 10.0 ** max(1, math.ceil(math.log10(largest) - 1e-9))
    label = "tau: factor of the best time"
    return _share_panel(subject, found, title, label, (profile.taus, profile.shares), (1.0, end))


def _data_panel(subject: Subject, title: str, found: Costs, per_contact: bool) -> Panel | None:
    if not found.problems:
        return None
    profile = data_profile(found.seconds, found.contacts if per_contact else None)
    label = "time per contact [s]" if per_contact else "time [s]"
    positive = profile.alphas[profile.alphas > 0.0]
    if not len(positive):
        return None
    ends = positive[0] / 1.5, positive[-1] * 1.5
    return _share_panel(subject, found, title, f"alpha: {label}", (profile.alphas, profile.shares), ends)


def _share_panel(
    subject: Subject, found: Costs, title: str, label: str, profile: Steps, ends: tuple[float, float]
) -> Panel:
    places, shares = profile
    curves = [
        _curve(solver, *_steps(places, shares[found.solvers.index(solver)], *ends))
        for solver in subject.drawn
    ]
    return Panel(
        f"{title} ({count(len(found.problems), 'problem')})", label, "share of problems",
        curves, log_x=True, steps=True, y_range=SHARES,
    )  # fmt: skip


def _steps(places: Array, shares: Array, start: float, end: float) -> Steps:
    """One curve from `start` to `end`, with the points where it grows alone."""
    grows = np.append(True, np.diff(shares) > 0.0) & (places > start) & (places < end)
    first = shares[max(int(np.searchsorted(places, start, side="right")) - 1, 0)]
    last = shares[int(np.searchsorted(places, end, side="right")) - 1]
    return np.concatenate([[start], places[grows], [end]]), np.concatenate([[first], shares[grows], [last]])


def _longest(subject: Subject, entry: Entry) -> float:
    """A little more than the time when the last solver stopped getting better on a problem [s]."""
    ends = (reached(subject.grid, entry, solver).times for solver in subject.drawn)
    return 1.3 * max((float(times[-1]) for times in ends if len(times)), default=0.0)


def _by_problem(
    subject: Subject, title: str, label: str, entries: Sequence[Entry], curve: Callable[[Entry, str], Curve]
) -> Figure | None:
    panels = [
        Panel(
            f"{entry.name} ({count(entry.features.contacts, 'contact')})", label, "error",
            _seen(curve(entry, solver) for solver in subject.drawn),
            log_x=True, log_y=True, steps=label != "iteration", level=subject.grid.tightest,
        )
        for entry in entries
    ]  # fmt: skip
    return _figure(title, panels, 3)
