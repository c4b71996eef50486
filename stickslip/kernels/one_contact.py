"""The one-contact solver by choice, and Gauss-Seidel sweeps that use it.

For Coulomb contacts in 3D and 2D; other blocks are solved as in `local.py`. A 2D contact is given a
second tangent that nothing moves (W_TT on the diagonal, q = 0), so that every method is written once.
A chosen method that misses its tolerance hands its contact to the exact solver, and the better of
the two answers is taken: a miss costs time, never the answer.

Kept apart from `gauss_seidel.py`, so that none of this is compiled unless it is asked for.
"""

import math

import numpy as np

from stickslip.kernels import cones, gauss_seidel, residuals, sweeps
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
def solve_block(method, i, K, local, local_start, q, old, kappa, spare, x, out):
    """out <- solution of block i alone, as `sweeps.solve_exactly` but by the method; x (d,) work."""
    at, d, g = local_start[i], K.offset[i + 1] - K.offset[i], K.group_offset[i]
    chosen, error = cones.is_coulomb(i, K), 0.0
    if chosen:
        error = solve_coulomb(method, local, at, d, q, K.coefficient[g], old, x)
    if not chosen or not error <= TOLERANCE:
        one.solve_block(i, K, local, local_start, q, old, kappa, spare, out)
        if not (chosen and error < coulomb_error(local, at, d, q, K.coefficient[g], out)):
            return
    for k in range(d):
        out[k] = x[k]


@jit
def sweep(problem, work, r):
    """One sweep as `gauss_seidel.sweep`; returns the squared change of r."""
    return gauss_seidel.sweep_by(solve_block, problem, work, r)


@jit
def run(problem, work, memory, tolerance, budget, r, best, control, history):
    """`gauss_seidel.run` with the one-contact method of the problem."""
    sweeps.run(
        sweep, gauss_seidel.velocities, sweeps.stay, residuals.natural_map, cones.project,
        problem, work, memory, tolerance, budget, r, best, control, history,
    )  # fmt: skip


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
