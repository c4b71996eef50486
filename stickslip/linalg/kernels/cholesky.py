"""Numeric multifrontal Cholesky factorisation A = L L'."""

from stickslip.kernels.jit import jit_without_lock
from stickslip.linalg.kernels import panels
from stickslip.linalg.kernels.blas import LOWER, NO, dpotrf, dsyrk


@jit_without_lock
def factorise(fronts, blocks, values, x, u, diagonal, info, least, first, end):
    """x <- L of the fronts from `first` to `end` - 1; return the first column with an invalid pivot, or -1.

    values: of the blocks; u: stack of update matrices, with those of the fronts below these in the tree;
    diagonal (size,), in the final order <- each pivot over its diagonal entry of A. A pivot is valid if it is
    finite and larger than `least` times this entry.
    """
    x_address, u_address, info_address = x.ctypes.data, u.ctypes.data, info.ctypes.data
    for s in range(first, end):
        n, m, at = fronts.columns[s], fronts.rows[s], fronts.panel[s]
        step, head, into = n + m, fronts.head[s], fronts.update[s]
        # 1. Entries of the matrix and of the children.
        x[at : at + n * step] = 0.0
        panels.scatter(blocks, s, values, x, step)
        for j in range(n):
            diagonal[head + j] = x[at + j * step + j]
        panels.add_children(fronts, s, u, x, at, step, True, 0, n)
        # 2. Pivots.
        if n <= panels.NARROW:
            panels.cholesky(x, at, step, n, diagonal[:0], (0.0, 0.0))
        else:
            dpotrf((LOWER, n, x_address + 8 * at, step, info_address))
            if info[0] != 0:
                return head + info[0] - 1
        for j in range(n):  # dpotrf does not detect NaN; this test does
            pivot = x[at + j * step + j]
            if not (pivot * pivot > least * diagonal[head + j] and pivot < 1e300):
                return head + j
            diagonal[head + j] = pivot * pivot / diagonal[head + j]
        if m == 0:
            continue
        # 3. Rows below the pivots, and the update matrix.
        panels.divide(x, x_address, at, step, n, m)
        if n <= panels.NARROW and n % 6 == 0:
            for k in range(0, n, 6):
                panels.square6(x, at + n + k * step, step, m, u, into, k == 0)
        else:
            dsyrk((LOWER, NO, m, n, -1.0, x_address + 8 * (at + n), step, 0.0, u_address + 8 * into, m))
        panels.add_children(fronts, s, u, u, into, m, False, 0, m)
    return -1
