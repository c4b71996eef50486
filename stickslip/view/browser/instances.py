"""Copies of meshes on bodies: which body has which, where, how large, and in which colour. Planes are tiled
squares about the scene, without what lies inside the solids of other planes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.rotations import matrices, product, turned
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, IntArray, ModelError
from stickslip.view.browser.meshes import Mesh, halves, marker, mesh_key, shape_mesh, shape_scale
from stickslip.view.browser.surroundings import Surroundings

TILES = 16
"""Squares of a sheet along an axis."""
FLOOR, WALL = 1.5, 0.75
"""Half the edge of a sheet that lies, and of one that stands, in sizes of the scene."""
RIM = 0.05
"""How far a sheet that stands reaches above the scene, in sizes of it."""
MOST_CUT = 32
"""Most planes that are cut at each other."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Planes that are drawn alike."""

    rows: IntArray
    """Which shapes of the model they are [-], shape (n,)."""
    middle: Array
    """Of the sheet in the frame of each plane [m], shape (n, 3)."""
    scale: float
    """Half the edge [m]."""
    tiles: tuple[Mesh, Mesh]
    """Light and dark ones, of the square from -1 to 1 at z = 0, seen from above."""


def sheets_of(model: WorldModel, around: Surroundings, rows: IntArray) -> list[Sheet]:
    """The sheets of the shapes `rows`, planes; each about its point nearest to the scene's middle."""
    start = around.start[model.shape_body[rows]]
    place = start[:, :3] + turned(start[:, 3:], model.shape_position[rows])
    turns = matrices(product(start[:, 3:], model.shape_quaternion[rows]))
    middle = np.einsum("kji,kj->ki", turns, around.centre - place) * [1.0, 1.0, 0.0]
    lies = np.abs(turns[:, :, 2] @ around.up) > 0.6
    half = np.where(lies, FLOOR, WALL) * around.size
    top = float(np.abs(around.up) @ around.half) + RIM * around.size
    groups: dict[tuple[float, tuple[tuple[float, float, float], ...]], list[int]] = {}
    for k in range(rows.size):
        cuts = _cuts(model, rows, k, place, turns, middle[k], half[k]) if rows.size <= MOST_CUT else ()
        if not lies[k]:
            x, y, _ = (-turns[k].T @ around.up).tolist()
            high = around.up @ (place[k] + turns[k] @ middle[k] - around.centre)
            cuts = (*cuts, (x, y, float((high - top) / half[k])))
        groups.setdefault((float(half[k]), cuts), []).append(k)
    return [
        Sheet(rows[picks], middle[picks], scale, tiles(cuts))
        for (scale, cuts), picks in ((key, np.array(found)) for key, found in groups.items())
    ]


def tiles(cuts: Sequence[tuple[float, float, float]] = ()) -> tuple[Mesh, Mesh]:
    """Light and dark tiles of the square from -1 to 1, where a x + b y >= c for all cuts (a, b, c)."""
    ticks = np.linspace(-1.0, 1.0, TILES + 1)
    found: tuple[list[Array], list[Array]] = ([], [])
    for i in range(TILES):
        for j in range(TILES):
            (x, xx), (y, yy) = ticks[i : i + 2], ticks[j : j + 2]
            corners = np.array([[x, y], [xx, y], [xx, yy], [x, yy]])
            for a, b, c in cuts:
                corners = _cut(corners, corners @ [a, b] - c)
            if len(corners) >= 3:
                found[(i + j) % 2].append(corners)
    return _mesh(found[0]), _mesh(found[1])


def _cuts(
    model: WorldModel, rows: IntArray, k: int, place: Array, turns: Array, middle: Array, half: float
) -> tuple[tuple[float, float, float], ...]:
    """Where the solids of planes begin that keep their place to plane k, in units of its sheet."""
    body, fixed = model.shape_body[rows], model.kind[model.shape_body[rows]] == BodyKind.FIXED
    found = []
    for j in np.flatnonzero((body == body[k]) | (fixed & fixed[k])):
        normal = turns[k].T @ turns[j][:, 2]
        depth = normal @ (turns[k].T @ (place[j] - place[k]) - middle)
        if np.hypot(normal[0], normal[1]) > 1e-6:
            found.append((float(normal[0]), float(normal[1]), float(depth / half)))
    return tuple(found)


def _cut(corners: Array, height: Array) -> Array:
    """What of a convex polygon has heights above zero, which are linear in its plane (Sutherland and Hodgman
    1974)."""
    kept = []
    for k in range(len(corners)):
        here, there = height[k], height[k - 1]
        if (here >= 0.0) != (there >= 0.0):
            kept.append(corners[k - 1] + there / (there - here) * (corners[k] - corners[k - 1]))
        if here >= 0.0:
            kept.append(corners[k])
    return np.array(kept).reshape(-1, 2)


def _mesh(polygons: list[Array]) -> Mesh:
    """Convex polygons as fans of triangles."""
    vertices, triangles, count = [np.zeros((0, 3))], [np.zeros((0, 3), np.int64)], 0
    for corners in polygons:
        n = len(corners)
        vertices.append(np.column_stack([corners, np.zeros(n)]))
        fan = np.arange(1, n - 1)
        triangles.append(count + np.column_stack([0 * fan, fan, fan + 1]))
        count += n
    return Mesh(np.concatenate(vertices), np.concatenate(triangles))


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
    colour = np.array([colour_of(model, int(k)) for k in body], float)
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


def colour_of(model: WorldModel, body: int, fixed: tuple[int, int, int] = FIXED) -> tuple[int, int, int]:
    """Of the shapes of a body, by what moves it [0 to 255]."""
    by_kind = {int(BodyKind.FIXED): fixed, int(BodyKind.KINEMATIC): KINEMATIC}
    return by_kind.get(int(model.kind[body]), BODIES[body % len(BODIES)])
