"""Real roots of polynomials of degree four or less on an interval, without division by the leading term.

Between two neighbouring roots of its derivative a polynomial is monotone, so that a bracketing method finds
its root there. The roots of the derivative follow in the same way from those of the second derivative, which
have a closed form. Vanishing leading coefficients are no special case on a bounded interval; a root at
infinity is a root at zero of the reversed polynomial.
"""

import math

from stickslip.kernels.jit import jit

FLAT = 1e-9
"""Largest |value| at a turning point, over the sum of |coefficients|, that may be a double root [-]."""
NONE = math.nan
"""Value returned in place of a root that does not exist."""


@jit
def quartic_at(c0, c1, c2, c3, c4, x):
    """Return c0 + c1 x + ... + c4 x^4."""
    return c0 + x * (c1 + x * (c2 + x * (c3 + x * c4)))


@jit
def root_between(c0, c1, c2, c3, c4, a, b):
    """Return the root in [a, b], where the polynomial is monotone, by Newton's method inside a bracket.

    Without a change of sign, return the end with the smaller |value| if it may be a double root, else `NONE`.
    """
    fa, fb = quartic_at(c0, c1, c2, c3, c4, a), quartic_at(c0, c1, c2, c3, c4, b)
    if fa == 0.0:
        return a
    if fb == 0.0:
        return b
    if (fa > 0.0) == (fb > 0.0):
        near, x = (abs(fa), a) if abs(fa) < abs(fb) else (abs(fb), b)
        size = abs(c0) + abs(c1) + abs(c2) + abs(c3) + abs(c4)
        return x if near <= FLAT * size else NONE
    low, high, rising = a, b, fb > 0.0
    x = a - fa * (b - a) / (fb - fa)
    for _ in range(60):
        f = quartic_at(c0, c1, c2, c3, c4, x)
        if f == 0.0:
            break
        if (f > 0.0) == rising:
            high = x
        else:
            low = x
        slope = c1 + x * (2.0 * c2 + x * (3.0 * c3 + x * 4.0 * c4))
        step = x - f / slope
        if not (low < step < high):
            step = 0.5 * (low + high)
        if abs(step - x) <= 4e-16 * abs(x):
            x = step
            break
        x = step
    return x


@jit
def quadratic_roots(c0, c1, c2, a, b):
    """Return the two real roots of c0 + c1 x + c2 x² clipped to [a, b], ascending; (a, b) without roots."""
    discriminant = c1 * c1 - 4.0 * c2 * c0
    if not discriminant >= 0.0:
        return a, b
    half = -0.5 * (c1 + math.copysign(math.sqrt(discriminant), c1))
    x = half / c2 if abs(half) < 1e300 * abs(c2) else a
    y = c0 / half if half != 0.0 else x
    x, y = min(max(x, a), b), min(max(y, a), b)
    return min(x, y), max(x, y)


@jit
def quartic_roots(c0, c1, c2, c3, c4, a, b):
    """Return all real roots in [a, b] as four numbers, `NONE` in place of missing ones; roots may repeat."""
    # 1. Inflection points and turning points in [a, b].
    x1, x2 = quadratic_roots(2.0 * c2, 6.0 * c3, 12.0 * c4, a, b)
    d0, d1, d2, d3 = c1, 2.0 * c2, 3.0 * c3, 4.0 * c4
    y1 = root_between(d0, d1, d2, d3, 0.0, a, x1)
    y2 = root_between(d0, d1, d2, d3, 0.0, x1, x2)
    y3 = root_between(d0, d1, d2, d3, 0.0, x2, b)
    y1 = y1 if y1 == y1 else a
    y2 = y2 if y2 == y2 else y1
    y3 = y3 if y3 == y3 else y2
    # 2. One root per monotone piece.
    return (
        root_between(c0, c1, c2, c3, c4, a, y1),
        root_between(c0, c1, c2, c3, c4, y1, y2),
        root_between(c0, c1, c2, c3, c4, y2, y3),
        root_between(c0, c1, c2, c3, c4, y3, b),
    )
