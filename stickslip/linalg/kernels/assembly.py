"""Matrices as lists of blocks: the graph they have, M + H D H', and the residual of a solve.

In a list of blocks each pair is given once, in either order; blocks of the same pair add up; of
diagonal blocks the lower triangle counts.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.state import IntArray


class BlockList(NamedTuple):
    """Where the blocks of a symmetric matrix are."""

    one: IntArray
    """Block row of each [-], shape (nnzb,)."""
    other: IntArray
    """Block column [-], shape (nnzb,)."""
    source: IntArray
    """Where it starts in the values, row-major [-], shape (nnzb + 1,)."""
    offset: IntArray
    """First scalar row of each block row [-], shape (n + 1,)."""


@jit
def graph(one, other, start):
    """start (n+1,) <- of the adjacency lists; returns the neighbours, each once, without loops."""
    n = start.shape[0] - 1
    count = np.zeros(n + 1, np.int64)
    for k in range(one.shape[0]):
        if one[k] != other[k]:
            count[one[k] + 1] += 1
            count[other[k] + 1] += 1
    for i in range(n):
        count[i + 1] += count[i]
    into, neighbour = count[:-1].copy(), np.empty(count[n], np.int64)
    for k in range(one.shape[0]):
        i, j = one[k], other[k]
        if i != j:
            neighbour[into[i]] = j
            neighbour[into[j]] = i
            into[i] += 1
            into[j] += 1
    seen, total = np.full(n, -1, np.int64), 0
    start[0] = 0
    for i in range(n):
        for q in range(count[i], count[i + 1]):
            j = neighbour[q]
            if seen[j] != i:
                seen[j] = i
                neighbour[total] = j
                total += 1
        start[i + 1] = total
    return neighbour[:total].copy()


@jit
def body_values(mass, bodies, offset, rows, weight, edge, work, values):
    """values <- blocks of M + H D H': the bodies, then the pairs of bodies that touch.

    mass (bodies, k, k); bodies (nc, 2), offset (nc+1,), rows (n, 2, k): contact blocks; edge (nc,):
    block of the contact's pair, of which the higher body is the row, -1 if one side is fixed; work
    (widest contact, k); values (nnzb, k, k).
    weight: D as one number (1,), a number per component (n,), or flat blocks, row-major.
    """
    nb, k = mass.shape[0], mass.shape[1]
    for i in range(nb):
        for a in range(k):
            for b in range(k):
                values[i, a, b] = mass[i, a, b]
    values[nb:] = 0.0
    diagonal, at = weight.shape[0] == offset[-1], 0
    for c in range(bodies.shape[0]):
        first, d = offset[c], offset[c + 1] - offset[c]
        for side in range(2):
            body, partner = bodies[c, side], bodies[c, 1 - side]
            if body < 0:
                continue
            for i in range(d):
                for a in range(k):
                    if weight.shape[0] == 1:
                        s = weight[0] * rows[first + i, side, a]
                    elif diagonal:
                        s = weight[first + i] * rows[first + i, side, a]
                    else:
                        s = 0.0
                        for j in range(d):
                            s += weight[at + i * d + j] * rows[first + j, side, a]
                    work[i, a] = s
            _add_product(rows, first, d, side, work, values[body])
            if partner > body:
                _add_product(rows, first, d, 1 - side, work, values[edge[c]])
        at += d * d


@jit
def _add_product(rows, first, d, side, work, out):
    """out += rows' work of one contact and side."""
    for i in range(d):
        for a in range(out.shape[0]):
            h = rows[first + i, side, a]
            for b in range(out.shape[1]):
                out[a, b] += h * work[i, b]


@jit
def residual(blocks, values, b, x, r, bound):
    """r <- b - A x and bound <- |b| + |A| |x| of a `BlockList`.   all (size,)."""
    one, other, source, offset = blocks.one, blocks.other, blocks.source, blocks.offset
    for i in range(b.shape[0]):
        r[i], bound[i] = b[i], abs(b[i])
    for q in range(one.shape[0]):
        i, j, at = offset[one[q]], offset[other[q]], source[q]
        h, w = offset[one[q] + 1] - i, offset[other[q] + 1] - j
        for a in range(h):
            for c in range(a + 1 if i == j else w):
                v = values[at + a * w + c]
                r[i + a] -= v * x[j + c]
                bound[i + a] += abs(v * x[j + c])
                if i + a != j + c:
                    r[j + c] -= v * x[i + a]
                    bound[j + c] += abs(v * x[i + a])


@jit
def pivot_scale(blocks, negative, values, diagonal, scale):
    """scale (size,) <- size of each pivot, up to rounding and units, without elimination.

    |A_ii|, and for negative pivots, and for those with A_ii = 0, also the sum of A_ij^2 / |A_jj| over
    pivots j of the other sign. diagonal (size,) <- A_ii. It follows a change of units of A.
    """
    one, other, source, offset = blocks.one, blocks.other, blocks.source, blocks.offset
    diagonal[:] = 0.0
    for q in range(one.shape[0]):
        if one[q] == other[q]:
            i, h = offset[one[q]], offset[one[q] + 1] - offset[one[q]]
            for a in range(h):
                diagonal[i + a] += values[source[q] + a * h + a]
    for i in range(diagonal.shape[0]):
        scale[i] = abs(diagonal[i])
    for q in range(one.shape[0]):
        i, j, at = offset[one[q]], offset[other[q]], source[q]
        if negative[one[q]] == negative[other[q]]:
            continue
        h, w = offset[one[q] + 1] - i, offset[other[q] + 1] - j
        for a in range(h):
            for b in range(w):
                v, p, r = values[at + a * w + b], diagonal[i + a], diagonal[j + b]
                if r != 0.0 and (p == 0.0 or negative[one[q]]):
                    scale[i + a] += v * v / abs(r)
                if p != 0.0 and (r == 0.0 or negative[other[q]]):
                    scale[j + b] += v * v / abs(p)
