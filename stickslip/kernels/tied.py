"""Newton's system on a small problem where groups slide: their impulses are tied to the normal ones.

Along the trial impulse, e = y / |y|, what slides is mu r_N whatever r_N becomes, so that only what is across
e is unknown: one number of a Coulomb contact in space, none in the plane. The steps are those of the whole
system of Alart and Curnier's map, with two thirds of its unknowns or fewer.
"""

import math

from stickslip.kernels import cones
from stickslip.kernels.jit import jit_forward_inlined as jit_inlined
from stickslip.kernels.lines import add_lines

BOUND, STICK, SLIP, TIED, PUSH = 0, 1, 2, 3, 4
"""States of components: on a bound, without velocity, in a sliding group, whose first component is TIED, and
the normal component of a contact with a sliding group."""
FIELDS = 5
"""Whole numbers that are known of a group that slides; see `tie`."""


@jit_inlined
def tie(K, r, e, state, F, place, ties, places, moves, m):
    """Groups that slide are tied to their normal impulse: along e they are mu r_N, whatever r_N becomes;
    across it they are free. (number of groups, m + components that move).

    e (n,) has the trial impulses y on entry: <- y / |y|.   F <- share = mu y_N / |y| at the first component k
    of a group, and at the others e_t / (1 + |e_k|), for `turned`.   ties <- FIELDS for each group: its first
    component, its size, the first of its unknowns, that of its normal, and its number.
    places, moves (n,) <- from m on, components and their way to mu r_N e; place (n,): unknowns of components.
    """
    kind, offset, _, _, group_offset, group_size, coefficient = K
    count = 0
    for i in range(kind.shape[0]):
        a = offset[i]
        if kind[i] != cones.FRICTION or state[a] == BOUND:
            continue
        k = a + 1
        for g in range(group_offset[i], group_offset[i + 1]):
            end = k + group_size[g]
            if state[k] == TIED:
                size, along = 0.0, 0.0
                for t in range(k, end):
                    size += e[t] * e[t]
                size = math.sqrt(size)
                F[k] = coefficient[g] * e[a] / size
                for t in range(k, end):
                    e[t] /= size
                    along += e[t] * r[t]
                for t in range(k, end):
                    places[m], moves[m] = t, (coefficient[g] * r[a] - along) * e[t]
                    r[t] += moves[m]
                    m += 1
                for t in range(k + 1, end):
                    F[t] = e[t] / (1.0 + abs(e[k]))
                first = ties[FIELDS * count :]
                first[0], first[1], first[3], first[4] = k, end - k, place[a], g
                first[2] = place[k + 1] if end > k + 1 else 0
                count += 1
            k = end
    return count, m


@jit_inlined
def turned(e, F, k, t, size, weights):
    """weights (size,) <- column t > 0 of H = I - w w' / (1 + |e_k|), w = e + sign(e_k) e_k, of a group that
    begins at k: H turns e to its first component, and its other columns are across e."""
    weights[0] = -e[k + t] if e[k] >= 0.0 else e[k + t]
    for j in range(1, size):
        weights[j] = (1.0 if j == t else 0.0) - e[k + t] * F[k + j]


@jit_inlined
def assemble(W, rho, soft, r, u, known, coefficient, state, own, order, e, F, ties, count, work, B, A, b):
    """Newton's system where some groups slide: A (f, f), b (f,), in the unknowns `own` (f,).

    For groups across e: (1 - share) r + share (rho u + soft dr) = 0, where |y| has no part.
    work: zeros and a vector (n,); B (>= f, n) <- the velocities that each unknown makes.
    """
    f, n, (nothing, weights) = own.shape[0], u.shape[0], work
    # 1. B.
    for q in range(f):
        line, row = B[q], W[own[q]]
        for k in range(n):
            line[k] = row[k]
    for c in range(count):
        k, size, p = ties[FIELDS * c], ties[FIELDS * c + 1], ties[FIELDS * c + 2]
        which, normal, mu = order[k : k + size], ties[FIELDS * c + 3], coefficient[ties[FIELDS * c + 4]]
        for j in range(size):
            weights[j] = mu * e[k + j]
        add_lines(B[normal], W, which, weights, size, 0, B[normal])
        for t in range(1, size):
            turned(e, F, k, t, size, weights)
            add_lines(nothing, W, which, weights, size, 0, B[p + t - 1])
    # 2. Rows of components by themselves.
    for p in range(f):
        if state[own[p]] != SLIP:
            row, k, scale = A[p], own[p], rho[own[p]]
            for q in range(f):
                row[q] = scale * B[q, k]
            row[p] += soft
            b[p] = -scale * (u[k] + known[k])
    # 3. Rows across e.
    for c in range(count):
        k, size, p = ties[FIELDS * c], ties[FIELDS * c + 1], ties[FIELDS * c + 2]
        share = F[k]
        for t in range(1, size):
            turned(e, F, k, t, size, weights)
            speed, impulse, row, first, second = 0.0, 0.0, A[p], weights[0], weights[1]
            for q in range(f):
                row[q] = first * B[q, k] + second * B[q, k + 1]
            for j in range(2, size):
                for q in range(f):
                    row[q] += weights[j] * B[q, k + j]
            for q in range(f):
                row[q] *= share * rho[k]
            for j in range(size):
                speed += weights[j] * known[k + j]
                impulse += weights[j] * r[k + j]
            row[p] += 1.0 - share + share * soft
            b[p] = -share * rho[k] * speed - impulse
            p += 1


@jit_inlined
def follow(coefficient, e, F, ties, count, b, r):
    """r <- with what groups that slide do as the unknowns change by b: along e with the normal impulse, and
    across it."""
    for c in range(count):
        own = ties[FIELDS * c : FIELDS * c + FIELDS]
        k, p, normal = own[0], own[2], coefficient[own[4]] * b[own[3]]
        along = 0.0
        for t in range(k + 1, k + own[1]):
            along += e[t] * b[p + t - k - 1]
        r[k] += normal * e[k] - (along if e[k] >= 0.0 else -along)
        for t in range(k + 1, k + own[1]):
            r[t] += normal * e[t] + b[p + t - k - 1] - F[t] * along
