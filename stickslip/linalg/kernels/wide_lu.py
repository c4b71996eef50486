"""P A = L U of a wide front in tiles, for threads.

A block of columns is factored, with rows exchanged among the pivots, and the columns behind it are updated.
At the end follow the rows and the columns beyond the pivots, and the update matrix. Concurrent kernels write
different columns or rows, and release the global interpreter lock. plan: a `front_plan.Plan`; other
arguments: see `front_lu.factorise`.
"""

import numpy as np

from stickslip.kernels.jit import jit_without_lock
from stickslip.linalg.kernels.blas import LEFT, LOWER, NO, RIGHT, UNIT, UPPER, dgemm, dgetrf, dtrsm
from stickslip.linalg.kernels.front_lu import add_children, exchange_rows


@jit_without_lock
def gather(plan, s, x, u, first, end):
    """Add the update matrices of the children to columns `first` to `end` - 1 of the front, pivots first."""
    add_children(plan.fronts, s, x, plan.upper[s], u, first, end)


@jit_without_lock
def pivots(plan, s, x, exchange, info, low, high):
    """Factor the pivot block of columns `low` to `high` - 1; return the first invalid pivot, or -1."""
    fronts = plan.fronts
    n, head = fronts.columns[s], fronts.head[s]
    step = n + fronts.rows[s]
    corner = fronts.panel[s] + low * step + low
    names = exchange.ctypes.data + 4 * (head + low)
    dgetrf((n - low, high - low, x.ctypes.data + 8 * corner, step, names, info.ctypes.data))
    for j in range(high - low):
        exchange[head + low + j] += low
        if not 0.0 < abs(x[corner + j * step + j]) < np.inf:
            return head + low + j
    return -1


@jit_without_lock
def beside(plan, s, x, exchange, low, high, first, end):
    """Exchange rows in columns `first` to `end` - 1 of the pivots, before or behind this block; behind it,
    subtract the contribution of the block."""
    fronts = plan.fronts
    n, at, head = fronts.columns[s], fronts.panel[s], fronts.head[s]
    step, address, width = n + fronts.rows[s], x.ctypes.data, end - first
    for j in range(first, end):
        column = at + j * step
        for i in range(low, high):
            k = exchange[head + i] - 1
            if k != i:
                x[column + i], x[column + k] = x[column + k], x[column + i]
    if first >= high:
        left, here = address + 8 * (at + low * step), address + 8 * (at + first * step)
        dtrsm((
            LEFT, LOWER, NO, UNIT, high - low, width, 1.0, left + 8 * low, step, here + 8 * low, step
        ))  # fmt: skip
        if n > high:
            dgemm((
                NO, NO, n - high, width, high - low, -1.0, left + 8 * high, step, here + 8 * low, step, 1.0,
                here + 8 * high, step,
            ))  # fmt: skip


@jit_without_lock
def right(plan, s, x, exchange, first, end):
    """Columns `first` to `end` - 1 right of the pivots <- L^-1 columns."""
    fronts = plan.fronts
    n, head = fronts.columns[s], fronts.head[s]
    here, address = plan.upper[s] + first * n, x.ctypes.data
    exchange_rows(x, here, n, end - first, exchange[head : head + n])
    top = address + 8 * fronts.panel[s]
    dtrsm((LEFT, LOWER, NO, UNIT, n, end - first, 1.0, top, n + fronts.rows[s], address + 8 * here, n))


@jit_without_lock
def below(plan, s, x, first, end):
    """Rows `first` to `end` - 1 below the pivots <- rows U^-1."""
    fronts = plan.fronts
    n = fronts.columns[s]
    top, step = x.ctypes.data + 8 * fronts.panel[s], n + fronts.rows[s]
    dtrsm((RIGHT, UPPER, NO, NO, end - first, n, 1.0, top, step, top + 8 * (n + first), step))


@jit_without_lock
def update(plan, s, x, u, first, end):
    """Columns `first` to `end` - 1 of the update matrix <- those minus (rows below) times (columns right)."""
    fronts = plan.fronts
    n, m = fronts.columns[s], fronts.rows[s]
    low, above = x.ctypes.data + 8 * (fronts.panel[s] + n), x.ctypes.data + 8 * (plan.upper[s] + first * n)
    into = u.ctypes.data + 8 * (fronts.update[s] + first * m)
    dgemm((NO, NO, m, end - first, n, -1.0, low, n + m, above, n, 1.0, into, m))
