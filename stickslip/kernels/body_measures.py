"""The judge's measures of impulses between bodies, from the problem and the impulses alone.

M v = f + H r, u = H' v + u_bias, with M in body blocks and H in contact blocks.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import blocks, cones, residuals
from stickslip.kernels.jit import jit
from stickslip.kernels.measures import relative

AIM, ROUNDING = 1e-5, 1e-13
"""A guess that is an answer already is swept until its error is below ROUNDING, unless it is better than the
tolerance by AIM: taken as it stands in every step of a body at rest, its error would add up in velocities.
With AIM near 1 steps would go back and forth for ever: a guess with the error a, taken, leaves the velocity
a, and the next step, swept, takes that back with impulses that have the error a as the guess after it. With
1e-4 a box at rest did so at 6e-13, every second step swept; with 1e-5 one step in five is."""


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
    """Velocities of the contacts that bodies do not have [m/s], shape (n,)."""


@jit
def tell_measures(problem, free, r, v, told):
    """u of the judge; told <- its measures of r (n,) and v (count, k), and the equilibrium."""
    measures, equilibrium, u = measure_free(problem, free, r, v)
    for k in range(residuals.MEASURES):
        told[k] = measures[k]
    told[residuals.MEASURES] = equilibrium
    return u


@jit
def velocities(problem, r):
    """M^-1 (f + H r), shape (count, k)."""
    count, k = problem.f.shape
    v, pushed, scaled = np.zeros((count, k)), np.empty((count, k)), np.empty(k)
    blocks.blocks_to_bodies(problem.bodies, problem.K.offset, problem.rows, r, pushed)
    for b in range(count):
        for i in range(k):
            pushed[b, i] += problem.f[b, i]
        blocks.add_velocity(problem.root[b], pushed[b], scaled, v[b])
    return v


class Unloaded(NamedTuple):
    """A problem without impulses: what follows from its data alone, for sweeps and for the judge."""

    J: Any
    """H' F, shape (n, 2, k)."""
    diagonal: Any
    """Of W = J J', shape (n,)."""
    v: Any
    """Velocities of the bodies, shape (count, k)."""
    u: Any
    """Velocities of the contacts, shape (n,)."""


@jit
def unloaded(problem):
    """The `Unloaded` of a `BodyProblem`."""
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
    """(measures, equilibrium, u): all that the judge says of r (n,) and v (count, k), from scratch."""
    problem = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias)
    return measure_free(problem, unloaded(problem), r, v)


@jit
def measure_free(problem, free, r, v):
    """`measure` of a `BodyProblem`; free: its `Unloaded`."""
    K, bodies, rows, _, _, f, u_bias = problem
    pushed, u, own = np.empty(f.shape), np.empty(r.shape[0]), 0.0
    blocks.blocks_to_bodies(bodies, K.offset, rows, r, pushed)
    sums = balance(problem, free.v, pushed, v, 0, f.shape[0])
    blocks.bodies_to_blocks(bodies, K.offset, rows, v, u_bias, u)
    for j in range(r.shape[0]):
        own += (free.diagonal[j] * r[j]) * (free.diagonal[j] * r[j])
    out = residuals.measure(K, residuals.EXACT, free.diagonal, r, u, free.u)
    return out, equilibrium(sums, own), u


@jit
def balance(problem, v_free, pushed, v, first, end):
    """Sums over the bodies from `first` to `end`, shape (7,): squares of the errors of momenta and of
    velocities, of M v, f, pushed = H r, of v, and of v_free."""
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
def equilibrium(sums, own):
    """The measure of that name from the `balance` of all bodies, and the squares of W_ii r_i added up."""
    largest, speed = max(sums[2], sums[3], sums[4]), max(sums[5], sums[6], own)
    return max(relative(sums[0], largest), relative(sums[1], speed))


@jit
def worst(told):
    """The largest of the relative measures."""
    return max(told[residuals.NATURAL], told[residuals.SCALED], told[residuals.MEASURES])


@jit
def is_good(told, tolerance):
    """Whether the judge takes an answer, and the equilibrium is one."""
    return residuals.is_solved(told, tolerance) and told[residuals.MEASURES] <= tolerance


class Guess(NamedTuple):
    """Impulses to begin with, and what the judge says of them."""

    free: Any
    """`Unloaded`, the problem without impulses."""
    r: Any
    """The impulses, in K [N s], shape (n,)."""
    v: Any
    """Velocities of the bodies with them [m/s, rad/s], shape (count, k)."""
    u: Any
    """Velocities of the contacts [m/s], shape (n,)."""
    told: Any
    """The judge's measures and the equilibrium [-], shape (MEASURES + 1,)."""


@jit
def measure_guess(problem, guess):
    """A guess, projected on K, before the judge."""
    r, told = np.empty(guess.shape[0]), np.empty(residuals.MEASURES + 1)
    cones.project(problem.K, guess, r)
    v, free = velocities(problem, r), unloaded(problem)
    u = tell_measures(problem, free, r, v, told)
    return Guess(free, r, v, u, told)


@jit
def is_enough(told, tolerance):
    """Whether an answer with these measures is taken as it is: see AIM."""
    return is_good(told, tolerance) and worst(told) <= max(AIM * tolerance, min(ROUNDING, tolerance))
