"""Phase portraits: velocity against position, impacts as jumps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.problem.checks import Array, IntArray
from stickslip.view.plots.choice import PlotError, Run, title_of
from stickslip.view.plots.curves import POINTS, drawable, finished, guide, orbit, part_to_draw
from stickslip.view.plots.states import Coordinate, Portrait, portrait

JUMPS = POINTS // 3
"""Most jumps that are drawn, the widest."""


@np.errstate(all="ignore")  # a run that blew up is drawn all the same
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
    """Velocity against position of coordinates of a system or body, or one state of first order against
    another; jumps of the velocity at impacts are thin dashed lines.

    system, body: whose; the first system, or the first dynamic body, unless given.
    coordinate: number of a coordinate (x, y, z of a body); (i, j) in first order; several in a list.
    after, until: leave out what is before and after these times [s].
    path: draw it there, .svg or .png.

    Of a motion with so many turns that they would cover each other the last ones are drawn, and the note says
    from when on.
    """
    chosen: Sequence[Any] = coordinate if isinstance(coordinate, list) else [coordinate]
    rows = _rows(trajectory, after, until)
    portraits = [portrait(trajectory, system, body, one).within(rows) for one in chosen]
    start = max(part_to_draw(each.x, each.y) for each in portraits)
    portraits = [each.within(slice(start, each.t.size)) for each in portraits]
    notes = [f"From {portraits[0].t[0]:g} s on: what came before would cover it."] if start else []
    if any(bool(each.jump.any()) for each in portraits):
        notes.append("Dashed: impacts, between the records before and after.")
    title = title_of(trajectory, "Phase portrait", portraits[0].name)
    return finished(Figure(title, [_panel(each) for each in portraits]), path, *notes)


def _rows(run: Run, after: float | None, until: float | None) -> slice:
    """The records from `after` to `until` [s]."""
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
    """Lines from each record to the next, with a gap after each."""
    if before.size > JUMPS:
        size = np.abs(of.y[before + 1] - of.y[before])
        before = np.sort(before[np.argsort(-size, kind="stable")[:JUMPS]])
    gap = np.full(before.size, np.nan)
    x, y = (
        np.stack([drawable(values[before]), drawable(values[before + 1]), gap], axis=1).reshape(-1)
        for values in (of.x, of.y)
    )
    return x, y
