"""Cholesky factorisation of a wide front in tiles, for threads.

A block of columns is factored, then the rows below it, then all columns behind it are updated. At the end the
update matrix is computed from all columns at once. Concurrent kernels write different columns or rows, and
release the global interpreter lock.
"""

from stickslip.kernels.jit import jit_without_lock
from stickslip.linalg.kernels import panels
from stickslip.linalg.kernels.blas import LOWER, NO, RIGHT, TRANSPOSED, dgemm, dpotrf, dsyrk, dtrsm


@jit_without_lock
def clear(fronts, s, x, first, end):
    """Columns `first` to `end` - 1 of the panel of s <- 0."""
    at, step = fronts.panel[s], fronts.columns[s] + fronts.rows[s]
    x[at + first * step : at + end * step] = 0.0


@jit_without_lock
def begin(fronts, blocks, s, values, x, diagonal):
    """The panel of s, 0 on entry, <- entries of the matrix; diagonal <- its diagonal entries."""
    n, at, head = fronts.columns[s], fronts.panel[s], fronts.head[s]
    step = n + fronts.rows[s]
    panels.scatter(blocks, s, values, x, step)
    for j in range(n):
        diagonal[head + j] = x[at + j * step + j]


@jit_without_lock
def gather(fronts, s, u, x, inside, first, end):
    """Add the update matrices of the children to columns of the panel of s, or of its update matrix.

    inside: True for the panel; else x must be u.
    """
    n, m = fronts.columns[s], fronts.rows[s]
    if inside:
        panels.add_children(fronts, s, u, x, fronts.panel[s], n + m, True, first, end)
    else:
        panels.add_children(fronts, s, u, x, fronts.update[s], m, False, first, end)


@jit_without_lock
def pivots(fronts, s, x, diagonal, info, least, low, high):
    """Factor the pivot block of columns `low` to `high` - 1; return as `cholesky.factorise`."""
    head, step = fronts.head[s], fronts.columns[s] + fronts.rows[s]
    corner = fronts.panel[s] + low * step + low
    dpotrf((LOWER, high - low, x.ctypes.data + 8 * corner, step, info.ctypes.data))
    if info[0] != 0:
        return head + low + info[0] - 1
    for j in range(high - low):
        pivot = x[corner + j * step + j]
        if not (pivot * pivot > least * diagonal[head + low + j] and pivot < 1e300):
            return head + low + j
        diagonal[head + low + j] = pivot * pivot / diagonal[head + low + j]
    return -1


@jit_without_lock
def below(fronts, s, x, low, high, first, end):
    """Rows `first` to `end` - 1 of the panel, below this block, <- rows L^-T."""
    step, at = fronts.columns[s] + fronts.rows[s], fronts.panel[s]
    address, column = x.ctypes.data, at + low * step
    top, here = address + 8 * (column + low), address + 8 * (column + first)
    dtrsm((RIGHT, LOWER, TRANSPOSED, NO, end - first, high - low, 1.0, top, step, here, step))


@jit_without_lock
def behind(fronts, s, x, low, high, first, end):
    """Subtract the contribution of this block from columns `first` to `end` - 1 of the panel, behind it."""
    step, at, width = fronts.columns[s] + fronts.rows[s], fronts.panel[s], end - first
    address, column = x.ctypes.data, at + low * step
    rows, corner = address + 8 * (column + first), address + 8 * (at + first * step + first)
    dsyrk((LOWER, NO, width, high - low, -1.0, rows, step, 1.0, corner, step))
    if step > end:
        dgemm((
            NO, TRANSPOSED, step - end, width, high - low, -1.0, rows + 8 * width, step, rows, step, 1.0,
            corner + 8 * width, step,
        ))  # fmt: skip


@jit_without_lock
def square(fronts, s, x, u, first, end):
    """Columns `first` to `end` - 1 of the update matrix of s <- -P P', P the rows below its pivots."""
    n, m, width = fronts.columns[s], fronts.rows[s], end - first
    step, address = n + m, u.ctypes.data
    rows = x.ctypes.data + 8 * (fronts.panel[s] + n + first)
    corner = address + 8 * (fronts.update[s] + first * m + first)
    dsyrk((LOWER, NO, width, n, -1.0, rows, step, 0.0, corner, m))
    if m > end:
        dgemm((
            NO, TRANSPOSED, m - end, width, n, -1.0, rows + 8 * width, step, rows, step, 0.0,
            corner + 8 * width, m,
        ))  # fmt: skip
