"""Pairs of features for contacts of a narrow phase, as rows of `gaps.Forms`.

The first of these pairs that exists at the contact is used: a corner and a face; two edges; the ends of the
common part of two parallel edges; a corner and an edge; two corners. A corner is a point, a ball or a round
part. Contacts that match none of them, due to rounding of the narrow phase, are ROUGH: a point fixed to one
body and a plane fixed to the other.
"""

import math

import numpy as np

from stickslip.kernels.bodies.features import (
    ALMOST,
    BORDER,
    CORNER,
    EDGE,
    FACE,
    LOOSE,
    MORE,
    PARALLEL,
    ROUGH,
    SHARP,
    Rows,
    Side,
    features_of,
)
from stickslip.kernels.bodies.gaps import (
    LINES,
    POINT_LINE,
    POINT_PLANE,
    ROUND_LINE,
    ROUND_PLANE,
    ROUNDS,
    SPHERES,
    poses_of,
)
from stickslip.kernels.bodies.joint_geometry import dot
from stickslip.kernels.bodies.rotation import cross, times
from stickslip.kernels.jit import jit

END = 1_000_000
"""First code of corners that are ends of an edge."""
FACTOR = 1_000_003
"""Factor that combines the codes of two features in one number; it exceeds the codes of most shapes."""


@jit
def side():
    """Return an empty `Side`."""
    return Side(
        np.zeros(3, np.bool_), np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros((3, 3)),
        np.zeros((3, 3)), np.zeros(3), np.zeros((2, 3)), np.zeros((2, 3, 3)), np.zeros((2, 3)),
    )  # fmt: skip


@jit
def room(n):
    """Return a `Rows` of n rows."""
    return Rows(
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64),
        np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros((n, 2, 3)), np.zeros((n, 3)),
        np.zeros((n, 3)), np.zeros((n, 2)), np.zeros((n, 2, 3, 3)), np.zeros((n, 2), np.int64),
    )  # fmt: skip


@jit
def pair_code(code_1, what_1, code_2, what_2):
    """Return one number that identifies two features."""
    return (3 * code_1 + what_1) * FACTOR + 3 * code_2 + what_2


@jit
def write(first, what_1, second, what_2, contact, swapped, rows, at):
    """Row `at` <- feature what_1 of a `Side` and what_2 of another, what_1 <= what_2."""
    is_round = what_1 == CORNER and first.round[0].any()
    rounds = what_2 == CORNER and second.round[0].any()
    if what_2 == FACE:
        kind = ROUND_PLANE if is_round else POINT_PLANE
    elif what_1 == EDGE:
        kind = LINES
    elif what_2 == EDGE:
        kind = ROUND_LINE if is_round else POINT_LINE
    else:
        kind = ROUNDS if is_round or rounds else SPHERES
    rows.contact[at], rows.flip[at], rows.kind[at] = contact, swapped, kind
    rows.code[at] = pair_code(first.code[what_1], what_1, second.code[what_2], what_2)
    rows.rank[at] = pair_code(first.rank[what_1], what_1, second.rank[what_2], what_2)
    rows.feature[at, 0], rows.feature[at, 1] = what_1, what_2
    rows.radius[at, 0], rows.radius[at, 1] = first.radius[what_1], second.radius[what_2]
    sharp = kind in (SPHERES, POINT_LINE) and not rows.radius[at].any()
    border = what_2 == FACE and (second.has[EDGE] or second.has[CORNER])
    border = border or (what_2 == EDGE and second.has[CORNER]) or (what_1 == EDGE and first.has[CORNER])
    rows.mark[at] = (SHARP if sharp else 0) + (BORDER if border else 0)
    for k in range(3):
        rows.point[at, 0, k], rows.point[at, 1, k] = first.point[what_1, k], second.point[what_2, k]
        rows.normal[at, k] = second.axis[what_2, k]
        rows.axis[at, k] = first.axis[what_1, k] if kind == LINES else second.touch[1, k]
        for m in range(3):
            rows.round[at, 0, k, m] = first.round[0, k, m] if is_round else 0.0
            rows.round[at, 1, k, m] = second.round[0, k, m] if rounds else 0.0


@jit
def join(a, what_a, b, what_b, contact, rows, at):
    """Append a row of these features, the smaller type first; return the number of rows."""
    if what_a <= what_b:
        write(a, what_a, b, what_b, contact, 0, rows, at)
    else:
        write(b, what_b, a, what_a, contact, 1, rows, at)
    return at + 1


@jit
def rough(a, b, near, contact, rows, at):
    """Append a row of a point fixed to one body and a plane of the other; return the number of rows.

    near: points in the same cell of this size have the same code [m].
    """
    fixed_side, plane_side, swapped = (b, a, 1) if a.has[FACE] and not b.has[FACE] else (a, b, 0)
    rows.contact[at], rows.flip[at], rows.kind[at] = contact, swapped, POINT_PLANE
    rows.mark[at] = LOOSE if plane_side.has[FACE] else ROUGH
    rows.feature[at, 0], rows.feature[at, 1] = CORNER, FACE
    code = 0
    for k in range(3):
        code = 9973 * code + np.int64(math.floor(fixed_side.touch[0, k] / near))
    rows.code[at] = rows.rank[at] = code
    rows.radius[at], rows.round[at] = 0.0, 0.0
    for k in range(3):
        rows.point[at, 0, k] = fixed_side.touch[0, k]
        rows.point[at, 1, k] = plane_side.point[FACE, k] if plane_side.has[FACE] else plane_side.touch[0, k]
        rows.normal[at, k] = plane_side.axis[FACE, k] if plane_side.has[FACE] else plane_side.touch[1, k]
        rows.axis[at, k] = plane_side.touch[1, k]
    return at + 1


@jit
def ends_of(a, b, bodies, poses, contact, rows, at):
    """Append rows for the ends of the common part of two almost parallel edges; return the number of rows."""
    # 1. Common part, along the second edge.
    x, R = poses.x, poses.R
    origin, d = np.empty(3), np.empty(3)
    d[0], d[1], d[2] = times(R[bodies[1]], b.axis[EDGE, 0], b.axis[EDGE, 1], b.axis[EDGE, 2])
    for k in range(3):
        origin[k] = x[bodies[1], k] + dot(R[bodies[1], k], b.point[EDGE])
    place = np.empty((2, 2))
    for i in range(2):
        for end in range(2):
            place[i, end] = 0.0
            for k in range(3):
                c = (a if i == 0 else b).ends[end]
                place[i, end] += d[k] * (x[bodies[i], k] + dot(R[bodies[i], k], c) - origin[k])
    low = max(min(place[0, 0], place[0, 1]), min(place[1, 0], place[1, 1]))
    high = min(max(place[0, 0], place[0, 1]), max(place[1, 0], place[1, 1]))
    if not high > low:
        return at
    # 2. A corner of one edge and the other edge, at both ends.
    for bound in (low, high):
        for i in range(2):
            for end in range(2):
                if place[i, end] != bound:
                    continue
                cornered, other = (a, b) if i == 0 else (b, a)
                cornered.code[CORNER] = cornered.rank[CORNER] = END + end
                cornered.radius[CORNER] = 0.0 if cornered.round[1].any() else cornered.radius[EDGE]
                for k in range(3):
                    cornered.point[CORNER, k] = cornered.ends[end, k]
                    for m in range(3):
                        cornered.round[0, k, m] = cornered.round[1, k, m]
                if i == 0:
                    at = join(cornered, CORNER, other, EDGE, contact, rows, at)
                else:
                    at = join(other, EDGE, cornered, CORNER, contact, rows, at)
                break
    return at


@jit
def crosses(a, aligned):
    """Return whether a `Side` has an edge perpendicular to the normal.   aligned: see `ShapeFeatures`."""
    return a.has[EDGE] and abs(dot(a.axis[EDGE], a.touch[1])) < 10.0 * aligned


@jit
def pair_rows(a, b, bodies, poses, n, fine, alone, contact, rows, at):
    """Append the rows of a contact; return the number of rows.

    a, b: `Side`; n (3,): normal; fine: tolerance of points [m], and `ShapeFeatures.aligned`; alone: whether
    there is at most one row.
    """
    # 1. A corner and a face.
    if a.has[CORNER] and b.has[FACE]:
        return join(a, CORNER, b, FACE, contact, rows, at)
    if a.has[FACE] and b.has[CORNER]:
        return join(a, FACE, b, CORNER, contact, rows, at)
    # 2. Two edges, and the ends of almost parallel edges.
    soft = (a.has[CORNER] and (a.radius[CORNER] > 0.0 or a.round[0].any())) or (
        b.has[CORNER] and (b.radius[CORNER] > 0.0 or b.round[0].any())
    )
    first = at
    if a.has[EDGE] and b.has[EDGE] and not soft:
        u0, u1, u2 = times(poses.R[bodies[0]], a.axis[EDGE, 0], a.axis[EDGE, 1], a.axis[EDGE, 2])
        v0, v1, v2 = times(poses.R[bodies[1]], b.axis[EDGE, 0], b.axis[EDGE, 1], b.axis[EDGE, 2])
        m0, m1, m2 = cross(u0, u1, u2, v0, v1, v2)
        sine, along = math.sqrt(m0 * m0 + m1 * m1 + m2 * m2), m0 * n[0] + m1 * n[1] + m2 * n[2]
        # Near a corner, an edge whose normal is close to this one by chance is not in contact.
        least = 1.0 - 50.0 * fine[1] ** 2 if a.has[CORNER] or b.has[CORNER] else 0.99
        if sine > PARALLEL and abs(along) > least * sine:
            if along < 0.0:
                for k in range(3):
                    a.axis[EDGE, k] *= -1.0
            at = join(a, EDGE, b, EDGE, contact, rows, at)
        thick = a.radius[EDGE] + b.radius[EDGE] > 0.0
        if (
            sine < ALMOST
            and thick
            and not alone
            and a.ends[0, 0] == a.ends[0, 0]
            and (b.ends[0, 0] == b.ends[0, 0])
        ):
            at = ends_of(a, b, bodies, poses, contact, rows, at)
    # 3. A corner and an edge, two corners, or none.
    if at == first:
        if a.has[CORNER] and crosses(b, fine[1]):
            return join(a, CORNER, b, EDGE, contact, rows, at)
        if crosses(a, fine[1]) and b.has[CORNER]:
            return join(a, EDGE, b, CORNER, contact, rows, at)
        if a.has[CORNER] and b.has[CORNER]:
            return join(a, CORNER, b, CORNER, contact, rows, at)
        return rough(a, b, fine[0], contact, rows, at)
    return at


@jit
def place_rows(tables, q, shape, point, normal, gap, least, alone):
    """Return (`Rows`, number of rows) of contacts at q (n, 7).

    tables: `ShapeFeatures`; shape (nc, 2), point (nc, 3), normal (nc, 3), gap (nc,): see `ContactSet`; least
    (ns,): see `cylinder_features`; alone: whether each contact has at most one row.
    """
    nc, at, poses = gap.shape[0], 0, poses_of(q)
    rows, a, b = room(MORE * nc), side(), side()
    place, outward = np.empty(3), np.empty(3)
    for c in range(nc):
        s, t = shape[c, 0], shape[c, 1]
        bodies = (tables.body[s], tables.body[t])
        for i in range(2):
            sign = 1.0 if i == 0 else -1.0
            for k in range(3):
                place[k] = point[c, k] + 0.5 * sign * gap[c] * normal[c, k]
                outward[k] = -sign * normal[c, k]
            x, R, number = poses.x[bodies[i]], poses.R[bodies[i]], shape[c, i]
            features_of(tables, number, x, R, place, outward, least[number], a if i == 0 else b)
        near = max(min(tables.near[s], tables.near[t]), 1e-300)
        at = pair_rows(a, b, bodies, poses, normal[c], (near, tables.aligned), alone, c, rows, at)
        if gap[c] <= near and rows.mark[at - 1] & SHARP:  # the gap must not be a distance
            at = rough(a, b, near, c, rows, at - 1)
    return rows, at
