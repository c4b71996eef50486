"""The nonsmooth maps over all blocks, and what goes between them and Newton's linear systems.

A, B (nb, dmax, dmax) hold dF_i/dr_i and dF_i/du_i block by block (see `maps.py`); the system of the
blocks that are not open is assembled by `prox_newton.assemble`.
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
