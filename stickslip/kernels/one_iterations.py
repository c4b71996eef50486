"""Iterative solvers of one 3D Coulomb contact: projection method and damped Newton method.

Projection: r <- P_K(r - rho u_hat(r)) with adaptive rho (fixed point: De Saxcé & Feng 1998; rule for rho:
Khobotov 1987). A step is accepted if rho |u_hat(new) - u_hat(old)| is at most TOO_LONG |new - old|, and rho
grows if it is below TOO_SHORT |new - old|. Convergence is linear, and slow for ill-conditioned W_ii.

Newton: F(r) = r - (max(x_N, 0), P_D(mu max(x_N, 0))(x_T)) = 0 with x = r - rho u (Alart & Curnier 1991;
generalised Jacobian: Siconos Developer's Notes 2017, (16.6)-(16.16)), rho_N = 1 / W_NN, and rho_T = 1 / mean
W_TT. The step is halved until |F| decreases. F is not smooth, and the descent may end at a point that is not
a solution. Both methods return the error of their result.
"""

import math

from stickslip.kernels.bodies.rotation import solve3
from stickslip.kernels.cones import project_coulomb as project
from stickslip.kernels.contact_law import TOLERANCE, Contact, error_of, velocity
from stickslip.kernels.jit import jit
from stickslip.kernels.one_slips import stick

PROJECTIONS, STEPS = 200, 40
"""Largest number of projections, and of Newton steps."""
HALVINGS = 12
"""Largest number of halvings of one Newton step."""
TOO_LONG, TOO_SHORT = 0.9, 0.3
"""Ratios rho |change of u_hat| / |change of r| above which rho shrinks and below which it grows [-]."""
SHRINK = 2.0 / 3.0
"""Factor by which rho shrinks, and its inverse by which it grows [-]."""


@jit
def shifted(c, r):
    """Return u_hat(r) = W r + q + mu |u_T| e_N."""
    u0, u1, u2 = velocity(c, r)
    return u0 + c.mu * math.sqrt(u1 * u1 + u2 * u2), u1, u2


@jit
def square(a, b):
    """Return |a - b|² of two vectors of three components."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return x * x + y * y + z * z


@jit
def by_projection(contact, r):
    """Return (r, error) after at most `PROJECTIONS` projections from r.

    Tangential components are scaled so that mean W_TT = W_NN: r_T / a, a u_T and mu / a satisfy the same law.
    """
    # 1. Open contact, and scaling.
    if contact.q0 >= 0.0:  # separation is a solution; all methods prefer it
        return (0.0, 0.0, 0.0), 0.0
    if not (contact.w00 > 0.0 and contact.w11 + contact.w22 > 0.0):
        return r, math.inf
    a = math.sqrt(2.0 * contact.w00 / (contact.w11 + contact.w22))
    c = Contact(
        contact.w00, a * contact.w01, a * contact.w02,
        a * contact.w10, a * a * contact.w11, a * a * contact.w12,
        a * contact.w20, a * a * contact.w21, a * a * contact.w22,
        contact.q0, a * contact.q1, a * contact.q2, contact.mu / a,
    )  # fmt: skip
    # 2. Projections with adaptive rho.
    rho = 1.0 / c.w00
    x = project(c.mu, r[0], r[1] / a, r[2] / a)
    u = shifted(c, x)
    for _ in range(PROJECTIONS):
        if not error_of(c, x) > 0.05 * TOLERANCE:
            break
        y = project(c.mu, x[0] - rho * u[0], x[1] - rho * u[1], x[2] - rho * u[2])
        v = shifted(c, y)
        moved = square(y, x)
        share = rho * math.sqrt(square(v, u) / moved) if moved > 0.0 else 0.0
        if share > TOO_LONG:
            rho *= SHRINK
            continue
        x, u = y, v
        if share < TOO_SHORT:
            rho /= SHRINK
    impulse = x[0], a * x[1], a * x[2]
    return impulse, error_of(contact, impulse)


@jit
def alart_curnier(c, rho, r):
    """Return F and x = r - rho u at r; rho: (rho_N, rho_T)."""
    u = velocity(c, r)
    x0, x1, x2 = r[0] - rho[0] * u[0], r[1] - rho[1] * u[1], r[2] - rho[1] * u[2]
    n, size = max(x0, 0.0), math.sqrt(x1 * x1 + x2 * x2)
    scale = 1.0 if size <= c.mu * n else c.mu * n / size
    return (r[0] - n, r[1] - scale * x1, r[2] - scale * x2), (x0, x1, x2)


@jit
def direction(c, rho, F, x):
    """Return the Newton step -(dF)^-1 F, with F and x from `alart_curnier`."""
    if x[0] <= 0.0:  # open: F = r
        return -F[0], -F[1], -F[2]
    a = rho[0] * c.w00, rho[0] * c.w01, rho[0] * c.w02
    b1 = rho[1] * c.w10, rho[1] * c.w11, rho[1] * c.w12
    b2 = rho[1] * c.w20, rho[1] * c.w21, rho[1] * c.w22
    size, radius = math.sqrt(x[1] * x[1] + x[2] * x[2]), c.mu * x[0]
    if size > radius:
        # sliding: F_T = r_T - mu x_N e, e = x_T / |x_T|; dx = I - rho W, de = (I - e e') dx_T / |x_T|
        e1, e2, share = x[1] / size, x[2] / size, radius / size
        p11, p12, p22 = share * e2 * e2, -share * e1 * e2, share * e1 * e1
        n = 1.0 - a[0], -a[1], -a[2]
        b1, b2 = (
            (
                -c.mu * e1 * n[0] + p11 * b1[0] + p12 * b2[0],
                1.0 - c.mu * e1 * n[1] - p11 * (1.0 - b1[1]) + p12 * b2[1],
                -c.mu * e1 * n[2] + p11 * b1[2] - p12 * (1.0 - b2[2]),
            ),
            (
                -c.mu * e2 * n[0] + p12 * b1[0] + p22 * b2[0],
                -c.mu * e2 * n[1] - p12 * (1.0 - b1[1]) + p22 * b2[1],
                1.0 - c.mu * e2 * n[2] + p12 * b1[2] - p22 * (1.0 - b2[2]),
            ),
        )
    d0, d1, d2 = solve3(a, b1, b2, F)
    return -d0, -d1, -d2


@jit
def descend(c, r):
    """Return (r, error) after at most `STEPS` damped Newton steps from r."""
    rho, error, nothing = (1.0 / c.w00, 2.0 / (c.w11 + c.w22)), math.inf, (0.0, 0.0, 0.0)
    F, x = alart_curnier(c, rho, r)
    for _ in range(STEPS):
        before = error
        error = error_of(c, r)
        if not error > 1e-3 * TOLERANCE or (error <= TOLERANCE and error > 0.1 * before):
            break
        d = direction(c, rho, F, x)
        if not abs(d[0]) + abs(d[1]) + abs(d[2]) < math.inf:
            break
        merit, step, y = square(F, nothing), 1.0, r
        for _ in range(HALVINGS):
            y = r[0] + step * d[0], r[1] + step * d[1], r[2] + step * d[2]
            F, x = alart_curnier(c, rho, y)
            if square(F, nothing) < (1.0 - 1e-4 * step) * merit:
                break
            step *= 0.5
        if y == r:
            break
        r = y
    return r, error


@jit
def by_newton(c, r):
    """Return (r, error) of the damped Newton method from r, and if that fails, from the sticking impulse."""
    if c.q0 >= 0.0:  # separation is a solution; all methods prefer it
        return (0.0, 0.0, 0.0), 0.0
    if not (c.w00 > 0.0 and c.w11 + c.w22 > 0.0):
        return r, math.inf
    r, error = descend(c, r)
    if error <= TOLERANCE:
        return r, error
    regular, r = stick(c)
    if not regular:
        return (0.0, 0.0, 0.0), math.inf
    return descend(c, r)
