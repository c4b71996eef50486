"""The box on an inclined plane of a GAMS post of 2014: formulations × solvers, beside its printed numbers.

A box of 1 kg on four corner contacts, h = 1e-3 s, mu = 1, on a plane at 0 and at 25 degrees (the data
that give the printed digits), and sliding at 25 degrees with mu = 0.3, which the post lacks and where the
formulations part: the exact normal force is 9.81 cos 25, that of the convex relaxation is larger.
"""

import math
from dataclasses import dataclass

import numpy as np

from stickslip.exhibits import Cell, Column, Curve, Figure, Panel, Table
from stickslip.problem.contact import GlobalProblem
from stickslip.scenes.incline import incline
from stickslip.scenes.rigid import GRAVITY
from stickslip.solvers import registry
from stickslip.studies import incline_cells
from stickslip.studies.incline_cells import Found, Row
from stickslip.studies.study import Parts, Progress, Study

NAME = "incline"
SUMMARY = "A box on a slope: formulations × solvers, beside the printed tables of 2014."

H = 1e-3
"""Time step [s]."""
NOT_TAKEN = math.nan
"""A model that a solver does not take; shown as a dash."""
OWN_QUICK = ("auto", "nsgs", "apgd", "ipm nt-f", "mcp", "lemke", "clarabel")
"""Rows of a quick run."""

Cells = dict[tuple[str, str, str], Found]
"""By case, row and model."""


@dataclass(frozen=True)
class Case:
    """One plane."""

    name: str
    """Short name."""
    angle: float
    """Slope [deg]."""
    mu: float
    """Friction coefficient [-]."""

    @property
    def problem(self) -> GlobalProblem:
        """One step of the box on it."""
        return incline(angle=self.angle, mu=self.mu, h=H)

    @property
    def exact(self) -> tuple[float, float]:
        """Normal and tangential force on the box by Coulomb's law [N]."""
        slope = math.radians(self.angle)
        normal = GRAVITY * math.cos(slope)
        return normal, min(GRAVITY * math.sin(slope), self.mu * normal)

    @property
    def relaxed(self) -> tuple[float, float]:
        """The same by the convex relaxation, under which a sliding box lifts off at u_N = mu |u_T| [N]."""
        slope = math.radians(self.angle)
        if math.tan(slope) <= self.mu:
            return self.exact
        normal = GRAVITY * (math.cos(slope) + self.mu * math.sin(slope)) / (1.0 + self.mu**2)
        return normal, self.mu * normal

    @property
    def title(self) -> str:
        """What it is, for a heading."""
        return f"{self.name}: {self.angle:g}°, mu = {self.mu:g}"


CASES = (Case("flat", 0.0, 1.0), Case("sticking", 25.0, 1.0), Case("sliding", 25.0, 0.3))


def run(quick: bool = False, progress: Progress | None = None) -> Study:
    """Every solver on every formulation that it takes; `quick` leaves out the solvers of others."""
    models, rows = incline_cells.MODELS, incline_cells.rows()
    if quick:
        rows = tuple(row for row in rows if row.name in OWN_QUICK)
    wanted = [(case, row, model.name) for case in CASES for row in rows for model in models]
    found: dict[tuple[str, str, str], Found] = {}
    tell = Parts(progress, len(wanted))
    for case, row, model in wanted:
        tell(f"{case.name}: {row.name}, {model}")
        if model in row.calls:
            found[case.name, row.name, model] = incline_cells.find(case.problem, H, row, model)
    tell.end()
    tables = [
        Table(
            "Formulations",
            ["model", "solves", "what it is"],
            [[model.name, model.law, model.what] for model in models],
            "Coulomb's law and its relaxation agree where nothing slides; the pyramid is exact along its"
            " facets' directions, and the slope is one.",
        )
    ]
    for case in CASES:
        tables += [_forces(case, rows, found, which) for which in (0, 1)]
    tables += [_support(rows, found), _everything(found)]
    return Study(NAME, tables, {"laws": _laws(quick)})


def _forces(case: Case, rows: tuple[Row, ...], found: Cells, which: int) -> Table:
    """Normal (0) or tangential (1) force, solver by formulation, with what is exact and what was printed."""
    names = [model.name for model in incline_cells.MODELS]
    of_law = {"Coulomb": case.exact, "pyramid": case.exact, "relaxed": case.relaxed}
    lines: list[list[Cell]] = [
        ["closed form", *(of_law[model.law][which] for model in incline_cells.MODELS)],
    ]
    for row in rows:
        line: list[Cell] = [row.name]
        for name in names:
            cell = found.get((case.name, row.name, name))
            if cell is None:
                line.append(NOT_TAKEN)
            elif cell.ran:
                line.append(cell.normal if which == 0 else cell.tangential)
            else:
                line.append(None)
        lines.append(line)
    what = ("normal", "tangential")[which]
    for solver, values in incline_cells.PRINTED.get(case.name, {}).get(what, {}).items():
        by_name = dict(zip(incline_cells.PRINTED_MODELS, values, strict=True))
        lines.append([f"printed: {solver}", *(by_name.get(name, NOT_TAKEN) for name in names)])
    return Table(
        f"{what.capitalize()} force [N], {case.title}",
        ["solver", *(Column(name, ".10g") for name in names)],
        lines,
        'A dash: the solver does not take this model. Printed: "Complementarity frictional contact in GAMS",'
        " May 2014, whose load is off by up to 3e-6 N.",
    )


def _support(rows: tuple[Row, ...], found: Cells) -> Table:
    """Which solver takes which model, and which of them ran."""
    lines: list[list[Cell]] = []
    for row in rows:
        line: list[Cell] = [row.name]
        for model in incline_cells.MODELS:
            cell = found.get((CASES[-1].name, row.name, model.name))
            line.append("–" if cell is None else "yes" if cell.ran else "not run")
        reasons = [cell.status for (_, name, _), cell in found.items() if name == row.name and not cell.ran]
        lines.append([*line, row.why_not or next(iter(reasons), "")])
    return Table(
        "Support: which solver takes which model",
        ["solver", *(model.name for model in incline_cells.MODELS), "why not run"],
        lines,
    )


def _everything(found: Cells) -> Table:
    lines: list[list[Cell]] = []
    for (case, _, _), cell in found.items():
        if not cell.ran:
            lines.append([case, cell.model, cell.solver, *[None] * 8, "not run"])
            continue
        exact = next(one.exact for one in CASES if one.name == case)
        lines.append(
            [
                case, cell.model, cell.solver, cell.normal, cell.tangential,
                abs(cell.normal - exact[0]), cell.exact, cell.relaxed, cell.objective,
                cell.iterations, 1e3 * cell.seconds, cell.status,
            ]
        )  # fmt: skip
    return Table(
        "Every cell",
        [
            "case", "model", "solver", Column("N [N]", ".10g"), Column("T [N]", ".10g"),
            Column("|N - exact| [N]", ".1e"), Column("error, Coulomb", ".1e"),
            Column("error, relaxed", ".1e"), Column("objective [J]", ".10g"), "iterations",
            Column("time [ms]", ".3g"), "status",
        ],
        lines,
        "Errors are the judge's, on the contact problem as given; a solver of the relaxation that solves it"
        " is RELAXED where the box slides. Times without compilation, the better of two.",
    )  # fmt: skip


def _laws(quick: bool) -> Figure:
    """What the relaxation does to a sliding box: force and opening velocity against the slope."""
    mu = 0.3
    slopes = np.linspace(0.0, 45.0, 10 if quick else 46)
    exact, relaxed, opening = (np.empty(slopes.size) for _ in range(3))
    for k, angle in enumerate(slopes):
        case = Case("", float(angle), mu)
        for name, out in (("auto", exact), ("apgd", relaxed)):
            solution = registry.make(name, tolerance=1e-10).solve(case.problem)
            out[k] = solution.contact_impulses[:, 0].sum() / H
            if name == "apgd":
                opening[k] = solution.contact_velocities[:, 0].mean()
    bound = math.degrees(math.atan(mu))
    panels = [
        Panel(
            title, "slope [deg]", label,
            [Curve("Coulomb's law", slopes, by_law), Curve("convex relaxation", slopes, by_relaxation, "--")],
        )
        for title, label, by_law, by_relaxation in (
            ("Normal force", "N [N]", exact, relaxed),
            ("Velocity at which the contacts open", "u_N / (g h) [-]", 0.0 * slopes, opening / (GRAVITY * H)),
        )
    ]  # fmt: skip
    return Figure(f"A box on a slope, mu = {mu:g}: it slides above {bound:.1f}°", panels)
