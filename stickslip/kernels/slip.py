"""The root at the heart of sliding: (S + kappa I) t = -b with |t| = mu r_N, two tangents.

The function mu r_N / |t| - 1 is nearly linear in kappa, as in trust regions (Conn, Gould & Toint
2000, 7.3), so Newton's method on it takes few steps; a bracket guards it.
"""

import math

from stickslip.kernels.jit import jit

CLOSE = 1e-15
"""Relative rounding at which a root is a root."""


@jit
def slip3(n0, b1, b2, w01, w02, s11, s12, s21, s22, mu, kappa):
    """(r_N, r_1, r_2, kappa) of a contact known to slide: the root of mu r_N / |t| - 1 in kappa > 0."""
    trace = s11 + s22
    if not kappa > 0.0:
        kappa = math.sqrt(b1 * b1 + b2 * b2) / (mu * n0) - 0.5 * trace
        if not kappa > 0.0:
            kappa = 1e-3 * trace
    low, high = 0.0, math.inf
    n, t1, t2, size = n0, 0.0, 0.0, 1.0
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
    n = max(n, 0.0)
    scale = mu * n / size if size > 0.0 else 0.0
    return n, scale * t1, scale * t2, kappa
