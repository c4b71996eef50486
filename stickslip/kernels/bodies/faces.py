"""Faces that lie on each other: their common polygon, in double precision, in place of a few contacts.

A narrow phase finds the closest points of two polyhedra, and makes a manifold of the faces about them if it
sees that they are parallel. Where rounding decides between a face and an edge, or where its vertices are in
single precision, it sometimes gives one point, or half of the polygon. Lengths are in its units.
"""

import numpy as np

from stickslip.kernels.jit import jit

ALONG = 0.9
"""Least cosine of the narrow phase's normal and that of a face: near 0 its own may be off."""
PARALLEL = 1e-5
"""Largest angle of two faces that lie on each other [rad]."""
ALIKE = 1e-5
"""How far the least gap of the faces may be from that of the narrow phase."""
INSIDE = 1e-12
"""How far outside an edge a corner may be that counts as on it."""
APART = 1e-7
"""Corners nearer to each other than that are one."""
MOST = 32
"""Corners of a polygon for which there is room."""


@jit
def facing(face_normal, first, last, R, n, sign):
    """Face of first..last-1 that looks most along sign n, and the cosine; R (9,) turns its normals."""
    best, most = -1, -2.0
    l0 = R[0] * n[0] + R[3] * n[1] + R[6] * n[2]
    l1 = R[1] * n[0] + R[4] * n[1] + R[7] * n[2]
    l2 = R[2] * n[0] + R[5] * n[1] + R[8] * n[2]
    for f in range(first, last):
        cosine = sign * (face_normal[f, 0] * l0 + face_normal[f, 1] * l1 + face_normal[f, 2] * l2)
        if cosine > most:
            best, most = f, cosine
    return best, most


@jit
def turned(R, a, out):
    """out <- R a."""
    for i in range(3):
        out[i] = R[3 * i] * a[0] + R[3 * i + 1] * a[1] + R[3 * i + 2] * a[2]


@jit
def place_corners(corner, first, last, x, R, out):
    """out <- corners first..last-1 in the frame of the world."""
    for k in range(first, last):
        turned(R, corner[k], out[k - first])
        for i in range(3):
            out[k - first, i] += x[i]


@jit
def clipped(frame, n_frame, w, polygon, count, other):
    """How many corners are left of `polygon` (count, 3) inside the edges of `frame`, which are
    counter-clockwise about w; they stand in `polygon`. Sutherland and Hodgman 1974."""
    for e in range(n_frame):
        a, b = frame[e], frame[(e + 1) % n_frame]
        e0, e1, e2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        length = np.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
        m0 = (w[1] * e2 - w[2] * e1) / length
        m1 = (w[2] * e0 - w[0] * e2) / length
        m2 = (w[0] * e1 - w[1] * e0) / length
        left = 0
        for k in range(count):
            p, q = polygon[k], polygon[(k + 1) % count]
            s = m0 * (p[0] - a[0]) + m1 * (p[1] - a[1]) + m2 * (p[2] - a[2])
            t = m0 * (q[0] - a[0]) + m1 * (q[1] - a[1]) + m2 * (q[2] - a[2])
            if s >= -INSIDE and left < MOST:
                other[left] = p
                left += 1
            if ((s >= -INSIDE) != (t >= -INSIDE)) and abs(s - t) > INSIDE and left < MOST:
                for i in range(3):
                    other[left, i] = p[i] + s / (s - t) * (q[i] - p[i])
                left += 1
        if left >= MOST:
            return 0
        count = left
        for k in range(count):
            polygon[k] = other[k]
        if count < 3:
            return 0
    return count


@jit
def distinct(polygon, count):
    """How many corners are left when each is APART from the one before it and the last from the first."""
    left = 0
    for k in range(count):
        near = False
        for j in range(left):
            away = 0.0
            for i in range(3):
                away += (polygon[k, i] - polygon[j, i]) ** 2
            near = near or away < APART * APART
        if not near:
            polygon[left] = polygon[k]
            left += 1
    return left


@jit
def widest(polygon, count, w):
    """Twice the area of the polygon, seen along w."""
    area = 0.0
    for k in range(1, count - 1):
        a, b, c = polygon[0], polygon[k], polygon[k + 1]
        u0, u1, u2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        v0, v1, v2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
        area += w[0] * (u1 * v2 - u2 * v1) + w[1] * (u2 * v0 - u0 * v2) + w[2] * (u0 * v1 - u1 * v0)
    return abs(area)


@jit
def face_contacts(dist, pos, normal, geom, box, face_start, face_normal, corner_start, corner, within, x, R):
    """dist, pos, normal, geom, where faces that lie on each other have their common polygon.

    The contacts of a pair stand in a row; normals point from the first geom to the second. Pairs of boxes
    with four contacts stay as they are. Per geom: box, whether it is one; face_start (ng + 1,); per face:
    face_normal (nf, 3), corner_start (nf + 1,), corners counter-clockwise seen from outside. Polygons with
    gaps above `within` only are left out. x (ng, 3), R (ng, 9): poses.
    """
    n, runs = dist.shape[0], 0
    for k in range(n):
        if k == 0 or geom[k, 0] != geom[k - 1, 0] or geom[k, 1] != geom[k - 1, 1]:
            runs += 1
    room = n + MOST * runs
    new_dist, new_pos, new_normal = np.empty(room), np.empty((room, 3)), np.empty((room, 3))
    new_geom, at, first = np.empty((room, 2), np.int64), 0, 0
    polygon, frame, other = np.empty((MOST, 3)), np.empty((MOST, 3)), np.empty((MOST, 3))
    w1, w2 = np.empty(3), np.empty(3)
    while first < n:
        g, h = geom[first, 0], geom[first, 1]
        last, deepest = first, first
        while last < n and geom[last, 0] == g and geom[last, 1] == h:
            if dist[last] < dist[deepest]:
                deepest = last
            last += 1
        count = 0
        asked = face_start[g + 1] > face_start[g] and face_start[h + 1] > face_start[h]
        if asked and not (box[g] and box[h] and last - first == 4):
            f1, along1 = facing(face_normal, face_start[g], face_start[g + 1], R[g], normal[deepest], 1.0)
            f2, along2 = facing(face_normal, face_start[h], face_start[h + 1], R[h], normal[deepest], -1.0)
            turned(R[g], face_normal[f1], w1)
            turned(R[h], face_normal[f2], w2)
            angle2 = (w1[0] + w2[0]) ** 2 + (w1[1] + w2[1]) ** 2 + (w1[2] + w2[2]) ** 2
            sides = corner_start[f1 + 1] - corner_start[f1]
            count = corner_start[f2 + 1] - corner_start[f2]
            if (
                min(along1, along2) > ALONG
                and angle2 < PARALLEL * PARALLEL
                and max(sides, count) <= MOST // 2
            ):
                place_corners(corner, corner_start[f1], corner_start[f1 + 1], x[g], R[g], frame)
                place_corners(corner, corner_start[f2], corner_start[f2 + 1], x[h], R[h], polygon)
                count = distinct(polygon, clipped(frame, sides, w1, polygon, count, other))
                if count < 3 or widest(polygon, count, w1) < APART * APART:
                    count = 0
            else:
                count = 0
            least = np.inf
            for k in range(count):
                other[k, 0] = 0.0
                for i in range(3):
                    other[k, 0] += w1[i] * (polygon[k, i] - frame[0, i])
                least = min(least, other[k, 0])
            if count and not (abs(least - dist[deepest]) <= ALIKE and least <= within):
                count = 0
        if count:
            for k in range(count):
                new_dist[at] = other[k, 0]
                for i in range(3):
                    new_pos[at, i] = polygon[k, i] - 0.5 * other[k, 0] * w1[i]
                    new_normal[at, i] = w1[i]
                new_geom[at, 0], new_geom[at, 1] = g, h
                at += 1
        else:
            for k in range(first, last):
                new_dist[at] = dist[k]
                new_pos[at], new_normal[at], new_geom[at] = pos[k], normal[k], geom[k]
                at += 1
        first = last
    return new_dist[:at].copy(), new_pos[:at].copy(), new_normal[:at].copy(), new_geom[:at].copy()
