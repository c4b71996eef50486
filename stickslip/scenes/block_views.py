"""Blocks seen from the side: outlines of boxes and hulls at chosen instants, as curves of a panel."""

import itertools
from collections.abc import Sequence

import numpy as np
from scipy.spatial import ConvexHull as Quickhull

from stickslip.exhibits import Curve
from stickslip.simulation.world_trajectory import WorldTrajectory, rotated
from stickslip.state import Array

CORNERS = 0.5 * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
"""Of a box with edges of length 1 [m], shape (8, 3)."""


def turn(angle: float, axis: int = 1) -> tuple[Array, Array]:
    """A turn by `angle` [rad] about a coordinate axis: its matrix, shape (3, 3), and unit quaternion."""
    p = np.zeros(4)
    p[0], p[1 + axis] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return rotated(np.tile(p, (3, 1)), np.eye(3)).T, p


def outlines(trajectory: WorldTrajectory, k: int, axes: tuple[int, int] = (0, 2)) -> tuple[Array, Array]:
    """Outlines of all boxes and hulls at record k in the plane of two axes [m], shape (points,) each; NaN
    between one and the next."""
    model, row = trajectory.model, trajectory.q[k].reshape(-1, 7)
    lines = [np.zeros((0, 2))]
    for shape, body, place, own in zip(
        model.shapes, model.shape_body, model.shape_position, model.shape_quaternion, strict=True
    ):
        if shape.kind not in ("cuboid", "convex-hull"):
            continue
        points = CORNERS * shape.numbers if shape.kind == "cuboid" else shape.points
        points = place + rotated(np.tile(own, (len(points), 1)), points)
        points = row[body, :3] + rotated(np.tile(row[body, 3:], (len(points), 1)), points)
        flat = points[:, axes]
        ring = Quickhull(flat).vertices
        lines += [flat[[*ring, ring[0]]], np.full((1, 2), np.nan)]
    x, y = np.concatenate(lines).T
    return x, y


def side_view(
    trajectory: WorldTrajectory, times: Sequence[float], axes: tuple[int, int] = (0, 2)
) -> list[Curve]:
    """Outlines at the records nearest to the times [s]; the last is drawn in full, the others dashed."""
    kept = sorted({int(np.argmin(np.abs(trajectory.t - t))) for t in times})
    return [
        Curve(f"{trajectory.t[k]:.3g} s", *outlines(trajectory, k, axes), "-" if k == kept[-1] else "--")
        for k in kept
    ]
