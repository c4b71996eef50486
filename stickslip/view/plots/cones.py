"""Friction cones with the reactions in them: slipping on the edge, sticking inside."""

from pathlib import Path

import numpy as np

from stickslip.exhibits import GUIDE, Curve, Figure, Panel
from stickslip.problem.checks import Array
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.view.plots.choice import PlotError, refuse_body, refuse_interaction, title_of
from stickslip.view.plots.curves import DOTS, cloud, finished, guide
from stickslip.view.plots.reactions import Answer, Reactions, of_answer, of_trajectory, of_world, pressing

COLOURS = {"sticking": 0, "slipping": 1, "sliding": 1, "rolling": 2, "spinning": 4, "sliding and rolling": 3}
"""Colours of states, by their numbers in the palette; other states share what is left."""
EDGES = 3
"""Most friction coefficients whose edges are drawn each; of more, all are drawn over mu r_N."""
FURTHEST = 1.5
"""Reactions further out of the unit disc than this are drawn there [-]."""
OUTSIDE = 1e-6
"""Outside of its cone is what is further out, relative to mu r_N [-]."""
SYMBOLS = {"sliding": ("mu", "r_T"), "rolling": ("mu_R", "r_R"), "torsion": ("mu_S", "r_S")}
UNITS = {"rolling": "N m s", "torsion": "N m s"}


@np.errstate(all="ignore")  # a run that blew up is drawn all the same
def plot_cones(
    source: Trajectory | WorldTrajectory | Answer,
    path: str | Path | None = None,
    *,
    interaction: str | None = None,
    body: str | None = None,
    at: float | None = None,
) -> Figure:
    """Reactions in their friction cones, by what the contacts do.

    Left r_T / (mu r_N) in the unit disc (over contacts or time in 2D), right |r_T| over r_N with the edge of
    the cone; contacts of any mu share the disc. Rolling and torsional friction have panels of their own.

    source: a solution, a file with a stored one, (problem, r), or a run.
    interaction: of a run of written equations, this one alone, at all its records unless `at` is given.
    body: of a world, the contacts of this body.
    at: the record nearest to this time [s]; of a world, the last with contacts unless given.
    path: draw it there, .svg or .png.
    """
    if isinstance(source, Trajectory):
        refuse_body(source, body)
        groups, when, along = of_trajectory(source, interaction, at), at, "t [s]"
        title = title_of(source, "Friction cones", interaction)
    elif isinstance(source, WorldTrajectory):
        refuse_interaction(source, interaction)
        groups, when = of_world(source, body, at)
        title, along = title_of(source, "Friction cones", body), "contact"
    else:
        groups, when, along = of_answer(source), None, "contact"
        title = f"Friction cones: {groups[0].normal.size} contacts"
    notes = [] if when is None else [f"At {when:g} s."]
    panels: list[Panel] = []
    for group in groups:
        drawn, open_ = pressing(group)
        panels += _panels(drawn, along, group.resists.capitalize() if len(groups) > 1 else "")
        notes += _notes(drawn, open_)
    if all(curve.colour == GUIDE for panel in panels for curve in panel.curves):
        raise PlotError("no reaction to draw: no contact with friction presses")
    return finished(Figure(title, panels, note=" ".join(dict.fromkeys(notes))), path)


def _panels(of: Reactions, along: str, title: str) -> list[Panel]:
    mu, r = SYMBOLS.get(of.resists, ("mu", "r"))
    length, limit = np.linalg.norm(of.held, axis=1), of.mu * of.normal
    ratio = of.held / limit[:, None]
    panels = []
    if of.size == 2:
        round_ = np.linspace(0.0, 2.0 * np.pi, 181)
        edge = guide("edge of the cone", np.cos(round_), np.sin(round_))
        far = np.maximum(length / limit / FURTHEST, 1.0)
        shown = ratio / far[:, None]
        axes = tuple(f"{r}{k} / ({mu} r_N)" for k in (1, 2))
        curves = [edge, *_clouds(of.state, shown[:, 0], shown[:, 1])]
        panels.append(Panel(title, axes[0], axes[1], curves, equal=True))
    elif of.size == 1:
        ends = _ends(of.place)
        edges = [guide("edge of the cone", ends, [side, side]) for side in (1.0, -1.0)]
        shown = np.clip(ratio, -FURTHEST, FURTHEST)
        curves = [*edges, *_clouds(of.state, of.place, shown[:, 0])]
        panels.append(Panel(title, along, f"{r} / ({mu} r_N)", curves))
    values = np.unique(of.mu)
    many = values.size > EDGES
    x = limit if many else of.normal
    widest = float(x.max(initial=0.0))
    edges = [
        guide("edge of the cone", [0.0, widest], [0.0, slope * widest])
        for slope in ([1.0] if many else values)
    ]
    unit = UNITS.get(of.resists, "N s")
    x_label = f"{mu} r_N [{unit}]" if many else "r_N [N s]"
    curves = [*edges, *_clouds(of.state, x, length)]
    return [*panels, Panel(title, x_label, f"|{r}| [{unit}]", curves)]


def _clouds(state: np.ndarray, x: Array, y: Array) -> list[Curve]:
    """One cloud of points for each state."""
    names = sorted(set(state.tolist()), key=lambda name: (COLOURS.get(name, 99), name))
    return [cloud(name, x[state == name], y[state == name], COLOURS.get(name)) for name in names]


def _notes(of: Reactions, open_: int) -> list[str]:
    notes = []
    if open_:
        notes.append(f"Not drawn: {open_} that do not press.")
    if of.normal.size:
        over = np.linalg.norm(of.held, axis=1) / (of.mu * of.normal) - 1.0
        outside = over > OUTSIDE
        if outside.any():
            notes.append(
                f"{int(outside.sum())} of {of.normal.size} outside their cone ({of.resists}),"
                f" by up to {100.0 * float(over.max()):.2g} %."
            )
    if of.normal.size > DOTS:
        notes.append("Points that would hide each other are drawn once.")
    return notes


def _ends(place: Array) -> Array:
    low, high = (float(place.min()), float(place.max())) if place.size else (0.0, 1.0)
    return np.array([low, high]) if high > low else np.array([low - 0.5, low + 0.5])
