"""The nonsmooth maps over all blocks, and what goes between them and Newton's linear systems.

A, B (nb, dmax, dmax) hold dF_i/dr_i and dF_i/du_i block by block (see `maps.py`); the system of the
blocks that are not open is assembled by `prox_newton.assemble`, that of all blocks, in the blocks of
W, by `assemble_blocks`.
"""

from stickslip.kernels import cone_maps, dense_lu, maps
from stickslip.kernels.jit import jit


@jit
def energy(rho, F):
    """sum_k F_k²/rho_k [J]: the square of F in a norm without units to choose.   rho, F (n,)."""
    s = 0.0
    for k in range(F.shape[0]):
        s += F[k] * F[k] / rho[k]
    return s


@jit
def evaluate(map_of_block, K, rho, r, u, F, A, B, state):
    """F (n,), A, B (nb, d, d), state (nb,) of every block by one of the maps; returns `energy` of F."""
    for i in range(K.kind.shape[0]):
        state[i] = map_of_block(i, K, rho, r, u, F, A[i], B[i])
    return energy(rho, F)


@jit
def evaluate_alart_curnier(K, rho, r, u, F, A, B, state):
    """`evaluate` by Alart and Curnier's map."""
    return evaluate(maps.alart_curnier, K, rho, r, u, F, A, B, state)


@jit
def evaluate_jean_moreau(K, rho, r, u, F, A, B, state):
    """`evaluate` by Jean and Moreau's map."""
    return evaluate(maps.jean_moreau, K, rho, r, u, F, A, B, state)


@jit
def evaluate_natural(K, rho, r, u, F, A, B, state):
    """`evaluate` by the natural map."""
    return evaluate(cone_maps.natural_newton, K, rho, r, u, F, A, B, state)


@jit
def evaluate_fischer_burmeister(K, rho, r, u, F, A, B, state):
    """`evaluate` by the Fischer–Burmeister map."""
    return evaluate(cone_maps.fischer_burmeister, K, rho, r, u, F, A, B, state)


@jit
def solve_dense(m, indptr, indices, entries, rhs, J):
    """rhs[:m] <- solution of the system given by CSR rows; false if it is singular.   J (m, m) work."""
    for k in range(m):
        for c in range(m):
            J[k, c] = 0.0
        for at in range(indptr[k], indptr[k + 1]):
            J[k, indices[at]] = entries[at]
    return dense_lu.lu_solve(J, rhs, m)


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


@jit
def assemble_blocks(
    W, weight, alpha, x, F_values, A, B, contact_state,
    place, values, rhs,
):  # fmt: skip
    """The Newton system of all contacts in the blocks of W; returns its size.

    Open contacts have the identity, dx = -x, and zeros beside it. values: as long as data; place as in
    `prox_newton.assemble`, but in the order of the contacts.
    """
    offset, row_start, column, data_start, data = W.offset, W.row_start, W.column, W.data_start, W.data
    for i in range(contact_state.shape[0]):
        a, d = offset[i], offset[i + 1] - offset[i]
        is_open = contact_state[i] == 0
        place[i] = -1 if is_open else a
        for k in range(d):
            rhs[a + k] = -x[a + k] if is_open else -F_values[a + k]
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            e, start = offset[j + 1] - offset[j], data_start[b]
            if is_open:
                for k in range(d * e):
                    values[start + k] = 0.0
                if i == j:
                    for k in range(d):
                        values[start + k * d + k] = 1.0
                continue
            for k in range(d):
                to = start + k * e
                for q in range(e):
                    values[to + q] = 0.0
                for t in range(d):
                    f, at = B[i, k, t], start + t * e
                    if f != 0.0:
                        for q in range(e):
                            values[to + q] += f * data[at + q]
                if i == j:
                    for q in range(d):
                        values[to + q] += A[i, k, q] + B[i, k, q] * alpha * weight[a + q]
    return offset[contact_state.shape[0]]
