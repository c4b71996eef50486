"""Still pictures of a world at one time, optionally with contacts and forces."""

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
"""Colour of planes, light, so that shadows on them are visible [0 to 255]."""
GAMMA = 2.2
"""Gamma of screens: light intensity is a colour value to this power."""
INK = "#333333"
"""Colour of text and of the scale bar."""


def draw_world(source: World | Trajectory, path: str | Path, *, at: float | None = None, **look: Any) -> None:
    """Write a picture of a world to `path`, by its suffix PNG, SVG or PDF; the same data, the same bytes.

    source      a world, drawn at its start, or a run of a world
    at          time [s], of which the nearest record is drawn; by default the last record
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
    """The stage of a world or of a run of a world; raise a TypeError for other objects."""
    if not isinstance(source, World | Trajectory):
        raise TypeError(f"{type(source).__name__} cannot be drawn; a still is of a World or of a Trajectory")
    return Stage.of(source)


def _number(source: World | Trajectory, at: float | None) -> int:
    """Number of the record nearest to a time."""
    if at is None:
        return -1
    times = source.t if isinstance(source, Trajectory) else np.array([source.start.t])
    slack = 1e-9 * max(1.0, abs(float(times[-1])))
    if not times[0] - slack <= at <= times[-1] + slack:
        span = f"from {times[0]:g} to {times[-1]:g} s" if len(times) > 1 else f"at {times[0]:g} s alone"
        raise ValueError(f"at is {at} s; there are records {span}")
    return int(np.abs(times - at).argmin())


def compose(
    scenery: Scenery, frame: Frame, look: Look, camera: Camera, colouring: Colouring, timed: bool
) -> Canvas:
    """Draw one frame as a figure of Matplotlib; timed: whether to write the time."""
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
    """Render the picture without marks; pixels are the means of their rays."""
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
    """Fade planes, which are unbounded, to white towards the edges of the picture."""
    seen = np.concatenate([planes, [False]])[hits.solid]
    rows, columns = (np.abs(np.linspace(-1.0, 1.0, n)) for n in camera.shape)
    out = np.clip((np.hypot(rows[:, None] ** 2, columns[None] ** 2) - 0.35) / 0.6, 0.0, 1.0)
    share = (out * out * (3.0 - 2.0 * out))[seen][:, None]
    image[seen] += share * (1.0 - image[seen])


def _draw_contacts(axes: Any, camera: Camera, frame: Frame) -> None:
    """Mark the contact points, coloured by state, and draw their legend."""
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
    """Draw the contact forces as arrows."""
    ends = np.stack([camera.seen(frame.arrows[:, k])[:, :2] for k in (0, 1)], axis=1)
    direction = ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(direction, axis=1)
    keep = length > 2e-3 * wide
    ends, length = ends[keep], length[keep][:, None]
    if not len(ends):
        return
    direction = direction[keep] / length
    across = np.stack([-direction[:, 1], direction[:, 0]], axis=1)
    head = np.minimum(0.014 * wide, 0.5 * length)
    colours = frame.arrow_colours[keep] / 255.0
    neck = ends[:, 1] - head * direction
    shafts = np.stack([ends[:, 0], neck], axis=1)
    tips = np.stack([ends[:, 1], neck + 0.38 * head * across, neck - 0.38 * head * across], axis=1)
    axes.add_collection(LineCollection(list(shafts), colors=colours, linewidths=0.9, zorder=3), autolim=False)
    axes.add_collection(PolyCollection(list(tips), facecolors=colours, zorder=3), autolim=False)


def _draw_scale(axes: Any, extent: Any, caption: str) -> None:
    """Draw a scale bar of a round length in the lower left corner, and a caption in the lower right one."""
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
