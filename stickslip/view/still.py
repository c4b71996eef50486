"""A still picture of a world: its bodies as they stand at one time, with contacts and forces if asked."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure as Canvas

from stickslip.mechanics.world import World
from stickslip.problem.solution import Verdict
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, IntArray
from stickslip.view.browser.stage import STATE_COLOURS, Frame, Stage
from stickslip.view.casting import NOTHING, Camera, Hits, Solid, cast
from stickslip.view.colours import Colouring, draw_legend
from stickslip.view.lighting import shaded
from stickslip.view.look import Look
from stickslip.view.solids import FINE, Scenery
from stickslip.view.style import save

GROUND = (240, 241, 244)
"""Colour of planes: light, so that shadows are seen on them [0 to 255]."""
GAMMA = 2.2
"""Of screens: light is a colour to the power of this."""
INK = "#333333"


def draw_world(source: World | Trajectory, path: str | Path, *, at: float | None = None, **look: Any) -> None:
    """Draw a world into `path`, a PNG, SVG or PDF file by its ending; the same world, the same bytes.

    source      a world, drawn where it starts, or a run of one
    at          the time whose nearest record is drawn [s]; the last unless given
    look        options of `Look`: contacts, forces, colour, size, dpi, azimuth, elevation
    """
    options = Look(**look)
    stage = stage_of(source)
    frame = stage.frame(_number(source, at))
    scenery = Scenery(stage)
    timed, colouring = isinstance(source, Trajectory), Colouring.of(stage, options.colour)
    save(
        lambda: compose(scenery, frame, options, scenery.camera([frame], options), colouring, timed),
        path,
        options.dpi,
    )


def stage_of(source: Any) -> Stage:
    """The stage of a world or of a run of one; a TypeError says what else was given."""
    if not isinstance(source, World | Trajectory):
        raise TypeError(f"{type(source).__name__} cannot be drawn; a still is of a World or of a Trajectory")
    return Stage.of(source)


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


def compose(
    scenery: Scenery, frame: Frame, look: Look, camera: Camera, colouring: Colouring, timed: bool
) -> Canvas:
    """One frame as a figure of Matplotlib; `timed` writes its time."""
    stage, seen = scenery.stage, scenery.solids(frame)
    canvas = Canvas(figsize=look.size, dpi=look.dpi)
    FigureCanvasAgg(canvas)
    axes = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    low, wide = np.array(camera.low), camera.pixel * np.array(camera.shape[::-1])
    extent = (low[0], low[0] + wide[0], low[1], low[1] + wide[1])
    colours = colouring.bodies(frame)[stage.model.shape_body]
    image = _image(stage, seen.solids, seen.owner, camera, colours)
    axes.imshow(image, origin="lower", extent=extent, interpolation="nearest", aspect="auto")
    if look.forces:
        _draw_forces(axes, camera, frame, wide[0])
    if look.contacts:
        _draw_contacts(axes, camera, frame)
    draw_legend(axes, colouring, extent, INK)
    relaxed = ", relaxed" if frame.readout.verdict is Verdict.RELAXED else ""
    _draw_scale(axes, extent, f"t = {frame.readout.t:.4g} s{relaxed}" if timed else "")
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    return canvas


def _image(stage: Stage, solids: list[Solid], owner: IntArray, camera: Camera, colours: Array) -> Array:
    """The picture without marks, its pixels the means of their rays."""
    model = stage.model
    hits = cast(solids, camera)
    hits = replace(hits, solid=np.append(owner, NOTHING)[hits.solid])
    planes, grounds = (
        np.array([s.kind == kind for s in model.shapes], bool) for kind in ("plane", "height-field")
    )
    casters = [solid for solid, k in zip(solids, owner, strict=True) if not planes[k]]
    light = (np.where(planes[:, None], GROUND, colours) / 255.0) ** GAMMA
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
