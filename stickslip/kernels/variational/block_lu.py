"""LU of unsymmetric matrices of 6 x 6 blocks with a symmetric structure: order, fill, factors, solves.

Nodes are numbered 0 ... N - 1; block k < N is the diagonal block of node k, the others stand where the plan
says. Eliminating node k leaves D_k (its own LU with row exchanges inside the block), U_kj = D_k^-1 A_kj and
L_ik = A_ik for its later neighbours, and takes L_ik U_kj from block (i, j). There are no exchanges between
blocks: a node that `waits` has a diagonal block of zeros (a constraint) and is taken only after one of its
neighbours, which fills it.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.state import Array, IntArray

SIZE = 6
"""Rows of a block."""


class Plan(NamedTuple):
    """Order, fill and updates."""

    order: IntArray
    """Nodes as they are eliminated [-], shape (N,)."""
    start: IntArray
    """First later neighbour of each in this order, and the number of all [-], shape (N + 1,)."""
    neighbour: IntArray
    """[-], shape (start[N],)."""
    upper: IntArray
    """Block (k, j) of each [-], shape (start[N],)."""
    lower: IntArray
    """Block (j, k) of each [-], shape (start[N],)."""
    target_start: IntArray
    """First update of each node [-], shape (N + 1,)."""
    target: IntArray
    """Blocks (i, j) for all pairs i, j of later neighbours [-]."""


class LU(NamedTuple):
    """A matrix, or once factored its factors."""

    plan: Plan
    blocks: Array
    """Shape (nb, 6, 6)."""
    pivots: IntArray
    """Exchanges inside blocks [-], shape (N, 6)."""


@jit
def make_plan(count, pairs, waits):
    """(plan, places, blocks): minimum degree over nodes joined by pairs (m, 2), ties by number.

    places (m, 2): blocks (a, b) and (b, a) of each pair; blocks: how many there are, with fill.
    """
    where = np.full((count, count), -1, np.int64)
    blocks = count
    places = np.empty((pairs.shape[0], 2), np.int64)
    degree = np.zeros(count, np.int64)
    for e in range(pairs.shape[0]):
        a, b = pairs[e, 0], pairs[e, 1]
        if where[a, b] < 0:
            where[a, b], where[b, a] = blocks, blocks + 1
            blocks += 2
            degree[a] += 1
            degree[b] += 1
        places[e, 0], places[e, 1] = where[a, b], where[b, a]
    order, left, ready = np.empty(count, np.int64), np.ones(count, np.bool_), ~waits
    start, target_start = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    near = np.empty(count, np.int64)
    room, targets = 4 * count + 4, 16 * count + 16
    neighbour, upper, lower = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    target = np.empty(targets, np.int64)
    for k in range(count):
        best = -1
        for a in range(count):
            if left[a] and ready[a] and (best < 0 or degree[a] < degree[best]):
                best = a
        if best < 0:  # a constraint that holds no moving node: its own diagonal must do
            for a in range(count):
                if left[a] and (best < 0 or degree[a] < degree[best]):
                    best = a
        order[k], left[best], found = best, False, 0
        for a in range(count):
            if left[a] and where[best, a] >= 0:
                near[found] = a
                found += 1
        end, last = start[k] + found, target_start[k] + found * found
        while end > neighbour.shape[0]:
            neighbour, upper, lower = _longer(neighbour), _longer(upper), _longer(lower)
        while last > target.shape[0]:
            target = _longer(target)
        for i in range(found):
            a, at = near[i], start[k] + i
            neighbour[at], upper[at], lower[at], ready[a] = a, where[best, a], where[a, best], True
            degree[a] -= 1
            for j in range(found):
                b = near[j]
                if a != b and where[a, b] < 0:
                    where[a, b], where[b, a] = blocks, blocks + 1
                    blocks += 2
                    degree[a] += 1
                    degree[b] += 1
                target[target_start[k] + i * found + j] = a if a == b else where[a, b]
        start[k + 1], target_start[k + 1] = end, last
    n, m = start[count], target_start[count]
    plan = Plan(
        order, start, neighbour[:n].copy(), upper[:n].copy(), lower[:n].copy(), target_start,
        target[:m].copy(),
    )  # fmt: skip
    return plan, places, blocks


@jit
def _longer(x):
    """Twice as much room."""
    out = np.empty(2 * x.shape[0], np.int64)
    out[: x.shape[0]] = x
    return out


@jit
def factor_block(D, pivot):
    """D (6, 6) <- its LU with row exchanges, pivot (6,) which; false where it is singular or not finite.

    The diagonal of U is kept as its inverse.
    """
    good = True
    for k in range(SIZE):
        best, row = abs(D[k, k]), k
        for i in range(k + 1, SIZE):
            if abs(D[i, k]) > best:
                best, row = abs(D[i, k]), i
        pivot[k] = row
        if not 0.0 < best < np.inf:
            good = False
            D[k, k] = 1.0
            continue
        if row != k:
            for j in range(SIZE):
                D[k, j], D[row, j] = D[row, j], D[k, j]
        inverse = 1.0 / D[k, k]
        D[k, k] = inverse
        for i in range(k + 1, SIZE):
            factor = D[i, k] * inverse
            D[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, SIZE):
                    D[i, j] -= factor * D[k, j]
    return good


@jit
def divide_block(D, pivot, B):
    """B (6, m) <- D^-1 B by the factors of D."""
    m = B.shape[1]
    for k in range(SIZE):
        row = pivot[k]
        if row != k:
            for j in range(m):
                B[k, j], B[row, j] = B[row, j], B[k, j]
    for k in range(1, SIZE):
        for i in range(k):
            factor = D[k, i]
            if factor != 0.0:
                for j in range(m):
                    B[k, j] -= factor * B[i, j]
    for k in range(SIZE - 1, -1, -1):
        for i in range(k + 1, SIZE):
            factor = D[k, i]
            if factor != 0.0:
                for j in range(m):
                    B[k, j] -= factor * B[i, j]
        for j in range(m):
            B[k, j] *= D[k, k]


@jit
def factor(lu):
    """Blocks of an `LU` <- factors; how many blocks were singular."""
    plan, blocks, pivots = lu.plan, lu.blocks, lu.pivots
    order, start, upper, lower = plan.order, plan.start, plan.upper, plan.lower
    bad = 0
    for k in range(order.shape[0]):
        node, first, found = order[k], start[k], start[k + 1] - start[k]
        D = blocks[node]
        if not factor_block(D, pivots[node]):
            bad += 1
        for j in range(found):
            divide_block(D, pivots[node], blocks[upper[first + j]])
        for i in range(found):
            L = blocks[lower[first + i]]
            for j in range(found):
                U, T = blocks[upper[first + j]], blocks[plan.target[plan.target_start[k] + i * found + j]]
                for a in range(SIZE):
                    for c in range(SIZE):
                        w = L[a, c]
                        if w != 0.0:
                            for b in range(SIZE):
                                T[a, b] -= w * U[c, b]
    return bad


@jit
def solve(lu, x):
    """x (N, 6) <- A^-1 x by the factors of A."""
    plan, blocks, pivots = lu.plan, lu.blocks, lu.pivots
    order, start, neighbour, upper, lower = plan.order, plan.start, plan.neighbour, plan.upper, plan.lower
    for k in range(order.shape[0]):
        node = order[k]
        divide_block(blocks[node], pivots[node], x[node].reshape(SIZE, 1))
        for e in range(start[k], start[k + 1]):
            L, y = blocks[lower[e]], x[neighbour[e]]
            for a in range(SIZE):
                s = 0.0
                for b in range(SIZE):
                    s += L[a, b] * x[node, b]
                y[a] -= s
    for k in range(order.shape[0] - 1, -1, -1):
        node = order[k]
        for e in range(start[k], start[k + 1]):
            U, y = blocks[upper[e]], x[neighbour[e]]
            for a in range(SIZE):
                s = 0.0
                for b in range(SIZE):
                    s += U[a, b] * y[b]
                x[node, a] -= s
