"""The one-contact solver by choice, and Gauss-Seidel sweeps that use it.

For Coulomb contacts in 3D and 2D; other blocks are solved as in `local.py`. A 2D contact is given a
second tangent that nothing moves (W_TT on the diagonal, q = 0), so that every method is written once.
A chosen method that misses its tolerance hands its contact to the exact solver, and the better of
the two answers is taken: a miss costs time, never the answer.

Kept apart from `gauss_seidel.py`, so that none of this is compiled unless it is asked for.
"""

import math

import numpy as np

from stickslip.kernels import blocks, cones, gauss_seidel, schedule
from stickslip.kernels import local as one
from stickslip.kernels.contact_law import TOLERANCE, error_of
from stickslip.kernels.jit import jit
from stickslip.kernels.one_enumeration import by_enumeration
from stickslip.kernels.one_newton import by_newton
from stickslip.kernels.one_projection import by_projection
from stickslip.kernels.quartic import by_quartic

EXACT, PROJECTION, NEWTON, QUARTIC, ENUMERATION = 0, 1, 2, 3, 4
METHODS = ("exact", "projection", "newton", "quartic", "enumeration")
"""Names of the methods by number."""


@jit
def by_method(method, w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2):
    """(r_N, r_1, r_2, error) of a 3D Coulomb contact by one of the methods other than `EXACT`."""
    if method == PROJECTION:
        return by_projection(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2)
    if method == NEWTON:
        return by_newton(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2)
    if method == QUARTIC:
        return by_quartic(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2)
    return by_enumeration(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2)


@jit
def solve_coulomb(method, local, at, d, q, mu, r, out):
    """out <- impulse of a Coulomb contact of d = 3 or 2 components; its error.   q, r, out (d,)."""
    if d == 3:
        out[0], out[1], out[2], error = by_method(
            method, local[at], local[at + 1], local[at + 2], local[at + 3], local[at + 4],
            local[at + 5], local[at + 6], local[at + 7], local[at + 8],
            q[0], q[1], q[2], mu, r[0], r[1], r[2],
        )  # fmt: skip
    else:
        w = local[at + 3]
        out[0], out[1], _, error = by_method(
            method, local[at], local[at + 1], 0.0, local[at + 2], w, 0.0, 0.0, 0.0, w,
            q[0], q[1], 0.0, mu, r[0], r[1], 0.0,
        )  # fmt: skip
    return error


@jit
def coulomb_error(local, at, d, q, mu, r):
    """Error of the impulse r of a Coulomb contact of d = 3 or 2 components.   q, r (d,)."""
    if d == 3:
        return error_of(
            local[at], local[at + 1], local[at + 2], local[at + 3], local[at + 4],
            local[at + 5], local[at + 6], local[at + 7], local[at + 8],
            q[0], q[1], q[2], mu, r[0], r[1], r[2],
        )  # fmt: skip
    w = local[at + 3]
    return error_of(
        local[at], local[at + 1], 0.0, local[at + 2], w, 0.0, 0.0, 0.0, w,
        q[0], q[1], 0.0, mu, r[0], r[1], 0.0,
    )  # fmt: skip


@jit
def solve_block(
    method, i, kind, offset, lower, upper, group_offset, group_size, coefficient,
    local, local_start, q, r, kappa, work, out, x,
):  # fmt: skip
    """out <- solution of block i alone, as `local.solve_block` but by the method; x (d,) work."""
    at, d, g = local_start[i], offset[i + 1] - offset[i], group_offset[i]
    chosen = kind[i] == cones.FRICTION and d <= 3 and group_offset[i + 1] - g == 1
    error = 0.0
    if chosen:
        error = solve_coulomb(method, local, at, d, q, coefficient[g], r, x)
    if not chosen or not error <= TOLERANCE:
        one.solve_block(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient,
            local, local_start, q, r, kappa, work, out,
        )  # fmt: skip
        if not (chosen and error < coulomb_error(local, at, d, q, coefficient[g], out)):
            return
    for k in range(d):
        out[k] = x[k]


@jit
def sweep(
    method, kind, offset, lower, upper, group_offset, group_size, coefficient,
    row_start, column, data_start, data, local, local_start, u_free, omega, r, kappa, bench, x,
):  # fmt: skip
    """One sweep as `gauss_seidel.sweep`; returns the squared change of r."""
    moved = 0.0
    q, old, out, work = bench[1], bench[2], bench[3], bench[4:]
    for i in range(kind.shape[0]):
        a, d = offset[i], offset[i + 1] - offset[i]
        for k in range(d):
            q[k], old[k] = u_free[a + k], r[a + k]
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            start, c, e = data_start[b], offset[j], offset[j + 1] - offset[j]
            if j == i:  # nothing, or the proximal term of a singular W_ii
                for k in range(d * d):
                    q[k // d] += (data[start + k] - local[local_start[i] + k]) * old[k % d]
                continue
            for k in range(d):
                for m in range(e):
                    q[k] += data[start + k * e + m] * r[c + m]
        solve_block(
            method, i, kind, offset, lower, upper, group_offset, group_size, coefficient,
            local, local_start, q, old, kappa, work, out, bench[0],
        )  # fmt: skip
        moved += gauss_seidel.relax(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient, omega, r, a, out, x
        )
        for k in range(d):
            r[a + k] = out[k]
    return moved


@jit
def run(
    method, kind, offset, lower, upper, group_offset, group_size, coefficient,
    row_start, column, data_start, data, local, local_start,
    rho, length, coefficient_scaled, u_free, omega, tolerance, budget,
    r, best, kappa, vectors, bench, control, history,
):  # fmt: skip
    """`gauss_seidel.run` with a one-contact method of choice."""
    schedule.begin(control)
    while schedule.goes_on(control, budget):
        if schedule.is_due(control, budget):
            blocks.multiply(offset, row_start, column, data_start, data, r, u_free, vectors[0])
            gauss_seidel.look(
                kind, offset, lower, upper, group_offset, group_size, coefficient, rho, length,
                coefficient_scaled, u_free, tolerance, r, best, vectors, bench[0], control, history,
            )  # fmt: skip
        else:
            moved = sweep(
                method, kind, offset, lower, upper, group_offset, group_size, coefficient,
                row_start, column, data_start, data, local, local_start, u_free, omega,
                r, kappa, bench, vectors[1],
            )  # fmt: skip
            schedule.swept(control, moved)


@jit
def solve_each(method, W, q, mu, r, error, own):
    """r, error <- many contacts, each by itself as in a sweep; own <- error of the method alone.

    W (nc, d, d), q, r (nc, d), d = 3 or 2, mu, error, own (nc,); r holds the starts on entry.
    """
    d, local = W.shape[1], np.empty(9 + one.EXTRAS_3)
    out, exact = np.zeros(3), np.zeros(3)
    for i in range(W.shape[0]):
        for k in range(d * d):
            local[k] = W[i, k // d, k % d]
        own[i] = math.inf
        if method != EXACT:
            own[i] = solve_coulomb(method, local, 0, d, q[i], mu[i], r[i], out)
        error[i] = own[i]
        if not own[i] <= TOLERANCE:
            if d == 3:
                one.prepare_coulomb3(local, 0)
                exact[0], exact[1], exact[2], _ = one.coulomb3(
                    local, 0, q[i, 0], q[i, 1], q[i, 2], mu[i], 0.0
                )
            else:
                exact[0], exact[1] = one.coulomb2(local, 0, q[i, 0], q[i, 1], mu[i])
            error[i] = coulomb_error(local, 0, d, q[i], mu[i], exact)
            if method == EXACT:
                own[i] = error[i]
            if own[i] < error[i]:
                error[i] = own[i]
            else:
                out[:] = exact
        for k in range(d):
            r[i, k] = out[k]
