"""Residuals of the judge for impulses between bodies, computed from the problem and the impulses only.

M v = f + H r, u = H' v + u_bias, with M in body blocks and H in contact blocks.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import blocks, cones, residuals
from stickslip.kernels.jit import jit
from stickslip.kernels.measures import relative

AIM, ROUNDING = 1e-5, 1e-13
"""Errors below which a guess is accepted without sweeps: AIM times the tolerance, or ROUNDING [-].

A guess that merely satisfies the tolerance is still swept: accepted in every step of a body at rest, its
error would accumulate in the velocities. With AIM near 1 the steps alternate: a guess accepted with error a
leaves the velocity a, which the next step removes by sweeps, with impulses that are again a guess of error a.
With 1e-4 every second step of a box at rest is swept, at an error of 6e-13; with 1e-5 one step in five."""


class BodyProblem(NamedTuple):
    """Contacts over `count` bodies of k velocities each."""

    K: Any
    """The set, a `Cones` of nc blocks and n components."""
    bodies: Any
    """Bodies of each contact, -1 for a fixed side, shape (nc, 2)."""
    rows: Any
    """H' by contacts, shape (n, 2, k)."""
    M: Any
    """Mass matrices [kg, kg m²], shape (count, k, k)."""
    root: Any
    """F of each body with M^-1 = F F', shape (count, k, k)."""
    f: Any
    """Momentum without impulses [N s, N m s], shape (count, k)."""
    u_bias: Any
    """Velocities of the contacts other than H' v [m/s], shape (n,)."""


@jit
def tell_measures(problem, free, r, v, report):
    """report (MEASURES + 1,) <- measures of the judge for r (n,) and v (count, k), then the equilibrium.

    Return u.
    """
    measures, equilibrium, u = measure_free(problem, free, r, v)
    for k in range(residuals.MEASURES):
        report[k] = measures[k]
    report[residuals.MEASURES] = equilibrium
    return u


@jit
def velocities(problem, r):
    """Return M^-1 (f + H r), shape (count, k)."""
    count, k = problem.f.shape
    v, pushed, scaled = np.zeros((count, k)), np.empty((count, k)), np.empty(k)
    blocks.blocks_to_bodies(problem.bodies, problem.K.offset, problem.rows, r, pushed)
    for b in range(count):
        for i in range(k):
            pushed[b, i] += problem.f[b, i]
        blocks.add_velocity(problem.root[b], pushed[b], scaled, v[b])
    return v


class Unloaded(NamedTuple):
    """Free motion of a problem, and its W: quantities that do not depend on the impulses."""

    J: Any
    """H' F, shape (n, 2, k)."""
    diagonal: Any
    """Diagonal of W = J J', shape (n,)."""
    v: Any
    """Free velocities of the bodies, shape (count, k)."""
    u: Any
    """Free velocities of the contacts, shape (n,)."""


@jit
def unloaded(problem):
    """Return the `Unloaded` of a `BodyProblem`."""
    K, bodies, rows, _, root, f, u_bias = problem
    count, k = f.shape
    J, diagonal, v, u = (
        np.empty(rows.shape),
        np.zeros(rows.shape[0]),
        np.zeros((count, k)),
        np.empty(rows.shape[0]),
    )
    blocks.scale_rows(bodies, K.offset, rows, root, J)
    for j in range(rows.shape[0]):
        for side in range(2):
            for m in range(k):
                diagonal[j] += J[j, side, m] * J[j, side, m]
    scaled = np.empty(k)
    for b in range(count):
        blocks.add_velocity(root[b], f[b], scaled, v[b])
    blocks.bodies_to_blocks(bodies, K.offset, rows, v, u_bias, u)
    return Unloaded(J, diagonal, v, u)


@jit
def measure(K, bodies, rows, M, root, f, u_bias, r, v):
    """Return (measures, equilibrium, u) for r (n,) and v (count, k), computed from scratch."""
    problem = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias)
    return measure_free(problem, unloaded(problem), r, v)


@jit
def measure_free(problem, free, r, v):
    """Return (measures, equilibrium, u) of a `BodyProblem`, as `measure`; free: its `Unloaded`."""
    K, bodies, rows, _, _, f, u_bias = problem
    pushed, u, own_squares = np.empty(f.shape), np.empty(r.shape[0]), 0.0
    blocks.blocks_to_bodies(bodies, K.offset, rows, r, pushed)
    sums = balance(problem, free.v, pushed, v, 0, f.shape[0])
    blocks.bodies_to_blocks(bodies, K.offset, rows, v, u_bias, u)
    for j in range(r.shape[0]):
        own_squares += (free.diagonal[j] * r[j]) * (free.diagonal[j] * r[j])
    out = residuals.measure(K, residuals.EXACT, free.diagonal, r, u, free.u)
    return out, equilibrium(sums, own_squares), u


@jit
def balance(problem, v_free, pushed, v, first, end):
    """Return sums of squares over the bodies from `first` to `end`, shape (7,).

    They are those of the errors of momenta and of velocities, of M v, f, pushed = H r, v and v_free.
    """
    M, root, f, k = problem.M, problem.root, problem.f, v.shape[1]
    total, scaled, moved, sums = np.empty(k), np.empty(k), np.empty(k), np.zeros(7)
    for b in range(first, end):
        for i in range(k):
            total[i], moved[i] = f[b, i] + pushed[b, i], 0.0
        blocks.add_velocity(root[b], total, scaled, moved)
        for i in range(k):
            momentum = 0.0
            for j in range(k):
                momentum += M[b, i, j] * v[b, j]
            gap = momentum - f[b, i] - pushed[b, i]
            sums[0] += gap * gap
            gap = v[b, i] - moved[i]
            sums[1] += gap * gap
            sums[2] += momentum * momentum
            sums[3] += f[b, i] * f[b, i]
            sums[4] += pushed[b, i] * pushed[b, i]
            sums[5] += v[b, i] * v[b, i]
            sums[6] += v_free[b, i] * v_free[b, i]
    return sums


@jit
def equilibrium(sums, own_squares):
    """Return the relative error of M v = f + H r: the larger of those of momenta and of velocities.

    sums: the `balance` of all bodies; own_squares: sum of (W_kk r_k)², an additional scale of the velocities.
    """
    largest, speed = max(sums[2], sums[3], sums[4]), max(sums[5], sums[6], own_squares)
    return max(relative(sums[0], largest), relative(sums[1], speed))


@jit
def worst(report):
    """Return the largest relative residual of a report."""
    return max(report[residuals.NATURAL], report[residuals.SCALED], report[residuals.MEASURES])


@jit
def is_good(report, tolerance):
    """Return whether a report is within the judge's bounds, including the equilibrium."""
    return residuals.is_solved(report, tolerance) and report[residuals.MEASURES] <= tolerance


class Guess(NamedTuple):
    """Initial impulses and the judge's residuals of them."""

    free: Any
    """Free motion of the problem, an `Unloaded`."""
    r: Any
    """Impulses, in K [N s], shape (n,)."""
    v: Any
    """Velocities of the bodies with them [m/s, rad/s], shape (count, k)."""
    u: Any
    """Velocities of the contacts [m/s], shape (n,)."""
    report: Any
    """Report: measures of the judge and the equilibrium [-], shape (MEASURES + 1,)."""


@jit
def measure_guess(problem, guess):
    """Return the `Guess` from impulses `guess` (n,), projected on K."""
    r, report = np.empty(guess.shape[0]), np.empty(residuals.MEASURES + 1)
    cones.project(problem.K, guess, r)
    v, free = velocities(problem, r), unloaded(problem)
    u = tell_measures(problem, free, r, v, report)
    return Guess(free, r, v, u, report)


@jit
def is_enough(report, tolerance):
    """Return whether a guess with this report is accepted without sweeps (see AIM)."""
    return is_good(report, tolerance) and worst(report) <= max(AIM * tolerance, min(ROUNDING, tolerance))
