"""Newton's system of a small problem with sliding groups, whose impulses are tied to the normal ones.

The component of a sliding impulse along the trial impulse, e = y / |y|, is mu r_N. Only the components across
e are unknown: one for a Coulomb contact in space, none in the plane. The steps are those of the full system
of Alart and Curnier's map, with at most two thirds of its unknowns.
"""

import math

from stickslip.kernels import cones
from stickslip.kernels.jit import jit_forward_inlined as jit_inlined
from stickslip.kernels.lines import add_lines

BOUND, STICK, SLIP, TIED, PUSH = 0, 1, 2, 3, 4
"""States of components: on a bound, without velocity, in a sliding group, whose first component is TIED, and
the normal component of a contact with a sliding group."""
FIELDS = 5
"""Integers stored for each sliding group; see `tie`."""


@jit_inlined
def tie(K, r, e, state, F, place, ties, places, moves, m):
    """Tie sliding groups to their normal impulses; return (number of groups, m + number of moved components).

    e (n,) <- y / |y|, from the trial impulses y on entry.   F <- share = mu y_N / |y| at the first component
    k of a group, and e_t / (1 + |e_k|) at the others, for `turned`.   ties <- FIELDS integers for each group:
    its first component, its size, the index of its first unknown, the index of its normal unknown, and its
    number. places, moves (n,) <- from m on, components and their changes, by which the part of r along e
    becomes mu r_N; place (n,): index of the unknown of each component.
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
    """weights (size,) <- column t > 0 of the Householder matrix H = I - w w' / (1 + |e_k|), w = e + sign(e_k)
    e_k, of a group that begins at k: its columns t > 0 are a basis of the directions across e."""
    weights[0] = -e[k + t] if e[k] >= 0.0 else e[k + t]
    for j in range(1, size):
        weights[j] = (1.0 if j == t else 0.0) - e[k + t] * F[k + j]


@jit_inlined
def assemble(W, rho, soft, r, u, known, coefficient, state, own, order, e, F, ties, count, work, B, A, b):
    """A (f, f), b (f,) <- Newton's system with sliding groups, in the unknowns of the components `own` (f,).

    The equation of a group across e is (1 - share) r + share (rho u + soft dr) = 0, which does not involve
    |y|. work: zeros and a vector (n,); B (>= f, n) <- velocities of each unknown's unit impulse.
    """
    f, n, (nothing, weights) = own.shape[0], u.shape[0], work
    # 1. Velocities of unit impulses.
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
    # 2. Equations of normal and sticking components.
    for p in range(f):
        if state[own[p]] != SLIP:
            row, k, scale = A[p], own[p], rho[own[p]]
            for q in range(f):
                row[q] = scale * B[q, k]
            row[p] += soft
            b[p] = -scale * (u[k] + known[k])
    # 3. Equations across e.
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
    """Add to r the changes of the sliding groups for the changes b of the unknowns: along e with the normal
    impulse, and across e."""
    for c in range(count):
        own = ties[FIELDS * c : FIELDS * c + FIELDS]
        k, p, normal = own[0], own[2], coefficient[own[4]] * b[own[3]]
        along = 0.0
        for t in range(k + 1, k + own[1]):
            along += e[t] * b[p + t - k - 1]
        r[k] += normal * e[k] - (along if e[k] >= 0.0 else -along)
        for t in range(k + 1, k + own[1]):
            r[t] += normal * e[t] + b[p + t - k - 1] - F[t] * along
