"""Convert the shapes of a stage to solids for ray casting, and fit a camera to them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.rotations import matrices, product, turned
from stickslip.simulation.world_model import ShapeRecord
from stickslip.state import Array, BoolArray, IntArray, ModelError
from stickslip.view.browser.meshes import shape_mesh, shape_scale
from stickslip.view.browser.stage import Frame, Stage
from stickslip.view.casting import Camera, Convex, Solid
from stickslip.view.look import Look

FLAT = 0.25
"""Cosine between the normal and the vertical below which planes are not drawn [-]; heuristic."""
FINE = 2
"""Number of rays along the edge of a pixel."""
MARGIN = 0.06
"""Margin of the picture around moving bodies, relative to their extent [-]; heuristic."""
AROUND = 0.3
"""Extent of fixed bodies shown beyond the moving ones, relative to their extent [-]; heuristic."""
FOOT = 0.07
"""Height of the strip for the scale bar, relative to the height of the picture [-]; heuristic."""


@dataclass(frozen=True, eq=False)
class Solids:
    """The visible shapes of one frame."""

    solids: list[Solid]
    """Placed convex parts and triangles."""
    owner: IntArray
    """Shape of each solid [-], shape (n,)."""
    moving: BoolArray
    """Whether the body of each solid can move [-], shape (n,), bool."""


@dataclass(frozen=True, eq=False)
class Scenery:
    """Converts frames of a stage to solids; parts of shapes are cached."""

    stage: Stage
    _parts: dict[int, list[Solid]] = field(default_factory=dict)

    def solids(self, frame: Frame) -> Solids:
        """Solids of all shapes except planes that are steep or face downwards."""
        model = self.stage.model
        x, p = frame.bodies[model.shape_body], frame.turns[model.shape_body]
        position, turn = x + turned(p, model.shape_position), matrices(product(p, model.shape_quaternion))
        placed, owners = [], []
        for k, shape in enumerate(model.shapes):
            if shape.kind == "plane" and turn[k, :, 2] @ self.stage.up <= FLAT:
                continue
            if id(shape) not in self._parts:
                self._parts[id(shape)] = parts_of(shape, self.stage.surroundings.body)
            for part in self._parts[id(shape)]:
                placed.append(
                    Solid(part.form, position[k] + turn[k] @ part.position, turn[k], part.triangles)
                )
                owners.append(k)
        owner = np.array(owners, np.int64)
        return Solids(placed, owner, model.kind[model.shape_body[owner]] != BodyKind.FIXED)

    def camera(self, frames: Iterable[Frame], look: Look) -> Camera:
        """Fit a camera that shows in every frame the moving bodies that have not escaped, fixed bodies near
        them, and the tips of arrows."""
        axes = axes_of(self.stage.up, math.radians(look.azimuth), math.radians(look.elevation))
        ends = np.array([self._extent(frame, axes, look.forces) for frame in frames])
        low, high = ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)
        columns, rows = (FINE * count for count in look.pixels)
        wide = np.maximum(high - low, 1e-9 * self.stage.size) * (1.0 + 2.0 * MARGIN)
        pixel = float(max(wide[0] / columns, wide[1] / ((1.0 - FOOT) * rows)))
        middle = 0.5 * (low + high)
        corner = middle[0] - 0.5 * pixel * columns, middle[1] - 0.5 * pixel * rows * (1.0 + FOOT)
        return Camera(self.stage.centre, axes, corner, pixel, (rows, columns))

    def _extent(self, frame: Frame, axes: Array, forces: bool) -> tuple[Array, Array]:
        """Lower left and upper right corner of the visible extent of a frame [m], shape (2,) each."""
        visible, centre = self.solids(frame), self.stage.centre
        boxes = np.full((len(visible.solids), 2, 3), np.nan)
        for k, solid in enumerate(visible.solids):
            if solid.box is not None:
                turn = axes @ solid.turn
                place = axes @ (solid.position - centre) + turn @ solid.box[0]
                half = np.abs(turn) @ solid.box[1]
                boxes[k] = place - half, place + half
        bounded = np.isfinite(boxes).all(axis=(1, 2))
        near = np.abs(boxes).max(axis=(1, 2), initial=0.0) <= 2.0 * self.stage.size
        main = boxes[visible.moving & bounded & near]
        if not len(main):
            main = boxes[bounded] if bounded.any() else np.array([[[-0.5] * 3, [0.5] * 3]]) * self.stage.size
        low, high = main[:, 0].min(axis=0)[:2], main[:, 1].max(axis=0)[:2]
        tips = frame.arrows[:, 1] if forces else np.zeros((0, 3))
        ends = (tips - centre) @ axes.T
        rest = np.concatenate([boxes[bounded & ~visible.moving], np.stack([ends, ends], axis=1)])
        if len(rest):
            margin = AROUND * float((high - low).max())
            low = np.minimum(low, np.maximum(rest[:, 0].min(axis=0)[:2], low - margin))
            high = np.maximum(high, np.minimum(rest[:, 1].max(axis=0)[:2], high + margin))
        return low, high


def parts_of(shape: ShapeRecord, usual: float) -> list[Solid]:
    """Solids of a shape in its own frame; an unknown shape is a ball of half the usual size."""
    scale, origin = shape_scale(shape), np.zeros(3)
    if scale is None:
        return [Solid(Convex.ball(np.full(3, 0.5 * usual)), origin, np.eye(3))]
    match shape.kind:
        case "plane":
            form = Convex.below()
        case "sphere" | "ellipsoid":
            form = Convex.ball(scale)
        case "cuboid":
            form = Convex.cuboid(scale)
        case "cylinder" | "capsule":
            form = Convex.cylinder(shape.numbers[0], 0.5 * shape.numbers[1])
        case _:
            try:
                mesh = shape_mesh(shape)
            except ModelError:
                return [Solid(Convex.ball(np.full(3, 0.5 * usual)), origin, np.eye(3))]
            if shape.kind != "convex-hull":
                return [Solid(None, origin, np.eye(3), (mesh.vertices * scale)[mesh.triangles])]
            form = Convex.hull(mesh.vertices, mesh.triangles)
    ends = (-0.5, 0.5) if shape.kind == "capsule" else ()
    caps = [Solid(Convex.ball(scale), np.array([0.0, 0.0, e * shape.numbers[1]]), np.eye(3)) for e in ends]
    return [Solid(form, origin, np.eye(3)), *caps]


def axes_of(up: Array, azimuth: float, elevation: float) -> Array:
    """Axes of a camera as rows: to the right, upwards and towards the viewer [-], shape (3, 3)."""
    first = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    second = np.cross(up, first)
    level = math.cos(azimuth) * first + math.sin(azimuth) * second
    right = np.cross(up, level)
    towards = math.cos(elevation) * level + math.sin(elevation) * up
    return np.stack([right, np.cross(towards, right), towards])
