"""Phase portraits, with impacts as jumps, and Poincaré sections."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.names import LISTED, alternatives
from stickslip.problem.checks import Array, IntArray
from stickslip.simulation.trajectory import Trajectory
from stickslip.view.plots.choice import PlotError, Run, body_number, check_names, title_of
from stickslip.view.plots.curves import POINTS, cloud, drawable, finished, guide, orbit, part_to_draw

Coordinate = int | str | tuple[int, int]
"""Number of a coordinate; x, y or z of a body; or the numbers of two states of a first-order system."""

AXES = ("x", "y", "z")
NEAR = 3
"""Number of intervals on either side with which a change of velocity is compared."""
SHARP = 5.0
"""Ratio of a change of velocity to the median change nearby above which it is a jump [-]; heuristic."""
SEEN = 1e-3
"""Smallest visible jump, relative to the range of the velocity [-]."""


@dataclass(frozen=True, eq=False)
class Portrait:
    """Two components of the state at every record."""

    name: str
    """Name of the system or body."""
    t: Array
    """Times [s], shape (n,)."""
    q: Array
    """All coordinates of the system or body [any], shape (n, nq)."""
    v: Array
    """All velocities of the system or body [any], shape (n, nv)."""
    x: Array
    """Coordinate, or first state [any], shape (n,)."""
    y: Array
    """Velocity of x, or second state [any], shape (n,)."""
    labels: tuple[str, str]
    """Labels of the axes."""
    moves: bool
    """Whether y is the velocity of x."""
    jump: np.ndarray
    """Whether y jumps between a record and the next, by an impact [-], shape (n - 1,), bool."""

    def within(self, rows: slice) -> Self:
        """Restrict the portrait to consecutive records."""
        some = {name: getattr(self, name)[rows] for name in ("t", "q", "v", "x", "y")}
        return replace(self, **some, jump=self.jump[rows.start : max(rows.start, rows.stop - 1)])


def portrait(
    run: Run, system: str | None = None, body: str | None = None, coordinate: Coordinate | None = None
) -> Portrait:
    """Select the data of a phase portrait or Poincaré section; by default of the first system, dynamic body
    and coordinate."""
    check_names(run, system=system, body=body)
    if not run.of_world:
        return _of_system(run, system, coordinate)
    return _of_body(run, body, coordinate)


def _of_system(run: Trajectory, system: str | None, coordinate: Coordinate | None) -> Portrait:
    names = [part.name for part in run.model.systems]
    if system is not None and system not in names:
        raise PlotError(f"no system {system!r}; {alternatives(system, names, most=LISTED)}")
    name = names[0] if system is None else system
    part, view = run.model.system(name)[0], run.system(name)
    if part.first_order:
        i, j = _two(name, part.nq, coordinate)
        state, still = (view.q, view.v, view.x[:, i], view.x[:, j]), np.zeros(len(run) - 1, bool)
        return Portrait(name, run.t, *state, (f"x{i}", f"x{j}"), False, still)
    turns = part.nq != part.nv
    k = _number(f"system {name!r}", coordinate, 3 if turns else part.nq, AXES if turns else ())
    labels = (f"{AXES[k]} [m]", f"v{AXES[k]} [m/s]") if turns else (f"q{k}", f"v{k}")
    touched = np.zeros(len(run) - 1, bool)
    for interaction, components, _ in run.model.places:
        if name in interaction.systems:
            touched |= run.r[1:, components].any(axis=1)
    y = view.v[:, k]
    return Portrait(name, run.t, view.q, view.v, view.q[:, k], y, labels, True, touched & jumps(y))


def _of_body(run: Trajectory, body: str | None, coordinate: Coordinate | None) -> Portrait:
    if body is None and not len(run.model):
        raise PlotError("no body: the world is empty")
    b = int(np.argmax(run.model.mass > 0.0)) if body is None else body_number(run, body)
    name = run.model.names[b]
    k = _number(f"body {name!r}", coordinate, 3, AXES)
    q, v = run.poses[:, 7 * b : 7 * b + 7], run.twists[:, 6 * b : 6 * b + 6]
    touched = np.ones(len(run) - 1, bool)
    if np.allclose(np.diff(run.t), run.h[1:]):  # every step, and thus every contact, is recorded
        contacts, touched = run.raw_contacts, np.zeros(len(run), bool)
        rows = (contacts.body == b).any(axis=1) & (contacts.r[:, 0] > 0.0)
        touched[contacts.record[rows]] = True
        touched = touched[1:]
    labels = (f"{AXES[k]} [m]", f"v{AXES[k]} [m/s]")
    return Portrait(name, run.t, q, v, q[:, k], v[:, k], labels, True, touched & jumps(v[:, k]))


def jumps(v: Array) -> np.ndarray:
    """Whether a velocity changes much more between two records than nearby, shape (n - 1,), bool."""
    with np.errstate(all="ignore"):  # diverged runs are drawn too
        change = np.abs(np.diff(v))
        if not change.size:
            return np.zeros(0, bool)
        padded = np.pad(change, NEAR, mode="reflect") if change.size > NEAR else np.pad(change, NEAR, "edge")
        around = np.lib.stride_tricks.sliding_window_view(padded, 2 * NEAR + 1)
        usual = np.median(np.delete(around, NEAR, axis=1), axis=1)
        finite = v[np.isfinite(v)]
        seen = SEEN * float(np.ptp(finite)) if finite.size else 0.0
        return np.asarray((change > SHARP * usual) & (change > seen))


def _number(owner: str, coordinate: Coordinate | None, count: int, names: tuple[str, ...]) -> int:
    """Number of a coordinate given by number or name."""
    if coordinate is None and count:
        return 0
    if isinstance(coordinate, str) and coordinate in names:
        return names.index(coordinate)
    text = str(coordinate)
    if not _is_below(text, count):
        names_text = f" ({', '.join(names)})" if names else ""
        raise PlotError(f"no coordinate {coordinate!r} of {owner}; known: 0 to {count - 1}{names_text}")
    return int(text)


def _two(name: str, count: int, coordinate: Coordinate | None) -> tuple[int, int]:
    """Numbers of two states of a first-order system."""
    if count < 2:
        raise PlotError(f"system {name!r} is of first order and has one state: a portrait needs two")
    if coordinate is None:
        return 0, 1
    parts = coordinate.split(",") if isinstance(coordinate, str) else coordinate
    texts = [str(part).strip() for part in parts] if not isinstance(parts, int) else []
    if len(texts) != 2 or not all(_is_below(text, count) for text in texts):
        expected = f"two of 0 to {count - 1}, such as 0,1"
        raise PlotError(f"coordinate {coordinate!r}: system {name!r} is of first order; give {expected}")
    return int(texts[0]), int(texts[1])


def _is_below(text: str, count: int) -> bool:
    """Whether a text is a whole number from 0 to count - 1."""
    return text.isdecimal() and len(text) < 10 and int(text) < count


JUMPS = POINTS // 3
"""Largest number of jumps that are drawn, the widest ones."""


@np.errstate(all="ignore")  # diverged runs are drawn too
def plot_phase(
    trajectory: Run,
    path: str | Path | None = None,
    *,
    system: str | None = None,
    body: str | None = None,
    coordinate: Coordinate | Sequence[Coordinate] | None = None,
    after: float | None = None,
    until: float | None = None,
) -> Figure:
    """Plot velocity over position of coordinates of a system or body, or one state of a first-order system
    over another; jumps of the velocity at impacts are thin dashed lines.

    system, body: name; by default the first system or the first dynamic body.
    coordinate: number of a coordinate (x, y, z of a body); (i, j) in first order; several in a list.
    after, until: start and end time of the portrait [s].
    path: file to write, .svg or .png.

    If the curve has so many turns that they would cover each other, only the last part is drawn, and the note
    gives its start time.
    """
    coordinates: Sequence[Any] = coordinate if isinstance(coordinate, list) else [coordinate]
    rows = _rows(trajectory, after, until)
    portraits = [portrait(trajectory, system, body, item).within(rows) for item in coordinates]
    start = max(part_to_draw(view.x, view.y) for view in portraits)
    portraits = [view.within(slice(start, view.t.size)) for view in portraits]
    notes = (
        [f"From {portraits[0].t[0]:g} s on; earlier curves, which would cover it, are omitted."]
        if start
        else []
    )
    if any(bool(view.jump.any()) for view in portraits):
        notes.append("Dashed: impacts, between the records before and after.")
    title = title_of(trajectory, "Phase portrait", portraits[0].name)
    return finished(Figure(title, [_panel(view) for view in portraits]), path, *notes)


def _rows(run: Run, after: float | None, until: float | None) -> slice:
    """Records from `after` to `until` [s]."""
    start = 0 if after is None else int(np.searchsorted(run.t, after, "left"))
    stop = len(run) if until is None else int(np.searchsorted(run.t, until, "right"))
    if start >= stop or until != until:
        span = f"{run.t[0]:g} to {run.t[-1]:g} s"
        raise PlotError(f"no record from after = {after} s to until = {until} s; the run goes from {span}")
    return slice(start, stop)


def _panel(of: Portrait) -> Panel:
    broken = np.flatnonzero(of.jump) + 1
    x, y = (np.insert(values, broken, np.nan) for values in (of.x, of.y))
    curves: list[Curve] = [orbit("motion", x, y)]
    if broken.size:
        curves.append(guide("impact", *_segments(of, broken - 1), "--"))
    curves.append(Curve("start", drawable(of.x[:1]), drawable(of.y[:1]), "o", colour=1))
    return Panel("", *of.labels, curves)


def _segments(of: Portrait, before: IntArray) -> tuple[Array, Array]:
    """Line segments from each record `before` to the next, separated by gaps."""
    if before.size > JUMPS:
        size = np.abs(of.y[before + 1] - of.y[before])
        before = np.sort(before[np.argsort(-size, kind="stable")[:JUMPS]])
    gap = np.full(before.size, np.nan)
    x, y = (
        np.stack([drawable(values[before]), drawable(values[before + 1]), gap], axis=1).reshape(-1)
        for values in (of.x, of.y)
    )
    return x, y


Surface = Callable[[float, Array, Array], float]
"""A function of t, q and v of the system or body; the surface is its zero set."""

MOST = 10_000_000
"""Largest number of points of a section; more indicate a wrong period."""
AT_RECORD = 1e-6
"""Distance in time below which a point coincides with a record, relative to the interval [-]."""


@np.errstate(all="ignore")  # diverged runs are drawn too
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
    """Plot position and velocity once every `period`, or where `surface` crosses zero upwards.

    Between records the state is interpolated (positions by cubics, velocities linearly). Across an impact the
    nearer record is used, and the note counts these points.

    period: period of the section [s]; the times are `after` + k period, k = 0, 1, ...
    surface: a function of t, q, v (of the system or body) whose upward zero crossings are drawn.
    system, body, coordinate: as in `plot_phase`.
    after: start time of the section [s], to omit a transient.
    path: file to write, .svg or .png.
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
        when = _crossings(of, surface)
        when = when[when >= start]
        how = "Where the surface is crossed upwards."
    x, y, nearer = interpolated(of, when)
    at_impacts = f" {nearer} within an impact: the nearer record." if nearer else ""
    note = f"{how} {when.size} points.{at_impacts}"
    panel = Panel("", *of.labels, [cloud("section", x, y)])
    return finished(Figure(title_of(trajectory, "Poincaré section", of.name), [panel], note=note), path)


def _strobe(of: Portrait, start: float, period: float) -> Array:
    """Times of a section with a period [s], shape (m,)."""
    if not period > 0.0 or not np.isfinite(period):
        raise PlotError(f"period = {period:g} s must be positive")
    start = max(start, float(of.t[0]))
    count = (float(of.t[-1]) - start) / period
    if count > MOST:
        raise PlotError(f"period = {period:g} s gives more than {MOST} instants in this run")
    return np.asarray(start + period * np.arange(int(count + AT_RECORD) + 1))


def _crossings(of: Portrait, surface: Surface) -> Array:
    """Times of the upward zero crossings of a surface [s], shape (m,), by linear interpolation."""
    value = np.array([float(surface(*at)) for at in zip(of.t.tolist(), of.q, of.v, strict=True)])
    before = np.flatnonzero((value[:-1] < 0.0) & (value[1:] >= 0.0))
    share = value[before] / (value[before] - value[before + 1])
    return np.asarray(of.t[before] + share * (of.t[before + 1] - of.t[before]))


def interpolated(of: Portrait, when: Array) -> tuple[Array, Array, int]:
    """Interpolate x and y at times, shape (m,); return them and the number of times within impacts."""
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
    if of.moves:  # cubic Hermite interpolation: the velocities at both ends are known
        bend = (1.0 - s) * (span * y0 - (x1 - x0)) - s * (span * y1 - (x1 - x0))
        x = x + s * (1.0 - s) * bend
    return x, y, int(across.sum())
