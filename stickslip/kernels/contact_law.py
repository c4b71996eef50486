"""How far one 3D Coulomb contact is from its law: the judge's natural_scaled, for one contact.

The one-contact solvers that can be chosen (`one_contact.py`) take W_ii as nine numbers, row by row,
q = velocity without the contact's own impulse, mu, and its present impulse; they return the impulse
and its error by this measure.
"""

import math

from stickslip.kernels.jit import jit
from stickslip.kernels.residuals import map_coulomb

TOLERANCE = 1e-13
"""Error at which a one-contact solver has found its answer: the rounding of W_ii r + q, with a margin."""


@jit
def error_of(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2):
    """|r - P_K(r - rho u_hat)| / max(|r|, rho |q|, rho |u|) with rho = 3 / trace W_ii; 0/0 = 0."""
    trace = abs(w00) + abs(w11) + abs(w22)
    rho = 3.0 / trace if trace > 0.0 else 1.0
    u0 = w00 * r0 + w01 * r1 + w02 * r2 + q0
    u1 = w10 * r0 + w11 * r1 + w12 * r2 + q1
    u2 = w20 * r0 + w21 * r1 + w22 * r2 + q2
    square = map_coulomb(mu, rho, r0, r1, r2, u0, u1, u2, math.sqrt(u1 * u1 + u2 * u2))
    size = rho * rho * max(u0 * u0 + u1 * u1 + u2 * u2, q0 * q0 + q1 * q1 + q2 * q2)
    size = max(size, r0 * r0 + r1 * r1 + r2 * r2)
    return math.sqrt(square / size) if square > 0.0 else square
