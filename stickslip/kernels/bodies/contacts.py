"""Poses of shapes for a narrow phase of others, and its contacts in the conventions of this house.

"Geoms" are the shapes as the narrow phase numbers them; its lengths are ours divided by `unit`.
"""

import math
from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.frames import fill_tangents
from stickslip.kernels.bodies.layout import Contacts
from stickslip.kernels.bodies.rotation import matrix, times
from stickslip.kernels.jit import jit
from stickslip.state import Array, IntArray

ALIKE, STALLED = 1e-9, 1e-5
"""How much wider, and narrower, the gap of a manifold may be than that of the one contact [units]."""


class Placement(NamedTuple):
    """How geoms stand in bodies, and where both are; lengths in units."""

    body: IntArray
    """Of each geom [-], shape (ng,)."""
    offset: Array
    """In its frame, shape (ng, 3)."""
    turn: Array
    """Rotation in its frame [-], shape (ng, 3, 3)."""
    per_unit: float
    """1 over the length of a unit [1/m]."""
    body_x: Array
    """Where bodies are, shape (n, 3)."""
    body_R: Array
    """[-], shape (n, 3, 3)."""
    geom_x: Array
    """Where geoms are, shape (ng, 3)."""
    geom_R: Array
    """[-], shape (ng, 3, 3)."""


class Touching(NamedTuple):
    """Contacts of a narrow phase; those of a pair of geoms stand in a row."""

    dist: Array
    """Gaps [units], shape (n,)."""
    pos: Array
    """Midway between the surfaces [units], shape (n, 3)."""
    normal: Array
    """From the first geom to the second [-], shape (n, 3)."""
    geom: IntArray
    """[-], shape (n, 2)."""


class GeomTraits(NamedTuple):
    """What contacts of geoms are told as."""

    shape_of: IntArray
    """Shape of each geom [-], shape (ng,)."""
    body: IntArray
    """Of each shape [-], shape (ns,)."""
    material: IntArray
    """Of each shape [-], shape (ns,)."""
    laws: Array
    """mu, mu_roll, mu_spin, e of pairs of materials [-, m, m, -], shape (nm, nm, 4)."""
    unit: float
    """Length of a unit [m]."""


@jit
def place_geoms(q, p):
    """First body whose q (7 n,) is not finite, -1 if none; poses of `Placement` p <- where bodies and geoms
    are."""
    for b in range(p.body_x.shape[0]):
        size, p0, p1, p2, p3 = 0.0, q[7 * b + 3], q[7 * b + 4], q[7 * b + 5], q[7 * b + 6]
        for i in range(7):
            size += abs(q[7 * b + i])
        if not size < math.inf:
            return b
        for i in range(3):
            p.body_x[b, i] = q[7 * b + i] * p.per_unit
        square = p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3
        if not 0.0 < square < math.inf:
            return b
        s = 1.0 / math.sqrt(square)  # takes out the rounding of a unit quaternion
        matrix(s * p0, s * p1, s * p2, s * p3, p.body_R[b])
    for g in range(p.body.shape[0]):
        x, R, offset, turn = p.body_x[p.body[g]], p.body_R[p.body[g]], p.offset[g], p.turn[g]
        a = times(R, offset[0], offset[1], offset[2])
        for i in range(3):
            p.geom_x[g, i] = x[i] + a[i]
            for j in range(3):
                p.geom_R[g, i, j] = R[i, 0] * turn[0, j] + R[i, 1] * turn[1, j] + R[i, 2] * turn[2, j]
    return -1


@jit
def room_for(n):
    """`Touching` of n contacts, not filled."""
    return Touching(np.empty(n), np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 2), np.int64))


@jit
def copy_touching(given, i, sign, out, at):
    """Contact `at` of `out` <- contact i of `given`, its normal times sign."""
    out.dist[at] = given.dist[i]
    for k in range(3):
        out.pos[at, k], out.normal[at, k] = given.pos[i, k], sign * given.normal[i, k]
    for k in range(2):
        out.geom[at, k] = given.geom[i, k]


@jit
def first_of(given, n):
    """The first n of `Touching`, copied."""
    return Touching(
        given.dist[:n].copy(), given.pos[:n].copy(), given.normal[:n].copy(), given.geom[:n].copy()
    )


@jit
def pair_end(geom, first):
    """Past the last contact of the pair of geoms of contact `first`.   geom (n, 2)."""
    end = first + 1
    while end < geom.shape[0] and geom[end, 0] == geom[first, 0] and geom[end, 1] == geom[first, 1]:
        end += 1
    return end


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
def choose_manifolds(ng, many, one):
    """`Touching`: of each pair of ng geoms the manifold if it can be true, else the one contact.

    A manifold, in `many`, is made of the faces next to the closest points, if these are almost parallel. Now
    and then they are not, and its deepest point is far from the closest one, which the search for one contact
    (`one`) finds safely: a manifold is taken only if it agrees with that. Parallel edges that touch let the
    search stall with too wide a gap.
    """
    key, key_1 = many.geom[:, 0] * ng + many.geom[:, 1], one.geom[:, 0] * ng + one.geom[:, 1]
    order, order_1 = order_of(key), order_of(key_1)
    out, at, a, b = room_for(many.dist.shape[0] + one.dist.shape[0]), 0, 0, 0
    while b < order_1.shape[0]:
        end_b = run_end(key_1, order_1, b)
        while a < order.shape[0] and key[order[a]] < key_1[order_1[b]]:
            a += 1
        agree, end_a = False, a
        if a < order.shape[0] and key[order[a]] == key_1[order_1[b]]:
            end_a = run_end(key, order, a)
            i, j = deepest_of(many.dist, order, a, end_a), deepest_of(one.dist, order_1, b, end_b)
            along = 0.0
            for c in range(3):
                along += many.normal[i, c] * one.normal[j, c]
            more, slack = many.dist[i] - one.dist[j], 1e-3 * abs(one.dist[j])
            agree = -(slack + STALLED) <= more <= slack + ALIKE and along > 0.9
        for k in range(a if agree else b, end_a if agree else end_b):
            if agree:
                copy_touching(many, order[k], 1.0, out, at)
            else:
                copy_touching(one, order_1[k], 1.0, out, at)
            at += 1
        a, b = end_a, end_b
    return first_of(out, at)


@jit
def empty_contacts(nc):
    """`Contacts` of nc contacts, not filled."""
    return Contacts(
        np.empty(nc, np.int64), np.empty((nc, 2), np.int64), np.empty((nc, 2), np.int64), np.empty((nc, 3)),
        np.empty((nc, 3, 3)), np.empty(nc), np.empty((nc, 4)),
    )  # fmt: skip


@jit
def copy_contact(given, i, out, c):
    """Contact c of `Contacts` <- contact i of others."""
    out.id[c], out.gap[c] = given.id[i], given.gap[i]
    for k in range(2):
        out.shape[c, k], out.body[c, k] = given.shape[i, k], given.body[i, k]
    for k in range(3):
        out.point[c, k] = given.point[i, k]
        for d in range(3):
            out.frame[c, k, d] = given.frame[i, k, d]
    for k in range(4):
        out.law[c, k] = given.law[i, k]


@jit
def translate(given, traits, margin, slots):
    """(`Contacts`, one of a pair with too many contacts or -1) from `Touching`, of those with gap <= margin
    [m].

    Our normals point from the second shape to the first, the one with the smaller number. traits:
    `GeomTraits`; slots: most contacts of a pair.
    """
    dist, geom, shape_of, unit = given.dist, given.geom, traits.shape_of, traits.unit
    n, ns = dist.shape[0], traits.body.shape[0]
    key = np.empty(n, np.int64)
    full, nc, first = -1, 0, 0
    while first < n:
        g, h, last = geom[first, 0], geom[first, 1], pair_end(geom, first)
        if last - first > slots:
            full = first
        s, t = min(shape_of[g], shape_of[h]), max(shape_of[g], shape_of[h])
        slot = 0
        for k in range(first, last):
            if unit * dist[k] <= margin:
                key[nc] = ((s * ns + t) * slots + slot) * n + k  # k at the end, to be found after sorting
                slot += 1
                nc += 1
        first = last
    order, out = order_of(key[:nc]), empty_contacts(nc)
    for c in range(nc):
        out.id[c], k = key[order[c]] // n, key[order[c]] % n
        s, t = shape_of[geom[k, 0]], shape_of[geom[k, 1]]
        sign = -1.0
        if s > t:
            s, t, sign = t, s, 1.0
        out.shape[c, 0], out.shape[c, 1] = s, t
        out.body[c, 0], out.body[c, 1] = traits.body[s], traits.body[t]
        n0, n1, n2 = sign * given.normal[k, 0], sign * given.normal[k, 1], sign * given.normal[k, 2]
        size = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
        n0, n1, n2 = n0 / size + 0.0, n1 / size + 0.0, n2 / size + 0.0  # + 0.0: no negative zeros
        out.frame[c, 0, 0], out.frame[c, 0, 1], out.frame[c, 0, 2] = n0, n1, n2
        fill_tangents(out.frame[c])
        for i in range(3):
            out.point[c, i] = unit * given.pos[k, i]
        out.gap[c] = unit * dist[k]
        for i in range(4):
            out.law[c, i] = traits.laws[traits.material[s], traits.material[t], i]
    return out, full
