"""What of a world can be drawn, where its scene is and how large: from bodies that move and what stands about
them. Strangers' files, and runs that blew up, have numbers that are none.

Quaternions have their scalar first.
"""

from dataclasses import dataclass, replace

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.rotations import matrices, product, turned, units
from stickslip.simulation.world_model import ShapeRecord, WorldModel
from stickslip.state import Array, BoolArray
from stickslip.view.browser.meshes import shape_scale

LARGEST, SMALLEST = 1e30, 1e-30
"""Lengths that can be drawn, and coordinates up to the former [m]: their squares and ratios are numbers."""
LONGEST = 1e9
"""Longest straight part of a capsule that can be drawn, in radii."""


def drawable(model: WorldModel) -> WorldModel:
    """The model with unit quaternions, and with all else that cannot be drawn left out: lengths and points of
    shapes, so that they are of unknown looks, their places in the body, and gravity."""
    places = is_place(model.shape_position)
    turns, turned = units(model.shape_quaternion)
    sound = {id(shape): _is_sound(shape) for shape in model.shapes}
    good = places & turned & np.array([sound[id(shape)] for shape in model.shapes], bool)
    bare: dict[str, ShapeRecord] = {}
    shapes = tuple(
        shape if whole else bare.setdefault(shape.kind, ShapeRecord(shape.kind, (np.nan,)))
        for shape, whole in zip(model.shapes, good.tolist(), strict=True)
    )
    return replace(
        model, shapes=shapes, shape_quaternion=turns,
        shape_position=np.where(places[:, None], model.shape_position, 0.0),
        gravity=model.gravity if is_place(model.gravity[None])[0] else np.zeros(3),
    )  # fmt: skip


def is_place(x: Array) -> BoolArray:
    """Which of many points are within what can be drawn [-], shape (n,), bool."""
    return np.asarray((np.abs(x) <= LARGEST).all(axis=-1))  # not where one is NaN


def is_length(x: Array) -> BoolArray:
    """Which of many lengths can be drawn [-], shape (n,), bool."""
    return np.asarray((x >= SMALLEST) & (x <= LARGEST))


def _is_sound(shape: ShapeRecord) -> bool:
    """Whether all numbers of a shape can be drawn; whether they are those of its kind is for `meshes`."""
    if not is_length(np.array(shape.numbers)).all() or not (np.abs(shape.points) <= LARGEST).all():
        return False
    return (
        shape.kind != "capsule" or len(shape.numbers) != 2 or shape.numbers[1] <= LONGEST * shape.numbers[0]
    )


INSTANTS = 40
"""How many instants of a run are looked at for its extent."""
FARTHEST = 1e4
"""Sizes of the scene away from its middle beyond which a body is not drawn where it is."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Middle and size of a scene."""

    centre: Array
    """Middle of the box about what moves, and about what is near [m], shape (3,)."""
    half: Array
    """Half its edges, along inertial axes [m], shape (3,)."""
    size: float
    """Its diagonal [m]."""
    body: float
    """Half the largest width of a usual body that moves [m]."""
    up: Array
    """Against gravity; +z without it [-], shape (3,)."""
    start: Array
    """(x, p) of all bodies at first [m, -], shape (nb, 7)."""

    @property
    def farthest(self) -> float:
        """How far from the middle a body may be [m]."""
        return FARTHEST * self.size


def surroundings_of(model: WorldModel, places: Array) -> Surroundings:
    """From the places (x, p) of all bodies over a run [m, -], shape (n, 7 nb), of a `drawable` model.

    What is fixed counts only where it is near to what moves, and of the ways of bodies one in fifty that is
    farthest out does not count: one that escapes does not make the rest small.
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
    widths = widths[widths > 0.0]  # what has no known looks has no width
    return Surroundings(
        centre=0.5 * low + 0.5 * high, half=np.minimum(0.5 * high - 0.5 * low, 0.5 * size),
        size=size,
        body=float(np.median(widths)) if widths.size else 0.1 * size,
        up=-model.gravity / gravity if 0.0 < gravity < np.inf else np.array([0.0, 0.0, 1.0]), start=start,
    )  # fmt: skip


def _ways(model: WorldModel, q: Array) -> Array:
    """Two corners of the box that holds where nearly all bodies are nearly always [m], shape (2 or 0, 3)."""
    way = q[:, model.kind == BodyKind.DYNAMIC, :3].reshape(-1, 3)
    way = way[is_place(way)]
    return np.quantile(way, [0.02, 0.98], axis=0) if way.size else way


def _boxes(model: WorldModel, start: Array) -> tuple[Array, Array]:
    """Middles and half edges of the boxes about all shapes, along inertial axes [m], shape (ns, 3) each;
    those of planes are inf."""
    local = {id(shape): _box(shape) for shape in model.shapes}
    boxes = np.array([local[id(shape)] for shape in model.shapes]).reshape(-1, 2, 3)
    x, p = start[model.shape_body, :3], start[model.shape_body, 3:]
    turn = product(p, model.shape_quaternion)
    middle = x + turned(p, model.shape_position) + turned(turn, boxes[:, 0])
    with np.errstate(invalid="ignore"):  # 0 times inf
        half = np.einsum("kij,kj->ki", np.abs(matrices(turn)), boxes[:, 1])
    return middle, np.where(np.isfinite(half), half, np.inf)


def _box(shape: ShapeRecord) -> Array:
    """Middle and half edges of the box about a shape, in its own frame [m], shape (2, 3); without edges where
    it cannot be drawn."""
    scale, points = shape_scale(shape), shape.points
    if scale is None or (shape.kind in ("convex-hull", "height-field") and not points.size):
        return np.zeros((2, 3))
    if shape.kind == "convex-hull":
        low, high = points.min(axis=0), points.max(axis=0)
    elif shape.kind == "height-field":
        ends = ((-0.5, points.min()), (0.5, points.max()))
        low, high = (np.array([side * scale[0], side * scale[1], end]) for side, end in ends)
    else:
        halves = {"plane": np.inf, "cuboid": 0.5, "cylinder": np.array([1.0, 1.0, 0.5])}
        half = scale * halves.get(shape.kind, 1.0)
        half[2] += 0.5 * shape.numbers[1] if shape.kind == "capsule" else 0.0
        return np.array([np.zeros(3), half])
    return np.array([0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low])
