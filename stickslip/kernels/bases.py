"""Enumeration of the complementary bases of a box problem.

A basis assigns to every bounded unknown one of three states: at its lower bound, between its bounds, or at
its upper bound. The unknowns I between bounds and the free ones solve A_II z_I = -(b_I + A_IN z_N). The basis
has a solution if z_I is within its bounds and A z + b has the right sign at the other unknowns.
"""

import numpy as np

from stickslip.kernels.jit import jit

NONE, HOLDS, SINGULAR = 0, 1, 2
"""Results of `next_basis`: no basis, a basis that may have a solution, a singular one that may have many."""
FLAT = 1e-11
"""Ratio of the smallest to the largest pivot below which a block is singular [-]."""
CLEAR = 1e-10
"""Relative violation that cannot be rounding in a well-conditioned basis [-]."""
INCONSISTENT = 1e-9
"""Residual of the equations of a singular block, over the right-hand side, above which they contradict
[-]."""

LOWER, INSIDE, UPPER = 0, 1, 2
"""States of an unknown."""


@jit
def place(index, lower, upper, state):
    """state <- basis number `index`, digits from the first unknown on.   lower, upper, state (n,)."""
    for i in range(lower.shape[0]):
        up, down = upper[i] < np.inf, lower[i] > -np.inf
        if not (up or down):
            state[i] = INSIDE
        elif lower[i] == upper[i]:
            state[i] = LOWER
        elif up and down:
            state[i] = index % 3
            index = index // 3
        else:
            state[i] = INSIDE if index % 2 == 1 else (LOWER if down else UPPER)
            index = index // 2


@jit
def eliminate(J, m):
    """Eliminate J[:m, :m] with right-hand side J[:m, m] in place, by complete pivoting.

    Return (rank, last pivot over first). Column j of the result belongs to unknown J[m, j].
    """
    first = 0.0
    for j in range(m):
        J[m, j] = j
    last = 1.0
    for c in range(m):
        p, q, largest = c, c, -1.0
        for i in range(c, m):
            for j in range(c, m):
                if abs(J[i, j]) > largest:
                    p, q, largest = i, j, abs(J[i, j])
        if c == 0:
            first = largest
        if largest <= FLAT * first or first == 0.0:
            return c, 0.0
        last = largest / first
        if p != c:
            for j in range(m + 1):
                J[c, j], J[p, j] = J[p, j], J[c, j]
        if q != c:
            for i in range(m + 1):
                J[i, c], J[i, q] = J[i, q], J[i, c]
        for i in range(c + 1, m):
            factor = J[i, c] / J[c, c]
            if factor != 0.0:
                for j in range(c + 1, m + 1):
                    J[i, j] -= factor * J[c, j]
    return m, last


@jit
def next_basis(A, b, lower, upper, index, last, state, z):
    """Return (result, index) of the next basis from `index` on, before `last`, that does not clearly fail.

    A (n, n), scaled to entries of about 1; b, lower, upper, state, z (n,). state <- that of the basis; z <-
    its point if its block is regular.
    """
    n = b.shape[0]
    J, inside = np.empty((n + 1, n + 1)), np.empty(n, np.int64)
    while index < last:
        # 1. States, and z at the bounds.
        place(index, lower, upper, state)
        m = 0
        for i in range(n):
            z[i] = 0.0
            if state[i] == INSIDE:
                inside[m] = i
                m += 1
            else:
                z[i] = lower[i] if state[i] == LOWER else upper[i]
        # 2. The system A_II z_I = -(b_I + A_IN z_N) in J.
        load = 0.0
        for k in range(m):
            i = inside[k]
            right = -b[i]
            load = max(load, abs(b[i]))
            for j in range(n):
                if state[j] != INSIDE:
                    right -= A[i, j] * z[j]
                    load = max(load, abs(A[i, j] * z[j]))
            for e in range(m):
                J[k, e] = A[i, inside[e]]
            J[k, m] = right
        # 3. Consistency of a singular block, or bounds and signs of a regular one.
        rank, ratio = eliminate(J, m)
        if rank < m:
            residual = 0.0
            for k in range(rank, m):
                residual = max(residual, abs(J[k, m]))
            if residual <= INCONSISTENT * load:
                return SINGULAR, index
        elif _holds((A, b, lower, upper), J, inside[:m], ratio, state, z):
            return HOLDS, index
        index += 1
    return NONE, last


@jit
def _holds(box, J, inside, ratio, state, z):
    """z <- point of a regular basis; return whether it satisfies bounds and signs up to rounding.

    box: A, b, lower, upper; inside (m,): unknowns between their bounds.
    """
    (A, b, lower, upper), n, m = box, z.shape[0], inside.shape[0]
    share = CLEAR + (1e-14 / ratio if m > 0 else 0.0)
    for k in range(m - 1, -1, -1):
        total = J[k, m]
        for j in range(k + 1, m):
            total -= J[k, j] * J[j, m]
        J[k, m] = total / J[k, k]
    size = 0.0
    for k in range(m):
        z[inside[int(J[m, k])]] = J[k, m]
        size = max(size, abs(J[k, m]))
    for k in range(m):
        i = inside[k]
        if z[i] < lower[i] - share * size or z[i] > upper[i] + share * size:
            return False
    for i in range(n):
        if state[i] != INSIDE and lower[i] < upper[i]:
            value, terms = b[i], abs(b[i])
            for j in range(n):
                value += A[i, j] * z[j]
                terms += abs(A[i, j]) * (abs(z[j]) + (share * size if state[j] == INSIDE else 0.0))
            if state[i] == LOWER and value < -share * terms:
                return False
            if state[i] == UPPER and value > share * terms:
                return False
    return True
