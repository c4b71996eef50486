"""Animations of runs, drawn without a display: GIF, WebP, MP4, or numbered PNG files."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, IntArray
from stickslip.view.colours import Colouring
from stickslip.view.encoding import WRITERS, Rendered
from stickslip.view.look import Look
from stickslip.view.solids import Scenery
from stickslip.view.still import compose, stage_of
from stickslip.view.style import house_style

DPI = 100.0
"""Pixels per inch by default."""
MOST_PICTURES = 3000
"""Largest number of pictures of an animation."""
MOST_FPS = 50.0
"""Largest number of pictures per second; browsers slow down faster GIF files."""
CAMERA_FRAMES = 40
"""Number of records to which the camera is fitted."""


def export_animation(
    source: Trajectory, path: str | Path, *, fps: float = 25.0, speed: float = 1.0,
    progress: Callable[[int, int], None] | None = None, **look: Any,
) -> tuple[Path, ...]:  # fmt: skip
    """Write an animation of a run to `path`, by its suffix GIF, WebP, MP4 or PNG; return the written files.

    source      a run of a world or a robot
    path        for `name.png` the pictures are `name-0000.png`, `name-0001.png` and so on; MP4 requires the
                extra `video`
    fps         pictures per second
    speed       seconds of the run per second of the animation
    progress    called with the number of pictures drawn and their total number
    look        options of `Look`: contacts, forces, colour, size, dpi (100 by default), azimuth, elevation

    Each picture shows the nearest record. The camera is fixed and shows the whole run. The same run gives the
    same bytes with the same versions of the packages.
    """
    path = Path(path)
    write = WRITERS.get(path.suffix.lower())
    if write is None:
        raise ValueError(f"{path}: an animation is a file of one of the kinds {', '.join(WRITERS)}")
    if not isinstance(source, Trajectory):
        raise TypeError(f"a {type(source).__name__} has no motion; an animation requires a Trajectory")
    stage, options = stage_of(source), Look(**{"dpi": DPI, **look})
    rows = picture_rows(source.t, fps, speed)
    scenery, colouring = Scenery(stage), Colouring.of(stage, options.colour)
    sample = np.unique(np.linspace(0, len(rows) - 1, CAMERA_FRAMES).round().astype(int))
    camera = scenery.camera([stage.frame(int(row)) for row in np.unique(rows[sample])], options)
    drawn_rows: set[int] = set()
    distinct = len(np.unique(rows))

    def draw(row: int) -> Array:
        canvas = compose(scenery, stage.frame(row), options, camera, colouring, timed=True)
        canvas.canvas.draw()
        drawn_rows.add(row)
        if progress is not None:
            progress(len(drawn_rows), distinct)
        return np.array(canvas.canvas.buffer_rgba())[:, :, :3]  # type: ignore[attr-defined]

    with house_style():
        return write(Rendered(draw, rows.tolist()), fps, path)


def picture_rows(times: Array, fps: float, speed: float) -> IntArray:
    """Record that each picture shows, the nearest to its time [-], shape (n,)."""
    if not 0.0 < fps <= MOST_FPS:
        raise ValueError(f"fps is {fps:g}; an animation has up to {MOST_FPS:g} pictures per second")
    if not 0.0 < speed < math.inf:
        raise ValueError(f"speed is {speed:g}; it must be a positive number")
    length = float(times[-1] - times[0])
    count = math.floor(length * fps / speed + 1e-9) + 1
    if count > MOST_PICTURES:
        faster = length * fps / (MOST_PICTURES - 1)
        raise ValueError(
            f"{length:g} s of a run at speed {speed:g} are {count} pictures, more than {MOST_PICTURES}: take"
            f" a speed of {math.ceil(faster)} or more, or fewer pictures per second than {fps:g}"
        )
    picture_times = times[0] + np.arange(count) * (speed / fps)
    right = np.clip(np.searchsorted(times, picture_times), 1, max(1, len(times) - 1))
    nearer = right - (
        picture_times - times[right - 1] < times[np.minimum(right, len(times) - 1)] - picture_times
    )
    return np.minimum(nearer, len(times) - 1)
