"""Sweeps over the contacts on W in blocks: q_i = u_free_i + sum_{j != i} W_ij r_j, solve, next.

Arrays of the set (7), of W in blocks (5), then `local` (see `local.py`). No allocation in sweeps.
"""

from stickslip.kernels import blocks, cones, friction, residuals, schedule
from stickslip.kernels import local as one
from stickslip.kernels.jit import jit


@jit
def relax(i, set_kind, offset, lower, upper, group_offset, group_size, coefficient, omega, r, at, out, x):
    """out <- P_K(r + omega (out - r)) on block i at r[at:]; returns the squared change.   x (n,) work."""
    d = offset[i + 1] - offset[i]
    if omega != 1.0:
        for k in range(d):
            x[at + k] = r[at + k] + omega * (out[k] - r[at + k])
        cones.project_block(i, set_kind, offset, lower, upper, group_offset, group_size, coefficient, x, x)
        for k in range(d):
            out[k] = x[at + k]
    moved = 0.0
    for k in range(d):
        step = out[k] - r[at + k]
        moved += step * step
    return moved


@jit
def sweep_coulomb3(row_start, column, data, coefficient, local, u_free, r, kappa):
    """One sweep over 3D Coulomb contacts; returns the squared change of r.   r, u_free (3 nc,)."""
    moved = 0.0
    for i in range(row_start.shape[0] - 1):
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
        n, t1, t2, kappa[i] = one.coulomb3(local, 16 * i, q0, q1, q2, coefficient[i], kappa[i])
        d0, d1, d2 = n - r[a], t1 - r[a + 1], t2 - r[a + 2]
        moved += d0 * d0 + d1 * d1 + d2 * d2
        r[a], r[a + 1], r[a + 2] = n, t1, t2
    return moved


@jit
def sweep_coulomb2(row_start, column, data, coefficient, local, u_free, r):
    """One sweep over 2D Coulomb contacts; returns the squared change of r.   r, u_free (2 nc,)."""
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
        n, t = one.coulomb2(local, 4 * i, q0, q1, coefficient[i])
        d0, d1 = n - r[a], t - r[a + 1]
        moved += d0 * d0 + d1 * d1
        r[a], r[a + 1] = n, t
    return moved


@jit
def sweep(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    row_start, column, data_start, data, local, local_start, u_free, omega, r, kappa, q, old, out, work, x,
):  # fmt: skip
    """One sweep over blocks of any kind; returns the squared change of r.

    q, old, out (d,) with d the largest block; work of the local solve; x (n,) work.
    """
    moved = 0.0
    for i in range(kind.shape[0]):
        a, d = offset[i], offset[i + 1] - offset[i]
        for k in range(d):
            q[k], old[k] = u_free[a + k], r[a + k]
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            start, c, e = data_start[b], offset[j], offset[j + 1] - offset[j]
            if j == i:
                # Nothing, or the proximal term that `local` carries for a singular W_ii.
                start_local = local_start[i]
                for k in range(d * d):
                    q[k // d] += (data[start + k] - local[start_local + k]) * old[k % d]
                continue
            for k in range(d):
                s = 0.0
                for m in range(e):
                    s += data[start + m] * r[c + m]
                q[k] += s
                start += e
        one.solve_block(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient,
            local, local_start, q, old, kappa, work, out,
        )  # fmt: skip
        moved += relax(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient, omega, r, a, out, x
        )
        for k in range(d):
            r[a + k] = out[k]
    return moved


@jit
def prepare(
    kind, offset, group_offset, group_size, coefficient,
    row_start, column, data_start, data, local, local_start, work, rho, length, coefficient_scaled, diagonal,
):  # fmt: skip
    """Copy W_ii of each block into `local` and fill what follows it, and the scales of the judge.

    Inverses of free blocks are the caller's. work as `friction` wants it; diagonal (n,) work.
    """
    copy_diagonal_blocks(offset, row_start, column, data_start, data, local, local_start, diagonal)
    for i in range(kind.shape[0]):
        prepare_block(i, kind, group_offset, offset[i + 1] - offset[i], local, local_start[i], work)
    residuals.metric(
        kind, offset, group_offset, group_size, coefficient, diagonal, rho, length, coefficient_scaled
    )


@jit
def copy_diagonal_blocks(offset, row_start, column, data_start, data, local, local_start, diagonal):
    """local, diagonal <- W_ii of each block at its place, and the diagonal of W."""
    for i in range(row_start.shape[0] - 1):
        d, at = offset[i + 1] - offset[i], local_start[i]
        for b in range(row_start[i], row_start[i + 1]):
            if column[b] == i:
                for k in range(d * d):
                    local[at + k] = data[data_start[b] + k]
        for k in range(d):
            diagonal[offset[i] + k] = local[at + k * d + k]


@jit
def prepare_block(i, kind, group_offset, d, local, at, work):
    """Fill the extras of block i after its W_ii."""
    if kind[i] == cones.FRICTION:
        groups = group_offset[i + 1] - group_offset[i]
        if d == 3 and groups == 1:
            one.prepare_coulomb3(local, at)
        elif d > 2:
            friction.prepare_friction(local, at, d, work)


@jit
def look(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    rho, length, coefficient_scaled, u_free, tolerance, r, best, vectors, measures, control, history,
):  # fmt: skip
    """Ask the judge about r, whose velocities stand in vectors[0], and let the schedule decide."""
    u, x, y, ones, r_mark = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    for k in range(r.shape[0]):
        ones[k] = 1.0
    residuals.stop_measures(
        kind, offset, lower, upper, group_offset, group_size, coefficient,
        rho, length, coefficient_scaled, ones, r, u, u_free, x, y, measures,
    )  # fmt: skip
    natural, scaled = measures[residuals.NATURAL], measures[residuals.SCALED]
    if schedule.look(control, history, natural, scaled, tolerance, r, r_mark):
        for k in range(r.shape[0]):
            best[k] = r[k]


@jit
def run(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    row_start, column, data_start, data, local, local_start,
    rho, length, coefficient_scaled, u_free, omega, tolerance, budget,
    r, best, kappa, vectors, bench, control, history,
):  # fmt: skip
    """Sweep and look at the judge until solved, stopped, or `budget` sweeps are done.

    r (n,) is the iterate, best (n,) the best one by the judge; vectors (5, n) and bench
    (measures, q, old, out, then the local solve's) are work.
    """
    schedule.begin(control)
    while schedule.goes_on(control, budget):
        if schedule.is_due(control, budget):
            blocks.multiply(offset, row_start, column, data_start, data, r, u_free, vectors[0])
            look(
                kind, offset, lower, upper, group_offset, group_size, coefficient, rho, length,
                coefficient_scaled, u_free, tolerance, r, best, vectors, bench[0], control, history,
            )  # fmt: skip
        else:
            moved = sweep(
                kind, offset, lower, upper, group_offset, group_size, coefficient,
                row_start, column, data_start, data, local, local_start, u_free, omega,
                r, kappa, bench[1], bench[2], bench[3], bench[4:], vectors[1],
            )  # fmt: skip
            schedule.swept(control, moved)


@jit
def prepare_coulomb3(
    kind, offset, group_offset, group_size, coefficient,
    row_start, column, data_start, data, local, local_start, rho, length, coefficient_scaled, diagonal,
):  # fmt: skip
    """`prepare` when all contacts are Coulomb's in 3D."""
    copy_diagonal_blocks(offset, row_start, column, data_start, data, local, local_start, diagonal)
    for i in range(kind.shape[0]):
        one.prepare_coulomb3(local, local_start[i])
    residuals.metric(
        kind, offset, group_offset, group_size, coefficient, diagonal, rho, length, coefficient_scaled
    )


@jit
def run_coulomb3(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    row_start, column, data_start, data, local, local_start,
    rho, length, coefficient_scaled, u_free, omega, tolerance, budget,
    r, best, kappa, vectors, bench, control, history,
):  # fmt: skip
    """`prepare` and `run` when all contacts are Coulomb's in 3D and nothing is relaxed.

    In one call, and without what other blocks would need to be compiled (omega is not read).
    """
    if control[schedule.STATE] == schedule.NEW:
        prepare_coulomb3(
            kind, offset, group_offset, group_size, coefficient, row_start, column, data_start, data,
            local, local_start, rho, length, coefficient_scaled, vectors[0],
        )  # fmt: skip
    schedule.begin(control)
    while schedule.goes_on(control, budget):
        if schedule.is_due(control, budget):
            blocks.multiply(offset, row_start, column, data_start, data, r, u_free, vectors[0])
            look(
                kind, offset, lower, upper, group_offset, group_size, coefficient, rho, length,
                coefficient_scaled, u_free, tolerance, r, best, vectors, bench[0], control, history,
            )  # fmt: skip
        else:
            moved = sweep_coulomb3(row_start, column, data, coefficient, local, u_free, r, kappa)
            schedule.swept(control, moved)
