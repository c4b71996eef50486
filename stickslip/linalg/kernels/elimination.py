"""From a graph and an order to supernodes: elimination tree, postorder, merging.

The graph: start (n+1,), neighbour, no loops, each edge at both ends. Blocks are numbered by their
place in an order. Width: scalar columns of a block (6 for a body, 3 for a contact, any).
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.state import BoolArray, IntArray

FRONT, OVERHEAD, RATE, EXTEND = 700.0, 18.0, 34.0, 0.25
"""Model of a front's time [ns]: per front, columns lost to short loops, flops per ns, ns per entry added.

Measured on sphere packings of 1,000 to 50,000 contacts; the optimum is flat (half and twice each are
within 15 %).
"""


@jit
def tree(start, neighbour, order, width, parent, blocks, scalars):
    """parent, blocks, scalars <- elimination tree (-1: root) and column counts of L (Liu 1990).

    blocks, scalars: rows of each block column of L, its diagonal block included.
    """
    n = order.shape[0]
    place, ancestor, seen = np.empty(n, np.int64), np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for i in range(n):
        place[order[i]] = i
        parent[i], blocks[i], scalars[i] = -1, 1, width[order[i]]
    for i in range(n):
        for q in range(start[order[i]], start[order[i] + 1]):
            k = place[neighbour[q]]
            while k != -1 and k < i:
                above = ancestor[k]
                ancestor[k] = i
                if above == -1:
                    parent[k] = i
                k = above
    for i in range(n):
        seen[i] = i
        for q in range(start[order[i]], start[order[i] + 1]):
            k = place[neighbour[q]]
            while k < i and seen[k] != i:
                seen[k] = i
                blocks[k] += 1
                scalars[k] += width[order[i]]
                k = parent[k]


@jit
def postorder(parent, post):
    """post <- nodes of a forest, children before their parent, first children first."""
    n = parent.shape[0]
    first, after = np.full(n + 1, -1, np.int64), np.full(n, -1, np.int64)
    for i in range(n - 1, -1, -1):
        p = parent[i] if parent[i] >= 0 else n
        after[i] = first[p]
        first[p] = i
    path = np.empty(n + 1, np.int64)
    path[0], depth, k = n, 1, 0
    while depth > 0:
        v = path[depth - 1]
        child = first[v]
        if child >= 0:
            first[v] = after[child]
            path[depth] = child
            depth += 1
        else:
            depth -= 1
            if v < n:
                post[k] = v
                k += 1


@jit
def _nanoseconds(columns, rows):
    """Model of the time of a front [ns] with so many pivot columns and rows below them."""
    c, r = float(columns), float(rows)
    flops = c * c * c / 3.0 + c * c * r + c * r * r
    return FRONT + flops * (1.0 + OVERHEAD / c) / RATE + EXTEND * r * r


class Forest(NamedTuple):
    """Supernodes as they are merged; lists of blocks and of children are linked, -1 at their ends."""

    columns: IntArray
    """Scalar columns of each, as the model takes them [-], shape (ns,)."""
    height: IntArray
    """The same with the rows below [-], shape (ns,)."""
    up: IntArray
    """Parent [-], shape (ns,)."""
    child: IntArray
    """First child [-], shape (ns,)."""
    sibling: IntArray
    """Next child of its parent [-], shape (ns,)."""
    alive: BoolArray
    """Whether it is not merged into another [-], shape (ns,)."""
    head: IntArray
    """First block [-], shape (n,)."""
    tail: IntArray
    """Last block [-], shape (n,)."""
    link: IntArray
    """Next block of each block [-], shape (n,)."""


@jit
def supernodes(order, width, parent, blocks, scalars, negative, dear):
    """(permutation (n,), first (count + 1,), above (count,)): maximal supernodes, then children merged into
    parents while the model says that it pays; blocks in final order, first block and parent of each.

    order .. scalars: in postorder. negative (n,): blocks that go first inside their supernode. dear:
    sizes in the model over real ones, more than 1 where the zeros of a merge cost more.
    """
    n = order.shape[0]
    home, head = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    tail, link = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    count = 0
    for j in range(n):
        if j > 0 and parent[j - 1] == j and blocks[j - 1] == blocks[j] + 1:
            link[j - 1] = j
        else:
            head[count] = j
            count += 1
        home[j], tail[count - 1] = count - 1, j
    columns, height, up = np.zeros(count, np.int64), np.empty(count, np.int64), np.full(count, -1, np.int64)
    for j in range(n):
        columns[home[j]] += dear * width[order[j]]
    for s in range(count):
        height[s] = dear * scalars[head[s]]
        if parent[tail[s]] >= 0:
            up[s] = home[parent[tail[s]]]
    child, sibling = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    forest = Forest(columns, height, up, child, sibling, np.ones(count, np.bool_), head, tail, link)
    for s in range(count):
        for _ in range(2):  # once more, for the grandchildren that a merge made children
            if not _merge_children(s, forest):
                break
        if up[s] >= 0:
            sibling[s] = child[up[s]]
            child[up[s]] = s
    return _number(order, negative, forest)


@jit
def _merge_children(s, forest):
    """Take children into s where the model gains; whether any was."""
    columns, height, up, child, sibling, head = (
        forest.columns, forest.height, forest.up, forest.child, forest.sibling, forest.head,
    )  # fmt: skip
    before, c, merged = -1, child[s], False
    while c >= 0:
        after = sibling[c]
        below = height[s] - columns[s]
        apart = _nanoseconds(columns[c], height[c] - columns[c]) + _nanoseconds(columns[s], below)
        if apart <= _nanoseconds(columns[c] + columns[s], below):
            before, c = c, after
            continue
        merged, forest.alive[c] = True, False
        forest.link[forest.tail[c]] = head[s]
        head[s] = head[c]
        height[s] += columns[c]
        columns[s] += columns[c]
        last = before  # children of c take its place in the list
        g = child[c]
        while g >= 0:
            up[g] = s
            if last < 0:
                child[s] = g
            else:
                sibling[last] = g
            last = g
            g = sibling[g]
        if last < 0:
            child[s] = after
        else:
            sibling[last] = after
        before, c = last, after
    return merged


@jit
def _number(order, negative, forest):
    """What `supernodes` gives: those that are left, in postorder, negative blocks first in each."""
    up, child, count, n = forest.up, forest.child, forest.up.shape[0], order.shape[0]
    permutation, first, above = np.empty(n, np.int64), np.empty(n + 1, np.int64), np.empty(n, np.int64)
    name, path = np.full(count, -1, np.int64), np.empty(count + 1, np.int64)
    number = k = 0
    old = np.empty(count, np.int64)
    for root in range(count):
        if not forest.alive[root] or up[root] >= 0:
            continue
        path[0], depth = root, 1
        while depth > 0:
            s = path[depth - 1]
            c = child[s]
            if c >= 0:
                child[s] = forest.sibling[c]
                path[depth] = c
                depth += 1
                continue
            depth -= 1
            name[s], old[number], first[number] = number, s, k
            for kind in (True, False):
                j = forest.head[s]
                while j >= 0:
                    if negative[order[j]] == kind:
                        permutation[k] = order[j]
                        k += 1
                    j = forest.link[j]
            number += 1
    first[number] = k
    for s in range(number):
        above[s] = name[up[old[s]]] if up[old[s]] >= 0 else -1
    return permutation, first[: number + 1].copy(), above[:number].copy()
