"""Gauss-Seidel sweeps with a selectable one-contact solver.

The methods solve Coulomb contacts in 3D and 2D; other blocks are solved as in `local.py`. A 2D contact is
extended by a second tangent without load (W_TT on the diagonal, q = 0), so that one implementation serves
both. If a method misses its tolerance, the exact solver is applied as well, and the better of the two
solutions is taken.

This file is separate from `gauss_seidel.py` so that it is compiled only if it is used.
"""

from stickslip.kernels import cones, contact_law, gauss_seidel, sweeps
from stickslip.kernels.contact_law import TOLERANCE, Contact, error_of
from stickslip.kernels.jit import jit
from stickslip.kernels.one_iterations import by_newton, by_projection
from stickslip.kernels.one_slips import by_enumeration, by_quartic

EXACT, PROJECTION, NEWTON, QUARTIC, ENUMERATION = 0, 1, 2, 3, 4
METHODS = ("exact", "projection", "newton", "quartic", "enumeration")
"""Names of the methods, by number."""


@jit
def contact_of(local, at, d, q, mu):
    """Return the `Contact` of d = 3 or 2 components with W_ii at local[at].   q (d,)."""
    if d == 3:
        return Contact(
            local[at], local[at + 1], local[at + 2], local[at + 3], local[at + 4], local[at + 5],
            local[at + 6], local[at + 7], local[at + 8], q[0], q[1], q[2], mu,
        )  # fmt: skip
    w = local[at + 3]
    return Contact(local[at], local[at + 1], 0.0, local[at + 2], w, 0.0, 0.0, 0.0, w, q[0], q[1], 0.0, mu)


@jit
def solve_coulomb(method, c, d, r, out):
    """out <- impulse of a contact of d = 3 or 2 components, by a method other than `EXACT`; return its error.

    r: present impulse; r, out (d,).
    """
    start = contact_law.three(r, 0, d)
    if method == PROJECTION:
        impulse, error = by_projection(c, start)
    elif method == NEWTON:
        impulse, error = by_newton(c, start)
    elif method == QUARTIC:
        impulse, error = by_quartic(c, start)
    else:
        impulse, error = by_enumeration(c, start)
    out[0], out[1] = impulse[0], impulse[1]
    if d == 3:
        out[2] = impulse[2]
    return error


@jit
def solve_block(i, problem, work):
    """bench[2] <- solution of the local problem of block i by the method of the problem; bench[3]: work."""
    K, q, old, out, x = problem.K, work.bench[0], work.bench[1], work.bench[2], work.bench[3]
    at, d, g = problem.local_start[i], K.offset[i + 1] - K.offset[i], K.group_offset[i]
    if not cones.is_coulomb(i, K):
        sweeps.solve_exactly(i, problem, work)
        return
    c = contact_of(problem.local, at, d, q, K.coefficient[g])
    error = solve_coulomb(problem.method, c, d, old, x)
    if not error <= TOLERANCE:
        sweeps.solve_exactly(i, problem, work)
        if not error < error_of(c, contact_law.three(out, 0, d)):
            return
    for k in range(d):
        out[k] = x[k]


@jit
def sweep(problem, work, r):
    """Make one sweep, as `gauss_seidel.sweep`; return the squared change of r."""
    return gauss_seidel.sweep_by(solve_block, problem, work, r)


@jit
def run(problem, work, memory, tolerance, budget, course):
    """Call `sweeps.run` with the one-contact method of the problem, as `gauss_seidel.run`."""
    r, best, control, history = course
    sweeps.run(
        sweep, gauss_seidel.velocities, sweeps.stay, contact_law.natural_map, cones.project,
        problem, work, memory, tolerance, budget, r, best, control, history,
    )  # fmt: skip
