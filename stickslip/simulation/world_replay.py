"""Conversion of a run of the equations of a world to a run of the world, for viewers and views by name."""

from typing import TYPE_CHECKING

import numpy as np

from stickslip.mechanics import energy
from stickslip.mechanics.world import World
from stickslip.schemes.equations_pairs import Paths
from stickslip.simulation.contacts import CONTACT_WIDTHS, WHOLE
from stickslip.simulation.model import Model
from stickslip.simulation.rows import Rows, Table
from stickslip.simulation.store import MemoryStore
from stickslip.simulation.world_model import WorldModel
from stickslip.state import ModelError

if TYPE_CHECKING:
    from stickslip.simulation.trajectory import Trajectory

SAME = (
    "t", "h", "index", "verdicts", "natural", "natural_scaled", "iterations", "penetration", "opening",
)  # fmt: skip
"""Columns that are copied from the run of the equations."""


def replayed(run: "Trajectory", world: World) -> "Trajectory":
    """Return a run of the world with the poses, velocities and energies of its bodies in `run`, without
    contacts, impulses, sensors and energy balance."""
    if not isinstance(run.model, Model):
        raise ModelError("this is a run of a world already")
    n, count, paths = len(run), len(world.names), Paths(world)
    q, v = np.zeros((n, count, 7)), np.zeros((n, count, 6))
    for i, name in enumerate(world.names):
        if world.row[i] >= 0:
            _, at_q, at_v, _ = run.model.system(name)
            q[:, i], v[:, i] = run.q[:, at_q], run.v[:, at_v]
            continue
        for k, t in enumerate(run.t.tolist()):
            q[k, i], v[k, i] = paths.pose(i, t), paths.twist(i, t)
    columns = {name: getattr(run, name) for name in SAME}
    columns |= {"q": q.reshape(n, -1), "v": v.reshape(n, -1), "correction": np.zeros(n)}
    columns["kinetic"] = np.array([energy.kinetic(world, each) for each in columns["v"]])
    each = zip(run.t.tolist(), columns["q"], strict=True)
    columns["potential"] = np.array([energy.potential(world, t, places) for t, places in each])
    columns |= {name: np.full(n, np.nan) for name in ("dissipated", "work", "lifted", "balance")}
    none = np.zeros(n, np.int64)
    contacts = {
        name: np.zeros((0, *width), np.int64 if name in WHOLE else np.float64)
        for name, width in CONTACT_WIDTHS.items()
    }
    joints = {"r": np.zeros(0), "id": np.zeros(0, np.int64)}
    tables = {"contacts": Table(none, contacts), "joints": Table(none, joints)}
    from stickslip.simulation.trajectory import Trajectory

    return Trajectory(
        WorldModel.of(world), MemoryStore(Rows(columns, tables)), run.scheme, run.scheme_options, run.solver,
        run.tolerance, run.clock, run.steps, run.missed, run.relaxation, "solver", events=run.events,
        notes=(*run.notes, "a replay of equations: contacts, and where energy went, are in their run"),
    )  # fmt: skip
