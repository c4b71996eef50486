"""The judge's measures for pyramids in place of cones: natural maps over |b1| + |b2| <= mu γ.

Given γ, friction of a group of two lies in the square with corners ±mu γ t1, ±mu γ t2 and dissipates most; of one
component in an interval. r solves that law where r = P(r - rho u), P on γ >= 0 and on that square at the γ of r.
"""

import math

import numpy as np

from stickslip.kernels.variational.compiled import jit
from stickslip.kernels.variational.layout import FREE, FRICTION


@jit
def onto_square(a, b, radius):
    """The nearest point (a, b) of |a| + |b| <= radius."""
    if abs(a) + abs(b) <= radius:
        return a, b
    shift = 0.5 * (abs(a) + abs(b) - radius)
    x, y = abs(a) - shift, abs(b) - shift
    if x < 0.0:
        x, y = 0.0, radius
    elif y < 0.0:
        x, y = radius, 0.0
    return math.copysign(x, a), math.copysign(y, b)


@jit
def pyramid_errors(blocks, compliance, r, u, u_free):
    """(natural, natural_scaled): as the judge has them, with rho = 1 and with rho = 1 / compliance."""
    kind, offset, lower, upper, group_offset, group_size, coefficient = (
        blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], blocks[5], blocks[6],
    )  # fmt: skip
    found = np.zeros(2)
    for scaled in range(2):
        gap = size_r = size_u = size_free = 0.0
        for i in range(kind.shape[0]):
            at, end = offset[i], offset[i + 1]
            for k in range(at, end):
                rho = 1.0 / compliance[k] if scaled == 1 and compliance[k] > 0.0 else 1.0
                weight = compliance[k] if scaled == 1 else 1.0  # impulses and rho u weigh as energies
                size_r += r[k] * r[k] * weight
                size_u += rho * u[k] * (rho * u[k]) * weight
                size_free += rho * u_free[k] * (rho * u_free[k]) * weight
                d = 0.0
                if kind[i] == FREE:
                    d = rho * u[k]
                elif k == at:
                    d = r[k] - min(max(r[k] - rho * u[k], lower[i]), upper[i])
                gap += d * d * weight
            if kind[i] != FRICTION:
                continue
            k = at + 1
            for g in range(group_offset[i], group_offset[i + 1]):
                radius = coefficient[g] * max(r[at], 0.0)
                rho = 1.0 / compliance[k] if scaled == 1 and compliance[k] > 0.0 else 1.0
                weight = compliance[k] if scaled == 1 else 1.0
                if group_size[g] == 2:
                    x, y = onto_square(r[k] - rho * u[k], r[k + 1] - rho * u[k + 1], radius)
                    gap += ((r[k] - x) * (r[k] - x) + (r[k + 1] - y) * (r[k + 1] - y)) * weight
                else:
                    d = r[k] - min(max(r[k] - rho * u[k], -radius), radius)
                    gap += d * d * weight
                k += group_size[g]
        largest = max(size_r, size_u, size_free)
        found[scaled] = math.sqrt(gap / largest) if largest > 0.0 else 0.0
    return found[0], found[1]
