"""Figures of the rolling study, numbered as in its report."""

from collections.abc import Sequence

import numpy as np

from stickslip.bench.analysis.profiles import performance_profile
from stickslip.exhibits import Curve, Figure, Panel
from stickslip.studies.rolling_runs import ERRORS, MEASURES, TOLERANCES, Run
from stickslip.studies.rolling_tables import Runs, profile_costs

WIDEST = 16.0
"""Largest factor tau that the profiles show."""


def errors_figure(title: str, runs: Sequence[Run], tolerance: float) -> Figure:
    """Figures 2.1 to 2.4: the four errors along the iterations, a panel for each run."""
    return Figure(title, [errors_panel(run, tolerance) for run in runs])


def errors_panel(run: Run, tolerance: float, title: str = "") -> Panel:
    """The four errors of one run."""
    x = np.arange(run.iterations + 1.0)
    curves = [Curve(name, x, run.errors[:, k]) for k, name in enumerate(ERRORS)]
    title = title or f"n = {run.contacts}, {run.algorithm}"
    return Panel(title, "iteration", "error", curves, log_y=True, level=tolerance)


def jump_figure(title: str, pairs: Sequence[tuple[Run, Run]]) -> Figure:
    """Figures 2.9 to 2.11: dinfeas with equal and with separate steps."""
    panels = []
    for equal, separate in pairs:
        curves = [
            Curve(f"dinfeas, {run.steps} steps", np.arange(run.iterations + 1.0), run.errors[:, 1])
            for run in (equal, separate)
        ]
        panels.append(
            Panel(f"n = {equal.contacts}, {equal.algorithm}", "iteration", "dinfeas", curves, log_y=True)
        )
    return Figure(title, panels)


def lengths_figure(title: str, runs: Sequence[Run]) -> Figure:
    """Step lengths along the iterations."""
    panels = []
    for run in runs:
        x = np.arange(1.0, run.iterations + 1.0)
        curves = [Curve(name, x, run.alpha[1:, k]) for k, name in enumerate(("alpha_P", "alpha_D"))]
        panels.append(
            Panel(f"n = {run.contacts}, {run.algorithm}, {run.steps}", "iteration", "step length", curves)
        )
    return Figure(title, panels)


def profiles_figure(runs: Runs, measure: str) -> Figure:
    """Figures 2.5 to 2.8: the profiles at the four tolerances, on one measure."""
    panels = []
    for tolerance in TOLERANCES:
        profile = performance_profile(profile_costs(runs, tolerance, measure))
        shown = profile.taus <= WIDEST
        taus = np.append(profile.taus[shown], WIDEST)
        curves = [
            Curve(name, taus, np.append(share[shown], share[shown][-1]))
            for name, share in zip(runs, profile.shares, strict=True)
        ]
        panels.append(
            Panel(
                f"tolerance {tolerance:.0e}",
                "factor of the best time",
                "share of problems",
                curves,
                log_x=True,
                steps=True,
                y_range=(0.0, 1.03),
            )
        )
    return Figure(f"Performance profiles by time, measure: {MEASURES[measure]}", panels)


def times_figure(runs: Runs, tolerance: float) -> Figure:
    """Time and iterations against the number of contacts."""
    time, count = [], []
    for name, each in runs.items():
        met = [run for run in each if run.first(tolerance) is not None]
        n = np.array([float(run.contacts) for run in met])
        time.append(Curve(name, n, np.array([run.time(tolerance) for run in met]), "o"))
        count.append(Curve(name, n, np.array([float(run.first(tolerance) or 0) for run in met]), "o"))
    return Figure(
        f"The four algorithms to {tolerance:.0e} on the report's measure",
        [
            Panel("time", "contacts", "time [s]", time, log_x=True, log_y=True),
            Panel("iterations", "contacts", "iterations", count, log_x=True),
        ],
    )


def factor_figure(timings: Sequence[tuple[int, dict[str, float]]]) -> Figure:
    """LU against factors that use symmetry."""
    n = np.array([float(contacts) for contacts, _ in timings])
    kinds = list(timings[0][1]) if timings else []
    curves = [Curve(kind, n, np.array([t[kind] for _, t in timings])) for kind in kinds]
    panel = Panel("nt-f", "contacts", "time of one iteration [s]", curves, log_x=True, log_y=True)
    return Figure("LU against LDLᵀ", [panel], across=1)
