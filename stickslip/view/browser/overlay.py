"""What stands beside the picture of an exported run: numbers of the frame, colours of contacts, notes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

import numpy as np

from stickslip.problem.solution import Verdict
from stickslip.state import Array
from stickslip.view.browser.stage import STATE_COLOURS, Readout
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


@dataclass(frozen=True)
class Overlay:
    """The numbers of all frames as text."""

    title: str
    """Of the page."""
    rows: tuple[tuple[str, ...], ...]
    """Of each frame: time, penetration, residual, and how many contacts are in each of `STATE_COLOURS`."""
    notes: tuple[str, ...]
    """What the reader should know of the picture."""

    @classmethod
    def of(cls, title: str, readouts: Sequence[Readout], notes: Sequence[str]) -> Overlay:
        """From the numbers of all frames."""
        spec = _time_spec(np.array([each.t for each in readouts]))
        rows = tuple(_row(each, spec) for each in readouts)
        return cls(line(title), rows, tuple(line(note) for note in notes))


def framed(player: str, overlay: Overlay) -> str:
    """The page: viser's player with its recording as HTML, and about it the overlay, a title and a policy."""
    title = escape(overlay.title)
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
    return f"{player[:start]}{head}{player[start:end]}{_aside(overlay, title)}{player[end:]}"


def _aside(overlay: Overlay, title: str) -> str:
    rows = ""
    if overlay.rows:
        names = ("time", "penetration", "residual")
        rows = "".join(
            f'<tr><td>{name}</td><td id="stickslip-{k}"></td></tr>' for k, name in enumerate(names)
        )
        rows += "".join(
            f'<tr><td><i style="background: rgb{colour}"></i>{state}</td><td id="stickslip-{k}"></td></tr>'
            for k, (state, colour) in enumerate(STATE_COLOURS.items(), len(names))
        )
    notes = "".join(f"<p>{escape(note)}</p>" for note in overlay.notes)
    data = json.dumps(overlay.rows, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<details id="stickslip" open><summary>{title}</summary><table>{rows}</table>{notes}</details>\n    '
        f'<script type="application/json" id="stickslip-rows">{data}</script>\n  '
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
