"""Nonlinear Gauss-Seidel over the blocks of a contact problem, for all forms of W and all kinds of blocks.

For each block i in turn, q_i = u_free_i + sum_{j != i} W_ij r_j, and r_i is the solution of the local problem
u_i = W_ii r_i + q_i (`local.py`). The loop takes the operations on W as kernels, so that only those of the
problem at hand are compiled: `gauss_seidel.py` for W in blocks, `body_sweeps.py` for W = J J' over bodies.
Sweeps do not allocate.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import anderson, cones, friction, residuals, schedule
from stickslip.kernels import local as local_solver
from stickslip.kernels.dense_lu import lu_solve
from stickslip.kernels.jit import jit


class Swept(NamedTuple):
    """A contact problem prepared for sweeps: n components in nb blocks with ng groups."""

    K: Any
    """The set, a `Cones`."""
    W: Any
    """`BlockW`, `BodyW`, or dense row by row, shape (n n,) [1/kg]."""
    local: Any
    """W_ii of each block row by row [1/kg], each followed by the extra numbers of its local solve
    (`local.py`), flat."""
    local_start: Any
    """Position of W_ii of each block in `local`, shape (nb,)."""
    scales: Any
    """The judge's scales, a `Metric`."""
    u_free: Any
    """Free velocities [m/s], shape (n,)."""
    omega: Any
    """Relaxation factor [-]; not read by sweeps over Coulomb contacts only, which have none."""
    method: Any
    """Number of the one-contact solver, read only by the sweeps of `one_contact.py`."""


class Work(NamedTuple):
    """Work arrays of sweeps."""

    kappa: Any
    """Sliding multiplier kappa of each group from the last sweep, the initial guess of the next, shape
    (ng,)."""
    vectors: Any
    """u, two work vectors, and the iterate at the last mark of `schedule`, shape (4, n)."""
    bench: Any
    """q, old impulses, new impulses of one block, and a work vector, shape (4, d) with d the largest
    block."""
    spare: Any
    """Work array of `friction.solve_friction`."""


@jit
def run(
    sweep, velocities, follow, natural, project, problem, work, memory, tolerance, budget,
    r, best, control, history,
):  # fmt: skip
    """Sweep until solved, stopped, or `budget` sweeps are done, with checks of the residuals in between.

    sweep(problem, work, r) makes one sweep and returns the squared change of r. follow(problem, r) updates
    quantities that depend on r after r has changed outside a sweep; velocities(problem, r, u) then writes
    u <- W r + u_free. natural and project: `contact_law.natural_map` and `cones.project`, or the variants for
    Coulomb contacts. memory: an `anderson.Memory`; if it has columns, each sweep starts from a mix of the
    last ones. r (n,) is the iterate, best (n,) the iterate of smallest residual; control, history: of
    `schedule`.
    """
    u, mark, spare = work.vectors[0], work.vectors[3], (work.vectors[1], work.vectors[2])
    at = residuals.Point(r, u, problem.u_free)
    is_mixed = memory.gram.shape[0] > 0
    if control[schedule.STATE] == schedule.NEW:
        anderson.begin(memory.mix)
    schedule.begin(control)
    while schedule.goes_on(control, budget):
        if schedule.is_due(control, budget):
            # 1. Check: residuals of the judge, and whether to stop.
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
        # 2. One sweep, from r or from a mix of the last sweeps.
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
    """bench[2] <- solution of the local problem of block i, from q = bench[0] and old impulses bench[1]."""
    q, old, out = work.bench[0], work.bench[1], work.bench[2]
    local_solver.solve_block(
        i, problem.K, problem.local, problem.local_start, q, old, work.kappa, work.spare, out
    )


@jit
def relax(i, K, omega, old, out, x):
    """Relax the step of block i: out <- P_K(old + omega (out - old)).   old, out (d,), x (n,) work."""
    a, d = K.offset[i], K.offset[i + 1] - K.offset[i]
    for k in range(d):
        x[a + k] = old[k] + omega * (out[k] - old[k])
    cones.project_block(i, K, x, x)
    for k in range(d):
        out[k] = x[a + k]


@jit
def stay(problem, r):
    """Do nothing: `follow` for sweeps without quantities that depend on r."""


@jit
def prepare(diagonal_blocks, K, W, u_free, omega):
    """Return (problem, work) for blocks of any kind.

    diagonal_blocks(W, offset, local, local_start, diagonal) writes the blocks W_ii to `local` and their
    diagonal (n,) to `diagonal`. The inverse of a singular free block is set to zero.
    """
    # 1. Positions of the blocks in `local`.
    nb, n, size, d = K.kind.shape[0], u_free.shape[0], 0, 1
    start = np.empty(nb, np.int64)
    for i in range(nb):
        start[i], block_size = size, K.offset[i + 1] - K.offset[i]
        size += block_size * block_size + extras(i, K)
        d = max(d, block_size)
    local, spare = np.zeros(size), np.empty((2 * d + 2, 2 * d + 2))
    work = Work(np.zeros(K.coefficient.shape[0]), np.empty((4, n)), np.empty((4, d)), spare)
    # 2. W_ii of each block, and the numbers that its local solve needs.
    diagonal = work.vectors[0]
    diagonal_blocks(W, K.offset, local, start, diagonal)
    for i in range(nb):
        block_size = K.offset[i + 1] - K.offset[i]
        if K.kind[i] == cones.FREE:
            invert(local, start[i], block_size)
        elif K.kind[i] == cones.FRICTION and block_size > 2:
            if cones.is_coulomb(i, K):
                local_solver.prepare_coulomb3(local, start[i])
            else:
                friction.prepare_friction(local, start[i], block_size, spare)
    return Swept(K, W, local, start, residuals.metric(K, diagonal), u_free, omega, 0), work


@jit
def prepare_coulomb(diagonal_blocks, K, W, u_free):
    """Return (problem, work), as `prepare`, for Coulomb contacts of one dimension only."""
    nc, n = K.kind.shape[0], u_free.shape[0]
    d = n // max(nc, 1)
    stride = 4 if d == 2 else 9 + local_solver.EXTRAS_3
    local, start, vectors = np.empty(stride * nc), stride * np.arange(nc), np.empty((4, n))
    diagonal_blocks(W, K.offset, local, start, vectors[0])
    if d == 3:
        for i in range(nc):
            local_solver.prepare_coulomb3(local, start[i])
    scales, nothing = residuals.metric(K, vectors[0]), np.empty((0, 0))
    problem = Swept(K, W, local, start, scales, u_free, 1.0, 0)
    return problem, Work(np.zeros(nc), vectors, nothing, nothing)


@jit
def extras(i, K):
    """Return how many numbers follow W_ii of block i in `local`."""
    d = K.offset[i + 1] - K.offset[i]
    if K.kind[i] == cones.FREE:
        return d * d
    if K.kind[i] == cones.FRICTION and d > 2:
        return local_solver.EXTRAS_3 if cones.is_coulomb(i, K) else friction.EXTRAS + (d - 1) * d
    return 0


@jit
def invert(local, at, d):
    """Write the inverse of the block at local[at:] after it, column by column; zero if it is singular."""
    J, b = np.empty((d, d)), np.empty(d)
    for c in range(d):
        for i in range(d):
            b[i] = 1.0 if i == c else 0.0
            for j in range(d):
                J[i, j] = local[at + i * d + j]
        if lu_solve(J, b, d):
            for i in range(d):
                local[at + d * d + i * d + c] = b[i]
