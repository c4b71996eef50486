"""Spheres against spheres and planes: a hierarchy of hashed grids, and pairs sorted by counting.

Spheres are sorted into levels, within which radii differ by less than a factor of two. Each level has its own
grid, whose cells are as wide as its largest sphere and the margin, so that spheres of a level that touch are
in neighbouring cells. A sphere asks half of the neighbours in its own level and the cells within its reach in
each coarser one (Ogarko & Luding 2012, Comput. Phys. Commun. 183, 931-936): the work is O(n levels) for any
radii, with some 9 rows of cells per sphere and level.

Cell (i, j, k) of a level has bucket (i + a j + b k) mod m, with m a power of two, at least twice the
number of its spheres, so that cells in a row have buckets in a row. If the box of all its spheres has at most
m cells, a and b number them one by one; otherwise (a sphere far away) they spread cells over the buckets like
a lattice, and cells that share a bucket cost time and give pairs twice, no more. Memory is thus bounded by
the number of spheres, wherever they are.

"Elements" are spheres and planes together, in the order of their shapes.
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
"""Cells from the origin; everything beyond stands in the last. Coordinates in cells are exact to 2^-15."""
WIDER = 1.0 + 2.0**-13
"""Cells are wider than they must be by this, more than the coordinates in cells can be wrong."""
SPREAD = 0.6180339887498949, 0.7548776662466927
"""a/m and b/m where the cells are too many to be numbered: roots of x² + x = 1 and of x³ + x² = 1, so that
short differences of cells do not fall into one bucket."""

TINY = 1e-280
"""Squared distance of centres below which they coincide [m²]."""


class Elements(NamedTuple):
    """Spheres and planes of a world."""

    body: IntArray
    """[-], shape (n,)."""
    owner: IntArray
    """The same, -1 for all bodies that nothing moves [-], shape (n,)."""
    offset: Array
    """Of the centre, or a point of the plane, in the frame of the body [m], shape (n, 3)."""
    radius: Array
    """0 for planes [m], shape (n,)."""
    which: IntArray
    """Number of a plane, -1 for a sphere [-], shape (n,)."""
    plane: IntArray
    """Elements that are planes [-], shape (np,)."""
    axis: Array
    """Their normals in the frames of the bodies [-], shape (np, 3)."""


class Traits(NamedTuple):
    """What elements are told as."""

    shape: IntArray
    """[-], shape (n,)."""
    material: IntArray
    """[-], shape (n,)."""
    law: Array
    """mu, mu_roll, mu_spin, e of pairs of materials [-, m, m, -], shape (nm, nm, 4)."""
    shapes: int
    """How many there are in the world."""


class Levels(NamedTuple):
    """Spheres by size."""

    member: IntArray
    """Elements that are spheres, those of level g from level[g] on [-], shape (ns,)."""
    level: IntArray
    """[-], shape (nl + 1,)."""
    widest: Array
    """Largest radius of each [m], shape (nl,)."""
    first: IntArray
    """First of its buckets in `Grid.start` [-], shape (nl + 1,)."""


class Grid(NamedTuple):
    """Where elements are, and spheres by bucket: room that every search fills."""

    centre: Array
    """Of elements in the inertial frame [m], shape (n, 3)."""
    normal: Array
    """Of planes in the inertial frame [-], shape (np, 3)."""
    cell: IntArray
    """Work, shape (ns, 3)."""
    lattice: IntArray
    """a, b, m of each level [-], shape (nl, 3)."""
    start: NDArray[np.int32]
    """For each bucket where it begins in the three below, and where the last of a level ends [-]."""
    home: IntArray
    """Bucket [-], shape (ns,)."""
    packed: Array
    """Centre and radius [m], shape (ns, 4)."""
    number: IntArray
    """Element [-], shape (ns,)."""


class Filters(NamedTuple):
    """Which elements do not touch by rule."""

    group: IntArray
    """[-], shape (n,)."""
    collide: BoolArray
    """Whether groups of shapes may touch [-], shape (ng, ng)."""
    start: IntArray
    """Where in `apart` the bodies are that a body must not touch [-], shape (nb + 1,)."""
    apart: IntArray
    """These, sorted [-]."""


class Pairs(NamedTuple):
    """Room for pairs of elements, and for their order."""

    pair: NDArray[np.int32]
    """[-], shape (most, 2)."""
    begin: NDArray[np.int32]
    """First pair of each element [-], shape (n + 1,)."""
    end: NDArray[np.int32]
    """End of the pairs of each [-], shape (n,)."""
    first: NDArray[np.int32]
    """[-], shape (most,)."""
    second: NDArray[np.int32]
    """Partners of element e, increasing, from begin[e] to end[e] [-], shape (most,)."""


@jit
def cells_per_metre(widest, margin):
    """1/width of cells whose neighbours hold all that spheres of radius <= widest can reach."""
    return 1.0 / ((2.0 * widest + max(margin, 0.0)) * WIDER)


@jit
def cell_of(x, per_width):
    """Number of the cell along one axis; grows with x, and is the last one for all that is far away."""
    return np.int64(min(max(math.floor(x * per_width), -FARTHEST), FARTHEST))


@jit
def fill(levels, radius, margin, grid):
    """Sort the spheres of every level by bucket.   radius (n,)."""
    level, first, cell, packed = levels.level, levels.first, grid.cell, grid.packed
    for g in range(levels.widest.shape[0]):
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
        a, b = high[0] - low[0] + 2, high[1] - low[1] + 2
        if float(a) * float(b) * float(high[2] - low[2] + 2) <= m:
            b *= a
        else:
            a, b = np.int64(SPREAD[0] * m) | 1, np.int64(SPREAD[1] * m) | 1
        grid.lattice[g, 0], grid.lattice[g, 1], grid.lattice[g, 2] = a, b, m
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
    """Number of pairs of spheres in reach, in pairs (k, 2) as places in packed; k if there is no room. The
    first of a pair is a place from `begin_at` to `end_at`.

    A pair may come twice. The loop has no calls and no branch but where ranges end: calls, and branches that
    nobody can foresee, took twice the time.
    """
    level, widest, first = levels.level, levels.widest, levels.first
    lattice, start, home, packed = grid.lattice, grid.start, grid.home, grid.packed
    count, most = 0, pairs.shape[0]
    to, shift = np.empty(16, np.int64), np.empty(5, np.int64)  # three rows each way, four where x rounds
    for g in range(widest.shape[0]):
        a, b, m = lattice[g, 0], lattice[g, 1], lattice[g, 2]
        begin, per_width = start[first[g] : first[g + 1]], cells_per_metre(widest[g], margin)
        # Itself and half of its neighbours in its own level; the other half asks for it.
        shift[0], shift[1], shift[2], shift[3], shift[4] = 0, a - 1, b - a - 1, b - 1, b + a - 1
        for p in range(begin_at, min(end_at, level[g + 1])):
            x, y, z, r = packed[p, 0], packed[p, 1], packed[p, 2], packed[p, 3]
            own = p >= level[g]
            rows, width = 0, 3
            if own:
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
                if own and row == 0:
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
                    next_p, last, high = begin[0], begin[high - m], 0  # after the last bucket comes the first
    return count


@jit
def confirm(pairs, count, margin, grid, owner):
    """Number of those with gap <= margin whose owners differ; they go to the front, as elements."""
    kept, packed = 0, grid.packed
    for c in range(count):
        p, o = pairs[c, 0], pairs[c, 1]
        e, f = grid.number[p], grid.number[o]
        length = distance(
            packed[p, 0] - packed[o, 0], packed[p, 1] - packed[o, 1], packed[p, 2] - packed[o, 2]
        )
        if length - (packed[p, 3] + packed[o, 3]) <= margin and owner[e] != owner[f]:
            pairs[kept, 0], pairs[kept, 1] = min(e, f), max(e, f)
            kept += 1
    return kept


@jit
def distance(x, y, z):
    """Length of a vector; 0 where its square would lose digits."""
    squared = x * x + y * y + z * z
    return math.sqrt(squared) if squared > TINY else 0.0


@jit
def turn_planes(q, elements, grid):
    """Normals of the grid <- those of the planes in the inertial frame."""
    for i in range(elements.plane.shape[0]):
        e, axis = elements.plane[i], elements.axis[i]
        p = q[7 * elements.body[e] + 3 : 7 * elements.body[e] + 7]
        x, y, z = turned(p[0], p[1], p[2], p[3], axis[0], axis[1], axis[2])
        size = math.sqrt(x * x + y * y + z * z)
        grid.normal[i, 0], grid.normal[i, 1], grid.normal[i, 2] = x / size, y / size, z / size


@jit
def add_planes(elements, member, grid, margin, pairs, count):
    """Append every plane and sphere with gap <= margin to `count` pairs (k, 2); k if there is no room."""
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
    """Number of pairs (k, 2) that no filter keeps apart; they go to the front.   body (n,): of elements."""
    kept, apart = 0, filters.apart
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
            pairs[kept, 0], pairs[kept, 1] = e, f
            kept += 1
    return kept


@jit
def height(centre, e, f, x, y, z):
    """Of element f's centre above plane e with normal (x, y, z)."""
    dx, dy, dz = centre[f, 0] - centre[e, 0], centre[f, 1] - centre[e, 1], centre[f, 2] - centre[e, 2]
    return x * dx + y * dy + z * dz


@jit_without_lock
def order(room, count):
    """Number of different ones among the first `count` of `Pairs`; all but `pair` <- their order.

    Two transpositions of a sparse matrix by counting.
    """
    pairs, begin, end, first, second = room.pair, room.begin, room.end, room.first, room.second
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
def find_pairs(q, margin, elements, levels, grid, pairs):
    """Number of pairs with gap <= margin in pairs (k, 2), not filtered, with twins; k if there is no room."""
    place(q, elements, 0, elements.body.shape[0], grid)
    sort(q, margin, elements, levels, grid)
    return pairs_from(margin, elements, levels, grid, 0, levels.member.shape[0], pairs)


@jit_without_lock
def place(q, elements, first, end, grid):
    """Centres of the grid <- those of the elements from `first` to `end`."""
    for e in range(first, end):
        b = elements.body[e]
        x, y, z = elements.offset[e, 0], elements.offset[e, 1], elements.offset[e, 2]
        if x != 0.0 or y != 0.0 or z != 0.0:
            x, y, z = turned(q[7 * b + 3], q[7 * b + 4], q[7 * b + 5], q[7 * b + 6], x, y, z)
        grid.centre[e, 0], grid.centre[e, 1] = q[7 * b] + x, q[7 * b + 1] + y
        grid.centre[e, 2] = q[7 * b + 2] + z


@jit_without_lock
def sort(q, margin, elements, levels, grid):
    """Spheres by bucket, and normals of planes, after centres are in place."""
    fill(levels, elements.radius, margin, grid)
    turn_planes(q, elements, grid)


@jit_without_lock
def pairs_from(margin, elements, levels, grid, first, end, pairs):
    """`find_pairs` of some of the spheres, places from `first` to `end`, with others and with planes."""
    count = candidates(levels, margin, grid, first, end, pairs)
    if count >= pairs.shape[0]:
        return count
    count = confirm(pairs, count, margin, grid, elements.owner)
    return add_planes(elements, levels.member[first:end], grid, margin, pairs, count)


@jit_without_lock
def write_contacts(room, elements, grid, traits, slots, first, end, out):
    """out, `Contacts` <- those of the ordered `Pairs` whose first elements are from `first` to `end`."""
    radius, which, centre, normal = elements.radius, elements.which, grid.centre, grid.normal
    for e in range(first, end):
        for c in range(room.begin[e], room.begin[e + 1]):
            f = room.second[c]
            if which[e] >= 0 or which[f] >= 0:
                # n points from the plane to the sphere if the sphere is the first.
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
                # Where centres coincide every normal is as good: upwards.
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
