"""Small dense box problems -(A z + b) in N_[lower, upper](z): active sets, and the judge's measures.

Newton's method on z = P(z - (A z + b) / |diag A|): who is at a bound is guessed, the others solve a linear
system, and so on until nobody changes sides. Who stands at its bound, to rounding, keeps its side.
Where that goes round in circles, one component at a time changes sides, the last that wants to (Murty 1974).
It ends or it does not; then the problem is for the solvers.
"""

import math

import numpy as np

from stickslip.kernels.dense_lu import lu_solve
from stickslip.kernels.jit import jit
from stickslip.kernels.local import one_component
from stickslip.kernels.residuals import (
    APPROACH,
    IMPULSE,
    MEASURES,
    MOST_ROUNDING,
    NATURAL,
    ROUNDING,
    SCALED,
    VELOCITY,
    WORK,
    WORST,
    is_solved,
)

ROUNDS = 40
"""Most active sets that are tried."""
TOGETHER = 15
"""In so many of them all components that want to change sides do; after that one at a time."""
TIE = 1e-13
"""Distance from a bound, over the largest component, that is rounding."""
LOW, HIGH, FREE = 0, 1, 2


@jit
def solve(A, b, lower, upper, tolerance, z, w):
    """(measures, rounds, solved) of z, w <- the answer and A z + b.   A (n n,) row by row; z the guess."""
    n = b.shape[0]
    rho, side, J, x = np.empty(n), np.empty(n, np.int64), np.empty((n, n)), np.empty(n)
    total, count = 0.0, 0
    for i in range(n):
        z[i] = min(max(z[i], lower[i]), upper[i])
        side[i], size = -1, abs(A[i * n + i])
        total, count = total + size, count + (1 if size > 0.0 else 0)
    for i in range(n):  # 1 / |A_ii|, the inverse mean of the others where that is 0
        size = abs(A[i * n + i])
        rho[i] = 1.0 / size if size > 0.0 else (count / total if count > 0 else 1.0)
    measures, rounds = np.empty(0), 0
    while True:
        for i in range(n):
            s = 0.0
            for j in range(n):
                s += A[i * n + j] * z[j]
            w[i] = s + b[i]
        measures = measure(A, b, lower, upper, z, w, rho)
        if is_solved(measures, tolerance) and (rounds > 0 or n > 1):
            return measures, rounds, True
        if rounds == ROUNDS or not measures[NATURAL] < math.inf:
            return measures, rounds, False
        rounds += 1
        if n == 1:
            z[0] = one_component(A[0], b[0], lower[0], upper[0], z[0])
            if rounds > 1:
                return measures, rounds, False
            continue
        changed, tie = False, TIE * largest(z)
        for i in range(n - 1, -1, -1):
            trial, now = z[i] - rho[i] * w[i], FREE
            if trial <= lower[i]:
                now = LOW
            elif trial >= upper[i]:
                now = HIGH
            if side[i] >= 0 and min(abs(trial - lower[i]), abs(trial - upper[i])) <= tie:
                now = side[i]
            changed = changed or now != side[i]
            side[i] = now
            if changed and rounds > TOGETHER:
                break
        if not changed or not follow(A, b, lower, upper, side, J, x, z):
            return measures, rounds, False


@jit
def follow(A, b, lower, upper, side, J, x, z):
    """z <- at its bounds as `side` says, the others solving their rows; false where those are singular."""
    n, m = b.shape[0], 0
    for i in range(n):
        z[i] = 0.0
        if side[i] != FREE:
            z[i] = lower[i] if side[i] == LOW else upper[i]
    for i in range(n):
        if side[i] == FREE:
            s, c = b[i], 0
            for j in range(n):
                if side[j] == FREE:
                    J[m, c] = A[i * n + j]
                    c += 1
                else:
                    s += A[i * n + j] * z[j]
            x[m] = -s
            m += 1
    if m > 0 and not lu_solve(J, x, m):
        return False
    m, tie = 0, TIE * max(largest(x[:m]), largest(z))
    for i in range(n):
        if side[i] == FREE:
            z[i], inside = x[m], min(max(x[m], lower[i]), upper[i])
            if abs(z[i] - inside) <= tie:
                z[i] = inside
            m += 1
    return True


@jit
def largest(x):
    """Largest size of a component."""
    out = 0.0
    for i in range(x.shape[0]):
        out = max(out, abs(x[i]))
    return out


@jit
def measure(A, b, lower, upper, z, w, rho):
    """What `judge` says of z as the answer of a box problem: an array (MEASURES,)."""
    out, n = np.zeros(MEASURES), b.shape[0]
    scale, size, gap, gap_scaled, data = 1.0, 0.0, 0.0, -1.0, 0.0
    out[WORST] = -1.0
    for i in range(n):  # the scale of the data: the largest of |b| and of |A| times the finite bounds
        made = 0.0
        for j in range(n):
            bound = 0.0
            if abs(lower[j]) < math.inf:
                bound = abs(lower[j])
            if abs(upper[j]) < math.inf:
                bound = max(bound, abs(upper[j]))
            made += abs(A[i * n + j]) * bound
        data = max(data, abs(b[i]), made)
    for i in range(n):
        low, high = z[i] - upper[i], z[i] - lower[i]
        if w[i] != w[i] or z[i] != z[i]:
            for k in range(MEASURES):
                out[k] = math.nan
            out[WORST] = i
            return out
        gap = max(gap, abs(min(max(w[i], low), high)))
        scaled = abs(min(max(rho[i] * w[i], low), high))
        if scaled > gap_scaled:
            gap_scaled, out[WORST] = scaled, i
        scale = max(scale, abs(b[i]))
        size = max(size, abs(z[i]), abs(rho[i] * b[i]), abs(rho[i] * w[i]))
        out[IMPULSE] = max(out[IMPULSE], abs(z[i] - min(max(z[i], lower[i]), upper[i])))
        speed = 0.0
        if upper[i] == math.inf:
            speed += max(-w[i], 0.0)
        if lower[i] == -math.inf:
            speed += max(w[i], 0.0)
        out[VELOCITY] = max(out[VELOCITY], speed)
        if speed > 0.0:
            terms = 0.0
            for j in range(n):
                terms += abs(A[i * n + j] * z[j])
            if not speed <= min(ROUNDING * terms, MOST_ROUNDING * data):
                out[APPROACH] = max(out[APPROACH], speed / data if data > 0.0 else math.inf)
        inside = z[i] - lower[i] if w[i] > 0.0 else upper[i] - z[i]
        if abs(inside) < math.inf and w[i] != 0.0:
            out[WORK] = max(out[WORK], abs(inside * w[i]))
    out[NATURAL] = gap / scale
    out[SCALED] = gap_scaled / size if size > 0.0 else 0.0
    return out
