"""Cone programs in GAMS, by any of its solvers of quadratic (QCP) or nonlinear (NLP) programs.

    min ½ x'P x + c'x   over x and s,   A x + b - s = 0,   s_nonnegative >= 0,   cones as in `smooth`

which covers the dual and primal models of "Complementarity frictional contact in GAMS" (2014), with its
`modtype` as `form`. y are the marginals of the linear rows, improved by `multipliers.mended`: CPLEX, Xpress
and COPT return none for QCPs, the others inaccurate ones at the tip of a cone.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from stickslip.extras import MissingPackage
from stickslip.problem.checks import Array
from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.adapters import gams_session
from stickslip.solvers.adapters.multipliers import mended
from stickslip.solvers.adapters.smooth import check_form, inside, smoothings
from stickslip.solvers.programs import ProgramAnswer


def run(
    program: ConeProgram, tolerance: float, max_iterations: int, *, solver: str = "CONOPT", form: str = "qcp"
) -> ProgramAnswer:
    """Solve `program` by GAMS's `solver`, with its cones written as `form`.

    If the NLP form does not converge, eps is reduced in steps, each from the solution of the one before.
    """
    check_form(form)
    if solver.upper() == "MOSEK" and program.second_order.size and program.P.nnz:
        raise MissingPackage("gams: MOSEK there takes no quadratic objective beside cones; use mosek itself")
    n, m = program.size, program.rows
    with gams_session.session() as (gamspy, container):
        model, x, rows, eps = _model(gamspy, container, program, form)
        steps = smoothings(tolerance)
        eps.setRecords(steps[-1])
        report = gams_session.solve(gamspy, model, solver, tolerance, max_iterations)
        done = report.iterations
        if form == "nlp" and report.status in (Status.MAX_ITERATIONS, Status.STALLED):
            for step in steps:
                eps.setRecords(step)
                report = gams_session.solve(gamspy, model, solver, tolerance, max_iterations)
                done += report.iterations
                if report.status is not Status.SOLVED:
                    break
        if not report.answered:
            return ProgramAnswer(np.zeros(n), np.zeros(m), report.status, done, report.message)
        solution = gams_session.column(x, n)
        y = np.zeros(m) if rows is None else gams_session.column(rows, m, "marginal")
    if not np.isfinite(solution).all():
        return ProgramAnswer(solution, y, Status.NOT_FINITE, done, report.message)
    return ProgramAnswer(solution, mended(program, solution, y), report.status, done, report.message)


def _model(gamspy: Any, container: Any, program: ConeProgram, form: str) -> tuple[Any, Any, Any, Any]:
    """Return the model in GAMS, its unknowns x, its linear rows (None if absent), and eps of the NLP form."""
    n, m, cones = program.size, program.rows, program.second_order.size
    i = gamspy.Set(container, "i", records=gams_session.labels(n))
    j = gamspy.Alias(container, "j", alias_with=i)
    P = gamspy.Parameter(container, "P", domain=[i, i], records=gams_session.entries(program.P))
    c = gamspy.Parameter(container, "c", domain=i, records=gams_session.records(program.c))
    x = gamspy.Variable(container, "x", domain=i)
    objective = 0.5 * gamspy.Sum([i, j], P[i, j] * x[i] * x[j]) + gamspy.Sum(i, c[i] * x[i])
    eps = gamspy.Parameter(container, "eps_of_cones")
    equations, rows = [], None
    if m:
        k = gamspy.Set(container, "k", records=gams_session.labels(m))
        A = gamspy.Parameter(container, "A", domain=[k, i], records=gams_session.entries(program.A))
        b = gamspy.Parameter(container, "b", domain=k, records=gams_session.records(program.b))
        s = gamspy.Variable(container, "s", domain=k, records=_bounds(program))
        # an s that is fixed to 0 is left out, because GAMS stores no zeros
        slack = gamspy.Set(container, "slack", domain=k, records=gams_session.labels(m)[program.zero :])
        rows = gamspy.Equation(container, "rows", domain=k)
        rows[k] = gamspy.Sum(i, A[k, i] * x[i]) - s[k].where[slack[k]] == -b[k]
        equations.append(rows)
    if cones:
        q = gamspy.Set(container, "q", records=gams_session.labels(cones))
        spans = list(pairwise(program.cone_start.tolist()))
        tips = [(str(a), str(first)) for a, (first, _) in enumerate(spans)]
        members = [
            (str(a), str(row)) for a, (first, last) in enumerate(spans) for row in range(first + 1, last)
        ]
        tip = gamspy.Set(container, "tip", domain=[q, k], records=tips)
        side = gamspy.Set(container, "side", domain=[q, k], records=members)
        cone = gamspy.Equation(container, "cone", domain=q)
        width = gamspy.Sum(k.where[side[q, k]], gamspy.math.sqr(s[k]))
        if form == "qcp":
            cone[q] = width <= gamspy.Sum(k.where[tip[q, k]], gamspy.math.sqr(s[k]))
        else:
            cone[q] = gamspy.math.sqrt(width + gamspy.math.sqr(eps)) - eps <= gamspy.Sum(
                k.where[tip[q, k]], s[k]
            )
        equations.append(cone)
    model = gamspy.Model(
        container, "program", problem=form.upper(), equations=equations, sense="min", objective=objective
    )
    return model, x, rows, eps


def _bounds(program: ConeProgram) -> dict[str, Array]:
    """Return initial value and bounds of every s [unit of s], shape (m,) each."""
    lower, upper = np.full(program.rows, -np.inf), np.full(program.rows, np.inf)
    lower[program.zero : program.zero + program.nonnegative] = 0.0
    lower[program.cone_start[:-1]] = 0.0
    return {"level": inside(program), "lower": lower, "upper": upper}
