"""Linearised laws of contacts and stops at a solution.

Each contact has six equations  L_u d(s, u) + L_r dr + L_mu d(mu, mu_roll, mu_spin) = 0  in its gap s, its
five tangential and angular velocities u, and its impulses r. A stop and dry friction have one equation. At a
kink, where a law has no derivative, the branch of the larger of two small numbers is used, and the contact is
marked. Equations are scaled so that L_u and L_r / w, with w the velocity of a unit impulse, are of order one.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels.jit import jit
from stickslip.kernels.variational.layout import IMPACT, PYRAMID

OPEN, STICK, SLIP = 0, 1, 2
"""States of a contact or a friction group."""
GRAZES, YIELDS = 1, 2
"""Marks of kinks: a contact touches without an impulse; friction is about to slip."""
KINK = 1e-6
"""A solution is at a kink if both velocities of a law, over the velocity scale, are below this [-]
(heuristic)."""
NEWTON = 100
"""Largest number of Newton and bisection steps (heuristic)."""


class Choice(NamedTuple):
    """Contact law."""

    model: int
    """Contact model: CONE, PYRAMID or IMPACT."""
    kappa: float
    """Smoothing; 0 for none [J]."""
    h: float
    """Time that converts gaps to velocities [s]."""


class Sizes(NamedTuple):
    """Scales of components."""

    w: Any
    """Velocity of a unit impulse [1/kg, ...]."""
    scale: Any
    """Velocity that small velocities are compared with [m/s, rad/s]."""


class Slopes(NamedTuple):
    """Linearised laws."""

    u: Any
    """Derivatives with respect to gaps and velocities."""
    r: Any
    """Derivatives with respect to impulses."""
    most: Any
    """Derivatives with respect to coefficients or bounds of friction."""
    state: Any
    """States: OPEN, STICK or SLIP."""
    mark: Any
    """Marks of kinks; 0 for none."""


@jit
def normal_law(kappa, r, s, h, w, scale):
    """Return (coefficient of ds, coefficient of dr, closed, mark) of 0 <= r ⟂ s >= 0, or of r s = kappa.

    h: see `Choice`; w, scale: see `Sizes`.
    """
    if kappa > 0.0:
        ratio = kappa / (r * r)
        size = 1.0 / (1.0 + ratio / (h * w))
        return size / h, ratio * size / h, True, 0
    push, opening = w * r, s / h
    mark = GRAZES if max(push, opening) <= KINK * scale else 0
    if push > opening:
        return 1.0 / h, 0.0, True, mark
    return 0.0, 1.0, False, mark


@jit
def unmoved(L_u, L_b, L_most):
    """L_u, L_b (k, k), L_most (k,) <- coefficients of db = 0."""
    for i in range(L_most.shape[0]):
        for j in range(L_most.shape[0]):
            L_u[i, j], L_b[i, j] = 0.0, 1.0 if i == j else 0.0
        L_most[i] = 0.0


@jit
def holds(most, force, speed, w, scale, L_u, L_b):
    """Return (whether friction sticks, mark); if it does, L_u, L_b (k, k) <- coefficients of du = 0.

    most, force: largest and actual size of friction; speed: size of the slip velocity.
    """
    spare = w * (most - force)
    mark = YIELDS if most > 0.0 and max(spare, speed) <= KINK * scale else 0
    if not (spare > speed and most > 0.0):
        return False, mark
    for i in range(L_u.shape[0]):
        L_u[i, i], L_b[i, i] = 1.0, 0.0
    return True, mark


@jit
def ball_law(kappa, most, b, u, w, scale, out):
    """out: L_u, L_b (k, k), L_most (k,) <- L_u du + L_b db + L_most dmost = 0 for friction in a ball.

    Return (state, mark). Friction b (k,) opposes u (k,), |b| <= most: (most, b) ∘ (η, u) = kappa (1, 0).
    """
    L_u, L_b, L_most = out
    k = b.shape[0]
    speed = force = 0.0
    for i in range(k):
        speed += u[i] * u[i]
        force += b[i] * b[i]
    speed, force = math.sqrt(speed), math.sqrt(force)
    mark = 0
    unmoved(L_u, L_b, L_most)
    if kappa <= 0.0:
        sticks, mark = holds(most, force, speed, w, scale, L_u, L_b)
        if sticks or speed <= 0.0:
            return STICK if sticks else SLIP, mark
    ratio = kappa / most if kappa > 0.0 else 0.0
    root = math.sqrt(ratio * ratio + 4.0 * speed * speed)
    eta = 0.5 * (ratio + root)
    size = 1.0 / (1.0 + w * most / eta)
    for i in range(k):
        L_most[i] = size * u[i] / eta * (1.0 + ratio / root)
        for j in range(k):
            identity = 1.0 if i == j else 0.0
            L_u[i, j] = size * most / eta * (identity - 2.0 * u[i] * u[j] / (eta * root))
            L_b[i, j] = size * identity
    return SLIP, mark


@jit
def facet_law(kappa, most, b, u, w, scale, out):
    """out <- as `ball_law`, for facets ±t1, ±t2 instead of the ball: |b1| + |b2| <= most.   b, u (2,)."""
    L_u, L_b, L_most = out
    k = b.shape[0]
    mark = 0
    unmoved(L_u, L_b, L_most)
    if kappa > 0.0:
        smooth_facets(kappa, most, u, w, L_u, L_b, L_most)
        return SLIP, mark
    fastest, force, first = 0.0, 0.0, 0
    for i in range(k):
        force += abs(b[i])
        if abs(u[i]) > fastest:
            fastest, first = abs(u[i]), i
    sticks, mark = holds(most, force, fastest, w, scale, L_u, L_b)
    if sticks or fastest <= 0.0:
        return STICK if sticks else SLIP, mark
    L_most[first] = math.copysign(1.0, u[first])
    other = 1 - first
    lag, share = fastest - abs(u[other]), w * abs(b[other])
    if max(lag, share) <= KINK * scale:
        mark = YIELDS
    if share > lag:  # both facets of an edge are active: their velocities remain equal
        a, c = math.copysign(1.0, u[first]), math.copysign(1.0, u[other])
        L_b[first, other] = a * c
        L_b[other, other] = 0.0
        L_u[other, first], L_u[other, other] = a, -c
    return SLIP, mark


@jit
def smooth_facets(kappa, most, u, w, L_u, L_b, L_most):
    """L_u, L_b (k, k), L_most (k,) <- of β_i (ψ + d_i·u) = kappa, ψ (most - Σ β_i) = kappa, b = Σ β_i d_i."""
    k = u.shape[0]
    least = 0.0
    for i in range(k):
        least = max(least, abs(u[i]))
    # 1. ψ: the function Σ kappa / (ψ + d_i·u) + kappa / ψ - most decreases from ∞ to below 0 on (least, ∞).
    # Its root is computed by Newton steps in ψ - least, safeguarded by bisection, up to rounding.
    low, high = 0.0, (2.0 * k + 1.0) * kappa / most
    x = high
    for _ in range(NEWTON):
        f, slope = kappa / (least + x) - most, -kappa / (least + x) ** 2
        for i in range(k):
            for sign in (-1.0, 1.0):
                y = x + (least + sign * u[i])
                f += kappa / y
                slope -= kappa / (y * y)
        if f > 0.0:
            low = x
        else:
            high = x
        new = x - f / slope
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(new - x) <= 1e-16 * x:
            break
        x = new
    psi = least + x
    total = kappa / (psi * psi)
    mean, spread = np.zeros(k), np.zeros(k)
    for i in range(k):
        for sign in (-1.0, 1.0):
            y = x + (least + sign * u[i])
            g = kappa / (y * y)
            total += g
            mean[i] += sign * g
            spread[i] += g
    # 2. dψ = -(dmost + Σ g_i d_i·du) / total, db = -Σ g_i d_i (dψ + d_i·du).
    largest = 0.0
    for i in range(k):
        largest = max(largest, spread[i])
    size = 1.0 / (1.0 + w * largest)
    for i in range(k):
        L_most[i] = -size * mean[i] / total
        for j in range(k):
            diagonal = spread[i] if i == j else 0.0
            L_u[i, j] = size * (diagonal - mean[i] * mean[j] / total)
            L_b[i, j] = size if i == j else 0.0


@jit
def contact_laws(choice, law, r, s, u, sizes, out):
    """out, `Slopes` <- linearised laws of all contacts.

    Shapes in `out`: u, r (nc, 6, 6), most (nc, 6, 3), state (nc, 4) of gap, friction, rolling and torsion,
    mark (nc,). choice: `Choice`; law (nc, 4); r, u (nc, 6), u[:, 0] unused; s (nc,); sizes: `Sizes` (nc, 6).
    """
    kappa, w, scale, c = choice.kappa, sizes.w, sizes.scale, np.empty(2)
    for i in range(r.shape[0]):
        out.u[i], out.r[i], out.most[i], out.state[i] = 0.0, 0.0, 0.0, OPEN
        on, slack, closed, out.mark[i] = normal_law(kappa, r[i, 0], s[i], choice.h, w[i, 0], scale[i, 0])
        out.u[i, 0, 0], out.r[i, 0, 0] = on, slack
        out.state[i, 0] = STICK if closed else OPEN
        # Friction, rolling and torsion.
        at = 1
        for g in range(3):
            size = 1 if g == 2 else 2
            mu = 0.0 if choice.model == IMPACT else law[i, g]
            most = mu * r[i, 0]
            if not closed or (kappa > 0.0 and mu == 0.0):
                for k in range(size):
                    out.r[i, at + k, at + k] = 1.0
                at += size
                continue
            b, rate = r[i, at : at + size], u[i, at : at + size]
            A, B = np.empty((size, size)), np.empty((size, size))
            to = (A, B, c[:size])
            if choice.model == PYRAMID and size == 2:
                state, mark = facet_law(kappa, most, b, rate, w[i, at], scale[i, at], to)
            else:
                state, mark = ball_law(kappa, most, b, rate, w[i, at], scale[i, at], to)
            out.state[i, 1 + g] = state
            out.mark[i] |= mark
            for k in range(size):
                for m in range(size):
                    out.u[i, at + k, at + m], out.r[i, at + k, at + m] = A[k, m], B[k, m]
                out.r[i, at + k, 0] = mu * c[k]
                out.most[i, at + k, g] = 0.0 if choice.model == IMPACT else r[i, 0] * c[k]
            at += size


@jit
def joint_laws(choice, dry, most, r, y, sizes, out):
    """out, `Slopes` <- linearised laws of stops, 0 <= r ⟂ y >= 0, and of friction |r| <= most against y where
    `dry`.

    All arrays have shape (k,).
    """
    A, B, c = np.empty((1, 1)), np.empty((1, 1)), np.empty(1)
    for i in range(r.shape[0]):
        w, scale = sizes.w[i], sizes.scale[i]
        if dry[i]:
            b, rate = r[i : i + 1], y[i : i + 1]
            state, mark = ball_law(choice.kappa, most[i], b, rate, w, scale, (A, B, c))
            out.u[i], out.r[i], out.most[i], out.state[i], out.mark[i] = A[0, 0], B[0, 0], c[0], state, mark
        else:
            on, slack, closed, out.mark[i] = normal_law(choice.kappa, r[i], y[i], choice.h, w, scale)
            out.u[i], out.r[i], out.most[i], out.state[i] = on, slack, 0.0, STICK if closed else OPEN
