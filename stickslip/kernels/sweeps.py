"""Gauss-Seidel over the blocks of a contact problem: one loop for all forms of W and all kinds of blocks.

q_i = u_free_i + sum_{j != i} W_ij r_j, solve block i, next. The loop is handed what differs as kernels, so
that nothing is compiled that a problem does not have: `gauss_seidel.py` has those for W in blocks,
`body_sweeps.py` those for W = J J' over bodies. No allocation in sweeps.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import anderson, cones, friction, residuals, schedule
from stickslip.kernels import local as one
from stickslip.kernels.dense_lu import lu_solve
from stickslip.kernels.jit import jit


class Swept(NamedTuple):
    """A contact problem prepared for sweeps: n components in nb blocks with ng groups."""

    K: Any
    """The set, a `Cones`."""
    W: Any
    """`BlockW`, `BodyW`, or dense row by row, shape (n n,) [1/kg]."""
    local: Any
    """W_ii of each block row by row [1/kg], and what its local solve wants after it (`local.py`), flat."""
    local_start: Any
    """Where W_ii of each block stands in `local`, shape (nb,)."""
    scales: Any
    """The judge's scales, a `Metric`."""
    u_free: Any
    """Free velocities [m/s], shape (n,)."""
    omega: Any
    """Relaxation [-]: 1 for none. Sweeps over Coulomb contacts only have none."""
    method: Any
    """Number of the one-contact solver, read by the sweeps of `one_contact.py` alone."""


class Work(NamedTuple):
    """Work arrays of sweeps."""

    kappa: Any
    """Guesses of the slip of each group, kept from sweep to sweep, shape (ng,)."""
    vectors: Any
    """u, two vectors of work, and the iterate at the last mark, shape (4, n)."""
    bench: Any
    """q, old, new impulses of one block, and work, shape (4, d) with d the largest block."""
    spare: Any
    """Work of `friction.solve_friction`."""


@jit
def run(
    sweep, velocities, follow, natural, project, problem, work, memory, tolerance, budget,
    r, best, control, history,
):  # fmt: skip
    """Sweep and look at the judge until solved, stopped, or `budget` sweeps are done.

    sweep(problem, work, r) makes one and returns the squared change of r. follow(problem, r) takes note of
    an r that no sweep has made; then velocities(problem, r, u) gives u <- W r + u_free. natural and project:
    `contact_law.natural_map` and `cones.project`, or those of Coulomb contacts. memory: a
    `anderson.Memory`; with columns in it, each sweep starts from a mix of the last ones.
    r (n,) is the iterate, best (n,) the best one by the judge; control and history as `schedule` has them.
    """
    u, mark, spare = work.vectors[0], work.vectors[3], (work.vectors[1], work.vectors[2])
    at = residuals.Point(r, u, problem.u_free)
    is_mixed = memory.gram.shape[0] > 0
    if control[schedule.STATE] == schedule.NEW:
        anderson.begin(memory.mix)
    schedule.begin(control)
    while schedule.goes_on(control, budget):
        if schedule.is_due(control, budget):
            # 1. what the judge says of r, and whether to go on
            follow(problem, r)
            velocities(problem, r, u)
            plain, scaled, _ = residuals.stop_measures(
                natural, problem.K, problem.scales, residuals.EXACT, at, spare
            )
            if schedule.look(control, history, plain, scaled, tolerance, r, mark):
                for k in range(r.shape[0]):
                    best[k] = r[k]
            memory.mix[anderson.SEEN] = memory.mix[anderson.LENGTH]
            continue
        # 2. one sweep, from r or from a mix of the last sweeps
        if is_mixed:
            anderson.start(project, problem.K, memory, r)
            follow(problem, r)
        moved = sweep(problem, work, r)
        if is_mixed:
            moved = anderson.learn(memory, moved, r)
        schedule.swept(control, moved)
        if is_mixed:
            anderson.hurry(memory.mix, tolerance, control)


@jit
def solve_exactly(i, problem, work):
    """bench[2] <- solution of block i alone, from q and the old impulses in bench[0] and bench[1]."""
    q, old, out = work.bench[0], work.bench[1], work.bench[2]
    one.solve_block(i, problem.K, problem.local, problem.local_start, q, old, work.kappa, work.spare, out)


@jit
def relax(i, K, omega, old, out, x):
    """out <- P_K(old + omega (out - old)) on block i.   old, out (d,), x (n,) work."""
    a, d = K.offset[i], K.offset[i + 1] - K.offset[i]
    for k in range(d):
        x[a + k] = old[k] + omega * (out[k] - old[k])
    cones.project_block(i, K, x, x)
    for k in range(d):
        out[k] = x[a + k]


@jit
def stay(problem, r):
    """`follow` where nothing is kept beside r."""


@jit
def prepare(own_blocks, K, W, u_free, omega):
    """(problem, work) for blocks of any kind; own_blocks(W, offset, local, local_start, diagonal) as below.

    Inverses of free blocks that are singular are zero.
    """
    nb, n, size, d = K.kind.shape[0], u_free.shape[0], 0, 1
    start = np.empty(nb, np.int64)
    for i in range(nb):
        start[i], own = size, K.offset[i + 1] - K.offset[i]
        size += own * own + extras(i, K)
        d = max(d, own)
    local, spare = np.zeros(size), np.empty((2 * d + 2, 2 * d + 2))
    work = Work(np.zeros(K.coefficient.shape[0]), np.empty((4, n)), np.empty((4, d)), spare)
    diagonal = work.vectors[0]
    own_blocks(W, K.offset, local, start, diagonal)
    for i in range(nb):
        own = K.offset[i + 1] - K.offset[i]
        if K.kind[i] == cones.FREE:
            invert(local, start[i], own)
        elif K.kind[i] == cones.FRICTION and own > 2:
            if cones.is_coulomb(i, K):
                one.prepare_coulomb3(local, start[i])
            else:
                friction.prepare_friction(local, start[i], own, spare)
    return Swept(K, W, local, start, residuals.metric(K, diagonal), u_free, omega, 0), work


@jit
def prepare_coulomb(own_blocks, K, W, u_free):
    """`prepare` when all contacts are Coulomb's of one dimension."""
    nc, n = K.kind.shape[0], u_free.shape[0]
    d = n // max(nc, 1)
    stride = 4 if d == 2 else 9 + one.EXTRAS_3
    local, start, vectors = np.empty(stride * nc), stride * np.arange(nc), np.empty((4, n))
    own_blocks(W, K.offset, local, start, vectors[0])
    if d == 3:
        for i in range(nc):
            one.prepare_coulomb3(local, start[i])
    scales, nothing = residuals.metric(K, vectors[0]), np.empty((0, 0))
    problem = Swept(K, W, local, start, scales, u_free, 1.0, 0)
    return problem, Work(np.zeros(nc), vectors, nothing, nothing)


@jit
def extras(i, K):
    """How many numbers follow W_ii of block i."""
    d = K.offset[i + 1] - K.offset[i]
    if K.kind[i] == cones.FREE:
        return d * d
    if K.kind[i] == cones.FRICTION and d > 2:
        return one.EXTRAS_3 if cones.is_coulomb(i, K) else friction.EXTRAS + (d - 1) * d
    return 0


@jit
def invert(local, at, d):
    """The inverse of the block at local[at:] behind it; zero where it is singular."""
    J, b = np.empty((d, d)), np.empty(d)
    for c in range(d):
        for i in range(d):
            b[i] = 1.0 if i == c else 0.0
            for j in range(d):
                J[i, j] = local[at + i * d + j]
        if lu_solve(J, b, d):
            for i in range(d):
                local[at + d * d + i * d + c] = b[i]
