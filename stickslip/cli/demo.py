"""`stickslip demo`: two hyperstatic problems, solved, certified and compared with what is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stickslip import DEFAULT_SOLVER
from stickslip.cli.errors import ExitCode, InputError, complain, os_sentence, printable
from stickslip.cli.options import make_solver
from stickslip.cli.progress import watch
from stickslip.cli.tables import table

if TYPE_CHECKING:
    from stickslip.problem.contact import GlobalProblem
    from stickslip.problem.solution import Solution

TOLERANCE = 1e-8
"""What both problems are solved to [-]."""

STEP = 1e-3
"""Time step of both scenes; impulses divided by it are forces [s]."""

ANGLE = 25.0
"""Slope under the box [deg]."""

MASS = 1.0
"""Mass of the box [kg]."""

Row = tuple[str, float, float]
"""A resultant: its name, as solved [N], and as known [N]."""


def demo(*, out: Path = Path("out")) -> int:
    """Solve two built-in hyperstatic problems and compare them with what is known.

    A box on a 25 degree incline touches it with four corners, a dry masonry wall
    stands on hundreds of contacts. Their impulses are not unique, the resultants
    are: those of the box are known in closed form, the ground carries the weight
    of the wall. Exit status 1 says that a solve missed its tolerance.

    For example:
      stickslip demo
      stickslip demo --out figures

    Parameters
    ----------
    out
        Directory for convergence.png; made if it is not there.
    """
    from stickslip import scenes

    plot = _prepare(out)
    problems = {
        f"box on a {ANGLE:g} degree incline": scenes.make("incline", angle=ANGLE, mass=MASS, h=STEP),
        "dry masonry wall": scenes.make("wall", h=STEP),
    }
    solver = make_solver(DEFAULT_SOLVER, TOLERANCE, ())
    solved: list[tuple[str, Solution]] = []
    for (name, problem), known in zip(problems.items(), (incline_forces, wall_forces), strict=True):
        with watch(f"{DEFAULT_SOLVER}: {name}") as progress:
            solution = solver.solve(problem, progress=progress)
        print(f"{name}\n{solution}\n")
        _compare(known(problem, solution))
        print()
        solved.append((name, solution))
    _draw(solved, plot)
    for name, solution in solved:
        if not solution.ok:
            complain(f"{name}: missed its tolerance {TOLERANCE:g}: error {solution.residuals.error:.2e}")
    return ExitCode.FINE if all(solution.ok for _, solution in solved) else ExitCode.MISSED


def incline_forces(problem: GlobalProblem, solution: Solution) -> list[Row]:
    """Normal and tangential resultant of the box against m g cos and m g sin, as it sticks."""
    from stickslip.scenes.rigid import GRAVITY

    normal, *tangential = (solution.contact_impulses.sum(axis=0) / STEP).tolist()
    slope, weight = math.radians(ANGLE), MASS * GRAVITY
    return [
        ("normal force", normal, weight * math.cos(slope)),
        ("tangential force", math.hypot(*tangential), weight * math.sin(slope)),
    ]


def wall_forces(problem: GlobalProblem, solution: Solution) -> list[Row]:
    """Normal reaction of the ground against the weight of all blocks."""
    from stickslip.problem.jacobian import ContactBlocks

    assert isinstance(problem.H, ContactBlocks)
    ground = (problem.H.bodies < 0).any(axis=1)
    reaction = float(solution.contact_impulses[ground, 0].sum()) / STEP
    weight = -float(problem.f.reshape(-1, 6)[:, 2].sum()) / STEP
    return [("ground reaction", reaction, weight)]


def _compare(rows: Sequence[Row]) -> None:
    lines = [
        (name, f"{found:.9f} N", f"{known:.9f} N", f"{abs(found - known) / known:.1e}")
        for name, found, known in rows
    ]
    columns = ("resultant", "solved", "known", "relative difference")
    table(columns, lines, numbers=columns[1:])


def _prepare(out: Path) -> Path:
    """The place of the plot, its directory made."""
    from stickslip.cli.places import PLOTS, check_writable

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(os_sentence(error, out)) from None
    plot = out / "convergence.png"
    check_writable(plot, PLOTS)
    return plot


def _draw(solved: list[tuple[str, Solution]], plot: Path) -> None:
    from stickslip.view.plots.residuals import plot_residuals

    try:
        plot_residuals(solved, plot)
    except OSError as error:
        raise InputError(os_sentence(error, plot)) from None
    print(f"wrote {printable(str(plot))}")
