"""ProxQP: proximal augmented Lagrangian for quadratic programs (Bambade et al. 2022)."""

import numpy as np

from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.adapters.answers import answered, csc
from stickslip.solvers.programs import ProgramAnswer, no_second_order

STATUS = {
    "PROXQP_SOLVED": Status.SOLVED,
    "PROXQP_MAX_ITER_REACHED": Status.MAX_ITERATIONS,
    "PROXQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
    "PROXQP_DUAL_INFEASIBLE": Status.INFEASIBLE,
}
"""ProxQP's words and ours; any other is STALLED."""
UNBOUNDED = 1e30
"""What stands for no upper bound."""


def run(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program`, which must have no second-order cone, as l <= C x."""
    import proxsuite

    no_second_order("proxqp", program)
    n, zero, rows = program.size, program.zero, program.nonnegative
    solver = proxsuite.proxqp.sparse.QP(n, zero, rows)
    settings = solver.settings
    settings.verbose, settings.max_iter = False, max_iterations
    settings.eps_abs, settings.eps_rel = tolerance, 0.0
    settings.check_duality_gap, settings.eps_duality_gap_abs, settings.eps_duality_gap_rel = (
        True,
        tolerance,
        0.0,
    )
    equations = {"A": csc(program.A[:zero]), "b": -program.b[:zero]} if zero else {}
    solver.init(
        H=csc(program.P), g=program.c.copy(), **equations,
        C=csc(program.A[zero:]), l=-program.b[zero:], u=np.full(rows, UNBOUNDED),
    )  # fmt: skip
    solver.solve()
    found = solver.results
    status = found.info.status.name
    y = -np.concatenate([np.asarray(found.y)[:zero], np.asarray(found.z)[:rows]])
    return answered(found.x, y, STATUS.get(status, Status.STALLED), found.info.iter, status)
