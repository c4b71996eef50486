"""SCS: operator splitting on the homogeneous embedding (O'Donoghue 2021)."""

import numpy as np
import scipy.sparse as sp

from stickslip.problem.checks import ProblemError
from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.adapters.answers import (
    answered,
    cone_sizes,
    csc,
    tell_interrupt,
    upper,
    without_interrupts,
)
from stickslip.solvers.programs import ProgramAnswer

STATUS = {
    1: Status.SOLVED,
    2: Status.MAX_ITERATIONS,  # solved inaccurately: it ends so at its limit
    -1: Status.INFEASIBLE,
    -2: Status.INFEASIBLE,
    -6: Status.INFEASIBLE,
    -7: Status.INFEASIBLE,
}
"""SCS's status values and ours; any other is STALLED."""
INTERRUPTED = -5
"""SCS's status after Ctrl+C, for which it has a handler of its own (SCS_SIGINT in scs.h)."""
CHECKED = 300
"""Unknowns up to which P is looked at."""
INFEASIBILITY = 1e-9
"""Tolerance of its proofs that there is no solution, which it gives too early otherwise."""


def run(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program`; SCS writes it as A x + s = b, s in the cones, with our signs of y."""
    import scs

    if not program.rows:  # it wants a row
        found = run(
            program.with_(A=sp.csr_array((1, program.size)), b=[1.0], nonnegative=1),
            tolerance,
            max_iterations,
        )
        return found._replace(y=found.y[:0])
    refuse_nonconvex(program)
    data = {"P": upper(program.P), "c": program.c.copy(), "A": csc(-program.A), "b": program.b.copy()}
    cone = {"z": program.zero, "l": program.nonnegative, "q": cone_sizes(program.second_order)}
    with without_interrupts():
        solver = scs.SCS(
            data, cone, eps_abs=tolerance, eps_rel=tolerance, eps_infeas=INFEASIBILITY,
            max_iters=max_iterations, verbose=False,
        )  # fmt: skip
    found = solver.solve()
    info = found["info"]
    if info["status_val"] == INTERRUPTED:
        tell_interrupt()
    status = STATUS.get(info["status_val"], Status.STALLED)
    return answered(found["x"], found["y"], status, info["iter"], info["status"])


def refuse_nonconvex(program: ConeProgram) -> None:
    """A `ProblemError` where P has a negative eigenvalue, at which SCS prints and gives up."""
    if program.size <= CHECKED:
        P = program.P.toarray()
        lowest = float(np.linalg.eigvalsh(P)[0]) if program.size else 0.0
        if lowest < -1e-6 * float(abs(P).max(initial=0.0)):
            raise ProblemError(f"scs takes convex programs only, and this one has an eigenvalue {lowest:.2g}")
