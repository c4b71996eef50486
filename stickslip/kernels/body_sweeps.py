"""Sweeps over the contacts without W: the velocities of the bodies are kept, in mass-scaled form.

W = J J'. With w = J' r kept up to date, u_i = J_i w + u_free_i; after contact i is solved,
w += J_i' (r_i - r_i_old). Arrays of the set (7), bodies (nb, 2), rows (n, 2, k), w (bodies + 1, k):
the last body is the fixed one, which never moves (its rows are zero).
"""

import math

from stickslip.kernels import blocks, gauss_seidel, residuals, schedule
from stickslip.kernels import local as one
from stickslip.kernels.jit import jit


@jit
def sweep_coulomb3(bodies, rows, coefficient, local, isotropic, u_free, r, kappa, w):
    """One sweep over 3D Coulomb contacts between bodies of six velocities; squared change of r.

    isotropic (nc, 2): 1/W_NN and 1/W_TT of contacts with W_ii = diag(W_NN, W_TT, W_TT), such as
    those of spheres, whose solve needs nothing else; zero for all others. Sums in short chains:
    the processor waits for the longest.
    """
    moved = 0.0
    for i in range(bodies.shape[0]):
        a, b, c = 3 * i, bodies[i, 0], bodies[i, 1]
        u0, u1, u2 = u_free[a], u_free[a + 1], u_free[a + 2]
        x0, x1, x2, y0, y1, y2, z0, z1, z2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(3):
            v, spin, v_other, spin_other = w[b, k], w[b, 3 + k], w[c, k], w[c, 3 + k]
            u0 += rows[a, 0, k] * v
            x0 += rows[a, 0, 3 + k] * spin
            y0 += rows[a, 1, k] * v_other
            z0 += rows[a, 1, 3 + k] * spin_other
            u1 += rows[a + 1, 0, k] * v
            x1 += rows[a + 1, 0, 3 + k] * spin
            y1 += rows[a + 1, 1, k] * v_other
            z1 += rows[a + 1, 1, 3 + k] * spin_other
            u2 += rows[a + 2, 0, k] * v
            x2 += rows[a + 2, 0, 3 + k] * spin
            y2 += rows[a + 2, 1, k] * v_other
            z2 += rows[a + 2, 1, 3 + k] * spin_other
        u0, u1, u2 = u0 + x0 + (y0 + z0), u1 + x1 + (y1 + z1), u2 + x2 + (y2 + z2)
        r0, r1, r2 = r[a], r[a + 1], r[a + 2]
        if isotropic[i, 0] > 0.0:
            n, t1, t2 = r0 - isotropic[i, 0] * u0, 0.0, 0.0
            if n > 0.0:
                t1, t2 = r1 - isotropic[i, 1] * u1, r2 - isotropic[i, 1] * u2
                limit, square = coefficient[i] * n, t1 * t1 + t2 * t2
                if square > limit * limit:
                    scale = limit / math.sqrt(square)
                    t1, t2 = scale * t1, scale * t2
            else:
                n = 0.0
        else:
            at = 16 * i
            q0 = u0 - (local[at] * r0 + local[at + 1] * r1 + local[at + 2] * r2)
            q1 = u1 - (local[at + 3] * r0 + local[at + 4] * r1 + local[at + 5] * r2)
            q2 = u2 - (local[at + 6] * r0 + local[at + 7] * r1 + local[at + 8] * r2)
            n, t1, t2, kappa[i] = one.coulomb3(local, at, q0, q1, q2, coefficient[i], kappa[i])
        d0, d1, d2 = n - r0, t1 - r1, t2 - r2
        change = d0 * d0 + d1 * d1 + d2 * d2
        if change == 0.0:
            continue
        moved += change
        r[a], r[a + 1], r[a + 2] = n, t1, t2
        for k in range(6):
            w[b, k] += rows[a, 0, k] * d0 + rows[a + 1, 0, k] * d1 + rows[a + 2, 0, k] * d2
            w[c, k] += rows[a, 1, k] * d0 + rows[a + 1, 1, k] * d1 + rows[a + 2, 1, k] * d2
    return moved


@jit
def sweep(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    bodies, rows, local, local_start, u_free, omega, r, kappa, w, q, old, out, work, x,
):  # fmt: skip
    """One sweep over blocks of any kind; squared change of r."""
    moved, size = 0.0, w.shape[1]
    for i in range(kind.shape[0]):
        a, d, at = offset[i], offset[i + 1] - offset[i], local_start[i]
        b, c = bodies[i, 0], bodies[i, 1]
        for k in range(d):
            old[k] = r[a + k]
        for k in range(d):
            s = u_free[a + k]
            for m in range(size):
                s += rows[a + k, 0, m] * w[b, m] + rows[a + k, 1, m] * w[c, m]
            for m in range(d):
                s -= local[at + k * d + m] * old[m]
            q[k] = s
        one.solve_block(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient,
            local, local_start, q, old, kappa, work, out,
        )  # fmt: skip
        change = gauss_seidel.relax(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient, omega, r, a, out, x
        )
        if change == 0.0:
            continue
        moved += change
        for k in range(d):
            step = out[k] - old[k]
            r[a + k] = out[k]
            for m in range(size):
                w[b, m] += rows[a + k, 0, m] * step
                w[c, m] += rows[a + k, 1, m] * step
    return moved


@jit
def prepare(
    kind, offset, group_offset, group_size, coefficient,
    rows, local, local_start, work, rho, length, coefficient_scaled, diagonal,
):  # fmt: skip
    """W_ii = J_i J_i' of each block into `local`, what follows it, and the scales of the judge."""
    own_blocks(offset, rows, local, local_start, diagonal)
    for i in range(kind.shape[0]):
        d = offset[i + 1] - offset[i]
        gauss_seidel.prepare_block(i, kind, group_offset, d, local, local_start[i], work)
    residuals.metric(
        kind, offset, group_offset, group_size, coefficient, diagonal, rho, length, coefficient_scaled
    )


@jit
def own_blocks(offset, rows, local, local_start, diagonal):
    """local, diagonal <- W_ii = J_i J_i' of each block at its place, and the diagonal of W."""
    for i in range(offset.shape[0] - 1):
        a, d, at = offset[i], offset[i + 1] - offset[i], local_start[i]
        for k in range(d):
            for m in range(k + 1):
                s = 0.0
                for side in range(2):
                    for n in range(rows.shape[2]):
                        s += rows[a + k, side, n] * rows[a + m, side, n]
                local[at + k * d + m] = s
                local[at + m * d + k] = s
        for k in range(d):
            diagonal[a + k] = local[at + k * d + k]


@jit
def refresh(bodies, offset, rows, u_free, r, w, u):
    """w <- J' r and u <- J w + u_free, afresh, so that rounding does not pile up in w."""
    blocks.blocks_to_bodies(bodies, offset, rows, r, w)
    blocks.bodies_to_blocks(bodies, offset, rows, w, u_free, u)


@jit
def run(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    bodies, rows, w, isotropic, local, local_start,
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
            refresh(bodies, offset, rows, u_free, r, w, vectors[0])
            gauss_seidel.look(
                kind, offset, lower, upper, group_offset, group_size, coefficient, rho, length,
                coefficient_scaled, u_free, tolerance, r, best, vectors, bench[0], control, history,
            )  # fmt: skip
        else:
            moved = sweep(
                kind, offset, lower, upper, group_offset, group_size, coefficient,
                bodies, rows, local, local_start, u_free, omega, r, kappa, w,
                bench[1], bench[2], bench[3], bench[4:], vectors[1],
            )  # fmt: skip
            schedule.swept(control, moved)


@jit
def prepare_coulomb3(
    kind, offset, group_offset, group_size, coefficient,
    rows, isotropic, local, local_start, rho, length, coefficient_scaled, diagonal,
):  # fmt: skip
    """`prepare` when all contacts are Coulomb's in 3D; isotropic (nc, 2) as the sweep wants it."""
    own_blocks(offset, rows, local, local_start, diagonal)
    for i in range(kind.shape[0]):
        at = local_start[i]
        one.prepare_coulomb3(local, at)
        short = local[at + 15] == one.ISOTROPIC
        isotropic[i, 0] = local[at + 9] if short else 0.0
        isotropic[i, 1] = local[at + 14] if short else 0.0
    residuals.metric(
        kind, offset, group_offset, group_size, coefficient, diagonal, rho, length, coefficient_scaled
    )


@jit
def run_coulomb3(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    bodies, rows, w, isotropic, local, local_start,
    rho, length, coefficient_scaled, u_free, omega, tolerance, budget,
    r, best, kappa, vectors, bench, control, history,
):  # fmt: skip
    """`prepare` and `run` when all contacts are Coulomb's in 3D and nothing is relaxed.

    In one call, and without what other blocks would need to be compiled (omega is not read).
    """
    if control[schedule.STATE] == schedule.NEW:
        prepare_coulomb3(
            kind, offset, group_offset, group_size, coefficient, rows, isotropic,
            local, local_start, rho, length, coefficient_scaled, vectors[0],
        )  # fmt: skip
    schedule.begin(control)
    while schedule.goes_on(control, budget):
        if schedule.is_due(control, budget):
            refresh(bodies, offset, rows, u_free, r, w, vectors[0])
            gauss_seidel.look(
                kind, offset, lower, upper, group_offset, group_size, coefficient, rho, length,
                coefficient_scaled, u_free, tolerance, r, best, vectors, bench[0], control, history,
            )  # fmt: skip
        else:
            moved = sweep_coulomb3(bodies, rows, coefficient, local, isotropic, u_free, r, kappa, w)
            schedule.swept(control, moved)
