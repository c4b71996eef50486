"""Impulses of contacts over time, along the normal and across it, or the forces they stand for."""

from pathlib import Path

import numpy as np

from stickslip.exhibits import Figure, Panel
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
    refuse_body,
    refuse_interaction,
    title_of,
)
from stickslip.view.plots.curves import finished, history

Drawn = list[tuple[str, Array]]


@np.errstate(all="ignore")  # a run that blew up is drawn all the same
def plot_impulses(
    trajectory: Run,
    path: str | Path | None = None,
    *,
    interaction: str | None = None,
    body: str | None = None,
    forces: bool = False,
) -> Figure:
    """Normal and tangential impulses over time, by interaction, or by the bodies that one body touches.

    Those of written equations are impulses since the record before (values lam in first order); those of a
    world are of the last step of each record, summed over contacts: without `body` over all of them.

    interaction: of a run of written equations, this one alone.
    body: of a world, the contacts of this body, by the body on the other side.
    forces: divide by the time in which they acted: mean forces in place of impulses.
    path: draw it there, .svg or .png.
    """
    if isinstance(trajectory, Trajectory):
        refuse_body(trajectory, body)
        figure = _written(trajectory, interaction, forces)
    else:
        refuse_interaction(trajectory, interaction)
        figure = _world(trajectory, body, forces)
    return finished(figure, path)


def _written(run: Trajectory, name: str | None, forces: bool) -> Figure:
    places = interactions(run, name, contacts=False)
    if not places:
        raise PlotError("no impulses: the run has no interaction")
    values = all(part.first_order for part, _ in places)
    if name is None and not values:
        places = [place for place in places if not place[0].first_order]
    span = np.concatenate([[np.inf], np.diff(run.t)])
    span = np.where(span > 0.0, span, np.inf)
    normal: Drawn = []
    tangential: Drawn = []
    for part, components in places:
        r = run.r[:, components]
        if forces and not part.first_order:
            r = r / span[:, None]
        for i, label in enumerate(block_names(part)):
            a, b = int(part.K.offset[i]), int(part.K.offset[i + 1])
            groups = part.K.groups(i)
            normal.append((label, r[:, a] if groups or b == a + 1 else np.linalg.norm(r[:, a:b], axis=1)))
            if groups:
                sliding = r[:, a + 1 : a + 1 + groups[0]]
                signed = sliding[:, 0] if groups[0] == 1 else np.linalg.norm(sliding, axis=1)
                tangential.append((label, signed))
    note = "" if forces or values else "Impulses since the record before."
    if len(normal) > NAMED:
        note = f"{note} Sums over {len(normal)} contacts.".strip()
        normal = [("sum", np.sum([r for _, r in normal], axis=0))]
        tangential = [("sum", np.sum([np.abs(r) for _, r in tangential], axis=0))] if tangential else []
    label = "lam" if values else _label(forces)
    panels = [_panel("Normal" if tangential else "", label, run, normal)]
    if tangential:
        panels.append(_panel("Tangential", label, run, tangential))
    what = "Multipliers" if values else "Forces" if forces else "Impulses"
    return Figure(title_of(run, what, name), panels, across=1, note=note)


def _world(run: WorldTrajectory, body: str | None, forces: bool) -> Figure:
    n, contacts = len(run), run.contacts
    if not len(contacts):
        raise PlotError(
            f"no impulses: no contact in the records of this run; bodies: {listing(run.model.names, LISTED)}"
        )
    r = contacts.r / np.where(run.h > 0.0, run.h, 1.0)[contacts.record][:, None] if forces else contacts.r
    across = np.linalg.norm(r[:, 1:3], axis=1)
    if body is None:
        sums, largest = np.zeros((2, n)), np.zeros(n)
        np.add.at(sums[0], contacts.record, r[:, 0])
        np.add.at(sums[1], contacts.record, across)
        np.maximum.at(largest, contacts.record, r[:, 0])
        normal: Drawn = [("all contacts", sums[0]), ("largest", largest)]
        tangential: Drawn = [("all contacts", sums[1])]
    else:
        pairs = Pairs.of(run, body)
        normal, tangential = (
            list(pairs.over_time(n, values[pairs.rows], least=False)) for values in (r[:, 0], across)
        )
    label = _label(forces)
    panels = [_panel("Normal", label, run, normal), _panel("Tangential", label, run, tangential)]
    note = "Sums of sizes over contacts, in the last step of each record."
    return Figure(title_of(run, "Forces" if forces else "Impulses", body), panels, across=1, note=note)


def _panel(title: str, label: str, run: Run, drawn: Drawn) -> Panel:
    return Panel(title, "t [s]", label, [history(name, run.t, y) for name, y in drawn])


def _label(forces: bool) -> str:
    return "force [N]" if forces else "impulse [N s]"
