"""Poincaré sections: the state once a period, or where it crosses a surface."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from stickslip.exhibits import Figure, Panel
from stickslip.problem.checks import Array, IntArray
from stickslip.view.plots.choice import PlotError, Run, title_of
from stickslip.view.plots.curves import cloud, finished
from stickslip.view.plots.states import Coordinate, Portrait, portrait, state_of

Surface = Callable[[float, Array, Array], float]
"""A function of t, q and v of the system or body whose zero is the surface."""

MOST = 10_000_000
"""Most instants of a section: a tiny period is a mistake."""
AT_RECORD = 1e-6
"""An instant so near to a record, relative to the interval, is that record [-]."""


@np.errstate(all="ignore")  # a run that blew up is drawn all the same
def plot_poincare(
    trajectory: Run,
    path: str | Path | None = None,
    *,
    period: float | None = None,
    surface: Surface | None = None,
    system: str | None = None,
    body: str | None = None,
    coordinate: Coordinate | None = None,
    after: float | None = None,
) -> Figure:
    """Position and velocity once every `period`, or wherever `surface` grows through zero.

    Between records the state is interpolated (a cubic for positions, lines for velocities), but not across an
    impact: there the nearer record is taken, and the note says how often.

    period: of the section [s]; the instants are `after` + k period, k = 0, 1, ...
    surface: a function of t, q, v (of that system or body) whose zero is crossed upwards.
    system, body, coordinate: as in `plot_phase`.
    after: leave out what comes before this time [s], a transient.
    path: draw it there, .svg or .png.
    """
    of = portrait(trajectory, system, body, coordinate)
    start = float(of.t[0]) if after is None else float(after)
    if not start <= of.t[-1]:
        raise PlotError(f"after = {start:g} s is later than the end of the run, {of.t[-1]:g} s")
    if (period is None) == (surface is None):
        raise PlotError("a section needs a period [s], --period T (or, in Python, a surface instead)")
    if period is not None:
        when = _strobe(of, start, float(period))
        how = f"Every {period:g} s from {max(start, float(of.t[0])):g} s."
    else:
        assert surface is not None
        when = _crossings(of, surface, *state_of(trajectory, system, body))
        when = when[when >= start]
        how = "Where the surface is crossed upwards."
    x, y, nearer = interpolated(of, when)
    at_impacts = f" {nearer} within an impact: the nearer record." if nearer else ""
    note = f"{how} {when.size} points.{at_impacts}"
    panel = Panel("", *of.labels, [cloud("section", x, y)])
    return finished(Figure(title_of(trajectory, "Poincaré section", of.name), [panel], note=note), path)


def _strobe(of: Portrait, start: float, period: float) -> Array:
    if not period > 0.0 or not np.isfinite(period):
        raise PlotError(f"period = {period:g} s must be positive")
    start = max(start, float(of.t[0]))
    count = (float(of.t[-1]) - start) / period
    if count > MOST:
        raise PlotError(f"period = {period:g} s gives more than {MOST} instants in this run")
    return np.asarray(start + period * np.arange(int(count + AT_RECORD) + 1))


def _crossings(of: Portrait, surface: Surface, q: Array, v: Array) -> Array:
    value = np.array([float(surface(t, *state)) for t, *state in zip(of.t.tolist(), q, v, strict=True)])
    before = np.flatnonzero((value[:-1] < 0.0) & (value[1:] >= 0.0))
    share = value[before] / (value[before] - value[before + 1])
    return np.asarray(of.t[before] + share * (of.t[before + 1] - of.t[before]))


def interpolated(of: Portrait, when: Array) -> tuple[Array, Array, int]:
    """x and y at instants within the run, and how many of them lie within an impact, shape (m,)."""
    if of.t.size < 2:
        return np.full(when.size, of.x[0]), np.full(when.size, of.y[0]), 0
    k: IntArray = np.clip(np.searchsorted(of.t, when, "right") - 1, 0, of.t.size - 2)
    span = of.t[k + 1] - of.t[k]
    s = np.clip((when - of.t[k]) / np.where(span > 0.0, span, 1.0), 0.0, 1.0)
    s = np.where(s < AT_RECORD, 0.0, np.where(s > 1.0 - AT_RECORD, 1.0, s))
    across = of.jump[k] & (s > 0.0) & (s < 1.0)
    s = np.where(across, np.round(s), s)
    x0, x1, y0, y1 = of.x[k], of.x[k + 1], of.y[k], of.y[k + 1]
    y = (1.0 - s) * y0 + s * y1
    x = (1.0 - s) * x0 + s * x1
    if of.moves:  # Hermite's cubic: the velocities at both ends are known
        bend = (1.0 - s) * (span * y0 - (x1 - x0)) - s * (span * y1 - (x1 - x0))
        x = x + s * (1.0 - s) * bend
    return x, y, int(across.sum())
