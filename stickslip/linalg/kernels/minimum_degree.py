"""Minimum degree order with exact degrees for graphs of some hundred vertices, with bit sets.

Eliminating v joins its neighbours to a clique (Tinney & Walker 1967). Neighbours without neighbours outside
the clique cause no fill and are eliminated together with v (mass elimination, George & Liu 1989).
"""

import numpy as np

from stickslip.kernels.jit import jit

ONE = np.uint64(1)
M1, M2 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
M4, H01 = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
S1, S2, S4, S56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


@jit
def _count(x):
    """Return the number of bits set in a word."""
    x = x - ((x >> S1) & M1)
    x = (x & M2) + ((x >> S2) & M2)
    x = (x + (x >> S4)) & M4
    return (x * H01) >> S56


@jit
def minimum_degree(start, neighbour, order):
    """order (n,) <- minimum degree order of a graph (start (n + 1,), neighbour).

    Neighbours n and above are outside: they count in degrees but are not eliminated. Ties go to the vertex
    whose degree changed longest ago, then to the first one: on stacks of blocks this saves an eighth of the
    operations.
    """
    # 1. Neighbours as bit sets.
    n = order.shape[0]
    vertices = n
    for q in range(neighbour.shape[0]):
        vertices = max(vertices, neighbour[q] + 1)
    words = (vertices + 63) // 64
    near, gone = np.zeros((n, words), np.uint64), np.zeros(n, np.bool_)
    degree, clique, changed = np.empty(n, np.int64), np.empty(vertices, np.int64), np.zeros(n, np.int64)
    mask = np.empty(words, np.uint64)
    for v in range(n):
        degree[v] = start[v + 1] - start[v]
        for q in range(start[v], start[v + 1]):
            near[v, neighbour[q] >> 6] |= ONE << np.uint64(neighbour[q] & 63)
    done = 0
    while done < n:
        # 2. The vertex of smallest degree.
        v, least = -1, vertices
        for u in range(n):
            if gone[u] or degree[u] > least:
                continue
            if degree[u] < least or changed[u] < changed[v]:
                v, least = u, degree[u]
        gone[v], order[done] = True, v
        done += 1
        # 3. The clique of its neighbours, and their degrees; those without other neighbours are eliminated.
        size = 0
        for w in range(words):
            mask[w] = near[v, w]
            if mask[w] != 0:
                for u in range(64 * w, min(64 * w + 64, vertices)):
                    if (mask[w] >> np.uint64(u & 63)) & ONE:
                        clique[size] = u
                        size += 1
        remaining = 0
        for k in range(size):
            u, total = clique[k], 0
            if u >= n:
                clique[remaining] = u
                remaining += 1
                continue
            near[u, v >> 6] &= ~(ONE << np.uint64(v & 63))
            for w in range(words):
                near[u, w] |= mask[w]
                total += np.int64(_count(near[u, w]))
            degree[u], changed[u] = total - 1, done  # its own bit is set as well
            near[u, u >> 6] &= ~(ONE << np.uint64(u & 63))
            if degree[u] == size - 1:
                gone[u], order[done] = True, u
                done += 1
            else:
                clique[remaining] = u
                remaining += 1
        # 4. The eliminated vertices leave the sets of the others.
        if remaining < size:
            for w in range(words):
                mask[w] = 0
            for k in range(done - (size - remaining), done):
                mask[order[k] >> 6] |= ONE << np.uint64(order[k] & 63)
            for k in range(remaining):
                u = clique[k]
                if u >= n:
                    continue
                degree[u] -= size - remaining
                for w in range(words):
                    near[u, w] &= ~mask[w]
