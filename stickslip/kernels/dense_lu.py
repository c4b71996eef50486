"""Small dense systems inside kernels: LU with row pivoting, in place.

For a hundred unknowns or so, where calling LAPACK from Python costs more than the elimination.
"""

from stickslip.kernels.jit import jit


@jit
def lu_solve(J, b, n):
    """b[:n] <- J[:n, :n]^-1 b[:n], J overwritten; false if J is singular or not finite.

    J (>= n, >= n), b (>= n,). The updates run along rows, so that the compiler vectorises them.
    """
    for c in range(n):
        p, largest = c, abs(J[c, c])
        for i in range(c + 1, n):
            size = abs(J[i, c])
            if size > largest:
                largest, p = size, i
        if not largest > 0.0:
            return False
        if p != c:
            for j in range(c, n):
                J[c, j], J[p, j] = J[p, j], J[c, j]
            b[c], b[p] = b[p], b[c]
        inverse = 1.0 / J[c, c]
        for i in range(c + 1, n):
            factor = J[i, c] * inverse
            if factor != 0.0:
                for j in range(c + 1, n):
                    J[i, j] -= factor * J[c, j]
                b[i] -= factor * b[c]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= J[i, j] * b[j]
        b[i] = s / J[i, i]
        if not abs(b[i]) < 1e300:
            return False
    return True
