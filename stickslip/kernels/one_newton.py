"""One 3D Coulomb contact by damped Newton on Alart & Curnier's function.

F(r) = r - (max(x_N, 0), P_D(mu max(x_N, 0))(x_T)), x = r - rho u (Alart & Curnier 1991; the
generalised Jacobian as in the Siconos Developer's Notes 2017, (16.6)-(16.16)), rho_N = 1 / W_NN and
rho_T = 1 / W_TT in the mean.
The step is halved until |F| falls. F is not smooth and a descent may end where it is no solution:
the error returned says so.
"""

import math

from stickslip.kernels.contact_law import TOLERANCE, error_of
from stickslip.kernels.jit import jit
from stickslip.kernels.quartic import stick

STEPS = 40
"""Most Newton steps."""
HALVINGS = 12
"""Most halvings of one step."""


@jit
def alart_curnier(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, rho_n, rho_t, r0, r1, r2):
    """(F_N, F_1, F_2, x_N, x_1, x_2) at r."""
    x0 = r0 - rho_n * (w00 * r0 + w01 * r1 + w02 * r2 + q0)
    x1 = r1 - rho_t * (w10 * r0 + w11 * r1 + w12 * r2 + q1)
    x2 = r2 - rho_t * (w20 * r0 + w21 * r1 + w22 * r2 + q2)
    n, size = max(x0, 0.0), math.sqrt(x1 * x1 + x2 * x2)
    scale = 1.0 if size <= mu * n else mu * n / size
    return r0 - n, r1 - scale * x1, r2 - scale * x2, x0, x1, x2


@jit
def solve3(a00, a01, a02, a10, a11, a12, a20, a21, a22, f0, f1, f2):
    """A^-1 f of a 3 x 3 matrix by its cofactors; not finite where A is singular."""
    c0, c1, c2 = a11 * a22 - a12 * a21, a12 * a20 - a10 * a22, a10 * a21 - a11 * a20
    inverse = 1.0 / (a00 * c0 + a01 * c1 + a02 * c2)
    return (
        inverse * (c0 * f0 + (a02 * a21 - a01 * a22) * f1 + (a01 * a12 - a02 * a11) * f2),
        inverse * (c1 * f0 + (a00 * a22 - a02 * a20) * f1 + (a02 * a10 - a00 * a12) * f2),
        inverse * (c2 * f0 + (a01 * a20 - a00 * a21) * f1 + (a00 * a11 - a01 * a10) * f2),
    )


@jit
def direction(w00, w01, w02, w10, w11, w12, w20, w21, w22, mu, rho_n, rho_t, f0, f1, f2, x0, x1, x2):
    """The Newton step -(dF)^-1 F where F and x are those of `alart_curnier`."""
    if x0 <= 0.0:  # apart: F = r
        return -f0, -f1, -f2
    a00, a01, a02 = rho_n * w00, rho_n * w01, rho_n * w02
    b10, b11, b12 = rho_t * w10, rho_t * w11, rho_t * w12
    b20, b21, b22 = rho_t * w20, rho_t * w21, rho_t * w22
    size, radius = math.sqrt(x1 * x1 + x2 * x2), mu * x0
    if size <= radius:  # stick: F_T = rho_T u_T
        d0, d1, d2 = solve3(a00, a01, a02, b10, b11, b12, b20, b21, b22, f0, f1, f2)
        return -d0, -d1, -d2
    # slip: F_T = r_T - mu x_N e, e = x_T / |x_T|; dx = I - rho W, de = (I - e e') dx_T / |x_T|
    e1, e2, share = x1 / size, x2 / size, radius / size
    p11, p12, p22 = share * e2 * e2, -share * e1 * e2, share * e1 * e1
    n0, n1, n2 = 1.0 - a00, -a01, -a02
    d0, d1, d2 = solve3(
        a00, a01, a02,
        -mu * e1 * n0 + p11 * b10 + p12 * b20,
        1.0 - mu * e1 * n1 - p11 * (1.0 - b11) + p12 * b21,
        -mu * e1 * n2 + p11 * b12 - p12 * (1.0 - b22),
        -mu * e2 * n0 + p12 * b10 + p22 * b20,
        -mu * e2 * n1 - p12 * (1.0 - b11) + p22 * b21,
        1.0 - mu * e2 * n2 + p12 * b12 - p22 * (1.0 - b22),
        f0, f1, f2,
    )  # fmt: skip
    return -d0, -d1, -d2


@jit
def descend(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2):
    """(r_N, r_1, r_2, error) by at most `STEPS` damped Newton steps from r."""
    rho_n, rho_t = 1.0 / w00, 2.0 / (w11 + w22)
    error = math.inf
    f0, f1, f2, x0, x1, x2 = alart_curnier(
        w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, rho_n, rho_t, r0, r1, r2
    )
    for _ in range(STEPS):
        before = error
        error = error_of(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2)
        if not error > 1e-3 * TOLERANCE or (error <= TOLERANCE and error > 0.1 * before):
            break
        d0, d1, d2 = direction(
            w00, w01, w02, w10, w11, w12, w20, w21, w22, mu, rho_n, rho_t, f0, f1, f2, x0, x1, x2
        )
        if not abs(d0) + abs(d1) + abs(d2) < math.inf:
            break
        merit, step = f0 * f0 + f1 * f1 + f2 * f2, 1.0
        for _ in range(HALVINGS):
            y0, y1, y2 = r0 + step * d0, r1 + step * d1, r2 + step * d2
            f0, f1, f2, x0, x1, x2 = alart_curnier(
                w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, rho_n, rho_t, y0, y1, y2
            )
            if f0 * f0 + f1 * f1 + f2 * f2 < (1.0 - 1e-4 * step) * merit:
                break
            step *= 0.5
        if y0 == r0 and y1 == r1 and y2 == r2:
            break
        r0, r1, r2 = y0, y1, y2
    return r0, r1, r2, error


@jit
def by_newton(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2):
    """(r_N, r_1, r_2, error) by damped Newton from r; if that fails from the impulse that sticks."""
    if q0 >= 0.0:  # parting is a solution, and of several the one that all methods take
        return 0.0, 0.0, 0.0, 0.0
    if not (w00 > 0.0 and w11 + w22 > 0.0):
        return r0, r1, r2, math.inf
    r0, r1, r2, error = descend(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2)
    if error <= TOLERANCE:
        return r0, r1, r2, error
    regular, r0, r1, r2 = stick(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2)
    if not regular:
        return 0.0, 0.0, 0.0, math.inf
    return descend(w00, w01, w02, w10, w11, w12, w20, w21, w22, q0, q1, q2, mu, r0, r1, r2)
