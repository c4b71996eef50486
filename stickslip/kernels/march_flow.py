"""Many steps of Euler-Moreau for linear systems of constant matrices in one compiled call.

With W = M - h θ A a part that is tied together by its multipliers goes over a step as

    x⁺ - x = W⁻¹ h (A x + c + old r_k) + h w W⁻¹ B lam,   y = C (x + ρ (x⁺ - x)) + D lam + e,   r = B lam

(`schemes/euler_moreau_newton.py` has the equations and their source), c and e known at every step. W⁻¹ is
kept as a matrix; whether what it gives solves the equations is seen from their residual, step by step. A step
that misses a tolerance, or is not finite, ends the march before it, and the ordinary step has its turn. A
signal that is to end the run ends it between two steps.
"""

import math
from typing import NamedTuple

import numpy as np

from stickslip.kernels import small_boxes
from stickslip.kernels.callables import is_stopped
from stickslip.kernels.jit import jit, jit_inlined
from stickslip.kernels.residuals import NATURAL, SCALED
from stickslip.state import Array, IntArray

X0, X1, LAM0, LAM1, FLOW0, FLOW1, XX, XL, LL = range(9)
"""Columns of `parts`: states, multipliers and systems, from and to; where its matrices of states by states,
states by multipliers, and multipliers by multipliers begin."""
NOTHING = 1e-290
"""What is smaller is zero: numbers so close to the least that there are have lost their digits."""


class Linear(NamedTuple):
    """A linear model in parts, for one length of step and one set of weights; matrices row by row, part after
    part [any]."""

    parts: IntArray
    """Where everything of a part stands [-], shape (parts, columns)."""
    flows: IntArray
    """Where the states of each system begin, and the last ends [-], shape (systems + 1,)."""
    lower: Array
    """Bounds of the multipliers [unit of lam], shape (m,)."""
    upper: Array
    """Likewise [unit of lam], shape (m,)."""
    M: Array
    A: Array
    inverse: Array
    """W⁻¹."""
    B: Array
    C: Array
    D: Array
    reach: Array
    """h w W⁻¹ B."""
    problem: Array
    """That of the problem."""


class Method(NamedTuple):
    """Weights and tolerances of steps [-]."""

    h: float
    """[s]."""
    theta: float
    w: float
    rho: float
    old: float
    tolerance: float
    newton_tolerance: float


class Known(NamedTuple):
    """What is known of each step, or of all by one row."""

    c: Array
    """What the rates have beside A x, shape (steps or 1, nx)."""
    e: Array
    """What the outputs have beside C x + D lam where the law holds, shape (steps or 1, m)."""
    e_end: Array
    """Likewise at the end of the step, shape (steps or 1, m)."""


class Record(NamedTuple):
    """Where steps are written to. Row 0 of x, lam, r is the start, row k + 1 the end of step k."""

    x: Array
    """Shape (steps + 1, nx)."""
    lam: Array
    """Shape (steps + 1, m)."""
    r: Array
    """Shape (steps + 1, nx)."""
    u: Array
    """Shape (steps, m)."""
    y: Array
    """Shape (steps, m)."""
    natural: Array
    """[-], shape (steps,)."""
    natural_scaled: Array
    """[-], shape (steps,)."""
    iterations: IntArray
    """[-], shape (steps,)."""


@jit
def march(model, method, stop, known, record):
    """Steps done; stop as in `callables.py`."""
    nx, m, steps = record.x.shape[1], record.lam.shape[1], record.natural.shape[0]
    work = np.zeros((6, max(nx, 1))), np.zeros((3, max(m, 1)))
    for step in range(steps):
        if is_stopped(stop):
            return step
        for p in range(model.parts.shape[0]):
            solved, near, scaled, rounds = one_step(model.parts[p], model, method, work, known, step, record)
            if not solved:
                return step
            record.natural[step] = max(record.natural[step], near)
            record.natural_scaled[step] = max(record.natural_scaled[step], scaled)
            record.iterations[step] += rounds
    return steps


@jit_inlined
def one_step(part, model, method, work, known, step, record):
    """(whether it is done, natural, natural_scaled, rounds) of one part over one step."""
    A, inverse, B, C, D, reach = model.A, model.inverse, model.B, model.C, model.D, model.reach
    h, theta, w, rho = method.h, method.theta, method.w, method.rho
    at, at_e = step if known.c.shape[0] > 1 else 0, step if known.e.shape[0] > 1 else 0
    c, e, e_end = known.c[at], known.e[at_e], known.e_end[at_e]
    x, x_new, u, y = record.x[step], record.x[step + 1], record.u[step], record.y[step]
    r, r_new, lam, lam_new = record.r[step], record.r[step + 1], record.lam[step], record.lam[step + 1]
    x0, x1, k0, k1 = part[X0], part[X1], part[LAM0], part[LAM1]
    n, m, xx, xl, ll = x1 - x0, k1 - k0, part[XX], part[XL], part[LL]
    driven, moved, inner, R, s, size = work[0][0], work[0][1], work[0][2], work[0][3], work[0][4], work[0][5]
    b, z, law = work[1][0][:m], work[1][1][:m], work[1][2][:m]
    near, scaled, rounds = 0.0, 0.0, 0
    for i in range(n):
        f = c[x0 + i]
        for j in range(n):
            f += A[xx + i * n + j] * x[x0 + j]
        driven[i] = h * f + h * method.old * r[x0 + i]
    for i in range(n):
        moved[i] = dot(inverse, xx + i * n, driven, n)
    if m > 0:
        for i in range(n):
            inner[i] = x[x0 + i] + rho * moved[i]
        for k in range(m):
            b[k] = dot(C, xl + k * n, inner, n) + e[k0 + k]
            z[k] = lam[k0 + k]
        measures, rounds, solved = small_boxes.solve(
            model.problem[ll : ll + m * m],
            b,
            model.lower[k0:k1],
            model.upper[k0:k1],
            method.tolerance,
            z,
            law,
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
        R[i] = dot(model.M, xx + i * n, moved, n) - h * theta * dot(A, xx + i * n, moved, n) - driven[i]
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
    error = missing(part, model, rho, work[0], law, u, z)
    return error <= method.newton_tolerance, near, scaled, rounds


@jit_inlined
def missing(part, model, rho, states, law, u, lam):
    """The correction of a state still due, over the states of its system, and how far y is from what the law
    was solved with, over the terms of y: the larger one; NaN or inf where something is not finite."""
    x0, n, m = part[X0], part[X1] - part[X0], part[LAM1] - part[LAM0]
    flows, s, size, C, D, error = model.flows, states[4], states[5], model.C, model.D, 0.0
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
