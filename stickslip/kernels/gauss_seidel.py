"""Gauss-Seidel sweeps for W in blocks (`BlockW`), by the loop of `sweeps.py`."""

from stickslip.kernels import anderson, blocks, cones, contact_law, sweeps
from stickslip.kernels import local as local_solver
from stickslip.kernels.jit import jit


@jit
def sweep_coulomb3(problem, work, r):
    """Make one sweep over 3D Coulomb contacts; return the squared change of r."""
    row_start, column, data = problem.W.row_start, problem.W.column, problem.W.data
    local, coefficient, u_free, kappa = problem.local, problem.K.coefficient, problem.u_free, work.kappa
    moved = 0.0
    for i in range(row_start.shape[0] - 1):
        # 1. q_i = u_free_i + sum_{j != i} W_ij r_j.
        a = 3 * i
        q0, q1, q2 = u_free[a], u_free[a + 1], u_free[a + 2]
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            if j == i:
                continue
            c, k = 3 * j, 9 * b
            r0, r1, r2 = r[c], r[c + 1], r[c + 2]
            q0 += data[k] * r0 + data[k + 1] * r1 + data[k + 2] * r2
            q1 += data[k + 3] * r0 + data[k + 4] * r1 + data[k + 5] * r2
            q2 += data[k + 6] * r0 + data[k + 7] * r1 + data[k + 8] * r2
        # 2. Local solve; W_ii and its extras take 16 numbers in `local`.
        n, t1, t2, kappa[i] = local_solver.coulomb3(local, 16 * i, q0, q1, q2, coefficient[i], kappa[i])
        d0, d1, d2 = n - r[a], t1 - r[a + 1], t2 - r[a + 2]
        moved += d0 * d0 + d1 * d1 + d2 * d2
        r[a], r[a + 1], r[a + 2] = n, t1, t2
    return moved


@jit
def sweep_coulomb2(problem, work, r):
    """Make one sweep over 2D Coulomb contacts; return the squared change of r."""
    row_start, column, data = problem.W.row_start, problem.W.column, problem.W.data
    local, coefficient, u_free = problem.local, problem.K.coefficient, problem.u_free
    moved = 0.0
    for i in range(row_start.shape[0] - 1):
        a = 2 * i
        q0, q1 = u_free[a], u_free[a + 1]
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            if j == i:
                continue
            c, k = 2 * j, 4 * b
            r0, r1 = r[c], r[c + 1]
            q0 += data[k] * r0 + data[k + 1] * r1
            q1 += data[k + 2] * r0 + data[k + 3] * r1
        n, t = local_solver.coulomb2(local, 4 * i, q0, q1, coefficient[i])
        d0, d1 = n - r[a], t - r[a + 1]
        moved += d0 * d0 + d1 * d1
        r[a], r[a + 1] = n, t
    return moved


@jit
def sweep_coulomb(problem, work, r):
    """Make one sweep over Coulomb contacts of one dimension; return the squared change of r."""
    if r.shape[0] == 3 * problem.K.kind.shape[0]:
        return sweep_coulomb3(problem, work, r)
    return sweep_coulomb2(problem, work, r)


@jit
def sweep_by(solve, problem, work, r):
    """Make one sweep over blocks of any kind; return the squared change of r.

    solve(i, problem, work) solves the local problem of block i, as `sweeps.solve_exactly`.
    """
    K, local, local_start, omega = problem.K, problem.local, problem.local_start, problem.omega
    offset, row_start, column, data_start, data = problem.W
    q, old, out, u_free = work.bench[0], work.bench[1], work.bench[2], problem.u_free
    moved = 0.0
    for i in range(row_start.shape[0] - 1):
        # 1. q_i = u_free_i + sum_{j != i} W_ij r_j.
        a, d = offset[i], offset[i + 1] - offset[i]
        for k in range(d):
            q[k], old[k] = u_free[a + k], r[a + k]
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            start, c, e = data_start[b], offset[j], offset[j + 1] - offset[j]
            if j == i:
                # zero, or the proximal term that `prepare_friction` has added to a singular W_ii in `local`
                at = local_start[i]
                for k in range(d * d):
                    q[k // d] += (data[start + k] - local[at + k]) * old[k % d]
                continue
            for k in range(d):
                s = 0.0
                for m in range(e):
                    s += data[start + m] * r[c + m]
                q[k] += s
                start += e
        # 2. Local solve, relaxation, update.
        solve(i, problem, work)
        if omega != 1.0:
            sweeps.relax(i, K, omega, old, out, work.vectors[1])
        for k in range(d):
            step = out[k] - old[k]
            moved += step * step
            r[a + k] = out[k]
    return moved


@jit
def sweep(problem, work, r):
    """Make one sweep over blocks of any kind; return the squared change of r."""
    return sweep_by(sweeps.solve_exactly, problem, work, r)


@jit
def velocities(problem, r, u):
    """u <- W r + u_free."""
    blocks.multiply(problem.W, r, problem.u_free, u)


@jit
def diagonal_blocks(W, offset, local, local_start, diagonal):
    """local, diagonal <- W_ii of each block at its position, and the diagonal of W (n,)."""
    for i in range(offset.shape[0] - 1):
        d, at = offset[i + 1] - offset[i], local_start[i]
        for b in range(W.row_start[i], W.row_start[i + 1]):
            if W.column[b] == i:
                for k in range(d * d):
                    local[at + k] = W.data[W.data_start[b] + k]
        for k in range(d):
            diagonal[offset[i] + k] = local[at + k * d + k]


@jit
def prepare(K, W, u_free, omega):
    """Return (problem, work) of sweeps over blocks of any kind."""
    return sweeps.prepare(diagonal_blocks, K, W, u_free, omega)


@jit
def prepare_coulomb(K, W, u_free):
    """Return (problem, work) of sweeps over Coulomb contacts of one dimension."""
    return sweeps.prepare_coulomb(diagonal_blocks, K, W, u_free)


@jit
def run(problem, work, memory, tolerance, budget, course):
    """Call `sweeps.run` for blocks of any kind; course: r, best, control and history."""
    r, best, control, history = course
    sweeps.run(
        sweep, velocities, sweeps.stay, contact_law.natural_map, cones.project,
        problem, work, memory, tolerance, budget, r, best, control, history,
    )  # fmt: skip


@jit
def run_coulomb(problem, work, memory, tolerance, budget, course):
    """Call `sweeps.run` for Coulomb contacts of one dimension."""
    r, best, control, history = course
    sweeps.run(
        sweep_coulomb, velocities, sweeps.stay, contact_law.no_map, cones.project_contacts,
        problem, work, memory, tolerance, budget, r, best, control, history,
    )  # fmt: skip


@jit
def solve_coulomb(K, W, u_free, tolerance, budget, course):
    """Call `prepare_coulomb` and `run_coulomb`; K, W: a `Cones` and a `BlockW`, each as a plain tuple."""
    problem, work = prepare_coulomb(cones.Cones(*K), blocks.BlockW(*W), u_free)
    run_coulomb(problem, work, anderson.no_memory(), tolerance, budget, course)
