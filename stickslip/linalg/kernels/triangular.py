"""Triangular solves with a factor: L S L' x = b, S = -1 for negative pivots."""

from stickslip.kernels.jit import jit, jit_inlined
from stickslip.linalg.kernels import panels
from stickslip.linalg.kernels.blas import LOWER, NO, TRANSPOSED, dgemv, dtrsv


@jit
def solve(fronts, x, b, y, below, out):
    """out (size,) <- solution for one right-hand side b (size,).

    y (size,), below (largest number of rows of a front,): work arrays.
    """
    # 1. Forward substitution with L, and S.
    x_address, y_address, below_address = x.ctypes.data, y.ctypes.data, below.ctypes.data
    for i in range(y.shape[0]):
        y[i] = b[fronts.scalar[i]]
    for s in range(fronts.columns.shape[0]):
        n, m, at, head = fronts.columns[s], fronts.rows[s], fronts.panel[s], fronts.head[s]
        if n <= panels.NARROW:
            _forward(x, at, n, m, y[head : head + n], below)
        else:
            dtrsv((LOWER, NO, NO, n, x_address + 8 * at, n + m, y_address + 8 * head, 1))
            if m > 0:
                panel = x_address + 8 * (at + n)
                dgemv((NO, m, n, 1.0, panel, n + m, y_address + 8 * head, 1, 0.0, below_address, 1))
        subtract_reach(fronts, s, below, y)
        for j in range(fronts.negative[s]):
            y[head + j] = -y[head + j]
    # 2. Backward substitution with L'.
    for s in range(fronts.columns.shape[0] - 1, -1, -1):
        n, m, at, head = fronts.columns[s], fronts.rows[s], fronts.panel[s], fronts.head[s]
        gather_reach(fronts, s, y, below)
        if n <= panels.NARROW:
            _backward(x, at, n, m, y[head : head + n], below)
        else:
            if m > 0:
                panel = x_address + 8 * (at + n)
                dgemv((TRANSPOSED, m, n, -1.0, panel, n + m, below_address, 1, 1.0, y_address + 8 * head, 1))
            dtrsv((LOWER, TRANSPOSED, NO, n, x_address + 8 * at, n + m, y_address + 8 * head, 1))
    for i in range(y.shape[0]):
        out[fronts.scalar[i]] = y[i]


@jit_inlined
def gather_reach(fronts, s, y, below):
    """below <- components of y in the rows of front s below its pivots."""
    k = 0
    for g in range(fronts.reach_start[s], fronts.reach_start[s + 1]):
        to, length = fronts.reach_to[g], fronts.reach_length[g]
        for i in range(length):
            below[k + i] = y[to + i]
        k += length


@jit_inlined
def subtract_reach(fronts, s, below, y):
    """y <- y minus `below` in the rows of front s below its pivots."""
    k = 0
    for g in range(fronts.reach_start[s], fronts.reach_start[s + 1]):
        to, length = fronts.reach_to[g], fronts.reach_length[g]
        for i in range(length):
            y[to + i] -= below[k + i]
        k += length


@jit
def _forward(x, at, n, m, y, below):
    """y <- L^-1 y with the pivots of a narrow panel; below <- its other rows times y."""
    step = n + m
    for j in range(n):
        column = x[at + j * step : at + j * step + n]
        y[j] /= column[j]
        for i in range(j + 1, n):
            y[i] -= y[j] * column[i]
    for i in range(m):
        below[i] = 0.0
    j = 0
    while j + 3 <= n:
        p, q, r = at + j * step + n, at + (j + 1) * step + n, at + (j + 2) * step + n
        one, two, three = x[p : p + m], x[q : q + m], x[r : r + m]
        f, g, h = y[j], y[j + 1], y[j + 2]
        for i in range(m):
            below[i] += f * one[i] + g * two[i] + h * three[i]
        j += 3
    while j < n:
        one, f = x[at + j * step + n : at + (j + 1) * step], y[j]
        for i in range(m):
            below[i] += f * one[i]
        j += 1


@jit
def _backward(x, at, n, m, y, below):
    """y <- L^-T (y - rows' below) with a narrow panel."""
    step = n + m
    for j in range(n):
        column = x[at + j * step + n : at + (j + 1) * step]
        s0 = s1 = s2 = s3 = 0.0
        for i in range(0, m - 3, 4):
            s0 += column[i] * below[i]
            s1 += column[i + 1] * below[i + 1]
            s2 += column[i + 2] * below[i + 2]
            s3 += column[i + 3] * below[i + 3]
        for i in range(m - m % 4, m):
            s0 += column[i] * below[i]
        y[j] -= (s0 + s1) + (s2 + s3)
    for j in range(n - 1, -1, -1):
        column, s = x[at + j * step : at + j * step + n], y[j]
        for i in range(j + 1, n):
            s -= column[i] * y[i]
        y[j] = s / column[j]
