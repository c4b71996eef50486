"""From contacts to the rows, sets, biases and guesses of a contact problem.

Contacts: body (nc, 2), point (nc, 3), frame (nc, 3, 3) with rows n, t1, t2, gap (nc,), law (nc, 4) with
mu, mu_roll, mu_spin, e; bodies as in `motion.py`, R (n, 3, 3) their rotations.
"""

import numpy as np

from stickslip.kernels.bodies.correction import needs
from stickslip.kernels.bodies.motion import row_velocity
from stickslip.kernels.bodies.rotation import matrix
from stickslip.kernels.bodies.tracking import local_points, track_contacts
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
def assemble(
    ids, shape, body, point, frame, gap, law, slots, old_ids, old_local, old_frame, old_r,
    row, q, v_start, v_free, reach, slack, newton, count, kept_whole, kept, whole, real,
):  # fmt: skip
    """Contacts matched with those of the last step, and the active ones of them as blocks: those whose gap at
    the end of the step, forecast, is at most 0, or at most `slack` as the gap itself is. Contacts as
    detection has them, old ones as a memory has.

    reach: θ h, from where the gaps were measured to the end; newton: whether restitution is Newton's.
    count (3,) <- numbers c, p, g of contacts, components and groups; the arrays one after the other in
    kept_whole: id (c,), shape, body (c, 2);   kept: point (c, 3), frame (c, 3, 3), gap (c,), law (c, 4) and
    the points in the frames of the two bodies (c, 2, 3);   whole: bodies (c, 2), kind (c,), offset (c + 1,),
    group_offset (c + 1,), group_size (g,);   real: lower, upper (c,), coefficient (g,), u_bias, guess (p,),
    the normal velocity before the step, the forecast gap (c,), rows (p, 2, 6).
    """
    nc, n = ids.shape[0], row.shape[0]
    local, last_r, name = np.empty((nc, 2, 3)), np.zeros((nc, 6)), np.empty(nc, np.int64)
    ahead = np.empty(nc)
    order, active, R, one = (
        np.empty(nc, np.int64),
        np.empty(nc, np.int64),
        np.empty((n, 3, 3)),
        np.empty((2, 6)),
    )
    local_points(q.reshape(-1), body, point, local)
    track_contacts(ids, local, frame, slots, old_ids, old_local, old_frame, old_r, order, name, last_r)
    for i in range(n):
        matrix(q[i, 3], q[i, 4], q[i, 5], q[i, 6], R[i])
    c = p = g = 0
    for place in range(nc):
        i = order[place]
        if row[body[i, 0]] < 0 and row[body[i, 1]] < 0:
            continue
        fill_row(body, point, frame[i, 0], True, q, R, i, one)
        forecast = gap[i] + reach * closing(body, one, i, v_start, v_free)
        if forecast <= 0.0 or max(gap[i], forecast) <= slack:  # as `kernels/activation.py` has it
            active[c], ahead[c] = place, forecast
            c += 1
            p += 3 + (2 if law[i, 1] > 0.0 else 0) + (1 if law[i, 2] > 0.0 else 0)
            g += 1 + (1 if law[i, 1] > 0.0 else 0) + (1 if law[i, 2] > 0.0 else 0)
    count[0], count[1], count[2] = c, p, g
    for a in range(c):
        place = active[a]
        i = order[place]
        kept_whole[a] = name[place]
        kept[12 * c + a] = gap[i]
        for k in range(2):
            kept_whole[c + 2 * a + k], kept_whole[3 * c + 2 * a + k] = shape[i, k], body[i, k]
            whole[2 * a + k] = row[body[i, k]]
            for d in range(3):
                kept[17 * c + 6 * a + 3 * k + d] = local[i, k, d]
        for k in range(3):
            kept[3 * a + k] = point[i, k]
            for d in range(3):
                kept[3 * c + 9 * a + 3 * k + d] = frame[i, k, d]
        for k in range(4):
            kept[13 * c + 4 * a + k] = law[i, k]
    sides = kept_whole[3 * c : 5 * c].reshape(c, 2)
    kind, offset = whole[2 * c : 3 * c], whole[3 * c : 4 * c + 1]
    group_offset, group_size = whole[4 * c + 1 : 5 * c + 2], whole[5 * c + 2 : 5 * c + 2 + g]
    lower, upper, coefficient = real[:c], real[c : 2 * c], real[2 * c : 2 * c + g]
    at = 2 * c + g
    u_bias, guess = real[at : at + p], real[at + p : at + 2 * p]
    approach = real[at + 2 * p : at + 2 * p + c]
    real[at + 2 * p + c : at + 2 * p + 2 * c] = ahead[:c]
    rows = real[at + 2 * p + 2 * c : at + 14 * p + 2 * c].reshape(p, 2, 6)
    at = g = offset[0] = group_offset[0] = 0
    for a in range(c):
        i, start, r = order[active[a]], at, last_r[active[a]]
        rolls, spins = law[i, 1] > 0.0, law[i, 2] > 0.0
        kind[a], lower[a], upper[a] = FRICTION, 0.0, np.inf
        for k in range(3):
            fill_row(body, point, frame[i, k], True, q, R, i, rows[at + k])
            guess[at + k] = r[k]
        at += 3
        group_size[g], coefficient[g] = 2, law[i, 0]
        g += 1
        if rolls:
            for k in range(2):
                fill_row(body, point, frame[i, 1 + k], False, q, R, i, rows[at + k])
                guess[at + k] = r[3 + k]
            at += 2
            group_size[g], coefficient[g] = 2, law[i, 1]
            g += 1
        if spins:
            fill_row(body, point, frame[i, 0], False, q, R, i, rows[at])
            guess[at] = r[5]
            at += 1
            group_size[g], coefficient[g] = 1, law[i, 2]
            g += 1
        offset[a + 1], group_offset[a + 1] = at, g
        for j in range(start, at):
            u_bias[j] = prescribed(sides, row, rows, a, j, v_free)
        approach[a] = row_velocity(sides, rows, a, start, v_start)
        if newton:
            u_bias[start] += law[i, 3] * min(approach[a], 0.0)


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
    """out <- x of contacts as N, T1, T2, rolling about t1, t2, torsion about n.   out (nc, 6)."""
    for i in range(law.shape[0]):
        at = offset[i]
        for k in range(3):
            out[i, k], out[i, 3 + k] = x[at + k], 0.0
        if law[i, 1] > 0.0:
            out[i, 3], out[i, 4] = x[at + 3], x[at + 4]
        if law[i, 2] > 0.0:
            out[i, 5] = x[offset[i + 1] - 1]


@jit
def tell(offset, law, gap, reach, r, u, need, by_r, by_u, told):
    """by_r, by_u (nc, 6) <- r and u by contact; need (nc,) and the last two of told <- those of `needs`."""
    by_contact(offset, law, r, by_r)
    by_contact(offset, law, u, by_u)
    told[told.shape[0] - 2], told[told.shape[0] - 1] = needs(gap, reach, offset, u, need)
