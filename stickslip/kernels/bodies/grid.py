"""Spheres against spheres and planes: a hierarchy of hashed grids, and pairs sorted by counting.

Spheres are sorted into levels, within which radii differ by less than a factor of two. Each level has its own
grid, whose cells are as wide as its largest sphere and the margin, so that spheres of a level that touch stand
in neighbouring cells. A sphere asks half of the neighbours in its own level and the cells within its reach in
each coarser one (Ogarko & Luding 2012, Comput. Phys. Commun. 183, 931-936): the work is O(n levels) for any
radii, with at most 9 rows of cells per sphere and level.

Cell (i, j, k) of a level has bucket (i + a j + b k) mod m, with m a power of two, at least four times the
number of its spheres, so that cells in a row have buckets in a row. If the box of all its spheres has at most
m cells, a and b number them one by one; otherwise (a sphere far away) they spread cells over the buckets like
a lattice, and cells that share a bucket cost time and give pairs twice, no more. Memory is thus bounded by
the number of spheres, wherever they are.

"Elements" are spheres and planes together, in the order of their shapes.
"""

import math

import numpy as np

from stickslip.kernels.bodies.frames import basis
from stickslip.kernels.jit import jit

FARTHEST = 2.0**36
"""Cells from the origin; everything beyond stands in the last. Coordinates in cells are exact to 2^-15."""
WIDER = 1.0 + 2.0**-13
"""Cells are wider than they must be by this, more than the coordinates in cells can be wrong."""
SPREAD = 0.6180339887498949, 0.7548776662466927
"""a/m and b/m where the cells are too many to be numbered: roots of x² + x = 1 and of x³ + x² = 1, so that
short differences of cells do not fall into one bucket."""


TINY = 1e-280
"""Squared distance of centres below which they coincide [m²]."""


@jit
def turned(q, b, x, y, z):
    """Vector (x, y, z) of body b's frame in the inertial one."""
    w, i, j, k = q[7 * b + 3], q[7 * b + 4], q[7 * b + 5], q[7 * b + 6]
    u, v, s = 2.0 * (j * z - k * y), 2.0 * (k * x - i * z), 2.0 * (i * y - j * x)
    return x + w * u + j * s - k * v, y + w * v + k * u - i * s, z + w * s + i * v - j * u


@jit
def place(q, body, offset, centre):
    """centre <- of all elements (n, 3) in the inertial frame.   body (n,), offset (n, 3) in its frame."""
    for e in range(body.shape[0]):
        b = body[e]
        x, y, z = offset[e, 0], offset[e, 1], offset[e, 2]
        if x != 0.0 or y != 0.0 or z != 0.0:
            x, y, z = turned(q, b, x, y, z)
        centre[e, 0], centre[e, 1], centre[e, 2] = q[7 * b] + x, q[7 * b + 1] + y, q[7 * b + 2] + z


@jit
def cells_per_metre(widest, margin):
    """1/width of cells whose neighbours hold all that spheres of radius <= widest can reach."""
    return 1.0 / ((2.0 * widest + max(margin, 0.0)) * WIDER)


@jit
def cell_of(x, per_width):
    """Number of the cell along one axis; grows with x, and is the last one for all that is far away."""
    return np.int64(min(max(math.floor(x * per_width), -FARTHEST), FARTHEST))


@jit
def fill(member, level, widest, margin, radius, centre, cell, grid, first, start, home, packed, number):
    """Sort the spheres of every level by bucket.

    member (n,): elements that are spheres, those of level l from level[l] on; widest (nl,): largest radius of
    each.   start: entries first[l] to first[l + 1] hold for each bucket of l where it begins in packed (n, 4)
    (centre and radius), number (n,) (element) and home (n,) (bucket), and where the last one ends.
    grid (nl, 3): a, b, m of each level.   cell (n, 3) is workspace.
    """
    for l in range(widest.shape[0]):
        per_width = cells_per_metre(widest[l], margin)
        m = first[l + 1] - first[l] - 1
        low, high = np.empty(3, np.int64), np.empty(3, np.int64)
        for d in range(3):
            low[d], high[d] = np.int64(FARTHEST), -np.int64(FARTHEST)
        for s in range(level[l], level[l + 1]):
            for d in range(3):
                c = cell_of(centre[member[s], d], per_width)
                cell[s, d] = c
                low[d], high[d] = min(low[d], c), max(high[d], c)
        a, b = high[0] - low[0] + 2, high[1] - low[1] + 2
        if float(a) * float(b) * float(high[2] - low[2] + 2) <= m:
            b *= a
        else:
            a, b = np.int64(SPREAD[0] * m) | 1, np.int64(SPREAD[1] * m) | 1
        grid[l, 0], grid[l, 1], grid[l, 2] = a, b, m
        begin = start[first[l] : first[l + 1]]
        begin[:] = 0
        for s in range(level[l], level[l + 1]):
            key = (cell[s, 0] + a * cell[s, 1] + b * cell[s, 2]) & (m - 1)
            cell[s, 0] = key
            begin[key] += 1
        end = level[l]
        for key in range(m):
            end += begin[key]
            begin[key] = end
        begin[m] = end
        for s in range(level[l + 1] - 1, level[l] - 1, -1):
            key, e = cell[s, 0], member[s]
            begin[key] -= 1
            to = begin[key]
            home[to], number[to] = key, e
            packed[to, 0], packed[to, 1], packed[to, 2] = centre[e, 0], centre[e, 1], centre[e, 2]
            packed[to, 3] = radius[e]


@jit
def may_touch(e, f, filters):
    """Whether elements e and f may touch: no filter is between them.

    filters: body and group of the elements, whether a body is dynamic, whether two groups collide, and the
    bodies (sorted) that body b must not touch, in `apart` from apart_start[b] on.
    """
    body, group, dynamic, collide, apart_start, apart = filters
    b, c = body[e], body[f]
    if b == c or not (dynamic[b] or dynamic[c]) or not collide[group[e], group[f]]:
        return False
    low, high = apart_start[b], apart_start[b + 1]
    while low < high:
        middle = (low + high) // 2
        if apart[middle] < c:
            low = middle + 1
        else:
            high = middle
    return not (low < apart_start[b + 1] and apart[low] == c)


@jit
def emit(e, f, pairs, count):
    """Append pair (e, f), the smaller first; where `pairs` is full it only counts on."""
    if count < pairs.shape[0]:
        pairs[count, 0], pairs[count, 1] = min(e, f), max(e, f)
    return count + 1


@jit
def distance(x, y, z):
    """Length of a vector; 0 where its square would lose digits."""
    squared = x * x + y * y + z * z
    return math.sqrt(squared) if squared > TINY else 0.0


@jit
def scan(e, x, y, z, r, margin, begin, end, packed, number, filters, pairs, count):
    """Append the pairs of sphere e with those from begin to end that are within the margin."""
    for p in range(begin, end):
        dx, dy, dz = x - packed[p, 0], y - packed[p, 1], z - packed[p, 2]
        touching = r + packed[p, 3]
        reach = (touching + margin) * WIDER
        if dx * dx + dy * dy + dz * dz <= reach * reach:
            near = distance(dx, dy, dz) - touching <= margin
            if near and may_touch(e, number[p], filters):
                count = emit(e, number[p], pairs, count)
    return count


@jit
def scan_row(e, x, y, z, r, margin, key, width, m, begin, packed, number, filters, pairs, count):
    """Scan `width` buckets from key on, around the end if need be."""
    low = key & (m - 1)
    high = low + width
    if high <= m:
        return scan(e, x, y, z, r, margin, begin[low], begin[high], packed, number, filters, pairs, count)
    count = scan(e, x, y, z, r, margin, begin[low], begin[m], packed, number, filters, pairs, count)
    return scan(e, x, y, z, r, margin, begin[0], begin[high - m], packed, number, filters, pairs, count)


@jit
def pairs_of_spheres(level, widest, margin, grid, first, start, home, packed, number, filters, pairs):
    """Number of pairs of spheres with gap <= margin, some perhaps twice; pairs (k, 2) <- as many as fit."""
    count = 0
    for l in range(widest.shape[0]):
        a, b, m = grid[l, 0], grid[l, 1], grid[l, 2]
        begin = start[first[l] : first[l + 1]]
        for p in range(level[l], level[l + 1]):
            e, key = number[p], home[p]
            x, y, z, r = packed[p, 0], packed[p, 1], packed[p, 2], packed[p, 3]
            end = begin[min(key + 2, m)]
            count = scan(e, x, y, z, r, margin, p + 1, end, packed, number, filters, pairs, count)
            if key == m - 1:
                count = scan(e, x, y, z, r, margin, begin[0], begin[1], packed, number, filters, pairs, count)
            for row in (a, b - a, b, a + b):
                to = key + row - 1
                count = scan_row(
                    e, x, y, z, r, margin, to, 3, m, begin, packed, number, filters, pairs, count
                )
    for l in range(1, widest.shape[0]):
        a, b, m = grid[l, 0], grid[l, 1], grid[l, 2]
        begin = start[first[l] : first[l + 1]]
        per_width = cells_per_metre(widest[l], margin)
        for p in range(level[l]):
            e = number[p]
            x, y, z, r = packed[p, 0], packed[p, 1], packed[p, 2], packed[p, 3]
            reach = (r + widest[l] + margin) * WIDER
            i, i_end = cell_of(x - reach, per_width), cell_of(x + reach, per_width)
            for k in range(cell_of(z - reach, per_width), cell_of(z + reach, per_width) + 1):
                for j in range(cell_of(y - reach, per_width), cell_of(y + reach, per_width) + 1):
                    to, n = i + a * j + b * k, i_end - i + 1
                    count = scan_row(
                        e, x, y, z, r, margin, to, n, m, begin, packed, number, filters, pairs, count
                    )
    return count


@jit
def pairs_of_planes(q, member, radius, centre, plane, axis, normal, margin, filters, pairs, count):
    """The same for every plane and every sphere, from `count` on; normal (np, 3) <- inertial, from axis."""
    for i in range(plane.shape[0]):
        e = plane[i]
        x, y, z = turned(q, filters[0][e], axis[i, 0], axis[i, 1], axis[i, 2])
        size = math.sqrt(x * x + y * y + z * z)
        x, y, z = x / size, y / size, z / size
        normal[i, 0], normal[i, 1], normal[i, 2] = x, y, z
        for f in member:
            if height(centre, e, f, x, y, z) - radius[f] <= margin and may_touch(e, f, filters):
                count = emit(e, f, pairs, count)
    return count


@jit
def height(centre, e, f, x, y, z):
    """Of element f's centre above plane e with normal (x, y, z)."""
    dx, dy, dz = centre[f, 0] - centre[e, 0], centre[f, 1] - centre[e, 1], centre[f, 2] - centre[e, 2]
    return x * dx + y * dy + z * dz


@jit
def order(pairs, count, begin, end, first, second):
    """Number of different pairs; second[begin[e] : end[e]] <- partners of element e, increasing.

    Two transpositions of a sparse matrix by counting.   begin (n + 1,), end (n,), first and second (k,).
    """
    n = end.shape[0]
    begin[:] = 0
    for c in range(count):
        begin[pairs[c, 1]] += 1
    total = 0
    for e in range(n):
        total += begin[e]
        begin[e] = total
    for c in range(count):
        f = pairs[c, 1]
        begin[f] -= 1
        first[begin[f]] = pairs[c, 0]
    begin[n] = total
    end[:] = 0
    for c in range(count):
        end[first[c]] += 1
    total = 0
    for e in range(n):
        total, end[e] = total + end[e], total
    f = 0
    for c in range(count):
        while begin[f + 1] <= c:
            f += 1
        e = first[c]
        second[end[e]] = f
        end[e] += 1
    # Pairs come twice from a shared bucket; twins stand side by side now.
    at, kept = 0, 0
    for e in range(n):
        begin[e] = kept
        for c in range(at, end[e]):
            if c == at or second[c] != second[c - 1]:
                second[kept] = second[c]
                kept += 1
        at = end[e]
        end[e] = kept
    begin[n] = kept
    return kept


@jit
def find_pairs(q, margin, elements, levels, filters, planes, work, pairs):
    """Number of pairs with gap <= margin, before twins are left out; pairs (k, 2) <- as many as fit."""
    offset, radius = elements
    member, level, widest, first = levels
    plane, axis = planes
    centre, normal, cell, grid, start, home, packed, number = work
    place(q, filters[0], offset, centre)
    fill(member, level, widest, margin, radius, centre, cell, grid, first, start, home, packed, number)
    count = pairs_of_spheres(level, widest, margin, grid, first, start, home, packed, number, filters, pairs)
    return pairs_of_planes(q, member, radius, centre, plane, axis, normal, margin, filters, pairs, count)


@jit
def write_contacts(begin, second, which, radius, centre, normal, traits, slots, contacts):
    """Contacts of the ordered pairs.

    which (n,): number of a plane, -1 for a sphere.   traits: shape number, body and material of the elements,
    law (nm, nm, 4) of materials, and how many shapes there are.   contacts: arrays of a `ContactSet`.
    """
    shape, body, material, law, shapes = traits
    ids, shape_out, body_out, point, frame, gaps, law_out = contacts
    for e in range(which.shape[0]):
        for c in range(begin[e], begin[e + 1]):
            f = second[c]
            if which[e] >= 0 or which[f] >= 0:
                # n points from the plane to the sphere if the sphere is the first.
                sign, i, s = (1.0, which[f], e) if which[f] >= 0 else (-1.0, which[e], f)
                x, y, z = normal[i, 0], normal[i, 1], normal[i, 2]
                gap = height(centre, f if sign > 0.0 else e, s, x, y, z) - radius[s]
                depth = radius[s] + 0.5 * gap
                for d in range(3):
                    point[c, d] = centre[s, d] - depth * normal[i, d]
                x, y, z = sign * x, sign * y, sign * z
            else:
                x, y, z = (
                    centre[e, 0] - centre[f, 0],
                    centre[e, 1] - centre[f, 1],
                    centre[e, 2] - centre[f, 2],
                )
                length = distance(x, y, z)
                # Where centres coincide every normal is as good: upwards.
                x, y, z = (x / length, y / length, z / length) if length > 0.0 else (0.0, 0.0, 1.0)
                gap = length - (radius[e] + radius[f])
                depth = radius[f] + 0.5 * gap
                point[c, 0] = centre[f, 0] + depth * x
                point[c, 1] = centre[f, 1] + depth * y
                point[c, 2] = centre[f, 2] + depth * z
            frame[c, 0, 0], frame[c, 0, 1], frame[c, 0, 2] = x, y, z
            (
                frame[c, 1, 0],
                frame[c, 1, 1],
                frame[c, 1, 2],
                frame[c, 2, 0],
                frame[c, 2, 1],
                frame[c, 2, 2],
            ) = basis(x, y, z)
            gaps[c] = gap
            ids[c] = (shape[e] * shapes + shape[f]) * slots
            shape_out[c, 0], shape_out[c, 1] = shape[e], shape[f]
            body_out[c, 0], body_out[c, 1] = body[e], body[f]
            for d in range(4):
                law_out[c, d] = law[material[e], material[f], d]
