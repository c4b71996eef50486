"""The shape of a multifrontal factorisation (Duff & Reid 1983): what each front holds and where.

A front is a supernode: `columns` pivots and `rows` below them. Its panel (columns + rows, columns),
column-major, stays in L; its update matrix (rows, rows), lower triangle, column-major, waits on a
stack until its parent has added it.
"""

from collections import namedtuple

import numpy as np

from stickslip.kernels.jit import jit

Fronts = namedtuple(
    "Fronts",
    "offset scalar first columns rows panel update negative child_start child"
    " run_start run_from run_to run_length reach_start reach_to reach_length",
)
"""Arrays of the numeric kernels.

offset (n+1,)          first scalar column of each block, in the final order
scalar (size,)         the caller's place of each scalar column
first (fronts+1,)      first block of each front
columns, rows          scalar pivots and rows below of each front (fronts,)
panel (fronts+1,)      where its panel starts in L
update (fronts,)       where its update matrix starts on the stack
negative (fronts,)     how many pivots, the first, are negative
child_start, child     children of each front
run_start ..           runs of rows of a front that stay together in its parent: from its update
                       matrix, to the parent's front, length
reach_start ..         runs of its rows in the whole vector: to, length
"""

Blocks = namedtuple("Blocks", "start source height width to flip")
"""Blocks of the matrix in the order of fronts: those of front s are start[s]..start[s+1].

source: where the block starts in the values; height, width: its shape; to: where it goes in L;
flip: whether as its transpose.
"""


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
def children(above, child_start, child):
    """child_start (fronts+1,), child <- children of each front, from its parent `above`."""
    count = above.shape[0]
    child_start[:] = 0
    for s in range(count):
        if above[s] >= 0:
            child_start[above[s] + 1] += 1
    for s in range(count):
        child_start[s + 1] += child_start[s]
    into = child_start[:-1].copy()
    for s in range(count):
        if above[s] >= 0:
            child[into[above[s]]] = s
            into[above[s]] += 1


@jit
def structure(start, neighbour, permutation, place, first, child_start, child, row_start):
    """Blocks below the pivots of each front, sorted: row_start (fronts+1,) <- ; returns them."""
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
    return row[:total].copy()


@jit
def sizes(permutation, negative_block, offset, first, row_start, row, above, child_start, child, out):
    """Sizes and places of panels and update matrices; returns the length of the stack.

    out: row_offset (like row), columns, rows, panel, update, negative. Update matrices of odd and
    even depth are on two stacks, so that a parent's never lies over its children's.
    """
    row_offset, columns, rows, panel, update, negative = out
    count = columns.shape[0]
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
    return most[0] + most[1]


@jit
def runs(offset, first, columns, row_start, row, row_offset, above, family, reach):
    """Rows of each front as runs in its parent (family) and in the whole vector (reach).

    family: start, from, to, length; reach: start, to, length; as in Fronts, long enough for one run
    per row. Returns how many runs there are of each.
    """
    run_start, run_from, run_to, run_length = family
    reach_start, reach_to, reach_length = reach
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
    return a, b


@jit
def places(one, other, place, offset, first, front_of, columns, rows, panel, row_start, row, row_offset, out):
    """Where block (one[k], other[k]) of the matrix goes.

    out: front, to (its place in L), flip (whether its transpose is stored there).
    """
    front, to, flip = out
    for k in range(one.shape[0]):
        i, j = place[one[k]], place[other[k]]
        flip[k] = i < j
        if flip[k]:
            i, j = j, i
        s = front_of[j]
        inside = i < first[s + 1]
        down = offset[i] - offset[first[s]] if inside else found(row, row_start, row_offset, s, i)
        front[k] = s
        to[k] = panel[s] + (offset[j] - offset[first[s]]) * (columns[s] + rows[s]) + down


@jit
def found(row, row_start, row_offset, s, p):
    """Where block p is among the rows of front s."""
    low, high = row_start[s], row_start[s + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if row[middle] < p:
            low = middle + 1
        else:
            high = middle
    return row_offset[low]
