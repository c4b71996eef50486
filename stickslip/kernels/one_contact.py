"""The one-contact solver by choice, and Gauss-Seidel sweeps that use it.

For Coulomb contacts in 3D and 2D; other blocks are solved as in `local.py`. A 2D contact is given a
second tangent that nothing moves (W_TT on the diagonal, q = 0), so that every method is written once.
A chosen method that misses its tolerance hands its contact to the exact solver, and the better of
the two answers is taken: a miss costs time, never the answer.

Kept apart from `gauss_seidel.py`, so that none of this is compiled unless it is asked for.
"""

from stickslip.kernels import cones, contact_law, gauss_seidel, sweeps
from stickslip.kernels.contact_law import TOLERANCE, Contact, error_of
from stickslip.kernels.jit import jit
from stickslip.kernels.one_iterations import by_newton, by_projection
from stickslip.kernels.one_slips import by_enumeration, by_quartic

EXACT, PROJECTION, NEWTON, QUARTIC, ENUMERATION = 0, 1, 2, 3, 4
METHODS = ("exact", "projection", "newton", "quartic", "enumeration")
"""Names of the methods by number."""


@jit
def contact_of(local, at, d, q, mu):
    """The `Contact` of d = 3 or 2 components whose W_ii stands at local[at].   q (d,)."""
    if d == 3:
        return Contact(
            local[at], local[at + 1], local[at + 2], local[at + 3], local[at + 4], local[at + 5],
            local[at + 6], local[at + 7], local[at + 8], q[0], q[1], q[2], mu,
        )  # fmt: skip
    w = local[at + 3]
    return Contact(local[at], local[at + 1], 0.0, local[at + 2], w, 0.0, 0.0, 0.0, w, q[0], q[1], 0.0, mu)


@jit
def solve_coulomb(method, c, d, r, out):
    """out <- impulse of a contact of d = 3 or 2 components by a method other than `EXACT`; its error.

    r, out (d,).
    """
    start = contact_law.three(r, 0, d)
    if method == PROJECTION:
        found, error = by_projection(c, start)
    elif method == NEWTON:
        found, error = by_newton(c, start)
    elif method == QUARTIC:
        found, error = by_quartic(c, start)
    else:
        found, error = by_enumeration(c, start)
    out[0], out[1] = found[0], found[1]
    if d == 3:
        out[2] = found[2]
    return error


@jit
def solve_block(i, problem, work):
    """bench[2] <- solution of block i alone, as `sweeps.solve_exactly` but by the method; bench[3]: work."""
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
    """One sweep as `gauss_seidel.sweep`; returns the squared change of r."""
    return gauss_seidel.sweep_by(solve_block, problem, work, r)


@jit
def run(problem, work, memory, tolerance, budget, course):
    """`gauss_seidel.run` with the one-contact method of the problem."""
    r, best, control, history = course
    sweeps.run(
        sweep, gauss_seidel.velocities, sweeps.stay, contact_law.natural_map, cones.project,
        problem, work, memory, tolerance, budget, r, best, control, history,
    )  # fmt: skip
