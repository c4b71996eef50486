"""Local problem of one block: the impulse r_i that satisfies the law with u_i = W_ii r_i + q, exactly.

The law is that of `laws.py` (`NewtonImpact`, `PoissonImpact`); restitution is part of q. This file solves
2D and 3D Coulomb contacts; `friction.py` solves cones of several groups.

For each block, the array `local` holds W_ii row by row, then quantities that are computed once. With S, b the
tangential part of the equations after the elimination of r_N by u_N = 0, a sticking contact has S t = -b. A
sliding contact has u_T = -kappa r_T with kappa > 0, so that (S + kappa I) t = -b and |t| = mu r_N
(`slip.py`).

If W_NN = 0, the impulse of the contact does not move it, and r_i = 0; the judge decides whether that is a
solution. If S is singular, a sticking contact takes the smallest impulse with u_T = 0, if there is one.
"""

import math

from stickslip.kernels import cones, friction
from stickslip.kernels.jit import jit
from stickslip.kernels.slip import CLOSE, Sliding, slip3, solve2, stiff_slip3

EXTRAS_3 = 7
"""Numbers after W_ii for a 3D Coulomb contact: 1/W_NN, S (4), 1/det S or 1/s, and the form of S."""
GENERAL, SINGULAR, ISOTROPIC, STIFF = 0.0, 1.0, 2.0, 3.0
"""Forms of S: regular, singular, s I with no coupling to the normal, and regular but ill-conditioned."""
ROUNDING = 1e-13
"""Largest ratio of |S| to W_TT at which S is rounding of the elimination and set to 0 [-]."""
SINGULAR_BELOW = 1e-13
"""Ratio of det S to tr S tr W_TT below which S is singular [-]: rounding of the elimination."""
STIFF_BELOW = 1e-2
"""Ratio of det S to (tr S)² below which S is ill-conditioned and the contact is solved by `stiff_slip3`
[-]."""


@jit
def prepare_coulomb3(local, at):
    """Write the EXTRAS_3 numbers of a 3D Coulomb contact after its W_ii.   local flat, W_ii at `at`."""
    w00 = local[at]
    for k in range(at + 9, at + 9 + EXTRAS_3):
        local[k] = 0.0
    if not w00 > 0.0:
        return
    # 1. S = W_TT - W_TN W_NT / W_NN.
    iw = 1.0 / w00
    s11 = local[at + 4] - local[at + 3] * local[at + 1] * iw
    s12 = local[at + 5] - local[at + 3] * local[at + 2] * iw
    s21 = local[at + 7] - local[at + 6] * local[at + 1] * iw
    s22 = local[at + 8] - local[at + 6] * local[at + 2] * iw
    noise = ROUNDING * (abs(local[at + 4]) + abs(local[at + 8]))
    if abs(s11) + abs(s12) + abs(s21) + abs(s22) <= noise:  # W_ii of rank one
        s11, s12, s21, s22 = 0.0, 0.0, 0.0, 0.0
    local[at + 9], local[at + 10], local[at + 11], local[at + 12], local[at + 13] = iw, s11, s12, s21, s22
    # 2. The form of S.
    coupling = abs(local[at + 1]) + abs(local[at + 2]) + abs(local[at + 3]) + abs(local[at + 6])
    uneven = abs(s11 - s22) + abs(s12) + abs(s21)
    trace, det = s11 + s22, s11 * s22 - s12 * s21
    if s11 > 0.0 and coupling <= CLOSE * w00 and uneven <= CLOSE * s11:
        local[at + 14], local[at + 15] = 1.0 / s11, ISOTROPIC
    elif trace > 0.0 and det > SINGULAR_BELOW * trace * (local[at + 4] + local[at + 8]):
        local[at + 14], local[at + 15] = 1.0 / det, GENERAL if det > STIFF_BELOW * trace * trace else STIFF
    else:
        local[at + 15] = SINGULAR


@jit
def isotropic3(inverse_n, inverse_t, mu, r0, r1, r2, u0, u1, u2):
    """Return (r_N, r_1, r_2) of a 3D Coulomb contact with W_ii = diag(W_NN, W_TT, W_TT), in closed form.

    inverse_n, inverse_t: 1/W_NN, 1/W_TT; r, u: present impulse and the velocity with it.
    """
    n, t1, t2 = r0 - inverse_n * u0, 0.0, 0.0
    if n > 0.0:
        t1, t2 = r1 - inverse_t * u1, r2 - inverse_t * u2
        limit, square = mu * n, t1 * t1 + t2 * t2
        if square > limit * limit:
            scale = limit / math.sqrt(square)
            t1, t2 = scale * t1, scale * t2
    else:
        n = 0.0
    return n, t1, t2


@jit
def coulomb3(local, at, q0, q1, q2, mu, kappa):
    """Return (r_N, r_1, r_2, kappa) of a 3D Coulomb contact, by cases: open, sticking, sliding.

    local flat, W_ii and its extras at `at`; q: velocity without the impulse; kappa: initial guess, 0 for
    none.
    """
    # 1. Open, or W_NN = 0; the closed form of an isotropic W_ii.
    iw = local[at + 9]
    if q0 >= 0.0 or iw == 0.0:
        return 0.0, 0.0, 0.0, kappa
    n0, form = -q0 * iw, local[at + 15]
    if form == ISOTROPIC:
        n, t1, t2 = isotropic3(iw, local[at + 14], mu, 0.0, 0.0, 0.0, q0, q1, q2)
        return n, t1, t2, kappa
    # 2. Sticking: S t = -b, in the least-squares sense if S is singular.
    b1, b2 = q1 + local[at + 3] * n0, q2 + local[at + 6] * n0
    w01, w02 = local[at + 1] * iw, local[at + 2] * iw
    s11, s12, s21, s22 = local[at + 10], local[at + 11], local[at + 12], local[at + 13]
    if form == GENERAL:
        inverse = local[at + 14]
        t1, t2 = -(s22 * b1 - s12 * b2) * inverse, -(s11 * b2 - s21 * b1) * inverse
        sticks = True
    elif form == STIFF:
        t1, t2 = solve2(s11, s12, s21, s22, -b1, -b2)
        sticks = True
    else:
        square = s11 * s11 + s12 * s12 + s21 * s21 + s22 * s22
        t1, t2 = 0.0, 0.0
        if square > 0.0:
            t1, t2 = -(s11 * b1 + s21 * b2) / square, -(s12 * b1 + s22 * b2) / square
        e1, e2 = b1 + s11 * t1 + s12 * t2, b2 + s21 * t1 + s22 * t2
        size = abs(q1) + abs(q2) + (abs(local[at + 3]) + abs(local[at + 6])) * n0
        sticks = abs(e1) + abs(e2) <= 1e-13 * size
        if sticks and square > 0.0:
            t1, t2 = lean3(n0 - w01 * t1 - w02 * t2, t1, t2, w01, w02, s11, s12, s21, s22, mu)
    n = n0 - w01 * t1 - w02 * t2
    if sticks and n >= 0.0 and t1 * t1 + t2 * t2 <= mu * mu * n * n:
        return n, t1, t2, kappa
    # 3. Sliding: (S + kappa I) t = -b, |t| = mu r_N.
    if mu == 0.0:
        return n0, 0.0, 0.0, kappa
    if form == STIFF:
        return stiff_slip3(Sliding(n0, b1, b2, w01, w02, s11, s12, s21, s22, mu), kappa)
    return slip3(Sliding(n0, b1, b2, w01, w02, s11, s12, s21, s22, mu), kappa)


@jit
def lean3(n, t1, t2, w01, w02, s11, s12, s21, s22, mu):
    """Return (r_1, r_2) of a sticking contact with S of rank one, moved into the cone if possible.

    n, t: the smallest sticking impulse. With e in the kernel of S, the impulse (z, e), z = -w·e, changes no
    velocity. The smallest multiple of it that leads into the cone is added; without one, t is unchanged.
    """
    if n >= 0.0 and t1 * t1 + t2 * t2 <= mu * mu * n * n:
        return t1, t2
    e1, e2 = -s12, s11
    if abs(s22) + abs(s21) > abs(s12) + abs(s11):
        e1, e2 = -s22, s21
    size = math.sqrt(e1 * e1 + e2 * e2)
    e1, e2 = e1 / size, e2 / size
    z = -(w01 * e1 + w02 * e2)
    # mu² (n + alpha z)² - |t + alpha e|² = a alpha² + 2 b alpha + c
    a, b, c = mu * mu * z * z - 1.0, mu * mu * n * z - t1 * e1 - t2 * e2, mu * mu * n * n - t1 * t1 - t2 * t2
    discriminant = b * b - a * c
    if a == 0.0 or discriminant < 0.0:
        return t1, t2
    best = math.inf
    for side in range(2):
        root = (-b + (1 - 2 * side) * math.sqrt(discriminant)) / a
        # slightly further into the cone, so that the caller's test does not fail by rounding
        alpha = root * (1.0 + 1e-14)
        if n + alpha * z >= 0.0 and abs(alpha) < abs(best):
            best = alpha
    if best == math.inf:
        return t1, t2
    scale = 1.0 - 1e-14
    return scale * (t1 + best * e1), scale * (t2 + best * e2)


@jit
def coulomb2(local, at, q0, q1, mu):
    """Return (r_N, r_T) of a 2D Coulomb contact, by cases: open, sticking, sliding.

    local flat, W_ii row by row at `at`; q: velocity without the impulse.
    """
    w00 = local[at]
    if q0 >= 0.0 or not w00 > 0.0:
        return 0.0, 0.0
    n0, w01 = -q0 / w00, local[at + 1] / w00
    s, b = local[at + 3] - local[at + 2] * w01, q1 + local[at + 2] * n0
    if s > SINGULAR_BELOW * abs(local[at + 3]):
        t = -b / s
        n = n0 - w01 * t
        if n >= 0.0 and abs(t) <= mu * n:
            return n, t
    elif abs(b) <= 1e-13 * (abs(q1) + abs(local[at + 2]) * n0):
        return n0, 0.0
    side = -1.0 if b > 0.0 else 1.0
    share = 1.0 + mu * side * w01
    n = n0 / share if share > 0.0 else n0
    return n, side * mu * n


@jit
def one_component(w, q, low, high, r):
    """Return r in [low, high] with -(w r + q) in the normal cone of the interval at r, for any sign of w.

    If w = 0 and no bound satisfies this, return the projection of the present r.
    """
    if low > -math.inf and q + w * low >= 0.0:
        return low
    if high < math.inf and q + w * high <= 0.0:
        return high
    if w == 0.0:
        return min(max(r, low), high)
    return min(max(-q / w, low), high)


@jit
def solve_block(i, K, local, local_start, q, r, kappa, work, out):
    """out <- solution of the local problem of block i, of any kind.

    q, r, out (d,): velocity without the block's own impulse, present impulse, new impulse;
    kappa (ng,): guesses on entry, multipliers of the solution on exit; work as in `friction.solve_friction`.
    """
    kind, offset, lower, upper, group_offset, group_size, coefficient = K
    at, d = local_start[i], offset[i + 1] - offset[i]
    if kind[i] == cones.FREE:
        inverse = at + d * d
        for a in range(d):
            s = 0.0
            for b in range(d):
                s -= local[inverse + a * d + b] * q[b]
            out[a] = s
    elif kind[i] != cones.FRICTION:
        out[0] = one_component(local[at], q[0], lower[i], upper[i], r[0])
    else:
        g0, g1 = group_offset[i], group_offset[i + 1]
        if g1 - g0 == 1 and d == 3:
            out[0], out[1], out[2], kappa[g0] = coulomb3(
                local, at, q[0], q[1], q[2], coefficient[g0], kappa[g0]
            )
        elif d == 2:
            out[0], out[1] = coulomb2(local, at, q[0], q[1], coefficient[g0])
        else:
            block = friction.FrictionBlock(local, at, d, coefficient, group_size, g0, g1)
            friction.solve_friction(block, q, kappa, work, out)
