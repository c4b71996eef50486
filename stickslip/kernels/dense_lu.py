"""Small dense systems inside kernels: LU with row pivoting in place, and LDLᵀ.

Both are written out: up to 240 unknowns they take about half the time of SciPy's LAPACK or less, and their
rounding does not depend on the number of threads.
"""

import numpy as np

from stickslip.kernels.jit import jit_forward as jit
from stickslip.kernels.lines import FOUR, add_line, add_lines, dot_in_four, eliminate_four

LARGEST_FACTOR = 10.0
"""Largest factor of the elimination for which a diagonal entry is the pivot; heuristic."""


@jit
def lu_solve(J, b, n):
    """b[:n] <- J[:n, :n]^-1 b[:n], J overwritten; false if J is singular or not finite.

    J (>= n, >= n) row by row, b (>= n,).
    """
    F, c = np.empty((n, FOUR)), 0
    # 1. Four pivots at a time, and the columns after theirs; the diagonal gets the inverses of the pivots.
    while c + FOUR <= n:
        if not _four_pivots(J, b, F, c, n):
            return False
        eliminate_four(J, F, c, n)
        c += FOUR
    # 2. The last three pivots or fewer, each the largest of its column.
    for p in range(c, n):
        q = p
        for i in range(p + 1, n):
            q = i if abs(J[i, p]) > abs(J[q, p]) else q
        if not 0.0 < abs(J[q, p]) < np.inf:
            return False
        _exchange(J, b, p, q, p, n)
        J[p, p] = 1.0 / J[p, p]
        for i in range(p + 1, n):
            factor = J[i, p] * J[p, p]
            for j in range(p + 1, n):
                J[i, j] -= factor * J[p, j]
            b[i] -= factor * b[p]
    # 3. Back substitution.
    done = True
    for i in range(n - 1, -1, -1):
        b[i] = (b[i] - dot_in_four(J[i], b, i + 1, n)) * J[i, i]
        done = done and abs(b[i]) < 1e300  # false for NaN
    return done


@jit
def _four_pivots(J, b, F, c, n):
    """Eliminate the columns c to c + 3 of J[:n, :n], in themselves and in b; False if there is no pivot.

    F (>= n, FOUR) <- the factors of the rows below each pivot; rows c to c + 3 are those of the block's LU.
    The diagonal entries are tried as pivots. Where a factor is above LARGEST_FACTOR, the row with the largest
    entry is exchanged with that of the pivot, and the four columns begin again.
    """
    while True:
        # 1. The block on the diagonal.
        for p in range(FOUR):
            for k in range(FOUR):
                F[c + p, k] = J[c + p, c + k]
        for p in range(FOUR):
            for q in range(p + 1, FOUR):
                F[c + q, p] /= F[c + p, p]
                for k in range(p + 1, FOUR):
                    F[c + q, k] -= F[c + q, p] * F[c + p, k]
        top, second, third = F[c], F[c + 1], F[c + 2]
        u01, u02, u03, u12, u13, u23 = top[1], top[2], top[3], second[2], second[3], third[3]
        i0, i1, i2, i3 = 1.0 / top[0], 1.0 / second[1], 1.0 / third[2], 1.0 / F[c + 3, 3]
        m0 = max(abs(second[0]), abs(third[0]), abs(F[c + 3, 0]))
        m1, m2, m3 = max(abs(third[1]), abs(F[c + 3, 1])), abs(F[c + 3, 2]), 0.0
        # 2. The rows below.
        for i in range(c + FOUR, n):
            x, f = J[i], F[i]
            f0 = x[c] * i0
            f1 = (x[c + 1] - f0 * u01) * i1
            f2 = (x[c + 2] - f0 * u02 - f1 * u12) * i2
            f3 = (x[c + 3] - f0 * u03 - f1 * u13 - f2 * u23) * i3
            f[0], f[1], f[2], f[3] = f0, f1, f2, f3
            m0, m1, m2, m3 = max(m0, abs(f0)), max(m1, abs(f1)), max(m2, abs(f2)), max(m3, abs(f3))
        # 3. The first pivot that is too small: infinite factors and NaN come from pivots that are 0.
        p = FOUR
        for k, i, m in ((3, i3, m3), (2, i2, m2), (1, i1, m1), (0, i0, m0)):
            if not (m <= LARGEST_FACTOR and 0.0 < abs(i) < np.inf):
                p = k
        if p == FOUR:
            break
        where, largest = c + p, 1.0
        for i in range(c + p + 1, n):
            if abs(F[i, p]) > largest:
                where, largest = i, abs(F[i, p])
        if where == c + p:
            return False
        _exchange(J, b, c + p, where, c, n)
    # 4. What is left of the four rows and of b.
    for p in range(FOUR):
        for k in range(p + 1, FOUR):
            J[c + p, c + k] = F[c + p, k]
            b[c + k] -= F[c + k, p] * b[c + p]
    J[c, c], J[c + 1, c + 1], J[c + 2, c + 2], J[c + 3, c + 3] = i0, i1, i2, i3
    b0, b1, b2, b3 = b[c], b[c + 1], b[c + 2], b[c + 3]
    for i in range(c + FOUR, n):
        f = F[i]
        b[i] = b[i] - f[0] * b0 - f[1] * b1 - f[2] * b2 - f[3] * b3
    return True


@jit
def _exchange(J, b, p, q, first, n):
    """Exchange rows p and q of J[:n, first:n] and of b."""
    if p != q:
        top, other = J[p, :n], J[q, :n]
        for j in range(first, n):
            top[j], other[j] = other[j], top[j]
        b[p], b[q] = b[q], b[p]


@jit
def ldl_factor(A, L, inverse, order, n):
    """Factor A = L D L', symmetric positive definite, from its upper triangle; false if it is not.

    The upper triangle of A becomes D L', the rows of L below its diagonal those of -L, inverse[:n] 1 / D.

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
    """b[:n] <- the solution with the factors of `ldl_factor`; false if it is not finite."""
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
    """b[:n] <- A[:n, :n]^-1 b[:n] for a symmetric positive definite A, given by its upper triangle, which is
    overwritten; false if A is not positive definite or the solution is not finite.

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
            if A[i, c] != 0.0:  # M is mostly block diagonal
                add_line(-A[i, c], X[c], 0, X[i, :m])
        for j in range(m):
            X[i, j] /= A[i, i]
    return True
