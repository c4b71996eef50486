"""Blocks seen from the side at chosen instants, as curves of a panel, and turns about an axis."""

from collections.abc import Sequence

import numpy as np

from stickslip.exhibits import Curve
from stickslip.mechanics.given import rotation
from stickslip.rotations import matrices
from stickslip.scenes.grain_views import outlines
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.state import Array


def turn(angle: float, axis: int = 1) -> tuple[Array, Array]:
    """A turn by `angle` [rad] about a coordinate axis: its matrix, shape (3, 3), and unit quaternion."""
    p = rotation(np.eye(3)[axis], angle)
    return matrices(p), p


def side_view(
    trajectory: WorldTrajectory, times: Sequence[float], axes: tuple[int, int] = (0, 2)
) -> list[Curve]:
    """Outlines at the records nearest to the times [s]; the last is drawn in full, the others dashed."""
    kept = sorted({int(np.argmin(np.abs(trajectory.t - t))) for t in times})
    return [
        Curve(f"{trajectory.t[k]:.3g} s", *outlines(trajectory, k, axes), "-" if k == kept[-1] else "--")
        for k in kept
    ]
