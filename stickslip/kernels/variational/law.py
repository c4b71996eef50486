"""The smoothed law of one block, and its linearisation solved for the block alone.

r, w (n,): impulses, and at normal components the gaps s, at the first component of a group its η, all in units of
velocity. With y the values of the block (gap, slip velocities):

    s = y_N,   γ s = τ;   (mu γ, b) ∘ (η, y_T) = τ (1, 0, ..)      groups of friction, with the cone's product
    (f, b) ∘ (η, y) = τ (1, 0)                                      dry friction, a group of fixed radius f

Pyramid, in `facets` (n, 10) at the first component of a group of two: β (4), σ (4), ψ, ζ with
β σ = τ, σ = ψ + d·y_T; ψ ζ = τ, ζ = mu γ - Σβ and facets d = t1, -t1, t2, -t2.

Right-hand sides (`rhs`, `rhs_w`, `rhs_facets`) stand where the unknowns do; rhs[normal] = y_N - s.
"""

import math

from stickslip.kernels.variational.compiled import jit
from stickslip.kernels.variational.layout import FRICTION, INTERVAL, PYRAMID

BETA, SIGMA, PSI, ZETA = 0, 4, 8, 9
"""Where unknowns of a pyramid stand in `facets`."""


@jit
def is_pyramid(model, size):
    """Whether a group of this size has facets."""
    return model == PYRAMID and size == 2


@jit
def respond_group(at, size, mu, radius, dradius, r, w, y, dy, rhs, rhs_w, dr, dw):
    """dr, dw of a group of a cone from its radius (mu γ), the change of it, and dy of its slip velocities."""
    eta = w[at]
    uu = ub = uc = pu = 0.0
    for k in range(at, at + size):
        uu += y[k] * y[k]
        ub += y[k] * r[k]
        uc += y[k] * rhs[k]
        pu += (radius * y[k] / eta - r[k]) * dy[k]
    D = radius - ub / eta
    d = (rhs_w[at] - uc / eta - (eta - uu / eta) * dradius + pu) / D
    dw[at] = d
    for k in range(at, at + size):
        dr[k] = (rhs[k] - y[k] * dradius - radius * dy[k] - r[k] * d) / eta


@jit
def respond_facets(at, dradius, dy, facets, rhs_facets, dr, d_facets):
    """The same of a group with facets."""
    F, c, d = facets[at], rhs_facets[at], d_facets[at]
    psi, zeta = F[PSI], F[ZETA]
    weight = total = 0.0
    for i in range(4):
        slip = dy[at + i // 2] if i % 2 == 0 else -dy[at + i // 2]
        slope = F[BETA + i] / F[SIGMA + i]
        weight += slope
        d[BETA + i] = c[BETA + i] / F[SIGMA + i] - slope * (slip + c[SIGMA + i])  # without dψ
        total += d[BETA + i]
    d[PSI] = (c[PSI] - psi * (dradius + c[ZETA] - total)) / (zeta + psi * weight)
    total = 0.0
    for i in range(4):
        slip = dy[at + i // 2] if i % 2 == 0 else -dy[at + i // 2]
        d[BETA + i] -= F[BETA + i] / F[SIGMA + i] * d[PSI]
        d[SIGMA + i] = d[PSI] + slip + c[SIGMA + i]
        total += d[BETA + i]
    d[ZETA] = dradius - total + c[ZETA]
    dr[at], dr[at + 1] = d[BETA] - d[BETA + 1], d[BETA + 2] - d[BETA + 3]


@jit
def respond(i, model, blocks, r, w, facets, y, dy, rhs, rhs_w, rhs_facets, dr, dw, d_facets):
    """dr, dw, d_facets of block i that solve its linearised law for the change dy of its values."""
    kind, offset, upper, group_offset, group_size, coefficient = (
        blocks[0], blocks[1], blocks[3], blocks[4], blocks[5], blocks[6],
    )  # fmt: skip
    at = offset[i]
    if kind[i] == INTERVAL:
        respond_group(at, 1, 1.0, upper[i], 0.0, r, w, y, dy, rhs, rhs_w, dr, dw)
        return
    dw[at] = dy[at] + rhs[at]
    dr[at] = (rhs_w[at] - r[at] * dw[at]) / w[at]
    if kind[i] != FRICTION:
        return
    k = at + 1
    for g in range(group_offset[i], group_offset[i + 1]):
        mu, size = coefficient[g], group_size[g]
        if mu == 0.0:
            for m in range(k, k + size):
                dr[m], dw[m] = 0.0, 0.0
        elif is_pyramid(model, size):
            respond_facets(k, mu * dr[at], dy, facets, rhs_facets, dr, d_facets)
        else:
            respond_group(k, size, mu, mu * r[at], mu * dr[at], r, w, y, dy, rhs, rhs_w, dr, dw)
        k += size


@jit
def aim_group(at, size, radius, dradius, tau, r, w, y, dr, dw, dy, second, rhs, rhs_w):
    """rhs, rhs_w <- τ e - β∘η - second (Δβ ∘ Δη) of a group."""
    first = radius * w[at] + second * dradius * dw[at]
    for k in range(at, at + size):
        first += r[k] * y[k] + second * dr[k] * dy[k]
        rhs[k] = -radius * y[k] - w[at] * r[k] - second * (dradius * dy[k] + dw[at] * dr[k])
    rhs_w[at] = tau - first


@jit
def aim_facets(at, radius, tau, y, facets, d_facets, second, rhs_facets):
    """The same of a group with facets."""
    F, d, c = facets[at], d_facets[at], rhs_facets[at]
    total = 0.0
    for i in range(4):
        slip = y[at + i // 2] if i % 2 == 0 else -y[at + i // 2]
        c[BETA + i] = tau - F[BETA + i] * F[SIGMA + i] - second * d[BETA + i] * d[SIGMA + i]
        c[SIGMA + i] = F[PSI] + slip - F[SIGMA + i]
        total += F[BETA + i]
    c[PSI] = tau - F[PSI] * F[ZETA] - second * d[PSI] * d[ZETA]
    c[ZETA] = radius - total - F[ZETA]


@jit
def aim(
    i, model, blocks, tau, tau_slip, r, w, facets, y, dr, dw, d_facets, dy, second, rhs, rhs_w, rhs_facets
):
    """Right-hand sides of block i: τ for gaps, τ_slip for groups; `second` (0 or 1) times second-order terms."""
    kind, offset, upper, group_offset, group_size, coefficient = (
        blocks[0], blocks[1], blocks[3], blocks[4], blocks[5], blocks[6],
    )  # fmt: skip
    at = offset[i]
    if kind[i] == INTERVAL:
        aim_group(at, 1, upper[i], 0.0, tau_slip, r, w, y, dr, dw, dy, second, rhs, rhs_w)
        return
    rhs[at] = y[at] - w[at]
    rhs_w[at] = tau - r[at] * w[at] - second * dr[at] * dw[at]
    if kind[i] != FRICTION:
        return
    k = at + 1
    for g in range(group_offset[i], group_offset[i + 1]):
        mu, size = coefficient[g], group_size[g]
        if mu > 0.0:
            if is_pyramid(model, size):
                aim_facets(k, mu * r[at], tau_slip, y, facets, d_facets, second, rhs_facets)
            else:
                aim_group(k, size, mu * r[at], mu * dr[at], tau_slip, r, w, y, dr, dw, dy, second, rhs, rhs_w)
        k += size


@jit
def begin_group(at, size, radius, tau, y, r, w):
    """b and η of a group on the central path at τ, from its radius and slip velocities."""
    uu = 0.0
    for k in range(at, at + size):
        uu += y[k] * y[k]
    ratio = tau / radius
    w[at] = 0.5 * (ratio + math.sqrt(ratio * ratio + 4.0 * uu))
    for k in range(at, at + size):
        r[k] = -radius * y[k] / w[at]


@jit
def begin_facets(at, radius, tau, y, r, facets):
    """Unknowns of a group with facets to begin with: ψ beyond every slip velocity, β shares of the radius."""
    F = facets[at]
    slip = max(abs(y[at]), abs(y[at + 1]))
    F[ZETA] = 0.5 * radius
    F[PSI] = max(tau / F[ZETA], 2.0 * slip)
    for i in range(4):
        F[BETA + i] = 0.125 * radius
        F[SIGMA + i] = F[PSI] + (y[at + i // 2] if i % 2 == 0 else -y[at + i // 2])
    r[at] = r[at + 1] = 0.0


@jit
def begin(i, model, blocks, tau_slip, y, r, w, facets):
    """Groups of block i, to begin with from its γ."""
    kind, offset, upper, group_offset, group_size, coefficient = (
        blocks[0], blocks[1], blocks[3], blocks[4], blocks[5], blocks[6],
    )  # fmt: skip
    at = offset[i]
    if kind[i] == INTERVAL:
        begin_group(at, 1, upper[i], tau_slip, y, r, w)
    if kind[i] != FRICTION:
        return
    k = at + 1
    for g in range(group_offset[i], group_offset[i + 1]):
        mu, size = coefficient[g], group_size[g]
        if mu == 0.0:
            for m in range(k, k + size):
                r[m], w[m] = 0.0, 0.0
        elif is_pyramid(model, size):
            begin_facets(k, mu * r[at], tau_slip, y, r, facets)
        else:
            begin_group(k, size, mu * r[at], tau_slip, y, r, w)
        k += size


@jit
def to_boundary(x, dx, limit):
    """The largest step, at most `limit`, with x + step dx >= 0."""
    return min(limit, -x / dx) if dx < 0.0 else limit


@jit
def cone_to_boundary(at, size, head, dhead, x, dx, limit):
    """The largest step, at most `limit`, that keeps (head, x) in the second-order cone."""
    a, b, c = dhead * dhead, head * dhead, head * head
    for k in range(at, at + size):
        a -= dx[k] * dx[k]
        b -= x[k] * dx[k]
        c -= x[k] * x[k]
    square = b * b - a * c
    if (a < 0.0 or b < 0.0) and square >= 0.0:
        below = math.sqrt(square) - b
        if below > 0.0:
            return min(limit, max(c, 0.0) / below)
    return limit


@jit
def longest(i, model, blocks, r, w, facets, y, dr, dw, d_facets, dy, limit):
    """The largest step, at most `limit`, that keeps all of block i in its cones."""
    kind, offset, upper, group_offset, group_size, coefficient = (
        blocks[0], blocks[1], blocks[3], blocks[4], blocks[5], blocks[6],
    )  # fmt: skip
    at = offset[i]
    if kind[i] == INTERVAL:
        limit = cone_to_boundary(at, 1, upper[i], 0.0, r, dr, limit)
        return cone_to_boundary(at, 1, w[at], dw[at], y, dy, limit)
    limit = to_boundary(w[at], dw[at], to_boundary(r[at], dr[at], limit))
    if kind[i] != FRICTION:
        return limit
    k = at + 1
    for g in range(group_offset[i], group_offset[i + 1]):
        mu, size = coefficient[g], group_size[g]
        if mu > 0.0 and is_pyramid(model, size):
            for m in range(10):
                limit = to_boundary(facets[k, m], d_facets[k, m], limit)
        elif mu > 0.0:
            limit = cone_to_boundary(k, size, mu * r[at], mu * dr[at], r, dr, limit)
            limit = cone_to_boundary(k, size, w[k], dw[k], y, dy, limit)
        k += size
    return limit


@jit
def products(i, model, blocks, r, w, facets, y, dr, dw, d_facets, dy, step, sums):
    """Adds products of block i after a step to sums: of all, their number, the largest, and the least."""
    kind, offset, upper, group_offset, group_size, coefficient = (
        blocks[0], blocks[1], blocks[3], blocks[4], blocks[5], blocks[6],
    )  # fmt: skip
    at = offset[i]
    if kind[i] == INTERVAL:
        add(upper[i] * (w[at] + step * dw[at]) + (r[at] + step * dr[at]) * (y[at] + step * dy[at]), sums)
        return
    gamma = r[at] + step * dr[at]
    add(gamma * (w[at] + step * dw[at]), sums)
    if kind[i] != FRICTION:
        return
    k = at + 1
    for g in range(group_offset[i], group_offset[i + 1]):
        mu, size = coefficient[g], group_size[g]
        if mu > 0.0 and is_pyramid(model, size):
            for m in range(4):
                add(
                    (facets[k, m] + step * d_facets[k, m]) * (facets[k, 4 + m] + step * d_facets[k, 4 + m]),
                    sums,
                )
            add(
                (facets[k, PSI] + step * d_facets[k, PSI]) * (facets[k, ZETA] + step * d_facets[k, ZETA]),
                sums,
            )
        elif mu > 0.0:
            total = mu * gamma * (w[k] + step * dw[k])
            for m in range(k, k + size):
                total += (r[m] + step * dr[m]) * (y[m] + step * dy[m])
            add(total, sums)
        k += size


@jit
def add(product, sums):
    """One more product."""
    sums[0] += product
    sums[1] += 1.0
    sums[2] = max(sums[2], product)
    sums[3] = min(sums[3], product)
