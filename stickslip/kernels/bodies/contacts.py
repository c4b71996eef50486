"""Poses of shapes for an external narrow phase, and its contacts in the conventions of stickslip.

Geoms are the shapes in the numbering of the narrow phase. Its lengths are those of stickslip divided by
`unit`.
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
"""Largest excess and largest deficit of the gap of a manifold over that of the single contact [units]
(heuristic)."""


class Placement(NamedTuple):
    """Poses of geoms in body frames, and poses of bodies and geoms; lengths in units."""

    body: IntArray
    """Body of each geom [-], shape (ng,)."""
    offset: Array
    """Position of each geom in the frame of its body [units], shape (ng, 3)."""
    turn: Array
    """Rotation matrix of each geom in the frame of its body [-], shape (ng, 3, 3)."""
    per_unit: float
    """Reciprocal of the length of a unit [1/m]."""
    body_x: Array
    """Positions of bodies [units], shape (n, 3)."""
    body_R: Array
    """Rotation matrices of bodies [-], shape (n, 3, 3)."""
    geom_x: Array
    """Positions of geoms [units], shape (ng, 3)."""
    geom_R: Array
    """Rotation matrices of geoms [-], shape (ng, 3, 3)."""


class Touching(NamedTuple):
    """Contacts of a narrow phase; those of a pair of geoms are consecutive."""

    dist: Array
    """Gaps [units], shape (n,)."""
    pos: Array
    """Points midway between the surfaces [units], shape (n, 3)."""
    normal: Array
    """Normals from the first geom to the second [-], shape (n, 3)."""
    geom: IntArray
    """First and second geom [-], shape (n, 2)."""


class GeomTraits(NamedTuple):
    """Shapes, bodies and contact laws of geoms."""

    shape_of: IntArray
    """Shape of each geom [-], shape (ng,)."""
    body: IntArray
    """Body of each shape [-], shape (ns,)."""
    material: IntArray
    """Material of each shape [-], shape (ns,)."""
    laws: Array
    """Parameters mu, mu_roll, mu_spin, e of pairs of materials [-, m, m, -], shape (nm, nm, 4)."""
    unit: float
    """Length of a unit [m]."""


@jit
def place_geoms(q, p):
    """p, `Placement` <- poses of bodies and geoms at q (7 n,).

    Return the first body with invalid q, or -1.
    """
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
        s = 1.0 / math.sqrt(square)  # removes rounding errors of the unit quaternion
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
    """Return a `Touching` for n contacts, not initialised."""
    return Touching(np.empty(n), np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 2), np.int64))


@jit
def copy_touching(touching, i, sign, out, at):
    """Contact `at` of `out` <- contact i of `touching`, with its normal times sign."""
    out.dist[at] = touching.dist[i]
    for k in range(3):
        out.pos[at, k], out.normal[at, k] = touching.pos[i, k], sign * touching.normal[i, k]
    for k in range(2):
        out.geom[at, k] = touching.geom[i, k]


@jit
def first_of(touching, n):
    """Return a copy of the first n contacts."""
    return Touching(
        touching.dist[:n].copy(),
        touching.pos[:n].copy(),
        touching.normal[:n].copy(),
        touching.geom[:n].copy(),
    )


@jit
def pair_end(geom, first):
    """Return one past the last contact of the same pair of geoms as contact `first`.   geom (n, 2)."""
    end = first + 1
    while end < geom.shape[0] and geom[end, 0] == geom[first, 0] and geom[end, 1] == geom[first, 1]:
        end += 1
    return end


@jit
def order_of(key):
    """Return the order that sorts `key` (n,), stable, by merge sort of runs of 1, 2, 4, ..."""
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
    """Return one past the last position in `order` with the same key as position k."""
    end = k + 1
    while end < order.shape[0] and key[order[end]] == key[order[k]]:
        end += 1
    return end


@jit
def deepest_of(dist, order, first, last):
    """Return the contact of order[first:last] with the smallest dist."""
    best = order[first]
    for k in range(first + 1, last):
        if dist[order[k]] < dist[best]:
            best = order[k]
    return best


@jit
def choose_manifolds(ng, manifolds, single):
    """Return the `Touching` with the manifold of each pair of geoms if it is plausible, else one contact.

    A manifold, in `manifolds`, is computed from the faces next to the closest points if these faces are
    almost parallel. Sometimes they are not, and the deepest point of the manifold is far from the closest
    points, which the search for a single contact (`single`) finds reliably. Therefore a manifold is used only
    if it agrees with the single contact. Its gap may be smaller: the search can stall with too wide a gap for
    parallel edges that touch.
    """
    key, key_1 = manifolds.geom[:, 0] * ng + manifolds.geom[:, 1], single.geom[:, 0] * ng + single.geom[:, 1]
    order, order_1 = order_of(key), order_of(key_1)
    out, at, a, b = room_for(manifolds.dist.shape[0] + single.dist.shape[0]), 0, 0, 0
    while b < order_1.shape[0]:
        end_b = run_end(key_1, order_1, b)
        while a < order.shape[0] and key[order[a]] < key_1[order_1[b]]:
            a += 1
        agree, end_a = False, a
        if a < order.shape[0] and key[order[a]] == key_1[order_1[b]]:
            end_a = run_end(key, order, a)
            i, j = deepest_of(manifolds.dist, order, a, end_a), deepest_of(single.dist, order_1, b, end_b)
            along = 0.0
            for c in range(3):
                along += manifolds.normal[i, c] * single.normal[j, c]
            excess, slack = manifolds.dist[i] - single.dist[j], 1e-3 * abs(single.dist[j])
            agree = -(slack + STALLED) <= excess <= slack + ALIKE and along > 0.9
        for k in range(a if agree else b, end_a if agree else end_b):
            if agree:
                copy_touching(manifolds, order[k], 1.0, out, at)
            else:
                copy_touching(single, order_1[k], 1.0, out, at)
            at += 1
        a, b = end_a, end_b
    return first_of(out, at)


@jit
def empty_contacts(nc):
    """Return a `Contacts` for nc contacts, not initialised."""
    return Contacts(
        np.empty(nc, np.int64), np.empty((nc, 2), np.int64), np.empty((nc, 2), np.int64), np.empty((nc, 3)),
        np.empty((nc, 3, 3)), np.empty(nc), np.empty((nc, 4)),
    )  # fmt: skip


@jit
def copy_contact(contacts, i, out, c):
    """Contact c of `out` <- contact i of `contacts`, both `Contacts`."""
    out.id[c], out.gap[c] = contacts.id[i], contacts.gap[i]
    for k in range(2):
        out.shape[c, k], out.body[c, k] = contacts.shape[i, k], contacts.body[i, k]
    for k in range(3):
        out.point[c, k] = contacts.point[i, k]
        for d in range(3):
            out.frame[c, k, d] = contacts.frame[i, k, d]
    for k in range(4):
        out.law[c, k] = contacts.law[i, k]


@jit
def translate(touching, traits, margin, slots):
    """Return (`Contacts`, a contact of a pair with too many contacts or -1) from a `Touching`.

    Contacts with gap > margin [m] are dropped. Normals of `Contacts` point from the second shape to the
    first, the one with the smaller number. traits: `GeomTraits`; slots: largest number of contacts of a pair.
    """
    # 1. Identifiers of the contacts to keep, with their index as last digits.
    dist, geom, shape_of, unit = touching.dist, touching.geom, traits.shape_of, traits.unit
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
                key[nc] = ((s * ns + t) * slots + slot) * n + k
                slot += 1
                nc += 1
        first = last
    # 2. Contacts in the order of identifiers.
    order, out = order_of(key[:nc]), empty_contacts(nc)
    for c in range(nc):
        out.id[c], k = key[order[c]] // n, key[order[c]] % n
        s, t = shape_of[geom[k, 0]], shape_of[geom[k, 1]]
        sign = -1.0
        if s > t:
            s, t, sign = t, s, 1.0
        out.shape[c, 0], out.shape[c, 1] = s, t
        out.body[c, 0], out.body[c, 1] = traits.body[s], traits.body[t]
        n0, n1, n2 = sign * touching.normal[k, 0], sign * touching.normal[k, 1], sign * touching.normal[k, 2]
        size = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
        n0, n1, n2 = n0 / size + 0.0, n1 / size + 0.0, n2 / size + 0.0  # + 0.0: no negative zeros
        out.frame[c, 0, 0], out.frame[c, 0, 1], out.frame[c, 0, 2] = n0, n1, n2
        fill_tangents(out.frame[c])
        for i in range(3):
            out.point[c, i] = unit * touching.pos[k, i]
        out.gap[c] = unit * dist[k]
        for i in range(4):
            out.law[c, i] = traits.laws[traits.material[s], traits.material[t], i]
    return out, full
