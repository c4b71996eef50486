"""HTML of worlds and runs in notebooks: an interactive scene, curves, and a table of certified numbers.

These functions do not raise exceptions: if drawing fails, the text of the object and the reason are shown.
"""

import tempfile
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.exhibits import Figure, Panel
from stickslip.extras import explained
from stickslip.mechanics.world import World
from stickslip.simulation.trajectory import Trajectory
from stickslip.view.text import clean

FRAMES, MEGABYTES = 100, 3.0
"""Largest number of records shown in a notebook, and the approximate size limit of the scene [MB]."""
HEIGHT = 520
"""Height of a scene on the screen [px]."""
CURVES = 8
"""Largest number of coordinates that are drawn."""
WHOLE = "stickslip.view.export_html(trajectory, 'run.html') writes all of it to a file that plays by itself"


def world_html(world: World) -> str:
    """HTML of a world at its start: interactive scene and summary."""
    return _shown(world, lambda: _scene(world, None, "") + _text(str(world)))


def run_html(trajectory: Trajectory) -> str:
    """HTML of a run: for a world the playable scene and the certificate, for equations the coordinates and
    energies over time; and the summary."""

    def make() -> str:
        if not trajectory.of_world:
            return _picture(lambda path: _draw_curves(trajectory, path), "svg") + _text(str(trajectory))
        note = f"At most {FRAMES} records are shown here; {WHOLE}."
        scene = _scene(trajectory, None, note if len(trajectory) > FRAMES else "")
        summary = f"<details><summary>summary</summary>{_text(str(trajectory))}</details>"
        return scene + _certificate(trajectory) + summary

    return _shown(trajectory, make)


def _shown(what: Any, make: Callable[[], str]) -> str:
    """HTML made by `make`; if it fails, the text of the object and the reason."""
    try:
        return f"<div>{make()}</div>"
    except Exception as error:
        reason = explained(error, "a picture") if isinstance(error, ImportError) else error
        try:
            text = str(what)
        except Exception:
            text = object.__repr__(what)
        return f"<div>{_text(text)}{_note(f'It cannot be drawn: {reason}')}</div>"


class Scene:
    """Notebook representation of a world or a run, or of two side by side."""

    def __init__(self, source: World | Trajectory, other: World | Trajectory | None = None):
        self._sources = source, other

    def _repr_html_(self) -> str:
        return _shown(self._sources[0], lambda: _scene(*self._sources, ""))


def _scene(source: World | Trajectory, other: World | Trajectory | None, note: str) -> str:
    """The scene in a sandboxed frame."""
    from stickslip.view.browser.export import page_of

    frames = FRAMES if isinstance(source, Trajectory) else None
    page = page_of(source, other, frames=frames, megabytes=MEGABYTES)
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{escape(page)}" title="scene" '
        f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #ddd"></iframe>{_note(note)}'
    )


def _picture(draw: Callable[[Path], None], kind: str) -> str:
    """Embed the file written by `draw` as an image, so that scripts in it do not run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"picture.{kind}"
        draw(path)
        data = b64encode(path.read_bytes()).decode("ascii")
    media = {"svg": "image/svg+xml", "png": "image/png"}[kind]
    return f'<img alt="picture" style="max-width: 720px; width: 100%" src="data:{media};base64,{data}" />'


def _draw_curves(trajectory: Trajectory, path: Path) -> None:
    from stickslip.view.figures import draw
    from stickslip.view.plots.choice import PlotError
    from stickslip.view.plots.curves import history
    from stickslip.view.plots.histories import plot_energy

    names = [
        (part.name, k)
        for part in trajectory.model.systems
        for k in range(trajectory.system(part.name).q.shape[1])
    ]
    drawn = [
        history(f"{name} {k}", trajectory.t, trajectory.system(name).q[:, k]) for name, k in names[:CURVES]
    ]
    title = "Coordinates" if len(names) <= CURVES else f"{CURVES} of {len(names)} coordinates"
    panels = [Panel(title, "t [s]", "q [m, rad, or any]", drawn)]
    with suppress(PlotError):  # systems of first order have no energies
        panels += plot_energy(trajectory).panels[:1]
    draw(Figure("", panels), path)


def _certificate(run: Trajectory) -> str:
    """Table of the verdict and the residuals of a run."""
    energy = run.energy
    held = f"tolerance {run.tolerance:g}, missed by {run.missed} of {run.steps} steps"
    rows = (
        ("verdict", run.verdict.value, run.relaxation or "by the exact law"),
        ("residual", f"{np.max(run.natural_scaled):.1e}", held),
        ("penetration", f"{np.max(run.penetration):.2e} m", "deepest overlap"),
        ("energy", f"{energy[0]:.6g} J to {energy[-1]:.6g} J", f"{run.dissipated[-1]:.6g} J dissipated"),
        ("balance", f"{np.max(np.abs(run.balance)):.1e} J", "largest error of all energies together"),
    )  # fmt: skip
    return f"<table>{_rows(rows, 'td')}</table>"


def table_html(lines: Sequence[Sequence[str]], title: str, note: str) -> str:
    """HTML table of text: the first line contains the headings, which may all be empty."""
    head = _rows(lines[:1], "th") if any(lines[0]) else ""
    table = f"<caption>{escape(clean(title))}</caption>{head}{_rows(lines[1:], 'td')}"
    return f"<div><table>{table}</table>{_note(note)}</div>"


def _rows(rows: Sequence[Sequence[str]], kind: str) -> str:
    """Rows of an HTML table with cells `td` or `th`."""
    return "".join(
        "<tr>"
        + "".join(f'<{kind} style="text-align: left">{escape(clean(cell))}</{kind}>' for cell in row)
        + "</tr>"
        for row in rows
    )


def _text(text: str) -> str:
    return f"<pre>{escape(clean(text))}</pre>"


def _note(text: str) -> str:
    return f'<p style="color: #666">{escape(clean(text))}</p>' if text else ""
