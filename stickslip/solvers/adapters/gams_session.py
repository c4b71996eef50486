"""GAMS through gamspy: sessions, options of each of its solvers, and their status.

The demo licence of gamspy permits 1,000 rows and columns of a nonlinear model. Solvers that are not part of
gamspy come with `gamspy install solver NAME`, which enters them in gamspy's own list: pip alone does not.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from stickslip.extras import MissingPackage
from stickslip.problem.checks import Array
from stickslip.problem.solution import Status
from stickslip.solvers.programs import needed

SOLVED = ("OptimalGlobal", "OptimalLocal", "Solved", "SolvedUnique", "SolvedSingular")
"""Model statuses of a solution. InfeasibleLocal does not prove infeasibility: the cones as GAMS sees them are
not convex, and a local solver may stop at a point that only appears infeasible."""

INFEASIBLE = ("Unbounded", "UnboundedNoSolution", "InfeasibleGlobal", "InfeasibleNoSolution")
"""Model statuses of infeasible and unbounded models."""


SILENT = ("NotSolved", "LicenseError", "ErrorUnknown", "ErrorNoSolution", "NoSolutionReturned")
"""Model statuses without a point."""

GLOBAL = ("GUROBI", "XPRESS")
"""Solvers of GAMS that use branch and bound for nonlinear cones."""


NOT_LICENSED = (
    "gams's licence on this machine does not allow {solver} on a model of this size, or has expired:"
    " the demo licence takes 1,000 rows and columns; see `gamspy install license`"
)
"""Message for a model that the licence does not permit."""


@contextmanager
def session() -> Iterator[tuple[Any, Any]]:
    """Yield gamspy and a container in a temporary folder."""
    gamspy = needed("gams")
    with TemporaryDirectory(prefix="stickslip-gams-") as folder:
        container = gamspy.Container(working_directory=folder, debugging_level="delete")
        try:
            yield gamspy, container
        finally:
            container.close()


class Report(NamedTuple):
    """Report of GAMS on a solve."""

    status: Status
    """Status as of stickslip."""
    answered: bool
    """Whether the solver returned a point."""
    iterations: int
    """Iterations of the solver; 0 for barrier methods, which GAMS does not count."""
    message: str
    """Solver, model status and solver status."""


def solve(gamspy: Any, model: Any, solver: str, tolerance: float, max_iterations: int) -> Report:
    """Solve `model` by `solver`; raise MissingPackage if that is impossible on this machine."""
    options = gamspy.Options(iteration_limit=max_iterations, threads=1)
    if model.problem.value == "NLP" and solver.upper() in GLOBAL:
        raise MissingPackage(
            f"gams: {solver} takes nonlinear programs by global search, which may not end; use form='qcp'"
        )
    log = logging.getLogger("MODEL")
    level = log.level
    log.setLevel(logging.ERROR)  # gamspy prints when a solver was interrupted
    try:
        model.solve(solver=solver, options=options, solver_options=solver_options(solver, tolerance))
    except gamspy.exceptions.ValidationError as error:
        raise MissingPackage(f"gams cannot use {solver} here: {_line(error)}") from error
    except gamspy.exceptions.GamspyException as error:
        if "licens" in _line(error).lower():
            raise MissingPackage(NOT_LICENSED.format(solver=solver)) from error
        return Report(Status.STALLED, False, 0, f"{solver}: {_line(error)}")
    finally:
        log.setLevel(level)
    model_status, solve_status = model.status.name, model.solve_status.name
    if "LicenseError" in (model_status, solve_status):
        raise MissingPackage(NOT_LICENSED.format(solver=solver))
    if solve_status == "IterationInterrupt":
        status = Status.MAX_ITERATIONS
    elif model_status in INFEASIBLE:
        status = Status.INFEASIBLE
    else:
        status = (
            Status.SOLVED if model_status in SOLVED and solve_status == "NormalCompletion" else Status.STALLED
        )
    answered = status is not Status.INFEASIBLE and model_status not in SILENT
    return Report(
        status, answered, int(model.num_iterations or 0), f"{solver}: {model_status}, {solve_status}"
    )


def solver_options(solver: str, tolerance: float) -> dict[str, Any] | None:
    """Return the options of a GAMS solver for `tolerance`, within its ranges; None if it is unknown."""
    fine = max(tolerance, 1e-9)
    tables: dict[str, dict[str, Any]] = {
        "CONOPT": {"Tol_Optimality": max(tolerance, 3e-13), "Tol_Feas_Max": max(tolerance, 1e-10),
                   "Tol_Feas_Min": max(min(tolerance, 1e-5), 3e-13)},
        "IPOPT": {"tol": tolerance, "constr_viol_tol": tolerance, "dual_inf_tol": tolerance,
                  "compl_inf_tol": tolerance, "bound_relax_factor": 0.0, "acceptable_iter": 0},
        "KNITRO": {"feastol": tolerance, "feastol_abs": tolerance, "opttol": tolerance,
                   "opttol_abs": tolerance},
        "MINOS": {"feasibility tolerance": tolerance, "optimality tolerance": tolerance,
                  "row tolerance": tolerance},
        "SNOPT": {"major feasibility tolerance": tolerance, "major optimality tolerance": tolerance,
                  "minor feasibility tolerance": tolerance},
        "PATH": {"convergence_tolerance": tolerance},
        "PATHNLP": {"convergence_tolerance": tolerance},
        "MILES": {"contol": tolerance},
        "CPLEX": {"barqcpepcomp": max(tolerance, 1e-12), "barepcomp": max(tolerance, 1e-12),
                  "calcqcpduals": 2, "eprhs": fine, "epopt": fine},
        "GUROBI": {"barqcpconvtol": tolerance, "barconvtol": tolerance, "feasibilitytol": fine,
                   "optimalitytol": fine, "qcpdual": 1, "presolve": 0, "numericfocus": 3},
        "MOSEK": {f"MSK_DPAR_INTPNT_{kind}_TOL_{name}": tolerance for kind in ("CO", "QO")
                  for name in ("PFEAS", "DFEAS", "REL_GAP", "MU_RED")},
        "XPRESS": {"barGapStop": tolerance, "barDualStop": tolerance, "barPrimalStop": tolerance},
        "COPT": {"DualTol": fine, "FeasTol": fine},
    }  # fmt: skip
    return tables.get(solver.upper().removesuffix("4"))


def labels(count: int) -> list[str]:
    """Return the names of the members of a set of `count`."""
    return [str(i) for i in range(count)]


def records(values: Array) -> list[tuple[str, float]]:
    """Return a vector as records of GAMS: its nonzero entries."""
    return [(str(i), float(values[i])) for i in np.flatnonzero(values)]


def entries(matrix: Any) -> list[tuple[str, str, float]]:
    """Return a sparse matrix as records of GAMS."""
    coo = matrix.tocoo()
    return [
        (str(i), str(j), float(value))
        for i, j, value in zip(coo.row, coo.col, coo.data, strict=True)
        if value != 0.0
    ]


def column(symbol: Any, count: int, what: str = "level") -> Array:
    """Return levels or marginals of a variable or equation over a set of `count`; NaN if GAMS has none."""
    out = np.zeros(count)
    if symbol.records is not None:
        where = symbol.records.iloc[:, 0].astype(str).astype(int).to_numpy()
        out[where] = symbol.records[what].to_numpy(float)
    return out


def _line(error: BaseException) -> str:
    """Return the message of gamspy in one line, without the extract of GAMS's listing."""
    return " ".join(str(error).split("=====")[0].split())
