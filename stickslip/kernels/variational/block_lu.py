"""LU factorisation of unsymmetric matrices of 6 x 6 blocks with a symmetric structure.

Nodes are numbered 0 ... N - 1; block k < N is the diagonal block of node k, and the plan has the indices of
other blocks. Eliminating node k yields the LU factors of D_k, with row exchanges inside the block, U_kj =
D_k^-1 A_kj and L_ik = A_ik for its later neighbours, and subtracts L_ik U_kj from block (i, j). There are no
exchanges between blocks. A node that `waits` has a zero diagonal block (a constraint); it is eliminated only
after one of its neighbours, which fills this block.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.state import Array, IntArray

SIZE = 6
"""Number of rows of a block."""


class Plan(NamedTuple):
    """Symbolic factorisation: elimination order, fill and updates."""

    order: IntArray
    """Nodes in the order of elimination [-], shape (N,)."""
    start: IntArray
    """Index of the first later neighbour of each node in order, and the number of all [-], shape (N + 1,)."""
    neighbour: IntArray
    """Later neighbours j of each node k [-], shape (start[N],)."""
    upper: IntArray
    """Index of block (k, j) for each of them [-], shape (start[N],)."""
    lower: IntArray
    """Index of block (j, k) for each of them [-], shape (start[N],)."""
    target_start: IntArray
    """Index of the first update of each node, and the number of all [-], shape (N + 1,)."""
    target: IntArray
    """Indices of blocks (i, j) for all pairs i, j of later neighbours [-], shape (target_start[N],)."""


class LU(NamedTuple):
    """A matrix, or its factors after `factor`."""

    plan: Plan
    blocks: Array
    """Blocks [any], shape (nb, 6, 6)."""
    pivots: IntArray
    """Row exchanges inside diagonal blocks [-], shape (N, 6)."""


@jit
def make_plan(count, pairs, waits):
    """Return (plan, places, blocks) of a minimum degree ordering of nodes joined by pairs (m, 2).

    Ties go to the smaller node. places (m, 2): indices of blocks (a, b) and (b, a) of each pair; blocks:
    number of blocks, with fill. waits (count,): see above.
    """
    # 1. Blocks of the matrix, and degrees of nodes.
    index = np.full((count, count), -1, np.int64)
    blocks = count
    places = np.empty((pairs.shape[0], 2), np.int64)
    degree = np.zeros(count, np.int64)
    for e in range(pairs.shape[0]):
        a, b = pairs[e, 0], pairs[e, 1]
        if index[a, b] < 0:
            index[a, b], index[b, a] = blocks, blocks + 1
            blocks += 2
            degree[a] += 1
            degree[b] += 1
        places[e, 0], places[e, 1] = index[a, b], index[b, a]
    order, remaining, ready = np.empty(count, np.int64), np.ones(count, np.bool_), ~waits
    start, target_start = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    near = np.empty(count, np.int64)
    room, targets = 4 * count + 4, 16 * count + 16
    neighbour, upper, lower = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    target = np.empty(targets, np.int64)
    for k in range(count):
        # 2. The next node: of smallest degree among those that are ready.
        best = -1
        for a in range(count):
            if remaining[a] and ready[a] and (best < 0 or degree[a] < degree[best]):
                best = a
        if best < 0:  # only constraints without moving nodes remain: their own diagonal blocks are the pivots
            for a in range(count):
                if remaining[a] and (best < 0 or degree[a] < degree[best]):
                    best = a
        # 3. Its later neighbours, and the fill between them.
        order[k], remaining[best], count_near = best, False, 0
        for a in range(count):
            if remaining[a] and index[best, a] >= 0:
                near[count_near] = a
                count_near += 1
        end, last = start[k] + count_near, target_start[k] + count_near * count_near
        while end > neighbour.shape[0]:
            neighbour, upper, lower = _longer(neighbour), _longer(upper), _longer(lower)
        while last > target.shape[0]:
            target = _longer(target)
        for i in range(count_near):
            a, at = near[i], start[k] + i
            neighbour[at], upper[at], lower[at], ready[a] = a, index[best, a], index[a, best], True
            degree[a] -= 1
            for j in range(count_near):
                b = near[j]
                if a != b and index[a, b] < 0:
                    index[a, b], index[b, a] = blocks, blocks + 1
                    blocks += 2
                    degree[a] += 1
                    degree[b] += 1
                target[target_start[k] + i * count_near + j] = a if a == b else index[a, b]
        start[k + 1], target_start[k + 1] = end, last
    n, m = start[count], target_start[count]
    plan = Plan(
        order, start, neighbour[:n].copy(), upper[:n].copy(), lower[:n].copy(), target_start,
        target[:m].copy(),
    )  # fmt: skip
    return plan, places, blocks


@jit
def _longer(x):
    """Return a copy of x with twice the size."""
    out = np.empty(2 * x.shape[0], np.int64)
    out[: x.shape[0]] = x
    return out


@jit
def factor_block(D, pivot):
    """D (6, 6), pivot (6,) <- LU factors with row exchanges. Return False if D is singular or not finite.

    The diagonal of U is stored as its inverse.
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
    """B (6, m) <- D^-1 B with the factors of D."""
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
    """lu.blocks, lu.pivots <- factors. Return the number of singular diagonal blocks."""
    plan, blocks, pivots = lu.plan, lu.blocks, lu.pivots
    order, start, upper, lower = plan.order, plan.start, plan.upper, plan.lower
    bad = 0
    for k in range(order.shape[0]):
        node, first, m = order[k], start[k], start[k + 1] - start[k]
        D = blocks[node]
        if not factor_block(D, pivots[node]):
            bad += 1
        for j in range(m):
            divide_block(D, pivots[node], blocks[upper[first + j]])
        for i in range(m):
            L = blocks[lower[first + i]]
            for j in range(m):
                U, T = blocks[upper[first + j]], blocks[plan.target[plan.target_start[k] + i * m + j]]
                for a in range(SIZE):
                    for c in range(SIZE):
                        w = L[a, c]
                        if w != 0.0:
                            for b in range(SIZE):
                                T[a, b] -= w * U[c, b]
    return bad


@jit
def solve(lu, x):
    """x (N, 6) <- A^-1 x with the factors of A."""
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
