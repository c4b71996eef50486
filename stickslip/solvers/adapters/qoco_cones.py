"""QOCO: interior point with custom Nesterov-Todd kernels (Chari & Açıkmeşe 2025)."""

import numpy as np

from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.adapters.answers import answered, csc, upper
from stickslip.solvers.programs import ProgramAnswer

STATUS = {"QOCO_SOLVED": Status.SOLVED, "QOCO_MAX_ITER": Status.MAX_ITERATIONS}
"""QOCO's words and ours; any other is STALLED: it does not say where there is no solution."""


def run(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program`; QOCO takes equations apart, and the rest as h - G x in the cones."""
    import qoco

    n, zero, A, b = program.size, program.zero, csc(-program.A).tocsr(), program.b
    equations = (csc(A[:zero]), b[:zero].copy()) if zero else (None, None)
    cones = (csc(A[zero:]), b[zero:].copy()) if program.rows > zero else (None, None)
    solver = qoco.QOCO()
    solver.setup(
        n, program.rows - zero, zero, upper(program.P) if program.P.nnz else None, program.c.copy(),
        *equations, *cones, program.nonnegative, program.second_order.size,
        program.second_order.astype(np.int32), abstol=tolerance, reltol=tolerance,
        max_iters=max_iterations, verbose=0,
    )  # fmt: skip
    found = solver.solve()
    y = np.concatenate([np.asarray(found.y)[:zero], np.asarray(found.z)[: program.rows - zero]])
    return answered(found.x, y, STATUS.get(found.status, Status.STALLED), found.iters, found.status)
