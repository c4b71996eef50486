"""Export a run as one self-contained HTML file with the viewer and the data of the run."""

from __future__ import annotations

import hashlib
import json
import math
import os
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.files.errors import FormatError
from stickslip.files.problems import replace_file
from stickslip.mechanics.world import BodyKind, World
from stickslip.problem.solution import Verdict
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, IntArray
from stickslip.view.browser.contents import Scene, equation_contents, strongest, world_contents
from stickslip.view.browser.packing import Pack
from stickslip.view.browser.server import ViewerError
from stickslip.view.browser.stage import STATE_COLOURS, Readout, Stage
from stickslip.view.text import line

SCRIPTS = (
    "vectors.js", "data.js", "colours.js", "shaders.js", "engine.js", "bodies.js", "marks.js", "camera.js",
    "charts.js", "player.js", "panel.js", "controls.js", "live.js", "main.js",
)  # fmt: skip
"""Scripts of the viewer, in the order of their dependencies."""
FRAMES, FEWEST = 300, 60
"""Default largest number of frames; lower bound of this number for runs with very many bodies."""
BODY, CONTACT = 24, 26
"""Approximate largest size of a moving body and of a contact in a frame [bytes]."""
ALIKE = 0.5
"""Two runs share a scene if the distance of their centres relative to the size, and the ratio of their sizes,
are within this factor [-]; heuristic."""


def export_html(
    source: Trajectory | World, path: str | os.PathLike[str], other: Trajectory | World | None = None, *,
    frames: int | None = None, contacts: bool = True, forces: bool = True, speed: float = 1.0,
    title: str | None = None, megabytes: float = 7.5, names: Sequence[str] = (),
) -> Path:  # fmt: skip
    """Write the page of `page_of` to a file atomically, and return its path."""
    path = Path(path)
    if path.is_dir():
        raise ViewerError(f"{path} is a folder; give the name of the HTML file to write")
    if not path.absolute().parent.is_dir():
        raise ViewerError(
            f"{path} cannot be written: there is no folder {path.absolute().parent}; make it first"
        )
    page = page_of(
        source, other, frames=frames, contacts=contacts, forces=forces, speed=speed, title=title,
        megabytes=megabytes, names=names,
    )  # fmt: skip
    try:
        replace_file(path, page.encode())
    except FormatError as error:
        raise ViewerError(str(error)) from None
    except OSError as error:
        raise ViewerError(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def page_of(
    source: Trajectory | World, other: Trajectory | World | None = None, *, frames: int | None = None,
    contacts: bool = True, forces: bool = True, speed: float = 1.0, title: str | None = None,
    megabytes: float = 7.5, names: Sequence[str] = (),
) -> str:  # fmt: skip
    """Convert a run, or a world at its start, to a self-contained HTML page; the same run, the same text.

    other       a second run, shown beside the first frames      largest number of frames, evenly spaced in
    time; by default 300, or fewer for very many bodies contacts    whether to include contact points,
    coloured by state forces      whether arrows of contact forces are shown initially speed       seconds of
    the run per second title       title of the page megabytes   approximate size limit of the page [MB]; if
    there are too many contacts, those with the largest
                forces are included, and the page mentions this
    names       names of two runs
    """
    if not 0.0 < speed < math.inf:
        raise ViewerError(f"a run cannot be played at {speed:g} times its speed; give a positive number")
    reels = reels_of(source, other, frames=frames, contacts=contacts, megabytes=megabytes)
    return page_of_reels(reels, forces=forces, speed=speed, title=title, megabytes=megabytes, names=names)


@np.errstate(all="ignore")  # diverged runs are shown too
def reels_of(
    source: Trajectory | World, other: Trajectory | World | None, *, frames: int | None, contacts: bool,
    megabytes: float,
) -> list[Reel]:  # fmt: skip
    """Data of one or two runs for a page; two similar scenes have the same centre. See `page_of`."""
    sources = [source] if other is None else [source, other]
    for one in sources:
        if not isinstance(one, Trajectory | World):
            kind = type(one).__name__
            raise ViewerError(f"a {kind} cannot be shown; a run, or a World, is needed")
    if frames is not None and frames < 1:
        raise ViewerError(f"{frames} frames cannot be shown; give at least 1")
    reels = [Reel(one, frames, megabytes / len(sources), contacts) for one in sources]
    if len(reels) > 1:
        reels[1].scene = _alike(reels[0], reels[1])
    return reels


def page_of_reels(
    reels: Sequence[Reel], *, forces: bool, speed: float, title: str | None, megabytes: float,
    names: Sequence[str],
) -> str:  # fmt: skip
    """Text of the page of one or two runs; see `page_of`."""
    run_names = [*names, "first run", "second run"][: len(reels)] if len(reels) > 1 else [""]
    # 1. The complete contents; if they are too large, again with fewer contacts.
    content = contents_of(reels, run_names, speed, forces)
    excess = len(content[1]) - 1e6 * megabytes
    if excess > 0.0 and any(reel.counts for reel in reels):
        for reel in reels:
            reel.bound(excess * 0.75 / len(reels))
        content = contents_of(reels, run_names, speed, forces)
    # 2. The page.
    return framed(title or _title(reels), *content)


class Reel:
    """The frames of one run that a page shows."""

    def __init__(self, source: Trajectory | World, frames: int | None, megabytes: float, contacts: bool):
        self.run = source if isinstance(source, Trajectory) else None
        """The run; None for a world."""
        self.stage: Stage | None = None
        """The stage; None for a run of equations."""
        if self.run is None or self.run.of_world:
            self.stage = Stage.of(source)
        self.scene = None if self.stage is None else Scene(self.stage)
        """The stage in drawing units."""
        times = self.run.t if self.run is not None else np.zeros(1)
        self.rows = chosen(times, frames or self._fitting(megabytes))
        """Numbers of the records that are shown [-], shape (n,)."""
        self.length = len(times)
        """Number of all records."""
        self.frames, self.readouts = [], []
        if self.stage is not None:
            self.frames = [self.stage.frame(int(row)) for row in self.rows]
            self.readouts = [_worst(self, k) for k in range(self.rows.size)]
        self.counts = [len(frame.points) for frame in self.frames]
        """Number of contacts of each frame."""
        self.most = max(self.counts, default=0) if contacts else 0
        """Largest number of contacts in a frame."""

    def _fitting(self, megabytes: float) -> int:
        if self.stage is None:
            return 10 * FRAMES
        moving = int((self.stage.model.kind != BodyKind.FIXED).sum())
        return min(FRAMES, max(FEWEST, int(0.5e6 * megabytes / (BODY * max(1, moving)))))

    def bound(self, excess: float) -> None:
        """Omit contacts to save `excess` bytes."""
        if any(self.counts) and self.most:
            self.most = _cap(self.counts, max(0, sum(self.counts) - math.ceil(excess / CONTACT)))

    def contents(self, pack: Pack, title: str) -> dict[str, Any]:
        """Data of the run for the page."""
        if self.scene is None:
            assert self.run is not None
            return equation_contents(pack, self.run, self.rows, title)
        frames = [strongest(frame, self.most) for frame in self.frames]
        return world_contents(pack, self.scene, self.run, self.rows, frames, self.readouts, title)

    @property
    def notes(self) -> list[str]:
        """Notes on omissions and on a relaxed law."""
        notes = []
        if self.run is not None and self.run.relaxed:
            notes.append(f"relaxed, {self.run.relaxation}: not certified by the exact law")
        if self.rows.size < self.length:
            notes.append(
                f"{self.rows.size} of {self.length} records are shown; penetration and residual are the "
                "worst since the previous one shown"
            )
        if 0 < self.most < max(self.counts, default=0):
            notes.append(f"of more than {self.most} contacts, those with the largest forces are drawn")
        if any(each.many for each in self.readouts):
            notes.append("pale arrows: forces that are not unique; those of least norm are shown")
        if any(each.lost for each in self.readouts):
            notes.append("bodies whose position is not finite, or too far away, are drawn at the centre")
        if self.stage is not None and self.stage.unknown:
            notes.append(f"shapes of unknown kinds are only marked: {', '.join(self.stage.unknown)}")
        return notes


@np.errstate(all="ignore")
def contents_of(
    reels: Sequence[Reel], names: Sequence[str], speed: float, forces: bool, **more: Any
) -> tuple[dict[str, Any], str]:
    """Return the contents of a page as JSON data, and its arrays as text."""
    pack = Pack()
    runs = [reel.contents(pack, line(name)) for reel, name in zip(reels, names, strict=True)]
    notes = list(dict.fromkeys(note for reel in reels for note in reel.notes))
    if speed != 1.0:
        notes.append(f"played at {speed:g} times the speed of the run")
    bodies = any(reel.stage is not None for reel in reels)
    content = {
        "runs": runs, "notes": notes, "speed": speed, "forces": forces and bodies,
        "states": [[name, list(colour)] for name, colour in STATE_COLOURS.items()],
        "verdicts": [verdict.value for verdict in Verdict],
    } | more  # fmt: skip
    return content, pack.text()


def framed(title: str, content: dict[str, Any], numbers: str) -> str:
    """Assemble a page: markup, style, contents and scripts, with a policy that forbids other resources."""
    style = _text("viewer.css")
    script = f'"use strict";\n(() => {{\n{"".join(_text(name) for name in SCRIPTS)}}})();\n'
    live = "'self'" if content.get("live") else "'none'"
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        f"img-src data: blob:; connect-src {live}; base-uri 'none'; form-action 'none'"
    )
    held = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    title = escape(line(title))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"{_text('viewer.html').replace('TITLE', title)}"
        f'<script type="application/json" id="contents">{held}</script>\n'
        f'<script type="text/plain" id="numbers">{numbers}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def chosen(times: Array, frames: int) -> IntArray:
    """Numbers of the shown records: all, or `frames` evenly in time, with both ends [-], shape (n,)."""
    count = len(times)
    if count <= frames:
        return np.arange(count)
    if frames == 1:
        return np.array([0])
    even = np.linspace(times[0], times[-1], frames)
    right = np.clip(np.searchsorted(times, even), 1, count - 1)
    nearer = right - (even - times[right - 1] < times[right] - even)
    return np.unique(np.concatenate([[0], nearer, [count - 1]]))


def _alike(first: Reel, second: Reel) -> Scene | None:
    """The second scene, with the centre and size of the first if both are similar."""
    if first.stage is None or second.stage is None:
        return second.scene
    ours, theirs = first.stage.surroundings, second.stage.surroundings
    near = np.linalg.norm(ours.centre - theirs.centre) <= ALIKE * ours.size
    return Scene(
        second.stage, first.stage if near and ALIKE <= ours.size / theirs.size <= 1 / ALIKE else None
    )


def _title(reels: Sequence[Reel]) -> str:
    stage = reels[0].stage
    title = "written equations" if stage is None else f"{len(stage.model)} bodies"
    return title if len(reels) == 1 else f"{title}, two runs"


def _worst(reel: Reel, k: int) -> Readout:
    """Readout of frame k: the worst values since the previous frame."""
    run, rows = reel.run, reel.rows
    if run is None:
        return reel.frames[k].readout
    since = slice(rows[k - 1] + 1 if k else rows[0], rows[k] + 1)
    return replace(
        reel.frames[k].readout, penetration=float(np.max(run.penetration[since])),
        verdict=tuple(Verdict)[int(run.verdicts[since].max())],
        residual=float(np.max(run.natural_scaled[since])),
    )  # fmt: skip


def _cap(counts: list[int], room: int) -> int:
    """Largest number of contacts per frame for which all frames together have at most `room` contacts."""
    fits = bisect_right(
        range(1, max(counts) + 1), room, key=lambda most: sum(min(count, most) for count in counts)
    )
    return max(fits, 1)


def _digest(text: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _text(name: str) -> str:
    return files("stickslip.view.browser").joinpath("client", name).read_text(encoding="utf-8")
