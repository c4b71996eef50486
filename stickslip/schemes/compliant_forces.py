"""Spring-damper forces and regularised friction of one interaction, with their derivatives.

RELAXED: these forces replace the laws. A closed contact is a spring and a damper that never pull,
f_N = max(0, k δ + c δ̇) with δ = max(0, -gap). Friction is f_T = -mu f_N u_T / √(|u_T|² + ε²), which vanishes
at rest, so that contacts creep. A bilateral constraint is a spring and a damper, -k y - c ẏ.

In a step from y_0 to y_1 the spring force is its mean along the line between them,
-(U(y_1) - U(y_0)) / (y_1 - y_0) with U = k δ² / 2 (a discrete gradient: Gonzalez 2000), so that its work is
exactly the change of U. The mean force of the damper is c (δ_1 - δ_0) / h.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from stickslip.kernels import cones
from stickslip.laws import Law
from stickslip.problem.checks import Array

LEAST = 1e-3
"""Smallest restitution of a damper [-]; 0 would need infinite damping."""


@dataclass(frozen=True, slots=True)
class Stiffness:
    """Springs, dampers and regularised friction of one interaction."""

    k: float
    """Stiffness [N/m], [N m/rad]."""
    c: Array
    """Damping of each component [N s/m], [N m s/rad], shape (m,)."""
    slip: float
    """Regularisation velocity ε of sliding [m/s]."""
    roll: float
    """Regularisation velocity ε of rolling and torsion [rad/s]."""
    mean: bool
    """Whether spring forces are their means over a step; otherwise those at its end."""


@dataclass(frozen=True, slots=True)
class Forces:
    """Mean forces over a step, and their derivatives."""

    f: Array
    """Mean force [N, N m], shape (m,)."""
    by_y: Array
    """∂f/∂y_1 [N/m], shape (m, m)."""
    by_u: Array
    """∂f/∂u_1 [N s/m], shape (m, m)."""


def restitution(ratio: float) -> float:
    """Return e of an isolated impact on a spring and a damper that do not pull, with damping ratio ζ [-].

    exp(-2 ζ arccos ζ / √(1 - ζ²)): contact ends when the force vanishes, at the phase 2 arccos ζ (Schwager &
    Pöschel 2007); continued by arcosh for ζ > 1.
    """
    if abs(ratio - 1.0) < 1e-8:
        return math.exp(-2.0)
    if ratio < 1.0:
        return math.exp(-2.0 * ratio * math.acos(ratio) / math.sqrt(1.0 - ratio * ratio))
    return math.exp(-2.0 * ratio * math.acosh(ratio) / math.sqrt(ratio * ratio - 1.0))


@lru_cache(maxsize=256)
def ratio_of(e: float) -> float:
    """Return the damping ratio ζ = c / 2√(k m) of an isolated impact with restitution e, at least `LEAST`
    [-]."""
    if e >= 1.0:
        return 0.0
    return float(brentq(lambda ratio: restitution(ratio) - max(e, LEAST), 0.0, 20.0, xtol=1e-14))


def forces(law: Law, stiffness: Stiffness, y0: Array, y1: Array, u1: Array, h: float) -> Forces:
    """Return the forces of one interaction over a step h from y0 to y1 with the final velocities u1."""
    K, m = law.K, law.size
    f, by_y, by_u = np.zeros(m), np.zeros((m, m)), np.zeros((m, m))
    for i in range(len(K)):
        a, b = int(K.offset[i]), int(K.offset[i + 1])
        kind = K.kind[i]
        if kind == cones.FREE:
            for j in range(a, b):
                f[j], by_y[j, j] = _joint(stiffness, stiffness.c[j], y0[j], y1[j], h)
        elif kind == cones.INTERVAL:
            f[a], by_u[a, a] = _dry(K.lower[i], K.upper[i], stiffness.slip, u1[a])
        else:
            f[a], by_y[a, a] = normal(stiffness.k, stiffness.c[a], y0[a], y1[a], h, stiffness.mean)
            if f[a] > 0.0:
                _tangents(law, stiffness, i, u1, f, by_y, by_u)
    return Forces(f, by_y, by_u)


def stored(law: Law, k: float, y: Array) -> float:
    """Return the energy in the springs [J]."""
    K = law.K
    total = 0.0
    for i in range(len(K)):
        a, b = int(K.offset[i]), int(K.offset[i + 1])
        if K.kind[i] == cones.FREE:
            total += 0.5 * k * float(y[a:b] @ y[a:b])
        elif K.kind[i] != cones.INTERVAL:
            total += 0.5 * k * min(float(y[a]), 0.0) ** 2
    return total


def normal(k: float, c: float, y0: float, y1: float, h: float, mean: bool = True) -> tuple[float, float]:
    """Return the mean normal force of a contact over a step, >= 0 [N], and its derivative by y1 [N/m]."""
    d0, d1 = max(0.0, -y0), max(0.0, -y1)
    if d0 == 0.0 and d1 == 0.0:
        return 0.0, 0.0
    if not mean:
        spring, slope = k * d1, -k if d1 > 0.0 else 0.0
    elif d0 > 0.0 and d1 > 0.0:
        spring, slope = 0.5 * k * (d0 + d1), -0.5 * k
    elif d1 > 0.0:  # closes in the step
        path = y0 + d1
        spring = 0.5 * k * d1 * d1 / path
        slope = -0.5 * k * d1 * (path + y0) / (path * path)
    else:  # opens in the step
        path = d0 + y1
        spring = 0.5 * k * d0 * d0 / path
        slope = -spring / path
    force = spring + c * (d1 - d0) / h
    if force <= 0.0:
        return 0.0, 0.0
    return force, slope - (c / h if d1 > 0.0 else 0.0)


def _joint(stiffness: Stiffness, c: float, y0: float, y1: float, h: float) -> tuple[float, float]:
    """Return the force of a bilateral component [N], and its derivative by y1 [N/m]."""
    share = 0.5 if stiffness.mean else 1.0
    force = -stiffness.k * ((1.0 - share) * y0 + share * y1) - c * (y1 - y0) / h
    return force, -stiffness.k * share - c / h


def _dry(lower: float, upper: float, slip: float, u: float) -> tuple[float, float]:
    """Return the regularised dry friction of a joint against u [N], and its derivative [N s/m]."""
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    size = math.hypot(u, slip)
    return middle - half * u / size, -half * slip * slip / size**3


def _tangents(
    law: Law, stiffness: Stiffness, i: int, u1: Array, f: Array, by_y: Array, by_u: Array
) -> None:  # fmt: skip
    """Write the friction of block i, group by group: -mu f_N u / √(|u|² + ε²)."""
    K = law.K
    a = start = int(K.offset[i])
    start += 1
    for number, group in enumerate(range(int(K.group_offset[i]), int(K.group_offset[i + 1]))):
        end = start + int(K.group_size[group])
        u, mu = u1[start:end], float(K.coefficient[group])
        size = math.sqrt(float(u @ u) + (stiffness.slip if number == 0 else stiffness.roll) ** 2)
        way = u / size
        f[start:end] = -mu * f[a] * way
        by_y[start:end, a] = -mu * by_y[a, a] * way
        by_u[start:end, start:end] = (-mu * f[a] / size) * (np.eye(end - start) - np.outer(way, way))
        start = end
