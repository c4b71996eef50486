"""How residuals fell: within a solve over its iterations, or over the steps of a run."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.problem.checks import Array
from stickslip.problem.solution import Solution, Verdict
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.view.plots.choice import Run, title_of
from stickslip.view.plots.curves import finished, guide, history
from stickslip.view.style import ZERO

NAMED = 12
"""Most answers that the legend names."""
WIDE = 20.0
"""Ratio of iterations above which their axis is logarithmic [-]."""
HOW = "Solid: natural. Dashed: natural_scaled. Dotted: tolerance."


@np.errstate(all="ignore")  # a run that blew up is drawn all the same
def plot_residuals(
    source: Run | Solution | Sequence[tuple[str, Solution]], path: str | Path | None = None
) -> Figure:
    """Residuals over the iterations of a solution, of several named ones, or over the time of a run.

    natural and natural_scaled, the tolerance, and of a run the iterations and the records with a step that
    missed its tolerance. A step without anything to solve has no residual: a gap. `path`: draw it there,
    .svg or .png.
    """
    if isinstance(source, Trajectory | WorldTrajectory):
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
        label = name if k < NAMED else f"and {len(named) - NAMED} more"
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
    """NaN and inf leave a gap, an exact zero stands at the foot of the axis."""
    return np.where(np.isfinite(value), np.maximum(value, ZERO), np.nan)


def _wide(solutions: Sequence[Solution]) -> bool:
    """Whether some answers took so many more iterations that the others would be a vertical line."""
    last = [float(solution.history[-1, 0]) for solution in solutions if len(solution.history)]
    return bool(last) and max(last) > WIDE * max(min(last), 1.0) and len(last) > 1
