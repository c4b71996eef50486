"""Data of a run in a page of the viewer: the scene once, then bodies, contacts and numbers of each frame.

Lengths are in drawing units, relative to the centre of the scene, whose size is `WIDE`, so that 32 bits
suffice for scenes of any size.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.problem.solution import Verdict
from stickslip.simulation.marks import joints_of, sensors_of
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, IntArray
from stickslip.view.browser.instances import LARGEST, Instances
from stickslip.view.browser.meshes import Mesh
from stickslip.view.browser.packing import Pack, unit_step
from stickslip.view.browser.quantities import quantities
from stickslip.view.browser.scales import scale_top
from stickslip.view.browser.stage import STATE_COLOURS, Frame, Readout, Stage
from stickslip.view.text import line

WIDE = 10.0
"""Size of every scene [drawing units]."""
FINE, COARSE = 2.0**-13, 2.0**-9
"""Rounding of positions of bodies and of contact points [drawing units]: about 1/100 and 1/5 of a pixel."""
SEEN = 2.0**-10
"""Largest displacement of a point by a rounded orientation [drawing units]: about 1/10 of a pixel."""
SPEED, SPIN, FORCE = 11, 8, 11
"""Bits of the mantissa of velocities, spins and forces."""
STATES = tuple(STATE_COLOURS)
"""States of contacts by code."""
VERDICTS = tuple(Verdict)
"""Verdicts by code."""


class Scene:
    """A stage in drawing units: coordinates relative to a centre [m], scaled by `zoom` units per metre."""

    def __init__(self, stage: Stage, like: Stage | None = None):
        """like: a stage whose centre and size are used in place of those of `stage`."""
        self.stage = stage
        around = (like or stage).surroundings
        self.centre, self.zoom, self.up = around.centre, WIDE / around.size, around.up
        self.half = self.zoom * around.half
        self.reach = _reaches(stage, self.zoom)
        self.thin = _thin(stage, self.zoom)

    def static(self, pack: Pack, title: str) -> dict[str, Any]:
        """Data that do not change over time."""
        stage, model, zoom = self.stage, self.stage.model, self.zoom
        return {
            "title": title, "zoom": zoom, "centre": self.centre.tolist(), "half": self.half.tolist(),
            "up": self.up.tolist(), "body": zoom * stage.surroundings.body, "thin": self.thin,
            "arrow": zoom * stage.arrow,
            "force": zoom * stage.force_scale, "tolerance": _number(stage.tolerance),
            "names": [line(name) for name in model.names], "kind": pack.small(model.kind),
            "mass": pack.real(model.mass),
            "top": {by: scale_top(stage, by) for by in ("speed", "force")},
            "groups": [_group(pack, group, zoom) for group in stage.instances],
            "joints": [_mark(joint, zoom, self.centre) for joint in joints_of(model)],
            "sensors": [_mark(sensor, zoom, self.centre) for sensor in sensors_of(model)],
        }  # fmt: skip

    def moving(self, pack: Pack, frames: list[Frame], readouts: list[Readout]) -> dict[str, Any]:
        """Data of consecutive frames."""
        nb = len(self.stage.model)
        x = np.array([frame.bodies for frame in frames]).reshape(len(frames), nb, 3)
        p = _continuous(np.array([frame.turns for frame in frames]).reshape(len(frames), nb, 4))
        v = np.array([frame.velocity for frame in frames]).reshape(len(frames), nb, 6)
        counts = [len(frame.points) for frame in frames]
        points, forces = _joined(frames, "points", (3,)), _joined(frames, "forces", (3,))
        state = [STATES.index(str(name)) for frame in frames for name in frame.states]
        return {
            "t": pack.double([one.t for one in readouts]), "x": pack.rounded(self.drawn(x), FINE),
            "p": pack.rounded(p, unit_step(self.reach, SEEN)), "v": pack.real(v[:, :, :3], SPEED),
            "w": pack.real(v[:, :, 3:], SPIN),
            "offset": pack.whole(np.concatenate([[0], np.cumsum(counts)])),
            "pair": pack.whole(_joined(frames, "pairs", (2,))), "id": pack.whole(_dense(frames)),
            "point": pack.rounded(self.drawn(points), COARSE),
            "load": pack.real(forces, FORCE), "normal": pack.real(_joined(frames, "normal", ()), FORCE),
            "gap": pack.real(_joined(frames, "gap", ()), SPIN), "state": pack.small(state),
            "choice": pack.small(_joined(frames, "choice", ())),
            "penetration": pack.real([one.penetration for one in readouts]),
            "residual": pack.real([one.residual for one in readouts]),
            "verdict": pack.small([VERDICTS.index(one.verdict) for one in readouts]),
            "lost": pack.whole([one.lost for one in readouts]),
        }  # fmt: skip

    def drawn(self, x: Array) -> Array:
        """Convert positions [m] to drawing units, shape (..., 3)."""
        return np.asarray((x - self.centre) * self.zoom)


def world_contents(
    pack: Pack, scene: Scene, run: Trajectory | None, rows: IntArray, frames: list[Frame],
    readouts: list[Readout], title: str,
) -> dict[str, Any]:  # fmt: skip
    """Data of a run of bodies at some of its records, or of a world at its start."""
    items, more = ([], False) if run is None else quantities(run, rows)
    return scene.static(pack, title) | scene.moving(pack, frames, readouts) | _series(pack, items, more)


def equation_contents(pack: Pack, run: Trajectory, rows: IntArray, title: str) -> dict[str, Any]:
    """Data of a run of equations at some of its records, which has only quantities over time."""
    items, more = quantities(run, rows)
    verdict = np.array(run.verdicts)[rows]
    return {
        "title": title, "names": [], "tolerance": _number(run.tolerance), "t": pack.double(run.t[rows]),
        "penetration": pack.real(run.penetration[rows]), "residual": pack.real(run.natural_scaled[rows]),
        "verdict": pack.small(verdict),
    } | _series(pack, items, more)  # fmt: skip


def strongest(frame: Frame, most: int) -> Frame:
    """Reduce a frame to the `most` contacts with the largest forces, in their original order."""
    if len(frame.points) <= most:
        return frame
    keep = np.sort(np.argsort(-np.linalg.norm(frame.forces, axis=1), kind="stable")[:most])
    of_contacts = (
        "points", "arrows", "colours", "states", "forces", "choice", "pairs", "ids", "normal", "gap",
    )  # fmt: skip
    return replace(frame, **{name: getattr(frame, name)[keep] for name in of_contacts})


def _series(pack: Pack, found: list[Any], more: bool) -> dict[str, Any]:
    rows = [
        {"group": one.group, "name": line(one.name), "unit": one.unit, "data": pack.real(one.values)}
        for one in found
    ]
    return {"series": rows, "more": more}


def _group(pack: Pack, group: Instances, zoom: float) -> dict[str, Any]:
    ball = group.name.startswith(("sphere", "ellipsoid")) and bool(group.levels)
    meshes = () if ball else group.levels or (group.mesh,)
    return {
        "meshes": [_mesh(pack, mesh) for mesh in meshes], "body": pack.whole(group.body),
        "x": pack.real(zoom * group.position), "p": pack.real(group.quaternion),
        "scale": pack.real(np.minimum(zoom * group.scale, LARGEST)), "colour": pack.small(group.colour),
        "closed": not group.name.startswith("height"), "ground": group.ground, "ball": ball,
    }  # fmt: skip


def _mesh(pack: Pack, mesh: Mesh) -> dict[str, Any]:
    return {"v": pack.real(mesh.vertices), "t": pack.whole(mesh.triangles), "flat": mesh.flat}


def _mark(mark: dict[str, Any], zoom: float, centre: Array) -> dict[str, Any]:
    """A joint or sensor with points in drawing units, in the frames of bodies or relative to the centre."""
    point = [
        (zoom * (np.array(place) - (centre if body < 0 else 0.0))).tolist()
        for body, place in zip(mark["body"], mark["point"], strict=True)
    ]
    return mark | {"name": line(mark["name"]), "point": point}


def _reaches(stage: Stage, zoom: float) -> float:
    """Largest distance of a point of a surface from the centre of its body [drawing units]."""
    reach = 0.0
    for group in stage.instances:
        if not group.ground and len(group.mesh.vertices):
            size = np.abs(group.scale).max(initial=0.0) * np.abs(group.mesh.vertices).max()
            reach = max(reach, zoom * float(size + np.linalg.norm(group.position, axis=1).max(initial=0.0)))
    return reach


def _thin(stage: Stage, zoom: float) -> float:
    """Size of drawn joints [drawing units]: about half the smallest width of a typical moving body."""
    widths = [
        (np.abs(group.scale) * np.abs(group.mesh.vertices).max(axis=0)).min(axis=1)
        for group in stage.instances if group.moving and not group.ground and len(group.mesh.vertices)
    ]  # fmt: skip
    body = zoom * stage.surroundings.body
    usual = zoom * float(np.median(np.concatenate(widths))) if widths else body
    return min(max(usual, 0.08 * body), 0.35 * body)


def _continuous(p: Array) -> Array:
    """Choose the signs of quaternions so that consecutive ones are close; the orientations are unchanged."""
    turns = np.sign(np.einsum("kij,kij->ki", p[1:], p[:-1]))
    signs = np.cumprod(np.where(turns < 0.0, -1.0, 1.0), axis=0)
    return np.concatenate([p[:1], p[1:] * signs[:, :, None]])


def _joined(frames: list[Frame], name: str, width: tuple[int, ...]) -> Array:
    return np.concatenate([np.zeros((0, *width)), *(getattr(frame, name) for frame in frames)])


def _dense(frames: list[Frame]) -> IntArray:
    """Identities of contacts as consecutive numbers from 0 on."""
    ids = np.concatenate([np.zeros(0, np.int64), *(frame.ids for frame in frames)])
    return np.unique(ids, return_inverse=True)[1].astype(np.int64)


def _number(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None
