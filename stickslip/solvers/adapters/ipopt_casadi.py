"""Ipopt through CasADi: the cone program as a smooth nonlinear program.

    min ½ x'P x + c'x over x and s,   A x + b - s = 0,   s_nonnegative >= 0,   cones as in `smooth`

(Wächter & Biegler 2006; Andersson et al. 2019). s is a separate unknown so that the multipliers y of
A x + b ∈ C are those of linear rows. They exist also at s = 0, where the cone row of the QCP form has none.
Ipopt converges nevertheless, but the multipliers of that row grow without bound, and some results have fewer
digits: 1e-6 instead of 1e-11 for the sticking box in velocities.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.adapters.smooth import check_form, inside, smoothings
from stickslip.solvers.programs import ProgramAnswer, needed

STATUS = {
    "Solve_Succeeded": Status.SOLVED,
    "Maximum_Iterations_Exceeded": Status.MAX_ITERATIONS,
    "Infeasible_Problem_Detected": Status.INFEASIBLE,
    "Diverging_Iterates": Status.INFEASIBLE,
    "Invalid_Number_Detected": Status.NOT_FINITE,
}
"""Status of Ipopt's messages; any other is STALLED."""


def run(program: ConeProgram, tolerance: float, max_iterations: int, *, form: str = "qcp") -> ProgramAnswer:
    """Solve `program` by Ipopt, with its cones written as `form`.

    eps of the NLP form is reduced in steps, each started from the solution of the one before: if it starts
    with the last one, Ipopt does not converge for a hundred cones.
    """
    check_form(form)
    ca = needed("ipopt")
    n, m, cones = program.size, program.rows, program.second_order.size
    functions, derivatives = _functions(ca, program, form)
    lower, upper = np.full(n + m, -np.inf), np.full(n + m, np.inf)
    upper[n : n + program.zero] = lower[n : n + program.zero] = 0.0
    lower[n + program.zero : n + program.zero + program.nonnegative] = 0.0
    lower[n + program.cone_start[:-1]] = 0.0
    bounds = {"lbx": lower, "ubx": upper, "lbg": np.zeros(m + cones)}
    bounds["ubg"] = np.concatenate([np.zeros(m), np.full(cones, np.inf)])
    start = {"x0": np.concatenate([np.zeros(n), inside(program)])}
    iterations, warm = 0, False
    for eps in smoothings(tolerance) if form == "nlp" and cones else [0.0]:
        options = _options(tolerance, max_iterations - iterations, eps if warm else 0.0)
        solver = ca.nlpsol("program", "ipopt", functions, derivatives | options)
        answer = solver(p=eps, **start, **bounds)
        stats = solver.stats()
        word, iterations = str(stats["return_status"]), iterations + int(stats["iter_count"])
        status = STATUS.get(word, Status.STALLED)
        if status is not Status.SOLVED:
            break
        start = {"x0": answer["x"], "lam_x0": answer["lam_x"], "lam_g0": answer["lam_g"]}
        warm = True
    x, y = np.asarray(answer["x"])[:n, 0], -np.asarray(answer["lam_g"])[:m, 0]
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        status = Status.NOT_FINITE
    return ProgramAnswer(x, y, status, iterations, word)


def _options(tolerance: float, max_iterations: int, eps: float) -> dict[str, Any]:
    """Return the options of CasADi and Ipopt; eps > 0: warm start from a solution with a larger eps."""
    ipopt = {
        "print_level": 0, "sb": "yes", "max_iter": max(max_iterations, 0), "acceptable_iter": 0,
        "tol": tolerance, "dual_inf_tol": tolerance, "constr_viol_tol": tolerance, "compl_inf_tol": tolerance,
        # exact bounds: by default Ipopt widens them by 1e-8
        "bound_relax_factor": 0.0,
    }  # fmt: skip
    if eps > 0.0:
        ipopt |= {"warm_start_init_point": "yes", "mu_init": max(0.1 * eps, 0.1 * tolerance)}
        for name in ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push"):
            ipopt["warm_start_" + name] = 1e-12
    # CasADi's checks print a message for more equations than unknowns
    return {"print_time": False, "show_eval_warnings": False, "inputs_check": False, "ipopt": ipopt}


def _functions(ca: Any, program: ConeProgram, form: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the program for CasADi, and its derivatives in closed form.

    Automatic derivatives of CasADi would treat P entry by entry.
    """
    n, m, cones = program.size, program.rows, program.second_order.size
    P, A = _constant(ca, program.P), _constant(ca, program.A)
    cone, cone_slope, cone_curvature = _cones(ca, program, form)
    z, eps = ca.MX.sym("z", n + m), ca.MX.sym("eps")
    weight, lam = ca.MX.sym("weight"), ca.MX.sym("lam", m + cones)
    x, s = ca.vertsplit(z, [0, n, n + m])
    Px = P @ x
    objective = 0.5 * ca.dot(x, Px) + ca.dot(program.c, x)
    rows = ca.vertcat(A @ x + program.b - s, cone(s, eps))
    gradient = ca.densify(ca.vertcat(Px + program.c, ca.DM.zeros(m)))
    slope = ca.vertcat(ca.horzcat(A, -ca.MX.eye(m)), ca.horzcat(ca.MX(cones, n), cone_slope(s, eps)))
    curvature = ca.triu(ca.diagcat(weight * P, cone_curvature(s, eps, lam[m:])))
    derivatives = {
        "grad_f": ca.Function("grad_f", [z, eps], [objective, gradient], ["x", "p"], ["f", "grad_f_x"]),
        "jac_g": ca.Function("jac_g", [z, eps], [rows, slope], ["x", "p"], ["g", "jac_g_x"]),
        "hess_lag": ca.Function(
            "hess_lag", [z, eps, weight, lam], [curvature],
            ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"],
        ),
    }  # fmt: skip
    return {"x": z, "p": eps, "f": objective, "g": rows}, derivatives


def _cones(ca: Any, program: ConeProgram, form: str) -> tuple[Any, Any, Any]:
    """Return the functions that cones require to be nonnegative, their Jacobian and weighted Hessian in s."""
    s, lam = ca.SX.sym("s", program.rows), ca.SX.sym("lam", program.second_order.size)
    eps = ca.SX.sym("eps")
    rows = []
    for first, last in pairwise(program.cone_start.tolist()):
        side = ca.sumsqr(s[first + 1 : last])
        tip = s[first]
        rows.append(tip**2 - side if form == "qcp" else tip - (ca.sqrt(side + eps**2) - eps))
    demand = ca.vertcat(*rows) if rows else ca.SX(0, 1)
    curvature, _ = ca.hessian(ca.dot(lam, demand), s)
    return (
        ca.Function("cone", [s, eps], [ca.densify(demand)]),
        ca.Function("cone_slope", [s, eps], [ca.jacobian(demand, s)]),
        ca.Function("cone_curvature", [s, eps, lam], [curvature]),
    )


def _constant(ca: Any, matrix: sp.csr_array) -> Any:
    """Return a SciPy matrix as a sparse constant of CasADi."""
    columns = sp.csc_array(matrix)
    columns.sort_indices()
    sparsity = ca.Sparsity(*columns.shape, columns.indptr.tolist(), columns.indices.tolist())
    return ca.MX(ca.DM(sparsity, columns.data))
