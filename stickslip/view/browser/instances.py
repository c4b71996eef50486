"""Copies of meshes on bodies: which body has which, where, how large, and in which colour."""

from dataclasses import dataclass

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.simulation.world_model import ShapeRecord, WorldModel
from stickslip.state import Array, IntArray, ModelError
from stickslip.view.browser.meshes import Mesh, halves, marker, mesh_key, shape_mesh, sheets
from stickslip.view.browser.poses import product, turned
from stickslip.view.browser.surroundings import Surroundings

MARKED = 1000
"""Most balls that are drawn in two shades, so that one sees them turn: it takes two copies for each."""
SHADE = 0.78
"""Brightness of the darker of two shades."""
BODIES = (
    (222, 203, 164),
    (168, 190, 209),
    (214, 170, 150),
    (176, 199, 168),
    (201, 184, 212),
    (225, 215, 190),
)
"""Colours of bodies that move, in turn: pale, so that those of contacts stand out [0 to 255]."""
FIXED, KINEMATIC, GROUND = (196, 199, 204), (150, 158, 170), (232, 234, 238)
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
    body = model.shape_body[rows]
    position, quaternion = model.shape_position[rows], model.shape_quaternion[rows]
    scales = np.ones((rows.size, 3))
    colour = np.array([_colour(model, int(k)) for k in body], float)
    if first.kind == "plane":
        meshes: tuple[Mesh, ...] = sheets()
        position = position + turned(quaternion, around.under(model, rows))
        scales = np.column_stack([np.full((rows.size, 2), around.sheet), np.ones(rows.size)])
        colour = np.tile(np.array(GROUND, float), (rows.size, 1))
    else:
        try:
            mesh, _ = shape_mesh(first)
            scales = np.array([_scale(model.shapes[k]) for k in rows])
        except ModelError:
            unknown[first.kind] = None
            mesh, scales = marker(), np.full((rows.size, 3), 0.5 * around.body)
        meshes = halves(mesh) if first.kind in ("sphere", "ellipsoid") and rows.size <= MARKED else (mesh,)
    shades = (1.0, 0.93 if first.kind == "plane" else SHADE)
    kind = "".join(c if c.isalnum() else "-" for c in first.kind.encode("ascii", "replace").decode())[:40]
    return [
        Instances(
            f"{kind}-{number + k}", mesh, body, position, quaternion, scales,
            (shade * colour).round().astype(np.uint8), bool((model.kind[body] != BodyKind.FIXED).any()),
        )
        for k, (mesh, shade) in enumerate(zip(meshes, shades, strict=False))
    ]  # fmt: skip


def _scale(shape: ShapeRecord) -> Array:
    return shape_mesh(shape)[1]


def _colour(model: WorldModel, body: int) -> tuple[int, int, int]:
    match model.kind[body]:
        case BodyKind.FIXED:
            return FIXED
        case BodyKind.KINEMATIC:
            return KINEMATIC
    return BODIES[body % len(BODIES)]
