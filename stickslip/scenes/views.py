"""Panels of figures of worlds: outlines of bodies seen along an axis, displacements, energies and forces."""

from collections.abc import Sequence

import numpy as np
from scipy.spatial import ConvexHull as Quickhull

from stickslip.exhibits import Curve, Panel
from stickslip.mechanics.world import BodyKind
from stickslip.rotations import turned
from stickslip.scenes.measures import drift, pull, speed, supports
from stickslip.scenes.scenario import over_time
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_model import ShapeRecord
from stickslip.state import Array, BoolArray

ANGLES = np.linspace(0.0, 2.0 * np.pi, 25)
RING = np.stack([np.cos(ANGLES), np.sin(ANGLES), 0.0 * ANGLES], axis=1)
"""Points of a closed unit circle about z [-], shape (25, 3)."""
BALL = np.concatenate([[np.sin(a), np.sin(a), 1.0] * RING + [0.0, 0.0, np.cos(a)] for a in ANGLES[:13]])
"""Points of a unit sphere [-], shape (m, 3)."""
MANY = 50
"""Number of bodies above which `view_panels` draws only a quarter of them; heuristic."""
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
"""Corners of a unit cube [-], shape (8, 3)."""


def surface(shape: ShapeRecord) -> Array:
    """Return surface points whose convex hull approximates the shape, in its frame [m], shape (m, 3)."""
    lengths = np.array(shape.numbers)
    if shape.kind == "cuboid":
        return np.asarray(CORNERS * lengths)
    if shape.kind == "ellipsoid":
        return np.asarray(BALL * lengths)
    if shape.kind in ("cylinder", "capsule"):
        end = lengths[0] * (RING if shape.kind == "cylinder" else BALL)
        half = np.array([0.0, 0.0, 0.5 * lengths[1]])
        return np.concatenate([end + half, end - half])
    return shape.points if shape.kind == "convex-hull" else np.zeros((0, 3))


def outlines(
    trajectory: Trajectory, k: int, axes: tuple[int, int] = (0, 2), which: BoolArray | None = None
) -> tuple[Array, Array]:
    """Return the outlines of bodies at record k in the plane of two axes [m], shape (points,) each.

    `which` selects the bodies (default: all). Planes and height fields have no outline. NaN separates
    outlines.
    """
    model, row = trajectory.model, trajectory.q[k].reshape(-1, 7)
    lines, across = [np.zeros((0, 2))], list(axes)
    for shape, body, place, turn in zip(
        model.shapes, model.shape_body, model.shape_position, model.shape_quaternion, strict=True
    ):
        if which is not None and not which[body]:
            continue
        centre = row[body, :3] + turned(row[body : body + 1, 3:], place)[0]
        if shape.kind == "sphere":
            outline = centre[across] + shape.numbers[0] * RING[:, :2]
        else:
            points = surface(shape)
            if not len(points):
                continue
            points = turned(np.tile(turn, (len(points), 1)), points)
            points = centre + turned(np.tile(row[body, 3:], (len(points), 1)), points)
            flat = points[:, across]
            ring = Quickhull(flat).vertices
            outline = flat[[*ring, ring[0]]]
        lines += [outline, np.full((1, 2), np.nan)]
    x, y = np.concatenate(lines).T
    return x, y


def side_view(
    trajectory: Trajectory, times: Sequence[float] | Array, axes: tuple[int, int] = (0, 2)
) -> list[Curve]:
    """Return the outlines at the records nearest to the times [s]: the last solid, the others dashed."""
    records = sorted({int(np.argmin(np.abs(trajectory.t - t))) for t in times})
    return [
        Curve(f"{trajectory.t[k]:.3g} s", *outlines(trajectory, k, axes), "-" if k == records[-1] else "--")
        for k in records
    ]


def still_panels(trajectory: Trajectory, singular: str, plural: str, first: int = 1) -> list[Panel]:
    """Return panels of the largest displacement and the largest speed of a body, from record `first` on.

    `singular` and `plural` are names of the bodies, such as "box" and "boxes".
    """
    t = trajectory.t[first:]
    return [
        over_time("Displacement", f"largest of a {singular} [m]", t, {plural: drift(trajectory)[first:]}),
        over_time("Speed", f"fastest {singular} [m/s]", t, {plural: speed(trajectory)[first:]}),
    ]


def view_panels(
    trajectory: Trajectory, times: Sequence[float], axes: tuple[int, int] = (0, 2)
) -> list[Panel]:
    """Return a panel for each time [s] with the outlines of the bodies at the nearest record.

    Of more than `MANY` dynamic bodies only the quarter nearest to the median depth is drawn.
    """
    names, depth = "xyz", 3 - sum(axes)
    still = trajectory.model.kind != BodyKind.DYNAMIC
    many = int((~still).sum()) > MANY
    panels = []
    for t in times:
        k = int(np.argmin(np.abs(trajectory.t - t)))
        visible, position = ~still, trajectory.q[k].reshape(-1, 7)[:, depth]
        if many:
            distance = np.abs(position - np.median(position[visible]))
            visible = visible & (distance <= np.quantile(distance[visible], 0.25))
        curves = [Curve("bodies", *outlines(trajectory, k, axes, visible))]
        x, y = outlines(trajectory, k, axes, still)
        if x.size:
            curves.append(Curve("supports", x, y))
        panels.append(
            Panel(
                f"{'The middle, seen' if many else 'Seen'} along {names[depth]} at {trajectory.t[k]:.3g} s",
                f"{names[axes[0]]} [m]", f"{names[axes[1]]} [m]", curves, equal=True,
            )
        )  # fmt: skip
    return panels


def energy_panel(trajectory: Trajectory) -> Panel:
    """Return a panel of kinetic, potential and dissipated energy, and of the work of external forces."""
    t = trajectory.t
    curves = [
        Curve("kinetic", t, trajectory.kinetic),
        Curve("potential minus its start", t, trajectory.potential - trajectory.potential[0]),
        Curve("dissipated", t, trajectory.dissipated),
    ]
    if trajectory.work.any():
        curves.append(Curve("work put in", t, trajectory.work, "--"))
    return Panel("Energies", "t [s]", "E [J]", curves)


def support_panel(trajectory: Trajectory) -> Panel:
    """Return a panel of the supports' force against gravity, over the weight; peaks of impacts are cut
    off."""
    W = pull(trajectory)
    size = float(np.linalg.norm(W))
    carried = -supports(trajectory) @ W / size**2
    return over_time("Carried by floor and walls", "force / weight [-]", trajectory.t[1:],
                     {"supports": carried[1:]}, level=1.0, y_range=(0.0, 4.0))  # fmt: skip


def overlap_panel(trajectory: Trajectory, size: float, size_name: str) -> Panel:
    """Return a panel of the deepest overlap after position correction, relative to `size` [m]."""
    depth = trajectory.penetration / size
    return over_time("Overlap", f"deepest [of {size_name}]", trajectory.t, {"bodies": depth})
