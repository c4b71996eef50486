"""Maps of one block with its cone and De Saxcé's u_hat: natural map and Fischer–Burmeister map.

The interface is that of `maps.py`: F_i, A = dF_i/dr_i, B = dF_i/du_i, and the state of the block. The
derivative of |u_T| in the shift is set to 0 at u_T = 0.
"""

import math
from typing import NamedTuple

from stickslip.kernels import cones
from stickslip.kernels.jit import jit
from stickslip.kernels.maps import clear, one_by_one

SMALLEST_ROOT = 1e-10
"""Smallest eigenvalue of a root in divisions, over the largest [-]; heuristic."""


class Root(NamedTuple):
    """Root (x² + y²)^(1/2) in the Jordan algebra, with x and y of `fischer_burmeister`."""

    mu: float
    """Coefficient of friction [-]."""
    p: float
    """Scale factor of y [kg]."""
    x0: float
    """First component of x [N s]."""
    y0: float
    """First component of y [N s]."""
    less: float
    """Smaller eigenvalue, bounded below by SMALLEST_ROOT times the larger [N s]."""
    more: float
    """Larger eigenvalue [N s]."""
    slide: float
    """|u_T| [m/s]."""


@jit
def natural_newton(i, K, rho, r, u, out):
    """Write the natural map F = r - P_K(r - rho u_hat) in the metric of rho, for cones of any groups.

    With lengths l_k = sqrt(rho_k/rho_N), the components r_k/l_k and l_k u_k have the same augmentation rho_N,
    and their cone has the coefficients mu_k/l_k; P_K is the Euclidean projection on it. Return the state.
    """
    o, d, (F, A, _) = K.offset[i], K.offset[i + 1] - K.offset[i], out
    if K.kind[i] != cones.FRICTION:
        return one_by_one(i, K, rho, r, u, out)
    clear(d, out)
    p = rho[o]
    n = r[o] - p * (u[o] + cones.shift_of_block(i, K, u))
    for k in range(o + 1, o + d):  # trial impulse x in the metric
        length = math.sqrt(rho[k] / p)
        F[k] = r[k] / length - p * length * u[k]
    groups = K.group_size, K.coefficient, K.group_offset[i], K.group_offset[i + 1]
    s = cones.height(n, F, o, groups, rho, True)
    if s <= 0.0:
        for a in range(d):
            F[o + a], A[a, a] = r[o + a], 1.0
        return 0
    return 1 | project_with_slopes(i, K, s, rho, r, u, out)


@jit
def project_with_slopes(i, K, s, rho, r, u, out):
    """Write F, A, B from the trial impulses F[o+1:] and the projected normal s > 0; return the bits of slip.

    With S the groups that slip, ds = (dn + sum_S mu_k e_k·dx_k) / (1 + sum_S mu_k²), and
    d(mu_k s e_k) = mu_k e_k ds + mu_k s Gamma(x_k) dx_k; the projection does not change the other groups.
    """
    o, d, g0, g1 = K.offset[i], K.offset[i + 1] - K.offset[i], K.group_offset[i], K.group_offset[i + 1]
    group_size, coefficient, (F, A, B) = K.group_size, K.coefficient, out
    # 1. Row of ds in A.
    p, slips, bottom, a = rho[o], 0, 1.0, 1
    for g in range(g0, g1):
        mu = coefficient[g] / math.sqrt(rho[o + a] / p)
        size = cones.norm(F, o + a, o + a + group_size[g])
        if not (mu > 0.0 and size <= mu * s):
            slips |= 2 << g - g0
            bottom += mu * mu
            for j in range(a, a + group_size[g]):
                A[0, j] = mu * F[o + j] / size if size > 0.0 else 0.0
        a += group_size[g]
    A[0, 0] = 1.0
    for b in range(d):
        A[0, b] /= bottom
    # 2. Rows of the groups in A, and F.
    a = 1
    for g in range(g0, g1):
        m = group_size[g]
        mu = coefficient[g] / math.sqrt(rho[o + a] / p)
        size = cones.norm(F, o + a, o + a + m)
        if slips & 2 << g - g0:
            share = mu * s / size if size > 0.0 else 0.0
            for j in range(a, a + m):
                e = F[o + j] / size if size > 0.0 else 0.0
                for b in range(d):
                    A[j, b] = mu * e * A[0, b]
                for k in range(a, a + m if m > 1 else a):  # in 2D e is constant
                    A[j, k] -= share * e * F[o + k] / size if size > 0.0 else 0.0
                    if j == k:
                        A[j, k] += share
            for j in range(a, a + m):
                e = F[o + j] / size if size > 0.0 else 0.0
                F[o + j] = r[o + j] - coefficient[g] * s * e
        else:
            for j in range(a, a + m):
                A[j, j] = 1.0
                F[o + j] = rho[o + j] * u[o + j]
        a += m
    # 3. A, B from the derivative of the projection.
    F[o] = r[o] - s
    back_from_metric(i, K, rho, u, A, B)
    return slips


@jit
def back_from_metric(i, K, rho, u, A, B):
    """A, B <- derivatives of F by r and u, from A, that of the projection in the metric of rho."""
    o, d, group_size, b = K.offset[i], K.offset[i + 1] - K.offset[i], K.group_size, 1
    p = rho[o]
    for c in range(d):
        B[c, 0] = math.sqrt(rho[o + c] * p) * A[c, 0]
    for g in range(K.group_offset[i], K.group_offset[i + 1]):
        slide = cones.norm(u, o + b, o + b + group_size[g])
        mu = K.coefficient[g] / math.sqrt(rho[o + b] / p)
        for k in range(b, b + group_size[g]):
            turn = mu * u[o + k] / slide if slide > 0.0 else 0.0
            for c in range(d):
                B[c, k] = math.sqrt(rho[o + c] * rho[o + k]) * (A[c, k] + A[c, 0] * turn)
        b += group_size[g]
    for c in range(d):
        for k in range(d):
            A[c, k] *= -math.sqrt(rho[o + c] / rho[o + k])
        A[c, c] += 1.0


@jit
def fischer_burmeister_scalar(k, rho, r, u, out):
    """Write F_k = r + rho u - sqrt(r² + (rho u)²) (Fischer 1992) and its derivatives A[0, 0] and B[0, 0]."""
    x, y = r[k], rho[k] * u[k]
    size = math.hypot(x, y)
    out.F[k] = x + y - size
    out.A[0, 0] = 1.0 - (x / size if size > 0.0 else math.sqrt(0.5))
    out.B[0, 0] = rho[k] * (1.0 - (y / size if size > 0.0 else math.sqrt(0.5)))


@jit
def fischer_burmeister(i, K, rho, r, u, out):
    """Write F = x + y - (x² + y²)^(1/2) in the Jordan algebra of the cone (Fukushima, Luo & Tseng 2002).

    x = (mu r_N, r_T) and y = p (u_hat_N/mu, u_T) are in the same self-dual cone, with
    p = mu sqrt(rho_N rho_T); the normal component of F is divided by mu. Cones of one group only;
    intervals and free blocks are treated as in the other maps. The state is always 1.
    """
    o, d, (F, A, _) = K.offset[i], K.offset[i + 1] - K.offset[i], out
    if K.kind[i] != cones.FRICTION:
        if K.kind[i] != cones.NONNEGATIVE:
            one_by_one(i, K, rho, r, u, out)
        else:
            fischer_burmeister_scalar(o, rho, r, u, out)
        return 1
    clear(d, out)
    mu = K.coefficient[K.group_offset[i]]
    if mu == 0.0:
        fischer_burmeister_scalar(o, rho, r, u, out)
        for a in range(1, d):
            F[o + a], A[a, a] = r[o + a], 1.0
        return 1
    p = mu * math.sqrt(rho[o] * rho[o + 1])
    slide = cones.norm(u, o + 1, o + d)
    x0, y0 = mu * r[o], p * (u[o] / mu + slide)
    # 1. Eigenvalues of x² + y² along e = (x0 x_T + y0 y_T)/|.|, as sums of squares without cancellation.
    for k in range(o + 1, o + d):
        F[k] = x0 * r[k] + y0 * p * u[k]
    size = cones.norm(F, o + 1, o + d)
    if size == 0.0:
        F[o + 1], size = 1.0, 1.0
    small, large = 0.0, 0.0
    for k in range(o + 1, o + d):
        e = F[k] / size
        small += (x0 * e - r[k]) ** 2 + (y0 * e - p * u[k]) ** 2
        large += (x0 * e + r[k]) ** 2 + (y0 * e + p * u[k]) ** 2
        F[k] = e
    small, large = math.sqrt(small), math.sqrt(large)
    # 2. Derivatives and F.
    root = Root(mu, p, x0, y0, max(small, SMALLEST_ROOT * large), large, slide)
    fischer_burmeister_slopes(o, d, root, r, u, out)
    F[o] = (x0 + y0 - 0.5 * (small + large)) / mu
    for k in range(o + 1, o + d):
        F[k] = r[k] + p * u[k] - 0.5 * (large - small) * F[k]
    return 1


@jit
def fischer_burmeister_slopes(o, d, root, r, u, out):
    """Write A, B of the Fischer–Burmeister map from the eigenvalues of the root z and direction F[o+1:].

    dF = (I - L_z^-1 L_x) dx + (I - L_z^-1 L_y) dy, with L_x the product with x. At x = y = 0 a limit is
    taken, with L_z^-1 L_x = L_z^-1 L_y = I/sqrt(2).
    """
    (mu, p, x0, y0, small, large, slide), (e, A, B) = root, out
    z0, z = 0.5 * (small + large), 0.5 * (large - small)
    # 1. I - L_z^-1 L_x in A, I - L_z^-1 L_y in B.
    for b in range(d):
        for S in range(2):
            M, head = (A, x0) if S == 0 else (B, y0)
            if large == 0.0:
                for c in range(d):
                    M[c, b] = 0.0
                M[b, b] = 1.0 - math.sqrt(0.5)
                continue
            # column b of L: (head, tail) for b = 0, else (tail_b, head at b)
            first, along = head, 0.0
            for k in range(1, d):
                tail = r[o + k] if S == 0 else p * u[o + k]
                if b == 0:
                    along += e[o + k] * tail
                elif k == b:
                    first, along = tail, e[o + k] * head
            first = (z0 * first - z * along) / (small * large)
            M[0, b] = -first
            for k in range(1, d):
                tail = 0.0
                if b == 0:
                    tail = r[o + k] if S == 0 else p * u[o + k]
                elif k == b:
                    tail = head
                M[k, b] = -(tail - first * z * e[o + k]) / z0
            M[b, b] += 1.0
    # 2. Chain rule: dx = (mu dr_N, dr_T), dy = p (du_N/mu + u_T·du_T/|u_T|, du_T).
    for c in range(d):
        A[c, 0] *= mu
        for k in range(1, d):
            turn = u[o + k] / slide if slide > 0.0 else 0.0
            B[c, k] = p * (B[c, k] + B[c, 0] * turn)
        B[c, 0] *= p / mu
    for b in range(d):
        A[0, b] /= mu
        B[0, b] /= mu
