"""One cell of the incline study: a solver on a formulation of the step, and what came of it."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer, pyramid_lcp, reduce_to_contacts
from stickslip.problem.residuals import judge
from stickslip.problem.solution import Solution
from stickslip.solvers import registry
from stickslip.solvers.programs import MissingPackage

TOLERANCE = 1e-12
"""Asked of our own solvers; those of others are asked for what they are held to (`Entry.reach`)."""

LONG = 0.3
"""Solves longer than this are not timed twice [s]."""


@dataclass(frozen=True)
class Model:
    """One formulation of the step, a column of the tables."""

    name: str
    """Name of the column."""
    law: str
    """Whose solution it has: `Coulomb`, `relaxed` or `pyramid`."""
    what: str
    """In a few words."""


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
    Model("contact", "Coulomb", "K* ∋ u + mu |u_T| e_N ⟂ r ∈ K as it stands"),
)

Call = tuple[str, dict[str, Any]]
"""Name of a registered solver and its options."""


@dataclass(frozen=True)
class Row:
    """One solver, and how it is called for each model that it takes."""

    name: str
    """Name of the row; `gams:` stands before solvers inside GAMS."""
    calls: Mapping[str, Call]
    """By name of the model."""

    @property
    def solver(self) -> str:
        """Its name in the registry."""
        return next(iter(self.calls.values()))[0]

    @property
    def why_not(self) -> str:
        """Why it cannot be run here, empty where it can."""
        entry = registry.entry(self.solver)
        return "" if entry.installed else entry.availability


def rows() -> tuple[Row, ...]:
    """Our own solvers first, then those of others, then those inside GAMS."""
    own = [
        name
        for name in registry.names(accepting=["coulomb3d"])
        if registry.entry(name).exact and not registry.entry(name).package and name != "mcp"
    ]
    nt = {"algorithm": "nt-f", "polish": 0, "max_iterations": 400}
    return (
        *(Row(name, {"contact": (name, {})}) for name in own),
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
    calls: dict[str, Call] = {}
    for form in forms:
        calls[f"dual {form}"] = (name, {"law": "relaxed", "form": form, **options})
        calls[f"primal {form}"] = (name, {"formulation": "primal", "law": "exact", "form": form, **options})
    return Row(label, calls)


@dataclass(frozen=True)
class Found:
    """What one solver found on one model."""

    model: str
    """Name of the model."""
    solver: str
    """Name of the row."""
    normal: float = math.nan
    """Normal force on the box [N]."""
    tangential: float = math.nan
    """Friction on the box, up the slope [N]."""
    exact: float = math.nan
    """The judge's error for Coulomb's law [-]."""
    relaxed: float = math.nan
    """The judge's error for the convex relaxation [-]."""
    objective: float = math.nan
    """Value of the program, where the model is one [J]."""
    iterations: int = 0
    """Iterations, counted its own way."""
    seconds: float = math.nan
    """Time of the solve, without compilation [s]."""
    status: str = ""
    """Name of the status, or why the cell was not run."""

    @property
    def ran(self) -> bool:
        """Whether there are numbers."""
        return math.isfinite(self.normal)


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
    tolerance = max(TOLERANCE, registry.entry(name).reach)
    if name != "lemke":
        solution = registry.make(name, tolerance=tolerance, **options).solve(problem)
        return Answer(solution.r, solution.v, solution.lam), solution
    reduction = reduce_to_contacts(problem)
    pyramid = pyramid_lcp(reduction.problem, options["facets"])
    solution = registry.make(name, tolerance=tolerance).solve(pyramid.problem)
    return reduction.recover(pyramid.recover(solution.r).r), solution


def _objective(problem: GlobalProblem, answer: Answer, model: str) -> float:
    """Value of the dual or primal program at the answer [J]."""
    if model.startswith("dual"):
        contact: ContactProblem = reduce_to_contacts(problem).problem
        return float(0.5 * answer.r @ contact.W.apply(answer.r, 2.0 * contact.u_free))
    if model.startswith("primal") and answer.v is not None:
        return float(0.5 * answer.v @ problem.M.multiply(answer.v) - problem.f @ answer.v)
    return math.nan


PRINTED_MODELS = ("dual qcp", "dual nlp", "primal qcp", "primal nlp", "EOM")
"""Columns of the tables of the GAMS post ("Complementarity frictional contact in GAMS", May 2014)."""
PRINTED: dict[str, dict[str, dict[str, list[float | None]]]] = json.loads(
    Path(__file__).with_name("incline_printed.json").read_text(encoding="utf-8")
)
"""Its numbers as printed: by case, normal or tangential, and solver, the forces on the whole box [N]. A cell
that was not run is printed as 0 there and is null here; the support table there says which these are (its
"miles, path: dual nlp YES" has no result)."""
