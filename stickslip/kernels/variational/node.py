"""A node between two steps of the variational scheme: momenta with its forces, and free flight from it; at
the end of a step its energies, and the contacts and stops that have closed.

bodies: `BodyArrays`; blocks: `Blocks` at the start of the step; q (n, 7) and v (n, 6): see `State`.
"""

import math

import numpy as np

from stickslip.kernels.bodies.layout import Energies
from stickslip.kernels.bodies.motion import block_work, energies, fastest, force_work, speeds
from stickslip.kernels.bodies.rotation import solve3, times
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.momentum import momentum, momentum_slope

MOST_NEWTON = 40
"""Largest number of Newton iterations for a body in free flight (heuristic)."""


@jit
def leave(bodies, q, v, F, before, h):
    """Return (p, speed, result of `fastest`): momenta (n, 6) at the node with its forces, and bounds (n,) on
    the speeds of the points of each body, before and after the forces.

    v: velocities of the previous step, of length `before`; of bodies without dynamics those of this step, of
    length h. F (3, n, 6), or (3, 0, 6) for no forces.
    """
    n, share = bodies.row.shape[0], 0.5 * (before + h)
    p, v_after, w = np.zeros((n, 6)), v.copy(), np.empty(6)
    for i in range(n):
        m = bodies.mass[i]
        if bodies.row[i] >= 0:
            for k in range(3):
                w[k], w[3 + k] = m * bodies.gravity[k], 0.0
            if F.shape[1] > 0:
                for k in range(6):
                    w[k] += F[0, i, k] + F[1, i, k] + F[2, i, k]
            momentum(m, bodies.J[i], -before, v[i], p[i])  # at the end of the previous step
            for k in range(6):
                p[i, k] += share * w[k]
            t0, t1, t2 = times(bodies.J_inverse[i], w[3], w[4], w[5])
            for k in range(3):
                v_after[i, k] = p[i, k] / m
            v_after[i, 3], v_after[i, 4] = v[i, 3] + share * t0, v[i, 4] + share * t1
            v_after[i, 5] = v[i, 5] + share * t2
    first, last, speed = speeds(bodies, q, v), speeds(bodies, q, v_after), np.empty(n)
    for i in range(n):
        speed[i] = first[i] if last[i] < first[i] else last[i]  # NaN if either is NaN
    return p, speed, fastest(speed)


@jit
def fly(bodies, p, h, v):
    """v <- velocities of dynamic bodies in free flight, P(v) = p to rounding, by Newton's method from the
    guess v.

    Return the first body for which the method does not converge, or -1.
    """
    P, A, row, mass, J = np.empty(6), np.empty((6, 6)), bodies.row, bodies.mass, bodies.J
    for i in range(row.shape[0]):
        if row[i] < 0:
            continue
        for k in range(3):
            v[i, k] = p[i, k] / mass[i]
        size = abs(p[i, 3]) + abs(p[i, 4]) + abs(p[i, 5])
        last, converged = math.inf, False
        for _ in range(MOST_NEWTON):
            momentum(mass[i], J[i], h, v[i], P)
            f0, f1, f2 = P[3] - p[i, 3], P[4] - p[i, 4], P[5] - p[i, 5]
            error = abs(f0) + abs(f1) + abs(f2)
            if error <= 2.0**-53 * size or (error <= 1e-13 * size and error >= last):
                converged = True
                break
            last = error
            momentum_slope(mass[i], J[i], h, v[i], A)
            d0, d1, d2 = solve3(
                (A[3, 3], A[3, 4], A[3, 5]), (A[4, 3], A[4, 4], A[4, 5]), (A[5, 3], A[5, 4], A[5, 5]),
                (f0, f1, f2),
            )  # fmt: skip
            v[i, 3], v[i, 4], v[i, 5] = v[i, 3] - d0, v[i, 4] - d1, v[i, 5] - d2
        if not converged:
            return i
    return -1


@jit
def account(bodies, blocks, r, before, after, F, share):
    """Return (u, u_before, `Energies`): velocities (p,) of rows in a step and in the previous one, and
    energies.

    Kinetic energies are those of both steps; the potential of gravity is that at both ends of this step.
    before, after: (q, v) at the start, with the velocities of the previous step, and (q, v) at the end;
    share: time that the forces F (3, n, 6) act, half of both steps [s].
    """
    (q, v_before), (q_end, v) = before, after
    u, u_before, lost, driven = block_work(bodies.row, blocks, r, v_before, v)
    damped, worked, driven = force_work(bodies.row, F, share, v_before, v, driven)
    kinetic_before, weight_before = energies(bodies, q, v_before)
    kinetic, weight = energies(bodies, q_end, v)
    return u, u_before, Energies(kinetic_before, kinetic, weight_before, weight, lost, driven, damped, worked)


@jit
def closed(bodies, blocks, r, value, u_before):
    """Return the approach speeds (nb,) of the blocks that closed in this step; 0 for other blocks.

    A block closed if its impulse, times W of its row, exceeds its value (gap over h): one of both is zero up
    to the tolerance. u_before (p,): velocities in the previous step.
    """
    out = np.zeros(blocks.sides.shape[0])
    for i in range(out.shape[0]):
        j = blocks.offset[i]
        if not (r[j] > 0.0 and u_before[j] < 0.0):
            continue
        w = 0.0
        for side in range(2):
            b = blocks.sides[i, side]
            if b >= 0 and bodies.row[b] >= 0:
                a = blocks.rows[j, side]
                t0, t1, t2 = times(bodies.J_inverse[b], a[3], a[4], a[5])
                w += (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) / bodies.mass[b]
                w += a[3] * t0 + a[4] * t1 + a[5] * t2
        if w * r[j] > value[j]:
            out[i] = -u_before[j]
    return out
