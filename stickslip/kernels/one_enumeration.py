"""One 3D Coulomb contact by enumeration: it parts, sticks, or slides, and every slip is listed.

Sliding is u_T = -kappa r_T with kappa > 0, so (S + kappa I) t = -b and |t| = mu r_N. With
t = -(c + kappa b) / det, c = adj(S) b, det = det(S + kappa I), this is in kappa

    mu² (n0 det + w·(c + kappa b))² = |c + kappa b|²,

a polynomial of degree four whose positive roots with r_N > 0 are all slips there are. There may be
three: strong coupling of normal and tangents makes one contact ambiguous even if W_ii is positive
definite. The roots are polished on the equation without squares and the law decides.
"""

import math

from stickslip.kernels.contact_law import TOLERANCE, error_of
from stickslip.kernels.jit import jit
from stickslip.kernels.polynomial import quartic_roots
from stickslip.kernels.quartic import stick, without_slip
from stickslip.kernels.slip import polish_slip

SAME = 1e-6
"""Roots this close to each other, relative to the larger, count as one."""


@jit
def secular_polynomial(n0, b1, b2, w01, w02, s11, s12, s21, s22, mu, unit):
    """Coefficients of the polynomial above in x = kappa / unit, the constant first."""
    c1, c2 = s22 * b1 - s12 * b2, s11 * b2 - s21 * b1
    # mu r_N det = a0 + a1 kappa + a2 kappa²
    a0 = mu * (n0 * (s11 * s22 - s12 * s21) + w01 * c1 + w02 * c2)
    a1 = mu * (n0 * (s11 + s22) + w01 * b1 + w02 * b2) * unit
    a2 = mu * n0 * unit * unit
    return (
        a0 * a0 - c1 * c1 - c2 * c2,
        2.0 * (a0 * a1 - (c1 * b1 + c2 * b2) * unit),
        a1 * a1 + 2.0 * a0 * a2 - (b1 * b1 + b2 * b2) * unit * unit,
        2.0 * a1 * a2,
        a2 * a2,
    )


@jit
def slips_of(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu):
    """(r_N, r_1, r_2, error, slips): the fastest slip, and how many there are; error infinite if none."""
    n, t1, t2, least, fastest, slips = 0.0, 0.0, 0.0, math.inf, -1.0, 0
    n0, k01, k02 = -q0 / w00, w01 / w00, w02 / w00
    b1, b2 = q1 + w10 * n0, q2 + w20 * n0
    s11, s12, s21, s22 = w11 - w10 * k01, w12 - w10 * k02, w21 - w20 * k01, w22 - w20 * k02
    unit = math.sqrt(b1 * b1 + b2 * b2) / (mu * abs(n0)) if mu * n0 != 0.0 else s11 + s22
    if not unit > 0.0:
        return n, t1, t2, least, slips
    p0, p1, p2, p3, p4 = secular_polynomial(n0, b1, b2, k01, k02, s11, s12, s21, s22, mu, unit)
    seen1, seen2, seen3 = -1.0, -1.0, -1.0
    for part in range(2):  # kappa <= unit, then kappa >= unit by the reversed polynomial
        if part == 0:
            x1, x2, x3, x4 = quartic_roots(p0, p1, p2, p3, p4, 0.0, 1.0)
        else:
            x1, x2, x3, x4 = quartic_roots(p4, p3, p2, p1, p0, 0.0, 1.0)
        for x in (x1, x2, x3, x4):
            if not (x > 0.0 or (x == 0.0 and part == 0)):
                continue
            kappa = unit * x if part == 0 else unit / x
            y0, y1, y2, kappa = polish_slip(n0, b1, b2, k01, k02, s11, s12, s21, s22, mu, kappa)
            error = error_of(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, y0, y1, y2)
            close = SAME * kappa
            new = abs(kappa - seen1) > close and abs(kappa - seen2) > close and abs(kappa - seen3) > close
            if error <= TOLERANCE and y0 > 0.0 and new:
                slips += 1
                seen1, seen2, seen3 = kappa, seen1, seen2
            if error < least if not least <= TOLERANCE else error <= TOLERANCE and kappa > fastest:
                n, t1, t2, least, fastest = y0, y1, y2, error, kappa
    return n, t1, t2, least, slips


@jit
def by_enumeration(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2):
    """(r_N, r_1, r_2, error): parting first, then sticking, then the fastest slip; r is not asked."""
    done, n, t1, t2 = without_slip(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu)
    if done:
        error = error_of(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, n, t1, t2)
        return n, t1, t2, error
    n, t1, t2, error, _ = slips_of(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu)
    return n, t1, t2, error


@jit
def count_solutions(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu):
    """How many impulses obey the law: parting, sticking and every slip, W_ii positive definite."""
    count = 0
    if q0 >= 0.0:
        count += 1
    sticks, n, t1, t2 = stick(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2)
    if sticks and n > 0.0 and t1 * t1 + t2 * t2 <= mu * mu * n * n:
        count += 1
    if mu == 0.0:
        return 1
    _, _, _, _, slips = slips_of(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu)
    return count + slips
