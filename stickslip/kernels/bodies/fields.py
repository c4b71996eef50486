"""Contacts with height fields: those of a narrow phase that knows fields as prisms, set right and made whole.

Cell (i, j) of a field, between x_i, x_i+1 and y_j, y_j+1, has two triangles, on either side of the diagonal
from its corner (i, j) to (i + 1, j + 1). Lengths are in units of the narrow phase, vectors in the inertial
frame but for the surface, which is in the frame of the field. The normals here point out of the field.
"""

import math
from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.contacts import copy_touching, first_of, pair_end, room_for
from stickslip.kernels.bodies.rotation import times, times_back
from stickslip.kernels.jit import jit
from stickslip.state import Array, IntArray

SAME = 1e-4
"""Angle [rad] within which two normals are one."""


class Terrain(NamedTuple):
    """Height fields among geoms, and points of the others that may stand on them; lengths in units."""

    which: IntArray
    """Number of the field of each geom, -1 for others [-], shape (ng,)."""
    heights: Array
    """Of all fields, one after the other, rows along y, shape (m,)."""
    begin: IntArray
    """Where the heights of each begin [-], shape (nf,)."""
    rows: IntArray
    """[-], shape (nf,)."""
    columns: IntArray
    """[-], shape (nf,)."""
    width: Array
    """Half widths along x and y, shape (nf, 2)."""
    start: IntArray
    """First point of each geom, and the number of all [-], shape (ng + 1,)."""
    points: Array
    """Corners of polyhedra, centres of balls and ends of capsules, in their frames, shape (np, 3)."""
    radius: Array
    """Of geoms, 0 for polyhedra, shape (ng,)."""
    half: Array
    """Half lengths of cylinders, 0 for others, shape (ng,)."""
    flat: float
    """How far from a plane a rounded point may be."""
    most: int
    """Contacts of a pair from which on some may be missing."""


class Field(NamedTuple):
    """One height field, and where it is."""

    heights: Array
    """[units], shape (ny, nx)."""
    half_x: float
    half_y: float
    x: Array
    """Its place [units], shape (3,)."""
    R: Array
    """Its rotation [-], shape (3, 3)."""


@jit
def surface(x, y, field):
    """(z, n0, n1, n2, triangle) at (x, y): height, normal of the triangle, and its number.

    heights (ny, nx), over |x| <= half_x, |y| <= half_y; outside of it the triangle at its edge goes on.
    """
    heights, half_x, half_y = field.heights, field.half_x, field.half_y
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
    triangle = 2 * (j * columns + i) + side
    return low + a * along + b * across, n0 / size, n1 / size, 1.0 / size, triangle


@jit
def drop_walls(first, last, given, field, flat, keep):
    """keep <- False for contacts first..last-1 with a wall between two prisms, which is inside the field.

    Normals of `given`, `Touching`, <- that of the triangle where it is the same but for rounding.
    """
    dist, pos, normal, foot = given.dist, given.pos, given.normal, np.empty(3)
    for k in range(first, last):
        s = 0.5 * dist[k]
        for i in range(3):
            foot[i] = pos[k, i] - s * normal[k, i] - field.x[i]
        x, y, z = times_back(field.R, foot[0], foot[1], foot[2])
        top, n0, n1, n2, _ = surface(x, y, field)
        n0, n1, n2 = times(field.R, n0, n1, n2)
        away = (normal[k, 0] - n0) ** 2 + (normal[k, 1] - n1) ** 2 + (normal[k, 2] - n2) ** 2
        if away < SAME * SAME:
            normal[k, 0], normal[k, 1], normal[k, 2] = n0, n1, n2
        inner = abs(x) < field.half_x - flat and abs(y) < field.half_y - flat
        keep[k] = not (inner and z < top - flat)


@jit
def drop_repeated(first, last, given, flat, keep):
    """keep <- False for contacts first..last-1 that another of them, as deep or deeper, covers.

    A point on an edge comes once for each prism that has it; and the edge of a neighbour's prism is met
    although the surface goes on there. So a contact goes if its point on the field is that of another, or
    lies in the tangent plane of one with another normal. flat: how far from a plane a rounded point may be.
    """
    dist, pos, normal = given.dist, given.pos, given.normal
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
def rim(R, radius, half, n):
    """Points (8, 3) of a cylinder, in its frame: on the rim of each end that which is farthest along -n, and
    those a quarter and half a turn away.   n: 3 numbers."""
    point = np.empty((8, 3))
    x, y, _ = times_back(R, n[0], n[1], n[2])
    x, y = -x, -y
    size = math.sqrt(x * x + y * y)
    if size < 1e-9:  # it stands: all are as far
        x, y, size = 1.0, 0.0, 1.0
    x, y = radius * x / size, radius * y / size
    for k in range(8):
        point[k, 2] = half if k < 4 else -half
        point[k, 0], point[k, 1] = x, y
        x, y = -y, x
    return point


@jit
def add_points(points, radius, x, R, margin, field, out, at):
    """Number of contacts after those of points (np, 3) of a geom at x, R, balls of that radius, with a field.

    out[at:], `Touching` <- those with gap <= margin over whose triangle they stand.
    """
    for p in range(points.shape[0]):
        a0, a1, a2 = times(R, points[p, 0], points[p, 1], points[p, 2])
        c = (x[0] + a0, x[1] + a1, x[2] + a2)
        s, t, z = times_back(field.R, c[0] - field.x[0], c[1] - field.x[1], c[2] - field.x[2])
        top, n0, n1, n2, triangle = surface(s, t, field)
        far = (z - top) * n2
        s, t = s - far * n0, t - far * n1
        if far - radius > margin or abs(s) > field.half_x or abs(t) > field.half_y:
            continue
        if surface(s, t, field)[4] != triangle:
            continue
        n = times(field.R, n0, n1, n2)
        out.dist[at] = far - radius
        for k in range(3):
            out.normal[at, k] = n[k]
            out.pos[at, k] = c[k] - 0.5 * (far + radius) * n[k]
        at += 1
    return at


@jit
def field_contacts(given, t, margin, placement):
    """(`Touching`, one of a pair with a field with too many contacts, of which some may be missing, or -1):
    contacts of pairs with a height field made whole, others as they are.

    The narrow phase gives one contact per prism, so that a box on one triangle would stand on one corner.
    Added are those of all corners of polyhedra, ends of capsules and rims of cylinders, with the triangle
    below. t: `Terrain`; placement: `Placement`.
    """
    geom, n, room, full, first = given.geom, given.dist.shape[0], 0, -1, 0
    while first < n:
        g, h, last = geom[first, 0], geom[first, 1], pair_end(geom, first)
        room += last - first
        if t.which[g] >= 0 or t.which[h] >= 0:
            full = first if last - first >= t.most else full
            other = h if t.which[g] >= 0 else g
            room += 8 + t.start[other + 1] - t.start[other]
        first = last
    out, keep, first, at = room_for(room), np.ones(room, np.bool_), 0, 0
    while first < n:
        g, h, last = geom[first, 0], geom[first, 1], pair_end(geom, first)
        begin_at, deepest = at, first
        is_first = t.which[g] >= 0
        of_field, other = (g, h) if is_first else (h, g)
        f = t.which[of_field]
        sign = 1.0 if is_first or f < 0 else -1.0
        for k in range(first, last):
            copy_touching(given, k, sign, out, at)
            if given.dist[k] < given.dist[deepest]:
                deepest = k
            at += 1
        if f >= 0:
            z = t.heights[t.begin[f] : t.begin[f] + t.rows[f] * t.columns[f]]
            field = Field(
                z.reshape(t.rows[f], t.columns[f]), t.width[f, 0], t.width[f, 1],
                placement.geom_x[of_field], placement.geom_R[of_field],
            )  # fmt: skip
            drop_walls(begin_at, at, out, field, t.flat, keep)
            lowest, ball = t.points[t.start[other] : t.start[other + 1]], t.radius[other]
            x, R = placement.geom_x[other], placement.geom_R[other]
            if t.half[other] > 0.0:
                m = given.normal[deepest]
                lowest = rim(R, t.radius[other], t.half[other], (sign * m[0], sign * m[1], sign * m[2]))
                ball = 0.0
            at = add_points(lowest, ball, x, R, margin, field, out, at)
            drop_repeated(begin_at, at, out, t.flat, keep)
        kept = begin_at
        for k in range(begin_at, at):
            if keep[k]:
                copy_touching(out, k, sign, out, kept)
                out.geom[kept, 0], out.geom[kept, 1] = g, h
                kept += 1
        keep[begin_at:at] = True
        at, first = kept, last
    return first_of(out, at), full
