"""Drawable parts of a world: extent of its scene, and instances of meshes on bodies with position, scale and
colour. Planes are tiled squares around the scene, without the parts inside the solids of other planes.
Foreign files and diverged runs may contain non-finite numbers, which are excluded here.

Quaternions have their scalar first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.rotations import matrices, product, turned, units
from stickslip.simulation.world_model import ShapeRecord, WorldModel
from stickslip.state import Array, BoolArray, IntArray, ModelError
from stickslip.view.browser.meshes import Mesh, levels, marker, mesh_key, shape_mesh, shape_scale

LARGEST, SMALLEST = 1e30, 1e-30
"""Bounds of drawable lengths and coordinates [m]; their squares and ratios are finite."""
LONGEST = 1e9
"""Longest straight part of a capsule that can be drawn [radii]."""


def drawable(model: WorldModel) -> WorldModel:
    """Return a model with unit quaternions and without numbers that cannot be drawn: shapes with such lengths
    or points become unknown shapes, and such positions in the body and gravity become zero."""
    places = is_place(model.shape_position)
    turns, turned = units(model.shape_quaternion)
    sound = {id(shape): _is_sound(shape) for shape in model.shapes}
    good = places & turned & np.array([sound[id(shape)] for shape in model.shapes], bool)
    bare: dict[str, ShapeRecord] = {}
    shapes = tuple(
        shape if is_drawable else bare.setdefault(shape.kind, ShapeRecord(shape.kind, (np.nan,)))
        for shape, is_drawable in zip(model.shapes, good.tolist(), strict=True)
    )
    return replace(
        model, shapes=shapes, shape_quaternion=turns,
        shape_position=np.where(places[:, None], model.shape_position, 0.0),
        gravity=model.gravity if is_place(model.gravity[None])[0] else np.zeros(3),
    )  # fmt: skip


def is_place(x: Array) -> BoolArray:
    """Whether points can be drawn [-], shape (n,), bool."""
    return np.asarray((np.abs(x) <= LARGEST).all(axis=-1))  # False for NaN


def is_length(x: Array) -> BoolArray:
    """Whether lengths can be drawn [-], shape (n,), bool."""
    return np.asarray((x >= SMALLEST) & (x <= LARGEST))


def _is_sound(shape: ShapeRecord) -> bool:
    """Whether all numbers of a shape can be drawn; `meshes` checks that they fit its kind."""
    if not is_length(np.array(shape.numbers)).all() or not (np.abs(shape.points) <= LARGEST).all():
        return False
    return (
        shape.kind != "capsule" or len(shape.numbers) != 2 or shape.numbers[1] <= LONGEST * shape.numbers[0]
    )


INSTANTS = 40
"""Number of records of a run from which its extent is estimated."""
FARTHEST = 1e4
"""Distance from the centre of the scene beyond which bodies are drawn at the centre [sizes of the scene]."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Centre and size of a scene."""

    centre: Array
    """Centre of the bounding box of moving bodies and of fixed ones near them [m], shape (3,)."""
    half: Array
    """Half edges of this box, along inertial axes [m], shape (3,)."""
    size: float
    """Diagonal of this box [m]."""
    body: float
    """Half the largest width of a typical moving body [m]."""
    up: Array
    """Direction opposite to gravity; +z without gravity [-], shape (3,)."""
    start: Array
    """Poses (x, p) of all bodies at the start [m, -], shape (nb, 7)."""

    @property
    def farthest(self) -> float:
        """Largest distance of a body from the centre [m]."""
        return FARTHEST * self.size


def surroundings_of(model: WorldModel, places: Array) -> Surroundings:
    """Estimate the scene from the poses (x, p) of all bodies over a run [m, -], shape (n, 7 nb).

    model: a `drawable` model. Fixed bodies count only near moving ones. The outermost 2 % of the positions of
    moving bodies are ignored, so that an escaping body does not enlarge the scene.
    """
    pick = np.unique(np.linspace(0, len(places) - 1, INSTANTS).round().astype(np.int64))
    q = places[pick].reshape(pick.size, -1, 7)
    start = np.where(is_place(q[0])[:, None], q[0], [0.0, 0, 0, 1, 0, 0, 0])
    start = np.concatenate([start[:, :3], units(start[:, 3:])[0]], axis=1)
    middle, half = _boxes(model, start)
    moving = model.kind[model.shape_body] != BodyKind.FIXED
    bounded = np.isfinite(half).all(axis=1)
    movers, rest = bounded & moving, bounded & ~moving
    corners = np.concatenate([middle[movers] - half[movers], middle[movers] + half[movers], _ways(model, q)])
    stands = np.concatenate([middle[rest] - half[rest], middle[rest] + half[rest]])
    if corners.size and stands.size:
        low, high = corners.min(axis=0), corners.max(axis=0)
        margin = float(np.linalg.norm(high - low))
        stands = np.clip(stands, low - margin, high + margin)
    corners = np.concatenate([corners, stands]) if corners.size + stands.size else np.zeros((1, 3))
    low, high = corners.min(axis=0), corners.max(axis=0)
    size, gravity = float(np.linalg.norm(high - low)), float(np.linalg.norm(model.gravity))
    size = size if is_length(np.array(size)) else 1.0
    widths = half[movers if movers.any() else bounded].max(axis=1)
    widths = widths[widths > 0.0]  # unknown shapes have no width
    return Surroundings(
        centre=0.5 * low + 0.5 * high, half=np.minimum(0.5 * high - 0.5 * low, 0.5 * size),
        size=size,
        body=float(np.median(widths)) if widths.size else 0.1 * size,
        up=-model.gravity / gravity if 0.0 < gravity < np.inf else np.array([0.0, 0.0, 1.0]), start=start,
    )  # fmt: skip


def _ways(model: WorldModel, q: Array) -> Array:
    """Corners of the box of nearly all positions of dynamic bodies [m], shape (2 or 0, 3)."""
    way = q[:, model.kind == BodyKind.DYNAMIC, :3].reshape(-1, 3)
    way = way[is_place(way)]
    return np.quantile(way, [0.02, 0.98], axis=0) if way.size else way


def _boxes(model: WorldModel, start: Array) -> tuple[Array, Array]:
    """Centres and half edges of the bounding boxes of all shapes, along inertial axes [m], shape (ns, 3)
    each; half edges of planes are inf."""
    local = {id(shape): _box(shape) for shape in model.shapes}
    boxes = np.array([local[id(shape)] for shape in model.shapes]).reshape(-1, 2, 3)
    x, p = start[model.shape_body, :3], start[model.shape_body, 3:]
    turn = product(p, model.shape_quaternion)
    middle = x + turned(p, model.shape_position) + turned(turn, boxes[:, 0])
    with np.errstate(invalid="ignore"):  # 0 times inf
        half = np.einsum("kij,kj->ki", np.abs(matrices(turn)), boxes[:, 1])
    return middle, np.where(np.isfinite(half), half, np.inf)


def _box(shape: ShapeRecord) -> Array:
    """Centre and half edges of the bounding box of a shape, in its own frame [m], shape (2, 3); zero if it
    cannot be drawn."""
    scale, points = shape_scale(shape), shape.points
    hull, ground = shape.kind == "convex-hull", shape.kind == "height-field"
    if scale is None or ((hull or ground) and not points.size) or (hull and points.shape[1] != 3):
        return np.zeros((2, 3))
    if hull:
        low, high = points.min(axis=0), points.max(axis=0)
    elif ground:
        ends = ((-0.5, points.min()), (0.5, points.max()))
        low, high = (np.array([side * scale[0], side * scale[1], end]) for side, end in ends)
    else:
        parts = {"plane": [np.inf] * 3, "cuboid": [0.5] * 3, "cylinder": [1.0, 1.0, 0.5]}
        half = scale * parts.get(shape.kind, [1.0] * 3)
        half[2] += 0.5 * shape.numbers[1] if shape.kind == "capsule" else 0.0
        return np.array([np.zeros(3), half])
    return np.array([0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low])


TILES = 16
"""Number of tiles of a plane along an axis."""
FLOOR, WALL = 1.5, 0.75
"""Half the edge of a drawn horizontal plane, and of a vertical one [sizes of the scene]; heuristic."""
RIM = 0.05
"""Height of a vertical plane above the scene [sizes of the scene]; heuristic."""
MOST_CUT = 32
"""Largest number of planes that are cut at each other."""


def tiles(cuts: Sequence[tuple[float, float, float]] = ()) -> tuple[Mesh, Mesh]:
    """Light and dark tiles of the square from -1 to 1, where a x + b y >= c for all cuts (a, b, c)."""
    ticks = np.linspace(-1.0, 1.0, TILES + 1)
    polygons: tuple[list[Array], list[Array]] = ([], [])
    for i in range(TILES):
        for j in range(TILES):
            (x, xx), (y, yy) = ticks[i : i + 2], ticks[j : j + 2]
            corners = np.array([[x, y], [xx, y], [xx, yy], [x, yy]])
            for a, b, c in cuts:
                corners = _cut(corners, corners @ [a, b] - c)
            if len(corners) >= 3:
                polygons[(i + j) % 2].append(corners)
    return _mesh(polygons[0]), _mesh(polygons[1])


def _cuts(
    model: WorldModel, rows: IntArray, k: int, place: Array, turns: Array, middle: Array, half: float
) -> tuple[tuple[float, float, float], ...]:
    """Lines (a, b, c) where plane k meets planes that are fixed relative to it, in units of its square."""
    body, fixed = model.shape_body[rows], model.kind[model.shape_body[rows]] == BodyKind.FIXED
    cuts = []
    for j in np.flatnonzero((body == body[k]) | (fixed & fixed[k])):
        normal = turns[k].T @ turns[j][:, 2]
        depth = normal @ (turns[k].T @ (place[j] - place[k]) - middle)
        if np.hypot(normal[0], normal[1]) > 1e-6:
            cuts.append((float(normal[0]), float(normal[1]), float(depth / half)))
    return tuple(cuts)


def _cut(corners: Array, height: Array) -> Array:
    """Clip a convex polygon to non-negative heights, linear in its plane (Sutherland, Hodgman 1974)."""
    points = []
    for k in range(len(corners)):
        height_k, previous = height[k], height[k - 1]
        if (height_k >= 0.0) != (previous >= 0.0):
            points.append(corners[k - 1] + previous / (previous - height_k) * (corners[k] - corners[k - 1]))
        if height_k >= 0.0:
            points.append(corners[k])
    return np.array(points).reshape(-1, 2)


def _mesh(polygons: list[Array]) -> Mesh:
    """Triangulate convex polygons by fans."""
    vertices, triangles, count = [np.zeros((0, 3))], [np.zeros((0, 3), np.int64)], 0
    for corners in polygons:
        n = len(corners)
        vertices.append(np.column_stack([corners, np.zeros(n)]))
        fan = np.arange(1, n - 1)
        triangles.append(count + np.column_stack([0 * fan, fan, fan + 1]))
        count += n
    return Mesh(np.concatenate(vertices), np.concatenate(triangles))


PLANE_SHADE = 0.86
"""Brightness of dark tiles relative to light tiles [-]."""
BODIES = (
    (191, 148, 71), (96, 132, 168), (178, 102, 76), (110, 143, 96), (140, 112, 163), (180, 160, 118),
)  # fmt: skip
"""Colours of dynamic bodies, in turn; unsaturated, so that contacts stand out [0 to 255]."""
FIXED, KINEMATIC, GROUND = (128, 132, 138), (88, 96, 108), (150, 154, 160)
"""Colours of fixed bodies, of kinematic bodies, and of planes [0 to 255]."""


@dataclass(frozen=True, eq=False)
class Instances:
    """All instances of one mesh."""

    name: str
    """Unique name: kind of the shapes, and a number."""
    mesh: Mesh
    """The mesh, in its own frame."""
    body: IntArray
    """Body of each instance [-], shape (n,)."""
    position: Array
    """Positions of the origins in the frames of the bodies [m], shape (n, 3)."""
    quaternion: Array
    """Orientations in the frames of the bodies, scalar first [-], shape (n, 4)."""
    scale: Array
    """Factors along the axes of the mesh [m, or - for a mesh in metres], shape (n, 3)."""
    colour: np.ndarray
    """Red, green, blue [0 to 255], shape (n, 3), uint8."""
    moving: bool
    """Whether any of the bodies is not fixed."""
    ground: bool = False
    """Whether the instances are planes."""
    levels: tuple[Mesh, ...] = ()
    """Meshes of round shapes in decreasing resolution; empty for other shapes."""

    def __len__(self) -> int:
        return self.body.size

    def placed(self, x: Array, p: Array) -> tuple[Array, Array]:
        """Positions [m], shape (n, 3), and orientations, shape (n, 4), for bodies at the poses x, p."""
        turn = p[self.body]
        return x[self.body] + turned(turn, self.position), product(turn, self.quaternion)


def instances_of(model: WorldModel, around: Surroundings) -> tuple[tuple[Instances, ...], tuple[str, ...]]:
    """Return the instances of all shapes of a world, and the kinds of unknown shapes, drawn as marks."""
    groups: dict[tuple[object, ...], list[int]] = {}
    keys: dict[int, tuple[object, ...]] = {}  # bodies share records
    for k, shape in enumerate(model.shapes):
        if id(shape) not in keys:
            keys[id(shape)] = mesh_key(shape)
        # Fixed shapes form separate groups, whose resolution does not depend on the number of moving ones.
        rests = model.kind[model.shape_body[k]] == BodyKind.FIXED
        groups.setdefault((rests and keys[id(shape)] != ("plane",), *keys[id(shape)]), []).append(k)
    instances: list[Instances] = []
    unknown: dict[str, None] = {}
    for rows in groups.values():
        instances += _group(model, around, np.array(rows), len(instances), unknown)
    return tuple(instances), tuple(unknown)


def _group(
    model: WorldModel, around: Surroundings, rows: IntArray, number: int, unknown: dict[str, None]
) -> list[Instances]:
    """Instances of one mesh; planes have two groups, for their two shades."""
    first = model.shapes[rows[0]]
    if first.kind == "plane":
        return _planes(model, around, rows, number)
    mesh, scale = _copies(model, around, rows, unknown)
    body = model.shape_body[rows]
    colour = np.array([colour_of(model, int(k)) for k in body], np.uint8)
    kind = "".join(c if c.isascii() and c.isalnum() else "-" for c in first.kind[:40])
    known = first.kind not in unknown
    return [
        Instances(
            f"{kind}-{number}", mesh, body, model.shape_position[rows], model.shape_quaternion[rows], scale,
            colour, _moving(model, body), levels=levels(first) if known else (),
        )
    ]  # fmt: skip


def _planes(model: WorldModel, around: Surroundings, rows: IntArray, number: int) -> list[Instances]:
    """Squares of the planes `rows`, each centred at its point nearest to the centre of the scene; planes with
    equal cuts share their meshes."""
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
    instances: list[Instances] = []
    for (edge, cuts), picks in groups.items():
        shapes = rows[picks]
        body, turn = model.shape_body[shapes], model.shape_quaternion[shapes]
        position = model.shape_position[shapes] + turned(turn, middle[picks])
        scale, moving = np.full((body.size, 3), edge), _moving(model, body)
        for mesh, shade in zip(tiles(cuts), (1.0, PLANE_SHADE), strict=True):
            if len(mesh.triangles):
                name = f"plane-{number + len(instances)}"
                colour = np.tile(np.round(shade * np.array(GROUND)).astype(np.uint8), (body.size, 1))
                instances.append(
                    Instances(name, mesh, body, position, turn, scale, colour, moving, ground=True)
                )
    return instances


def _moving(model: WorldModel, body: IntArray) -> bool:
    """Whether any of the bodies is not fixed."""
    return bool((model.kind[body] != BodyKind.FIXED).any())


def _copies(
    model: WorldModel, around: Surroundings, rows: IntArray, unknown: dict[str, None]
) -> tuple[Mesh, Array]:
    """The common mesh of some shapes, and their scales."""
    first = model.shapes[rows[0]]
    try:
        mesh = shape_mesh(first, rows.size)
    except ModelError:
        unknown[first.kind] = None
        return marker(), np.full((rows.size, 3), 0.5 * around.body)
    scales = {id(shape): shape_scale(shape) for shape in (model.shapes[k] for k in rows)}
    return mesh, np.array([scales[id(model.shapes[k])] for k in rows], float)


def colour_of(model: WorldModel, body: int, fixed: tuple[int, int, int] = FIXED) -> tuple[int, int, int]:
    """Colour of a body by its kind [0 to 255]."""
    by_kind = {int(BodyKind.FIXED): fixed, int(BodyKind.KINEMATIC): KINEMATIC}
    return by_kind.get(int(model.kind[body]), BODIES[body % len(BODIES)])
