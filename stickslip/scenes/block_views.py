"""Blocks seen from the side at chosen instants, as curves of a panel, and turns about an axis."""

from collections.abc import Sequence

import numpy as np

from stickslip.exhibits import Curve
from stickslip.scenes.grain_views import outlines
from stickslip.simulation.world_trajectory import WorldTrajectory, rotated
from stickslip.state import Array


def turn(angle: float, axis: int = 1) -> tuple[Array, Array]:
    """A turn by `angle` [rad] about a coordinate axis: its matrix, shape (3, 3), and unit quaternion."""
    p = np.zeros(4)
    p[0], p[1 + axis] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return rotated(np.tile(p, (3, 1)), np.eye(3)).T, p


def side_view(
    trajectory: WorldTrajectory, times: Sequence[float], axes: tuple[int, int] = (0, 2)
) -> list[Curve]:
    """Outlines at the records nearest to the times [s]; the last is drawn in full, the others dashed."""
    kept = sorted({int(np.argmin(np.abs(trajectory.t - t))) for t in times})
    return [
        Curve(f"{trajectory.t[k]:.3g} s", *outlines(trajectory, k, axes), "-" if k == kept[-1] else "--")
        for k in kept
    ]
