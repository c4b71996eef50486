"""Nested dissection of a graph whose vertices have positions, with refined vertex separators.

A set of vertices is cut by the plane, normal to one of the axes, with the smallest separator (George 1973 for
grids; Miller, Teng, Thurston & Vavasis 1997 for geometric graphs). The separator is refined by moves of
single vertices (Fiduccia & Mattheyses 1982; for separators Ashcraft & Liu 1998) and ordered last. Small sets
are ordered by minimum degree, with outside neighbours counted in degrees.

A graph is (start (n + 1,), neighbour (start[n],)), without loops, each edge at both ends.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.linalg.kernels.minimum_degree import minimum_degree
from stickslip.state import BoolArray, IntArray

FIRST, SECOND, SEPARATOR = 0, 1, 2
"""Sides of a vertex."""
LEAF = 64
"""Largest number of vertices of a set that is not cut (heuristic)."""
HALO = 512
"""Largest number of outside neighbours of a leaf that are counted (heuristic)."""
NARROW = 0.3
"""Smallest share of a set on one side of a cutting plane [-] (heuristic)."""
IMBALANCE = 0.15
"""Largest excess of a side over one half of a set in refinement, as a share of the set [-] (heuristic)."""
PASSES = 4
"""Largest number of passes of refinement (heuristic)."""
PATIENCE = 60
"""Number of moves without gain after which a pass ends (heuristic)."""


class Cut(NamedTuple):
    """A graph, and work arrays for cutting sets of its vertices."""

    start: IntArray
    """Index of the first neighbour of each vertex [-], shape (n + 1,)."""
    neighbour: IntArray
    """Neighbours [-], shape (start[n],)."""
    member: BoolArray
    """Whether each vertex is in the set that is cut [-], shape (n,)."""
    side: Any
    """Side of each vertex [-], shape (n,)."""
    locked: BoolArray
    """Whether each vertex was moved in the present pass [-], shape (n,)."""
    separator: IntArray
    """Vertices of the separator, and some that have left it [-], shape (n,)."""
    counts: IntArray
    """Number of vertices per side [-], shape (3,)."""
    moved: IntArray
    """Vertices in the order of moves in the present pass [-], shape (4 n + 16,)."""
    came: Any
    """Side of each of them before the move [-], shape (4 n + 16,)."""


@jit
def dissect(along, start, neighbour, order):
    """order (n,) <- vertices in elimination order; return False if a cut has no small separator.

    along (axes, n): vertices sorted by each coordinate; it is overwritten.
    """
    axes, n = along.shape
    place, part, count = np.full(n, -1, np.int64), np.empty(n, np.int64), np.zeros(3, np.int64)
    side, member = np.zeros(n, np.int8), np.zeros(n, np.bool_)
    cut = Cut(
        start, neighbour, member, side, np.zeros(n, np.bool_), np.empty(n, np.int64), count,
        np.empty(4 * n + 16, np.int64), np.empty(4 * n + 16, np.int8),
    )  # fmt: skip
    pending = np.empty((n + 2, 2), np.int64)
    pending[0, 0], pending[0, 1], waiting = 0, n, 1
    while waiting > 0:
        waiting -= 1
        low, high = pending[waiting, 0], pending[waiting, 1]
        size = high - low
        if size <= LEAF:
            if size > 0:
                _order_leaf(start, neighbour, along[0, low:high], place, order[low:high])
            continue
        # 1. Cut of the set, and refinement of the separator.
        for i in range(low, high):
            member[along[0, i]] = True
        vertices = along[0, low:high].copy()
        _cut(along, low, high, cut, place)
        _refine(vertices, cut)
        for i in range(low, high):
            member[vertices[i - low]] = False
        if 2 * count[SEPARATOR] > size or (count[SEPARATOR] > 0 and min(count[FIRST], count[SECOND]) == 0):
            return False
        # 2. Both sides in the order of each coordinate, and the separator last.
        middle, last = low + count[FIRST], low + count[FIRST] + count[SECOND]
        for axis in range(axes):
            into = np.array((low, middle, last))
            for i in range(low, high):
                v = along[axis, i]
                part[into[side[v]]] = v
                into[side[v]] += 1
            for i in range(low, high):
                along[axis, i] = part[i]
        for i in range(last, high):
            order[i] = part[i]
        pending[waiting, 0], pending[waiting, 1] = low, middle
        pending[waiting + 1, 0], pending[waiting + 1, 1] = middle, last
        waiting += 2
    return True


@jit
def _cut(along, low, high, cut, rank):
    """cut.side <- sides and separator of the best plane; the separator is the vertices of one side with a
    neighbour on the other.

    rank (n,): work array, -1 before and after.
    """
    # 1. The plane with the smallest separator, with a penalty for imbalance.
    start, neighbour, member, side = cut.start, cut.neighbour, cut.member, cut.side
    size = high - low
    ahead, behind = np.empty(size, np.int64), np.empty(size, np.int64)
    best, best_axis, best_cut, best_side = np.inf, 0, size // 2, FIRST
    for axis in range(along.shape[0]):
        for i in range(size):
            rank[along[axis, low + i]] = i
            ahead[i] = behind[i] = 0
        for i in range(size):
            v = along[axis, low + i]
            nearest = farthest = i
            for q in range(start[v], start[v + 1]):
                if member[neighbour[q]]:
                    other = rank[neighbour[q]]
                    nearest, farthest = min(nearest, other), max(farthest, other)
            # For a cut after rank c, v is a separator vertex of the first side if i <= c < farthest, and of
            # the second side if nearest <= c < i.
            ahead[i] += 1
            ahead[farthest] -= 1
            behind[nearest] += 1
            behind[i] -= 1
        first = second = 0
        for c in range(size - 1):
            first += ahead[c]
            second += behind[c]
            share = (c + 1) / size
            if share < NARROW or share > 1.0 - NARROW:
                continue
            skew = 2.0 * share - 1.0
            cost = (min(first, second) + 0.3) * (1.0 + skew * skew)
            if cost < best:
                best, best_axis, best_cut = cost, axis, c
                best_side = FIRST if first <= second else SECOND
    # 2. Sides and separator of this plane.
    for i in range(size):
        v = along[best_axis, low + i]
        side[v] = FIRST if i <= best_cut else SECOND
    for i in range(size):
        v = along[best_axis, low + i]
        rank[v] = -1
        if side[v] == best_side:
            for q in range(start[v], start[v + 1]):
                if member[neighbour[q]] and side[neighbour[q]] == 1 - best_side:
                    side[v] = SEPARATOR
                    break


@jit
def _refine(vertices, cut):
    """Reduce the separator: move its vertices to a side; their neighbours on the other side replace them.

    A pass moves greedily, even if the separator grows, no vertex twice, and returns to its best state.
    """
    start, neighbour, member, side, locked, separator, count, moved, came = cut
    size = vertices.shape[0]
    most = int((0.5 + IMBALANCE) * size) + 1
    count[:] = 0
    for i in range(size):
        count[side[vertices[i]]] += 1
    for _ in range(PASSES):
        waiting = 0
        for i in range(size):
            v = vertices[i]
            locked[v] = False
            if side[v] == SEPARATOR:
                separator[waiting] = v
                waiting += 1
        best, best_skew = count[SEPARATOR], abs(count[FIRST] - count[SECOND])
        moves = best_moves = idle = 0
        while idle < PATIENCE:
            v, to, waiting = _best_move(cut, waiting, most)
            if v < 0 or moves + 1 + start[v + 1] - start[v] > moved.shape[0] or waiting == size:
                break
            moved[moves], came[moves] = v, SEPARATOR
            moves += 1
            side[v], locked[v] = to, True
            count[to] += 1
            count[SEPARATOR] -= 1
            for q in range(start[v], start[v + 1]):
                w = neighbour[q]
                if member[w] and side[w] == 1 - to:
                    moved[moves], came[moves] = w, 1 - to
                    moves += 1
                    side[w] = SEPARATOR
                    count[1 - to] -= 1
                    count[SEPARATOR] += 1
                    if waiting < size:
                        separator[waiting] = w
                        waiting += 1
            skew = abs(count[FIRST] - count[SECOND])
            if count[SEPARATOR] < best or (count[SEPARATOR] == best and skew < best_skew):
                best, best_skew, best_moves, idle = count[SEPARATOR], skew, moves, 0
            else:
                idle += 1
        for k in range(moves - 1, best_moves - 1, -1):
            count[side[moved[k]]] -= 1
            side[moved[k]] = came[k]
            count[came[k]] += 1
        if best_moves == 0:
            break


@jit
def _best_move(cut, waiting, most):
    """Return (vertex or -1, side, size of `separator`) of the move that reduces the separator most.

    Ties go to the smaller side.
    """
    start, neighbour, member, side, locked, separator, count, _, _ = cut
    best, vertex, to = -(1 << 40), -1, FIRST
    i = 0
    while i < waiting:
        v = separator[i]
        if side[v] != SEPARATOR:
            waiting -= 1
            separator[i] = separator[waiting]
            continue
        i += 1
        if locked[v]:
            continue
        first = second = 0
        for q in range(start[v], start[v + 1]):
            if member[neighbour[q]]:
                if side[neighbour[q]] == FIRST:
                    first += 1
                elif side[neighbour[q]] == SECOND:
                    second += 1
        gain = 4 * (1 - second) + (1 if count[FIRST] < count[SECOND] else 0)
        if count[FIRST] < most and gain > best:
            best, vertex, to = gain, v, FIRST
        gain = 4 * (1 - first) + (1 if count[SECOND] < count[FIRST] else 0)
        if count[SECOND] < most and gain > best:
            best, vertex, to = gain, v, SECOND
    return vertex, to, waiting


@jit
def _order_leaf(start, neighbour, vertices, place, order):
    """order <- vertices of a leaf by minimum degree; at most HALO outside neighbours count in degrees."""
    count, outside, entries = vertices.shape[0], 0, 0
    for i in range(count):
        place[vertices[i]] = i
        entries += start[vertices[i] + 1] - start[vertices[i]]
    halo, first, near = np.empty(HALO, np.int64), np.zeros(count + 1, np.int64), np.empty(entries, np.int64)
    for i in range(count):
        at = first[i]
        for q in range(start[vertices[i]], start[vertices[i] + 1]):
            w = neighbour[q]
            if place[w] < 0 and outside < HALO:
                place[w] = count + outside
                halo[outside] = w
                outside += 1
            if place[w] >= 0:
                near[at] = place[w]
                at += 1
        first[i + 1] = at
    minimum_degree(first, near[: first[count]], order)
    for i in range(count):
        order[i] = vertices[order[i]]
    for i in range(count):
        place[vertices[i]] = -1
    for i in range(outside):
        place[halo[i]] = -1
