"""What facts read from a trajectory: impacts, turning points, energies, whichever scheme made it."""

import numpy as np

from stickslip.problem.checks import Array
from stickslip.simulation.trajectory import Trajectory

GRAVITY = 9.81
"""[m/s²]"""


def spacing(trajectory: Trajectory) -> float:
    """Largest time between two records [s]: what a time read from them is uncertain by."""
    return float(np.diff(trajectory.t).max(initial=0.0))


def impacts(trajectory: Trajectory, interaction: str, component: int = 0) -> Array:
    """Times at which a contact closes [s]: of events where the scheme finds them, otherwise the first
    record of every stretch with an impulse."""
    found = [e.t for e in trajectory.events if e.kind == "impact" and e.interaction == interaction]
    if trajectory.scheme == "event-driven":
        return np.array(found)
    pushes = trajectory.interaction(interaction).r[:, component] > 0.0
    return np.asarray(trajectory.t[1:][pushes[1:] & ~pushes[:-1]])


def energy(trajectory: Trajectory) -> Array:
    """Kinetic and potential energy [J], shape (n,)."""
    return np.asarray(trajectory.kinetic + trajectory.potential)


def turning_points(t: Array, x: Array, v: Array) -> tuple[Array, Array]:
    """Times and places at which v changes sign, by linear interpolation [s], [unit of x]."""
    k = np.flatnonzero((v[1:] * v[:-1] < 0.0) | ((v[1:] == 0.0) & (v[:-1] != 0.0)))
    part = v[k] / (v[k] - v[k + 1])
    return t[k] + part * (t[k + 1] - t[k]), x[k] + part * (x[k + 1] - x[k])
