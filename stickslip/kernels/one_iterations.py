"""One 3D Coulomb contact by iterations from its present impulse: projections, and damped Newton.

Projection: r <- P_K(r - rho u_hat(r)) with a rho that adapts itself. De Saxcé & Feng 1998 for the fixed
point, Khobotov 1987 for the rule of rho: a step is taken if rho |u_hat(new) - u_hat(old)| is at most a
share of |new - old|, and rho grows when it was far below. Convergence is linear and slow where W_ii is
ill-conditioned.

Newton: on F(r) = r - (max(x_N, 0), P_D(mu max(x_N, 0))(x_T)), x = r - rho u (Alart & Curnier 1991; the
generalised Jacobian as in the Siconos Developer's Notes 2017, (16.6)-(16.16)), rho_N = 1 / W_NN and
rho_T = 1 / W_TT in the mean. The step is halved until |F| falls. F is not smooth and a descent may end where
it is no solution. The error returned says whether either was.
"""

import math

from stickslip.kernels.bodies.rotation import solve3
from stickslip.kernels.cones import project_coulomb as project
from stickslip.kernels.contact_law import TOLERANCE, Contact, error_of, velocity
from stickslip.kernels.jit import jit
from stickslip.kernels.one_slips import stick

PROJECTIONS, STEPS = 200, 40
"""Most projections, and most Newton steps."""
HALVINGS = 12
"""Most halvings of one Newton step."""
TOO_LONG, TOO_SHORT = 0.9, 0.3
"""Shares of |change of r| by |change of rho u_hat| above which rho shrinks and below which it grows."""
SHRINK = 2.0 / 3.0


@jit
def shifted(c, r):
    """u_hat(r) = W r + q + mu |u_T| e_N."""
    u0, u1, u2 = velocity(c, r)
    return u0 + c.mu * math.sqrt(u1 * u1 + u2 * u2), u1, u2


@jit
def square(a, b):
    """|a - b|² of two vectors of three."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return x * x + y * y + z * z


@jit
def by_projection(given, r):
    """(r, error) by at most `PROJECTIONS` from r.

    Tangents are counted in a unit of their own that makes W_TT as large as W_NN, with mu in that
    unit: r_T / a, a u_T, mu / a obey the same law.
    """
    if given.q0 >= 0.0:  # parting is a solution, and of several the one that all methods take
        return (0.0, 0.0, 0.0), 0.0
    if not (given.w00 > 0.0 and given.w11 + given.w22 > 0.0):
        return r, math.inf
    a = math.sqrt(2.0 * given.w00 / (given.w11 + given.w22))
    c = Contact(
        given.w00, a * given.w01, a * given.w02,
        a * given.w10, a * a * given.w11, a * a * given.w12,
        a * given.w20, a * a * given.w21, a * a * given.w22,
        given.q0, a * given.q1, a * given.q2, given.mu / a,
    )  # fmt: skip
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
    found = x[0], a * x[1], a * x[2]
    return found, error_of(given, found)


@jit
def alart_curnier(c, rho, r):
    """F and x at r; rho: (rho_N, rho_T)."""
    u = velocity(c, r)
    x0, x1, x2 = r[0] - rho[0] * u[0], r[1] - rho[1] * u[1], r[2] - rho[1] * u[2]
    n, size = max(x0, 0.0), math.sqrt(x1 * x1 + x2 * x2)
    scale = 1.0 if size <= c.mu * n else c.mu * n / size
    return (r[0] - n, r[1] - scale * x1, r[2] - scale * x2), (x0, x1, x2)


@jit
def direction(c, rho, F, x):
    """The Newton step -(dF)^-1 F where F and x are those of `alart_curnier`."""
    if x[0] <= 0.0:  # apart: F = r
        return -F[0], -F[1], -F[2]
    a = rho[0] * c.w00, rho[0] * c.w01, rho[0] * c.w02
    b1 = rho[1] * c.w10, rho[1] * c.w11, rho[1] * c.w12
    b2 = rho[1] * c.w20, rho[1] * c.w21, rho[1] * c.w22
    size, radius = math.sqrt(x[1] * x[1] + x[2] * x[2]), c.mu * x[0]
    if size > radius:
        # slip: F_T = r_T - mu x_N e, e = x_T / |x_T|; dx = I - rho W, de = (I - e e') dx_T / |x_T|
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
    """(r, error) by at most `STEPS` damped Newton steps from r."""
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
    """(r, error) by damped Newton from r; if that fails from the impulse that sticks."""
    if c.q0 >= 0.0:  # parting is a solution, and of several the one that all methods take
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
