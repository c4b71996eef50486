"""Small dense systems inside kernels: LU with row pivoting in place, and LDLᵀ.

By hand below LARGE unknowns, where LAPACK's own calls cost more than the elimination, and by LAPACK
above. Without compilation always by hand.
"""

import numpy as np

from stickslip.compilation import JIT
from stickslip.kernels.jit import jit_forward as jit
from stickslip.kernels.lines import add_line, add_lines, add_two_lines, dot_in_four

if JIT:
    from stickslip.kernels.fortran import routine

    dgetrf = routine("scipy.linalg.cython_lapack", "dgetrf", "iipipp")
    dgetrs = routine("scipy.linalg.cython_lapack", "dgetrs", "ciipippip")

LARGE = 40
PIVOT = 0.1
"""Share of the largest in its column with which a diagonal entry is the pivot."""
TRANSPOSED = ord("T")


@jit
def lu_solve(J, b, n):
    """b[:n] <- J[:n, :n]^-1 b[:n], J overwritten; false if J is singular or not finite.

    J (>= n, >= n) row by row, b (>= n,).
    """
    done = _by_lapack(J, b, n) if JIT and n >= LARGE else _by_hand(J, b, n)
    for i in range(n):
        done = done and abs(b[i]) < 1e300  # false for NaN
    return done


@jit
def _by_lapack(J, b, n):
    """Rows are columns to Fortran, which is given J' and asked for the solution with its transpose."""
    info, pivots = np.zeros(1, np.int32), np.empty(n, np.int32)
    dgetrf((n, n, J.ctypes.data, J.shape[1], pivots.ctypes.data, info.ctypes.data))
    if info[0] != 0:
        return False
    dgetrs(
        (TRANSPOSED, n, 1, J.ctypes.data, J.shape[1], pivots.ctypes.data, b.ctypes.data, n, info.ctypes.data)
    )
    return info[0] == 0


@jit
def _by_hand(J, b, n):
    """The updates run along rows, by two pivots at a time; the diagonal has the inverses of the pivots."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(J[i, 0]))
    for c in range(0, n, 2):
        # 1. Two pivots; the column of the second is updated by the first.
        if not _exchange(J, b, c, n, largest):
            return False
        if c + 1 == n:
            break
        top, inverse, largest = J[c, :n], J[c, c], 0.0
        for i in range(c + 1, n):
            J[i, c] *= inverse
            J[i, c + 1] -= J[i, c] * top[c + 1]
            b[i] -= J[i, c] * b[c]
            largest = max(largest, abs(J[i, c + 1]))
        if not _exchange(J, b, c + 1, n, largest):
            return False
        # 2. The rest of the rows by both.
        second, inverse, largest = J[c + 1, :n], J[c + 1, c + 1], 0.0
        add_line(-second[c], top, c + 2, second)
        for i in range(c + 2, n):
            factor, other = J[i, c], J[i, c + 1] * inverse
            if factor != 0.0 or other != 0.0:
                add_two_lines(-factor, top, -other, second, c + 2, J[i, :n])
                b[i] -= other * b[c + 1]
            largest = max(largest, abs(J[i, c + 2]))
    for i in range(n - 1, -1, -1):
        b[i] = (b[i] - dot_in_four(J[i], b, i + 1, n)) * J[i, i]
    return True


@jit
def _exchange(J, b, c, n, largest):
    """Row c <- one of those from c on whose entry in column c, of which the largest is given, is a pivot; its
    inverse takes its place. False if there is none."""
    if not (0.0 < largest < np.inf):
        return False
    if abs(J[c, c]) < PIVOT * largest:
        p = c
        while abs(J[p, c]) < largest:
            p += 1
        top, other = J[c, :n], J[p, :n]
        for j in range(max(c - 1, 0), n):
            top[j], other[j] = other[j], top[j]
        b[c], b[p] = b[p], b[c]
    J[c, c] = 1.0 / J[c, c]
    return True


@jit
def ldl_factor(A, L, inverse, order, n):
    """A = L D L', symmetric positive definite by its upper rows: these become D L', the rows of L below its
    diagonal those of -L, inverse[:n] 1 / D. False if A is not positive definite.

    A, L (>= n, >= n) row by row; inverse (>= n,); order (>= n,) 0, 1, ...
    """
    for i in range(n):
        row = L[i]
        for c in range(i):
            row[c] = -A[c, i] * inverse[c]
        line = A[i, :n]
        add_lines(line, A, order, row, i, i, line)
        if not A[i, i] > 0.0:
            return False
        inverse[i] = 1.0 / A[i, i]
    return True


@jit
def ldl_back(A, L, inverse, b, n):
    """b[:n] <- the solution by what `ldl_factor` has left; false if it is not finite."""
    x = b[:n]
    for c in range(n):
        add_line(-x[c] * inverse[c], A[c], c + 1, x)
    for i in range(n):
        x[i] *= inverse[i]
    for i in range(n - 1, -1, -1):
        add_line(x[i], L[i], 0, x[:i])
        if not abs(x[i]) < 1e300:
            return False
    return True


@jit
def ldl_solve(A, b, n):
    """b[:n] <- A[:n, :n]^-1 b[:n] of a symmetric positive definite A by its upper rows, overwritten; false if
    it is not positive definite, or the solution not finite.

    A (>= n, >= n) row by row, b (>= n,).
    """
    L, inverse = np.empty((n, n)), np.empty(n)
    return ldl_factor(A, L, inverse, np.arange(n), n) and ldl_back(A, L, inverse, b, n)


@jit
def solve_columns(A, X, n, m):
    """X[:n, :m] <- A[:n, :n]^-1 X[:n, :m] by LU with row pivoting, A overwritten; false if A is singular."""
    for c in range(n):
        p = c
        for i in range(c + 1, n):
            if abs(A[i, c]) > abs(A[p, c]):
                p = i
        if not abs(A[p, c]) > 0.0:
            return False
        if p != c:
            for j in range(c, n):
                A[c, j], A[p, j] = A[p, j], A[c, j]
            for j in range(m):
                X[c, j], X[p, j] = X[p, j], X[c, j]
        for i in range(c + 1, n):
            factor = A[i, c] / A[c, c]
            if factor != 0.0:
                add_line(-factor, A[c], c + 1, A[i, :n])
                add_line(-factor, X[c], 0, X[i, :m])
    for i in range(n - 1, -1, -1):
        for c in range(i + 1, n):
            if A[i, c] != 0.0:  # M mostly is in blocks
                add_line(-A[i, c], X[c], 0, X[i, :m])
        for j in range(m):
            X[i, j] /= A[i, i]
    return True
