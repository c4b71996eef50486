"""Contacts with height fields: correction and completion of those of a narrow phase with prisms.

Cell (i, j) of a field, between x_i, x_i+1 and y_j, y_j+1, has two triangles, separated by the diagonal from
its corner (i, j) to (i + 1, j + 1). Lengths are in units of the narrow phase. Vectors are in the inertial
frame, except the surface, which is in the frame of the field. Normals in this module point out of the field.
"""

import math
from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.contacts import copy_touching, first_of, pair_end, room_for
from stickslip.kernels.bodies.rotation import times, times_back
from stickslip.kernels.jit import jit
from stickslip.state import Array, IntArray

SAME = 1e-4
"""Normals within this angle are equal [rad] (heuristic)."""


class Terrain(NamedTuple):
    """Height fields among geoms, and points of other geoms that can touch them; lengths in units."""

    which: IntArray
    """Number of the field of each geom, -1 for other geoms [-], shape (ng,)."""
    heights: Array
    """Heights of all fields, one after another, rows along y [units], shape (m,)."""
    begin: IntArray
    """Index of the first height of each field [-], shape (nf,)."""
    rows: IntArray
    """Number of rows of each field [-], shape (nf,)."""
    columns: IntArray
    """Number of columns of each field [-], shape (nf,)."""
    width: Array
    """Half widths along x and y [units], shape (nf, 2)."""
    start: IntArray
    """Index of the first point of each geom, and the number of all [-], shape (ng + 1,)."""
    points: Array
    """Corners of polyhedra, centres of balls and ends of capsules, in geom frames [units], shape (np, 3)."""
    radius: Array
    """Radii of geoms; 0 for polyhedra [units], shape (ng,)."""
    half: Array
    """Half lengths of cylinders; 0 for other geoms [units], shape (ng,)."""
    flat: float
    """Rounding error of the distance of a point from a plane [units]."""
    most: int
    """Number of contacts of a pair from which on some may be missing."""


class Field(NamedTuple):
    """A height field and its pose."""

    heights: Array
    """Heights [units], shape (ny, nx)."""
    half_x: float
    half_y: float
    x: Array
    """Position [units], shape (3,)."""
    R: Array
    """Rotation matrix [-], shape (3, 3)."""


@jit
def surface(x, y, field):
    """Return (z, n0, n1, n2, triangle) at (x, y): height, normal of the triangle, and its number.

    The field covers |x| <= half_x, |y| <= half_y; outside, the triangle at the border is extended.
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
def drop_walls(first, last, touching, field, flat, keep):
    """keep <- False for contacts from `first` to `last` - 1 with a wall between two prisms, inside the field.

    Normals of `touching`, `Touching` <- those of the triangle if they are equal up to rounding. flat: see
    `Terrain`.
    """
    dist, pos, normal, foot = touching.dist, touching.pos, touching.normal, np.empty(3)
    for k in range(first, last):
        s = 0.5 * dist[k]
        for i in range(3):
            foot[i] = pos[k, i] - s * normal[k, i] - field.x[i]
        x, y, z = times_back(field.R, foot[0], foot[1], foot[2])
        top, n0, n1, n2, _ = surface(x, y, field)
        n0, n1, n2 = times(field.R, n0, n1, n2)
        angle2 = (normal[k, 0] - n0) ** 2 + (normal[k, 1] - n1) ** 2 + (normal[k, 2] - n2) ** 2
        if angle2 < SAME * SAME:
            normal[k, 0], normal[k, 1], normal[k, 2] = n0, n1, n2
        inner = abs(x) < field.half_x - flat and abs(y) < field.half_y - flat
        keep[k] = not (inner and z < top - flat)


@jit
def drop_repeated(first, last, touching, flat, keep):
    """keep <- False for contacts from `first` to `last` - 1 that another one, at least as deep, replaces.

    A point on an edge occurs once for each of its prisms, and there are contacts with the edges of
    neighbouring prisms although the surface continues there. Therefore a contact is dropped if its point on
    the field is that of another contact, or lies in the tangent plane of a contact with another normal. flat:
    see `Terrain`.
    """
    dist, pos, normal = touching.dist, touching.pos, touching.normal
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
    """Return points (8, 3) on the rims of a cylinder, in its frame.

    On each rim these are the point that is farthest along -n, and those at quarter and half turns from it. n:
    three numbers.
    """
    point = np.empty((8, 3))
    x, y, _ = times_back(R, n[0], n[1], n[2])
    x, y = -x, -y
    size = math.sqrt(x * x + y * y)
    if size < 1e-9:  # the axis is parallel to n: all points are equally far
        x, y, size = 1.0, 0.0, 1.0
    x, y = radius * x / size, radius * y / size
    for k in range(8):
        point[k, 2] = half if k < 4 else -half
        point[k, 0], point[k, 1] = x, y
        x, y = -y, x
    return point


@jit
def add_points(points, radius, x, R, margin, field, out, at):
    """Append contacts of points (np, 3) of a geom at x, R, balls of a radius, with a field; return their end.

    out[at:], `Touching` <- contacts with gap <= margin, of points that project into the triangle below.
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
def field_contacts(touching, t, margin, placement):
    """Return (`Touching` with completed contacts of height fields, contact of a pair with too many contacts
    or -1).

    The narrow phase yields one contact per prism, so that a box on one triangle would have one contact.
    Contacts of all corners of polyhedra, ends of capsules and rims of cylinders with the triangles below are
    added. Contacts of other pairs are not changed. Pairs with too many contacts may miss some. t: `Terrain`;
    placement: `Placement`.
    """
    # 1. Size of the result, and pairs with too many contacts.
    geom, n, room, full, first = touching.geom, touching.dist.shape[0], 0, -1, 0
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
        # 2. Contacts of the narrow phase, with normals that point out of the field.
        for k in range(first, last):
            copy_touching(touching, k, sign, out, at)
            if touching.dist[k] < touching.dist[deepest]:
                deepest = k
            at += 1
        if f >= 0:
            z = t.heights[t.begin[f] : t.begin[f] + t.rows[f] * t.columns[f]]
            field = Field(
                z.reshape(t.rows[f], t.columns[f]), t.width[f, 0], t.width[f, 1],
                placement.geom_x[of_field], placement.geom_R[of_field],
            )  # fmt: skip
            # 3. Without walls between prisms; with the points of the other geom; without duplicates.
            drop_walls(begin_at, at, out, field, t.flat, keep)
            lowest, ball = t.points[t.start[other] : t.start[other + 1]], t.radius[other]
            x, R = placement.geom_x[other], placement.geom_R[other]
            if t.half[other] > 0.0:
                m = touching.normal[deepest]
                lowest = rim(R, t.radius[other], t.half[other], (sign * m[0], sign * m[1], sign * m[2]))
                ball = 0.0
            at = add_points(lowest, ball, x, R, margin, field, out, at)
            drop_repeated(begin_at, at, out, t.flat, keep)
        # 4. Contacts that are kept, with normals of the narrow phase.
        end = begin_at
        for k in range(begin_at, at):
            if keep[k]:
                copy_touching(out, k, sign, out, end)
                out.geom[end, 0], out.geom[end, 1] = g, h
                end += 1
        keep[begin_at:at] = True
        at, first = end, last
    return first_of(out, at), full
