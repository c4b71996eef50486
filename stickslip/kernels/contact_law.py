"""Residual of the contact law for one block, and the data of one 3D Coulomb contact.

The one-contact solvers (`one_contact.py`) take a `Contact` and its present impulse, and return the new
impulse and its error, natural_scaled of one contact. The law is that of `laws.py` with sliding friction only:
r in K, u_hat in K*, r·u_hat = 0. Restitution is part of q.
"""

import math
from typing import NamedTuple

from stickslip.kernels import cones
from stickslip.kernels.jit import jit_forward as jit

TOLERANCE = 1e-13
"""Relative error at which a one-contact solver stops [-]: rounding of W_ii r + q, with a margin."""
EXACT, RELAXED = 1.0, 0.0
"""Factor of De Saxcé's shift in u_hat [-]: 1 for Coulomb's law, 0 for its convex relaxation."""


class Contact(NamedTuple):
    """A 3D Coulomb contact, u = W_ii r + q."""

    w00: float
    """W_NN; W_ii row by row in w00 to w22 [1/kg]."""
    w01: float
    w02: float
    w10: float
    w11: float
    w12: float
    w20: float
    w21: float
    w22: float
    q0: float
    """Normal velocity without the contact's own impulse; the tangential ones in q1, q2 [m/s]."""
    q1: float
    q2: float
    mu: float
    """Coefficient of friction [-]."""


@jit
def map_coulomb(mu, rho, r, u, slide):
    """Return |r - P_K(r - rho u_hat)|² of a Coulomb contact.

    r, u: three components each, the third 0 in 2D; slide: |u_T|, or 0 for the relaxed law.
    """
    x0, x1, x2 = cones.project_coulomb(
        mu, r[0] - rho * (u[0] + mu * slide), r[1] - rho * u[1], r[2] - rho * u[2]
    )
    d0, d1, d2 = r[0] - x0, r[1] - x1, r[2] - x2
    return d0 * d0 + d1 * d1 + d2 * d2


@jit
def map_between(low, high, rho, r, u):
    """Return (r - P(r - rho u))² of one component with bounds low and high, infinite for a free one."""
    d = r - min(max(r - rho * u, low), high)
    return d * d


@jit
def is_between(kind):
    """Return whether blocks of this kind have independent bounds on each component."""
    return kind != cones.FRICTION and kind != cones.DISKS


@jit
def three(x, a, b):
    """Return the components x[a:b] of a Coulomb contact as three numbers, the last one 0 in 2D."""
    return x[a], x[a + 1], x[a + 2] if b - a == 3 else 0.0


@jit
def no_map(i, K, rho, length, shift, r, u, work):
    """Replace `natural_map` in problems of Coulomb contacts only, so that it is not compiled; returns NaN."""
    return math.nan


@jit
def natural_map(i, K, rho, length, shift, r, u, work):
    """Return |r/l - P_K(r/l - rho u_hat(l u))|² of block i.

    length: l (n,), or (0,) for 1; rho scalar; coefficients of K divided by l; work: two vectors (n,).
    """
    a, b, has_length, (x, y) = K.offset[i], K.offset[i + 1], length.shape[0] > 0, work
    for k in range(a, b):
        y[k] = rho * (length[k] if has_length else 1.0) * u[k]
    if K.kind[i] == cones.FRICTION and shift != RELAXED:
        y[a] += cones.shift_of_block(i, K, y)
    for k in range(a, b):
        y[k] = r[k] / (length[k] if has_length else 1.0) - y[k]
    cones.project_block(i, K, y, x)
    square = 0.0
    for k in range(a, b):
        x[k] = r[k] / (length[k] if has_length else 1.0) - x[k]
        square += x[k] * x[k]
    return square


@jit
def velocity(c, r):
    """Return (u_N, u_1, u_2) for the impulse r = (r_N, r_1, r_2)."""
    r0, r1, r2 = r
    return (
        c.w00 * r0 + c.w01 * r1 + c.w02 * r2 + c.q0,
        c.w10 * r0 + c.w11 * r1 + c.w12 * r2 + c.q1,
        c.w20 * r0 + c.w21 * r1 + c.w22 * r2 + c.q2,
    )


@jit
def error_of(c, r):
    """Return |r - P_K(r - rho u_hat)| / max(|r|, rho |q|, rho |u|), rho = 3 / trace W_ii, 0/0 = 0."""
    trace = abs(c.w00) + abs(c.w11) + abs(c.w22)
    rho = 3.0 / trace if trace > 0.0 else 1.0
    (r0, r1, r2), (u0, u1, u2) = r, velocity(c, r)
    square = map_coulomb(c.mu, rho, r, (u0, u1, u2), math.sqrt(u1 * u1 + u2 * u2))
    size = rho * rho * max(u0 * u0 + u1 * u1 + u2 * u2, c.q0 * c.q0 + c.q1 * c.q1 + c.q2 * c.q2)
    size = max(size, r0 * r0 + r1 * r1 + r2 * r2)
    return math.sqrt(square / size) if square > 0.0 else square
