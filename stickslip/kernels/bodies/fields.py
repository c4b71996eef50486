"""Contacts with height fields: those of a narrow phase that knows fields as prisms, set right and made whole.

Cell (i, j) of a field, between x_i, x_i+1 and y_j, y_j+1, has two triangles, on either side of the diagonal
from its corner (i, j) to (i + 1, j + 1). Lengths are in units of the narrow phase, vectors in the inertial
frame but for the surface, which is in the frame of the field. The normals here point out of the field.
"""

import math

import numpy as np

from stickslip.kernels.jit import jit

SAME = 1e-4
"""Angle [rad] within which two normals are one."""


@jit
def surface(x, y, heights, half_x, half_y):
    """(z, n0, n1, n2, i, j, side) at (x, y): height, normal of the triangle, and which it is.

    heights (ny, nx), over |x| <= half_x, |y| <= half_y; outside of it the triangle at its edge goes on.
    """
    rows, columns = heights.shape
    dx, dy = 2.0 * half_x / (columns - 1), 2.0 * half_y / (rows - 1)
    a, b = (x + half_x) / dx, (y + half_y) / dy
    i = np.int64(min(max(math.floor(a), 0.0), columns - 2.0))
    j = np.int64(min(max(math.floor(b), 0.0), rows - 2.0))
    a, b = a - i, b - j
    low, high = heights[j, i], heights[j + 1, i + 1]
    if a >= b:  # below the diagonal: corners (i, j), (i + 1, j), (i + 1, j + 1)
        corner, side = heights[j, i + 1], 0
        along, across = corner - low, high - corner
    else:
        corner, side = heights[j + 1, i], 1
        along, across = high - corner, corner - low
    n0, n1 = -along / dx, -across / dy
    size = math.sqrt(1.0 + n0 * n0 + n1 * n1)
    return low + a * along + b * across, n0 / size, n1 / size, 1.0 / size, i, j, side


@jit
def into(x, origin, R):
    """Point x (3 numbers) in the frame with that origin (3,) and axes R (9,)."""
    a, b, c = x[0] - origin[0], x[1] - origin[1], x[2] - origin[2]
    return (
        R[0] * a + R[3] * b + R[6] * c,
        R[1] * a + R[4] * b + R[7] * c,
        R[2] * a + R[5] * b + R[8] * c,
    )


@jit
def out_of(x, y, z, R):
    """Vector (x, y, z) of a frame with axes R (9,) in the inertial one."""
    return (
        R[0] * x + R[1] * y + R[2] * z,
        R[3] * x + R[4] * y + R[5] * z,
        R[6] * x + R[7] * y + R[8] * z,
    )


@jit
def within(first, last, dist, pos, normal, origin, R, heights, half_x, half_y, flat, keep):
    """keep <- False for contacts first..last-1 with a wall between two prisms, which is inside the field.

    normal <- that of the triangle where it is the same but for rounding.
    """
    for k in range(first, last):
        s = 0.5 * dist[k]
        foot = (pos[k, 0] - s * normal[k, 0], pos[k, 1] - s * normal[k, 1], pos[k, 2] - s * normal[k, 2])
        x, y, z = into(foot, origin, R)
        top, n0, n1, n2, _, _, _ = surface(x, y, heights, half_x, half_y)
        n0, n1, n2 = out_of(n0, n1, n2, R)
        away = (normal[k, 0] - n0) ** 2 + (normal[k, 1] - n1) ** 2 + (normal[k, 2] - n2) ** 2
        if away < SAME * SAME:
            normal[k, 0], normal[k, 1], normal[k, 2] = n0, n1, n2
        inner = abs(x) < half_x - flat and abs(y) < half_y - flat
        keep[k] = not (inner and z < top - flat)


@jit
def drop_repeated(first, last, dist, pos, normal, flat, keep):
    """keep <- False for contacts first..last-1 that another of them, as deep or deeper, covers.

    A point on an edge comes once for each prism that has it; and the edge of a neighbour's prism is met
    although the surface goes on there. So a contact goes if its point on the field is that of another, or
    lies in the tangent plane of one with another normal. flat: how far from a plane a rounded point may be.
    """
    for k in range(first, last):
        if not keep[k]:
            continue
        for j in range(first, last):
            if j == k or not keep[j] or dist[j] > dist[k] or (dist[j] == dist[k] and j > k):
                continue
            near, above, across = 0.0, 0.0, 0.0
            for i in range(3):
                n_j, n_k = normal[j, i], normal[k, i]
                x = (pos[k, i] - 0.5 * dist[k] * n_k) - (pos[j, i] - 0.5 * dist[j] * n_j)
                near += x * x
                above += x * n_j
                across += (n_k - n_j) * (n_k - n_j)
            if near <= flat * flat or (across > SAME * SAME and abs(above) <= flat):
                keep[k] = False
                break


@jit
def rim(point, R, radius, half, n0, n1, n2):
    """point (8, 3) <- of a cylinder, in its frame: on the rim of each end that which is farthest along -n,
    and those a quarter and half a turn away."""
    x = -(R[0] * n0 + R[3] * n1 + R[6] * n2)
    y = -(R[1] * n0 + R[4] * n1 + R[7] * n2)
    size = math.sqrt(x * x + y * y)
    if size < 1e-9:  # it stands: all are as far
        x, y, size = 1.0, 0.0, 1.0
    x, y = radius * x / size, radius * y / size
    for k in range(8):
        point[k, 2] = half if k < 4 else -half
        point[k, 0], point[k, 1] = x, y
        x, y = -y, x


@jit
def add_points(at, g, h, points, radius, margin, geom_x, geom_R, heights, half_x, half_y, dist, pos, normal):
    """Number of contacts after those of points (np, 3) of geom h, balls of that radius, with field g.

    dist, pos, normal [at:] <- those with gap <= margin over whose triangle they stand.
    """
    for p in range(points.shape[0]):
        a0, a1, a2 = out_of(points[p, 0], points[p, 1], points[p, 2], geom_R[h])
        c = (geom_x[h, 0] + a0, geom_x[h, 1] + a1, geom_x[h, 2] + a2)
        x, y, z = into(c, geom_x[g], geom_R[g])
        top, n0, n1, n2, i, j, side = surface(x, y, heights, half_x, half_y)
        far = (z - top) * n2
        x, y = x - far * n0, y - far * n1
        if far - radius > margin or abs(x) > half_x or abs(y) > half_y:
            continue
        _, _, _, _, i_foot, j_foot, side_foot = surface(x, y, heights, half_x, half_y)
        if i_foot != i or j_foot != j or side_foot != side:
            continue
        n = out_of(n0, n1, n2, geom_R[g])
        dist[at] = far - radius
        for k in range(3):
            normal[at, k] = n[k]
            pos[at, k] = c[k] - 0.5 * (far + radius) * n[k]
        at += 1
    return at


@jit
def field_contacts(dist, pos, normal, geom, fields, solids, margin, flat, most, geom_x, geom_R):
    """dist, pos, normal, geom, with those of pairs with a height field made whole; others as they are; and
    a row of a pair with a field with `most` contacts or more, of which some may be missing, or -1.

    The narrow phase gives one contact per prism, so that a box on one triangle would stand on one corner.
    Added are those of all corners of polyhedra, ends of capsules and rims of cylinders, with the triangle
    below. fields: which (per geom, -1 for others), heights and where those of each begin, rows, columns,
    half widths (nf, 2).
    solids: start (per geom, one more), points (m, 3), radius, half (per geom; 0 but for cylinders).
    """
    which, heights, begin, rows, columns, width = fields
    start, points, radius, half = solids
    n, room, full = dist.shape[0], 0, -1
    first = 0
    while first < n:
        g, h, last = geom[first, 0], geom[first, 1], first
        while last < n and geom[last, 0] == g and geom[last, 1] == h:
            last += 1
        room += last - first
        if which[g] >= 0 or which[h] >= 0:
            full = first if last - first >= most else full
            other = h if which[g] >= 0 else g
            room += 8 + start[other + 1] - start[other]
        first = last
    new_dist, new_pos, new_normal = np.empty(room), np.empty((room, 3)), np.empty((room, 3))
    new_geom, keep, rims = np.empty((room, 2), np.int64), np.ones(room, np.bool_), np.empty((8, 3))
    first, at = 0, 0
    while first < n:
        g, h, last = geom[first, 0], geom[first, 1], first
        begin_at, deepest = at, first
        is_first = which[g] >= 0
        field, other = (g, h) if is_first else (h, g)
        sign = 1.0 if is_first or which[field] < 0 else -1.0
        while last < n and geom[last, 0] == g and geom[last, 1] == h:
            new_dist[at] = dist[last]
            for i in range(3):
                new_pos[at, i], new_normal[at, i] = pos[last, i], sign * normal[last, i]
            if dist[last] < dist[deepest]:
                deepest = last
            at += 1
            last += 1
        if which[field] >= 0:
            f = which[field]
            z = heights[begin[f] : begin[f] + rows[f] * columns[f]].reshape(rows[f], columns[f])
            x, R, half_x, half_y = geom_x[field], geom_R[field], width[f, 0], width[f, 1]
            within(begin_at, at, new_dist, new_pos, new_normal, x, R, z, half_x, half_y, flat, keep)
            lowest, ball = points[start[other] : start[other + 1]], radius[other]
            if half[other] > 0.0:
                m = sign * normal[deepest]
                rim(rims, geom_R[other], radius[other], half[other], m[0], m[1], m[2])
                lowest, ball = rims, 0.0
            at = add_points(
                at, field, other, lowest, ball, margin, geom_x, geom_R, z, half_x, half_y,
                new_dist, new_pos, new_normal,
            )  # fmt: skip
            drop_repeated(begin_at, at, new_dist, new_pos, new_normal, flat, keep)
        kept = begin_at
        for k in range(begin_at, at):
            if keep[k]:
                new_dist[kept] = new_dist[k]
                for i in range(3):
                    new_pos[kept, i], new_normal[kept, i] = new_pos[k, i], sign * new_normal[k, i]
                new_geom[kept, 0], new_geom[kept, 1] = g, h
                kept += 1
        keep[begin_at:at] = True
        at, first = kept, last
    return new_dist[:at].copy(), new_pos[:at].copy(), new_normal[:at].copy(), new_geom[:at].copy(), full
