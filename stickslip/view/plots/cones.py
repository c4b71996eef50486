"""Plots of reactions in their friction cones: slipping contacts on the surface, sticking ones inside."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np

from stickslip.exhibits import GUIDE, Curve, Figure, Panel
from stickslip.files.record import ProblemRecord
from stickslip.names import LISTED, listing
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.nonlinear import NonlinearProblem
from stickslip.problem.residuals import examine
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import AnyProblem, Solution
from stickslip.problem.states import SEPARATING, contact_states
from stickslip.simulation.trajectory import Trajectory
from stickslip.view.plots.choice import PlotError, body_number, check_names, interactions, record_at, title_of
from stickslip.view.plots.curves import DOTS, LARGEST, cloud, finished, guide

Answer = Solution | ProblemRecord | tuple[AnyProblem, Array]
"""A solution, the content of a file with a stored solution, or a problem and impulses r."""

RESISTED = {
    (1,): ("sliding",),
    (2,): ("sliding",),
    (2, 2): ("sliding", "rolling"),
    (2, 1): ("sliding", "torsion"),
    (2, 2, 1): ("sliding", "rolling", "torsion"),
}
"""Motions resisted by the groups of a friction cone, by the sizes of the groups."""


@dataclass(frozen=True, eq=False)
class Reactions:
    """Reactions of one group of components, in the cones |held| <= mu normal."""

    resists: str
    """sliding, rolling, torsion, or the number of the group."""
    normal: Array
    """r_N [N s], shape (m,)."""
    held: Array
    """The components of the group [N s, or N m s], shape (m, size)."""
    mu: Array
    """Coefficient of the group [-, or m], shape (m,)."""
    state: np.ndarray
    """Name of the state of each contact [-], shape (m,), text."""
    place: Array
    """Number of the contact [-], or the time [s], shape (m,)."""

    @property
    def size(self) -> int:
        """Number of components of the group."""
        return int(self.held.shape[1])

    def of(self, which: np.ndarray) -> Self:
        """Select some of the reactions."""
        return replace(self, **{name: getattr(self, name)[which] for name in COLUMNS})


COLUMNS = ("normal", "held", "mu", "state", "place")
"""Array fields of `Reactions`, with one row for each reaction."""


def of_answer(answer: Answer) -> list[Reactions]:
    """Reactions of a solution of a contact problem, numbered by contact."""
    if isinstance(answer, Solution):
        problem, r, names = answer.problem, answer.r, answer.states.name
        K = _cones(problem)
    else:
        problem, r, v, lam = _parts(answer)
        K = _cones(problem)
        if isinstance(problem, GlobalProblem) and lam is None:
            lam = np.zeros(problem.g_bias.size)
        residuals, u = examine(problem, r, v, lam)
        # A stored solution may have any accuracy: values below its error count as zero.
        error = residuals.natural_scaled
        names = contact_states(
            problem, r, u, float(np.clip(error, 1e-8, 1e-3) if error == error else 1e-3)
        ).name
    return grouped(_of_set(K, r[None], np.array([names], object), np.zeros(1), number=True))


def of_trajectory(run: Trajectory, interaction: str | None, at: float | None) -> list[Reactions]:
    """Reactions of a run of equations, at all records or at the record nearest to `at`."""
    rows = slice(None) if at is None else slice(record_at(run, at), record_at(run, at) + 1)
    reactions: list[Reactions] = []
    for part, components in interactions(run, interaction, contacts=False):
        if not part.K.group_size.size:
            if interaction is not None:
                raise PlotError(f"interaction {interaction!r} has no friction: {part.law}")
            continue
        states = run.interaction(part.name).states[rows]
        reactions += _of_set(part.K, run.r[rows, components], states, run.t[rows], number=False)
    if not reactions:
        names = listing((part.name for part in run.model.interactions), LISTED)
        raise PlotError(f"no friction cones: no interaction of this run has friction ({names})")
    return grouped(reactions)


def of_world(run: Trajectory, body: str | None, at: float | None) -> tuple[list[Reactions], float]:
    """Reactions of a record of a world, of all contacts or those of one body, and its time [s].

    Without `at` the last record with contacts is used.
    """
    contacts = run.contacts
    if not len(contacts):
        raise PlotError("no friction cones: no contact in the records of this run")
    k = int(contacts.record[-1]) if at is None else record_at(run, at)
    rows = np.arange(contacts.offset[k], contacts.offset[k + 1])
    if body is not None:
        number = body_number(run, body)
        rows = rows[(contacts.body[rows] == number).any(axis=1)]
    if not rows.size:
        owner = "" if body is None else f" of body {body!r}"
        raise PlotError(f"no contact{owner} in the record at {run.t[k]:g} s")
    r, law, states = contacts.r[rows], contacts.law[rows], run.contact_states[rows]
    parts = (("sliding", slice(1, 3), 0), ("rolling", slice(3, 5), 1), ("torsion", slice(5, 6), 2))
    reactions = []
    for resists, components, column in parts:
        has = np.flatnonzero(law[:, column] > 0.0) if column else np.arange(rows.size)
        place = has.astype(float)
        reactions.append(
            Reactions(resists, r[has, 0], r[has][:, components], law[has, column], states[has], place)
        )
    return [each for each in reactions if each.normal.size], float(run.t[k])


def grouped(parts: Iterable[Reactions]) -> list[Reactions]:
    """Concatenate reactions that resist the same motion with the same number of components."""
    groups: dict[tuple[str, int], list[Reactions]] = {}
    for part in parts:
        groups.setdefault((part.resists, part.size), []).append(part)
    return [
        Reactions(resists, *(np.concatenate([getattr(part, name) for part in same]) for name in COLUMNS))
        for (resists, _), same in groups.items()
    ]


def pressing(of: Reactions) -> tuple[Reactions, int]:
    """Select the reactions with friction and r_N > 0; return them, and the number of the others."""
    presses = (of.state != SEPARATING) & (of.normal > 0.0) & (of.mu > 0.0)
    presses &= (of.normal < LARGEST) & (np.abs(of.held) < LARGEST).all(axis=1)
    return of.of(presses), int((~presses).sum())


def _parts(
    answer: ProblemRecord | tuple[AnyProblem, Array],
) -> tuple[AnyProblem, Array, Array | None, Array | None]:
    if isinstance(answer, ProblemRecord):
        stored = answer.solution
        if stored is None:
            raise PlotError("the file stores no solution; `stickslip solve FILE --out` writes one beside it")
        return answer.problem, stored.r, stored.v, stored.lam
    problem, r = answer
    r = np.array(r, float).reshape(-1)
    if r.size != problem.size:
        raise PlotError(f"r has {r.size} components, expected {problem.size}")
    return problem, r, None, None


def _cones(problem: AnyProblem) -> ProductSet:
    """The friction cones of a problem; raise a PlotError if it has none."""
    if isinstance(problem, BoxProblem | NonlinearProblem) or not problem.K.group_size.size:
        raise PlotError(f"no friction cones in {problem!r}")
    assert isinstance(problem, ContactProblem | GlobalProblem)
    return problem.K


def _of_set(K: ProductSet, r: Array, states: np.ndarray, t: Array, number: bool) -> list[Reactions]:
    """Reactions of n records of r, shape (n, size); number: `place` is the contact, not the time."""
    reactions = []
    n = len(r)
    for groups, blocks in K.families().items():
        names = RESISTED.get(groups, tuple(f"group {k}" for k in range(len(groups))))
        first = K.offset[blocks]
        place: Array = np.tile(blocks.astype(float), n) if number else np.repeat(t, blocks.size)
        for k, (a, b) in enumerate(pairwise(np.cumsum((1, *groups)).tolist())):
            columns: IntArray = first[:, None] + np.arange(a, b)
            held = r[:, columns].reshape(n * blocks.size, b - a)
            mu = np.tile(K.coefficient[K.group_offset[blocks] + k], n)
            reactions.append(
                Reactions(names[k], r[:, first].reshape(-1), held, mu, states[:, blocks].reshape(-1), place)
            )
    return reactions


COLOURS = {"sticking": 0, "slipping": 1, "sliding": 1, "rolling": 2, "spinning": 4, "sliding and rolling": 3}
"""Colours of states, as indices of the palette; other states take the remaining colours."""
EDGES = 3
"""Largest number of friction coefficients with separate edges; otherwise the abscissa is mu r_N."""
FURTHEST = 1.5
"""Largest distance from the centre of the unit disc at which reactions are drawn [-]."""
OUTSIDE = 1e-6
"""Distance from the cone above which a reaction counts as outside, relative to mu r_N [-]."""
SYMBOLS = {"sliding": ("mu", "r_T"), "rolling": ("mu_R", "r_R"), "torsion": ("mu_S", "r_S")}
UNITS = {"rolling": "N m s", "torsion": "N m s"}


@np.errstate(all="ignore")  # diverged runs are drawn too
def plot_cones(
    source: Trajectory | Answer,
    path: str | Path | None = None,
    *,
    interaction: str | None = None,
    body: str | None = None,
    at: float | None = None,
) -> Figure:
    """Plot reactions in their friction cones, by contact state.

    The left panel shows r_T / (mu r_N) in the unit disc (over contacts or time in 2D), for contacts with any
    mu. The right panel shows |r_T| over r_N with the edge of the cone. Rolling and torsional friction have
    separate panels.

    source: a solution, the content of a file with a stored solution, (problem, r), or a run.
    interaction: for a run of equations, only this interaction; all its records unless `at` is given.
    body: for a world, only the contacts of this body.
    at: time of the drawn record [s]; for a world by default the last record with contacts.
    path: file to write, .svg or .png.
    """
    if isinstance(source, Trajectory):
        check_names(source, interaction=interaction, body=body)
    if isinstance(source, Trajectory) and not source.of_world:
        groups, when, along = of_trajectory(source, interaction, at), at, "t [s]"
        title = title_of(source, "Friction cones", interaction)
    elif isinstance(source, Trajectory):
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
    """The panels of one group of reactions: normalised, and tangential over normal parts."""
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
    """One cloud of points for each contact state."""
    names = sorted(set(state.tolist()), key=lambda name: (COLOURS.get(name, 99), name))
    return [cloud(name, x[state == name], y[state == name], COLOURS.get(name)) for name in names]


def _notes(of: Reactions, open_: int) -> list[str]:
    """Sentences on reactions that are not drawn or outside their cones; open_: number of open contacts."""
    notes = []
    if open_:
        notes.append(f"Not drawn: {open_} contacts without normal force.")
    if of.normal.size:
        over = np.linalg.norm(of.held, axis=1) / (of.mu * of.normal) - 1.0
        outside = over > OUTSIDE
        if outside.any():
            notes.append(
                f"{int(outside.sum())} of {of.normal.size} outside their cone ({of.resists}),"
                f" by up to {100.0 * float(over.max()):.2g} %."
            )
    if of.normal.size > DOTS:
        notes.append("Points that hide each other are drawn once.")
    return notes


def _ends(place: Array) -> Array:
    low, high = (float(place.min()), float(place.max())) if place.size else (0.0, 1.0)
    return np.array([low, high]) if high > low else np.array([low - 0.5, low + 0.5])
