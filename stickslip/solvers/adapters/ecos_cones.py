"""ECOS: interior point for linear objectives over second-order cones (Domahidi, Chu & Boyd 2013).

It knows no quadratic objective. With P = F'F and one more unknown t,

    min t + c'x   with   |F x|² <= 2 t,   which is   (t + ½, t - ½, F x) in a second-order cone,

is the same program. The square root in it costs about half of the digits of u where P is nearly zero.
"""

import numpy as np
import scipy.sparse as sp

from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.adapters.answers import answered, cone_sizes, csc, tell_interrupt
from stickslip.solvers.adapters.curvature import root
from stickslip.solvers.programs import ProgramAnswer

STATUS = {
    0: Status.SOLVED,
    1: Status.INFEASIBLE,
    2: Status.INFEASIBLE,
    11: Status.INFEASIBLE,
    12: Status.INFEASIBLE,
    -1: Status.MAX_ITERATIONS,
    -7: Status.NOT_FINITE,
}
"""ECOS's exit flags and ours; any other is STALLED."""
INTERRUPTED = -4
"""ECOS's exit flag after Ctrl+C, for which it has a handler of its own (ECOS_SIGINT in ecos.h)."""


def run(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program` with its objective as one more cone; equations go apart."""
    import ecos

    n, zero, rows = program.size, program.zero, program.rows
    F = root(program.P)
    rank = F.shape[0]
    top = sp.csr_array(np.array([[-1.0], [-1.0]]))
    objective = sp.block_array([[sp.csr_array((2, n)), top], [-F, None]], format="csr")
    if not rank:
        objective = sp.hstack([sp.csr_array((2, n)), top], format="csr")
    given = sp.hstack([-program.A, sp.csr_array((rows, 1))], format="csr")
    G = csc(sp.vstack([given[zero:], objective], format="csr"))
    h = np.concatenate([program.b[zero:], [0.5, -0.5], np.zeros(rank)])
    dims = {"l": program.nonnegative, "q": [*cone_sizes(program.second_order), 2 + rank]}
    equal, right = given[:zero], program.b[:zero]
    equal.eliminate_zeros()
    told = np.diff(equal.indptr) > 0  # ECOS may crash on equations that have no unknown in them
    if right[~told].any():
        nothing = np.zeros(n), np.zeros(rows)
        return answered(*nothing, Status.INFEASIBLE, 0, "an equation without unknowns is not 0 = 0")
    equations = (csc(equal[told]), right[told].copy()) if told.any() else ()
    try:
        found = ecos.solve(
            np.concatenate([program.c, [1.0]]), G, h, dims, *equations, abstol=tolerance, reltol=tolerance,
            feastol=tolerance, max_iters=max_iterations, verbose=False,
        )  # fmt: skip
    except RuntimeError:
        return answered(np.zeros(n), np.zeros(rows), Status.STALLED, 0, "it cannot set up the program")
    info = found["info"]
    y = np.zeros(rows)
    y[:zero][told] = found["y"] if told.any() else 0.0
    y[zero:] = found["z"][: rows - zero]
    if int(info["exitFlag"]) == INTERRUPTED:
        tell_interrupt()
    status = STATUS.get(int(info["exitFlag"]), Status.STALLED)
    return answered(found["x"][:n], y, status, info["iter"], info["infostring"])
