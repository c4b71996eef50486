"""Clarabel: interior point with a homogeneous embedding (Goulart & Chen 2024)."""

from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.adapters.answers import answered, csc, upper
from stickslip.solvers.programs import ProgramAnswer

STATUS = {
    "Solved": Status.SOLVED,
    "AlmostSolved": Status.STALLED,
    "PrimalInfeasible": Status.INFEASIBLE,
    "DualInfeasible": Status.INFEASIBLE,
    "AlmostPrimalInfeasible": Status.INFEASIBLE,
    "AlmostDualInfeasible": Status.INFEASIBLE,
    "MaxIterations": Status.MAX_ITERATIONS,
}
"""Clarabel's words and ours; any other is STALLED."""


def run(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program`; Clarabel writes it as A x + s = b, s in the cones, with our signs of y."""
    import clarabel

    cones = [clarabel.ZeroConeT(program.zero)] if program.zero else []
    cones += [clarabel.NonnegativeConeT(program.nonnegative)] if program.nonnegative else []
    cones += [clarabel.SecondOrderConeT(int(size)) for size in program.second_order]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter, settings.max_threads = False, max_iterations, 1
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tolerance
    solver = clarabel.DefaultSolver(
        upper(program.P), program.c, csc(-program.A), program.b, cones, settings
    )  # fmt: skip
    found = solver.solve()
    word = str(found.status)
    return answered(found.x, found.z, STATUS.get(word, Status.STALLED), found.iterations, word)
