"""PIQP: proximal interior point for quadratic programs with linear rows (Schwan et al. 2023)."""

import numpy as np

from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.adapters.answers import answered, csc
from stickslip.solvers.programs import ProgramAnswer, no_second_order

STATUS = {
    "PIQP_SOLVED": Status.SOLVED,
    "PIQP_MAX_ITER_REACHED": Status.MAX_ITERATIONS,
    "PIQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
    "PIQP_DUAL_INFEASIBLE": Status.INFEASIBLE,
}
"""PIQP's words and ours; any other is STALLED."""


def run(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program`, which must have no second-order cone, as h_l <= G x."""
    import piqp

    no_second_order("piqp", program)
    zero = program.zero
    solver = piqp.SparseSolver()
    settings = solver.settings
    settings.verbose, settings.max_iter = False, max_iterations
    settings.eps_abs = settings.eps_duality_gap_abs = tolerance
    settings.eps_rel = settings.eps_duality_gap_rel = tolerance
    equations = {"A": csc(program.A[:zero]), "b": -program.b[:zero]} if zero else {}
    solver.setup(
        P=csc(program.P), c=program.c.copy(), **equations,
        G=csc(program.A[zero:]), h_l=-program.b[zero:], h_u=np.full(program.nonnegative, np.inf),
    )  # fmt: skip
    status = str(solver.solve()).rsplit(".", 1)[-1]
    found = solver.result
    y = np.concatenate([-np.asarray(found.y)[:zero], np.asarray(found.z_l) - np.asarray(found.z_u)])
    return answered(found.x, y, STATUS.get(status, Status.STALLED), found.info.iter, status)
