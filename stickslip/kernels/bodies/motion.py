"""Motion of all bodies of a world over a step: half way, freely, and to its end with the impulses.

Bodies: row (n,) among the dynamic ones, -1 for the others; mass (n,), J and J_inverse (n, 3, 3);
q (n, 7) and v (n, 6) as `State` has them. Blocks: sides (nb, 2) bodies of the world, -1 for none;
offset (nb + 1,), rows (p, 2, 6) of H' over both sides, whether they are dynamic or not.
"""

import numpy as np

from stickslip.kernels.bodies.rotation import spin_freely, times, turn, turned
from stickslip.kernels.jit import jit

BAD, FASTEST, SECOND = range(3)
"""What `push_freely` tells: first body whose velocity is not finite (-1 for none), and the two largest
speeds of points of bodies [m/s]."""
TOLD = 3
KINETIC_BEFORE, KINETIC, WEIGHT_BEFORE, WEIGHT, LOST, DRIVEN, DAMPED, WORKED = range(8)
"""What `arrive` tells [J]: kinetic energy and potential of gravity at both ends; in the step, what blocks
took, what bodies that are not dynamic gave through them and springs and dampers, what dampers took, what
other forces gave."""
ENERGIES = 8
NOTHING = 1e-100
"""Velocities below this are zero [m/s, rad/s]: rounding that shrinks from step to step would end below the
numbers that can be squared."""


@jit
def move_along(q, v, h, out):
    """out <- q of all bodies moved by h v.   q, out (n, 7), v (n, 6)."""
    for i in range(q.shape[0]):
        turn(q[i], v[i], h, out[i])


@jit
def move_freely(J, J_inverse, q, v, h, q_end, v_end, mean):
    """q_end, v_end <- a body that nothing acts on after a time h; v_end may be v.   J, J_inverse (3, 3).

    It turns by Cayley's map of the mean (6,) of both spins, so that its spatial momentum stays.
    """
    for k in range(6):
        v_end[k] = mean[k] = v[k]
    v_end[3], v_end[4], v_end[5] = spin_freely(J, J_inverse, mean[3], mean[4], mean[5], h)
    for k in range(3, 6):
        mean[k] = 0.5 * (mean[k] + v_end[k])
    turn(q, mean, h, q_end)


@jit
def move_half(row, J, J_inverse, q, v, h, q_half, v_half):
    """q_half, v_half <- all bodies after a time h: dynamic ones move freely, others with their velocity."""
    mean = np.empty(6, v.dtype)
    for i in range(row.shape[0]):
        if row[i] >= 0:
            move_freely(J[i], J_inverse[i], q[i], v[i], h, q_half[i], v_half[i], mean)
        else:
            for k in range(6):
                v_half[i, k] = v[i, k]
            turn(q[i], v[i], h, q_half[i])


@jit
def prescribe(body, given, q, v):
    """v (6 n,) <- velocities and inertial spins `given` (nm, 6) of kinematic bodies; q (7 n,) has their
    orientations."""
    for i in range(body.shape[0]):
        p, w = q[7 * body[i] + 3 : 7 * body[i] + 7], 6 * body[i]
        for k in range(3):
            v[w + k] = given[i, k]
        v[w + 3], v[w + 4], v[w + 5] = turned(
            p[0], -p[1], -p[2], -p[3], given[i, 3], given[i, 4], given[i, 5]
        )


@jit
def accelerate(m, J, J_inverse, gravity, F, h, v, v_free, f):
    """v_free, f (6,) <- velocity of a body that gravity and F (6,) acted on for h, and its momentum."""
    t0, t1, t2 = times(J_inverse, h * F[3], h * F[4], h * F[5])
    for k in range(3):
        v_free[k] = v[k] + h * gravity[k] + h * F[k] / m
        f[k] = m * v_free[k]
    v_free[3], v_free[4], v_free[5] = v[3] + t0, v[4] + t1, v[5] + t2
    f[3], f[4], f[5] = times(J, v_free[3], v_free[4], v_free[5])


@jit
def push_freely(row, mass, J, J_inverse, gravity, radius, q, v, F, h, v_free, f, told):
    """v_free, f <- velocities after all forces of the step have acted at its middle, and the momenta.

    v (n, 6) before that. v_free comes with the velocities at the end of bodies that are not dynamic. radius
    (n,) of balls about the centres of mass that hold the bodies; F (3, n, 6) or (3, 0, 6) for none;
    f (nd, 6); told (TOLD,).
    """
    n, total = row.shape[0], np.zeros(6)
    told[BAD], told[FASTEST], told[SECOND] = -1.0, 0.0, 0.0
    for i in range(n):
        b = row[i]
        if b >= 0:
            if F.shape[1] > 0:
                for k in range(6):
                    total[k] = F[0, i, k] + F[1, i, k] + F[2, i, k]
            accelerate(mass[i], J[i], J_inverse[i], gravity, total, h, v[i], v_free[i], f[b])
        speed = fastest_point(row, radius, q, v_free[i], i)
        if not speed < np.inf and told[BAD] < 0.0:
            told[BAD] = float(i)
        if speed > told[FASTEST]:
            told[SECOND], told[FASTEST] = told[FASTEST], speed
        elif speed > told[SECOND]:
            told[SECOND] = speed


@jit
def fastest_point(row, radius, q, v, i):
    """No point of body i that a dynamic body can reach is faster than this [m/s].   v (6,)."""
    linear = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    spin = np.sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5])
    reach = radius[i]
    if spin > 0.0 and not reach < np.inf:  # a plane that turns: as far as there are bodies
        reach = 0.0
        for j in range(row.shape[0]):
            if row[j] >= 0:
                x, y, z = q[j, 0] - q[i, 0], q[j, 1] - q[i, 1], q[j, 2] - q[i, 2]
                reach = max(reach, np.sqrt(x * x + y * y + z * z) + radius[j])
    return linear + spin * reach if spin > 0.0 else linear + spin


@jit
def row_velocity(sides, rows, i, j, v):
    """Row j of block i times the velocities of its bodies."""
    s = 0.0
    for side in range(2):
        b = sides[i, side]
        if b >= 0:
            for k in range(6):
                s += rows[j, side, k] * v[b, k]
    return s


@jit
def push(row, mass, J_inverse, sides, offset, rows, r, v):
    """v <- v + M⁻¹ H r, blocks in their order."""
    for i in range(sides.shape[0]):
        for side in range(2):
            b = sides[i, side]
            if b >= 0 and row[b] >= 0:
                p0 = p1 = p2 = p3 = p4 = p5 = 0.0
                for j in range(offset[i], offset[i + 1]):
                    p0 += rows[j, side, 0] * r[j]
                    p1 += rows[j, side, 1] * r[j]
                    p2 += rows[j, side, 2] * r[j]
                    p3 += rows[j, side, 3] * r[j]
                    p4 += rows[j, side, 4] * r[j]
                    p5 += rows[j, side, 5] * r[j]
                m = mass[b]
                v[b, 0] += p0 / m
                v[b, 1] += p1 / m
                v[b, 2] += p2 / m
                t0, t1, t2 = times(J_inverse[b], p3, p4, p5)
                v[b, 3] += t0
                v[b, 4] += t1
                v[b, 5] += t2


@jit
def arrive(
    row, mass, J, J_inverse, gravity, q, v, q_m, v_start, F, h, theta, sides, offset, rows, r, v_end, q_end,
    u, energy,
):  # fmt: skip
    """v_end, q_end, u, energy <- the end of the step; v_end has the free velocities on entry.

    Impulses act at the middle, on v_start (after the first part of the free motion); the second part, of
    length θ h, follows. u (p,) velocities of the rows after them; energy (ENERGIES,). Changes of kinetic
    energy are exactly impulses times the mean of the velocities before and after them.
    """
    push(row, mass, J_inverse, sides, offset, rows, r, v_end)
    for i in range(row.shape[0]):
        for k in range(6):
            if abs(v_end[i, k]) < NOTHING:
                v_end[i, k] = 0.0
    energy[:] = 0.0
    add_block_work(row, sides, offset, rows, r, v_start, v_end, u, np.empty(u.shape[0]), energy)
    add_force_work(row, F, h, v_start, v_end, energy)
    mean = np.empty(6)
    for i in range(row.shape[0]):
        if row[i] >= 0:
            move_freely(J[i], J_inverse[i], q_m[i], v_end[i], theta * h, q_end[i], v_end[i], mean)
        else:
            turn(q_m[i], v_end[i], theta * h, q_end[i])
    add_energies(row, mass, J, gravity, q, v, KINETIC_BEFORE, WEIGHT_BEFORE, energy)
    add_energies(row, mass, J, gravity, q_end, v_end, KINETIC, WEIGHT, energy)


@jit
def add_block_work(row, sides, offset, rows, r, v_before, v, u, came, energy):
    """u, came (p,) <- velocities of rows after and before impulses r (p,); energy += what these do,
    themselves times the mean of both."""
    for i in range(sides.shape[0]):
        for j in range(offset[i], offset[i + 1]):
            u[j] = came[j] = 0.0
            for side in range(2):
                b = sides[i, side]
                if b >= 0:
                    first = last = 0.0
                    for k in range(6):
                        first += rows[j, side, k] * v_before[b, k]
                        last += rows[j, side, k] * v[b, k]
                    u[j] += last
                    came[j] += first
                    energy[LOST] -= 0.5 * r[j] * (first + last)
                    if row[b] < 0:
                        energy[DRIVEN] -= 0.5 * r[j] * (first + last)


@jit
def add_force_work(row, F, h, v_before, v, energy):
    """energy += what forces F (3, n, 6), or (3, 0, 6) for none, do in a time h."""
    for i in range(F.shape[1]):
        for k in range(6):
            way = 0.5 * h * (v_before[i, k] + v[i, k])
            energy[DAMPED] -= F[1, i, k] * way
            if row[i] >= 0:
                energy[WORKED] += F[2, i, k] * way
            else:  # what drives a kinematic body works against springs and dampers at it
                energy[DRIVEN] -= (F[0, i, k] + F[1, i, k]) * way


@jit
def add_energies(row, mass, J, gravity, q, v, of_motion, of_weight, energy):
    """energy[of_motion], energy[of_weight] += kinetic energy and potential of gravity of dynamic bodies."""
    for i in range(row.shape[0]):
        if row[i] >= 0:
            energy[of_motion] += kinetic(mass[i], J[i], v[i])
            for k in range(3):
                energy[of_weight] -= mass[i] * gravity[k] * q[i, k]


@jit
def kinetic(m, J, v):
    """Kinetic energy of a body [J].   J (3, 3), v (6,)."""
    P0, P1, P2 = times(J, v[3], v[4], v[5])
    return 0.5 * (m * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) + (v[3] * P0 + v[4] * P1 + v[5] * P2))
