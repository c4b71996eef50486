"""Energies of a run: what there is, what contacts took out, and the error of the balance."""

from pathlib import Path

import numpy as np

from stickslip.exhibits import Figure, Panel
from stickslip.names import LISTED, listing
from stickslip.simulation.trajectory import Trajectory
from stickslip.view.plots.choice import PlotError, Run, title_of
from stickslip.view.plots.curves import finished, history


@np.errstate(all="ignore")  # a run that blew up is drawn all the same
def plot_energy(trajectory: Run, path: str | Path | None = None) -> Figure:
    """Kinetic, potential and total energy, what was dissipated, work, and the error of their balance.

    What is not known (NaN) is a gap, and the note says so. `path`: draw it there, .svg or .png.
    """
    run, notes = trajectory, list[str]()
    drawn = [("kinetic", run.kinetic), ("potential", run.potential), ("total", run.energy)]
    balance = ""
    if isinstance(run, Trajectory):
        moving = [part for part in run.model.systems if not part.first_order]
        if not moving:
            names = listing((part.name for part in run.model.systems), LISTED)
            raise PlotError(f"no energies: every system is of first order ({names})")
        hidden = [part.name for part in moving if not part.potential_known]
        if hidden:
            notes.append(f"Without the potential energy of {listing(hidden, LISTED)}, which is not known.")
        if run.model.interactions:
            balance, label, work = "total + taken out - start", "difference [J]", run.contact_work
            drawn.append(("taken out by contacts", -work))
            error = run.energy - run.energy[0] - (work - work[0])
            notes.append("The balance is zero but for forces without a potential, dampers and errors.")
    else:
        drawn.append(("dissipated", run.dissipated))
        drawn += [(name, y) for name, y in (("work", run.work), ("lifted", run.lifted)) if np.any(y)]
        balance, label, error = "balance error", "error [J]", run.balance
    curves = [history(name, run.t, y, "--" if name == "total" else "-") for name, y in drawn]
    panels = [Panel("Energies", "t [s]", "energy [J]", curves)]
    if balance:
        panels.append(Panel("Balance", "t [s]", label, [history(balance, run.t, error)]))
    gaps = list(dict.fromkeys(c.name for panel in panels for c in panel.curves if np.isnan(c.y).any()))
    if gaps:
        notes.append(f"Not known everywhere, hence gaps: {', '.join(gaps)}.")
    return finished(Figure(title_of(run, "Energy"), panels, across=1), path, *notes)
