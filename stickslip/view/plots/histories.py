"""Plots over the time of a run: energies, gaps and impulses of contacts, residuals; and residuals of a solve
over its iterations."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.names import LISTED, listing
from stickslip.problem.checks import Array
from stickslip.problem.solution import Solution, Verdict
from stickslip.simulation.model import InteractionPart
from stickslip.simulation.trajectory import Trajectory
from stickslip.view.plots import choice
from stickslip.view.plots.choice import NAMED, PlotError, Run, check_names, title_of
from stickslip.view.plots.curves import finished, guide, history
from stickslip.view.style import ZERO

Drawn = list[tuple[str, Array]]
"""Names of curves and their values at all records."""


@np.errstate(all="ignore")  # diverged runs are drawn too
def plot_energy(trajectory: Run, path: str | Path | None = None) -> Figure:
    """Plot kinetic, potential and total energy, dissipation, work, and the error of the energy balance.

    Unknown values (NaN) are gaps, which the note mentions. path: file to write, .svg or .png.
    """
    run, notes = trajectory, list[str]()
    drawn = [("kinetic", run.kinetic), ("potential", run.potential), ("total", run.energy)]
    balance = ""
    if not run.of_world:
        moving = [part for part in run.model.systems if not part.first_order]
        if not moving:
            names = listing((part.name for part in run.model.systems), LISTED)
            raise PlotError(f"no energies: every system is of first order ({names})")
        hidden = [part.name for part in moving if not part.potential_known]
        if hidden:
            notes.append(f"Without the unknown potential energy of {listing(hidden, LISTED)}.")
        if run.model.interactions:
            balance, label, work = "total + taken out - start", "difference [J]", run.contact_work
            drawn.append(("taken out by contacts", -work))
            error = run.energy - run.energy[0] - (work - work[0])
            notes.append("The balance is zero except for forces without a potential, dampers and errors.")
    else:
        drawn.append(("dissipated", run.dissipated))
        drawn += [(name, y) for name, y in (("work", run.work), ("lifted", run.lifted)) if np.any(y)]
        balance, label, error = "balance error", "error [J]", run.balance
    curves = [history(name, run.t, y, "--" if name == "total" else "-") for name, y in drawn]
    panels = [Panel("Energies", "t [s]", "energy [J]", curves)]
    if balance:
        panels.append(Panel("Balance", "t [s]", label, [history(balance, run.t, error)]))
    gaps = list(dict.fromkeys(c.name for panel in panels for c in panel.curves if np.isnan(c.y).any()))
    if gaps:
        notes.append(f"Unknown values are gaps: {', '.join(gaps)}.")
    return finished(Figure(title_of(run, "Energy"), panels, across=1), path, *notes)


NO_GAP = "No penetration: a gap in the curve."
ROUNDING = 1e-12
"""Penetrations below this are treated as rounding errors, relative to the deepest [-]."""


@np.errstate(all="ignore")  # diverged runs are drawn too
def plot_gaps(
    trajectory: Run,
    path: str | Path | None = None,
    *,
    interaction: str | None = None,
    body: str | None = None,
    log: bool = False,
) -> Figure:
    """Plot the gaps of contacts over time.

    interaction: for a run of equations, only this interaction.
    body: for a world, only the contacts of this body, by the other body; without it the smallest gap, the
        deepest penetration and the number of contacts of the whole world.
    log: draw penetrations on a logarithmic axis in place of gaps.
    path: file to write, .svg or .png.
    """
    check_names(trajectory, interaction=interaction, body=body)
    if not trajectory.of_world:
        figure = _gaps_of_interactions(trajectory, interaction, log)
    else:
        figure = _gaps_of_world(trajectory, log) if body is None else _gaps_of_body(trajectory, body, log)
    return finished(figure, path, NO_GAP if log else "")


def _gaps_of_interactions(run: Trajectory, name: str | None, log: bool) -> Figure:
    places = choice.interactions(run, name, contacts=True)
    if not places:
        names = listing((part.name for part in run.model.interactions), LISTED)
        raise PlotError(f"no unilateral contact; name an interaction to see its outputs: {names}")
    unit = "y" if any(part.first_order for part, _ in places) else "gap [m]"
    gaps: Drawn = []
    for part, components in places:
        y, is_drawn = run.y[:, components], choice.is_contact(part) | ~choice.is_contact(part).any()
        gaps += [
            (block[0], y[:, block[2]]) for block, drawn in zip(_blocks(part), is_drawn, strict=True) if drawn
        ]
    note = ""
    if len(gaps) > NAMED:
        note = f"The smallest of {len(gaps)} gaps at each time."
        gaps = [("least gap", np.min([gap for _, gap in gaps], axis=0))]
    return Figure(title_of(run, "Gaps", name), [_gap_panel(run.t, gaps, log, unit)], across=1, note=note)


def _blocks(part: InteractionPart) -> Iterator[tuple[str, tuple[int, ...], int, int]]:
    """Yield for each block of an interaction its name (that of the interaction if it is the only block), the
    sizes of its friction groups, and the range of its components, first and end."""
    for i in range(len(part.K)):
        label = part.name if len(part.K) == 1 else f"{part.name} {i}"
        yield label, part.K.groups(i), int(part.K.offset[i]), int(part.K.offset[i + 1])


def _gaps_of_world(run: Trajectory, log: bool) -> Figure:
    n, contacts = len(run), run.contacts
    least = np.full(n, np.inf)
    np.minimum.at(least, contacts.record, contacts.gap)
    least = np.where(np.isinf(least), np.nan, least)
    if log:
        curves = [history("deepest penetration", run.t, _logged(run.penetration))]
    else:
        deepest = np.where(run.penetration > 0.0, -run.penetration, 0.0)
        curves = [history("least gap", run.t, least), history("deepest penetration", run.t, deepest, "--")]
    pressed = np.bincount(contacts.record[contacts.r[:, 0] > 0.0], minlength=n)
    count = [history("contacts", run.t, np.diff(contacts.offset)), history("with an impulse", run.t, pressed)]
    label = "penetration [m]" if log else "gap [m]"
    panels = [
        Panel("Penetration" if log else "Gaps", "t [s]", label, curves, log_y=log),
        Panel("Contacts", "t [s]", "number", count),
    ]
    note = "Gaps of the recorded steps; penetration, as a negative gap, is the deepest at the end of a step."
    return Figure(title_of(run, "Contacts"), panels, across=1, note="" if log else note)


def _gaps_of_body(run: Trajectory, body: str, log: bool) -> Figure:
    pairs = choice.Pairs.of(run, body)
    gaps = list(pairs.over_time(len(run), run.raw_contacts.gap[pairs.rows], least=True))
    note = "" if log else "Smallest gap to each body; without a contact a gap in the curve."
    return Figure(title_of(run, "Gaps", body), [_gap_panel(run.t, gaps, log)], across=1, note=note)


def _gap_panel(t: Array, gaps: Drawn, log: bool, unit: str = "gap [m]") -> Panel:
    curves = [] if log else [guide("zero", t[[0, -1]], [0.0, 0.0])]
    curves += [history(name, t, _logged(-gap) if log else gap) for name, gap in gaps]
    return Panel("", "t [s]", "penetration [m]" if log else unit, curves, log_y=log)


def _logged(penetration: Array) -> Array:
    """Penetrations for a logarithmic axis: NaN without penetration or for rounding errors."""
    least = ROUNDING * float(np.max(penetration, initial=0.0, where=np.isfinite(penetration)))
    return np.where(penetration > least, penetration, np.nan)


@np.errstate(all="ignore")  # diverged runs are drawn too
def plot_impulses(
    trajectory: Run,
    path: str | Path | None = None,
    *,
    interaction: str | None = None,
    body: str | None = None,
    forces: bool = False,
) -> Figure:
    """Plot normal and tangential impulses over time, by interaction or by pair of bodies.

    For equations these are impulses since the previous record (multipliers lam in first order). For worlds
    they are the impulses of the last step of each record, summed over contacts; without `body` over all
    contacts.

    interaction: for a run of equations, only this interaction.
    body: for a world, only the contacts of this body, by the other body.
    forces: divide by the time interval: mean forces in place of impulses.
    path: file to write, .svg or .png.
    """
    check_names(trajectory, interaction=interaction, body=body)
    if not trajectory.of_world:
        figure = _impulses_of_interactions(trajectory, interaction, forces)
    else:
        figure = _impulses_of_world(trajectory, body, forces)
    return finished(figure, path)


def _impulses_of_interactions(run: Trajectory, name: str | None, forces: bool) -> Figure:
    places = choice.interactions(run, name, contacts=False)
    if not places:
        raise PlotError("no impulses: the run has no interaction")
    values = all(part.first_order for part, _ in places)
    if name is None and not values:
        places = [place for place in places if not place[0].first_order]
    span = np.concatenate([[np.inf], np.diff(run.t)])
    span = np.where(span > 0.0, span, np.inf)
    normal: Drawn = []
    tangential: Drawn = []
    for part, components in places:
        r = run.r[:, components]
        if forces and not part.first_order:
            r = r / span[:, None]
        for label, groups, a, b in _blocks(part):
            normal.append((label, r[:, a] if groups or b == a + 1 else np.linalg.norm(r[:, a:b], axis=1)))
            if groups:
                sliding = r[:, a + 1 : a + 1 + groups[0]]
                signed = sliding[:, 0] if groups[0] == 1 else np.linalg.norm(sliding, axis=1)
                tangential.append((label, signed))
    note = "" if forces or values else "Impulses since the previous record."
    if len(normal) > NAMED:
        note = f"{note} Sums over {len(normal)} contacts.".strip()
        normal = [("sum", np.sum([r for _, r in normal], axis=0))]
        tangential = [("sum", np.sum([np.abs(r) for _, r in tangential], axis=0))] if tangential else []
    label = "lam" if values else _label(forces)
    panels = [_panel("Normal" if tangential else "", label, run, normal)]
    if tangential:
        panels.append(_panel("Tangential", label, run, tangential))
    quantity = "Multipliers" if values else "Forces" if forces else "Impulses"
    return Figure(title_of(run, quantity, name), panels, across=1, note=note)


def _impulses_of_world(run: Trajectory, body: str | None, forces: bool) -> Figure:
    n, contacts = len(run), run.contacts
    if not len(contacts):
        raise PlotError(
            f"no impulses: no contact in the records of this run; bodies: {listing(run.model.names, LISTED)}"
        )
    r = contacts.r / np.where(run.h > 0.0, run.h, 1.0)[contacts.record][:, None] if forces else contacts.r
    across = np.linalg.norm(r[:, 1:3], axis=1)
    if body is None:
        sums, largest = np.zeros((2, n)), np.zeros(n)
        np.add.at(sums[0], contacts.record, r[:, 0])
        np.add.at(sums[1], contacts.record, across)
        np.maximum.at(largest, contacts.record, r[:, 0])
        normal: Drawn = [("all contacts", sums[0]), ("largest", largest)]
        tangential: Drawn = [("all contacts", sums[1])]
    else:
        pairs = choice.Pairs.of(run, body)
        normal, tangential = (
            list(pairs.over_time(n, values[pairs.rows], least=False)) for values in (r[:, 0], across)
        )
    label = _label(forces)
    panels = [_panel("Normal", label, run, normal), _panel("Tangential", label, run, tangential)]
    note = "Sums of sizes over contacts, in the last step of each record."
    return Figure(title_of(run, "Forces" if forces else "Impulses", body), panels, across=1, note=note)


def _panel(title: str, label: str, run: Run, drawn: Drawn) -> Panel:
    return Panel(title, "t [s]", label, [history(name, run.t, y) for name, y in drawn])


def _label(forces: bool) -> str:
    return "force [N]" if forces else "impulse [N s]"


ANSWERS = 12
"""Largest number of solutions named in the legend."""
WIDE = 20.0
"""Ratio of the numbers of iterations above which their axis is logarithmic [-]."""
HOW = "Solid: natural. Dashed: natural_scaled. Dotted: tolerance."


@np.errstate(all="ignore")  # diverged runs are drawn too
def plot_residuals(
    source: Run | Solution | Sequence[tuple[str, Solution]], path: str | Path | None = None
) -> Figure:
    """Plot residuals over the iterations of one or several named solutions, or over the time of a run.

    Shows natural, natural_scaled and the tolerance; for a run also the iterations and the records with steps
    that missed the tolerance. Steps without a contact problem have no residual, which is a gap. path: file to
    write, .svg or .png.
    """
    if isinstance(source, Trajectory):
        return finished(_of_run(source), path)
    named = [("", source)] if isinstance(source, Solution) else list(source)
    return finished(_of_solutions(named), path)


def _of_run(run: Run) -> Figure:
    t, worst = run.t, np.fmax(run.natural, run.natural_scaled)
    curves = [
        history(name, t, np.where(value > 0.0, value, np.nan))
        for name, value in (("natural", run.natural), ("natural_scaled", run.natural_scaled))
    ]
    curves.append(guide("tolerance", t[[0, -1]], [run.tolerance, run.tolerance], ":"))
    missed = run.verdicts == Verdict.MISSED.code
    if missed.any():
        at = np.where(np.isfinite(worst[missed]) & (worst[missed] > 0.0), worst[missed], run.tolerance)
        points = history("missed", t[missed], at)
        curves.append(Curve("missed", points.x, points.y, "x", colour=6))
    panels = [
        Panel("Residuals", "t [s]", "residual [-]", curves, log_y=True),
        Panel("Iterations", "t [s]", "iterations", [history("iterations", t, run.iterations)]),
    ]
    note = f"Relaxed, {run.relaxation}: the residuals certify nothing." if run.relaxed else ""
    if not (worst > 0.0).any():
        note = f"{note} All residuals are zero, which a logarithm does not show.".strip()
    return Figure(title_of(run, "Residuals"), panels, across=1, note=note)


def _of_solutions(named: Sequence[tuple[str, Solution]]) -> Figure:
    wide = _wide([solution for _, solution in named])
    curves: list[Curve] = []
    alone = len(named) == 1
    last = 1.0
    for k, (name, solution) in enumerate(named):
        table = np.asarray(solution.history, float).reshape(-1, 3)
        x = table[:, 0] + float(wide)
        last = max(last, float(np.nanmax(x, initial=last)))
        label = name if k < ANSWERS else f"and {len(named) - ANSWERS} more"
        labels = ("natural", "natural_scaled") if alone else (label, label)
        curves.append(history(labels[0], x, _positive(table[:, 1])))
        curves.append(history(labels[1], x, _positive(table[:, 2]), "--"))
    for tolerance in sorted({solution.tolerance for _, solution in named}):
        curves.append(guide("tolerance", [float(wide), last], [tolerance, tolerance], ":"))
    label = "1 + iterations" if wide else "iterations"
    title = named[0][0] if alone else f"{len(named)} answers"
    panel = Panel("", label, "residual [-]", curves, log_x=wide, log_y=True)
    return Figure(f"Residuals{': ' if title else ''}{title}", [panel], note="" if alone else HOW)


def _positive(value: Array) -> Array:
    """Values for a logarithmic axis: non-finite values are gaps, zeros are drawn at the bottom."""
    return np.where(np.isfinite(value), np.maximum(value, ZERO), np.nan)


def _wide(solutions: Sequence[Solution]) -> bool:
    """Whether the numbers of iterations differ so much that a logarithmic axis is needed."""
    last = [float(solution.history[-1, 0]) for solution in solutions if len(solution.history)]
    return bool(last) and max(last) > WIDE * max(min(last), 1.0) and len(last) > 1
