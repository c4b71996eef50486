"""Broad phase of spheres and planes: a hierarchy of hashed grids, and pairs sorted by counting.

Spheres are sorted into levels, within which radii differ by less than a factor of two. Each level has its own
grid. The width of its cells is the diameter of the largest sphere plus the margin, so that touching spheres
of a level are in neighbouring cells. A sphere is tested against half of the neighbouring cells in its own
level and against the cells within its reach in each coarser level (Ogarko & Luding 2012, Comput. Phys.
Commun. 183, 931-936). The work is O(n levels) for any radii, with about 9 rows of cells per sphere and level.

Cell (i, j, k) of a level has bucket (i + a j + b k) mod m, where m is a power of two, at least twice the
number of its spheres. So cells that are consecutive along x have consecutive buckets. If the bounding box of
its spheres has at most m cells, a and b number the cells uniquely. Otherwise (a sphere is far away) they
distribute cells over the buckets like a lattice; cells that share a bucket then cost time and yield pairs
twice, but nothing else. Memory is thus bounded by the number of spheres, wherever they are.

Elements are spheres and planes together, in the order of their shapes.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stickslip.kernels.bodies.frames import fill_tangents
from stickslip.kernels.bodies.rotation import turned
from stickslip.kernels.jit import jit, jit_without_lock
from stickslip.state import Array, BoolArray, IntArray

FARTHEST = 2.0**36
"""Number of cells from the origin in each direction; everything beyond is in the last cell. Coordinates in
cells are exact to 2^-15."""
WIDER = 1.0 + 2.0**-13
"""Factor of the width of cells [-]; it exceeds the rounding error of coordinates in cells."""
SPREAD = 0.6180339887498949, 0.7548776662466927
"""a/m and b/m if there are too many cells to number them [-]: roots of x² + x = 1 and of x³ + x² = 1, so that
nearby cells do not share a bucket."""

TINY = 1e-280
"""Squared distance below which centres coincide [m²]."""


class Elements(NamedTuple):
    """Spheres and planes of a world."""

    body: IntArray
    """Body of each element [-], shape (n,)."""
    owner: IntArray
    """Body of each element, -1 for all bodies that never move [-], shape (n,)."""
    offset: Array
    """Centre of a sphere, or point of a plane, in the body frame [m], shape (n, 3)."""
    radius: Array
    """Radii; 0 for planes [m], shape (n,)."""
    which: IntArray
    """Number of a plane, -1 for spheres [-], shape (n,)."""
    plane: IntArray
    """Elements that are planes [-], shape (np,)."""
    axis: Array
    """Normals of the planes in body frames [-], shape (np, 3)."""


class Traits(NamedTuple):
    """Shapes and contact laws of elements."""

    shape: IntArray
    """Shape of each element [-], shape (n,)."""
    material: IntArray
    """Material of each element [-], shape (n,)."""
    law: Array
    """Parameters mu, mu_roll, mu_spin, e of pairs of materials [-, m, m, -], shape (nm, nm, 4)."""
    shapes: int
    """Number of shapes in the world."""


class Levels(NamedTuple):
    """Spheres sorted by size."""

    member: IntArray
    """Elements that are spheres, level by level [-], shape (ns,)."""
    level: IntArray
    """Index in `member` of the first sphere of each level, and ns [-], shape (nl + 1,)."""
    widest: Array
    """Largest radius of each level [m], shape (nl,)."""
    first: IntArray
    """Index in `Grid.start` of the first bucket of each level [-], shape (nl + 1,)."""


class Grid(NamedTuple):
    """Positions of elements, and spheres sorted by bucket: work arrays of a search."""

    centre: Array
    """Centres of elements in the inertial frame [m], shape (n, 3)."""
    normal: Array
    """Normals of planes in the inertial frame [-], shape (np, 3)."""
    cell: IntArray
    """Cells of spheres; work array [-], shape (ns, 3)."""
    lattice: IntArray
    """a, b, m of each level [-], shape (nl, 3)."""
    start: NDArray[np.int32]
    """Index in the three arrays below of the first sphere of each bucket, and the end of each level [-]."""
    home: IntArray
    """Bucket of each sphere [-], shape (ns,)."""
    packed: Array
    """Centre and radius of each sphere [m], shape (ns, 4)."""
    number: IntArray
    """Element of each sphere [-], shape (ns,)."""


class Filters(NamedTuple):
    """Pairs of elements that are excluded from contact."""

    group: IntArray
    """Group of each element [-], shape (n,)."""
    collide: BoolArray
    """Whether two groups can touch [-], shape (ng, ng)."""
    start: IntArray
    """Index in `apart` of the first body that each body must not touch [-], shape (nb + 1,)."""
    apart: IntArray
    """These bodies, sorted for each body [-], shape (start[nb],)."""


class Pairs(NamedTuple):
    """Pairs of elements, and their order: buffers of a search."""

    pair: NDArray[np.int32]
    """Pairs of elements [-], shape (most, 2)."""
    begin: NDArray[np.int32]
    """Index in `second` of the first pair of each element [-], shape (n + 1,)."""
    end: NDArray[np.int32]
    """One past the last pair of each element [-], shape (n,)."""
    first: NDArray[np.int32]
    """First elements; work array [-], shape (most,)."""
    second: NDArray[np.int32]
    """Second elements: those of element e, increasing, are at begin[e] to end[e] - 1 [-], shape (most,)."""


@jit
def cells_per_metre(widest, margin):
    """Return 1/width of cells such that spheres of radius <= widest reach only neighbouring cells [1/m]."""
    return 1.0 / ((2.0 * widest + max(margin, 0.0)) * WIDER)


@jit
def cell_of(x, per_width):
    """Return the number of the cell of x along an axis; it increases with x and is limited to FARTHEST."""
    return np.int64(min(max(math.floor(x * per_width), -FARTHEST), FARTHEST))


@jit
def fill(levels, radius, margin, grid):
    """Sort the spheres of each level by bucket.   radius (n,)."""
    level, first, cell, packed = levels.level, levels.first, grid.cell, grid.packed
    for g in range(levels.widest.shape[0]):
        # 1. Cells of the spheres, and their bounding box.
        per_width = cells_per_metre(levels.widest[g], margin)
        m = first[g + 1] - first[g] - 1
        low, high = np.empty(3, np.int64), np.empty(3, np.int64)
        for d in range(3):
            low[d], high[d] = np.int64(FARTHEST), -np.int64(FARTHEST)
        for s in range(level[g], level[g + 1]):
            for d in range(3):
                c = cell_of(grid.centre[levels.member[s], d], per_width)
                cell[s, d] = c
                low[d], high[d] = min(low[d], c), max(high[d], c)
        # 2. a and b of the buckets.
        a, b = high[0] - low[0] + 2, high[1] - low[1] + 2
        if float(a) * float(b) * float(high[2] - low[2] + 2) <= m:
            b *= a
        else:
            a, b = np.int64(SPREAD[0] * m) | 1, np.int64(SPREAD[1] * m) | 1
        grid.lattice[g, 0], grid.lattice[g, 1], grid.lattice[g, 2] = a, b, m
        # 3. Counting sort by bucket.
        begin = grid.start[first[g] : first[g + 1]]
        begin[:] = 0
        for s in range(level[g], level[g + 1]):
            key = (cell[s, 0] + a * cell[s, 1] + b * cell[s, 2]) & (m - 1)
            cell[s, 0] = key
            begin[key] += 1
        end = level[g]
        for key in range(m):
            end += begin[key]
            begin[key] = end
        begin[m] = end
        for s in range(level[g + 1] - 1, level[g] - 1, -1):
            key, e = cell[s, 0], levels.member[s]
            begin[key] -= 1
            to = begin[key]
            grid.home[to], grid.number[to], packed[to, 3] = key, e, radius[e]
            for d in range(3):
                packed[to, d] = grid.centre[e, d]


@jit
def candidates(levels, margin, grid, begin_at, end_at, pairs):
    """pairs (k, 2) <- pairs of spheres within reach, as positions in `packed`.

    Return their number, or k if full. The first of a pair is at a position from `begin_at` to `end_at` - 1. A
    pair may occur twice. The inner loop has neither calls nor branches except at the ends of ranges; calls
    and unpredictable branches doubled its time.
    """
    level, widest, first = levels.level, levels.widest, levels.first
    lattice, start, home, packed = grid.lattice, grid.start, grid.home, grid.packed
    count, most = 0, pairs.shape[0]
    to, shift = np.empty(16, np.int64), np.empty(5, np.int64)  # 3 x 3 rows of cells, 4 x 4 due to rounding
    for g in range(widest.shape[0]):
        a, b, m = lattice[g, 0], lattice[g, 1], lattice[g, 2]
        begin, per_width = start[first[g] : first[g + 1]], cells_per_metre(widest[g], margin)
        # In its own level a sphere is tested against its cell and half of the neighbours.
        shift[0], shift[1], shift[2], shift[3], shift[4] = 0, a - 1, b - a - 1, b - 1, b + a - 1
        for p in range(begin_at, min(end_at, level[g + 1])):
            x, y, z, r = packed[p, 0], packed[p, 1], packed[p, 2], packed[p, 3]
            same_level = p >= level[g]
            rows, width = 0, 3
            if same_level:
                for rows in range(5):
                    to[rows] = home[p] + shift[rows]
                rows = 5
            else:
                reach = (r + widest[g] + margin) * WIDER
                i = cell_of(x - reach, per_width)
                width = cell_of(x + reach, per_width) + 1 - i
                for k in range(cell_of(z - reach, per_width), cell_of(z + reach, per_width) + 1):
                    for j in range(cell_of(y - reach, per_width), cell_of(y + reach, per_width) + 1):
                        to[rows] = i + a * j + b * k
                        rows += 1
            for row in range(rows):
                low = to[row] & (m - 1)
                high = low + width
                next_p, last = begin[low], begin[min(high, m)]
                if same_level and row == 0:
                    high = low + 2
                    next_p, last = p + 1, begin[min(high, m)]
                while True:
                    if count + last - next_p >= most:
                        return most
                    for o in range(next_p, last):
                        dx, dy, dz = x - packed[o, 0], y - packed[o, 1], z - packed[o, 2]
                        reach = (r + packed[o, 3] + margin) * WIDER
                        pairs[count, 0], pairs[count, 1] = p, o
                        count += dx * dx + dy * dy + dz * dz <= reach * reach
                    if high <= m:
                        break
                    next_p, last, high = begin[0], begin[high - m], 0  # the first bucket follows the last
    return count


@jit
def confirm(pairs, count, margin, grid, owner):
    """pairs <- pairs with gap <= margin and different owners, as elements, at the front.

    Return their number.
    """
    count_kept, packed = 0, grid.packed
    for c in range(count):
        p, o = pairs[c, 0], pairs[c, 1]
        e, f = grid.number[p], grid.number[o]
        length = distance(
            packed[p, 0] - packed[o, 0], packed[p, 1] - packed[o, 1], packed[p, 2] - packed[o, 2]
        )
        if length - (packed[p, 3] + packed[o, 3]) <= margin and owner[e] != owner[f]:
            pairs[count_kept, 0], pairs[count_kept, 1] = min(e, f), max(e, f)
            count_kept += 1
    return count_kept


@jit
def distance(x, y, z):
    """Return the length of a vector; 0 if its square underflows."""
    squared = x * x + y * y + z * z
    return math.sqrt(squared) if squared > TINY else 0.0


@jit
def turn_planes(q, elements, grid):
    """grid.normal <- normals of the planes in the inertial frame."""
    for i in range(elements.plane.shape[0]):
        e, axis = elements.plane[i], elements.axis[i]
        p = q[7 * elements.body[e] + 3 : 7 * elements.body[e] + 7]
        x, y, z = turned(p[0], p[1], p[2], p[3], axis[0], axis[1], axis[2])
        size = math.sqrt(x * x + y * y + z * z)
        grid.normal[i, 0], grid.normal[i, 1], grid.normal[i, 2] = x / size, y / size, z / size


@jit
def add_planes(elements, member, grid, margin, pairs, count):
    """Append pairs of a plane and a sphere with gap <= margin to the first `count` of pairs (k, 2).

    member: the spheres. Return the number of pairs, or k if full.
    """
    owner, normal = elements.owner, grid.normal
    for i in range(elements.plane.shape[0]):
        e = elements.plane[i]
        for s in range(member.shape[0]):
            f = member[s]
            gap = height(grid.centre, e, f, normal[i, 0], normal[i, 1], normal[i, 2]) - elements.radius[f]
            if gap <= margin and owner[e] != owner[f]:
                if count >= pairs.shape[0]:
                    return count
                pairs[count, 0], pairs[count, 1] = min(e, f), max(e, f)
                count += 1
    return count


@jit_without_lock
def sift(pairs, count, body, filters):
    """pairs (k, 2) <- pairs that no filter excludes, at the front. Return their number.

    body (n,): bodies of the elements; filters: `Filters`.
    """
    count_kept, apart = 0, filters.apart
    for c in range(count):
        e, f = pairs[c, 0], pairs[c, 1]
        if not filters.collide[filters.group[e], filters.group[f]]:
            continue
        b, other = body[e], body[f]
        low, high = filters.start[b], filters.start[b + 1]
        while low < high:
            middle = (low + high) // 2
            if apart[middle] < other:
                low = middle + 1
            else:
                high = middle
        if low == filters.start[b + 1] or apart[low] != other:
            pairs[count_kept, 0], pairs[count_kept, 1] = e, f
            count_kept += 1
    return count_kept


@jit
def height(centre, e, f, x, y, z):
    """Return the height of the centre of element f above plane e with normal (x, y, z) [m]."""
    dx, dy, dz = centre[f, 0] - centre[e, 0], centre[f, 1] - centre[e, 1], centre[f, 2] - centre[e, 2]
    return x * dx + y * dy + z * dz


@jit_without_lock
def order(buffers, count):
    """Sort the first `count` of `Pairs` and remove duplicates; return the number of distinct pairs.

    Sorting is by two transpositions of a sparse matrix by counting. `pair` is not changed.
    """
    # 1. Pairs by their second elements.
    pairs, begin, end, first, second = buffers.pair, buffers.begin, buffers.end, buffers.first, buffers.second
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
    # 2. Pairs by their first elements; partners are increasing.
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
    # 3. Duplicates, from shared buckets, are adjacent.
    at, count_kept = 0, 0
    for e in range(n):
        begin[e] = count_kept
        for c in range(at, end[e]):
            if c == at or second[c] != second[c - 1]:
                second[count_kept] = second[c]
                count_kept += 1
        at = end[e]
        end[e] = count_kept
    begin[n] = count_kept
    return count_kept


@jit
def find_pairs(q, margin, elements, levels, grid, pairs):
    """pairs (k, 2) <- pairs with gap <= margin, not filtered, with duplicates.

    Return their number, or k if full.
    """
    place(q, elements, 0, elements.body.shape[0], grid)
    sort(q, margin, elements, levels, grid)
    return pairs_from(margin, elements, levels, grid, 0, levels.member.shape[0], pairs)


@jit_without_lock
def place(q, elements, first, end, grid):
    """grid.centre <- centres of the elements from `first` to `end` - 1, inertial frame."""
    for e in range(first, end):
        b = elements.body[e]
        x, y, z = elements.offset[e, 0], elements.offset[e, 1], elements.offset[e, 2]
        if x != 0.0 or y != 0.0 or z != 0.0:
            x, y, z = turned(q[7 * b + 3], q[7 * b + 4], q[7 * b + 5], q[7 * b + 6], x, y, z)
        grid.centre[e, 0], grid.centre[e, 1] = q[7 * b] + x, q[7 * b + 1] + y
        grid.centre[e, 2] = q[7 * b + 2] + z


@jit_without_lock
def sort(q, margin, elements, levels, grid):
    """grid <- spheres sorted by bucket, and normals of planes, for the centres in the grid."""
    fill(levels, elements.radius, margin, grid)
    turn_planes(q, elements, grid)


@jit_without_lock
def pairs_from(margin, elements, levels, grid, first, end, pairs):
    """Append pairs of the spheres at positions `first` to `end` - 1 with others and with planes.

    Results are those of `find_pairs`.
    """
    count = candidates(levels, margin, grid, first, end, pairs)
    if count >= pairs.shape[0]:
        return count
    count = confirm(pairs, count, margin, grid, elements.owner)
    return add_planes(elements, levels.member[first:end], grid, margin, pairs, count)


@jit_without_lock
def write_contacts(buffers, elements, grid, traits, slots, first, end, out):
    """out, `Contacts` <- contacts of the sorted `Pairs` whose first elements are `first` to `end` - 1."""
    radius, which, centre, normal = elements.radius, elements.which, grid.centre, grid.normal
    for e in range(first, end):
        for c in range(buffers.begin[e], buffers.begin[e + 1]):
            f = buffers.second[c]
            if which[e] >= 0 or which[f] >= 0:
                # n points from the plane to the sphere if the sphere is the first element.
                sign, i, s = (1.0, which[f], e) if which[f] >= 0 else (-1.0, which[e], f)
                x, y, z = normal[i, 0], normal[i, 1], normal[i, 2]
                gap = height(centre, f if sign > 0.0 else e, s, x, y, z) - radius[s]
                depth = radius[s] + 0.5 * gap
                for d in range(3):
                    out.point[c, d] = centre[s, d] - depth * normal[i, d]
                x, y, z = sign * x, sign * y, sign * z
            else:
                x, y, z = (
                    centre[e, 0] - centre[f, 0],
                    centre[e, 1] - centre[f, 1],
                    centre[e, 2] - centre[f, 2],
                )
                length = distance(x, y, z)
                # The normal is vertical if the centres coincide.
                x, y, z = (x / length, y / length, z / length) if length > 0.0 else (0.0, 0.0, 1.0)
                gap = length - (radius[e] + radius[f])
                depth = radius[f] + 0.5 * gap
                out.point[c, 0] = centre[f, 0] + depth * x
                out.point[c, 1] = centre[f, 1] + depth * y
                out.point[c, 2] = centre[f, 2] + depth * z
            out.frame[c, 0, 0], out.frame[c, 0, 1], out.frame[c, 0, 2] = x, y, z
            fill_tangents(out.frame[c])
            out.gap[c] = gap
            out.id[c] = (traits.shape[e] * traits.shapes + traits.shape[f]) * slots
            out.shape[c, 0], out.shape[c, 1] = traits.shape[e], traits.shape[f]
            out.body[c, 0], out.body[c, 1] = elements.body[e], elements.body[f]
            for d in range(4):
                out.law[c, d] = traits.law[traits.material[e], traits.material[f], d]
