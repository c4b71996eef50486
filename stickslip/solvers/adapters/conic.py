"""Adapters of conic solvers that accept a cone program as it is: Clarabel, SCS, QOCO, ECOS, PIQP and ProxQP.

Each is one function from a cone program to its answer, which imports its package when called. Clarabel:
interior point with a homogeneous embedding (Goulart & Chen 2024). SCS: operator splitting on the
homogeneous embedding (O'Donoghue 2021). QOCO: interior point with custom Nesterov-Todd kernels (Chari &
Açıkmeşe 2025). PIQP: proximal interior point for quadratic programs with linear rows (Schwan et al. 2023).
ProxQP: proximal augmented Lagrangian for quadratic programs (Bambade et al. 2022).

ECOS: interior point for linear objectives over second-order cones (Domahidi, Chu & Boyd 2013). It has no
quadratic objectives. With P = F'F and one more unknown t,

    min t + c'x   with   |F x|² <= 2 t,   which is   (t + ½, t - ½, F x) in a second-order cone,

is an equivalent program. Its square root costs about half of the digits of u if P is nearly zero.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.problem.checks import ProblemError
from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.adapters.curvature import root
from stickslip.solvers.programs import ProgramAnswer, no_second_order

WORDS = (
    dict.fromkeys(("Solved", "QOCO_SOLVED", "PIQP_SOLVED", "PROXQP_SOLVED"), Status.SOLVED)
    | dict.fromkeys(
        ("MaxIterations", "QOCO_MAX_ITER", "PIQP_MAX_ITER_REACHED", "PROXQP_MAX_ITER_REACHED"),
        Status.MAX_ITERATIONS,
    )
    | dict.fromkeys(("PrimalInfeasible", "DualInfeasible", "PIQP_PRIMAL_INFEASIBLE"), Status.INFEASIBLE)
    | dict.fromkeys(("AlmostPrimalInfeasible", "AlmostDualInfeasible"), Status.INFEASIBLE)
    | dict.fromkeys(("PIQP_DUAL_INFEASIBLE", "PROXQP_PRIMAL_INFEASIBLE"), Status.INFEASIBLE)
    | {"PROXQP_DUAL_INFEASIBLE": Status.INFEASIBLE}
)
"""Status of the messages of Clarabel, QOCO, PIQP and ProxQP; any other is STALLED."""
SCS_STATUS = {1: Status.SOLVED, 2: Status.MAX_ITERATIONS} | dict.fromkeys((-1, -2, -6, -7), Status.INFEASIBLE)
"""Status of SCS's status values; any other is STALLED. At its limit SCS returns 2, "solved inaccurately"."""
ECOS_STATUS = {0: Status.SOLVED, -1: Status.MAX_ITERATIONS, -7: Status.NOT_FINITE} | dict.fromkeys(
    (1, 2, 11, 12), Status.INFEASIBLE
)
"""Status of ECOS's exit flags; any other is STALLED."""
SCS_INTERRUPTED, ECOS_INTERRUPTED = -5, -4
"""Status values of SCS and ECOS after Ctrl+C, which they handle themselves (SCS_SIGINT, ECOS_SIGINT)."""
CHECKED = 300
"""Number of unknowns up to which P is checked for convexity before SCS."""
INFEASIBILITY = 1e-9
"""Tolerance of SCS's infeasibility certificates; its default accepts them too early."""
UNBOUNDED = 1e30
"""Value of ProxQP for no upper bound."""


def answered(x: Any, y: Any, status: Status, iterations: int, message: str) -> ProgramAnswer:
    """Return the answer of a solver as float64 arrays; NOT_FINITE if they contain NaN or inf."""
    x, y = (np.array(values, np.float64).reshape(-1) for values in (x, y))
    if status is not Status.INFEASIBLE and not (np.isfinite(x).all() and np.isfinite(y).all()):
        status = Status.NOT_FINITE
    return ProgramAnswer(x, y, status, int(iterations), message)


def tell_interrupt() -> None:
    """Send SIGINT to this process again, after a C library has handled it and ended its solve."""
    signal.raise_signal(signal.SIGINT)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Block SIGINT within the context, where a C library would handle it silently."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def csc(matrix: sp.csr_array) -> sp.csc_matrix:
    """Return `matrix` as sorted compressed columns with 32-bit indices, as C libraries require."""
    columns = sp.csc_matrix(matrix)
    columns.sort_indices()
    columns.indices, columns.indptr = columns.indices.astype(np.int32), columns.indptr.astype(np.int32)
    return columns


def upper(P: sp.csr_array) -> sp.csc_matrix:
    """Return the upper triangle of P with its diagonal."""
    return csc(sp.csr_array(sp.triu(P)))


def clarabel(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program`; Clarabel's form is A x + s = b, s in the cones, with the same signs of y."""
    import clarabel as package

    cones = [package.ZeroConeT(program.zero)] if program.zero else []
    cones += [package.NonnegativeConeT(program.nonnegative)] if program.nonnegative else []
    cones += [package.SecondOrderConeT(int(size)) for size in program.second_order]
    settings = package.DefaultSettings()
    settings.verbose, settings.max_iter, settings.max_threads = False, max_iterations, 1
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tolerance
    solver = package.DefaultSolver(upper(program.P), program.c, csc(-program.A), program.b, cones, settings)
    result = solver.solve()
    word = str(result.status)
    return answered(result.x, result.z, WORDS.get(word, Status.STALLED), result.iterations, word)


def scs(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program`; SCS's form is A x + s = b, s in the cones, with the same signs of y."""
    import scs as package

    if not program.rows:  # SCS requires at least one row
        with_row = program.with_(A=sp.csr_array((1, program.size)), b=[1.0], nonnegative=1)
        answer = scs(with_row, tolerance, max_iterations)
        return answer._replace(y=answer.y[:0])
    refuse_nonconvex(program)
    data = {"P": upper(program.P), "c": program.c.copy(), "A": csc(-program.A), "b": program.b.copy()}
    cone = {"z": program.zero, "l": program.nonnegative, "q": program.second_order.tolist()}
    with without_interrupts():
        solver = package.SCS(
            data, cone, eps_abs=tolerance, eps_rel=tolerance, eps_infeas=INFEASIBILITY,
            max_iters=max_iterations, verbose=False,
        )  # fmt: skip
    result = solver.solve()
    info = result["info"]
    if info["status_val"] == SCS_INTERRUPTED:
        tell_interrupt()
    status = SCS_STATUS.get(info["status_val"], Status.STALLED)
    return answered(result["x"], result["y"], status, info["iter"], info["status"])


def refuse_nonconvex(program: ConeProgram) -> None:
    """Raise a `ProblemError` if P has a negative eigenvalue, for which SCS prints a message and fails."""
    if program.size <= CHECKED:
        P = program.P.toarray()
        lowest = float(np.linalg.eigvalsh(P)[0]) if program.size else 0.0
        if lowest < -1e-6 * float(abs(P).max(initial=0.0)):
            raise ProblemError(f"scs takes convex programs only, and this one has an eigenvalue {lowest:.2g}")


def qoco(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program`; QOCO separates equations, and has the other rows as h - G x in the cones."""
    import qoco as package

    n, zero, A, b = program.size, program.zero, csc(-program.A).tocsr(), program.b
    equations = (csc(A[:zero]), b[:zero].copy()) if zero else (None, None)
    cones = (csc(A[zero:]), b[zero:].copy()) if program.rows > zero else (None, None)
    solver = package.QOCO()
    solver.setup(
        n, program.rows - zero, zero, upper(program.P) if program.P.nnz else None, program.c.copy(),
        *equations, *cones, program.nonnegative, program.second_order.size,
        program.second_order.astype(np.int32), abstol=tolerance, reltol=tolerance,
        max_iters=max_iterations, verbose=0,
    )  # fmt: skip
    result = solver.solve()
    y = np.concatenate([np.asarray(result.y)[:zero], np.asarray(result.z)[: program.rows - zero]])
    return answered(result.x, y, WORDS.get(result.status, Status.STALLED), result.iters, result.status)


def ecos(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program` with its objective as one more cone; equations are passed separately."""
    import ecos as package

    n, zero, rows = program.size, program.zero, program.rows
    F = root(program.P)
    rank = F.shape[0]
    top = sp.csr_array(np.array([[-1.0], [-1.0]]))
    objective = sp.block_array([[sp.csr_array((2, n)), top], [-F, None]], format="csr")
    if not rank:
        objective = sp.hstack([sp.csr_array((2, n)), top], format="csr")
    rows_t = sp.hstack([-program.A, sp.csr_array((rows, 1))], format="csr")
    G = csc(sp.vstack([rows_t[zero:], objective], format="csr"))
    h = np.concatenate([program.b[zero:], [0.5, -0.5], np.zeros(rank)])
    dims = {"l": program.nonnegative, "q": [*program.second_order.tolist(), 2 + rank]}
    equal, right = rows_t[:zero], program.b[:zero]
    equal.eliminate_zeros()
    nonempty = np.diff(equal.indptr) > 0  # ECOS may crash on equations without unknowns
    if right[~nonempty].any():
        nothing = np.zeros(n), np.zeros(rows)
        return answered(*nothing, Status.INFEASIBLE, 0, "an equation without unknowns is not 0 = 0")
    equations = (csc(equal[nonempty]), right[nonempty].copy()) if nonempty.any() else ()
    try:
        result = package.solve(
            np.concatenate([program.c, [1.0]]), G, h, dims, *equations, abstol=tolerance, reltol=tolerance,
            feastol=tolerance, max_iters=max_iterations, verbose=False,
        )  # fmt: skip
    except RuntimeError:
        return answered(np.zeros(n), np.zeros(rows), Status.STALLED, 0, "it cannot set up the program")
    info = result["info"]
    y = np.zeros(rows)
    y[:zero][nonempty] = result["y"] if nonempty.any() else 0.0
    y[zero:] = result["z"][: rows - zero]
    if int(info["exitFlag"]) == ECOS_INTERRUPTED:
        tell_interrupt()
    status = ECOS_STATUS.get(int(info["exitFlag"]), Status.STALLED)
    return answered(result["x"][:n], y, status, info["iter"], info["infostring"])


def piqp(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program`, which must not have second-order cones, in the form h_l <= G x."""
    import piqp as package

    no_second_order("piqp", program)
    zero = program.zero
    solver = package.SparseSolver()
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
    result = solver.result
    y = np.concatenate([-np.asarray(result.y)[:zero], np.asarray(result.z_l) - np.asarray(result.z_u)])
    return answered(result.x, y, WORDS.get(status, Status.STALLED), result.info.iter, status)


def proxqp(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program`, which must not have second-order cones, in the form l <= C x."""
    import proxsuite

    no_second_order("proxqp", program)
    n, zero, rows = program.size, program.zero, program.nonnegative
    solver = proxsuite.proxqp.sparse.QP(n, zero, rows)
    settings = solver.settings
    settings.verbose, settings.max_iter = False, max_iterations
    settings.eps_abs, settings.eps_rel = tolerance, 0.0
    settings.check_duality_gap = True
    settings.eps_duality_gap_abs, settings.eps_duality_gap_rel = tolerance, 0.0
    equations = {"A": csc(program.A[:zero]), "b": -program.b[:zero]} if zero else {}
    solver.init(
        H=csc(program.P), g=program.c.copy(), **equations,
        C=csc(program.A[zero:]), l=-program.b[zero:], u=np.full(rows, UNBOUNDED),
    )  # fmt: skip
    solver.solve()
    results = solver.results
    status = results.info.status.name
    y = -np.concatenate([np.asarray(results.y)[:zero], np.asarray(results.z)[:rows]])
    return answered(results.x, y, WORDS.get(status, Status.STALLED), results.info.iter, status)
