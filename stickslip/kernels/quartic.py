"""One 3D Coulomb contact by the quartic of the sliding direction.

Siconos Developer's Notes 2017, chapter 15, with its misprints put right.

A sliding impulse r_T = s (cos theta, sin theta) lies on the conic s = p / (1 + e cos(theta - phi)),
where the plane u_N = 0 cuts the cone (15.5), and u_T is parallel to it, which in theta is
A cos² + B sin² + C sin cos + D sin + E cos = 0 (15.15), in t = tan(theta/2) a quartic (15.18).

Written without the rotation V into the eigenvectors of W_TT (15.7): two terms more in A and B, and
W_ii may be unsymmetric, a double eigenvalue is no special case and there is no reflection to mind.
Each half of the circle has its own t in [-1, 1], so that theta = pi, where t is infinite and the
degree drops, is a root like any other: the case R_T2 = 0 of 15.0.1.c. The candidates are polished
on the equations they came from and the law decides (alpha = kappa > 0, r_N > 0).
"""

import math

from stickslip.kernels.contact_law import TOLERANCE, error_of
from stickslip.kernels.jit import jit
from stickslip.kernels.polynomial import quartic_roots
from stickslip.kernels.slip import polish_slip, solve2


@jit
def stick(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2):
    """(True, -W^-1 q) by S = W_TT - W_TN W_NT / W_NN; (False, NaN) where W_ii is not positive definite."""
    if not w00 > 0.0:
        return False, math.nan, math.nan, math.nan
    s11, s12 = w11 - w10 * w01 / w00, w12 - w10 * w02 / w00
    s21, s22 = w21 - w20 * w01 / w00, w22 - w20 * w02 / w00
    if not (s11 * s22 - s12 * s21 > 0.0 and s11 + s22 > 0.0):
        return False, math.nan, math.nan, math.nan
    n0 = -q0 / w00
    t1, t2 = solve2(s11, s12, s21, s22, -q1 - w10 * n0, -q2 - w20 * n0)
    return True, n0 - (w01 * t1 + w02 * t2) / w00, t1, t2


@jit
def without_slip(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu):
    """(True, r) if the contact parts, has no friction or sticks; (False, 0) if it must slide.

    (True, NaN) where W_ii is not positive definite: no case for these methods.
    """
    if q0 >= 0.0:
        return True, 0.0, 0.0, 0.0
    if mu == 0.0 and w00 > 0.0:
        return True, -q0 / w00, 0.0, 0.0
    regular, n, t1, t2 = stick(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2)
    if not regular or (n >= 0.0 and t1 * t1 + t2 * t2 <= mu * mu * n * n):
        return True, n, t1, t2
    return False, 0.0, 0.0, 0.0


@jit
def coefficients(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu):
    """(A, B, C, D, E) of (15.15) as in (15.16), for any W_TT; e cos phi = e1, e sin phi = e2."""
    n0 = -q0 / w00
    p, e1, e2 = mu * n0, mu * w01 / w00, mu * w02 / w00
    return (
        -e1 * q2 - p * w21,
        e2 * q1 + p * w12,
        (w11 - w22) * p + e1 * q1 - e2 * q2,
        q1 + n0 * w10,
        -q2 - n0 * w20,
    )


@jit
def slide_along(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, c, s):
    """(r_N, r_1, r_2, kappa) sliding towards (c, s), polished; kappa < 0 if there is none."""
    open_by = 1.0 + mu * (w01 * c + w02 * s) / w00
    if not open_by > 0.0:  # the conic is a hyperbola, and this is its other branch
        return 0.0, 0.0, 0.0, -1.0
    n0 = -q0 / w00
    n = n0 / open_by
    t1, t2 = mu * n * c, mu * n * s
    u1, u2 = w10 * n + w11 * t1 + w12 * t2 + q1, w20 * n + w21 * t1 + w22 * t2 + q2
    kappa = -(u1 * c + u2 * s) / (mu * n)
    if not kappa >= -1e-6 * (w11 + w22):
        return 0.0, 0.0, 0.0, -1.0
    return polish_slip(
        n0, q1 + w10 * n0, q2 + w20 * n0, w01 / w00, w02 / w00,
        w11 - w10 * w01 / w00, w12 - w10 * w02 / w00, w21 - w20 * w01 / w00, w22 - w20 * w02 / w00,
        mu, max(kappa, 0.0),
    )  # fmt: skip


@jit
def by_quartic(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2):
    """(r_N, r_1, r_2, error); of several slips the fastest, so that the present r is not asked."""
    done, n, t1, t2 = without_slip(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu)
    if done:
        return n, t1, t2, error_of(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, n, t1, t2)
    A, B, C, D, E = coefficients(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu)
    least, fastest = math.inf, -1.0
    for half in range(2):
        sign = 1.0 - 2.0 * half  # theta + pi turns the signs of D and E, and of the direction
        D, E = sign * D, sign * E
        x1, x2, x3, x4 = quartic_roots(
            A + E, 2.0 * (C + D), 4.0 * B - 2.0 * A, 2.0 * (D - C), A - E, -1.0, 1.0
        )
        for t in (x1, x2, x3, x4):
            if t != t:  # no root
                continue
            inverse = sign / (1.0 + t * t)
            y0, y1, y2, kappa = slide_along(
                w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu,
                (1.0 - t * t) * inverse, 2.0 * t * inverse,
            )  # fmt: skip
            if kappa < 0.0:
                continue
            error = error_of(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, y0, y1, y2)
            if error < least if not least <= TOLERANCE else error <= TOLERANCE and kappa > fastest:
                n, t1, t2, least, fastest = y0, y1, y2, error, kappa
    return n, t1, t2, least
