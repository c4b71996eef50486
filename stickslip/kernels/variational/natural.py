"""Natural maps of the laws of a step, for the stopping criterion, and of pyramids, for their residuals.

Given γ, friction of a group lies in a disc of radius mu γ, or in the square of a pyramid with corners ±mu γ
t1, ±mu γ t2, and maximises dissipation. r solves the law if r = P(r - rho u), where P projects onto γ >= 0
and onto this set at the γ of r.
"""

import math

from stickslip.kernels.cones import FREE, INTERVAL
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.law import OWN, R, Y
from stickslip.kernels.variational.layout import PYRAMID


@jit
def nearest(a, b, radius, square):
    """Return the projection of (a, b) onto the square |a| + |b| <= radius, or onto a disc of this radius."""
    if square:
        if abs(a) + abs(b) <= radius:
            return a, b
        shift = 0.5 * (abs(a) + abs(b) - radius)
        x, y = abs(a) - shift, abs(b) - shift
        if x < 0.0:
            x, y = 0.0, radius
        elif y < 0.0:
            x, y = radius, 0.0
        return math.copysign(x, a), math.copysign(y, b)
    size = math.sqrt(a * a + b * b)
    if size <= radius:
        return a, b
    return a * radius / size, b * radius / size


@jit
def natural_errors(model, B, L, X, speed):
    """Return the relative residuals (natural, natural_scaled) of the natural map |r - P(r - rho u)|.

    The first has rho = 1 and is relative to max(|r|, |u|, speed). The second has rho = 1 / compliance and
    norms that weigh components as energies. Gaps are limited to ten times the speed.
    """
    # 1. Sizes, constraints of joints and gaps.
    gap = size_r = size_u = gap_s = size_rs = size_us = 0.0
    for i in range(B.shape[0]):
        at, size = B[i, 1], B[i, 2]
        for k in range(at, at + size):
            wide = k == at and B[i, 0] != FREE and B[i, 0] != INTERVAL
            r, u, c = X[k, R], (min(X[k, Y], 10.0 * speed) if wide else X[k, Y]), X[k, OWN]
            size_r += r * r
            size_u += u * u
            size_rs += r * r * c
            size_us += u * u / c
            d = ds = 0.0
            if B[i, 0] == FREE:
                d, ds = u, u / c
            elif wide:
                d, ds = r - max(r - u, 0.0), r - max(r - u / c, 0.0)
            gap += d * d
            gap_s += ds * ds * c
        # 2. Friction groups, with both rho.
        k, gamma = (at, 1.0) if B[i, 0] == INTERVAL else (at + 1, max(X[at, R], 0.0))
        for g in range(int(L[i, 1])):
            m, radius = int(L[i, 2 + 2 * g]), L[i, 3 + 2 * g] * gamma
            for scaled in range(2):
                c = X[k, OWN] if scaled == 1 else 1.0
                a = X[k, R] - X[k, Y] / c
                b = X[k + 1, R] - X[k + 1, Y] / c if m == 2 else 0.0
                x, y = nearest(a, b, radius, model == PYRAMID or m == 1)
                d = (X[k, R] - x) * (X[k, R] - x)
                if m == 2:
                    d += (X[k + 1, R] - y) * (X[k + 1, R] - y)
                if scaled == 1:
                    gap_s += d * c
                else:
                    gap += d
            k += m
    size = max(size_r, size_u, speed * speed)
    size_s = max(size_rs, size_us)
    return (math.sqrt(gap / size) if size > 0.0 else 0.0, math.sqrt(gap_s / size_s) if size_s > 0.0 else 0.0)
