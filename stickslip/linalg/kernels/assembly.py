"""Matrices as lists of blocks: their graph, assembly of M + H D H', and the residual of a solve.

In a list of blocks each pair occurs once, in either order. Blocks of the same pair are added. Only the lower
triangles of diagonal blocks are read.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.state import IntArray


class BlockList(NamedTuple):
    """Pattern of a symmetric block matrix."""

    one: IntArray
    """Block row of each block [-], shape (nnzb,)."""
    other: IntArray
    """Block column of each block [-], shape (nnzb,)."""
    source: IntArray
    """Index of the first value of each block, row-major, and the number of values [-], shape (nnzb + 1,)."""
    offset: IntArray
    """First scalar row of each block row, and their number [-], shape (n + 1,)."""


@jit
def graph(one, other, start):
    """start (n + 1,) <- index of the first neighbour of each vertex.

    Return the neighbours, each once, without loops.
    """
    # 1. Lists with duplicates.
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
    # 2. Lists without duplicates.
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
    """values (nnzb, k, k) <- blocks of M + H D H': those of bodies, then those of pairs of bodies in contact.

    mass (bodies, k, k); bodies (nc, 2), offset (nc + 1,), rows (n, 2, k): H in contact blocks; weight: D as a
    number (1,), a number per component (n,), or flat blocks, row-major; edge (nc,): block of the pair of each
    contact, whose row is the body with the larger number, -1 if one side is fixed; work (largest contact, k):
    work array.
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
    """out (k, k) <- out + rows' work for one contact and side."""
    for i in range(d):
        for a in range(out.shape[0]):
            h = rows[first + i, side, a]
            for b in range(out.shape[1]):
                out[a, b] += h * work[i, b]


@jit
def residual(blocks, values, b, x, r, bound):
    """r <- b - A x, bound <- |b| + |A| |x| for a `BlockList`; all have shape (size,)."""
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
    """scale (size,) <- estimated size of each pivot, without elimination; diagonal (size,) <- A_ii.

    The scale is |A_ii|. For negative pivots, and if A_ii = 0, the sum of A_ij^2 / |A_jj| over pivots j of the
    other sign is added. It changes consistently with the units of A.
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
