"""Contacts of parallel faces that touch: the corners of their common polygon, in double precision.

A narrow phase computes the closest points of two polyhedra, and a manifold from the faces about these points
if it detects that they are parallel. If rounding decides between a face and an edge, or if its vertices are
in single precision, it sometimes yields one point or half of the polygon. Here such manifolds are replaced.
Lengths are in units of the narrow phase.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.contacts import copy_touching, first_of, pair_end, room_for
from stickslip.kernels.bodies.rotation import cross, times, times_back
from stickslip.kernels.jit import jit
from stickslip.state import Array, BoolArray, IntArray

ALONG = 0.9
"""Smallest cosine of the angle between the normals of the narrow phase and of a face [-]; at small gaps the
former may be inaccurate (heuristic)."""
PARALLEL = 1e-5
"""Largest angle of two parallel faces [rad] (heuristic)."""
ALIKE = 1e-5
"""Largest difference of the smallest gap of the polygon and that of the narrow phase [units] (heuristic)."""
INSIDE = 1e-12
"""Corners up to this distance outside an edge are on the edge [units]."""
APART = 1e-7
"""Corners nearer to each other than this coincide [units]."""
MOST = 32
"""Largest number of corners of a polygon."""


class Polyhedra(NamedTuple):
    """Faces of geoms, in the frames of the geoms."""

    box: BoolArray
    """Whether each geom is a box [-], shape (ng,)."""
    face_start: IntArray
    """Index of the first face of each geom, and the number of all [-], shape (ng + 1,)."""
    normal: Array
    """Normals of faces [-], shape (nf, 3)."""
    corner_start: IntArray
    """Index of the first corner of each face, and the number of all [-], shape (nf + 1,)."""
    corner: Array
    """Corners, counter-clockwise seen from outside [units], shape (nc, 3)."""


@jit
def facing(p, g, R, n, sign):
    """Return (face of geom g whose normal is nearest to sign n, cosine of their angle).

    p: `Polyhedra`; R (3, 3): rotation of the geom; n (3,).
    """
    best, most = -1, -2.0
    l0, l1, l2 = times_back(R, n[0], n[1], n[2])
    for f in range(p.face_start[g], p.face_start[g + 1]):
        cosine = sign * (p.normal[f, 0] * l0 + p.normal[f, 1] * l1 + p.normal[f, 2] * l2)
        if cosine > most:
            best, most = f, cosine
    return best, most


@jit
def place_corners(p, f, x, R, out):
    """out <- corners of face f in the inertial frame; return their number.   p: `Polyhedra`."""
    first, last = p.corner_start[f], p.corner_start[f + 1]
    for k in range(first, last):
        a = times(R, p.corner[k, 0], p.corner[k, 1], p.corner[k, 2])
        for i in range(3):
            out[k - first, i] = a[i] + x[i]
    return last - first


@jit
def clipped(frame, n_frame, w, polygon, count, other):
    """polygon <- its first `count` corners clipped by the edges of `frame`; return the number of corners.

    The edges are counter-clockwise about w. Sutherland and Hodgman 1974. other: work array.
    """
    for e in range(n_frame):
        a, b = frame[e], frame[(e + 1) % n_frame]
        e0, e1, e2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        length = np.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
        m0 = (w[1] * e2 - w[2] * e1) / length
        m1 = (w[2] * e0 - w[0] * e2) / length
        m2 = (w[0] * e1 - w[1] * e0) / length
        size = 0
        for k in range(count):
            p, q = polygon[k], polygon[(k + 1) % count]
            s = m0 * (p[0] - a[0]) + m1 * (p[1] - a[1]) + m2 * (p[2] - a[2])
            t = m0 * (q[0] - a[0]) + m1 * (q[1] - a[1]) + m2 * (q[2] - a[2])
            if s >= -INSIDE and size < MOST:
                other[size] = p
                size += 1
            if ((s >= -INSIDE) != (t >= -INSIDE)) and abs(s - t) > INSIDE and size < MOST:
                for i in range(3):
                    other[size, i] = p[i] + s / (s - t) * (q[i] - p[i])
                size += 1
        if size >= MOST:
            return 0
        count = size
        for k in range(count):
            polygon[k] = other[k]
        if count < 3:
            return 0
    return count


@jit
def distinct(polygon, count, w):
    """polygon <- its distinct corners; return their number, or 0 if the polygon has no area seen along w."""
    size, area = 0, 0.0
    for k in range(count):
        near = False
        for j in range(size):
            square = 0.0
            for i in range(3):
                square += (polygon[k, i] - polygon[j, i]) ** 2
            near = near or square < APART * APART
        if not near:
            polygon[size] = polygon[k]
            size += 1
    for k in range(1, size - 1):
        a, b, c = polygon[0], polygon[k], polygon[k + 1]
        n0, n1, n2 = cross(b[0] - a[0], b[1] - a[1], b[2] - a[2], c[0] - a[0], c[1] - a[1], c[2] - a[2])
        area += w[0] * n0 + w[1] * n1 + w[2] * n2
    return 0 if abs(area) < APART * APART else size


@jit
def common_polygon(p, pair, normal, placement, polygon, frame, other):
    """Return (number of corners or 0, normal) of the common polygon of parallel faces of two geoms.

    polygon <- its corners, frame <- corners of the first face. p: `Polyhedra`; normal (3,): from the first
    geom to the second; other: work array.
    """
    g, h = pair
    x, R = placement.geom_x, placement.geom_R
    f1, along1 = facing(p, g, R[g], normal, 1.0)
    f2, along2 = facing(p, h, R[h], normal, -1.0)
    a, b = p.normal[f1], p.normal[f2]
    w1, w2 = times(R[g], a[0], a[1], a[2]), times(R[h], b[0], b[1], b[2])
    angle2 = (w1[0] + w2[0]) ** 2 + (w1[1] + w2[1]) ** 2 + (w1[2] + w2[2]) ** 2
    most = max(p.corner_start[f1 + 1] - p.corner_start[f1], p.corner_start[f2 + 1] - p.corner_start[f2])
    if not (min(along1, along2) > ALONG and angle2 < PARALLEL * PARALLEL and most <= MOST // 2):
        return 0, w1
    sides = place_corners(p, f1, x[g], R[g], frame)
    count = place_corners(p, f2, x[h], R[h], polygon)
    return distinct(polygon, clipped(frame, sides, w1, polygon, count, other), w1), w1


@jit
def face_contacts(touching, p, within, placement):
    """Return the `Touching` with the contacts of parallel faces replaced by their common polygons.

    Pairs of boxes with four contacts are not changed. p: `Polyhedra`; within: polygons are used if their
    smallest gap is at most this [units]; placement: `Placement`.
    """
    dist, geom, runs, first = touching.dist, touching.geom, 0, 0
    n = dist.shape[0]
    while first < n:
        first, runs = pair_end(geom, first), runs + 1
    out, at, first = room_for(n + MOST * runs), 0, 0
    # For each pair of geoms: the common polygon of its faces, if it agrees with the deepest contact.
    polygon, frame, other = np.empty((MOST, 3)), np.empty((MOST, 3)), np.empty((MOST, 3))
    height = np.empty(MOST)
    while first < n:
        g, h, last, deepest, count = geom[first, 0], geom[first, 1], pair_end(geom, first), first, 0
        for k in range(first, last):
            if dist[k] < dist[deepest]:
                deepest = k
        w1 = (0.0, 0.0, 0.0)
        both_faced = p.face_start[g + 1] > p.face_start[g] and p.face_start[h + 1] > p.face_start[h]
        if both_faced and not (p.box[g] and p.box[h] and last - first == 4):
            count, w1 = common_polygon(p, (g, h), touching.normal[deepest], placement, polygon, frame, other)
            least = np.inf
            for k in range(count):
                height[k] = 0.0
                for i in range(3):
                    height[k] += w1[i] * (polygon[k, i] - frame[0, i])
                least = min(least, height[k])
            if not (abs(least - dist[deepest]) <= ALIKE and least <= within):
                count = 0
        for k in range(count):
            out.dist[at], out.geom[at, 0], out.geom[at, 1] = height[k], g, h
            for i in range(3):
                out.pos[at, i] = polygon[k, i] - 0.5 * height[k] * w1[i]
                out.normal[at, i] = w1[i]
            at += 1
        if count == 0:
            for k in range(first, last):
                copy_touching(touching, k, 1.0, out, at)
                at += 1
        first = last
    return first_of(out, at)
