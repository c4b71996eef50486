"""Complementary pivots of Lemke's method, with the lexicographic rule (Cottle, Pang & Stone 1992, 4.9).

The LCP is w - A z - cover z_0 = q. Variables are numbered w_i: i, z_i: n + i, z_0: 2n. The inverse of the
basis is stored as one matrix, whose rows the lexicographic rule needs.
"""

import numpy as np

from stickslip.kernels.jit import jit

LIMIT, RAY, SOLVED, BROKEN = 0, 1, 2, 3
"""Exit codes of `pivots`: limit of pivots, no variable leaves, z_0 has left (solved), non-finite values."""
SMALL = 1e-9
"""Smallest pivot over the largest entry of the entering column [-]; smaller entries count as rounding."""
TIE = 1e-12
"""Largest relative difference of two ratios that counts as a tie [-]; heuristic."""


@jit
def column(A, cover, variable, out):
    """out <- the column of a variable.   A (n, n), cover, out (n,)."""
    n = A.shape[0]
    for i in range(n):
        out[i] = 0.0
    if variable < n:
        out[variable] = 1.0
    elif variable < 2 * n:
        for i in range(n):
            out[i] = -A[i, variable - n]
    else:
        for i in range(n):
            out[i] = -cover[i]


@jit
def leaving_row(y, values, inverse, basis, size):
    """Return the row of the leaving variable, -1 if none can leave.

    The ratio test minimises values / y; z_0 leaves if it ties, other ties are resolved by the rows of the
    inverse. y, values (n,), inverse (n, n), basis (n,); size: magnitude of the initial values.
    """
    # 1. Smallest ratio.
    n = y.shape[0]
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(y[i]))
    least = np.inf
    for i in range(n):
        if y[i] > SMALL * largest:
            least = min(least, max(values[i], 0.0) / y[i])
    if least == np.inf:
        return -1
    # 2. Rows that tie.
    tied = np.zeros(n, np.bool_)
    count, row = 0, -1
    for i in range(n):
        if y[i] > SMALL * largest:
            value = max(values[i], 0.0)
            if value - least * y[i] <= TIE * (value + least * y[i]) + 1e-15 * size:
                if basis[i] == 2 * n:
                    return i
                tied[i] = True
                count, row = count + 1, i
    # 3. Lexicographic rule.
    for j in range(n):
        if count <= 1:
            break
        least = np.inf
        for i in range(n):
            if tied[i]:
                least = min(least, inverse[i, j] / y[i])
        count = 0
        for i in range(n):
            if tied[i]:
                if inverse[i, j] / y[i] - least <= 1e-10 * (abs(least) + 1e-4):
                    count, row = count + 1, i
                else:
                    tied[i] = False
    return row


@jit
def pivots(A, cover, inverse, values, basis, entering, most, size):
    """Make up to `most` complementary pivots; return (exit code, next entering variable, pivots done).

    A, inverse (n, n), cover, values (n,), basis (n,); inverse, values and basis are changed in place.
    """
    n = A.shape[0]
    a, y = np.empty(n), np.empty(n)
    for pivots_done in range(most):
        # 1. Entering column in the basis, y = B⁻¹ a, and leaving row.
        column(A, cover, entering, a)
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += inverse[i, j] * a[j]
            y[i] = total
        row = leaving_row(y, values, inverse, basis, size)
        if row < 0:
            return RAY, entering, pivots_done
        # 2. Pivot.
        share = 1.0 / y[row]
        step = max(values[row], 0.0) * share
        for i in range(n):
            if i != row:
                values[i] = max(values[i], 0.0) - step * y[i]
        values[row] = step
        for j in range(n):
            inverse[row, j] *= share
        for i in range(n):
            if i != row and y[i] != 0.0:
                factor = y[i]
                for j in range(n):
                    inverse[i, j] -= factor * inverse[row, j]
        # 3. The complement of the leaving variable enters next.
        leaving, basis[row] = basis[row], entering
        if not abs(step) < 1e300:
            return BROKEN, entering, pivots_done + 1
        if leaving == 2 * n:
            return SOLVED, entering, pivots_done + 1
        entering = leaving + n if leaving < n else leaving - n
    return LIMIT, entering, most
