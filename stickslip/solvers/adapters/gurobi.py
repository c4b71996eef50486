"""Gurobi's barrier method: a quadratic objective under second-order cones.

    min ½ x'P x + c'x   over x and s,   A x + b - s = 0,   s_nonnegative >= 0,   s_0² >= |s_rest|²,  s_0 >= 0

y are the multipliers of the linear rows, improved by `multipliers.mended`. The licence of the package permits
200 unknowns with quadratic terms, x and s counted together: 33 contacts in 3D.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.extras import MissingPackage
from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.adapters.multipliers import mended
from stickslip.solvers.programs import ProgramAnswer, needed

STATUS = {
    2: (Status.SOLVED, "optimal"),
    3: (Status.INFEASIBLE, "infeasible"),
    4: (Status.INFEASIBLE, "infeasible or unbounded"),
    5: (Status.INFEASIBLE, "unbounded"),
    7: (Status.MAX_ITERATIONS, "iteration limit"),
    12: (Status.STALLED, "numerical trouble"),
    13: (Status.STALLED, "suboptimal"),
}
"""Status and message of Gurobi's status codes; any other is STALLED."""

TOO_LARGE, NO_LICENCE = 10010, 10009
"""Gurobi's error codes for a model too large for the licence, and for a missing licence."""

FINEST = 1e-9
"""Finest feasibility and optimality tolerance that Gurobi accepts."""


def run(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program` by Gurobi's barrier method."""
    gp = needed("gurobi")
    try:
        with gp.Env(empty=True) as env:
            env.setParam("OutputFlag", 0)
            env.start()
            with gp.Model(env=env) as model:
                return _solve(gp, model, program, tolerance, max_iterations)
    except gp.GurobiError as error:
        if error.errno == TOO_LARGE:
            raise MissingPackage(
                f"gurobi's licence on this machine does not allow {program.size + program.rows} unknowns"
                f" with {program.second_order.size} cones: {error}"
            ) from error
        if error.errno == NO_LICENCE:
            raise MissingPackage(f"gurobi is installed but has no valid licence: {error}") from error
        nothing = np.zeros(program.size), np.zeros(program.rows)
        return ProgramAnswer(*nothing, Status.STALLED, 0, f"error {error.errno}: {error}")


def _solve(gp: Any, model: Any, program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    n, m = program.size, program.rows
    for name, value in {
        "Threads": 1, "Method": 2, "Crossover": 0, "QCPDual": 1, "BarIterLimit": max_iterations,
        # both cost time, and give three to five more digits
        "Presolve": 0, "NumericFocus": 3,
        "BarConvTol": tolerance, "BarQCPConvTol": tolerance,
        "FeasibilityTol": max(tolerance, FINEST), "OptimalityTol": max(tolerance, FINEST),
    }.items():  # fmt: skip
        model.setParam(name, value)
    x = model.addMVar(n, lb=-gp.GRB.INFINITY)
    lower = np.full(m, -np.inf)
    upper = np.full(m, np.inf)
    lower[: program.zero] = upper[: program.zero] = 0.0
    lower[program.zero : program.zero + program.nonnegative] = 0.0
    lower[program.cone_start[:-1]] = 0.0
    s = model.addMVar(m, lb=lower, ub=upper)
    rows = model.addMConstr(
        sp.hstack([program.A, -sp.eye_array(m)]).tocsr(),
        gp.MVar.fromlist(x.tolist() + s.tolist()),
        "=",
        -program.b,
    )
    for first, last in pairwise(program.cone_start.tolist()):
        if last - first > 1:
            signs = sp.diags_array([-1.0] + [1.0] * (last - first - 1))
            model.addMQConstr(signs, None, "<", 0.0, s[first:last], s[first:last])
    model.setMObjective(0.5 * program.P, program.c, 0.0, x, x, x)
    model.optimize()
    status, word = STATUS.get(model.Status, (Status.STALLED, f"status {model.Status}"))
    try:
        answer, y = x.X, mended(program, x.X, rows.Pi)
    except (gp.GurobiError, AttributeError):
        answer, y = np.zeros(n), np.zeros(m)
        status = Status.STALLED if status is Status.SOLVED else status
    return ProgramAnswer(answer, y, status, int(model.BarIterCount), word)
