"""Projected Gauss-Seidel (PSOR) sweeps over the rows of a box problem."""

from stickslip.kernels.jit import jit


@jit
def sweep(A, b, bounds, omega, symmetric, count, z):
    """z <- P(z - omega (A z + b) / diag A), row by row, in `count` sweeps, forward and back if symmetric.

    A: (row_start (n + 1,), column, data (nnz,), diagonal) of its rows; bounds: (lower, upper); all other
    vectors (n,). Components with a zero diagonal are not changed.
    """
    (row_start, column, data, diagonal), (lower, upper), n = A, bounds, b.shape[0]
    for _ in range(count):
        for k in range(2 * n if symmetric else n):
            i = k if k < n else 2 * n - 1 - k
            if diagonal[i] == 0.0:
                continue
            value = b[i]
            for e in range(row_start[i], row_start[i + 1]):
                value += data[e] * z[column[e]]
            z[i] = min(max(z[i] - omega * value / diagonal[i], lower[i]), upper[i])
