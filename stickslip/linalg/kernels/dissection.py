"""Nested dissection of a graph whose vertices have positions, with refined vertex separators.

A set of vertices is cut by the plane, normal to one of the axes, with the smallest separator (George
1973 on grids; Miller, Teng, Thurston & Vavasis 1997 on geometric graphs); the separator is refined
by moves of single vertices (Fiduccia & Mattheyses 1982, for separators as Ashcraft & Liu 1998) and
numbered last. Sets of at most a leaf are ordered by minimum degree, counting outside neighbours.

The graph: start (n+1,), neighbour (start[n],), no loops, each edge at both ends.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.linalg.kernels.minimum_degree import minimum_degree
from stickslip.state import BoolArray, IntArray

FIRST, SECOND, SEPARATOR = 0, 1, 2
"""Sides of a vertex."""
LEAF = 64
"""Sets of so many vertices are not cut."""
HALO = 512
"""Outside neighbours of a leaf that are counted, at most."""
NARROW = 0.3
"""Smallest share of a set on one side of a cutting plane."""
IMBALANCE = 0.15
"""By how much a side may exceed one half of a set in refinement."""
PASSES = 4
"""Passes of refinement, at most."""
PATIENCE = 60
"""Moves without gain after which a pass of refinement ends."""


class Cut(NamedTuple):
    """A graph, and room for cutting sets of its vertices."""

    start: IntArray
    """[-], shape (n + 1,)."""
    neighbour: IntArray
    """[-], shape (start[n],)."""
    member: BoolArray
    """Whether a vertex is in the set that is cut [-], shape (n,)."""
    side: Any
    """Of each vertex [-], shape (n,)."""
    locked: BoolArray
    """Whether it has been moved in a pass of refinement [-], shape (n,)."""
    separator: IntArray
    """Vertices of the separator, and some that were [-], shape (n,)."""
    counts: IntArray
    """Vertices per side [-], shape (3,)."""
    moved: IntArray
    """Vertices as they were moved in a pass [-], shape (4 n + 16,)."""
    came: Any
    """From which side [-], shape (4 n + 16,)."""


@jit
def dissect(along, start, neighbour, order):
    """order <- vertices in elimination order; False if a cut failed.   along (axes, n), order (n,).

    along[a] lists the vertices sorted by coordinate a; it is overwritten.
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
        for i in range(low, high):
            member[along[0, i]] = True
        vertices = along[0, low:high].copy()
        _cut(along, low, high, cut, place)
        _refine(vertices, cut)
        for i in range(low, high):
            member[vertices[i - low]] = False
        if 2 * count[SEPARATOR] > size or (count[SEPARATOR] > 0 and min(count[FIRST], count[SECOND]) == 0):
            return False
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
    """Sides <- the best plane's two sides and separator: one side's vertices with a neighbour across.
    rank (n,) work, -1 before and after."""
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
            # Of a cut after rank c, v is a separator vertex of the first side for i <= c < farthest,
            # of the second side for nearest <= c < i.
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
    """Shrink the separator: move its vertices to a side, their neighbours across take their place.

    Each pass moves greedily, also uphill, no vertex twice, and returns to its best state.
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
    """(vertex, side, waiting) of the move that shrinks the separator most, ties to balance; -1 if none."""
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
    """order <- vertices of a leaf by minimum degree, neighbours outside of it counted, HALO at most."""
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
