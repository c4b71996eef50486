"""Redundant joints between two bodies: their rows as one matrix, its rank, and rows of that rank.

`schemes/body_redundancy.py` says why, and what is done.
"""

import math

import numpy as np

from stickslip.kernels.bodies.joint_geometry import HOLD
from stickslip.kernels.jit import jit

ROUNDING = 1e-9
"""Largest singular value that does not count where joints are closed [-]."""
SWEEPS = 40
"""Most sweeps of rotations; some six are needed."""
ORTHOGONAL, NOTHING = 1e-15, 1e-32
"""Rows are turned whose angle has a larger cosine [-], and whose product is a larger share of all squares."""


@jit
def left_vectors(A):
    """(U (m, m), sigma (m,)): left singular vectors, in columns, and singular values of A (m, n), falling.

    Rotations of pairs of rows until all are orthogonal (Hestenes 1958; Golub and Van Loan 2013, 8.6.3).
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
    # 2. Norms of the rows, the largest first.
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
    """A (k, 12): rows `held` (k,) of rows (n, 2, 6) in one unit, sides in the order of their bodies.

    turned (k,): whether the first side of a row is the later body; dynamic (2,): which bodies are; length:
    of the joints [m].
    """
    A = np.zeros((held.shape[0], 12), rows.dtype)
    for i in range(held.shape[0]):
        for side in range(2):
            if dynamic[side]:
                own = 1 - side if turned[i] else side
                for k in range(6):
                    x = rows[held[i], own, k]
                    A[i, 6 * side + k] = x if k < 3 else x / length
    return A


@jit
def rank_of(sigma, opening, length):
    """How many of these singular values (m,) count where joints are open by `opening` [m]."""
    rank, least = 0, opening / length + ROUNDING
    for one in sigma:
        rank += 1 if one > least else 0
    return rank


@jit
def held_rows(linkage, sides, joint, part, size, pair):
    """(held, turned (k,), first and second body (2,), mean length [m]) of the joints that hold two bodies.

    linkage: `Linkage`; sides (m, 2), joint, part, size (m,): of blocks, as `JointRowArrays` has them.
    """
    first, end = linkage.pair_start[pair], linkage.pair_start[pair + 1]
    held, turned = np.empty(6 * (end - first), np.int64), np.zeros(6 * (end - first), np.bool_)
    bodies, total, count, at, one = np.empty(2, np.int64), 0.0, 0, 0, first
    for i in range(size.shape[0]):
        if one < end and part[i] == HOLD and joint[i] == linkage.paired[one]:
            one += 1
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
    """rows (n, 2, 6), bias (n,) <- those of redundant joints by consistent ones of lower rank.

    row: of `BodyArrays`; error (n,): how far rows are open; all in one unit.
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
        # 2. Its rank up to the opening of the joints.
        U, sigma = left_vectors(pair_matrix(rows, held, turned, dynamic, length))
        rank = rank_of(sigma, opening, length)
        # 3. Rows and right sides projected on the range of A, by P = U U'.
        own, given = np.empty((m, 2, 6)), np.empty(m)
        for i in range(m):
            given[i] = bias[held[i]]
            for side in range(2):
                for k in range(6):
                    own[i, side, k] = rows[held[i], 1 - side if turned[i] else side, k]
        for i in range(m):
            right, line = 0.0, np.zeros((2, 6))
            for j in range(m):
                P = 0.0
                for k in range(rank):
                    P += U[i, k] * U[j, k]
                right += P * given[j]
                for side in range(2):
                    for k in range(6):
                        line[side, k] += P * own[j, side, k]
            bias[held[i]] = right
            for side in range(2):
                for k in range(6):
                    rows[held[i], 1 - side if turned[i] else side, k] = line[side, k]
