"""Many steps of Euler-Moreau for linear systems of constant matrices in one compiled call.

With W = M - h θ A a part that is tied together by its multipliers goes over a step as

    x⁺ - x = W⁻¹ h (A x + c + old r_k) + h w W⁻¹ B lam,   y = C (x + ρ (x⁺ - x)) + D lam + e,   r = B lam

(`schemes/euler_moreau_newton.py` has the equations and their source), c and e known at every step. W⁻¹ is
kept as a matrix; whether what it gives solves the equations is seen from their residual, step by step. A step
that misses a tolerance, or is not finite, ends the march before it, and the ordinary step has its turn. A
signal that is to end the run ends it between two steps.
"""

import math

import numpy as np

from stickslip.kernels import small_boxes
from stickslip.kernels.callables import is_stopped
from stickslip.kernels.jit import jit
from stickslip.kernels.residuals import NATURAL, SCALED

X0, X1, LAM0, LAM1, FLOW0, FLOW1, XX, XL, LL = range(9)
"""Columns of `parts`: states, multipliers and systems, from and to; where its matrices of states by states,
states by multipliers, and multipliers by multipliers begin."""
COLUMNS = 9
NOTHING = 1e-290
"""What is smaller is zero: numbers so close to the least that there are have lost their digits."""


@jit
def march(
    parts, flows, matrices, bounds, options, stop, c, e, e_end, x, lam, r, u, y, natural, natural_scaled,
    iterations,
):  # fmt: skip
    """Steps done, from row 0 of x, lam, r to row k + 1 after step k.

    parts (parts, COLUMNS); flows (systems + 1,) where the states of each begin; matrices M, A, W⁻¹, B, C, D,
    h w W⁻¹ B and that of the problem, each row by row and part after part; bounds of the multipliers;
    options h, θ, w, ρ, old, tolerance, Newton's tolerance; stop (`callables.py`); c (steps or 1,
    nx), e and e_end (steps or 1, m); x, r (steps + 1, nx); lam (steps + 1, m); u, y (steps, m); the others
    (steps,).
    """
    nx, m = x.shape[1], lam.shape[1]
    work = np.zeros((6, max(nx, 1))), np.zeros((3, max(m, 1)))
    for step in range(natural.shape[0]):
        if is_stopped(stop):
            return step
        at = step if c.shape[0] > 1 else 0
        at_e = step if e.shape[0] > 1 else 0
        for p in range(parts.shape[0]):
            solved, near, scaled, rounds = one_step(
                parts[p], flows, matrices, bounds, options, work, c[at], e[at_e], e_end[at_e],
                x[step], lam[step], r[step], x[step + 1], lam[step + 1], r[step + 1], u[step], y[step],
            )  # fmt: skip
            if not solved:
                return step
            natural[step] = max(natural[step], near)
            natural_scaled[step] = max(natural_scaled[step], scaled)
            iterations[step] += rounds
    return natural.shape[0]


@jit
def one_step(
    part, flows, matrices, bounds, options, work, c, e, e_end, x, lam, r, x_new, lam_new, r_new, u, y
):
    """(whether it is done, natural, natural_scaled, rounds) of one part over one step."""
    M, A, inverse, B, C, D, reach, problem = matrices
    lower, upper = bounds
    h, theta, w, rho, old, tolerance, newton_tolerance = options
    x0, x1, k0, k1 = part[X0], part[X1], part[LAM0], part[LAM1]
    n, m, xx, xl, ll = x1 - x0, k1 - k0, part[XX], part[XL], part[LL]
    known, moved, inner, R, s, size = work[0][0], work[0][1], work[0][2], work[0][3], work[0][4], work[0][5]
    b, z, law = work[1][0][:m], work[1][1][:m], work[1][2][:m]
    near, scaled, rounds = 0.0, 0.0, 0
    for i in range(n):
        f = c[x0 + i]
        for j in range(n):
            f += A[xx + i * n + j] * x[x0 + j]
        known[i] = h * f + h * old * r[x0 + i]
    for i in range(n):
        moved[i] = dot(inverse, xx + i * n, known, n)
    if m > 0:
        for i in range(n):
            inner[i] = x[x0 + i] + rho * moved[i]
        for k in range(m):
            b[k] = dot(C, xl + k * n, inner, n) + e[k0 + k]
            z[k] = lam[k0 + k]
        measures, rounds, solved = small_boxes.solve(
            problem[ll : ll + m * m], b, lower[k0:k1], upper[k0:k1], tolerance, z, law
        )
        if not solved:
            return False, math.nan, math.nan, rounds
        near, scaled = measures[NATURAL], measures[SCALED]
        for i in range(n):
            moved[i] += dot(reach, xl + i * m, z, m)
    for i in range(n):
        x_new[x0 + i] = x[x0 + i] + moved[i]
        moved[i] = x_new[x0 + i] - x[x0 + i]
        inner[i] = x[x0 + i] + rho * moved[i]
        r_new[x0 + i] = dot(B, xl + i * m, z, m)
    for i in range(n):
        R[i] = dot(M, xx + i * n, moved, n) - h * theta * dot(A, xx + i * n, moved, n) - known[i]
        R[i] -= h * w * r_new[x0 + i]
    for i in range(n):
        s[i] = abs(dot(inverse, xx + i * n, R, n))
        size[i] = max(abs(x[x0 + i]), abs(x_new[x0 + i]), abs(dot(reach, xl + i * m, z, m)))
    for k in range(m):
        lam_new[k0 + k] = z[k]
        through = dot(D, ll + k * m, z, m)
        u[k0 + k] = dot(C, xl + k * n, inner, n) + through + e[k0 + k]
        y[k0 + k] = u[k0 + k]
        if rho != 1.0:
            y[k0 + k] = dot(C, xl + k * n, x_new[x0:x1], n) + through + e_end[k0 + k]
    error = missing(part, flows, s, size, C, D, rho, law, u, z)
    return error <= newton_tolerance, near, scaled, rounds


@jit
def missing(part, flows, s, size, C, D, rho, law, u, lam):
    """The correction of a state still due, over the states of its system, and how far y is from what the law
    was solved with, over the terms of y: the larger one; NaN or inf where something is not finite."""
    x0, n, m = part[X0], part[X1] - part[X0], part[LAM1] - part[LAM0]
    error = 0.0
    for flow in range(part[FLOW0], part[FLOW1]):
        due, most = 0.0, 0.0
        for i in range(flows[flow] - x0, flows[flow + 1] - x0):
            if not s[i] < math.inf or not size[i] < math.inf:
                return math.inf
            due, most = max(due, s[i]), max(most, size[i])
        for i in range(flows[flow] - x0, flows[flow + 1] - x0):
            size[i] = most
        if due > NOTHING:
            error = max(error, due / most if most > 0.0 else math.inf)
    off, terms = 0.0, 0.0
    for k in range(m):
        value = u[part[LAM0] + k]
        if not abs(value) < math.inf:
            return math.inf
        term = abs(law[k])
        for i in range(n):
            term += rho * abs(C[part[XL] + k * n + i]) * size[i]
        for j in range(m):
            term += abs(D[part[LL] + k * m + j] * lam[j])
        off, terms = max(off, abs(law[k] - value)), max(terms, term)
    if off > NOTHING:
        error = max(error, off / terms if terms > 0.0 else math.inf)
    return error


@jit
def dot(matrix, start, vector, n):
    """Product of the n entries of a flat matrix from `start` with a vector."""
    total = 0.0
    for j in range(n):
        total += matrix[start + j] * vector[j]
    return total
