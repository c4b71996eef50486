"""Contacts of one step matched with those of the last: slots that last, and impulses to start from.

The contacts of two shapes are matched by the nearest point, in the frame of that one of the two bodies in
which the points have moved less (the corners of a sliding box rest in the frame of the box). The nearest pair
of points goes first, then the nearest of the others, and so on; ties go to the smaller slot, then to the
contact that comes first. Points farther apart than `FAR` of the size of all these points do not match.
"""

import math

import numpy as np

from stickslip.kernels.jit import jit

FAR = 0.25
"""Largest distance of two points that match, over the diagonal of the box around all points of the pair."""


@jit
def local_points(q, body, point, local):
    """local (nc, 2, 3) <- point (nc, 3) in the frames of the two bodies (nc, 2)."""
    for c in range(point.shape[0]):
        for side in range(2):
            b = body[c, side]
            w, i, j, k = q[7 * b + 3], -q[7 * b + 4], -q[7 * b + 5], -q[7 * b + 6]
            x, y, z = point[c, 0] - q[7 * b], point[c, 1] - q[7 * b + 1], point[c, 2] - q[7 * b + 2]
            u, v, s = 2.0 * (j * z - k * y), 2.0 * (k * x - i * z), 2.0 * (i * y - j * x)
            local[c, side, 0] = x + w * u + j * s - k * v
            local[c, side, 1] = y + w * v + k * u - i * s
            local[c, side, 2] = z + w * s + i * v - j * u


@jit
def squared_distance(p, q, side):
    """|p[side] - q[side]|².   p, q (2, 3)."""
    x, y, z = p[side, 0] - q[side, 0], p[side, 1] - q[side, 1], p[side, 2] - q[side, 2]
    return x * x + y * y + z * z


@jit
def calmer_side(new, old):
    """The body in whose frame the new points are nearer to old ones.   new (k, 2, 3), old (l, 2, 3)."""
    moved = np.zeros(2)
    for side in range(2):
        for c in range(new.shape[0]):
            nearest = np.inf
            for o in range(old.shape[0]):
                nearest = min(nearest, squared_distance(new[c], old[o], side))
            moved[side] += math.sqrt(nearest)
    return 1 if moved[1] < moved[0] else 0


@jit
def squared_size(new, old, side):
    """Square of the diagonal of the box around all points in the frame of one body."""
    total = 0.0
    for d in range(3):
        low, high = np.inf, -np.inf
        for c in range(new.shape[0]):
            low, high = min(low, new[c, side, d]), max(high, new[c, side, d])
        for o in range(old.shape[0]):
            low, high = min(low, old[o, side, d]), max(high, old[o, side, d])
        total += (high - low) * (high - low)
    return total


@jit
def match(new, old, partner):
    """partner (k,) <- number of the old contact that each new one continues, -1 for none."""
    partner[:] = -1
    if new.shape[0] == 1 and old.shape[0] == 1:
        partner[0] = 0
        return
    side = calmer_side(new, old)
    far = FAR * FAR * squared_size(new, old, side)
    taken = np.zeros(old.shape[0], np.bool_)
    for _ in range(min(new.shape[0], old.shape[0])):
        best, c_best, o_best = np.inf, -1, -1
        for o in range(old.shape[0]):
            if not taken[o]:
                for c in range(new.shape[0]):
                    if partner[c] < 0:
                        distance = squared_distance(new[c], old[o], side)
                        if distance < best and distance <= far:
                            best, c_best, o_best = distance, c, o
        if c_best < 0:
            return
        partner[c_best], taken[o_best] = o_best, True


@jit
def turn(frame, old_frame, r, guess):
    """guess (6,) <- r (6,) from the old frame in the new one: n, t1, t2 in their rows.

    The pairs (t1, t2) are turned into each other by the least rotation, which is in the plane the one
    nearest to the matrix of their products; so the length of sliding and rolling impulses stays.
    """
    m = np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            for d in range(3):
                m[i, j] += frame[i + 1, d] * old_frame[j + 1, d]
    cosine, sine = m[0, 0] + m[1, 1], m[1, 0] - m[0, 1]
    size = math.sqrt(cosine * cosine + sine * sine)
    if size > 0.0:
        cosine, sine = cosine / size, sine / size
    guess[0], guess[5] = r[0], r[5]
    for k in (1, 3):
        guess[k], guess[k + 1] = cosine * r[k] - sine * r[k + 1], sine * r[k] + cosine * r[k + 1]


@jit
def track_contacts(ids, local, frame, slots, old_ids, old_local, old_frame, old_r, order, new_ids, guess):
    """Whether the order has changed: contact `order[c]` has id new_ids[c] and starts from guess[c].

    ids (nc,) increasing; old_ids (m,) whole numbers, increasing.   order, new_ids (nc,), guess (nc, 6).
    """
    partner, name = np.empty(slots, np.int64), np.empty(slots, np.int64)
    nc, m, first, first_old, changed = ids.shape[0], old_ids.shape[0], 0, 0, False
    while first < nc:
        pair = ids[first] // slots
        last = first + 1
        while last < nc and last - first < slots and ids[last] // slots == pair:
            last += 1
        while first_old < m and old_ids[first_old] < pair * slots:
            first_old += 1
        last_old = first_old
        while last_old < m and last_old - first_old < slots and old_ids[last_old] < (pair + 1) * slots:
            last_old += 1
        match(local[first:last], old_local[first_old:last_old], partner[: last - first])
        number(partner[: last - first], old_ids[first_old:last_old], slots, name)
        for place in range(first, last):
            least = first
            for c in range(first, last):
                if name[c - first] < name[least - first]:
                    least = c
            order[place], new_ids[place] = least, pair * slots + name[least - first]
            name[least - first] = slots
            changed |= least != place
            o = partner[least - first]
            if o >= 0:
                turn(frame[least], old_frame[first_old + o], old_r[first_old + o], guess[place])
            else:
                guess[place] = 0.0
        first, first_old = last, last_old
    return changed


@jit
def number(partner, old_ids, slots, name):
    """name <- slots: of the partner, else the smallest that is not in use.   partner, name (k,)."""
    used = np.zeros(slots, np.bool_)
    for c in range(partner.shape[0]):
        name[c] = -1
        if partner[c] >= 0:
            slot = np.int64(old_ids[partner[c]]) % slots
            if not used[slot]:
                name[c], used[slot] = slot, True
    free = 0
    for c in range(partner.shape[0]):
        if name[c] < 0:
            while used[free]:
                free += 1
            name[c], used[free] = free, True
