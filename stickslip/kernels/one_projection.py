"""One 3D Coulomb contact by projection: r <- P_K(r - rho u_hat(r)) with a rho that adapts itself.

De Saxcé & Feng 1998 for the fixed point, Khobotov 1987 for the rule of rho: a step is taken if
rho |u_hat(new) - u_hat(old)| is at most a share of |new - old|, and rho grows when it was far below.
Convergence is linear and slow where W_ii is ill-conditioned; the error returned says whether it
was reached.
"""

import math

from stickslip.kernels.cones import project_coulomb as project
from stickslip.kernels.contact_law import TOLERANCE, error_of
from stickslip.kernels.jit import jit

STEPS = 200
"""Most projections."""
TOO_LONG, TOO_SHORT = 0.9, 0.3
"""Shares of |change of r| by |change of rho u_hat| above which rho shrinks and below which it grows."""
SHRINK = 2.0 / 3.0


@jit
def shifted(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2):
    """u_hat(r) = W r + q + mu |u_T| e_N."""
    u1 = w10 * r0 + w11 * r1 + w12 * r2 + q1
    u2 = w20 * r0 + w21 * r1 + w22 * r2 + q2
    return w00 * r0 + w01 * r1 + w02 * r2 + q0 + mu * math.sqrt(u1 * u1 + u2 * u2), u1, u2


@jit
def by_projection(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2):
    """(r_N, r_1, r_2, error) by at most `STEPS` projections from r.

    Tangents are counted in a unit of their own that makes W_TT as large as W_NN, with mu in that
    unit: r_T / a, a u_T, mu / a obey the same law.
    """
    if q0 >= 0.0:  # parting is a solution, and of several the one that all methods take
        return 0.0, 0.0, 0.0, 0.0
    if not (w00 > 0.0 and w11 + w22 > 0.0):
        return r0, r1, r2, math.inf
    v01, v02, v10, v11, v12, v20, v21, v22, p1, p2 = w01, w02, w10, w11, w12, w20, w21, w22, q1, q2
    given, a = mu, math.sqrt(2.0 * w00 / (w11 + w22))
    w01, w02, w10, w20, q1, q2 = a * w01, a * w02, a * w10, a * w20, a * q1, a * q2
    w11, w12, w21, w22, mu = a * a * w11, a * a * w12, a * a * w21, a * a * w22, mu / a
    rho = 1.0 / w00
    r0, r1, r2 = project(mu, r0, r1 / a, r2 / a)
    u0, u1, u2 = shifted(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2)
    for _ in range(STEPS):
        error = error_of(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2)
        if not error > 0.05 * TOLERANCE:
            break
        y0, y1, y2 = project(mu, r0 - rho * u0, r1 - rho * u1, r2 - rho * u2)
        v0, v1, v2 = shifted(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, y0, y1, y2)
        moved = (y0 - r0) * (y0 - r0) + (y1 - r1) * (y1 - r1) + (y2 - r2) * (y2 - r2)
        change = (v0 - u0) * (v0 - u0) + (v1 - u1) * (v1 - u1) + (v2 - u2) * (v2 - u2)
        share = rho * math.sqrt(change / moved) if moved > 0.0 else 0.0
        if share > TOO_LONG:
            rho *= SHRINK
            continue
        r0, r1, r2, u0, u1, u2 = y0, y1, y2, v0, v1, v2
        if share < TOO_SHORT:
            rho /= SHRINK
    r1, r2 = a * r1, a * r2
    error = error_of(w00, v01, v02, v10, v11, v12, v20, v21, v22, q0, p1, p2, given, r0, r1, r2)
    return r0, r1, r2, error
