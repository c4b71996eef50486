"""Matching of the contacts of a step with those of the previous one: persistent slots, and initial impulses.

Contacts of two shapes are matched by nearest points, in the frame of the body in which the points have moved
less (the corners of a sliding box are at rest in the frame of the box). The nearest pair of points is matched
first, then the nearest of the others, and so on; ties go to the smaller slot, then to the first contact.
Points farther apart than `FAR` times the size of all these points do not match.
"""

import math

import numpy as np

from stickslip.kernels.bodies.rotation import turned
from stickslip.kernels.jit import jit

FAR = 0.25
"""Largest distance of two matched points over the diagonal of the bounding box of all points of the pair [-]
(heuristic)."""


@jit
def local_points(q, body, point, local):
    """local (nc, 2, 3) <- points (nc, 3) in the frames of their two bodies (nc, 2)."""
    for c in range(point.shape[0]):
        for side in range(2):
            b = body[c, side]
            x, y, z = point[c, 0] - q[7 * b], point[c, 1] - q[7 * b + 1], point[c, 2] - q[7 * b + 2]
            local[c, side, 0], local[c, side, 1], local[c, side, 2] = turned(
                q[7 * b + 3], -q[7 * b + 4], -q[7 * b + 5], -q[7 * b + 6], x, y, z
            )


@jit
def measure(new, first, last, old, first_old, last_old, dist2):
    """Return (side, squared size): the side in whose frame new points are nearer to old ones, and the square
    of the size of all points in that frame.

    dist2 (2, slots, slots) <- squared distances in both frames, old by new. new (nc, 2, 3), old (m, 2, 3):
    points; those from `first` to `last` - 1, and from `first_old` to `last_old` - 1, are matched.
    """
    nearer, least, size = 0, np.inf, 0.0
    for side in range(2):
        moved = 0.0
        for c in range(first, last):
            nearest = np.inf
            for o in range(first_old, last_old):
                x, y = new[c, side, 0] - old[o, side, 0], new[c, side, 1] - old[o, side, 1]
                z = new[c, side, 2] - old[o, side, 2]
                squared = x * x + y * y + z * z
                dist2[side, o - first_old, c - first] = squared
                nearest = min(nearest, squared)
            moved += math.sqrt(nearest)
        if moved < least:
            nearer, least = side, moved
    for d in range(3):
        low, high = new[first, nearer, d], new[first, nearer, d]
        for c in range(first, last):
            low, high = min(low, new[c, nearer, d]), max(high, new[c, nearer, d])
        for o in range(first_old, last_old):
            low, high = min(low, old[o, nearer, d]), max(high, old[o, nearer, d])
        size += (high - low) * (high - low)
    return nearer, size


@jit
def match(dist2, k, k_old, far, partner, used):
    """partner[:k] <- number of the old contact that matches each new one, -1 for none.

    dist2 (slots, slots): squared distances, k_old old points by k new ones; far: largest squared distance of
    a match.
    """
    partner[:k] = -1
    used[:k_old] = False
    for _ in range(min(k, k_old)):
        best, c_best, o_best = np.inf, -1, -1
        for o in range(k_old):
            if not used[o]:
                for c in range(k):
                    if dist2[o, c] < best and dist2[o, c] <= far and partner[c] < 0:
                        best, c_best, o_best = dist2[o, c], c, o
        if c_best < 0:
            return
        partner[c_best], used[o_best] = o_best, True


@jit
def turn(frame, old_frame, r, guess):
    """guess (6,) <- impulses r (6,) of the old frame, transformed to the new frame; rows n, t1, t2.

    The tangential components are rotated by the rotation in the plane nearest to the matrix of the products
    of old and new tangents, which preserves the length of sliding and rolling impulses.
    """
    cosine, sine = 0.0, 0.0
    for d in range(3):
        cosine += frame[1, d] * old_frame[1, d] + frame[2, d] * old_frame[2, d]
        sine += frame[2, d] * old_frame[1, d] - frame[1, d] * old_frame[2, d]
    size = math.sqrt(cosine * cosine + sine * sine)
    if size > 0.0:
        cosine, sine = cosine / size, sine / size
    guess[0], guess[5] = r[0], r[5]
    for k in (1, 3):
        guess[k], guess[k + 1] = cosine * r[k] - sine * r[k + 1], sine * r[k] + cosine * r[k + 1]


@jit
def number(partner, k, old_ids, first_old, used, name):
    """name[:k] <- slots: that of the partner, else the smallest free one.   used (slots,): work array."""
    used[:] = False
    for c in range(k):
        name[c] = -1
        if partner[c] >= 0:
            slot = np.int64(old_ids[first_old + partner[c]]) % used.shape[0]
            if not used[slot]:
                name[c], used[slot] = slot, True
    free = 0
    for c in range(k):
        if name[c] < 0:
            while used[free]:
                free += 1
            name[c], used[free] = free, True


@jit
def track_contacts(ids, local, frame, slots, last_ones, order, new_ids, guess):
    """order, new_ids (nc,), guess (nc, 6) <- contacts in their new order, their identifiers and initial
    impulses.

    Return whether the order has changed. ids (nc,): increasing; last_ones: `LastContacts`; guess: 0 on entry.
    """
    old_ids, old_local, old_frame, old_r = last_ones.id, last_ones.local, last_ones.frame, last_ones.r
    partner, name, used = np.empty(slots, np.int64), np.empty(slots, np.int64), np.empty(slots, np.bool_)
    dist2 = np.empty((2, slots, slots))
    nc, m, first, first_old, changed = ids.shape[0], old_ids.shape[0], 0, 0, False
    while first < nc:
        # 1. Contacts of the same pair of shapes, new and old.
        pair = ids[first] // slots
        last = first + 1
        while last < nc and last - first < slots and ids[last] // slots == pair:
            last += 1
        while first_old < m and old_ids[first_old] < pair * slots:
            first_old += 1
        last_old = first_old
        while last_old < m and last_old - first_old < slots and old_ids[last_old] < (pair + 1) * slots:
            last_old += 1
        # 2. A single contact, new and old, keeps its slot.
        if last - first == 1 and last_old - first_old <= 1:
            order[first], new_ids[first] = first, pair * slots
            if last_old > first_old:
                new_ids[first] += np.int64(old_ids[first_old]) % slots
                turn(frame[first], old_frame[first_old], old_r[first_old], guess[first])
            first, first_old = last, last_old
            continue
        # 3. Otherwise contacts are matched, and sorted by slot.
        k, k_old = last - first, last_old - first_old
        side, size = measure(local, first, last, old_local, first_old, last_old, dist2)
        match(dist2[side], k, k_old, FAR * FAR * size, partner, used)
        number(partner, k, old_ids, first_old, used, name)
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
        first, first_old = last, last_old
    return changed
