"""Complementary pivots of Lemke's method, with the lexicographic rule.

The LCP is w - A z - cover z_0 = q. Variables are numbered w_i: i, z_i: n + i, z_0: 2n. The inverse of the
basis is kept as one matrix: the lexicographic rule reads its rows (Cottle, Pang & Stone 1992, 4.9).
"""

import numpy as np

from stickslip.kernels.jit import jit

LIMIT, RAY, SOLVED, BROKEN = 0, 1, 2, 3
"""How `pivots` ends: so many made, no variable leaves, z_0 has left, numbers are not finite."""
SMALL = 1e-9
"""Entries of the entering column below this share of its largest are rounding and no pivot."""
TIE = 1e-12
"""Relative difference of two ratios that is a tie."""


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
    """The row that leaves, -1 if none may: least values / y, ties by the rows of the inverse.

    y, values (n,), inverse (n, n), basis (n,); size: of the values to start with. z_0 leaves where it ties.
    """
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
    """(end, next variable to enter, pivots made): at most so many complementary pivots.

    A, inverse (n, n), cover, values (n,), basis (n,); the last three are changed in place.
    """
    n = A.shape[0]
    a, y = np.empty(n), np.empty(n)
    for made in range(most):
        column(A, cover, entering, a)
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += inverse[i, j] * a[j]
            y[i] = total
        row = leaving_row(y, values, inverse, basis, size)
        if row < 0:
            return RAY, entering, made
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
        out, basis[row] = basis[row], entering
        if not abs(step) < 1e300:
            return BROKEN, entering, made + 1
        if out == 2 * n:
            return SOLVED, entering, made + 1
        entering = out + n if out < n else out - n
    return LIMIT, entering, most
