"""Copies of meshes on bodies: which body has which, where, how large, and in which colour."""

from dataclasses import dataclass

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, IntArray, ModelError
from stickslip.view.browser.meshes import Mesh, halves, marker, mesh_key, shape_mesh, shape_scale
from stickslip.view.browser.poses import product, turned
from stickslip.view.browser.sheets import sheets_of
from stickslip.view.browser.surroundings import Surroundings

MARKED = 1000
"""Most balls that are drawn in two shades, so that one sees them turn: it takes two copies for each."""
SHADE, PLANE_SHADE = 0.7, 0.86
"""Brightness of the darker of two shades of balls, and of the tiles of planes."""
BODIES = (
    (191, 148, 71), (96, 132, 168), (178, 102, 76), (110, 143, 96), (140, 112, 163), (180, 160, 118),
)  # fmt: skip
"""Colours of bodies that move, in turn: dull, so that those of contacts stand out [0 to 255]."""
FIXED, KINEMATIC, GROUND = (128, 132, 138), (88, 96, 108), (150, 154, 160)
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
        # What does not move is sent once, and few such shapes are fine beside many that move.
        rests = model.kind[model.shape_body[k]] == BodyKind.FIXED
        groups.setdefault((rests and keys[id(shape)] != ("plane",), *keys[id(shape)]), []).append(k)
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
    if first.kind == "plane":
        return _planes(model, around, rows, number)
    meshes, scale = _copies(model, around, rows, unknown)
    body = model.shape_body[rows]
    colour = np.array([_colour(model, int(k)) for k in body], float)
    kind = "".join(c if c.isascii() and c.isalnum() else "-" for c in first.kind[:40])
    return [
        Instances(
            f"{kind}-{number + k}", mesh, body, model.shape_position[rows], model.shape_quaternion[rows],
            scale, (shade * colour).round().astype(np.uint8), _moving(model, body),
        )
        for k, (mesh, shade) in enumerate(zip(meshes, (1.0, SHADE), strict=False))
    ]  # fmt: skip


def _planes(model: WorldModel, around: Surroundings, rows: IntArray, number: int) -> list[Instances]:
    found: list[Instances] = []
    for sheet in sheets_of(model, around, rows):
        body, turns = model.shape_body[sheet.rows], model.shape_quaternion[sheet.rows]
        place = model.shape_position[sheet.rows] + turned(turns, sheet.middle)
        for mesh, shade in zip(sheet.tiles, (1.0, PLANE_SHADE), strict=True):
            if len(mesh.triangles):
                name = f"plane-{number + len(found)}"
                colour = np.tile(np.round(shade * np.array(GROUND)).astype(np.uint8), (body.size, 1))
                scale = np.full((body.size, 3), sheet.scale)
                moving = _moving(model, body)
                found.append(Instances(name, mesh, body, place, turns, scale, colour, moving, ground=True))
    return found


def _moving(model: WorldModel, body: IntArray) -> bool:
    return bool((model.kind[body] != BodyKind.FIXED).any())


def _copies(
    model: WorldModel, around: Surroundings, rows: IntArray, unknown: dict[str, None]
) -> tuple[tuple[Mesh, ...], Array]:
    """The mesh of shapes that share one, or its two halves, and the scales of the shapes."""
    first = model.shapes[rows[0]]
    try:
        mesh = shape_mesh(first, rows.size)
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
