"""Small dense contact problems in one call: pivots or sweeps, and the judge's word.

Steps of small systems are mostly calls. So this takes W as one flat array and makes its own work arrays;
what is not solved here is left to the solvers. Arrays that it only reads are given read-only, as the judge
is given them: then both are the same compiled kernels.
"""

import numpy as np

from stickslip.kernels import cones, friction, residuals
from stickslip.kernels import local as one
from stickslip.kernels.dense_lu import lu_solve
from stickslip.kernels.jit import jit

SWEEPS = 200
"""Most sweeps: problems of a few contacts that need more are for Newton's method."""
SMALL = 30
"""Most unknowns of a problem that is solved in one call."""


@jit
def solve(
    kind, offset, lower, upper, group_offset, group_size, coefficient, W, u_free, tolerance, r, r_read, u
):  # fmt: skip
    """(measures, sweeps, solved) of r, u <- the answer of u = W r + u_free with its law.

    W (n n,) row by row, u_free (n,); r (n,) the guess on entry, r_read the same memory to read; u (n,).
    measures (MEASURES,) are the judge's.
    """
    n, nb = u_free.shape[0], kind.shape[0]
    diagonal = np.empty(n)
    for k in range(n):
        diagonal[k] = W[k * n + k]
    if n == 1:  # the case met most, in full: the answer of one component does not depend on the guess
        r[0] = one.one_component(W[0], u_free[0], lower[0], upper[0], r[0])
        velocities(offset, W, r, u_free, u)
        measures = residuals.measure(
            kind, offset, lower, upper, group_offset, group_size, coefficient, diagonal, r_read, u, u_free
        )
        return measures, 1, residuals.is_solved(measures, tolerance)
    cones.project(kind, offset, lower, upper, group_offset, group_size, coefficient, r, r)
    start, local, bench = local_solves(kind, offset, group_offset, W)
    kappa, done, look = np.zeros(coefficient.shape[0]), 0, 1 if nb == 1 else 0
    while True:
        if done >= look:
            velocities(offset, W, r, u_free, u)
            measures = residuals.measure(
                kind, offset, lower, upper, group_offset, group_size, coefficient, diagonal, r_read, u, u_free
            )
            if residuals.is_solved(measures, tolerance):
                return measures, done, True
            if done >= SWEEPS or not measures[residuals.NATURAL] < np.inf:
                return measures, done, False
            look = min(done + 1 + done // 3, SWEEPS)
        sweep(
            kind, offset, lower, upper, group_offset, group_size, coefficient, W, local, start, u_free,
            r, kappa, bench,
        )  # fmt: skip
        done += 1


def solve_into(
    kind, offset, lower, upper, group_offset, group_size, coefficient, W, u_free, tolerance, r, r_read, u, out
):  # fmt: skip
    """`solve` as a function that other kernels are handed: out <- measures, sweeps, 1 where solved."""
    measures, sweeps, solved = solve(
        kind, offset, lower, upper, group_offset, group_size, coefficient, W, u_free, tolerance, r, r_read, u
    )
    for k in range(residuals.MEASURES):
        out[k] = measures[k]
    out[residuals.MEASURES], out[residuals.MEASURES + 1] = sweeps, 1.0 if solved else 0.0


@jit
def velocities(offset, W, r, u_free, u):
    """u <- W r + u_free, summed block by block as the judge sums, so that it finds the same numbers."""
    n, nb = r.shape[0], offset.shape[0] - 1
    for i in range(nb):
        for k in range(offset[i], offset[i + 1]):
            total = u_free[k]
            for j in range(nb):
                s = 0.0
                for m in range(offset[j], offset[j + 1]):
                    s += W[k * n + m] * r[m]
                total += s
            u[k] = total


@jit
def local_solves(kind, offset, group_offset, W):
    """(start, local, bench): W_ii of each block with what `local.solve_block` wants after it, and work."""
    n, nb = offset[-1], kind.shape[0]
    start, size, d = np.empty(nb, np.int64), 0, 1
    for i in range(nb):
        start[i], own = size, offset[i + 1] - offset[i]
        size += own * own + extras(i, kind, group_offset, own)
        d = max(d, own)
    local, bench = np.zeros(size), np.zeros((2 * d + 5, 2 * d + 2))
    for i in range(nb):
        a, own, at = offset[i], offset[i + 1] - offset[i], start[i]
        for k in range(own):
            for m in range(own):
                local[at + k * own + m] = W[(a + k) * n + a + m]
        if kind[i] == cones.FREE:
            invert(local, at, own)
        elif kind[i] == cones.FRICTION:
            if own == 3 and group_offset[i + 1] - group_offset[i] == 1:
                one.prepare_coulomb3(local, at)
            elif own > 2:
                friction.prepare_friction(local, at, own, bench[3:])
    return start, local, bench


@jit
def extras(i, kind, group_offset, d):
    """How many numbers follow W_ii of block i of d components."""
    if kind[i] == cones.FREE:
        return d * d
    if kind[i] == cones.FRICTION and d > 2:
        if d == 3 and group_offset[i + 1] - group_offset[i] == 1:
            return one.EXTRAS_3
        return friction.EXTRAS + (d - 1) * d
    return 0


@jit
def invert(local, at, d):
    """The inverse of the block at local[at:] behind it; zero where it is singular."""
    J, b = np.empty((d, d)), np.empty(d)
    for c in range(d):
        for i in range(d):
            b[i] = 1.0 if i == c else 0.0
            for j in range(d):
                J[i, j] = local[at + i * d + j]
        if lu_solve(J, b, d):
            for i in range(d):
                local[at + d * d + i * d + c] = b[i]


@jit
def sweep(
    kind, offset, lower, upper, group_offset, group_size, coefficient, W, local, start, u_free, r, kappa,
    bench,
):  # fmt: skip
    """One sweep over the blocks, each solved exactly.   bench as `local_solves` makes it."""
    q, old, out, n = bench[0], bench[1], bench[2], r.shape[0]
    for i in range(kind.shape[0]):
        a, d, at = offset[i], offset[i + 1] - offset[i], start[i]
        for k in range(d):
            old[k] = r[a + k]
        for k in range(d):
            s = u_free[a + k]
            for m in range(n):
                s += W[(a + k) * n + m] * r[m]
            for m in range(d):  # what `local` holds of W_ii may carry a proximal term
                s -= local[at + k * d + m] * old[m]
            q[k] = s
        one.solve_block(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient,
            local, start, q, old, kappa, bench[3:], out,
        )  # fmt: skip
        for k in range(d):
            r[a + k] = out[k]
