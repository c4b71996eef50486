"""The shape of a multifrontal factorisation (Duff & Reid 1983): what each front holds and where.

A front is a supernode: `columns` pivots and `rows` below them. Its panel (columns + rows, columns),
column-major, stays in L; its update matrix (rows, rows), lower triangle, column-major, waits on a
stack until its parent has added it.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.state import BoolArray, IntArray


class Tree(NamedTuple):
    """What the graph alone decides, in blocks."""

    permutation: IntArray
    """Final order [-], shape (n,)."""
    place: IntArray
    """Its inverse [-], shape (n,)."""
    first: IntArray
    """First block of each front, and the number of all [-], shape (fronts + 1,)."""
    above: IntArray
    """Parent of each front, -1 for none [-], shape (fronts,)."""
    child_start: IntArray
    """First child of each front in `child`, and their number [-], shape (fronts + 1,)."""
    child: IntArray
    """[-], shape (fronts,)."""
    row_start: IntArray
    """First block below the pivots of each front in `row`, and their number [-], shape (fronts + 1,)."""
    row: IntArray
    """These, increasing [-]."""
    front_of: IntArray
    """Front of each block [-], shape (n,)."""


class Sizes(NamedTuple):
    """What fronts hold, and where it starts."""

    row_offset: IntArray
    """Where each block of `Tree.row` is in its front."""
    columns: IntArray
    """Scalar pivots [-], shape (fronts,)."""
    rows: IntArray
    """Rows below them [-], shape (fronts,)."""
    panel: IntArray
    """Start of the panel in L, and the length of all [-], shape (fronts + 1,)."""
    update: IntArray
    """Start of the update matrix on the stack [-], shape (fronts,)."""
    negative: IntArray
    """How many pivots, the first, are negative [-], shape (fronts,)."""


class Runs(NamedTuple):
    """Rows of fronts that stay together."""

    run_start: IntArray
    """First run of each front in its parent, and the number of all [-], shape (fronts + 1,)."""
    run_from: IntArray
    """From where in its update matrix."""
    run_to: IntArray
    """To where in the front of its parent."""
    run_length: IntArray
    """So many rows."""
    reach_start: IntArray
    """First run of each front in the whole vector, and the number of all [-], shape (fronts + 1,)."""
    reach_to: IntArray
    """To where."""
    reach_length: IntArray
    """So many rows."""


class Fronts(NamedTuple):
    """Arrays of the numeric kernels: fields of `Tree`, `Sizes` and `Runs`, and two more."""

    offset: IntArray
    """First scalar column of each block, in the final order [-], shape (n + 1,)."""
    scalar: IntArray
    """The caller's place of each scalar column [-], shape (size,)."""
    first: IntArray
    columns: IntArray
    rows: IntArray
    panel: IntArray
    update: IntArray
    negative: IntArray
    child_start: IntArray
    child: IntArray
    run_start: IntArray
    run_from: IntArray
    run_to: IntArray
    run_length: IntArray
    reach_start: IntArray
    reach_to: IntArray
    reach_length: IntArray


class Blocks(NamedTuple):
    """Blocks of the matrix in the order of fronts: those of front s are start[s]..start[s+1]."""

    start: IntArray
    source: IntArray
    """Where the block starts in the values."""
    height: IntArray
    width: IntArray
    to: IntArray
    """Where it goes in L."""
    flip: BoolArray
    """Whether as its transpose."""


@jit
def _sort(a, low, high):
    """Shell sort of a[low:high] (np.sort would triple the time to compile)."""
    gap = 1
    while gap < high - low:
        gap = 3 * gap + 1
    while gap > 1:
        gap //= 3
        for i in range(low + gap, high):
            value, j = a[i], i
            while j >= low + gap and a[j - gap] > value:
                a[j] = a[j - gap]
                j -= gap
            a[j] = value


@jit
def structure(start, neighbour, permutation, place, first, above):
    """(child_start, child, row_start, row) of a `Tree`, from the graph and the other fields."""
    child_start, child = np.zeros(above.shape[0] + 1, np.int64), np.empty(above.shape[0], np.int64)
    row_start = np.empty(above.shape[0] + 1, np.int64)
    for s in range(above.shape[0]):
        if above[s] >= 0:
            child_start[above[s] + 1] += 1
    for s in range(above.shape[0]):
        child_start[s + 1] += child_start[s]
    into = child_start[:-1].copy()
    for s in range(above.shape[0]):
        if above[s] >= 0:
            child[into[above[s]]] = s
            into[above[s]] += 1
    n, count = permutation.shape[0], row_start.shape[0] - 1
    row, total = np.empty(16 * n + 64, np.int64), 0
    seen = np.full(n, -1, np.int64)
    row_start[0] = 0
    for s in range(count):
        if total + n > row.shape[0]:
            longer = np.empty(2 * row.shape[0] + n, np.int64)
            for q in range(total):  # a slice would take seconds to compile
                longer[q] = row[q]
            row = longer
        end = first[s + 1]
        for j in range(first[s], end):
            for q in range(start[permutation[j]], start[permutation[j] + 1]):
                r = place[neighbour[q]]
                if r >= end and seen[r] != s:
                    seen[r] = s
                    row[total] = r
                    total += 1
        for k in range(child_start[s], child_start[s + 1]):
            for q in range(row_start[child[k]], row_start[child[k] + 1]):
                r = row[q]
                if r >= end and seen[r] != s:
                    seen[r] = s
                    row[total] = r
                    total += 1
        _sort(row, row_start[s], total)
        row_start[s + 1] = total
    return child_start, child, row_start, row[:total].copy()


@jit
def sizes(tree, negative_block, offset):
    """(`Sizes`, length of the stack) of a `Tree`.   negative_block (n,), offset (n + 1,) in the final order.

    Update matrices of odd and even depth are on two stacks, so that a parent's never lies over its
    children's.
    """
    permutation, first, row_start, row = tree.permutation, tree.first, tree.row_start, tree.row
    above, child_start, child, count = tree.above, tree.child_start, tree.child, tree.above.shape[0]
    row_offset, panel = np.empty(row.shape[0], np.int64), np.empty(count + 1, np.int64)
    columns, rows, update, negative = (
        np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64),
        np.empty(count, np.int64),
    )  # fmt: skip
    panel[0] = 0
    for s in range(count):
        columns[s] = offset[first[s + 1]] - offset[first[s]]
        below = 0
        for q in range(row_start[s], row_start[s + 1]):
            row_offset[q] = columns[s] + below
            below += offset[row[q] + 1] - offset[row[q]]
        rows[s] = below
        panel[s + 1] = panel[s] + columns[s] * (columns[s] + below)
        negative[s] = 0
        for j in range(first[s], first[s + 1]):
            if negative_block[permutation[j]]:
                negative[s] += offset[j + 1] - offset[j]
    odd = np.zeros(count, np.int64)
    for s in range(count - 1, -1, -1):
        if above[s] >= 0:
            odd[s] = 1 - odd[above[s]]
    top, most = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for s in range(count):
        update[s] = top[odd[s]]
        top[odd[s]] += rows[s] * rows[s]
        most[odd[s]] = max(most[odd[s]], top[odd[s]])
        for k in range(child_start[s], child_start[s + 1]):
            top[1 - odd[s]] -= rows[child[k]] * rows[child[k]]
    for s in range(count):
        update[s] += odd[s] * most[0]
    return Sizes(row_offset, columns, rows, panel, update, negative), most[0] + most[1]


@jit
def runs(tree, sizes, offset):
    """`Runs` of a `Tree` with these `Sizes`: rows of each front in its parent and in the whole vector."""
    first, row_start, row, above = tree.first, tree.row_start, tree.row, tree.above
    columns, row_offset, count, many = sizes.columns, sizes.row_offset, above.shape[0], row.shape[0]
    run_start, run_from = np.empty(count + 1, np.int64), np.empty(many, np.int64)
    run_to, run_length = np.empty(many, np.int64), np.empty(many, np.int64)
    reach_start, reach_to = np.empty(count + 1, np.int64), np.empty(many, np.int64)
    reach_length = np.empty(many, np.int64)
    a = b = 0
    run_start[0] = reach_start[0] = 0
    for s in range(columns.shape[0]):
        p, end = above[s], -1
        for q in range(row_start[s], row_start[s + 1]):
            w = offset[row[q] + 1] - offset[row[q]]
            if offset[row[q]] == end:
                reach_length[b - 1] += w
            else:
                reach_to[b], reach_length[b] = offset[row[q]], w
                b += 1
            end = offset[row[q]] + w
        if p >= 0:
            at, end = row_start[p], -1
            for q in range(row_start[s], row_start[s + 1]):
                r = row[q]
                w = offset[r + 1] - offset[r]
                if r < first[p + 1]:
                    to = offset[r] - offset[first[p]]
                else:
                    while row[at] != r:
                        at += 1
                    to = row_offset[at]
                if to == end and to != columns[p]:  # pivots and rows of the parent lie apart
                    run_length[a - 1] += w
                else:
                    run_from[a], run_to[a], run_length[a] = row_offset[q] - columns[s], to, w
                    a += 1
                end = to + w
        run_start[s + 1], reach_start[s + 1] = a, b
    return Runs(
        run_start, run_from[:a].copy(), run_to[:a].copy(), run_length[:a].copy(), reach_start,
        reach_to[:b].copy(), reach_length[:b].copy(),
    )  # fmt: skip


@jit
def places(one, other, tree, sizes, offset):
    """(front, to, flip): in which front block (one[k], other[k]) of the matrix goes, where in L, and whether
    as its transpose."""
    many, first = one.shape[0], tree.first
    front, to, flip = np.empty(many, np.int64), np.empty(many, np.int64), np.empty(many, np.bool_)
    for k in range(many):
        i, j = tree.place[one[k]], tree.place[other[k]]
        flip[k] = i < j
        if flip[k]:
            i, j = j, i
        s = tree.front_of[j]
        down = offset[i] - offset[first[s]] if i < first[s + 1] else found(tree, sizes, s, i)
        front[k] = s
        step = sizes.columns[s] + sizes.rows[s]
        to[k] = sizes.panel[s] + (offset[j] - offset[first[s]]) * step + down
    return front, to, flip


@jit
def found(tree, sizes, s, p):
    """Where block p is among the rows of front s."""
    low, high = tree.row_start[s], tree.row_start[s + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if tree.row[middle] < p:
            low = middle + 1
        else:
            high = middle
    return sizes.row_offset[low]
