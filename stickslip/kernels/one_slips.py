"""Direct solvers of one 3D Coulomb contact: open, sticking, and all sliding solutions as roots of a quartic.

Sliding is u_T = -kappa r_T with kappa > 0, so (S + kappa I) t = -b and |t| = mu r_N. Each of two quartic
polynomials has the sliding solutions among its roots. The roots are refined on the original equation, and the
error of the law decides between them.

Quartic in the direction (Siconos Developer's Notes 2017, chapter 15, with corrected misprints). A sliding
impulse r_T = s (cos theta, sin theta) lies on the conic s = p / (1 + e cos(theta - phi)), the intersection of
the cone with the plane u_N = 0 (15.5), and u_T is parallel to r_T: A cos² + B sin² + C sin cos + D sin + E
cos = 0 (15.15), a quartic in t = tan(theta/2) (15.18). This version omits the rotation V into the
eigenvectors of W_TT (15.7). It has two more terms in A and B, allows an unsymmetric W_ii, and needs no
special case for double eigenvalues or reflections. Each half of the circle has a parameter t in [-1, 1], so
theta = pi, where t is infinite and the degree drops (R_T2 = 0 in 15.0.1.c), is no special case either.

Enumeration of kappa. With t = -(c + kappa b) / det, c = adj(S) b, det = det(S + kappa I),

    mu² (n0 det + w·(c + kappa b))² = |c + kappa b|²,

whose positive roots with r_N > 0 are all sliding solutions. There may be three: strong coupling between
normal and tangents makes one contact ambiguous even if W_ii is positive definite.
"""

import math

from stickslip.kernels.contact_law import TOLERANCE, error_of, velocity
from stickslip.kernels.jit import jit
from stickslip.kernels.polynomial import quartic_roots
from stickslip.kernels.slip import Sliding, polish_slip, solve2

SAME = 1e-6
"""Relative difference below which two roots count as one [-]; heuristic."""
NONE = (math.nan, math.nan, math.nan)
"""Returned in place of an impulse that does not exist."""


@jit
def eliminated(c):
    """Return the contact after elimination of r_N by u_N = 0."""
    n0, k1, k2 = -c.q0 / c.w00, c.w01 / c.w00, c.w02 / c.w00
    return Sliding(
        n0, c.q1 + c.w10 * n0, c.q2 + c.w20 * n0, k1, k2,
        c.w11 - c.w10 * k1, c.w12 - c.w10 * k2, c.w21 - c.w20 * k1, c.w22 - c.w20 * k2, c.mu,
    )  # fmt: skip


@jit
def stick(c):
    """Return (True, -W^-1 q), by S = W_TT - W_TN W_NT / W_NN; (False, NaN) without W_NN, tr S, det S > 0."""
    if not c.w00 > 0.0:
        return False, NONE
    e = eliminated(c)
    if not (e.s11 * e.s22 - e.s12 * e.s21 > 0.0 and e.s11 + e.s22 > 0.0):
        return False, NONE
    t1, t2 = solve2(e.s11, e.s12, e.s21, e.s22, -e.b1, -e.b2)
    return True, (e.n0 - (c.w01 * t1 + c.w02 * t2) / c.w00, t1, t2)


@jit
def without_slip(c):
    """Return (True, r) if the contact is open, frictionless or sticking, (False, 0) if it must slide.

    Return (True, NaN) if W_ii is not positive definite, which these methods do not support.
    """
    nothing = 0.0, 0.0, 0.0
    if c.q0 >= 0.0:
        return True, nothing
    if c.mu == 0.0 and c.w00 > 0.0:
        return True, (-c.q0 / c.w00, 0.0, 0.0)
    regular, r = stick(c)
    if not regular or (r[0] >= 0.0 and r[1] * r[1] + r[2] * r[2] <= c.mu * c.mu * r[0] * r[0]):
        return True, r
    return False, nothing


@jit
def is_better(error, kappa, least, fastest):
    """Return whether a slip is preferred to the best so far: smaller error, or larger kappa if both solve."""
    return error < least if not least <= TOLERANCE else error <= TOLERANCE and kappa > fastest


@jit
def coefficients(c):
    """Return (A, B, C, D, E) of (15.15), as in (15.16) but for any W_TT; e cos phi = e1, e sin phi = e2."""
    n0 = -c.q0 / c.w00
    p, e1, e2 = c.mu * n0, c.mu * c.w01 / c.w00, c.mu * c.w02 / c.w00
    return (
        -e1 * c.q2 - p * c.w21,
        e2 * c.q1 + p * c.w12,
        (c.w11 - c.w22) * p + e1 * c.q1 - e2 * c.q2,
        c.q1 + n0 * c.w10,
        -c.q2 - n0 * c.w20,
    )


@jit
def slide_along(c, x, y):
    """Return (r, kappa) of sliding with r_T along (x, y), refined; kappa < 0 if there is none."""
    none = (0.0, 0.0, 0.0), -1.0
    denominator = 1.0 + c.mu * (c.w01 * x + c.w02 * y) / c.w00
    if not denominator > 0.0:  # other branch of a hyperbola
        return none
    n = -c.q0 / c.w00 / denominator
    _, u1, u2 = velocity(c, (n, c.mu * n * x, c.mu * n * y))
    kappa = -(u1 * x + u2 * y) / (c.mu * n)
    if not kappa >= -1e-6 * (c.w11 + c.w22):
        return none
    return polish_slip(eliminated(c), max(kappa, 0.0))


@jit
def by_quartic(c, r):
    """Return (r, error) by the quartic; of several sliding solutions that of largest kappa. r is not used."""
    no_slip, best = without_slip(c)
    if no_slip:
        return best, error_of(c, best)
    A, B, C, D, E = coefficients(c)
    least, fastest = math.inf, -1.0
    for half in range(2):
        sign = 1.0 - 2.0 * half  # theta + pi changes the signs of D and E, and of the direction
        D, E = sign * D, sign * E
        roots = quartic_roots(A + E, 2.0 * (C + D), 4.0 * B - 2.0 * A, 2.0 * (D - C), A - E, -1.0, 1.0)
        for t in roots:
            if t != t:  # no root
                continue
            inverse = sign / (1.0 + t * t)
            impulse, kappa = slide_along(c, (1.0 - t * t) * inverse, 2.0 * t * inverse)
            if kappa < 0.0:
                continue
            error = error_of(c, impulse)
            if is_better(error, kappa, least, fastest):
                best, least, fastest = impulse, error, kappa
    return best, least


@jit
def secular_polynomial(e, unit):
    """Return the coefficients of the polynomial of kappa (see above) in x = kappa / unit, constant first."""
    c1, c2 = e.s22 * e.b1 - e.s12 * e.b2, e.s11 * e.b2 - e.s21 * e.b1
    # mu r_N det = a0 + a1 kappa + a2 kappa²
    a0 = e.mu * (e.n0 * (e.s11 * e.s22 - e.s12 * e.s21) + e.w01 * c1 + e.w02 * c2)
    a1 = e.mu * (e.n0 * (e.s11 + e.s22) + e.w01 * e.b1 + e.w02 * e.b2) * unit
    a2 = e.mu * e.n0 * unit * unit
    return (
        a0 * a0 - c1 * c1 - c2 * c2,
        2.0 * (a0 * a1 - (c1 * e.b1 + c2 * e.b2) * unit),
        a1 * a1 + 2.0 * a0 * a2 - (e.b1 * e.b1 + e.b2 * e.b2) * unit * unit,
        2.0 * a1 * a2,
        a2 * a2,
    )


@jit
def slips_of(c):
    """Return (r, error, count): the sliding solution of largest kappa, and how many there are.

    The error is infinite if there is none.
    """
    best, least, fastest, slips, e = (0.0, 0.0, 0.0), math.inf, -1.0, 0, eliminated(c)
    unit = e.s11 + e.s22
    if c.mu * e.n0 != 0.0:
        unit = math.sqrt(e.b1 * e.b1 + e.b2 * e.b2) / (c.mu * abs(e.n0))
    if not unit > 0.0:
        return best, least, slips
    p0, p1, p2, p3, p4 = secular_polynomial(e, unit)
    kappa1, kappa2, kappa3 = -1.0, -1.0, -1.0
    for part in range(2):  # kappa <= unit, then kappa >= unit by the reversed polynomial
        if part == 0:
            roots = quartic_roots(p0, p1, p2, p3, p4, 0.0, 1.0)
        else:
            roots = quartic_roots(p4, p3, p2, p1, p0, 0.0, 1.0)
        for x in roots:
            if not (x > 0.0 or (x == 0.0 and part == 0)):
                continue
            impulse, kappa = polish_slip(e, unit * x if part == 0 else unit / x)
            error, close = error_of(c, impulse), SAME * kappa
            new = abs(kappa - kappa1) > close and abs(kappa - kappa2) > close and abs(kappa - kappa3) > close
            if error <= TOLERANCE and impulse[0] > 0.0 and new:
                slips += 1
                kappa1, kappa2, kappa3 = kappa, kappa1, kappa2
            if is_better(error, kappa, least, fastest):
                best, least, fastest = impulse, error, kappa
    return best, least, slips


@jit
def by_enumeration(c, r):
    """Return (r, error): open, else sticking, else sliding with the largest kappa. r is not used."""
    no_slip, impulse = without_slip(c)
    if no_slip:
        return impulse, error_of(c, impulse)
    impulse, error, _ = slips_of(c)
    return impulse, error
