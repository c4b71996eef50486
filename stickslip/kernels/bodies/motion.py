"""Motion of all bodies of a world over a step: to the middle, after forces, and to the end with impulses.

bodies: `BodyArrays`; blocks: `Blocks`; q (n, 7) and v (n, 6): see `State`.
"""

import numpy as np

from stickslip.kernels.bodies.layout import Energies
from stickslip.kernels.bodies.rotation import spin_freely, times, turn, turned
from stickslip.kernels.jit import jit

NOTHING = 1e-100
"""Velocities below this are set to zero [m/s, rad/s]. Otherwise rounding errors that decay from step to step
would reach numbers whose squares underflow."""


@jit
def move_along(q, v, h, out):
    """out (n, 7) <- poses q (n, 7) of all bodies moved by h v.   v (n, 6)."""
    for i in range(q.shape[0]):
        turn(q[i], v[i], h, out[i])


@jit
def move_half(row, J, J_inverse, q, v, h, q_half, v_half):
    """q_half, v_half <- poses and velocities of all bodies after a time h; v_half may be v.

    J, J_inverse (n, 3, 3). Dynamic bodies move freely: they rotate by the Cayley map of the mean of both
    angular velocities, which conserves spatial angular momentum. Other bodies move with their velocity.
    """
    mean = np.empty(6, v.dtype)
    for i in range(row.shape[0]):
        for k in range(6):
            v_half[i, k] = mean[k] = v[i, k]
        if row[i] >= 0:
            v_half[i, 3], v_half[i, 4], v_half[i, 5] = spin_freely(
                J[i], J_inverse[i], mean[3], mean[4], mean[5], h
            )
            for k in range(3, 6):
                mean[k] = 0.5 * (mean[k] + v_half[i, k])
        turn(q[i], mean, h, q_half[i])


@jit
def prescribe(body, velocity, q, v):
    """v (6 n,) <- velocities and angular velocities (inertial) `velocity` (nm, 6) of kinematic bodies.

    q (7 n,): poses of all bodies.
    """
    for i in range(body.shape[0]):
        p, w = q[7 * body[i] + 3 : 7 * body[i] + 7], 6 * body[i]
        for k in range(3):
            v[w + k] = velocity[i, k]
        v[w + 3], v[w + 4], v[w + 5] = turned(
            p[0], -p[1], -p[2], -p[3], velocity[i, 3], velocity[i, 4], velocity[i, 5]
        )


@jit
def accelerate(m, J, J_inverse, fall, push, v, v_free, f):
    """v_free, f (6,) <- velocity and momentum of a body after gravity and an impulse `push` (6,).

    fall (3,): velocity that gravity adds.
    """
    t0, t1, t2 = times(J_inverse, push[3], push[4], push[5])
    for k in range(3):
        v_free[k] = v[k] + fall[k] + push[k] / m
        f[k] = m * v_free[k]
    v_free[3], v_free[4], v_free[5] = v[3] + t0, v[4] + t1, v[5] + t2
    f[3], f[4], f[5] = times(J, v_free[3], v_free[4], v_free[5])


@jit
def push_freely(bodies, q, v, F, h, v_free):
    """v_free (n, 6) <- velocities after all forces of the step have acted at its middle.

    Return (momenta f (nd, 6) at v_free, result of `fastest`). v (n, 6): velocities before the forces. On
    entry, v_free has the velocities of bodies without dynamics at the end of the step. F (3, n, 6), or (3, 0,
    6) for no forces.
    """
    f, total, fall = np.empty((bodies.M.shape[0], 6)), np.zeros(6), np.empty(3)
    for k in range(3):
        fall[k] = h * bodies.gravity[k]
    for i in range(bodies.row.shape[0]):
        b = bodies.row[i]
        if b >= 0:
            if F.shape[1] > 0:
                for k in range(6):
                    total[k] = h * (F[0, i, k] + F[1, i, k] + F[2, i, k])
            accelerate(
                bodies.mass[i], bodies.J[i], bodies.J_inverse[i], fall, total, v[i], v_free[i], f[b]
            )  # fmt: skip
    return f, fastest(speeds(bodies, q, v_free))


@jit
def speeds(bodies, q, v):
    """Return bounds (n,) on the speeds of those points of each body that dynamic bodies can reach [m/s]."""
    n, out = v.shape[0], np.empty(v.shape[0])
    for i in range(n):
        linear = np.sqrt(v[i, 0] * v[i, 0] + v[i, 1] * v[i, 1] + v[i, 2] * v[i, 2])
        spin = np.sqrt(v[i, 3] * v[i, 3] + v[i, 4] * v[i, 4] + v[i, 5] * v[i, 5])
        reach = bodies.radius[i]
        if spin > 0.0 and not reach < np.inf:  # a rotating plane: up to the farthest body
            reach = 0.0
            for j in range(n):
                if bodies.row[j] >= 0:
                    x, y, z = q[j, 0] - q[i, 0], q[j, 1] - q[i, 1], q[j, 2] - q[i, 2]
                    reach = max(reach, np.sqrt(x * x + y * y + z * z) + bodies.radius[j])
        out[i] = linear + spin * reach if spin > 0.0 else linear + spin
    return out


@jit
def fastest(speed):
    """Return (first body whose speed is not finite or -1, largest speed, second largest speed [m/s])."""
    bad, first, second = -1, 0.0, 0.0
    for i in range(speed.shape[0]):
        if not speed[i] < np.inf and bad < 0:
            bad = i
        if speed[i] > first:
            second, first = first, speed[i]
        elif speed[i] > second:
            second = speed[i]
    return bad, first, second


@jit
def rate(sides, row, v):
    """Return row (2, 6) times velocities v (n, 6) of its bodies `sides` (2,), -1 for the inertial frame."""
    s = 0.0
    for side in range(2):
        b = sides[side]
        if b >= 0:
            for k in range(6):
                s += row[side, k] * v[b, k]
    return s


@jit
def least_rate(sign, sides, row, v_start, v_free):
    """Return the smallest rate of sign * row (2, 6) when each side moves with v_start or with v_free.

    A predicted gap must use this rate: in free fall no contact of a stack closes, although each of them will
    carry a load, since the body below may be supported.
    """
    u = 0.0
    for side in range(2):
        b = sides[side]
        if b >= 0:
            held = moves = 0.0
            for k in range(6):
                held += sign * row[side, k] * v_start[b, k]
                moves += sign * row[side, k] * v_free[b, k]
            u += min(held, moves)
    return u


@jit
def add_impulse(bodies, rows, r, side, b, first, end, v):
    """v (n, 6) <- v + M⁻¹ H r for body b, which is `side` of the rows from `first` to `end` - 1."""
    p0 = p1 = p2 = p3 = p4 = p5 = 0.0
    for j in range(first, end):
        p0 += rows[j, side, 0] * r[j]
        p1 += rows[j, side, 1] * r[j]
        p2 += rows[j, side, 2] * r[j]
        p3 += rows[j, side, 3] * r[j]
        p4 += rows[j, side, 4] * r[j]
        p5 += rows[j, side, 5] * r[j]
    m = bodies.mass[b]
    v[b, 0] += p0 / m
    v[b, 1] += p1 / m
    v[b, 2] += p2 / m
    t0, t1, t2 = times(bodies.J_inverse[b], p3, p4, p5)
    v[b, 3] += t0
    v[b, 4] += t1
    v[b, 5] += t2


@jit
def arrive(bodies, blocks, r, free, span, q_end, v_end):
    """q_end, v_end <- poses and velocities at the end of the step. Return (u, `Energies`).

    free: `FreeMotion`; span: `Span`. Impulses act at the middle of the step, on v_free; then follows the
    second part of the free motion, of length θ h. u (p,): velocities of the rows after the impulses. The
    change of kinetic energy equals the impulses times the mean of the velocities before and after them.
    """
    # 1. v <- v_free + M⁻¹ H r, blocks in their order; u and the work of the impulses.
    n, rows, v = v_end.shape[0], blocks.rows, v_end
    for i in range(n):
        for k in range(6):
            v[i, k] = free.v_free[i, k]
    for i in range(blocks.sides.shape[0]):
        for side in range(2):
            b = blocks.sides[i, side]
            if b >= 0 and bodies.row[b] >= 0:
                add_impulse(bodies, rows, r, side, b, blocks.offset[i], blocks.offset[i + 1], v)
    for i in range(n):
        for k in range(6):
            if abs(v[i, k]) < NOTHING:
                v[i, k] = 0.0
    u, _, lost, driven = block_work(bodies.row, blocks, r, free.v_start, v)
    damped, worked, driven = force_work(bodies.row, free.F, span.h, free.v_start, v, driven)
    # 2. Second part of the free motion.
    move_half(bodies.row, bodies.J, bodies.J_inverse, free.q_m, v, span.reach, q_end, v)
    # 3. Energies at both ends of the step.
    kinetic_before, weight_before = energies(bodies, free.q, free.v)
    kinetic, weight = energies(bodies, q_end, v)
    return u, Energies(kinetic_before, kinetic, weight_before, weight, lost, driven, damped, worked)


@jit
def block_work(row, blocks, r, v_before, v):
    """Return (u, u_before, lost, driven) of impulses r (p,) that change velocities from v_before to v (n, 6).

    u, u_before (p,): velocities of the rows; lost, driven: see `Energies`, impulses times the mean velocity.
    """
    u, u_before, lost, driven = np.zeros(r.shape[0]), np.zeros(r.shape[0]), 0.0, 0.0
    for i in range(blocks.sides.shape[0]):
        for j in range(blocks.offset[i], blocks.offset[i + 1]):
            for side in range(2):
                b = blocks.sides[i, side]
                if b >= 0:
                    first = last = 0.0
                    for k in range(6):
                        first += blocks.rows[j, side, k] * v_before[b, k]
                        last += blocks.rows[j, side, k] * v[b, k]
                    u[j] += last
                    u_before[j] += first
                    lost -= 0.5 * r[j] * (first + last)
                    if row[b] < 0:
                        driven -= 0.5 * r[j] * (first + last)
    return u, u_before, lost, driven


@jit
def force_work(row, F, h, v_before, v, driven):
    """Return (damped, worked, driven) of `Energies` for forces F (3, n, 6), or (3, 0, 6), during a time h.

    driven: value that their part of this term is added to.
    """
    damped, worked = 0.0, 0.0
    for i in range(F.shape[1]):
        for k in range(6):
            way = 0.5 * h * (v_before[i, k] + v[i, k])
            damped -= F[1, i, k] * way
            if row[i] >= 0:
                worked += F[2, i, k] * way
            else:  # the drive of a kinematic body does work against its springs and dampers
                driven -= (F[0, i, k] + F[1, i, k]) * way
    return damped, worked, driven


@jit
def energies(bodies, q, v):
    """Return (kinetic energy, potential energy of gravity) of the dynamic bodies [J]."""
    kinetic, weight = 0.0, 0.0
    for i in range(bodies.row.shape[0]):
        if bodies.row[i] >= 0:
            m, w = bodies.mass[i], v[i]
            P0, P1, P2 = times(bodies.J[i], w[3], w[4], w[5])
            kinetic += 0.5 * (
                m * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) + (w[3] * P0 + w[4] * P1 + w[5] * P2)
            )
            for k in range(3):
                weight -= m * bodies.gravity[k] * q[i, k]
    return kinetic, weight
