"""A run as one HTML file that plays by itself: viser's player and the recorded scene; nothing is fetched.
Beside the picture stand numbers of the frame, colours of contacts and notes."""

import json
import math
import os
import re
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
from stickslip.mechanics.world import World
from stickslip.problem.solution import Verdict
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, IntArray
from stickslip.view.browser.painter import Painter
from stickslip.view.browser.server import ViewerError, close_server, open_server
from stickslip.view.browser.stage import STATE_COLOURS, Frame, Readout, Stage
from stickslip.view.text import line

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob: data:; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; connect-src data: blob:; worker-src blob: data:; "
    "base-uri 'none'; form-action 'none'"
)
"""What the page may use: itself alone. A browser that knows such policies fetches nothing else."""
LICENCE = (
    "The player in this page is the client of viser (https://viser.studio), a work of its authors under the "
    "MIT License; it has parts of others under their own licences."
)


def framed(player: str, title: str, readouts: Sequence[Readout], notes: Sequence[str]) -> str:
    """The page: viser's player with its recording as HTML, and about it numbers of all frames, notes, a title
    and a policy."""
    title = escape(line(title))
    player = re.sub(r"\s*<title>[^<]*</title>", "", player, count=1)
    top = "<head>"
    start = player.index(top) + len(top)
    end = player.rindex("</body>")
    head = (
        f'\n    <meta charset="utf-8" />\n    <!-- {LICENCE} -->'
        f'\n    <meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}" />'
        f"\n    <title>{title}</title>\n    <style>{_text('overlay.css')}</style>"
        f"\n    <script>{_text('overlay.js')}</script>"
    )
    return f"{player[:start]}{head}{player[start:end]}{_aside(title, readouts, notes)}{player[end:]}"


def _aside(title: str, readouts: Sequence[Readout], notes: Sequence[str]) -> str:
    """Time, penetration, residual, how many contacts are in each state, and what the reader should know."""
    marked = [(name, "") for name in ("time", "penetration", "residual")]
    marked += [(state, f'<i style="background: rgb{c}"></i>') for state, c in STATE_COLOURS.items()]
    table = "".join(
        f'<tr><td>{mark}{name}</td><td id="stickslip-{k}"></td></tr>' for k, (name, mark) in enumerate(marked)
    )
    said = "".join(f"<p>{escape(line(note))}</p>" for note in notes)
    spec = _time_spec(np.array([each.t for each in readouts]))
    rows = json.dumps([_row(each, spec) for each in readouts], separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<details id="stickslip" open><summary>{title}</summary><table>{table if readouts else ""}</table>'
        f'{said}</details>\n    <script type="application/json" id="stickslip-rows">{rows}</script>\n  '
    )


def _row(readout: Readout, spec: str) -> tuple[str, ...]:
    judged = f"{readout.residual:.1e}"
    if readout.verdict is Verdict.MISSED:
        judged += ", missed its tolerance"
        if math.isfinite(readout.tolerance):
            judged += f" of {readout.tolerance:.0e}"
    elif readout.verdict is Verdict.RELAXED:
        judged += ", relaxed"
    counts = (str(readout.counts.get(state, 0)) for state in STATE_COLOURS)
    return (f"{readout.t:{spec}} s", f"{readout.penetration:.2e} m", judged, *counts)


def _time_spec(times: Array) -> str:
    """How times are written: with as many decimals as tell them apart, or, where that is too long, without
    a fixed number."""
    steps = np.diff(times)
    steps = steps[steps > 0.0]
    smallest = float(steps.min()) if steps.size else 1e-3
    digits = max(math.ceil(-math.log10(smallest) - 1e-9), 2)
    return f".{digits}f" if digits <= 9 and np.abs(times).max(initial=0.0) < 1e7 else ".9g"


def _text(name: str) -> str:
    return files("stickslip.view.browser").joinpath(name).read_text(encoding="utf-8").strip()


FRAMES, FEWEST = 300, 60
"""Instants that are shown of a long run unless told otherwise; of very many bodies, at least so many."""
PLACE, CONTACT = 17, 18
"""What the place of a body in a frame takes at most, about, and a contact with its force [bytes]."""
FINE, MEDIUM, COARSE = 2.0**-10, 2.0**-8, 2.0**-6
"""To what bodies, contact points and arrows are rounded where a scene is 10 wide as drawn: on a screen about
a tenth of a pixel, half of one, and two."""
AWAY = 24.0
"""Everything is written so far from the origin, and moved back as a whole: numbers from 16 to 32 share sign
and exponent, which then take no room."""
ASIDE = 0.09
"""How far the scene stands to the right, because the numbers are on the left, in widths of the picture."""
HOLD = 0.7
"""How long the last frame stays before the player begins anew [s]."""


def export_html(
    source: Trajectory | World, path: str | os.PathLike[str], *, frames: int | None = None,
    contacts: bool = True, forces: bool = True, speed: float = 1.0, title: str | None = None,
    megabytes: float = 7.5,
) -> Path:  # fmt: skip
    """Write what `page_of` gives to a file, whole or not at all, and say where it is."""
    path = Path(path)
    if path.is_dir():
        raise ViewerError(f"{path} is a folder; give the name of the HTML file to write")
    if not path.absolute().parent.is_dir():
        raise ViewerError(
            f"{path} cannot be written: there is no folder {path.absolute().parent}; make it first"
        )
    page = page_of(
        source, frames=frames, contacts=contacts, forces=forces, speed=speed, title=title, megabytes=megabytes
    )  # fmt: skip
    try:
        replace_file(path, page.encode())
    except FormatError as error:
        raise ViewerError(str(error)) from None
    except OSError as error:
        raise ViewerError(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def page_of(
    source: Trajectory | World, *, frames: int | None = None, contacts: bool = True, forces: bool = True,
    speed: float = 1.0, title: str | None = None, megabytes: float = 7.5,
) -> str:  # fmt: skip
    """A run, or a world where it starts, as the text of an HTML page that needs no other file and no network;
    the same run, the same text.

    frames      how many instants at most, evenly in time; 300 unless given, or fewer of very many bodies
    contacts    whether contact points are in it, coloured by what they do
    forces      whether the forces of contacts are, as arrows
    speed       seconds of the run in a second
    title       of the page
    megabytes   about how large the page may be; of more contacts than fit those with the largest forces are
                drawn, and the page says so
    """
    if not isinstance(source, Trajectory | World) or (isinstance(source, Trajectory) and not source.of_world):
        kind = type(source).__name__
        raise ViewerError(f"a {kind} has no bodies to draw; the run of a World, or a World, is needed")
    if frames is not None and frames < 1:
        raise ViewerError(f"{frames} frames cannot be shown; give at least 1")
    if not 0.0 < speed < math.inf:
        raise ViewerError(f"a run cannot be played at {speed:g} times its speed; give a positive number")
    stage = Stage.of(source)
    rows = _chosen(stage, frames, megabytes)
    run = source if isinstance(source, Trajectory) else None
    readouts = [] if run is None else [_worst(stage, run, rows, k) for k in range(rows.size)]
    waits = np.append(np.diff(stage.times[rows]) / speed, HOLD if rows.size > 1 else 0.0)
    title = title or f"{len(stage.model)} bodies"

    def page_with(most: int) -> str:
        player = _player(stage, rows, waits, most, contacts, forces)
        notes = _notes(stage, rows, most, readouts, speed)
        if run is not None and run.relaxed:
            notes.insert(0, f"relaxed, {run.relaxation}: not certified by the exact law")
        return framed(player, title, readouts, notes)

    counts = [each.contacts for each in readouts] if contacts or forces else []
    page = page_with(max(counts, default=0))
    excess = len(page) - 1e6 * megabytes
    if excess > 0.0 and any(counts):
        page = page_with(_cap(counts, max(0, sum(counts) - math.ceil(excess / CONTACT))))
    return page


def _player(stage: Stage, rows: IntArray, waits: Array, most: int, contacts: bool, forces: bool) -> str:
    """viser's player with the recorded scene: those instants, each for so long [s], with so many contacts at
    most."""
    server = open_server(port=0)  # viser builds scenes for servers only
    try:
        recorder = server.get_scene_serializer()
        painter = _Rounded(server.scene, stage)
        painter.look(server.initial_camera, -ASIDE)
        for k, row in enumerate(rows):
            painter.show(painter.rounded(_strongest(stage.frame(int(row)), most)), contacts, forces)
            _run_in_page(server, f"stickslip.show({k})")
            recorder.insert_sleep(float(waits[k]))
        return str(recorder.as_html())
    finally:
        close_server(server)


def _chosen(stage: Stage, frames: int | None, megabytes: float) -> IntArray:
    """Which instants are shown: all, or so many evenly in time, with the first and the last."""
    if frames is None:
        groups = [group for group in stage.instances if group.moving]
        # The two shades of balls are at the same places, which are then sent once.
        sent = {(g.body.tobytes(), g.position.tobytes(), g.quaternion.tobytes()): len(g) for g in groups}
        moving = sum(sent.values())
        frames = min(FRAMES, max(FEWEST, int(0.5e6 * megabytes / (PLACE * max(1, moving)))))
    times = stage.times
    if len(stage) <= frames:
        return np.arange(len(stage))
    if frames == 1:
        return np.array([0])
    even = np.linspace(times[0], times[-1], frames)
    right = np.clip(np.searchsorted(times, even), 1, len(stage) - 1)
    nearer = right - (even - times[right - 1] < times[right] - even)
    return np.unique(np.concatenate([[0], nearer, [len(stage) - 1]]))


def _worst(stage: Stage, run: Trajectory, rows: IntArray, k: int) -> Readout:
    """The numbers of frame k: the worst since the frame before, as a record has since the record before."""
    since = slice(rows[k - 1] + 1 if k else rows[0], rows[k] + 1)
    return replace(
        stage.frame(int(rows[k])).readout, penetration=float(np.max(run.penetration[since])),
        verdict=tuple(Verdict)[int(run.verdicts[since].max())],
        residual=float(np.max(run.natural_scaled[since])),
    )  # fmt: skip


def _cap(counts: list[int], room: int) -> int:
    """How many contacts a frame may have so that all frames together have no more than there is room for."""
    fits = bisect_right(
        range(1, max(counts) + 1), room, key=lambda most: sum(min(count, most) for count in counts)
    )
    return max(fits, 1)


def _notes(stage: Stage, rows: IntArray, most: int, readouts: list[Readout], speed: float) -> list[str]:
    """What is not as the reader would expect."""
    notes = []
    if rows.size < len(stage):
        notes.append(
            f"{rows.size} of {len(stage)} records are shown; penetration and residual are the worst since "
            "the one shown before"
        )
    if 0 < most < max((each.contacts for each in readouts), default=0):
        notes.append(f"of more than {most} contacts, those with the largest forces are drawn")
    if any(each.many for each in readouts):
        notes.append("pale arrows: forces that are one of many with the same motion, those of least norm")
    if speed != 1.0:
        notes.append(f"played at {speed:g} times the speed of the run")
    if any(each.lost for each in readouts):
        notes.append("bodies whose place is no number, or too far away, are drawn in the middle")
    if stage.unknown:
        notes.append(f"shapes of unknown looks are only marked: {', '.join(stage.unknown)}")
    return notes


def _strongest(frame: Frame, most: int) -> Frame:
    """The frame with so many contacts at most, those with the largest forces, in their order."""
    if len(frame.points) <= most:
        return frame
    keep = np.sort(np.argsort(-np.linalg.norm(frame.forces, axis=1), kind="stable")[:most])
    of_contacts = ("points", "arrows", "colours", "states", "forces", "choice", "pairs")
    return replace(frame, **{name: getattr(frame, name)[keep] for name in of_contacts})


class _Rounded(Painter):
    """Draws to a precision that is not seen, so that what is sent compresses: low bits are zero, and what
    rests is the same from frame to frame."""

    def __init__(self, scene: Any, stage: Stage):
        super().__init__(scene, stage)
        for handle in (*(handle for _, handle in self.bodies), self.points, self.arrows):
            handle.position = (-AWAY, -AWAY, -AWAY)

    def drawn(self, x: Array) -> Array:
        """Places [m] as they are drawn, shape (..., 3), float32."""
        return np.asarray(_round((x - self.stage.centre) * self.zoom, FINE) + AWAY, np.float32)

    def rounded(self, frame: Frame) -> Frame:
        """The frame with orientations as fine as the surfaces of bodies need, and coarser contacts."""
        turns = []
        for group, turn in zip(self.stage.instances, frame.quaternions, strict=True):
            widest = np.abs(group.scale).max(initial=0.0) * np.abs(group.mesh.vertices).max(initial=0.0)
            bits = math.ceil(math.log2(max(self.zoom * float(widest), FINE) / FINE))
            turns.append(_round(turn, 2.0 ** -min(max(bits, 7), 14)))
        start, end = frame.arrows[:, 0], frame.arrows[:, 1]
        points, start = self._near(frame.points, MEDIUM), self._near(start, MEDIUM)
        arrows = np.stack([start, start + _round((end - start) * self.zoom, COARSE) / self.zoom], axis=1)
        return replace(frame, quaternions=tuple(turns), points=points, arrows=arrows)

    def _near(self, x: Array, step: float) -> Array:
        centre = self.stage.centre
        return centre + _round((x - centre) * self.zoom, step) / self.zoom


def _round(x: Array, step: float) -> Array:
    return np.asarray(np.round(x / step) * step) + 0.0  # no negative zeros


def _run_in_page(server: Any, script: str) -> None:
    """Have the player run a line of script when it comes to this place of the recording."""
    from viser._messages import RunJavascriptMessage

    # viser's own way to do so, for its plots; it has no public name for it.
    server._websock_server.queue_message(RunJavascriptMessage(source=script))
