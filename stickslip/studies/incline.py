"""The box on an inclined plane of a GAMS post of 2014: formulations × solvers, against the printed numbers.

A box of 1 kg on four corner contacts, h = 1e-3 s, mu = 1, on a plane at 0 and at 25 degrees (the data
that give the printed digits), and sliding at 25 degrees with mu = 0.3. The post does not have the last case,
for which the formulations differ: the exact normal force is 9.81 cos 25, that of the convex relaxation is
larger.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.exhibits import Cell, Column, Curve, Figure, Panel, Table
from stickslip.extras import MissingPackage
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer, pyramid_lcp, reduce_to_contacts
from stickslip.problem.residuals import judge
from stickslip.problem.solution import Solution
from stickslip.scenes.rigid import incline
from stickslip.scenes.scenario import GRAVITY
from stickslip.solvers import registry
from stickslip.studies.study import Parts, Progress, Study

NAME = "incline"
SUMMARY = "A box on a slope: formulations × solvers, against the printed tables of 2014."

H = 1e-3
"""Time step [s]."""
NOT_TAKEN = math.nan
"""Cell of a model that a solver does not support, shown as a dash."""
OWN_QUICK = ("auto", "nsgs", "apgd", "ipm nt-f", "mcp", "lemke", "clarabel")
"""Rows of a quick run."""


@dataclass(frozen=True)
class Case:
    """A slope and a friction coefficient."""

    name: str
    """Short name."""
    angle: float
    """Slope [deg]."""
    mu: float
    """Friction coefficient [-]."""

    @property
    def problem(self) -> GlobalProblem:
        """Contact problem of one step of the box."""
        return incline(angle=self.angle, mu=self.mu, h=H)

    @property
    def exact(self) -> tuple[float, float]:
        """Normal and tangential force on the box by Coulomb's law [N]."""
        slope = math.radians(self.angle)
        normal = GRAVITY * math.cos(slope)
        return normal, min(GRAVITY * math.sin(slope), self.mu * normal)

    @property
    def relaxed(self) -> tuple[float, float]:
        """Normal and tangential force by the convex relaxation, where a sliding box lifts at u_N = mu |u_T|
        [N]."""
        slope = math.radians(self.angle)
        if math.tan(slope) <= self.mu:
            return self.exact
        normal = GRAVITY * (math.cos(slope) + self.mu * math.sin(slope)) / (1.0 + self.mu**2)
        return normal, self.mu * normal

    @property
    def title(self) -> str:
        """Heading of tables."""
        return f"{self.name}: {self.angle:g}°, mu = {self.mu:g}"


CASES = (Case("flat", 0.0, 1.0), Case("sticking", 25.0, 1.0), Case("sliding", 25.0, 0.3))
"""Cases of the study; the post has the first two."""

PRINTED_MODELS = ("dual qcp", "dual nlp", "primal qcp", "primal nlp", "EOM")
"""Columns of the tables of the GAMS post ("Complementarity frictional contact in GAMS", May 2014)."""
PRINTED: dict[str, dict[str, dict[str, list[float | None]]]] = json.loads(
    Path(__file__).with_name("incline_printed.json").read_text(encoding="utf-8")
)
"""Numbers as printed there: forces on the whole box by case, normal or tangential, and solver [N]. Cells that
were not run, printed as 0, are null; the support table of the post lists them (its "miles, path: dual nlp
YES" has no result)."""

TOLERANCE = 1e-12
"""Tolerance of the built-in solvers [-]; for external solvers it is `Entry.reach` if that is larger."""

LONG = 0.3
"""Time of a solve above which it is not repeated for timing [s]; heuristic."""


@dataclass(frozen=True)
class Model:
    """A formulation of the step, a column of the tables."""

    name: str
    """Name of the column."""
    law: str
    """Friction law of its solution: `Coulomb`, `relaxed` or `pyramid`."""
    summary: str
    """Short description."""


MODELS = (
    Model("dual qcp", "relaxed", "min ½ r'W r + u_free'r with r in the cones"),
    Model("dual nlp", "relaxed", "the same, the cones as nonlinear constraints"),
    Model("dual + s", "Coulomb", "the dual, u_N raised by s = mu |u_T| in an outer loop"),
    Model("primal qcp", "Coulomb", "min ½ v'M v - f'v with u + mu s e_N in the dual cones, outer loop on s"),
    Model("primal nlp", "Coulomb", "the same, the cones as nonlinear constraints"),
    Model("primal alone", "relaxed", "the primal with s = 0"),
    Model("EOM", "Coulomb", "equations of motion as a mixed complementarity problem"),
    Model("pyramid 4", "pyramid", "linear complementarity problem, 4 facets"),
    Model("pyramid 8", "pyramid", "linear complementarity problem, 8 facets"),
    Model("contact", "Coulomb", "K* ∋ u + mu |u_T| e_N ⟂ r ∈ K without reformulation"),
)
"""Formulations, in the order of columns."""

Call = tuple[str, dict[str, Any]]
"""Name of a registered solver and its options."""


@dataclass(frozen=True)
class Row:
    """A solver and its call for each model that it supports."""

    name: str
    """Name of the row; solvers inside GAMS have the prefix `gams:`."""
    calls: Mapping[str, Call]
    """Calls by name of the model."""

    @property
    def solver(self) -> str:
        """Name of the solver in the registry."""
        return next(iter(self.calls.values()))[0]

    @property
    def why_not(self) -> str:
        """Reason why it cannot run here; empty if it can."""
        entry = registry.entry(self.solver)
        return "" if entry.installed else entry.availability


def rows() -> tuple[Row, ...]:
    """Return all rows: built-in solvers first, then external ones, then those inside GAMS."""
    names = [
        name
        for name in registry.names(accepting=["coulomb3d"])
        if registry.entry(name).exact and not registry.entry(name).package and name != "mcp"
    ]
    nt = {"algorithm": "nt-f", "polish": 0, "max_iterations": 400}
    return (
        *(Row(name, {"contact": (name, {})}) for name in names),
        Row("apgd", {"dual qcp": ("apgd", {})}),
        Row("bb", {"dual qcp": ("bb", {})}),
        Row(
            "ipm nt-f",
            {
                "primal alone": ("ipm", {**nt, "law": "relaxed"}),
                "primal qcp": ("ipm", {**nt, "law": "outer"}),
            },
        ),
        Row("mcp", {"EOM": ("mcp", {})}),
        Row("lemke", {f"pyramid {m}": ("lemke", {"facets": m}) for m in (4, 8)}),
        *(_conic(name) for name in ("clarabel", "scs", "qoco", "ecos", "gurobi", "mosek")),
        _smooth("ipopt", "ipopt", ("qcp", "nlp")),
        *(
            Row(name, {f"pyramid {m}": (name, {"facets": m, "law": "exact"}) for m in (4, 8)})
            for name in ("piqp", "proxqp")
        ),
        *(
            _smooth(f"gams:{solver}", "gams", forms, engine=solver.upper())
            for solver, forms in (
                ("conopt", ("qcp", "nlp")),
                ("cplex", ("qcp",)),
                ("gurobi", ("qcp",)),
                ("ipopt", ("qcp", "nlp")),
                ("minos", ("qcp", "nlp")),
                ("knitro", ("qcp", "nlp")),
                ("lindo", ("qcp",)),
                ("pathnlp", ("nlp",)),
            )
        ),
        *(
            Row(f"gams:{solver}", {"EOM": ("gams", {"formulation": "motion", "engine": solver.upper()})})
            for solver in ("miles", "path")
        ),
    )


def _conic(name: str) -> Row:
    """Return the row of a conic solver."""
    return Row(
        name,
        {
            "dual qcp": (name, {"law": "relaxed"}),
            "dual + s": (name, {"law": "exact"}),
            "primal qcp": (name, {"formulation": "primal", "law": "exact"}),
            "primal alone": (name, {"formulation": "primal", "law": "relaxed"}),
        },
    )


def _smooth(label: str, name: str, forms: tuple[str, ...], **options: Any) -> Row:
    """Return the row of a solver of nonlinear programs with cones in the given forms."""
    calls: dict[str, Call] = {}
    for form in forms:
        calls[f"dual {form}"] = (name, {"law": "relaxed", "form": form, **options})
        calls[f"primal {form}"] = (name, {"formulation": "primal", "law": "exact", "form": form, **options})
    return Row(label, calls)


@dataclass(frozen=True)
class Found:
    """Result of a solver on a model."""

    model: str
    """Name of the model."""
    solver: str
    """Name of the row."""
    normal: float = math.nan
    """Normal force on the box [N]."""
    tangential: float = math.nan
    """Friction on the box, up the slope [N]."""
    exact: float = math.nan
    """Error of the judge for Coulomb's law [-]."""
    relaxed: float = math.nan
    """Error of the judge for the convex relaxation [-]."""
    objective: float = math.nan
    """Value of the program, if the model is one [J]."""
    iterations: int = 0
    """Iterations as the solver counts them."""
    seconds: float = math.nan
    """Time of the solve, without compilation [s]."""
    status: str = ""
    """Name of the status, or the reason why the cell was not run."""

    @property
    def ran(self) -> bool:
        """Whether the cell was run."""
        return math.isfinite(self.normal)


Cells = dict[tuple[str, str, str], Found]
"""Results by case, row and model."""


def find(problem: GlobalProblem, h: float, row: Row, model: str) -> Found:
    """Solve `problem` in the form `model` by the solver of `row`; forces are impulses over h [s]."""
    name, options = row.calls[model]
    reason = row.why_not
    if reason:
        return Found(model, row.name, status=reason)
    try:
        answer, solution = _solve(problem, name, dict(options))
        again = solution if solution.seconds > LONG else _solve(problem, name, dict(options))[1]
    except MissingPackage as missing:
        return Found(model, row.name, status=str(missing))
    force = problem.K.rows(answer.r).sum(axis=0) / h
    errors = [judge(problem, answer.r, answer.v, answer.lam, relaxed=relaxed) for relaxed in (False, True)]
    return Found(
        model, row.name, float(force[0]), 0.0 - float(force[1]), errors[0].error, errors[1].error,
        _objective(problem, answer, model), solution.iterations, min(solution.seconds, again.seconds),
        solution.status.name,
    )  # fmt: skip


def _solve(problem: GlobalProblem, name: str, options: dict[str, Any]) -> tuple[Answer, Solution]:
    """Solve the problem, with `lemke` as the LCP of a pyramid; return the answer in the problem's
    variables."""
    tolerance = max(TOLERANCE, registry.entry(name).reach)
    if name != "lemke":
        solution = registry.make(name, tolerance=tolerance, **options).solve(problem)
        return Answer(solution.r, solution.v, solution.lam), solution
    reduction = reduce_to_contacts(problem)
    pyramid = pyramid_lcp(reduction.problem, options["facets"])
    solution = registry.make(name, tolerance=tolerance).solve(pyramid.problem)
    return reduction.recover(pyramid.recover(solution.r).r), solution


def _objective(problem: GlobalProblem, answer: Answer, model: str) -> float:
    """Return the value of the dual or primal program at the answer [J]."""
    if model.startswith("dual"):
        contact: ContactProblem = reduce_to_contacts(problem).problem
        return float(0.5 * answer.r @ contact.W.apply(answer.r, 2.0 * contact.u_free))
    if model.startswith("primal") and answer.v is not None:
        return float(0.5 * answer.v @ problem.M.multiply(answer.v) - problem.f @ answer.v)
    return math.nan


def run(quick: bool = False, progress: Progress | None = None) -> Study:
    """Run every solver on every formulation that it supports; `quick` runs the rows `OWN_QUICK`."""
    chosen = rows()
    if quick:
        chosen = tuple(row for row in chosen if row.name in OWN_QUICK)
    parts = [(case, row, model.name) for case in CASES for row in chosen for model in MODELS]
    cells: dict[tuple[str, str, str], Found] = {}
    report = Parts(progress, len(parts))
    for case, row, model in parts:
        report(f"{case.name}: {row.name}, {model}")
        if model in row.calls:
            cells[case.name, row.name, model] = find(case.problem, H, row, model)
    report.end()
    tables = [
        Table(
            "Formulations",
            ["model", "law", "formulation"],
            [[model.name, model.law, model.summary] for model in MODELS],
            "Coulomb's law and its relaxation agree where nothing slides; the pyramid is exact along the"
            " directions of its facets, of which the slope is one.",
        )
    ]
    for case in CASES:
        tables += [_forces(case, chosen, cells, component) for component in (0, 1)]
    tables += [_support(chosen, cells), _everything(cells)]
    return Study(NAME, tables, {"laws": _laws(quick)})


def _forces(case: Case, rows: tuple[Row, ...], cells: Cells, component: int) -> Table:
    """Return the table of normal (0) or tangential (1) forces: closed form, results, and printed values."""
    names = [model.name for model in MODELS]
    of_law = {"Coulomb": case.exact, "pyramid": case.exact, "relaxed": case.relaxed}
    lines: list[list[Cell]] = [
        ["closed form", *(of_law[model.law][component] for model in MODELS)],
    ]
    for row in rows:
        line: list[Cell] = [row.name]
        for name in names:
            cell = cells.get((case.name, row.name, name))
            if cell is None:
                line.append(NOT_TAKEN)
            elif cell.ran:
                line.append(cell.normal if component == 0 else cell.tangential)
            else:
                line.append(None)
        lines.append(line)
    direction = ("normal", "tangential")[component]
    for solver, values in PRINTED.get(case.name, {}).get(direction, {}).items():
        by_name = dict(zip(PRINTED_MODELS, values, strict=True))
        lines.append([f"printed: {solver}", *(by_name.get(name, NOT_TAKEN) for name in names)])
    return Table(
        f"{direction.capitalize()} force [N], {case.title}",
        ["solver", *(Column(name, ".10g") for name in names)],
        lines,
        'A dash: the solver lacks this model. Printed: "Complementarity frictional contact in GAMS",'
        " May 2014, whose load is off by up to 3e-6 N.",
    )


def _support(rows: tuple[Row, ...], cells: Cells) -> Table:
    """Return the table of the models that each solver supports, and whether it ran."""
    lines: list[list[Cell]] = []
    for row in rows:
        line: list[Cell] = [row.name]
        for model in MODELS:
            cell = cells.get((CASES[-1].name, row.name, model.name))
            line.append("–" if cell is None else "yes" if cell.ran else "not run")
        reasons = [cell.status for (_, name, _), cell in cells.items() if name == row.name and not cell.ran]
        lines.append([*line, row.why_not or next(iter(reasons), "")])
    return Table(
        "Support: models that each solver supports",
        ["solver", *(model.name for model in MODELS), "reason if not run"],
        lines,
    )


def _everything(cells: Cells) -> Table:
    """Return the table of all results."""
    lines: list[list[Cell]] = []
    for (case, _, _), cell in cells.items():
        if not cell.ran:
            lines.append([case, cell.model, cell.solver, *[None] * 8, "not run"])
            continue
        exact = next(each.exact for each in CASES if each.name == case)
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
        "Errors are those of the judge on the contact problem; a solver of the relaxation has the status"
        " RELAXED where the box slides. Times without compilation, the shorter of two.",
    )  # fmt: skip


def _laws(quick: bool) -> Figure:
    """Return the figure of normal force and opening velocity of a sliding box over the slope, by both
    laws."""
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
            ("Opening velocity of the contacts", "u_N / (g h) [-]", 0.0 * slopes, opening / (GRAVITY * H)),
        )
    ]  # fmt: skip
    return Figure(f"A box on a slope, mu = {mu:g}: it slides above {bound:.1f}°", panels)
