"""Redundant joints between two bodies: matrix of their rows, its rank, and consistent rows of this rank.

`schemes/body_redundancy.py` describes the method.
"""

import math

import numpy as np

from stickslip.kernels.bodies.joint_geometry import HOLD
from stickslip.kernels.jit import jit

ROUNDING = 1e-9
"""Singular values up to this are zero if joints are closed [-] (heuristic)."""
SWEEPS = 40
"""Largest number of sweeps of rotations; about six are needed."""
ORTHOGONAL, NOTHING = 1e-15, 1e-32
"""Two rows are orthogonal if the cosine of their angle is at most ORTHOGONAL [-], or if their product is at
most NOTHING times the sum of all squares [-]."""


@jit
def left_vectors(A):
    """Return (U (m, m), sigma (m,)): left singular vectors, in columns, and decreasing singular values of A
    (m, n).

    One-sided Jacobi method: pairs of rows are rotated until all rows are orthogonal (Hestenes 1958; Golub and
    Van Loan 2013, 8.6.3).
    """
    m, n = A.shape
    B, U, least = A.copy(), np.eye(m), 0.0
    for p in range(m):
        for k in range(n):
            least += NOTHING * A[p, k] * A[p, k]
    # 1. Rotations, B = U' A.
    for _ in range(SWEEPS):
        turned = False
        for p in range(m - 1):
            for q in range(p + 1, m):
                a = b = c = 0.0
                for k in range(n):
                    a += B[p, k] * B[p, k]
                    b += B[q, k] * B[q, k]
                    c += B[p, k] * B[q, k]
                if not abs(c) > ORTHOGONAL * math.sqrt(a * b) + least:
                    continue
                turned = True
                zeta = (b - a) / (2.0 * c)
                t = (1.0 if zeta >= 0.0 else -1.0) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                cosine = 1.0 / math.sqrt(1.0 + t * t)
                sine = cosine * t
                for k in range(n):
                    x, y = B[p, k], B[q, k]
                    B[p, k], B[q, k] = cosine * x - sine * y, sine * x + cosine * y
                for k in range(m):
                    x, y = U[k, p], U[k, q]
                    U[k, p], U[k, q] = cosine * x - sine * y, sine * x + cosine * y
        if not turned:
            break
    # 2. Singular values: norms of the rows, the largest first.
    sigma, order = np.empty(m), np.empty(m, np.int64)
    for p in range(m):
        square = 0.0
        for k in range(n):
            square += B[p, k] * B[p, k]
        sigma[p], order[p] = math.sqrt(square), p
    for p in range(m):
        for q in range(p + 1, m):
            if sigma[order[q]] > sigma[order[p]]:
                order[p], order[q] = order[q], order[p]
    out, values = np.empty((m, m)), np.empty(m)
    for p in range(m):
        values[p] = sigma[order[p]]
        for k in range(m):
            out[k, p] = U[k, order[p]]
    return out, values


@jit
def pair_matrix(rows, held, turned, dynamic, length):
    """Return the matrix A (k, 12) of the rows held (k,) of rows (n, 2, 6), sides in the order of bodies.

    turned (k,): whether the first side of a row is the second body; dynamic (2,): whether each body is
    dynamic; length: characteristic length that gives all entries the same unit [m].
    """
    A = np.zeros((held.shape[0], 12), rows.dtype)
    for i in range(held.shape[0]):
        for side in range(2):
            if dynamic[side]:
                source = 1 - side if turned[i] else side
                for k in range(6):
                    x = rows[held[i], source, k]
                    A[i, 6 * side + k] = x if k < 3 else x / length
    return A


@jit
def rank_of(sigma, opening, length):
    """Return the number of nonzero singular values sigma (m,) for joints whose error is `opening` [m]."""
    rank, least = 0, opening / length + ROUNDING
    for value in sigma:
        rank += 1 if value > least else 0
    return rank


@jit
def held_rows(linkage, sides, joint, part, size, pair):
    """Return (held (k,), turned (k,), bodies (2,), mean length [m]) of the joints between a pair of bodies.

    held, turned: see `pair_matrix`; linkage: `Linkage`; sides (m, 2), joint, part, size (m,): blocks, see
    `JointRowArrays`; pair: number of the pair.
    """
    first, end = linkage.pair_start[pair], linkage.pair_start[pair + 1]
    held, turned = np.empty(6 * (end - first), np.int64), np.zeros(6 * (end - first), np.bool_)
    bodies, total, count, at, next_joint = np.empty(2, np.int64), 0.0, 0, 0, first
    for i in range(size.shape[0]):
        if next_joint < end and part[i] == HOLD and joint[i] == linkage.paired[next_joint]:
            next_joint += 1
            for k in range(size[i]):
                held[count], turned[count] = at + k, sides[i, 0] > sides[i, 1]
                total += linkage.length[joint[i]]
                count += 1
            bodies[0] = min(sides[i, 0], sides[i, 1])
            bodies[1] = max(sides[i, 0], sides[i, 1])
        at += size[i]
    return held[:count], turned[:count], bodies, total / count


@jit
def project_redundant_rows(linkage, blocks, row, rows, bias, error):
    """rows (n, 2, 6), bias (n,) <- with those of redundant joints replaced by consistent ones of lower rank.

    row: see `BodyArrays`; error (n,): errors of the rows; all rows have the same unit.
    """
    for pair in range(linkage.pair_start.shape[0] - 1):
        # 1. The rows of the joints between two bodies as one matrix A.
        held, turned, bodies, length = held_rows(
            linkage, blocks.bodies, blocks.joint, blocks.part, blocks.size, pair
        )
        m, dynamic, opening = held.shape[0], np.zeros(2, np.bool_), 0.0
        for side in range(2):
            dynamic[side] = bodies[side] >= 0 and row[bodies[side]] >= 0
        for i in range(m):
            opening = max(opening, abs(error[held[i]]))
        # 2. Its rank up to the errors of the joints.
        U, sigma = left_vectors(pair_matrix(rows, held, turned, dynamic, length))
        rank = rank_of(sigma, opening, length)
        # 3. Projection of rows and right-hand sides onto the range of A, by P = U U'.
        sorted_rows, sorted_bias = np.empty((m, 2, 6)), np.empty(m)
        for i in range(m):
            sorted_bias[i] = bias[held[i]]
            for side in range(2):
                for k in range(6):
                    sorted_rows[i, side, k] = rows[held[i], 1 - side if turned[i] else side, k]
        for i in range(m):
            right, line = 0.0, np.zeros((2, 6))
            for j in range(m):
                P = 0.0
                for k in range(rank):
                    P += U[i, k] * U[j, k]
                right += P * sorted_bias[j]
                for side in range(2):
                    for k in range(6):
                        line[side, k] += P * sorted_rows[j, side, k]
            bias[held[i]] = right
            for side in range(2):
                for k in range(6):
                    rows[held[i], 1 - side if turned[i] else side, k] = line[side, k]
