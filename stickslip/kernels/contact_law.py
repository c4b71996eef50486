"""How far impulses of one contact are from its law, and one 3D Coulomb contact by itself.

The one-contact solvers that can be chosen (`one_contact.py`) take a `Contact` and its present impulse; they
return the impulse and its error, natural_scaled for one contact. The law is that of `laws.py` with sliding
friction alone: r in its set K, u_hat in the dual of K, both at right angles; what an impact owes is in q.
"""

import math
from typing import NamedTuple

from stickslip.kernels import cones
from stickslip.kernels.jit import jit_forward as jit

TOLERANCE = 1e-13
"""Error at which a one-contact solver has found its answer: the rounding of W_ii r + q, with a margin."""
EXACT, RELAXED = 1.0, 0.0
"""Share of De Saxcé's shift in u_hat: all of it by Coulomb's law, nothing in its convex relaxation."""


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
def map_coulomb(mu, rho, r, u, slide):
    """|r - P_K(r - rho u_hat)|² of a Coulomb contact, slide = |u_T|: the case met most, in full.

    r, u: their three components; in 2D the third ones are 0.
    """
    x0, x1, x2 = cones.project_coulomb(
        mu, r[0] - rho * (u[0] + mu * slide), r[1] - rho * u[1], r[2] - rho * u[2]
    )
    d0, d1, d2 = r[0] - x0, r[1] - x1, r[2] - x2
    return d0 * d0 + d1 * d1 + d2 * d2


@jit
def map_between(low, high, rho, r, u):
    """(r - P(r - rho u))² of one component between bounds; a free one has infinite ones."""
    d = r - min(max(r - rho * u, low), high)
    return d * d


@jit
def is_between(kind):
    """Whether the components of blocks of a kind lie between bounds, each by itself."""
    return kind != cones.FRICTION and kind != cones.DISKS


@jit
def three(x, a, b):
    """x[a:b] of a Coulomb contact as three numbers, the last one 0 in 2D."""
    return x[a], x[a + 1], x[a + 2] if b - a == 3 else 0.0


@jit
def no_map(i, K, rho, length, shift, r, u, work):
    """Stands for `natural_map` where all contacts are Coulomb's, so that it need not be compiled."""
    return math.nan


@jit
def natural_map(i, K, rho, length, shift, r, u, work):
    """|r/l - P_K(r/l - rho u_hat(l u))|² on block i.

    length (n,), or (0,) for 1; rho scalar, coefficients of K in the same lengths; work: two vectors (n,).
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
