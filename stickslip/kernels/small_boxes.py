"""Small dense box problems -(A z + b) in N_[lower, upper](z): active sets, and the judge's measures.

Newton's method on z = P(z - (A z + b) / |diag A|): who is at a bound is guessed, the others solve a linear
system, and so on until nobody changes sides. Who stands at its bound, to rounding, keeps its side.
Where that goes round in circles, one component at a time changes sides, the last that wants to (Murty 1974).
Where a linear system is singular, the proximal point method goes around it (Rockafellar 1976): A + D takes
the place of A and b - D z that of b, with a small diagonal D and the last z, until z is the answer of A and
b. It ends or it does not; then the problem is for the solvers.
"""

import math

import numpy as np

from stickslip.kernels import measures
from stickslip.kernels.dense_lu import lu_solve
from stickslip.kernels.jit import jit
from stickslip.kernels.local import one_component
from stickslip.kernels.residuals import MEASURES, NATURAL, SCALED, is_solved

SMALL = 30
"""Most unknowns of a problem that is solved in one call."""
ROUNDS = 40
"""Most active sets that are tried."""
TOGETHER = 15
"""In so many of them all components that want to change sides do; after that one at a time."""
WEIGHT, OUTER = 1e-6, 8
"""D over |diag A|, and most points of the proximal method: the distance shrinks about WEIGHT-fold in each."""
FINE = 1e-2
"""Share of the tolerance to which each of them is found, and the last."""
TIE = 1e-13
"""Distance from a bound, over the largest component, that is rounding."""
LOW, HIGH, FREE = 0, 1, 2
SOLVED, ROUNDS_MADE = range(MEASURES, MEASURES + 2)
TOLD = MEASURES + 2
"""What is told of a solve: the judge's measures, whether it is solved, active sets tried."""


@jit
def answer(A, b, lower, upper, guess, tolerance, z, w, told):
    """`solve` from a guess (n,), or from nothing (0,), for Python; not solved where its numbers are not
    finite."""
    told[SOLVED], told[ROUNDS_MADE] = 0.0, 0.0
    for k in range(z.shape[0]):
        z[k] = guess[k] if guess.shape[0] > 0 else 0.0
        if not abs(z[k]) < math.inf:
            return
    told[:MEASURES], rounds, solved = solve(A, b, lower, upper, tolerance, z, w)
    told[SOLVED], told[ROUNDS_MADE] = 1.0 if solved else 0.0, rounds


@jit
def solve(A, b, lower, upper, tolerance, z, w):
    """(measures, rounds, solved) of z, w <- the answer and A z + b.   A (n n,) row by row; z the guess."""
    n = b.shape[0]
    rho, first = np.empty(n), z.copy()
    for i in range(n):
        rho[i] = A[i * n + i]
    measures.box_scales(rho, rho)
    told, rounds, solved = find(A, b, lower, upper, rho, tolerance, z, w)
    if solved or n == 1 or not told[NATURAL] < math.inf:
        return told, rounds, solved
    near, bias, best = A.copy(), np.empty(n), z.copy()
    for i in range(n):
        near[i * n + i] += WEIGHT / rho[i]
        z[i] = first[i]
    for _ in range(OUTER):
        for i in range(n):
            bias[i] = b[i] - WEIGHT / rho[i] * z[i]
        _, more, done = find(near, bias, lower, upper, rho, FINE * tolerance, z, w)
        own, w[:] = measures.measure_box(A, b, lower, upper, z)
        rounds += more
        if max(own[NATURAL], own[SCALED]) < max(told[NATURAL], told[SCALED]):
            told, best[:] = own, z
        if not done or is_solved(own, FINE * tolerance):
            break
    z[:] = best
    told, w[:] = measures.measure_box(A, b, lower, upper, z)
    return told, rounds, is_solved(told, tolerance)


@jit
def find(A, b, lower, upper, rho, tolerance, z, w):
    """`solve` by active sets alone; rho (n,) 1 / |A_ii|."""
    n = b.shape[0]
    side, J, x = np.empty(n, np.int64), np.empty((n, n)), np.empty(n)
    for i in range(n):
        z[i] = min(max(z[i], lower[i]), upper[i])
        side[i] = -1
    rounds = 0
    while True:
        told, w[:] = measures.measure_box(A, b, lower, upper, z)
        if is_solved(told, tolerance) and (rounds > 0 or n > 1):
            return told, rounds, True
        if rounds == ROUNDS or not told[NATURAL] < math.inf:
            return told, rounds, False
        rounds += 1
        if n == 1:
            z[0] = one_component(A[0], b[0], lower[0], upper[0], z[0])
            if rounds > 1:
                return told, rounds, False
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
            return told, rounds, False


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
