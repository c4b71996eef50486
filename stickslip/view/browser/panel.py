"""The words beside the picture, as HTML in which names of bodies are only text."""

import math
from html import escape

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.problem.solution import Verdict
from stickslip.state import Array
from stickslip.view.browser.stage import STATE_COLOURS, Frame, Readout, Stage

LONGEST_NAME = 60
"""Letters of a name that are shown."""
MOST_FORCES = 8
"""Contacts of a body that are listed."""

UNIQUENESS = ("", ", unique", ", one of many")
"""What is said of a force by the code of its choice."""
VERDICTS = {
    Verdict.CERTIFIED: ("#00795a", "by the exact law"),
    Verdict.RELAXED: ("#8a6d00", "another law in its place"),
    Verdict.MISSED: ("#c04000", "above the tolerance"),
}
"""Colour of each verdict, and what is said beside it."""


def shown_name(name: str, longest: int = LONGEST_NAME) -> str:
    """A name of a body as plain text on one line: without control characters, and not too long."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def shown_time(t: float) -> str:
    """A time with its unit; very short and very long ones are not written out."""
    return f"{t:.4f} s" if t == 0.0 or 0.01 <= abs(t) < 1e7 else f"{t:.4g} s"


def readout_html(readout: Readout) -> str:
    """Time, residual, penetration and contacts by state, each state in its colour."""
    rows = [("time", shown_time(readout.t)), ("penetration", f"{readout.penetration:.2e} m")]
    bound = "" if math.isnan(readout.tolerance) else f" (tolerance {readout.tolerance:.0e})"
    rows.append(("residual", f"{readout.residual:.1e}{bound}"))
    if not math.isnan(readout.tolerance):
        colour, said = VERDICTS[readout.verdict]
        rows.append(("verdict", f'<b style="color:{colour}">{readout.verdict}</b>, {said}'))
    many = f", {readout.many} with a force that is one of many (pale: least norm)" if readout.many else ""
    rows.append(("contacts", f"{readout.contacts}{many}"))
    if readout.lost:
        rows.append(("lost", f"{readout.lost} bodies are nowhere: drawn in the middle"))
    states = "".join(
        f'<div style="white-space:nowrap"><span style="display:inline-block;width:0.8em;height:0.8em;'
        f'border-radius:50%;background:{_css(colour)}"></span> {readout.counts.get(name, 0)} {name}</div>'
        for name, colour in STATE_COLOURS.items()
    )
    grid = f'<div style="display:grid;grid-template-columns:1fr 1fr;margin-top:0.3em">{states}</div>'
    return _box(_table(rows) + grid)


@np.errstate(all="ignore")  # forces of a run that blew up have sums all the same
def body_html(stage: Stage, frame: Frame, body: int) -> str:
    """The state of one body, and the contact forces on it, the largest first."""
    model = stage.model
    velocity, spin = frame.velocity[body, :3], frame.velocity[body, 3:]
    kind = BodyKind(int(model.kind[body])).name.lower()
    mass = f", {model.mass[body]:.4g} kg" if model.kind[body] == BodyKind.DYNAMIC else ""
    rows = [
        ("centre", f"{_vector(frame.bodies[body])} m"),
        ("velocity", f"{_vector(velocity)} m/s"),
        ("spin", f"{_vector(spin)} rad/s"),
    ]
    first, second = frame.pairs[:, 0] == body, frame.pairs[:, 1] == body
    touching = np.flatnonzero(first | second)
    force = np.where(first[touching, None], 1.0, -1.0) * frame.forces[touching]
    rows.append(("contact force", f"{_vector(force.sum(axis=0))} N"))
    rows.append(("contacts", f"{touching.size}"))
    order = np.argsort(-np.linalg.norm(force, axis=1), kind="stable")
    lines = [_contact(stage, frame, body, int(touching[k]), force[k]) for k in order[:MOST_FORCES]]
    if touching.size > MOST_FORCES:
        lines.append(f"<div>and {touching.size - MOST_FORCES} more</div>")
    title = f"<div><b>{escape(shown_name(model.names[body]))}</b>, {kind}{mass}</div>"
    return _box(title + _table(rows) + "".join(lines))


def no_body_html() -> str:
    """What stands there before a body is chosen."""
    return _box("Click a body for its state.")


def _contact(stage: Stage, frame: Frame, body: int, contact: int, force: Array) -> str:
    pair = frame.pairs[contact]
    other = escape(shown_name(stage.model.names[pair[1] if pair[0] == body else pair[0]], 24))
    state = str(frame.states[contact])
    size = float(np.linalg.norm(force))
    return (
        f'<div style="white-space:nowrap;overflow:hidden"><span style="color:{_css(STATE_COLOURS[state])}">'
        f"●</span> {size:.3g} N from {other}, {state}{UNIQUENESS[int(frame.choice[contact])]}</div>"
    )


def _box(inner: str) -> str:
    return f'<div style="font-size:0.8em;line-height:1.5;padding:0.2em 0.8em 0.5em">{inner}</div>'


def _table(rows: list[tuple[str, str]]) -> str:
    """Two columns; the texts are HTML already."""
    cells = "".join(
        f'<div style="color:#777">{name}</div><div style="overflow-wrap:anywhere">{text}</div>'
        for name, text in rows
    )
    return f'<div style="display:grid;grid-template-columns:6.5em 1fr">{cells}</div>'


def _vector(x: Array) -> str:
    return ", ".join(f"{part + 0.0:.3g}" for part in x)


def _css(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
