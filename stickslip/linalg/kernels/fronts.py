"""Layout of a multifrontal factorisation (Duff & Reid 1983): sizes and positions of fronts.

A front is a supernode with `columns` pivots and `rows` below them. Its panel (columns + rows, columns),
column-major, is a part of L. Its update matrix (rows, rows), lower triangle, column-major, is on a stack
until it is added to its parent.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.state import BoolArray, IntArray


class Tree(NamedTuple):
    """Structure of the fronts in blocks, which depends on the graph only."""

    permutation: IntArray
    """Blocks in the final order [-], shape (n,)."""
    place: IntArray
    """Position of each block in the final order [-], shape (n,)."""
    first: IntArray
    """Position of the first block of each front, and n [-], shape (fronts + 1,)."""
    above: IntArray
    """Parent of each front, -1 for none [-], shape (fronts,)."""
    child_start: IntArray
    """Index in `child` of the first child of each front, and their number [-], shape (fronts + 1,)."""
    child: IntArray
    """Children of the fronts [-], shape (fronts,)."""
    row_start: IntArray
    """Index in `row` of the first block row below the pivots of each front, and their number [-], shape
    (fronts + 1,)."""
    row: IntArray
    """Positions of these block rows, increasing in each front [-], shape (row_start[-1],)."""
    front_of: IntArray
    """Front of each block [-], shape (n,)."""


class Fronts(NamedTuple):
    """Sizes and positions of the fronts in scalars, for given widths of the blocks."""

    scalar: IntArray
    """Number of each scalar column in the order of the caller, in the final order [-], shape (size,)."""
    head: IntArray
    """First scalar column of each front [-], shape (fronts,)."""
    columns: IntArray
    """Number of pivots of each front [-], shape (fronts,)."""
    rows: IntArray
    """Number of rows below the pivots [-], shape (fronts,)."""
    panel: IntArray
    """Index of the panel of each front in L, and the size of L [-], shape (fronts + 1,)."""
    update: IntArray
    """Index of the update matrix of each front on the stack [-], shape (fronts,)."""
    negative: IntArray
    """Number of negative pivots of each front, which come first [-], shape (fronts,)."""
    child_start: IntArray
    """See `Tree`."""
    child: IntArray
    """See `Tree`."""
    run_start: IntArray
    """Index of the first run of each front, and the number of runs: rows of its update matrix that are
    consecutive in its parent [-], shape (fronts + 1,)."""
    run_from: IntArray
    """First row of each run in the update matrix [-], shape (runs,)."""
    run_to: IntArray
    """First row of each run in the front of the parent [-], shape (runs,)."""
    run_length: IntArray
    """Number of rows of each run [-], shape (runs,)."""
    reach_start: IntArray
    """Index of the first reach of each front, and the number of reaches: rows below the pivots that are
    consecutive in the whole vector [-], shape (fronts + 1,)."""
    reach_to: IntArray
    """First scalar row of each reach [-], shape (reaches,)."""
    reach_length: IntArray
    """Number of rows of each reach [-], shape (reaches,)."""


class Blocks(NamedTuple):
    """Blocks of the matrix in the order of fronts."""

    start: IntArray
    """Index of the first block of each front, and their number [-], shape (fronts + 1,)."""
    source: IntArray
    """Index of the first value of each block [-], shape (blocks,)."""
    height: IntArray
    """Number of rows of each block [-], shape (blocks,)."""
    width: IntArray
    """Number of columns of each block [-], shape (blocks,)."""
    to: IntArray
    """Index of each block in L [-], shape (blocks,)."""
    flip: BoolArray
    """Whether each block is transposed in L [-], shape (blocks,)."""


@jit
def _sort(a, low, high):
    """Sort a[low:high] by Shell sort (np.sort would triple the time to compile)."""
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
    """Return (child_start, child, row_start, row) of a `Tree`, from the graph and the other fields."""
    # 1. Children.
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
    # 2. Rows of each front: neighbours of its blocks, and rows of its children, that are behind it.
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


MUCH = 2e9
"""Smallest number of flops of a multithreaded factorisation: a tenth of a second."""
SHARES = 8.0
"""Subtrees with less than 1 / SHARES of all flops are the work of one thread: a few of them for each of two
to four threads; the fronts above are wide enough for several threads."""


@jit
def subtrees(above, columns, rows):
    """Return (job of each front, number of jobs): independent subtrees.

    Fronts above all subtrees have the number of jobs as their job. Small factorisations have one job.
    """
    count = above.shape[0]
    work, job = np.empty(count), np.zeros(count, np.int64)
    total = 0.0
    for s in range(count):
        c, r = float(columns[s]), float(rows[s])
        work[s] = c * c * c / 3.0 + c * c * r + c * r * r
        total += work[s]
    if total < MUCH:
        return job, 1
    for s in range(count):  # children come before their parents
        if above[s] >= 0:
            work[above[s]] += work[s]
    jobs = 0
    for s in range(count - 1, -1, -1):
        p = above[s]
        if p >= 0 and job[p] >= 0:
            job[s] = job[p]
        elif work[s] * SHARES > total:
            job[s] = -1
        else:
            job[s] = jobs
            jobs += 1
    jobs = max(jobs, 1)
    for s in range(count):
        if job[s] < 0:
            job[s] = jobs
    return job, jobs


@jit
def place_updates(rows, odd, job, jobs, most, update):
    """update (fronts,) <- indices in one array, from those in the two stacks of each subtree.

    Return its size. most (jobs + 1, 2): sizes of the stacks. The stack in which a subtree leaves no update
    matrix is next to that of the following subtree; together they are reused for fronts above the subtrees,
    which are factored later.
    """
    # 1. Positions of the stacks, and free areas.
    count, base = rows.shape[0], np.empty((jobs, 2), np.int64)
    free, room, areas, stack, opens = np.empty(jobs, np.int64), np.empty(jobs, np.int64), 0, 0, True
    last = np.zeros(jobs, np.int64)
    for s in range(count):
        if job[s] < jobs:
            last[job[s]] = odd[s]
    for k in range(jobs):
        parity = last[k]
        if opens:
            base[k, parity], base[k, 1 - parity] = stack, stack + most[k, parity]
            free[areas], room[areas] = base[k, 1 - parity], most[k, 1 - parity]
            areas += 1
        else:
            base[k, 1 - parity], base[k, parity] = stack, stack + most[k, 1 - parity]
            room[areas - 1] += most[k, 1 - parity]
        stack += most[k, 0] + most[k, 1]
        if most[k, 0] + most[k, 1] > 0:
            opens = not opens
    # 2. Update matrices in the stacks; those of fronts above in free areas, else at the end.
    for s in range(count):
        if job[s] < jobs:
            update[s] += base[job[s], odd[s]]
            continue
        size = rows[s] * rows[s]
        update[s] = -1
        for a in range(areas):
            if room[a] >= size:
                update[s], free[a], room[a] = free[a], free[a] + size, room[a] - size
                break
        if update[s] < 0:
            update[s] = stack
            stack += size
    return stack


@jit
def lay_out(tree, negative_block, widths, offset, shared):
    """Return (`Fronts`, row_offset, final, size of the stack, job of each front) of a `Tree`.

    row_offset: first scalar row of each block of `Tree.row` in its front; final (n + 1,): first scalar column
    of each block in the final order. negative_block, widths (n,), 0 for removed block rows, offset (n + 1,):
    in the order of the caller; shared: whether several threads factor the matrix.

    Update matrices of odd and even depth are on two stacks, so that the matrix of a parent never overlaps
    those of its children. If `shared`, each of the `subtrees` has its own two stacks.
    """
    # 1. Scalar columns in the final order.
    permutation, first, row_start, row = tree.permutation, tree.first, tree.row_start, tree.row
    above, child_start, child, count = tree.above, tree.child_start, tree.child, tree.above.shape[0]
    n, final = permutation.shape[0], np.zeros(permutation.shape[0] + 1, np.int64)
    for p in range(n):
        final[p + 1] = final[p] + widths[permutation[p]]
    scalar = np.empty(final[n], np.int64)
    for p in range(n):
        for k in range(final[p + 1] - final[p]):
            scalar[final[p] + k] = offset[permutation[p]] + k
    # 2. Sizes of the fronts, and their panels.
    row_offset, panel = np.empty(row.shape[0], np.int64), np.empty(count + 1, np.int64)
    head, columns, rows = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    update, negative = np.empty(count, np.int64), np.zeros(count, np.int64)
    panel[0] = 0
    for s in range(count):
        head[s] = final[first[s]]
        columns[s] = final[first[s + 1]] - head[s]
        below = 0
        for q in range(row_start[s], row_start[s + 1]):
            row_offset[q] = columns[s] + below
            below += final[row[q] + 1] - final[row[q]]
        rows[s] = below
        panel[s + 1] = panel[s] + columns[s] * (columns[s] + below)
        for j in range(first[s], first[s + 1]):
            if negative_block[permutation[j]]:
                negative[s] += final[j + 1] - final[j]
    # 3. Update matrices on the stacks.
    odd = np.zeros(count, np.int64)
    for s in range(count - 1, -1, -1):
        if above[s] >= 0:
            odd[s] = 1 - odd[above[s]]
    job, jobs = subtrees(above, columns, rows)
    home, homes = (job, jobs) if shared else (np.zeros(count, np.int64), 1)
    top, most = np.zeros((homes + 1, 2), np.int64), np.zeros((homes + 1, 2), np.int64)
    for s in range(count):
        k = home[s]
        update[s] = top[k, odd[s]]
        top[k, odd[s]] += rows[s] * rows[s]
        most[k, odd[s]] = max(most[k, odd[s]], top[k, odd[s]])
        for q in range(child_start[s], child_start[s + 1]):
            if home[child[q]] == k:
                top[k, 1 - odd[s]] -= rows[child[q]] * rows[child[q]]
    stack = place_updates(rows, odd, home, homes, most, update)
    # 4. Runs of rows.
    run_start, run_from, run_to, run_length, reach_start, reach_to, reach_length = runs(
        tree, columns, row_offset, final
    )
    fronts = Fronts(
        scalar, head, columns, rows, panel, update, negative, child_start, child,
        run_start, run_from, run_to, run_length, reach_start, reach_to, reach_length,
    )  # fmt: skip
    return fronts, row_offset, final, stack, job


@jit
def runs(tree, columns, row_offset, offset):
    """Return run_start ... reach_length of `Fronts`: rows of fronts as runs in parents and in the vector."""
    first, row_start, row, above = tree.first, tree.row_start, tree.row, tree.above
    count, many = above.shape[0], row.shape[0]
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
                if to == end and to != columns[p]:  # a run does not cross from pivots to rows
                    run_length[a - 1] += w
                else:
                    run_from[a], run_to[a], run_length[a] = row_offset[q] - columns[s], to, w
                    a += 1
                end = to + w
        run_start[s + 1], reach_start[s + 1] = a, b
    return (
        run_start, run_from[:a].copy(), run_to[:a].copy(), run_length[:a].copy(), reach_start,
        reach_to[:b].copy(), reach_length[:b].copy(),
    )  # fmt: skip


@jit
def places(one, other, tree, fronts, row_offset, offset):
    """Return (front, to, flip) of blocks (one[k], other[k]) of the matrix: front, index in L, whether
    transposed.

    row_offset, offset: results `row_offset` and `final` of `lay_out`.
    """
    many = one.shape[0]
    front, to, flip = np.empty(many, np.int64), np.empty(many, np.int64), np.empty(many, np.bool_)
    for k in range(many):
        i, j = tree.place[one[k]], tree.place[other[k]]
        flip[k] = i < j
        if flip[k]:
            i, j = j, i
        s = tree.front_of[j]
        head, step = fronts.head[s], fronts.columns[s] + fronts.rows[s]
        down = offset[i] - head if i < tree.first[s + 1] else offset_in_front(tree, row_offset, s, i)
        front[k], to[k] = s, fronts.panel[s] + (offset[j] - head) * step + down
    return front, to, flip


@jit
def offset_in_front(tree, row_offset, s, p):
    """Return the first scalar row in front s of the block at position p, which is below its pivots."""
    low, high = tree.row_start[s], tree.row_start[s + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if tree.row[middle] < p:
            low = middle + 1
        else:
            high = middle
    return row_offset[low]
