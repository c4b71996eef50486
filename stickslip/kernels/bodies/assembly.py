"""From contacts to the rows, sets, biases and guesses of a contact problem.

Contacts: body (nc, 2), point (nc, 3), frame (nc, 3, 3) with rows n, t1, t2, gap (nc,), law (nc, 4) with
mu, mu_roll, mu_spin, e; bodies as in `motion.py`, R (n, 3, 3) their rotations.
"""

import numpy as np

from stickslip.kernels.bodies.motion import row_velocity
from stickslip.kernels.bodies.rotation import matrix
from stickslip.kernels.jit import jit

FRICTION = 3
"""Kind of a friction cone in a product set."""


@jit
def fill_row(body, point, axis, along, q, R, i, out):
    """out <- row of contact i along `axis`, or about it (`along` False), over both sides.   out (2, 6)."""
    for side in range(2):
        b = body[i, side]
        sign = 1.0 if side == 0 else -1.0
        a0, a1, a2 = sign * axis[0], sign * axis[1], sign * axis[2]
        out[side, 0] = out[side, 1] = out[side, 2] = 0.0
        c0, c1, c2 = a0, a1, a2
        if along:  # a · (ω × ρ) = ω · (ρ × a)
            out[side, 0], out[side, 1], out[side, 2] = a0, a1, a2
            s0, s1, s2 = point[i, 0] - q[b, 0], point[i, 1] - q[b, 1], point[i, 2] - q[b, 2]
            c0, c1, c2 = s1 * a2 - s2 * a1, s2 * a0 - s0 * a2, s0 * a1 - s1 * a0
        for k in range(3):
            out[side, 3 + k] = R[b, 0, k] * c0 + R[b, 1, k] * c1 + R[b, 2, k] * c2


@jit
def closing(body, normal, i, v_start, v_free):
    """Least normal velocity of contact i if either side moves freely or is held from that.   normal (2, 6).

    In free fall a stack closes nowhere, yet each of its contacts bears: the side below may be held.
    """
    u = 0.0
    for side in range(2):
        b = body[i, side]
        held = moves = 0.0
        for k in range(6):
            held += normal[side, k] * v_start[b, k]
            moves += normal[side, k] * v_free[b, k]
        u += min(held, moves)
    return u


@jit
def assemble(id_, body, point, frame, gap, law, row, q, v_start, v_free, reach, newton, last_r):
    """The active contacts as blocks: those whose gap at the end of the step, forecast, is not positive.

    reach: θ h, from where the gaps were measured to the end; newton: whether restitution is Newton's.
    last_r (nc, 6): impulses of the last step. Returns (active, bodies, sides, rows,
    kind, offset, lower, upper, group_offset, group_size, coefficient, u_bias, guess, approach), where
    approach (na,) is the normal velocity before the step.
    """
    nc, n = id_.shape[0], row.shape[0]
    R = np.empty((n, 3, 3))
    for i in range(n):
        matrix(q[i, 3], q[i, 4], q[i, 5], q[i, 6], R[i])
    one = np.empty((1, 2, 6))
    active = np.empty(nc, np.int64)
    count, size, groups = 0, 0, 0
    for i in range(nc):
        if row[body[i, 0]] < 0 and row[body[i, 1]] < 0:
            continue
        fill_row(body, point, frame[i, 0], True, q, R, i, one[0])
        if gap[i] + reach * closing(body, one[0], i, v_start, v_free) <= 0.0:
            active[count] = i
            count += 1
            size += 3 + (2 if law[i, 1] > 0.0 else 0) + (1 if law[i, 2] > 0.0 else 0)
            groups += 1 + (1 if law[i, 1] > 0.0 else 0) + (1 if law[i, 2] > 0.0 else 0)
    active = active[:count].copy()
    bodies, sides = np.empty((count, 2), np.int64), np.empty((count, 2), np.int64)
    rows, offset = np.empty((size, 2, 6)), np.zeros(count + 1, np.int64)
    kind, lower, upper = np.full(count, FRICTION), np.zeros(count), np.full(count, np.inf)
    group_offset, group_size = np.zeros(count + 1, np.int64), np.empty(groups, np.int64)
    coefficient, u_bias, guess, approach = np.empty(groups), np.empty(size), np.zeros(size), np.empty(count)
    at, g = 0, 0
    for c in range(count):
        i = active[c]
        start = at
        for side in range(2):
            sides[c, side] = body[i, side]
            bodies[c, side] = row[body[i, side]]
        for k in range(3):
            fill_row(body, point, frame[i, k], True, q, R, i, rows[at + k])
        at += 3
        group_size[g], coefficient[g] = 2, law[i, 0]
        g += 1
        rolls, spins = law[i, 1] > 0.0, law[i, 2] > 0.0
        if rolls:
            for k in range(2):
                fill_row(body, point, frame[i, 1 + k], False, q, R, i, rows[at + k])
            at += 2
            group_size[g], coefficient[g] = 2, law[i, 1]
            g += 1
        if spins:
            fill_row(body, point, frame[i, 0], False, q, R, i, rows[at])
            at += 1
            group_size[g], coefficient[g] = 1, law[i, 2]
            g += 1
        offset[c + 1], group_offset[c + 1] = at, g
        for j in range(start, at):
            u_bias[j] = prescribed(sides, row, rows, c, j, v_free)
        approach[c] = row_velocity(sides, rows, c, start, v_start)
        if newton:
            u_bias[start] += law[i, 3] * min(approach[c], 0.0)
        for k in range(3):
            guess[start + k] = last_r[i, k]
        if rolls:
            guess[start + 3], guess[start + 4] = last_r[i, 3], last_r[i, 4]
        if spins:
            guess[at - 1] = last_r[i, 5]
    return (
        active, bodies, sides, rows, kind, offset, lower, upper, group_offset, group_size, coefficient,
        u_bias, guess, approach,
    )  # fmt: skip


@jit
def prescribed(sides, row, rows, i, j, v):
    """What the sides of block i that are not dynamic do to its row j."""
    s = 0.0
    for side in range(2):
        b = sides[i, side]
        if b >= 0 and row[b] < 0:
            for k in range(6):
                s += rows[j, side, k] * v[b, k]
    return s


@jit
def add_prescribed(sides, size, rows, row, v, bias):
    """bias <- bias + what sides that are not dynamic do to all rows of the blocks.   size (m,), bias (p,)."""
    j = 0
    for i in range(size.shape[0]):
        for _ in range(size[i]):
            bias[j] += prescribed(sides, row, rows, i, j, v)
            j += 1


@jit
def by_contact(offset, law, x, out):
    """out <- x of contacts as N, T1, T2, rolling about t1, t2, torsion about n.   out (nc, 6), zero."""
    for i in range(law.shape[0]):
        at = offset[i]
        for k in range(3):
            out[i, k] = x[at + k]
        if law[i, 1] > 0.0:
            out[i, 3], out[i, 4] = x[at + 3], x[at + 4]
        if law[i, 2] > 0.0:
            out[i, 5] = x[offset[i + 1] - 1]
