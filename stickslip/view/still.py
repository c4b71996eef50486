"""A still picture of a world: its bodies as they stand at one time, with contacts and forces if asked."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure as Canvas

from stickslip.mechanics.world import BodyKind, World
from stickslip.problem.solution import Verdict
from stickslip.rotations import matrices, product, turned, units
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_model import ShapeRecord
from stickslip.state import Array, BoolArray, IntArray, ModelError
from stickslip.view.browser.instances import colour_of
from stickslip.view.browser.meshes import shape_mesh, shape_scale
from stickslip.view.browser.stage import STATE_COLOURS, Frame, Stage
from stickslip.view.casting import NOTHING, Camera, Convex, Hits, Solid, cast
from stickslip.view.lighting import shaded
from stickslip.view.style import save

DPI = 200
"""Pixels per inch, as `save` writes them."""
FINE = 2
"""Rays along the edge of a pixel."""
SMALLEST, LARGEST = 1.0, 10.0
"""Of the edges of a picture [in]."""
MARGIN = 0.06
"""Of the picture around what moves, as a part of its width."""
AROUND = 0.3
"""How much of what does not move is shown beyond what does, as a part of its width."""
FLAT = 0.25
"""Cosine of the steepest plane that is drawn to the ground."""
FIXED, GROUND = (206, 208, 213), (240, 241, 244)
"""Colours of bodies that do not move and of planes: light, so that shadows are seen on them [0 to 255]."""
GAMMA = 2.2
"""Of screens: light is a colour to the power of this."""
INK = "#333333"


def draw_world(
    source: World | Trajectory, path: str | Path, *, at: float | None = None, contacts: bool = False,
    forces: bool = False, size: tuple[float, float] = (5.6, 4.0), azimuth: float = -60.0,
    elevation: float = 18.0,
) -> None:  # fmt: skip
    """Draw a world into `path`, a PNG or SVG file by its ending; the same world, the same bytes.

    source      a world, drawn where it starts, or a run of one
    at          the time whose nearest record is drawn [s]; the last unless given
    contacts    mark contact points, coloured by what they do
    forces      draw the forces of contacts as arrows, on the body that can move, and of two on the one lifted
    size        width and height [in], 1 to 10
    azimuth     from where one looks, about the vertical from the x axis [°]
    elevation   and how high above the horizon, -90 to 90 [°]

    Lines of sight are parallel, so that the scale is the same everywhere. Planes that stand upright, such as
    the walls of a box, are left out.
    """
    _check(source, size, azimuth, elevation)
    stage = Stage.of(source)
    number = _number(source, at)
    frame = stage.frame(number)
    q = source.poses[number] if isinstance(source, Trajectory) else source.start.q
    timed = isinstance(source, Trajectory)
    save(
        lambda: _compose(
            stage, frame, q, timed, contacts, forces, size, math.radians(azimuth), math.radians(elevation)
        ),
        path,
    )


def _check(source: Any, size: Any, azimuth: float, elevation: float) -> None:
    if not isinstance(source, World | Trajectory):
        raise TypeError(f"{type(source).__name__} cannot be drawn; a still is of a World or of a Trajectory")
    edges = np.asarray(size, float)
    if edges.shape != (2,) or not ((edges >= SMALLEST) & (edges <= LARGEST)).all():
        raise ValueError(f"size is {size}; width and height are {SMALLEST:g} to {LARGEST:g} in")
    if not math.isfinite(azimuth) or not -90.0 <= elevation <= 90.0:
        raise ValueError(f"azimuth is {azimuth} and elevation {elevation}; the latter is -90 to 90°")


def _number(source: World | Trajectory, at: float | None) -> int:
    """Which record is nearest to a time."""
    if at is None:
        return -1
    times = source.t if isinstance(source, Trajectory) else np.array([source.start.t])
    slack = 1e-9 * max(1.0, abs(float(times[-1])))
    if not times[0] - slack <= at <= times[-1] + slack:
        what = f"from {times[0]:g} to {times[-1]:g} s" if len(times) > 1 else f"at {times[0]:g} s alone"
        raise ValueError(f"at is {at} s; there are records {what}")
    return int(np.abs(times - at).argmin())


def _compose(
    stage: Stage, frame: Frame, q: Array, timed: bool, contacts: bool, forces: bool,
    size: tuple[float, float], azimuth: float, elevation: float,
) -> Canvas:  # fmt: skip
    solids, owner = _solids(stage, frame.bodies, units(q.reshape(-1, 7)[:, 3:])[0])
    moving = stage.model.kind[stage.model.shape_body[owner]] != BodyKind.FIXED
    axes_ = _axes(stage.up, azimuth, elevation)
    tips = frame.arrows[:, 1] if forces else np.zeros((0, 3))
    camera = _camera(stage, solids, moving, tips, axes_, size)
    canvas = Canvas(figsize=size)
    FigureCanvasAgg(canvas)
    axes = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    low, wide = np.array(camera.low), camera.pixel * np.array(camera.shape[::-1])
    extent = (low[0], low[0] + wide[0], low[1], low[1] + wide[1])
    image = _image(stage, solids, owner, camera)
    axes.imshow(image, origin="lower", extent=extent, interpolation="nearest", aspect="auto")
    if forces:
        _draw_forces(axes, camera, frame, wide[0])
    if contacts:
        _draw_contacts(axes, camera, frame)
    relaxed = ", relaxed" if frame.readout.verdict is Verdict.RELAXED else ""
    _draw_scale(axes, extent, f"t = {frame.readout.t:.4g} s{relaxed}" if timed else "")
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    return canvas


def _solids(stage: Stage, bodies: Array, turns: Array) -> tuple[list[Solid], IntArray]:
    """The shapes where they are, in convex parts or triangles, and of which shape each part is."""
    model = stage.model
    x, p = bodies[model.shape_body], turns[model.shape_body]
    position, turn = x + turned(p, model.shape_position), matrices(product(p, model.shape_quaternion))
    parts: dict[int, list[Solid]] = {}
    found, owners = [], []
    for k, shape in enumerate(model.shapes):
        if shape.kind == "plane" and turn[k, :, 2] @ stage.up <= FLAT:
            continue
        if id(shape) not in parts:
            parts[id(shape)] = _parts(shape, stage.surroundings.body)
        for part in parts[id(shape)]:
            found.append(Solid(part.form, position[k] + turn[k] @ part.position, turn[k], part.triangles))
            owners.append(k)
    return found, np.array(owners, np.int64)


def _parts(shape: ShapeRecord, usual: float) -> list[Solid]:
    """What rays meet, in the frame of the shape; one that nobody knows is a ball of half the usual size."""
    scale, here = shape_scale(shape), np.zeros(3)
    if scale is None:
        return [Solid(Convex.ball(np.full(3, 0.5 * usual)), here, np.eye(3))]
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
                return [Solid(Convex.ball(np.full(3, 0.5 * usual)), here, np.eye(3))]
            if shape.kind != "convex-hull":
                return [Solid(None, here, np.eye(3), (mesh.vertices * scale)[mesh.triangles])]
            form = Convex.hull(mesh.vertices, mesh.triangles)
    ends = (-0.5, 0.5) if shape.kind == "capsule" else ()
    caps = [Solid(Convex.ball(scale), np.array([0.0, 0.0, e * shape.numbers[1]]), np.eye(3)) for e in ends]
    return [Solid(form, here, np.eye(3)), *caps]


def _axes(up: Array, azimuth: float, elevation: float) -> Array:
    """Rows: to the right, upwards and towards the viewer, shape (3, 3)."""
    first = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    second = np.cross(up, first)
    level = math.cos(azimuth) * first + math.sin(azimuth) * second
    right = np.cross(up, level)
    towards = math.cos(elevation) * level + math.sin(elevation) * up
    return np.stack([right, np.cross(towards, right), towards])


def _camera(
    stage: Stage, solids: list[Solid], moving: BoolArray, tips: Array, axes: Array, size: tuple[float, float]
) -> Camera:
    """Shows what moves and has not escaped, some of what stands about it, and tips of arrows."""
    centre = stage.centre
    boxes = np.full((len(solids), 2, 3), np.nan)
    for k, solid in enumerate(solids):
        if solid.box is not None:
            turn = axes @ solid.turn
            place = axes @ (solid.position - centre) + turn @ solid.box[0]
            half = np.abs(turn) @ solid.box[1]
            boxes[k] = place - half, place + half
    bounded = np.isfinite(boxes).all(axis=(1, 2))
    near = np.abs(boxes).max(axis=(1, 2), initial=0.0) <= 2.0 * stage.size
    main = boxes[moving & bounded & near]
    if not len(main):
        main = boxes[bounded] if bounded.any() else np.array([[[-0.5] * 3, [0.5] * 3]]) * stage.size
    low, high = main[:, 0].min(axis=0)[:2], main[:, 1].max(axis=0)[:2]
    ends = (tips - centre) @ axes.T
    rest = np.concatenate([boxes[bounded & ~moving], np.stack([ends, ends], axis=1)])
    if len(rest):
        more = AROUND * float((high - low).max())
        low = np.minimum(low, np.maximum(rest[:, 0].min(axis=0)[:2], low - more))
        high = np.maximum(high, np.minimum(rest[:, 1].max(axis=0)[:2], high + more))
    columns, rows = (round(FINE * DPI * edge) for edge in size)
    wide = np.maximum(high - low, 1e-9 * stage.size) * (1.0 + 2.0 * MARGIN)
    foot = 0.07  # below, for the scale
    pixel = float(max(wide[0] / columns, wide[1] / ((1.0 - foot) * rows)))
    middle_ = 0.5 * (low + high)
    corner = middle_[0] - 0.5 * pixel * columns, middle_[1] - 0.5 * pixel * rows * (1.0 + foot)
    return Camera(centre, axes, corner, pixel, (rows, columns))


def _image(stage: Stage, solids: list[Solid], owner: IntArray, camera: Camera) -> Array:
    """The picture without marks, its pixels the means of their rays."""
    model = stage.model
    hits = cast(solids, camera)
    hits = replace(hits, solid=np.append(owner, NOTHING)[hits.solid])
    planes, grounds = (
        np.array([s.kind == kind for s in model.shapes], bool) for kind in ("plane", "height-field")
    )
    casters = [solid for solid, k in zip(solids, owner, strict=True) if not planes[k]]
    colours = np.array([colour_of(model, int(body), FIXED) for body in model.shape_body], float).reshape(
        -1, 3
    )
    colours[planes] = GROUND
    light = (colours / 255.0) ** GAMMA
    fine = shaded(hits, camera, casters, light, stage.up, ~planes & ~grounds)
    _fade(fine, hits, planes, camera)
    rows, columns = (n // FINE for n in camera.shape)
    small = fine.reshape(rows, FINE, columns, FINE, 3).mean(axis=(1, 3))
    return np.round(255.0 * small ** (1.0 / GAMMA)).astype(np.uint8)


def _fade(image: Array, hits: Hits, planes: Any, camera: Camera) -> None:
    """Planes have no end: they become white towards the edges of the picture."""
    seen = np.concatenate([planes, [False]])[hits.solid]
    rows, columns = (np.abs(np.linspace(-1.0, 1.0, n)) for n in camera.shape)
    out = np.clip((np.hypot(rows[:, None] ** 2, columns[None] ** 2) - 0.35) / 0.6, 0.0, 1.0)
    share = (out * out * (3.0 - 2.0 * out))[seen][:, None]
    image[seen] += share * (1.0 - image[seen])


def _draw_contacts(axes: Any, camera: Camera, frame: Frame) -> None:
    at = camera.seen(frame.points)
    for state, colour in STATE_COLOURS.items():
        rows = frame.states == state
        if rows.any():
            rgb = np.array(colour) / 255.0
            axes.scatter(
                *at[rows, :2].T, s=9.0, color=[rgb], edgecolors="white", linewidths=0.4, zorder=4,
                label=f"{int(rows.sum())} {state}",
            )  # fmt: skip
    if len(at):
        axes.legend(loc="upper left", frameon=False, handletextpad=0.1, labelcolor=INK, borderpad=0.6)


def _draw_forces(axes: Any, camera: Camera, frame: Frame, wide: float) -> None:
    ends = np.stack([camera.seen(frame.arrows[:, k])[:, :2] for k in (0, 1)], axis=1)
    way = ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(way, axis=1)
    keep = length > 2e-3 * wide
    ends, length = ends[keep], length[keep][:, None]
    if not len(ends):
        return
    way = way[keep] / length
    across = np.stack([-way[:, 1], way[:, 0]], axis=1)
    head = np.minimum(0.014 * wide, 0.5 * length)
    colours = frame.arrow_colours[keep] / 255.0
    neck = ends[:, 1] - head * way
    shafts = np.stack([ends[:, 0], neck], axis=1)
    tips = np.stack([ends[:, 1], neck + 0.38 * head * across, neck - 0.38 * head * across], axis=1)
    axes.add_collection(LineCollection(list(shafts), colors=colours, linewidths=0.9, zorder=3), autolim=False)
    axes.add_collection(PolyCollection(list(tips), facecolors=colours, zorder=3), autolim=False)


def _draw_scale(axes: Any, extent: Any, caption: str) -> None:
    """A bar of a round length below on the left, and a caption on the right."""
    left, right, bottom, _ = extent
    wide = right - left
    power = 10.0 ** math.floor(math.log10(0.22 * wide))
    length = max(k * power for k in (1.0, 2.0, 5.0) if k * power <= 0.22 * wide)
    x, y = left + 0.03 * wide, bottom + 0.03 * wide
    paper = {"facecolor": "white", "alpha": 0.7, "linewidth": 0.0, "pad": 1.0}
    words: dict[str, Any] = {"color": INK, "bbox": paper, "zorder": 5}
    axes.plot([x, x + length], [y, y], color=INK, linewidth=1.5, solid_capstyle="butt", zorder=5)
    axes.text(x + 0.5 * length, y + 0.008 * wide, f"{length:g} m", ha="center", va="bottom", **words)
    if caption:
        axes.text(right - 0.03 * wide, y, caption, ha="right", va="bottom", **words)
