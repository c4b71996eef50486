"""Block graphs and matrices on them, for the tests of linalg."""

import numpy as np

from stickslip.linalg.pattern import block_pattern


def chain(n):
    return [(i, i + 1) for i in range(n - 1)]


def hub(n):
    return [(0, i) for i in range(1, n)]


def islands(n):
    return [(i, i + 1) for i in range(n - 1) if i % 4 != 3]


def grid(n):
    side = int(np.ceil(np.sqrt(n)))
    right = [(i, i + 1) for i in range(n - 1) if (i + 1) % side]
    return right + [(i, i + side) for i in range(n - side)]


def random(n):
    rng = np.random.default_rng(n)
    pairs = rng.integers(0, n, size=(3 * n, 2))
    return [(int(a), int(b)) for a, b in pairs if a != b]


GRAPHS = {
    "nothing": (0, []),
    "one body": (1, []),
    "no contact": (5, []),
    "chain": (40, chain(40)),
    "hub": (30, hub(30)),
    "islands": (23, islands(23)),
    "grid": (64, grid(64)),
    "random": (50, random(50)),
    "all with all": (14, [(i, j) for i in range(14) for j in range(i)]),
    "edges twice": (12, chain(12) + [(b, a) for a, b in chain(12)]),
}


def widths_of(n, kind):
    return np.full(n, kind) if isinstance(kind, int) else np.random.default_rng(3).integers(1, 9, size=n)


def positive_definite(n, edges, kind, seed=0):
    """Return pattern and values of a positive definite matrix with random blocks and dominant diagonals."""
    rng = np.random.default_rng(seed)
    widths = widths_of(n, kind)
    rows = [*range(n), *(a for a, _ in edges)]
    columns = [*range(n), *(b for _, b in edges)]
    pattern = block_pattern(widths, np.array(rows, dtype=int), np.array(columns, dtype=int))
    values = rng.normal(size=pattern.source[-1])
    weight = np.zeros(pattern.size)
    for k in range(n, pattern.one.size):
        block = np.abs(part(pattern, values, k))
        weight[rows_of(pattern, pattern.one[k])] += block.sum(axis=1)
        weight[rows_of(pattern, pattern.other[k])] += block.sum(axis=0)
    for k in range(n):
        block = part(pattern, values, k)
        block[:] = block @ block.T + np.diag(weight[rows_of(pattern, k)] + 0.1)
    return pattern, values


def part(pattern, values, k):
    """Return block k as a view."""
    shape = pattern.widths[pattern.one[k]], pattern.widths[pattern.other[k]]
    return values[pattern.source[k] : pattern.source[k + 1]].reshape(shape)


def rows_of(pattern, block):
    return slice(pattern.offset[block], pattern.offset[block + 1])


def dense(pattern, values):
    """Return the dense matrix, assembled from the definition of a pattern."""
    A = np.zeros((pattern.size, pattern.size))
    for k, (i, j) in enumerate(zip(pattern.one, pattern.other, strict=True)):
        block = part(pattern, values, k)
        if i == j:
            lower = np.tril(block)
            A[rows_of(pattern, i), rows_of(pattern, i)] += lower + np.tril(block, -1).T
        else:
            A[rows_of(pattern, i), rows_of(pattern, j)] += block
            A[rows_of(pattern, j), rows_of(pattern, i)] += block.T
    return A
