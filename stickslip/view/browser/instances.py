"""Copies of meshes on bodies: which body has which, where, how large, and in which colour."""

from dataclasses import dataclass

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, IntArray, ModelError
from stickslip.view.browser.meshes import Mesh, halves, marker, mesh_key, shape_mesh, shape_scale, sheets
from stickslip.view.browser.poses import product, turned
from stickslip.view.browser.surroundings import Surroundings

MARKED = 1000
"""Most balls that are drawn in two shades, so that one sees them turn: it takes two copies for each."""
SHADE, PLANE_SHADE = 0.78, 0.93
"""Brightness of the darker of two shades of balls, and of the tiles of planes."""
BODIES = (
    (222, 203, 164),
    (168, 190, 209),
    (214, 170, 150),
    (176, 199, 168),
    (201, 184, 212),
    (225, 215, 190),
)
"""Colours of bodies that move, in turn: pale, so that those of contacts stand out [0 to 255]."""
FIXED, KINEMATIC, GROUND = (158, 162, 168), (120, 128, 140), (178, 182, 188)
"""Colours of bodies that do not move, of those moved as prescribed, and of planes [0 to 255]."""


@dataclass(frozen=True, eq=False)
class Instances:
    """All copies of one mesh."""

    name: str
    """Kind of the shapes, and a number; unlike those of all other groups."""
    mesh: Mesh
    """In its own frame."""
    body: IntArray
    """Whose each copy is [-], shape (n,)."""
    position: Array
    """Of its origin in the frame of the body [m], shape (n, 3)."""
    quaternion: Array
    """Its orientation in the frame of the body, scalar first [-], shape (n, 4)."""
    scale: Array
    """Factors along the axes of the mesh [m, or - for a mesh in metres], shape (n, 3)."""
    colour: np.ndarray
    """Red, green, blue [0 to 255], shape (n, 3), uint8."""
    moving: bool
    """Whether any of the bodies is not fixed."""
    ground: bool = False
    """Whether it stands for planes."""

    def __len__(self) -> int:
        return self.body.size

    def placed(self, x: Array, p: Array) -> tuple[Array, Array]:
        """Positions [m], shape (n, 3), and orientations, shape (n, 4), when the bodies are at x, p."""
        turn = p[self.body]
        return x[self.body] + turned(turn, self.position), product(turn, self.quaternion)


def instances_of(model: WorldModel, around: Surroundings) -> tuple[tuple[Instances, ...], tuple[str, ...]]:
    """The copies that a world is drawn with, and the kinds of shape that are only marked."""
    groups: dict[tuple[object, ...], list[int]] = {}
    keys: dict[int, tuple[object, ...]] = {}  # bodies share records
    for k, shape in enumerate(model.shapes):
        if id(shape) not in keys:
            keys[id(shape)] = mesh_key(shape)
        groups.setdefault(keys[id(shape)], []).append(k)
    found: list[Instances] = []
    unknown: dict[str, None] = {}
    for rows in groups.values():
        found += _group(model, around, np.array(rows), len(found), unknown)
    return tuple(found), tuple(unknown)


def _group(
    model: WorldModel, around: Surroundings, rows: IntArray, number: int, unknown: dict[str, None]
) -> list[Instances]:
    """The copies of one mesh; two groups where it has two shades."""
    first = model.shapes[rows[0]]
    body, plane = model.shape_body[rows], first.kind == "plane"
    position, quaternion = model.shape_position[rows], model.shape_quaternion[rows]
    colour = np.array([_colour(model, int(k)) for k in body], float)
    if plane:
        meshes: tuple[Mesh, ...] = sheets()
        position = position + turned(quaternion, around.under(model, rows))
        scale = np.tile([around.sheet, around.sheet, 1.0], (rows.size, 1))
        colour = np.tile(np.array(GROUND, float), (rows.size, 1))
    else:
        meshes, scale = _copies(model, around, rows, unknown)
    shades = (1.0, PLANE_SHADE if plane else SHADE)
    kind = "".join(c if c.isascii() and c.isalnum() else "-" for c in first.kind[:40])
    moving = bool((model.kind[body] != BodyKind.FIXED).any())
    return [
        Instances(
            f"{kind}-{number + k}", mesh, body, position, quaternion, scale,
            (shade * colour).round().astype(np.uint8), moving, plane,
        )
        for k, (mesh, shade) in enumerate(zip(meshes, shades, strict=False))
    ]  # fmt: skip


def _copies(
    model: WorldModel, around: Surroundings, rows: IntArray, unknown: dict[str, None]
) -> tuple[tuple[Mesh, ...], Array]:
    """The mesh of shapes that share one, or its two halves, and the scales of the shapes."""
    first = model.shapes[rows[0]]
    try:
        mesh = shape_mesh(first)
    except ModelError:
        unknown[first.kind] = None
        return (marker(),), np.full((rows.size, 3), 0.5 * around.body)
    scales = {id(shape): shape_scale(shape) for shape in (model.shapes[k] for k in rows)}
    scale = np.array([scales[id(model.shapes[k])] for k in rows], float)
    round_ = first.kind in ("sphere", "ellipsoid")
    return (halves(mesh) if round_ and rows.size <= MARKED else (mesh,)), scale


def _colour(model: WorldModel, body: int) -> tuple[int, int, int]:
    match model.kind[body]:
        case BodyKind.FIXED:
            return FIXED
        case BodyKind.KINEMATIC:
            return KINEMATIC
    return BODIES[body % len(BODIES)]
