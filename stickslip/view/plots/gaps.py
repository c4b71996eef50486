"""Gaps of contacts over time, and how deep bodies went into each other."""

from pathlib import Path

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.names import LISTED, listing
from stickslip.problem.checks import Array
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.view.plots.choice import (
    NAMED,
    Pairs,
    PlotError,
    Run,
    block_names,
    interactions,
    is_contact,
    refuse_body,
    refuse_interaction,
    title_of,
)
from stickslip.view.plots.curves import finished, guide, history

NO_GAP = "No penetration: a gap in the curve."
ROUNDING = 1e-12
"""Penetrations below this are none, relative to the deepest [-]."""


@np.errstate(all="ignore")  # a run that blew up is drawn all the same
def plot_gaps(
    trajectory: Run,
    path: str | Path | None = None,
    *,
    interaction: str | None = None,
    body: str | None = None,
    log: bool = False,
) -> Figure:
    """Gaps over time: of the contacts of written equations, or of a world.

    interaction: of a run of written equations, this one alone.
    body: of a world, the contacts of this body, by the body on the other side; without it the least gap, the
        deepest penetration and the number of contacts of the whole world.
    log: draw penetrations on a logarithmic axis in place of gaps.
    path: draw it there, .svg or .png.
    """
    if isinstance(trajectory, Trajectory):
        refuse_body(trajectory, body)
        figure = _written(trajectory, interaction, log)
    else:
        refuse_interaction(trajectory, interaction)
        figure = _world(trajectory, log) if body is None else _body(trajectory, body, log)
    return finished(figure, path, NO_GAP if log else "")


def _written(run: Trajectory, name: str | None, log: bool) -> Figure:
    places = interactions(run, name, contacts=True)
    if not places:
        names = listing((part.name for part in run.model.interactions), LISTED)
        raise PlotError(f"no unilateral contact; name an interaction to see its outputs: {names}")
    gaps: list[tuple[str, Array]] = []
    unit = "y" if any(part.first_order for part, _ in places) else "gap [m]"
    for part, components in places:
        y, labels = run.y[:, components], block_names(part)
        blocks = is_contact(part) if is_contact(part).any() else np.ones(len(part.K), bool)
        gaps += [(labels[i], y[:, part.K.offset[i]]) for i in np.flatnonzero(blocks)]
    note = ""
    if len(gaps) > NAMED:
        note = f"The least of {len(gaps)} gaps at every instant."
        gaps = [("least gap", np.min([gap for _, gap in gaps], axis=0))]
    label = title_of(run, "Gaps", name)
    return Figure(label, [_panel(run.t, gaps, log, unit)], across=1, note=note)


def _world(run: WorldTrajectory, log: bool) -> Figure:
    n, contacts = len(run), run.contacts
    least = np.full(n, np.inf)
    np.minimum.at(least, contacts.record, contacts.gap)
    least = np.where(np.isinf(least), np.nan, least)
    if log:
        curves = [history("deepest penetration", run.t, _logged(run.penetration))]
    else:
        deepest = np.where(run.penetration > 0.0, -run.penetration, 0.0)
        curves = [history("least gap", run.t, least), history("deepest penetration", run.t, deepest, "--")]
    pressed = np.bincount(contacts.record[contacts.r[:, 0] > 0.0], minlength=n)
    count = [
        history("contacts", run.t, np.diff(contacts.offset)),
        history("with an impulse", run.t, pressed),
    ]
    label = "penetration [m]" if log else "gap [m]"
    panels = [
        Panel("Penetration" if log else "Gaps", "t [s]", label, curves, log_y=log),
        Panel("Contacts", "t [s]", "number", count),
    ]
    note = "Gaps as the recorded steps found them; penetration, negative, the deepest at the end of a step."
    return Figure(title_of(run, "Contacts"), panels, across=1, note="" if log else note)


def _body(run: WorldTrajectory, body: str, log: bool) -> Figure:
    pairs = Pairs.of(run, body)
    gaps = list(pairs.over_time(len(run), run.contacts.gap[pairs.rows], least=True))
    note = "Least gap to each body; none where there is no contact."
    label = title_of(run, "Gaps", body)
    return Figure(label, [_panel(run.t, gaps, log)], across=1, note="" if log else note)


def _panel(t: Array, gaps: list[tuple[str, Array]], log: bool, unit: str = "gap [m]") -> Panel:
    curves: list[Curve] = [] if log else [guide("zero", t[[0, -1]], [0.0, 0.0])]
    for name, gap in gaps:
        curves.append(history(name, t, _logged(-gap) if log else gap))
    return Panel("", "t [s]", "penetration [m]" if log else unit, curves, log_y=log)


def _logged(penetration: Array) -> Array:
    """What a logarithmic axis can show: nothing where there is no penetration, or one of rounding."""
    least = ROUNDING * float(np.max(penetration, initial=0.0, where=np.isfinite(penetration)))
    return np.where(penetration > least, penetration, np.nan)
