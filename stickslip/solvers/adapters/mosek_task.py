"""MOSEK's interior point for conic programs.

MOSEK does not accept a quadratic objective together with cones, so it becomes one more cone: with P = F'F

    min t + c'x,   (t, 1, F x) in {2 t 1 >= |F x|²},   A x + b ∈ C,

with every set an affine conic constraint F x + g ∈ D, whose multipliers are y.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.extras import MissingPackage
from stickslip.problem.checks import Array
from stickslip.problem.program import ConeProgram
from stickslip.problem.solution import Status
from stickslip.solvers.adapters.curvature import root
from stickslip.solvers.programs import ProgramAnswer, needed

LICENCE = range(1000, 1032)
"""MOSEK's response codes about licences."""


def run(program: ConeProgram, tolerance: float, max_iterations: int) -> ProgramAnswer:
    """Solve `program` by MOSEK."""
    mosek = needed("mosek")
    nothing = np.zeros(program.size), np.zeros(program.rows)
    try:
        with mosek.Env() as env, env.Task() as task:
            constraints = build(mosek, task, program)
            for name in ("pfeas", "dfeas", "rel_gap", "mu_red"):
                task.putdouparam(getattr(mosek.dparam, "intpnt_co_tol_" + name), tolerance)
            task.putintparam(mosek.iparam.intpnt_max_iterations, max_iterations)
            task.putintparam(mosek.iparam.num_threads, 1)
            response = task.optimize()
            return _answer(mosek, task, program, constraints, response)
    except mosek.Error as error:
        code = int(error.errno)
        if code in LICENCE:
            raise MissingPackage(
                f"mosek is installed but has no licence: {_line(error.msg)} ({code})"
            ) from error
        return ProgramAnswer(*nothing, Status.STALLED, 0, f"error {code}: {_line(error.msg)}")


def build(mosek: Any, task: Any, program: ConeProgram) -> int:
    """Put `program` into `task`; return the number of its first constraints, those of A x + b ∈ C."""
    n, m = program.size, program.rows
    F = root(program.P)
    curved = F.shape[0] > 0
    task.appendvars(n + curved)
    task.putvarboundsliceconst(0, n + curved, mosek.boundkey.fr, 0.0, 0.0)
    task.putclist(np.arange(n, dtype=np.int32), np.array(program.c))
    task.appendafes(m + (2 + F.shape[0]) * curved)
    _rows(task, program.A, 0)
    task.putafegslice(0, m, np.array(program.b))
    start = program.cone_start.tolist()
    plain, head = slice(program.zero, start[0]), slice(0, program.zero)
    for rows, domain in ((head, task.appendrzerodomain), (plain, task.appendrplusdomain)):
        if rows.stop > rows.start:
            task.appendaccseq(domain(rows.stop - rows.start), rows.start, None)
    for first, last in pairwise(start):
        domain = task.appendquadraticconedomain if last - first > 1 else task.appendrplusdomain
        task.appendaccseq(domain(last - first), first, None)
    constraints = int(task.getnumacc())
    if curved:
        task.putcj(n, 1.0)
        task.putafefentry(m, n, 1.0)
        task.putafeg(m + 1, 1.0)
        _rows(task, F, m + 2)
        task.appendaccseq(task.appendrquadraticconedomain(2 + F.shape[0]), m, None)
    task.putobjsense(mosek.objsense.minimize)
    return constraints


def _line(message: str) -> str:
    return " ".join(message.split())


def _rows(task: Any, matrix: sp.csr_array, first: int) -> None:
    entries = sp.coo_array(matrix)
    task.putafefentrylist(entries.row.astype(np.int64) + first, entries.col.astype(np.int32), entries.data)


def _answer(mosek: Any, task: Any, program: ConeProgram, constraints: int, response: Any) -> ProgramAnswer:
    iterations = int(task.getintinf(mosek.iinfitem.intpnt_iter))
    solution_type = mosek.soltype.itr
    if not task.solutiondef(solution_type):
        nothing = np.zeros(program.size), np.zeros(program.rows)
        return ProgramAnswer(*nothing, Status.STALLED, iterations, f"no solution: {response}")
    solution_status = task.getsolsta(solution_type)
    status = {
        mosek.solsta.optimal: Status.SOLVED,
        mosek.solsta.prim_infeas_cer: Status.INFEASIBLE,
        mosek.solsta.dual_infeas_cer: Status.INFEASIBLE,
    }.get(
        solution_status,
        Status.MAX_ITERATIONS if response == mosek.rescode.trm_max_iterations else Status.STALLED,
    )
    x: Array = np.array(task.getxx(solution_type))[: program.size]
    y = [np.array(task.getaccdoty(solution_type, i)) for i in range(constraints)]
    return ProgramAnswer(
        x, np.concatenate([np.zeros(0), *y]), status, iterations, str(solution_status).split(".")[-1]
    )
