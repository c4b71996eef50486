"""One 3D Coulomb contact by itself, and how far an impulse is from its law: natural_scaled for one contact.

The one-contact solvers that can be chosen (`one_contact.py`) take a `Contact` and its present impulse; they
return the impulse and its error by this measure. The law is that of `laws.py` with sliding friction alone: r
in its set K, u_hat in the dual of K, both at right angles; what an impact owes is in q.
"""

import math
from typing import NamedTuple

from stickslip.kernels.jit import jit
from stickslip.kernels.residuals import map_coulomb

TOLERANCE = 1e-13
"""Error at which a one-contact solver has found its answer: the rounding of W_ii r + q, with a margin."""


class Contact(NamedTuple):
    """u = W_ii r + q with friction mu."""

    w00: float
    """W_NN, and row by row the rest of W_ii [1/kg]."""
    w01: float
    w02: float
    w10: float
    w11: float
    w12: float
    w20: float
    w21: float
    w22: float
    q0: float
    """Velocity without the contact's own impulse: the normal one and the tangential ones [m/s]."""
    q1: float
    q2: float
    mu: float
    """Coefficient of friction [-]."""


@jit
def velocity(c, r):
    """(u_N, u_1, u_2) of the impulse r = (r_N, r_1, r_2)."""
    r0, r1, r2 = r
    return (
        c.w00 * r0 + c.w01 * r1 + c.w02 * r2 + c.q0,
        c.w10 * r0 + c.w11 * r1 + c.w12 * r2 + c.q1,
        c.w20 * r0 + c.w21 * r1 + c.w22 * r2 + c.q2,
    )


@jit
def error_of(c, r):
    """|r - P_K(r - rho u_hat)| / max(|r|, rho |q|, rho |u|) with rho = 3 / trace W_ii; 0/0 = 0."""
    trace = abs(c.w00) + abs(c.w11) + abs(c.w22)
    rho = 3.0 / trace if trace > 0.0 else 1.0
    (r0, r1, r2), (u0, u1, u2) = r, velocity(c, r)
    square = map_coulomb(c.mu, rho, r, (u0, u1, u2), math.sqrt(u1 * u1 + u2 * u2))
    size = rho * rho * max(u0 * u0 + u1 * u1 + u2 * u2, c.q0 * c.q0 + c.q1 * c.q1 + c.q2 * c.q2)
    size = max(size, r0 * r0 + r1 * r1 + r2 * r2)
    return math.sqrt(square / size) if square > 0.0 else square
