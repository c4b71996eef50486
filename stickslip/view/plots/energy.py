"""Energies of a run: what there is, what contacts took out, and the error of the balance."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.names import LISTED, listing
from stickslip.problem.checks import Array
from stickslip.simulation.trajectory import Trajectory
from stickslip.view.plots.choice import PlotError, Run, title_of
from stickslip.view.plots.curves import finished, history


@np.errstate(all="ignore")  # a run that blew up is drawn all the same
def plot_energy(trajectory: Run, path: str | Path | None = None) -> Figure:
    """Kinetic, potential and total energy, what was dissipated, work, and the error of their balance.

    What is not known (NaN) is a gap, and the note says so. `path`: draw it there, .svg or .png.
    """
    if isinstance(trajectory, Trajectory):
        figure, notes = _written(trajectory)
    else:
        figure, notes = _world_figure(trajectory), []
    curves = [curve for panel in figure.panels for curve in panel.curves]
    gaps = list(dict.fromkeys(c.name for c in curves if np.isnan(c.y).any()))
    if gaps:
        notes.append(f"Not known everywhere, hence gaps: {', '.join(gaps)}.")
    return finished(figure, path, *notes)


def _world_figure(run: Run) -> Figure:
    assert not isinstance(run, Trajectory)
    t = run.t
    drawn = [("kinetic", run.kinetic), ("potential", run.potential), ("total", run.energy)]
    drawn.append(("dissipated", run.dissipated))
    drawn += [(name, y) for name, y in (("work", run.work), ("lifted", run.lifted)) if np.any(y)]
    panels = [
        Panel("Energies", "t [s]", "energy [J]", _curves(t, drawn)),
        Panel("Balance", "t [s]", "error [J]", [history("balance error", t, run.balance)]),
    ]
    return Figure(title_of(run, "Energy"), panels, across=1)


def _written(run: Trajectory) -> tuple[Figure, list[str]]:
    moving = [part for part in run.model.systems if not part.first_order]
    if not moving:
        names = listing((part.name for part in run.model.systems), LISTED)
        raise PlotError(f"no energies: every system is of first order ({names})")
    t, work, notes = run.t, run.contact_work, []
    hidden = [part.name for part in moving if not part.potential_known]
    if hidden:
        notes.append(f"Without the potential energy of {listing(hidden, LISTED)}, which is not known.")
    drawn = [("kinetic", run.kinetic), ("potential", run.potential), ("total", run.energy)]
    panels = []
    if run.model.interactions:
        drawn.append(("taken out by contacts", -work))
        change = run.energy - run.energy[0] - (work - work[0])
        error = history("total + taken out - start", t, change)
        panels.append(Panel("Balance", "t [s]", "difference [J]", [error]))
        notes.append("The balance is zero but for forces without a potential, dampers and errors.")
    panels.insert(0, Panel("Energies", "t [s]", "energy [J]", _curves(t, drawn)))
    return Figure(title_of(run, "Energy"), panels, across=1), notes


def _curves(t: Array, drawn: list[tuple[str, Array]]) -> list[Curve]:
    return [history(name, t, y, "--" if name == "total" else "-") for name, y in drawn]
