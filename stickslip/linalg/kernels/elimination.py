"""Supernodes of a graph in a given order: elimination tree, postorder, merging.

A graph is (start (n + 1,), neighbour), without loops, each edge at both ends. Blocks are numbered by their
position in an order. The width of a block is its number of scalar columns (6 for a body, 3 for a contact).
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.state import BoolArray, IntArray

FRONT, OVERHEAD, RATE, EXTEND = 700.0, 18.0, 34.0, 0.25
"""Cost model of a front: time per front [ns], columns of overhead due to short loops, flops per ns, time per
entry of the update matrix [ns].

Measured on sphere packings of 1,000 to 50,000 contacts. The optimum is flat: half and twice of each value are
within 15 %.
"""


@jit
def tree(start, neighbour, order, width, parent, blocks, scalars):
    """parent, blocks, scalars <- elimination tree (-1 for roots) and column counts of L (Liu 1990).

    blocks, scalars: numbers of block rows and of scalar rows of each block column of L, including its
    diagonal block.
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
    """post <- postorder of a forest: children before their parent, first children first."""
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
    """Return the modelled time of a front with so many pivot columns, and rows below them [ns]."""
    c, r = float(columns), float(rows)
    flops = c * c * c / 3.0 + c * c * r + c * r * r
    return FRONT + flops * (1.0 + OVERHEAD / c) / RATE + EXTEND * r * r


class Forest(NamedTuple):
    """Supernodes during merging; blocks and children are in linked lists that end with -1."""

    columns: IntArray
    """Scalar columns of each supernode in the cost model [-], shape (ns,)."""
    height: IntArray
    """Scalar columns plus rows below them [-], shape (ns,)."""
    up: IntArray
    """Parent of each supernode [-], shape (ns,)."""
    child: IntArray
    """First child of each supernode [-], shape (ns,)."""
    sibling: IntArray
    """Next child of the same parent [-], shape (ns,)."""
    alive: BoolArray
    """Whether the supernode is not merged into another one [-], shape (ns,)."""
    head: IntArray
    """First block of each supernode [-], shape (n,)."""
    tail: IntArray
    """Last block of each supernode [-], shape (n,)."""
    link: IntArray
    """Next block of each block [-], shape (n,)."""


@jit
def supernodes(order, width, parent, blocks, scalars, negative, dear):
    """Return (permutation (n,), first (count + 1,), above (count,)): final order of the blocks, first block
    and parent of each supernode.

    Children of maximal supernodes are merged into their parents while this reduces the modelled time. order,
    width, parent, blocks, scalars: in postorder; negative (n,): blocks that come first in their supernode;
    dear: factor of sizes in the cost model, above 1 if the zeros of a merge are more expensive.
    """
    # 1. Maximal supernodes: chains of blocks with the same structure.
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
    # 2. Merging, from the leaves up.
    child, sibling = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    forest = Forest(columns, height, up, child, sibling, np.ones(count, np.bool_), head, tail, link)
    for s in range(count):
        for _ in range(2):  # twice, since grandchildren become children by a merge
            if not _merge_children(s, forest):
                break
        if up[s] >= 0:
            sibling[s] = child[up[s]]
            child[up[s]] = s
    return _number(order, negative, forest)


@jit
def _merge_children(s, forest):
    """Merge children into s if this reduces the modelled time; return whether any was merged."""
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
        last = before  # the children of c replace it in the list
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
    """Return the result of `supernodes`: remaining supernodes in postorder, negative blocks first in each."""
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
