"""Many steps of Euler-Moreau for linear systems with constant matrices in one compiled call.

With W = M - h θ A, a step of a part (a set of systems that multipliers couple) is

    x⁺ - x = W⁻¹ h (A x + c + old r_k) + h w W⁻¹ B lam,   y = C (x + ρ (x⁺ - x)) + D lam + e,   r = B lam

(`schemes/euler_moreau_newton.py` has the equations and their source), with c and e known at every step. W⁻¹
is stored as a matrix; each step checks the residual of the equations. A step that misses a tolerance or has
non-finite values ends the march before it, and the ordinary step is made instead. A signal that stops the run
ends the march between two steps.
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
"""Columns of `Linear.parts`: ranges of states, multipliers and systems; positions of its matrices of states
by states, states by multipliers, and multipliers by multipliers."""
NOTHING = 1e-290
"""Absolute value below which an error counts as zero: near underflow numbers have few correct digits."""


class Linear(NamedTuple):
    """A linear model in parts, for one step size and set of weights; matrices row by row by parts [any]."""

    parts: IntArray
    """Positions of the data of each part [-], shape (parts, columns)."""
    flows: IntArray
    """First state of each system, then the number of states [-], shape (systems + 1,)."""
    lower: Array
    """Lower bounds of the multipliers [unit of lam], shape (m,)."""
    upper: Array
    """Upper bounds of the multipliers [unit of lam], shape (m,)."""
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
    """Matrix of the problem for lam, D + ρ h w C W⁻¹ B."""


class Method(NamedTuple):
    """Weights and tolerances of the scheme (`schemes/euler_moreau_newton.py`) [-]."""

    h: float
    """Length of a step [s]."""
    theta: float
    w: float
    rho: float
    old: float
    tolerance: float
    newton_tolerance: float


class Known(NamedTuple):
    """Known terms, one row per step or one row for all steps."""

    c: Array
    """Terms of the rates other than A x, shape (steps or 1, nx)."""
    e: Array
    """Terms of the outputs other than C x + D lam, at the time of the law, shape (steps or 1, m)."""
    e_end: Array
    """The same at the end of the step, shape (steps or 1, m)."""


class Record(NamedTuple):
    """Results of the steps. Row 0 of x, lam, r is the start, row k + 1 the end of step k."""

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
    """Make up to as many steps as the record has rows; return the number done; stop as in `callables.py`."""
    nx, m, steps = record.x.shape[1], record.lam.shape[1], record.natural.shape[0]
    work = np.zeros((6, max(nx, 1))), np.zeros((3, max(m, 1)))
    for step in range(steps):
        if is_stopped(stop):
            return step
        for p in range(model.parts.shape[0]):
            solved, natural, scaled, iterations = one_step(
                model.parts[p], model, method, work, known, step, record
            )
            if not solved:
                return step
            record.natural[step] = max(record.natural[step], natural)
            record.natural_scaled[step] = max(record.natural_scaled[step], scaled)
            record.iterations[step] += iterations
    return steps


@jit_inlined
def one_step(part, model, method, work, known, step, record):
    """Make one step of one part; return (success, natural, natural_scaled, iterations)."""
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
    natural, scaled, iterations = 0.0, 0.0, 0
    # 1. Motion without multipliers: W⁻¹ h (A x + c + old r_k).
    for i in range(n):
        f = c[x0 + i]
        for j in range(n):
            f += A[xx + i * n + j] * x[x0 + j]
        driven[i] = h * f + h * method.old * r[x0 + i]
    for i in range(n):
        moved[i] = dot(inverse, xx + i * n, driven, n)
    # 2. Problem for the multipliers lam.
    if m > 0:
        for i in range(n):
            inner[i] = x[x0 + i] + rho * moved[i]
        for k in range(m):
            b[k] = dot(C, xl + k * n, inner, n) + e[k0 + k]
            z[k] = lam[k0 + k]
        measures, iterations, solved = small_boxes.solve(
            model.problem[ll : ll + m * m],
            b,
            model.lower[k0:k1],
            model.upper[k0:k1],
            method.tolerance,
            z,
            law,
        )
        if not solved:
            return False, math.nan, math.nan, iterations
        natural, scaled = measures[NATURAL], measures[SCALED]
        for i in range(n):
            moved[i] += dot(reach, xl + i * m, z, m)
    # 3. End of the step.
    for i in range(n):
        x_new[x0 + i] = x[x0 + i] + moved[i]
        moved[i] = x_new[x0 + i] - x[x0 + i]
        inner[i] = x[x0 + i] + rho * moved[i]
        r_new[x0 + i] = dot(B, xl + i * m, z, m)
    # 4. Residual R, the correction W⁻¹ R that it asks for, and the outputs.
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
    return error <= method.newton_tolerance, natural, scaled, iterations


@jit_inlined
def missing(part, model, rho, states, law, u, lam):
    """Return the relative error of the step: the larger of those of the states and of the outputs.

    Error of the states: the remaining correction W⁻¹ R of a state, over the largest state of its system.
    Error of the outputs: difference between y and the value with which the law was solved, over the largest
    sum of the terms of y. Infinite if a value is not finite.
    """
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
    """Return the product of the n entries of a flat matrix from `start` on with a vector."""
    total = 0.0
    for j in range(n):
        total += matrix[start + j] * vector[j]
    return total
