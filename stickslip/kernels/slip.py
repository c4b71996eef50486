"""Sliding of a 3D Coulomb contact: the root kappa of (S + kappa I) t = -b, |t| = mu r_N.

The function mu r_N / |t| - 1 is nearly linear in kappa, as in trust-region methods (Conn, Gould & Toint 2000,
7.3), so Newton's method takes few steps. A bracket ensures convergence.
"""

import math
from typing import NamedTuple

from stickslip.kernels.jit import jit

CLOSE = 1e-15
"""Relative tolerance of the root [-]: a few times machine precision."""


class Sliding(NamedTuple):
    """A contact after elimination of r_N by u_N = 0: r_N = n0 - w·t, u_T = S t + b, t tangential."""

    n0: float
    """r_N for t = 0 [N s]."""
    b1: float
    """Tangential velocity for t = 0 [m/s]."""
    b2: float
    w01: float
    """W_NT / W_NN [-]."""
    w02: float
    s11: float
    """S row by row [1/kg]."""
    s12: float
    s21: float
    s22: float
    mu: float
    """Coefficient of friction [-]."""


@jit
def slip3(sliding, kappa):
    """Return (r_N, r_1, r_2, kappa) of a sliding contact, by the root of mu r_N / |t| - 1 in kappa > 0.

    kappa: initial guess, or 0 for the root with w = 0 and S replaced by (tr S / 2) I.
    """
    # 1. Initial guess and bracket.
    n0, b1, b2, w01, w02, s11, s12, s21, s22, mu = sliding
    trace = s11 + s22
    if not kappa > 0.0:
        kappa = math.sqrt(b1 * b1 + b2 * b2) / (mu * n0) - 0.5 * trace
        if not kappa > 0.0:
            kappa = 1e-3 * trace
    low, high = 0.0, math.inf
    n, t1, t2, size = n0, 0.0, 0.0, 1.0
    # 2. Newton's method inside the bracket.
    for _ in range(100):
        a, c = s11 + kappa, s22 + kappa
        det = a * c - s12 * s21
        if not det > 0.0:
            low = kappa
            kappa = max(2.0 * kappa, 1e-12 * trace)
            continue
        inverse = 1.0 / det
        t1, t2 = -(c * b1 - s12 * b2) * inverse, -(a * b2 - s21 * b1) * inverse
        n = n0 - w01 * t1 - w02 * t2
        size = math.sqrt(t1 * t1 + t2 * t2)
        gap = mu * n - size
        if abs(gap) <= 2.0 * CLOSE * size:
            break
        if gap < 0.0:
            low = kappa
        else:
            high = kappa
        d1, d2 = -(c * t1 - s12 * t2) * inverse, -(a * t2 - s21 * t1) * inverse
        # phi = mu n / size - 1, so phi' size² = mu (n' size - n size'),  size size' = t·t'
        slope = mu * (-(w01 * d1 + w02 * d2) * size * size - n * (t1 * d1 + t2 * d2))
        step = -1.0
        if slope > 0.0:
            step = kappa - gap * size * size / slope
        if not (step > low and step < high):
            step = 0.5 * (low + high) if high < math.inf else 4.0 * kappa + trace
        if step == kappa:
            break
        kappa = step
    # 3. r_N from the cone: the terms of n0 - w·t may cancel if W_NN is small.
    return size / mu if size > 0.0 else max(n, 0.0), t1, t2, kappa


@jit
def triangular(s11, s12, s21, s22):
    """Return (c, s, t11, t12, t21, t22) with Q'S Q = T, Q = [[c, -s], [s, c]]; t21 = 0 for real eigenvalues.

    In these axes rounding does not couple the two eigenvalues, and t is a smooth function of kappa. In others
    S + kappa I has rounding errors of the size of the large eigenvalue, which hide the effect of the small
    one.
    """
    mean, half = 0.5 * (s11 + s22), 0.5 * (s11 - s22)
    discriminant = half * half + s12 * s21
    if not discriminant > 0.0:
        return 1.0, 0.0, s11, s12, s21, s22
    large = math.copysign(math.sqrt(discriminant), half)  # the eigenvalue mean + large is next to s11
    c, s = half + large, s21
    size = math.sqrt(c * c + s * s)
    c, s = c / size, s / size
    x1, x2 = c * s11 + s * s21, c * s12 + s * s22
    y1, y2 = c * s21 - s * s11, c * s22 - s * s12
    return c, s, mean + large, c * x2 - s * x1, 0.0, c * y2 - s * y1


@jit
def in_axes(sliding):
    """Return (c, s, contact) with the contact in the axes of `triangular`."""
    n0, b1, b2, w01, w02, s11, s12, s21, s22, mu = sliding
    c, s, s11, s12, s21, s22 = triangular(s11, s12, s21, s22)
    b1, b2, w01, w02 = c * b1 + s * b2, c * b2 - s * b1, c * w01 + s * w02, c * w02 - s * w01
    return c, s, Sliding(n0, b1, b2, w01, w02, s11, s12, s21, s22, mu)


@jit
def stiff_slip3(sliding, kappa):
    """Return (r_N, r_1, r_2, kappa) as `slip3`, in the axes of `triangular`, for ill-conditioned S."""
    c, s, turned = in_axes(sliding)
    n, t1, t2, kappa = slip3(turned, kappa)
    return n, c * t1 - s * t2, s * t1 + c * t2, kappa


@jit
def polish_slip(sliding, kappa):
    """Return ((r_N, r_1, r_2), kappa) at the nearest root kappa >= 0, by Newton's method without bracket.

    For a good initial guess: the iteration ends once |mu r_N / |t| - 1| does not decrease.
    """
    co, si, (n0, b1, b2, w01, w02, s11, s12, s21, s22, mu) = in_axes(sliding)
    least, best_kappa = math.inf, kappa
    n, t1, t2, size = 0.0, 0.0, 0.0, 0.0
    for _ in range(12):
        a, c = s11 + kappa, s22 + kappa
        inverse = 1.0 / (a * c - s12 * s21)
        x1, x2 = -(c * b1 - s12 * b2) * inverse, -(a * b2 - s21 * b1) * inverse
        x = n0 - w01 * x1 - w02 * x2
        length = math.sqrt(x1 * x1 + x2 * x2)
        gap = mu * x - length
        if not abs(gap) < least * length:
            break
        least, best_kappa = abs(gap) / length, kappa
        n, t1, t2, size = x, x1, x2, length
        d1, d2 = -(c * t1 - s12 * t2) * inverse, -(a * t2 - s21 * t1) * inverse
        slope = mu * (-(w01 * d1 + w02 * d2) * size * size - n * (t1 * d1 + t2 * d2))
        kappa = max(kappa - gap * size * size / slope, 0.0)
        if not kappa < math.inf:
            break
    n = size / mu if size > 0.0 else max(n, 0.0)
    return (n, co * t1 - si * t2, si * t1 + co * t2), best_kappa


@jit
def solve2(a, b, c, d, f, g):
    """Return (x, y) with a x + b y = f, c x + d y = g, by elimination with row pivoting.

    Elimination is backward stable even for a nearly singular matrix, unlike Cramer's rule.
    """
    if abs(a) < abs(c):
        a, b, c, d, f, g = c, d, a, b, g, f
    ratio = c / a
    y = (g - ratio * f) / (d - ratio * b)
    return (f - b * y) / a, y
