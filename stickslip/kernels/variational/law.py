"""Smoothed law of the blocks of a step, and its linearisation, solved block by block.

X (n, 9) has a row per component: impulse r, slack w, value y, their changes, right-hand sides, and the
compliance of the bodies. The slack of a gap is s; the slack of the first component of a friction group is η.
All are in units of velocity:

    s = y_N + ε γ,   γ s = τ                              gaps
    (mu γ, b) ∘ (η, y_T) = τ (1, 0, ..)                   groups of friction, with the cone's product
    (f, b) ∘ (η, y) = τ (1, 0)                            dry friction, a group of fixed radius f

Friction groups with facets have their unknowns in the row of F (n, 30) of their first component: β (4), σ
(4), ψ, ζ, then changes and right-hand sides, with β σ = τ, σ = ψ + d·y_T; ψ ζ = τ, ζ = mu γ - Σβ and facets d
= t1, -t1, t2, -t2.

B (nb, 3): kind, first component and number of components of each block; L (nb, 8): ε of a gap, number of
groups, and size and coefficient of each group. Dry friction is one group without a gap, whose coefficient is
its radius. The target of products is τ for gaps and τ_slip for groups. ε is far below any tolerance; it keeps
γ bounded if joints alone hold a gap at 0.

The model EXACT is Coulomb's law without smoothing, for Newton steps near a solution. Natural maps with rho =
1 / compliance determine which gaps are closed and which groups stick. Their values are held at 0 by stiff
springs (stiffness STIFF over the compliance), whose elongation vanishes in the next Newton step.
"""

import math

import numpy as np

from stickslip.kernels.cones import FREE, FRICTION, INTERVAL
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.layout import PYRAMID

R, W, Y, DR, DW, DY, C, CW, OWN, COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
"""Columns of X, and their number; C: right-hand sides of components (y + ε γ - s of gaps), CW: right-hand
sides of products, OWN: compliances."""
BETA, SIGMA, PSI, ZETA = 0, 4, 8, 9
"""Columns in F of the unknowns of a group with facets."""
CHANGE, AIM = 10, 20
"""Offsets of the columns of their changes and of their right-hand sides."""
EXACT = 3
"""Model of `respond` and `aim` for Newton steps on Coulomb's law without smoothing."""
STIFF = 1e9
"""Stiffness that holds closed gaps and sticking groups in such steps, times the compliance of the bodies [-]
(heuristic)."""


@jit
def tables(K):
    """Return (B, L) from the `Cones` of a step."""
    kind, offset, group_offset = K.kind, K.offset, K.group_offset
    nb = kind.shape[0]
    B, L = np.empty((nb, 3), np.int64), np.zeros((nb, 8))
    for i in range(nb):
        B[i, 0], B[i, 1], B[i, 2] = kind[i], offset[i], offset[i + 1] - offset[i]
        if kind[i] == INTERVAL:
            L[i, 1], L[i, 2], L[i, 3] = 1, 1, K.upper[i]
        if kind[i] == FRICTION:
            L[i, 1] = group_offset[i + 1] - group_offset[i]
            for g in range(group_offset[i], group_offset[i + 1]):
                m = 2 + 2 * (g - group_offset[i])
                L[i, m], L[i, m + 1] = K.group_size[g], K.coefficient[g]
    return B, L


@jit
def respond_group(at, size, radius, change, X):
    """X <- changes of impulses and η of a friction group, from those of its slip velocities.

    radius: mu γ; change: its change.
    """
    eta = X[at, W]
    uu = ub = uc = pu = 0.0
    for k in range(at, at + size):
        u, b = X[k, Y], X[k, R]
        uu += u * u
        ub += u * b
        uc += u * X[k, C]
        pu += (radius * u / eta - b) * X[k, DY]
    d = (X[at, CW] - uc / eta - (eta - uu / eta) * change + pu) / (radius - ub / eta)
    X[at, DW] = d
    for k in range(at, at + size):
        X[k, DR] = (X[k, C] - X[k, Y] * change - radius * X[k, DY] - X[k, R] * d) / eta


@jit
def respond_facets(at, change, X, F):
    """X, F <- changes of impulses and unknowns of a group with facets, as in `respond_group`."""
    psi, zeta = F[at, PSI], F[at, ZETA]
    weight = total = 0.0
    for i in range(4):
        slip = X[at + i // 2, DY] if i % 2 == 0 else -X[at + i // 2, DY]
        slope = F[at, BETA + i] / F[at, SIGMA + i]
        without = F[at, AIM + BETA + i] / F[at, SIGMA + i] - slope * (slip + F[at, AIM + SIGMA + i])
        weight += slope
        F[at, CHANGE + BETA + i] = without  # of dψ
        total += without
    d = (F[at, AIM + PSI] - psi * (change + F[at, AIM + ZETA] - total)) / (zeta + psi * weight)
    total = 0.0
    for i in range(4):
        slip = X[at + i // 2, DY] if i % 2 == 0 else -X[at + i // 2, DY]
        F[at, CHANGE + BETA + i] -= F[at, BETA + i] / F[at, SIGMA + i] * d
        F[at, CHANGE + SIGMA + i] = d + slip + F[at, AIM + SIGMA + i]
        total += F[at, CHANGE + BETA + i]
    F[at, CHANGE + PSI], F[at, CHANGE + ZETA] = d, change - total + F[at, AIM + ZETA]
    X[at, DR] = F[at, CHANGE + BETA] - F[at, CHANGE + BETA + 1]
    X[at + 1, DR] = F[at, CHANGE + BETA + 2] - F[at, CHANGE + BETA + 3]


@jit
def slips(at, size, radius, X):
    """Return (length of b - rho u if it exceeds the radius, else 0; its direction) of a friction group."""
    a = X[at, R] - X[at, Y] / X[at, OWN]
    b = X[at + 1, R] - X[at + 1, Y] / X[at + 1, OWN] if size == 2 else 0.0
    length = math.sqrt(a * a + b * b)
    if length <= radius:
        return 0.0, 0.0, 0.0
    return length, a / length, b / length


@jit
def respond_stick_or_slip(at, size, radius, change, X):
    """X <- changes of impulses of a group that sticks, or slips on its disc, for the model EXACT."""
    length, a, b = slips(at, size, radius, X)
    if length == 0.0 and radius > 0.0:
        for k in range(at, at + size):
            X[k, DR] = -(X[k, C] + X[k, DY]) * STIFF / X[k, OWN]
        return
    slope = radius / ((length - radius) * X[at, OWN]) if length > 0.0 else 0.0
    along = a * X[at, DY] + (b * X[at + 1, DY] if size == 2 else 0.0)
    X[at, DR] = X[at, C] + a * change - slope * (X[at, DY] - a * along)
    if size == 2:
        X[at + 1, DR] = X[at + 1, C] + b * change - slope * (X[at + 1, DY] - b * along)


@jit
def aim_stick_or_slip(at, size, radius, X):
    """Column C of X <- right-hand sides of a group that sticks or slips, for the model EXACT."""
    length, a, b = slips(at, size, radius, X)
    if length == 0.0 and radius > 0.0:
        for k in range(at, at + size):
            X[k, C] = X[k, Y]
        return
    along = a * X[at, R] + (b * X[at + 1, R] if size == 2 else 0.0)
    stretch = length / (length - radius) if length > 0.0 else 1.0
    X[at, C] = a * (radius - along) - stretch * (X[at, R] - a * along)
    if size == 2:
        X[at + 1, C] = b * (radius - along) - stretch * (X[at + 1, R] - b * along)


@jit
def respond(i, model, B, L, X, F):
    """X, F <- changes of impulses and slacks of block i by its linearised law, from those of its values."""
    at = k = B[i, 1]
    gamma, push = 1.0, 0.0
    if B[i, 0] != INTERVAL:
        change = X[at, DY] + X[at, C]
        if model != EXACT:
            X[at, DR] = (X[at, CW] - X[at, R] * change) / (X[at, W] + L[i, 0] * X[at, R])
            X[at, DW] = change + L[i, 0] * X[at, DR]
        elif X[at, R] * X[at, OWN] > X[at, Y]:
            X[at, DR] = -(X[at, C] + X[at, DY]) * STIFF / X[at, OWN]
        else:
            X[at, DR] = X[at, C]
        k, gamma, push = at + 1, X[at, R], X[at, DR]
    for g in range(int(L[i, 1])):
        size, mu = int(L[i, 2 + 2 * g]), L[i, 3 + 2 * g]
        if model == EXACT:
            respond_stick_or_slip(k, size, mu * max(gamma, 0.0), mu * push, X)
        elif mu == 0.0:
            for m in range(k, k + size):
                X[m, DR], X[m, DW] = 0.0, 0.0
        elif model == PYRAMID and size == 2:
            respond_facets(k, mu * push, X, F)
        else:
            respond_group(k, size, mu * gamma, mu * push, X)
        k += size


@jit
def aim_group(at, size, radius, change, tau, second, X):
    """Columns C, CW of X <- right-hand sides τ e - β ∘ η - second Δβ ∘ Δη of a friction group."""
    eta, d = X[at, W], second * X[at, DW]
    first = radius * eta + d * change
    for k in range(at, at + size):
        first += X[k, R] * X[k, Y] + second * X[k, DR] * X[k, DY]
        X[k, C] = -radius * X[k, Y] - eta * X[k, R] - second * change * X[k, DY] - d * X[k, DR]
    X[at, CW] = tau - first


@jit
def aim_facets(at, radius, tau, second, X, F):
    """F <- right-hand sides of a group with facets, as in `aim_group`."""
    total = 0.0
    for i in range(4):
        slip = X[at + i // 2, Y] if i % 2 == 0 else -X[at + i // 2, Y]
        beta, sigma = F[at, BETA + i], F[at, SIGMA + i]
        F[at, AIM + BETA + i] = (
            tau - beta * sigma - second * F[at, CHANGE + BETA + i] * F[at, CHANGE + SIGMA + i]
        )
        F[at, AIM + SIGMA + i] = F[at, PSI] + slip - sigma
        total += beta
    F[at, AIM + PSI] = tau - F[at, PSI] * F[at, ZETA] - second * F[at, CHANGE + PSI] * F[at, CHANGE + ZETA]
    F[at, AIM + ZETA] = radius - total - F[at, ZETA]


@jit
def aim(i, model, B, L, target, X, F):
    """X, F <- right-hand sides of block i.

    target: τ, τ_slip, and the weight (0 to 1) of the second-order terms of the changes. For EXACT, right-hand
    sides are values of closed gaps and sticking groups, and required changes of impulses of the others.
    """
    tau, tau_slip, second = target
    at = k = B[i, 1]
    gamma, push = 1.0, 0.0
    if B[i, 0] != INTERVAL:
        if model == EXACT:
            closed = X[at, R] * X[at, OWN] > X[at, Y]
            X[at, C] = X[at, Y] if closed else -X[at, R]
        else:
            X[at, C] = X[at, Y] + L[i, 0] * X[at, R] - X[at, W]
            X[at, CW] = tau - X[at, R] * X[at, W] - second * X[at, DR] * X[at, DW]
        k, gamma, push = at + 1, X[at, R], X[at, DR]
    for g in range(int(L[i, 1])):
        size, mu = int(L[i, 2 + 2 * g]), L[i, 3 + 2 * g]
        if model == EXACT:
            aim_stick_or_slip(k, size, mu * max(gamma, 0.0), X)
        elif mu > 0.0 and model == PYRAMID and size == 2:
            aim_facets(k, mu * gamma, tau_slip, second, X, F)
        elif mu > 0.0:
            aim_group(k, size, mu * gamma, mu * push, tau_slip, second, X)
        k += size


@jit
def begin_group(at, size, radius, tau, X):
    """X <- b and η of a friction group on the central path at τ, from its radius and slip velocities."""
    uu = 0.0
    for k in range(at, at + size):
        uu += X[k, Y] * X[k, Y]
    ratio = tau / radius
    X[at, W] = 0.5 * (ratio + math.sqrt(ratio * ratio + 4.0 * uu))
    for k in range(at, at + size):
        X[k, R] = -radius * X[k, Y] / X[at, W]


@jit
def begin_facets(at, radius, tau, X, F):
    """F <- initial unknowns of a group with facets: ψ above all slip velocities, β shares of the radius."""
    slip = max(abs(X[at, Y]), abs(X[at + 1, Y]))
    F[at, ZETA] = 0.5 * radius
    F[at, PSI] = max(tau / F[at, ZETA], 2.0 * slip)
    for i in range(4):
        F[at, BETA + i] = 0.125 * radius
        F[at, SIGMA + i] = F[at, PSI] + (X[at + i // 2, Y] if i % 2 == 0 else -X[at + i // 2, Y])
    X[at, R], X[at + 1, R] = 0.0, 0.0


@jit
def begin(i, model, B, L, tau_slip, X, F):
    """X, F <- initial unknowns of the friction groups of block i, from its γ and values."""
    k, gamma = B[i, 1], 1.0
    if B[i, 0] != INTERVAL:
        k, gamma = k + 1, X[k, R]
    for g in range(int(L[i, 1])):
        size, mu = int(L[i, 2 + 2 * g]), L[i, 3 + 2 * g]
        if mu > 0.0 and model == PYRAMID and size == 2:
            begin_facets(k, mu * gamma, tau_slip, X, F)
        elif mu > 0.0:
            begin_group(k, size, mu * gamma, tau_slip, X)
        k += size


@jit
def cone_to_boundary(at, size, head, change, x, dx, X, limit):
    """Return the largest step, at most `limit`, that keeps (head, column x of X) in the second-order cone.

    change, column dx of X: their changes.
    """
    a, b, c = change * change, head * change, head * head
    for k in range(at, at + size):
        a -= X[k, dx] * X[k, dx]
        b -= X[k, x] * X[k, dx]
        c -= X[k, x] * X[k, x]
    square = b * b - a * c
    if (a < 0.0 or b < 0.0) and square >= 0.0:
        below = math.sqrt(square) - b
        if below > 0.0:
            return min(limit, max(c, 0.0) / below)
    return limit


@jit
def longest(model, B, L, X, F, limit):
    """Return the largest step, at most `limit`, that keeps all blocks in their cones."""
    for i in range(B.shape[0]):
        at = k = B[i, 1]
        if B[i, 0] == FREE:
            continue
        gamma, push = 1.0, 0.0
        if B[i, 0] != INTERVAL:
            if X[at, DR] < 0.0:
                limit = min(limit, -X[at, R] / X[at, DR])
            if X[at, DW] < 0.0:
                limit = min(limit, -X[at, W] / X[at, DW])
            k, gamma, push = at + 1, X[at, R], X[at, DR]
        for g in range(int(L[i, 1])):
            size, mu = int(L[i, 2 + 2 * g]), L[i, 3 + 2 * g]
            if mu > 0.0 and model == PYRAMID and size == 2:
                for m in range(10):
                    if F[k, CHANGE + m] < 0.0:
                        limit = min(limit, -F[k, m] / F[k, CHANGE + m])
            elif mu > 0.0:
                limit = cone_to_boundary(k, size, mu * gamma, mu * push, R, DR, X, limit)
                limit = cone_to_boundary(k, size, X[k, W], X[k, DW], Y, DY, X, limit)
            k += size
    return limit


@jit
def excess(model, B, L, tau, tau_slip, step, X, F):
    """Return (mean distance of products from τ and τ_slip after a step, number of products)."""
    total, count = 0.0, 0
    for i in range(B.shape[0]):
        at = k = B[i, 1]
        if B[i, 0] == FREE:
            continue
        gamma = 1.0
        if B[i, 0] != INTERVAL:
            k, gamma = at + 1, X[at, R] + step * X[at, DR]
            total += abs(gamma * (X[at, W] + step * X[at, DW]) - tau)
            count += 1
        for g in range(int(L[i, 1])):
            size, mu = int(L[i, 2 + 2 * g]), L[i, 3 + 2 * g]
            if mu > 0.0 and model == PYRAMID and size == 2:
                for m in range(5):
                    a, b = (m, m + 4) if m < 4 else (PSI, ZETA)
                    product = (F[k, a] + step * F[k, CHANGE + a]) * (F[k, b] + step * F[k, CHANGE + b])
                    total += abs(product - tau_slip)
                count += 5
            elif mu > 0.0:
                product = mu * gamma * (X[k, W] + step * X[k, DW])
                for m in range(k, k + size):
                    product += (X[m, R] + step * X[m, DR]) * (X[m, Y] + step * X[m, DY])
                total += abs(product - tau_slip)
                count += 1
            k += size
    return (total / count if count > 0 else 0.0), count


@jit
def off_path(model, B, L, kappa, h, X, F):
    """Return the largest distance of products and slips from the central path at kappa, over kappa [-].

    Products of gaps have the target kappa / h.
    """
    worst = 0.0
    for i in range(B.shape[0]):
        at = k = B[i, 1]
        if B[i, 0] == FREE:
            continue
        aim(i, model, B, L, (kappa / h, kappa, 0.0), X, F)
        if B[i, 0] != INTERVAL:
            worst = max(worst, abs(X[at, CW]) * h / kappa, abs(X[at, R] * X[at, C]) * h / kappa)
            k = at + 1
        for g in range(int(L[i, 1])):
            size, mu = int(L[i, 2 + 2 * g]), L[i, 3 + 2 * g]
            if mu > 0.0 and model == PYRAMID and size == 2:
                for m in range(4):
                    worst = max(worst, abs(F[k, AIM + m]) / kappa, abs(F[k, AIM + 4 + m]) * F[k, m] / kappa)
                worst = max(worst, abs(F[k, AIM + PSI]) / kappa, abs(F[k, AIM + ZETA]) * F[k, PSI] / kappa)
            elif mu > 0.0:
                worst = max(worst, abs(X[k, CW]) / kappa)
                for m in range(k, k + size):
                    worst = max(worst, abs(X[m, C]) / kappa)
            k += size
    return worst
