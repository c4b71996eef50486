"""Newton systems over all blocks: F and its Jacobians, and the reduced matrix A + B W of those not open.

A, B (nb, dmax, dmax) hold dF_i/dr_i and dF_i/du_i block by block (see `maps.py`).
"""

import math

from stickslip.kernels import cone_maps, maps
from stickslip.kernels.jit import jit


@jit
def augmentation(kind, offset, group_offset, group_size, local, local_start, rho, length, out):
    """out <- rho of the maps [kg]: 1/W_NN, and 1/lambda_max of the symmetric part of W_gg for a group g.

    local holds W_ii row by row at local_start; where there is nothing, the judge's rho (nb,) and
    length (n,) stand in.   out (n,).
    """
    for i in range(kind.shape[0]):
        a, d, at = offset[i], offset[i + 1] - offset[i], local_start[i]
        for k in range(d):
            w = local[at + k * d + k]
            out[a + k] = 1.0 / w if w > 0.0 else rho[i] * length[a + k] * length[a + k]
        k = 1
        for g in range(group_offset[i], group_offset[i + 1]):
            w = largest_eigenvalue(local, at, d, k, group_size[g])
            for _ in range(group_size[g]):
                out[a + k] = 1.0 / w if w > 0.0 else rho[i] * length[a + k] * length[a + k]
                k += 1


@jit
def largest_eigenvalue(local, at, d, k, size):
    """Of the symmetric part of a group of one or two components; the trace, a bound, of larger ones."""
    if size == 2:
        p, s = local[at + k * d + k], local[at + (k + 1) * d + k + 1]
        o = 0.5 * (local[at + k * d + k + 1] + local[at + (k + 1) * d + k])
        return 0.5 * (p + s) + math.hypot(0.5 * (p - s), o)
    trace = 0.0
    for m in range(k, k + size):
        trace += local[at + m * d + m]
    return trace


@jit
def energy(rho, F):
    """sum_k F_k²/rho_k [J]: the square of F in a norm without units to choose.   rho, F (n,)."""
    s = 0.0
    for k in range(F.shape[0]):
        s += F[k] * F[k] / rho[k]
    return s


@jit
def evaluate_alart_curnier(
    kind, offset, lower, upper, group_offset, group_size, coefficient, rho, r, u, F, A, B, state
):  # fmt: skip
    """F (n,), A, B (nb, d, d), state (nb,) of every block; returns `energy` of F."""
    for i in range(kind.shape[0]):
        state[i] = maps.alart_curnier(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient, rho, r, u, F, A[i], B[i]
        )
    return energy(rho, F)


@jit
def evaluate_jean_moreau(
    kind, offset, lower, upper, group_offset, group_size, coefficient, rho, r, u, F, A, B, state
):  # fmt: skip
    """As `evaluate_alart_curnier`."""
    for i in range(kind.shape[0]):
        state[i] = maps.jean_moreau(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient, rho, r, u, F, A[i], B[i]
        )
    return energy(rho, F)


@jit
def evaluate_natural(
    kind, offset, lower, upper, group_offset, group_size, coefficient, rho, r, u, F, A, B, state
):  # fmt: skip
    """As `evaluate_alart_curnier`."""
    for i in range(kind.shape[0]):
        state[i] = cone_maps.natural_newton(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient, rho, r, u, F, A[i], B[i]
        )
    return energy(rho, F)


@jit
def evaluate_fischer_burmeister(
    kind, offset, lower, upper, group_offset, group_size, coefficient, rho, r, u, F, A, B, state
):  # fmt: skip
    """As `evaluate_alart_curnier`."""
    for i in range(kind.shape[0]):
        state[i] = cone_maps.fischer_burmeister(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient, rho, r, u, F, A[i], B[i]
        )
    return energy(rho, F)


@jit
def assemble(
    offset, row_start, column, data_start, data, order, weight, alpha, x, F, A, B,
    state, place, indptr, indices, entries, rhs, w,
):  # fmt: skip
    """(A + B (W + alpha diag(weight))) dx = -F of the blocks that are not open, in `order`, as CSR rows.

    Open blocks take dx = -x at once. Returns the size m; place (nb,): first row of each block, -1 if
    open. Indices are not sorted within a row.   x, F, weight (n,), w (d,) work.
    """
    m = 0
    for p in range(order.shape[0]):
        i = order[p]
        place[i] = -1
        if state[i] != 0:
            place[i] = m
            m += offset[i + 1] - offset[i]
    at = 0
    for p in range(order.shape[0]):
        i = order[p]
        if place[i] < 0:
            continue
        a, d, width = offset[i], offset[i + 1] - offset[i], 0
        for k in range(d):
            w[k] = 0.0
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            c, e, start = offset[j], offset[j + 1] - offset[j], data_start[b]
            if place[j] >= 0:
                width += e
                continue
            for k in range(d):
                for q in range(e):
                    w[k] += data[start + k * e + q] * x[c + q]
        for k in range(d):
            s = -F[a + k]
            for q in range(d):
                s += B[i, k, q] * w[q]
            rhs[place[i] + k] = s
            indptr[place[i] + k] = at + k * width
        done = 0
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            if place[j] < 0:
                continue
            e, start = offset[j + 1] - offset[j], data_start[b]
            for k in range(d):
                to = at + k * width + done
                for q in range(e):
                    s = 0.0
                    for t in range(d):
                        s += B[i, k, t] * data[start + t * e + q]
                    if i == j:
                        s += A[i, k, q] + B[i, k, q] * alpha * weight[a + q]
                    indices[to + q], entries[to + q] = place[j] + q, s
            done += e
        at += d * width
    indptr[m] = at
    return m


@jit
def fill_dense(m, indptr, indices, entries, J):
    """J[:m, :m] <- the CSR rows.   J (m, m)."""
    for k in range(m):
        for c in range(m):
            J[k, c] = 0.0
        for at in range(indptr[k], indptr[k + 1]):
            J[k, indices[at]] = entries[at]


@jit
def spread(offset, place, solution, x, dx):
    """dx <- the step of every component: from the system, and -x where a block is open.   x, dx (n,)."""
    for i in range(place.shape[0]):
        for k in range(offset[i], offset[i + 1]):
            dx[k] = -x[k] if place[i] < 0 else solution[place[i] + k - offset[i]]


@jit
def flatten(offset, blocks, out):
    """out <- the leading d x d part of each block, row by row.   blocks (nb, dmax, dmax), out flat."""
    at = 0
    for i in range(offset.shape[0] - 1):
        d = offset[i + 1] - offset[i]
        for a in range(d):
            for b in range(d):
                out[at] = blocks[i, a, b]
                at += 1
