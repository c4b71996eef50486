"""Gauss-Seidel sweeps without W, on the mass-scaled velocities of the bodies, by the loop of `sweeps.py`.

W = J J'. The sweeps store w = J' r: u_i = J_i w + u_free_i, and after the local solve of contact i,
w += J_i' (r_i - r_i_old).
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import blocks, cones, contact_law, sweeps
from stickslip.kernels import local as local_solver
from stickslip.kernels.jit import jit


class BodyW(NamedTuple):
    """W = J J' over bodies of k velocities; an additional last body, at rest, represents fixed sides."""

    bodies: Any
    """Bodies of each contact, shape (nb, 2)."""
    rows: Any
    """J [kg^-1/2], shape (n, 2, k); zero on fixed sides."""
    w: Any
    """J' r, shape (bodies + 1, k)."""
    isotropic: Any
    """1/W_NN and 1/W_TT [kg] of 3D Coulomb contacts with W_ii = diag(W_NN, W_TT, W_TT), such as those of
    spheres, for `local.isotropic3`; zero for all others, shape (nb, 2)."""


@jit
def sweep_coulomb3(problem, work, r):
    """Make one sweep over 3D Coulomb contacts between rigid bodies; return the squared change of r.

    Sums are split into short independent chains, since the longest dependent chain limits the speed.
    """
    bodies, rows, w, isotropic = problem.W
    local, coefficient, u_free, kappa = problem.local, problem.K.coefficient, problem.u_free, work.kappa
    moved = 0.0
    for i in range(bodies.shape[0]):
        # 1. u_i = u_free_i + J_i w.
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
        # 2. Local solve.
        r0, r1, r2 = r[a], r[a + 1], r[a + 2]
        if isotropic[i, 0] > 0.0:
            n, t1, t2 = local_solver.isotropic3(
                isotropic[i, 0], isotropic[i, 1], coefficient[i], r0, r1, r2, u0, u1, u2
            )
        else:
            at = 16 * i
            q0 = u0 - (local[at] * r0 + local[at + 1] * r1 + local[at + 2] * r2)
            q1 = u1 - (local[at + 3] * r0 + local[at + 4] * r1 + local[at + 5] * r2)
            q2 = u2 - (local[at + 6] * r0 + local[at + 7] * r1 + local[at + 8] * r2)
            n, t1, t2, kappa[i] = local_solver.coulomb3(local, at, q0, q1, q2, coefficient[i], kappa[i])
        # 3. w += J_i' (r_i - r_i_old).
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
def sweep(problem, work, r):
    """Make one sweep over blocks of any kind; return the squared change of r."""
    K, local, local_start, omega, u_free = (
        problem.K, problem.local, problem.local_start, problem.omega, problem.u_free,
    )  # fmt: skip
    bodies, rows, w, _ = problem.W
    q, old, out, offset, moved = work.bench[0], work.bench[1], work.bench[2], K.offset, 0.0
    for i in range(bodies.shape[0]):
        # 1. q_i = u_free_i + J_i w - W_ii r_i.
        a, d, at, b, c = offset[i], offset[i + 1] - offset[i], local_start[i], bodies[i, 0], bodies[i, 1]
        for k in range(d):
            old[k] = r[a + k]
        for k in range(d):
            s = u_free[a + k]
            for m in range(w.shape[1]):
                s += rows[a + k, 0, m] * w[b, m] + rows[a + k, 1, m] * w[c, m]
            for m in range(d):
                s -= local[at + k * d + m] * old[m]
            q[k] = s
        # 2. Local solve, relaxation, w += J_i' (r_i - r_i_old).
        local_solver.solve_block(i, K, local, local_start, q, old, work.kappa, work.spare, out)
        if omega != 1.0:
            sweeps.relax(i, K, omega, old, out, work.vectors[1])
        for k in range(d):
            step = out[k] - old[k]
            if step == 0.0:
                continue
            moved += step * step
            r[a + k] = out[k]
            for m in range(w.shape[1]):
                w[b, m] += rows[a + k, 0, m] * step
                w[c, m] += rows[a + k, 1, m] * step
    return moved


@jit
def follow(problem, r):
    """w <- J' r, after r has changed outside a sweep, and to discard the rounding errors of updates of w."""
    blocks.blocks_to_bodies(problem.W.bodies, problem.K.offset, problem.W.rows, r, problem.W.w)


@jit
def velocities(problem, r, u):
    """u <- J w + u_free."""
    W = problem.W
    blocks.bodies_to_blocks(W.bodies, problem.K.offset, W.rows, W.w, problem.u_free, u)


@jit
def diagonal_blocks(W, offset, local, local_start, diagonal):
    """local, diagonal <- W_ii = J_i J_i' of each block at its position, and the diagonal of W (n,)."""
    rows = W.rows
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
def over_bodies(bodies, rows, count):
    """Return the `BodyW` of rows over `count` bodies, with w = 0; bodies (nb, 2) has -1 for a fixed side."""
    body_index = np.empty(bodies.shape, np.int64)
    for i in range(bodies.shape[0]):
        for side in range(2):
            body_index[i, side] = bodies[i, side] if bodies[i, side] >= 0 else count
    return BodyW(body_index, rows, np.zeros((count + 1, rows.shape[2])), np.zeros((bodies.shape[0], 2)))


@jit
def prepare(K, W, u_free, omega):
    """Return (problem, work) of sweeps over blocks of any kind."""
    return sweeps.prepare(diagonal_blocks, K, W, u_free, omega)


@jit
def prepare_coulomb3(K, W, u_free, omega):
    """Return (problem, work) of sweeps over 3D Coulomb contacts; omega is not read."""
    problem, work = sweeps.prepare_coulomb(diagonal_blocks, K, W, u_free)
    local = problem.local
    for i in range(K.kind.shape[0]):
        at = problem.local_start[i]
        if local[at + 15] == local_solver.ISOTROPIC:
            W.isotropic[i, 0], W.isotropic[i, 1] = local[at + 9], local[at + 14]
    return problem, work


@jit
def run(problem, work, memory, tolerance, budget, course):
    """Call `sweeps.run` for blocks of any kind; course: r, best, control and history."""
    r, best, control, history = course
    sweeps.run(
        sweep, velocities, follow, contact_law.natural_map, cones.project,
        problem, work, memory, tolerance, budget, r, best, control, history,
    )  # fmt: skip


@jit
def run_coulomb3(problem, work, memory, tolerance, budget, course):
    """Call `sweeps.run` for 3D Coulomb contacts between bodies of six velocities."""
    r, best, control, history = course
    sweeps.run(
        sweep_coulomb3, velocities, follow, contact_law.no_map, cones.project_contacts,
        problem, work, memory, tolerance, budget, r, best, control, history,
    )  # fmt: skip
