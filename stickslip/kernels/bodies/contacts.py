"""Poses of shapes for a narrow phase of others, and its contacts in the conventions of this house.

"Geoms" are the shapes as the narrow phase numbers them; its lengths are ours divided by `unit`.
"""

import math

import numpy as np

from stickslip.kernels.bodies.frames import basis
from stickslip.kernels.bodies.rotation import entries
from stickslip.kernels.jit import jit

CLOSE = 1e-6
"""Gap [units] below which the difference of the closest points is no good normal."""
ALIKE, STALLED = 1e-9, 1e-5
"""How much wider, and narrower, the gap of a manifold may be than that of the one contact [units]."""


@jit
def place_geoms(q, body, offset, turn, per_unit, body_x, body_R, geom_x, geom_R):
    """First body whose q is not finite, -1 if none; body_x (n, 3), body_R (n, 9), geom_x, geom_R <- poses.

    q (7 n,) is (x, p) per body; body (ng,), offset (ng, 3) in units and turn (ng, 9) place geoms in bodies.
    """
    for b in range(body_x.shape[0]):
        size, p0, p1, p2, p3 = 0.0, q[7 * b + 3], q[7 * b + 4], q[7 * b + 5], q[7 * b + 6]
        for i in range(7):
            size += abs(q[7 * b + i])
        if not size < math.inf:
            return b
        for i in range(3):
            body_x[b, i] = q[7 * b + i] * per_unit
        square = p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3
        if not 0.0 < square < math.inf:
            return b
        s = 1.0 / math.sqrt(square)  # takes out the rounding of a unit quaternion
        (
            body_R[b, 0], body_R[b, 1], body_R[b, 2], body_R[b, 3], body_R[b, 4], body_R[b, 5],
            body_R[b, 6], body_R[b, 7], body_R[b, 8],
        ) = entries(s * p0, s * p1, s * p2, s * p3)  # fmt: skip
    for g in range(body.shape[0]):
        b = body[g]
        for i in range(3):
            a0, a1, a2 = body_R[b, 3 * i], body_R[b, 3 * i + 1], body_R[b, 3 * i + 2]
            geom_x[g, i] = body_x[b, i] + (a0 * offset[g, 0] + a1 * offset[g, 1] + a2 * offset[g, 2])
            for j in range(3):
                geom_R[g, 3 * i + j] = a0 * turn[g, j] + a1 * turn[g, 3 + j] + a2 * turn[g, 6 + j]
    return -1


@jit
def order_of(key):
    """Positions of `key` in increasing order, equal ones as they came: a merge sort of runs of 1, 2, 4..."""
    n = key.shape[0]
    order, other = np.arange(n), np.empty(n, np.int64)
    is_sorted = True
    for k in range(1, n):
        if key[k] < key[k - 1]:
            is_sorted = False
            break
    width = n if is_sorted else 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or key[order[i]] <= key[order[j]]):
                    other[k] = order[i]
                    i += 1
                else:
                    other[k] = order[j]
                    j += 1
        order, other = other, order
        width *= 2
    return order


@jit
def run_end(key, order, k):
    """Past the last of the entries that have the key of the k-th in this order."""
    end = k + 1
    while end < order.shape[0] and key[order[end]] == key[order[k]]:
        end += 1
    return end


@jit
def deepest_of(dist, order, first, last):
    """Which of order[first:last] has the least dist."""
    best = order[first]
    for k in range(first + 1, last):
        if dist[order[k]] < dist[best]:
            best = order[k]
    return best


@jit
def choose_manifolds(ng, dist, pos, normal, geom, dist_1, pos_1, normal_1, geom_1):
    """dist, pos, normal, geom: of each pair of geoms the manifold if it can be true, else the one contact.

    A manifold is made of the faces next to the closest points, if these are almost parallel. Now and then
    they are not, and its deepest point is far from the closest one, which the search for one contact
    (arguments with _1) finds safely: a manifold is taken only if it agrees with that. Parallel edges that
    touch let the search stall with too wide a gap.
    """
    key, key_1 = geom[:, 0] * ng + geom[:, 1], geom_1[:, 0] * ng + geom_1[:, 1]
    order, order_1 = order_of(key), order_of(key_1)
    room = dist.shape[0] + dist_1.shape[0]
    new_dist, new_pos, new_normal = np.empty(room), np.empty((room, 3)), np.empty((room, 3))
    new_geom, at, a, b = np.empty((room, 2), np.int64), 0, 0, 0
    while b < order_1.shape[0]:
        end_b = run_end(key_1, order_1, b)
        while a < order.shape[0] and key[order[a]] < key_1[order_1[b]]:
            a += 1
        agree, end_a = False, a
        if a < order.shape[0] and key[order[a]] == key_1[order_1[b]]:
            end_a = run_end(key, order, a)
            i, j = deepest_of(dist, order, a, end_a), deepest_of(dist_1, order_1, b, end_b)
            along = 0.0
            for c in range(3):
                along += normal[i, c] * normal_1[j, c]
            more, slack = dist[i] - dist_1[j], 1e-3 * abs(dist_1[j])
            agree = -(slack + STALLED) <= more <= slack + ALIKE and along > 0.9
        for k in range(a if agree else b, end_a if agree else end_b):
            i = order[k] if agree else order_1[k]
            new_dist[at] = dist[i] if agree else dist_1[i]
            for c in range(3):
                new_pos[at, c] = pos[i, c] if agree else pos_1[i, c]
                new_normal[at, c] = normal[i, c] if agree else normal_1[i, c]
            for c in range(2):
                new_geom[at, c] = geom[i, c] if agree else geom_1[i, c]
            at += 1
        a, b = end_a, end_b
    return new_dist[:at].copy(), new_pos[:at].copy(), new_normal[:at].copy(), new_geom[:at].copy()


@jit
def translate(dist, pos, normal, geom, shape_of, search, body, material, laws, unit, margin, slots):
    """Contacts of the narrow phase as arrays of a ContactSet, and what is wrong with them.

    Its normals point from geom 0 to geom 1; ours from the second shape to the first, the one with the smaller
    number. Its contacts of one pair stand in a row. dist (n,) and pos (n, 3) in units, geom (n, 2);
    per geom: shape_of, search (two geoms whose product is 2 or more are searched for their closest points,
    the difference of which is the normal; close to 0 it is lost in rounding);
    per shape: body, material; laws (nm, nm, 4); slots: most contacts of a pair.
    Returns (id, shape, body, point, frame, gap, law), rows whose normal is not to be trusted, and a row of a
    pair with too many contacts, or -1.
    """
    n, ns = dist.shape[0], body.shape[0]
    keep, key = np.empty(n, np.bool_), np.empty(n, np.int64)
    doubt, n_doubt, full, nc = np.empty(n, np.int64), 0, -1, 0
    first = 0
    while first < n:
        g, h = geom[first, 0], geom[first, 1]
        last = first
        while last < n and geom[last, 0] == g and geom[last, 1] == h:
            keep[last] = unit * dist[last] <= margin
            last += 1
        if last - first > slots:
            full = first
        if search[g] * search[h] >= 2 and last - first == 1 and 0.0 < dist[first] < CLOSE:
            doubt[n_doubt] = first
            n_doubt += 1
        s, t = min(shape_of[g], shape_of[h]), max(shape_of[g], shape_of[h])
        slot = 0
        for k in range(first, last):
            if keep[k]:
                key[nc] = ((s * ns + t) * slots + slot) * n + k  # k at the end, to be found after sorting
                slot += 1
                nc += 1
        first = last
    order = order_of(key[:nc])
    ids, shape, bodies = np.empty(nc, np.int64), np.empty((nc, 2), np.int64), np.empty((nc, 2), np.int64)
    point, frame, gap, law = np.empty((nc, 3)), np.empty((nc, 3, 3)), np.empty(nc), np.empty((nc, 4))
    for c in range(nc):
        ids[c], k = key[order[c]] // n, key[order[c]] % n
        s, t = shape_of[geom[k, 0]], shape_of[geom[k, 1]]
        sign = -1.0
        if s > t:
            s, t, sign = t, s, 1.0
        shape[c, 0], shape[c, 1], bodies[c, 0], bodies[c, 1] = s, t, body[s], body[t]
        n0, n1, n2 = sign * normal[k, 0], sign * normal[k, 1], sign * normal[k, 2]
        size = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
        n0, n1, n2 = n0 / size + 0.0, n1 / size + 0.0, n2 / size + 0.0  # + 0.0: no negative zeros
        frame[c, 0, 0], frame[c, 0, 1], frame[c, 0, 2] = n0, n1, n2
        a0, a1, a2, b0, b1, b2 = basis(n0, n1, n2)
        frame[c, 1, 0], frame[c, 1, 1], frame[c, 1, 2] = a0, a1, a2
        frame[c, 2, 0], frame[c, 2, 1], frame[c, 2, 2] = b0, b1, b2
        for i in range(3):
            point[c, i] = unit * pos[k, i]
        gap[c] = unit * dist[k]
        for i in range(4):
            law[c, i] = laws[material[s], material[t], i]
    return (ids, shape, bodies, point, frame, gap, law), doubt[:n_doubt], full
