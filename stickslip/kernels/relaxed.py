"""The measures of error of the convex relaxation K* ∋ u ⟂ r ∈ K: those of the exact law without the shift."""

import numpy as np

from stickslip.kernels import cones, residuals
from stickslip.kernels.jit import jit


@jit
def map_without_shift(
    i, kind, offset, lower, upper, group_offset, group_size, coefficient, rho, length, r, u, x, y
):
    """|r/l - P_K(r/l - rho l u)|² on block i.   length (n,), rho scalar; x, y (n,) work."""
    square = 0.0
    for k in range(offset[i], offset[i + 1]):
        y[k] = r[k] / length[k] - rho * length[k] * u[k]
    cones.project_block(i, kind, offset, lower, upper, group_offset, group_size, coefficient, y, x)
    for k in range(offset[i], offset[i + 1]):
        d = r[k] / length[k] - x[k]
        square += d * d
    return square


@jit
def distances(i, kind, offset, lower, upper, group_offset, group_size, coefficient, r, u, x):
    """Distance of r to K_i and of u to K_i*, and |r·u|, on block i.   x (n,) work."""
    a, b = offset[i], offset[i + 1]
    cones.project_block(i, kind, offset, lower, upper, group_offset, group_size, coefficient, r, x)
    for k in range(a, b):
        x[k] -= r[k]
    impulse = cones.norm(x, a, b)
    cones.project_dual_block(i, kind, offset, lower, upper, group_offset, group_size, coefficient, u, x)
    for k in range(a, b):
        x[k] -= u[k]
    velocity, work = cones.norm(x, a, b), 0.0
    for k in range(a, b):
        if kind[i] == cones.FRICTION:
            work += r[k] * u[k]
        else:
            work += residuals.box_work(lower[i], upper[i], r[k], u[k])
    return impulse, velocity, abs(work)


@jit
def measure(kind, offset, lower, upper, group_offset, group_size, coefficient, diagonal, r, u, u_free):
    """What the judge says of r as an answer of the relaxation: an array (MEASURES,).   diagonal of W (n,)."""
    n, nb = r.shape[0], kind.shape[0]
    rho, length, scaled_mu = np.empty(nb), np.empty(n), np.empty(coefficient.shape[0])
    x, y, ones = np.empty(n), np.empty(n), np.ones(n)
    residuals.metric(kind, offset, group_offset, group_size, coefficient, diagonal, rho, length, scaled_mu)
    out = np.zeros(residuals.MEASURES)
    plain, scaled, worst, where, big, big_s = 0.0, 0.0, -1.0, -1, 0.0, 0.0
    size, size_s = np.zeros(3), np.zeros(3)
    for i in range(nb):
        plain += map_without_shift(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient, 1.0, ones, r, u, x, y
        )
        square = map_without_shift(
            i, kind, offset, lower, upper, group_offset, group_size, scaled_mu, rho[i], length, r, u, x, y
        )
        scaled += square
        if square > worst or square != square:
            worst, where = square, i
        for k in range(offset[i], offset[i + 1]):
            for m in range(3):
                value = r[k] if m == 0 else (u[k] if m == 1 else u_free[k])
                value_s = value / length[k] if m == 0 else rho[i] * length[k] * value
                size[m] += value * value
                size_s[m] += value_s * value_s
                big, big_s = max(big, abs(value)), max(big_s, abs(value_s))
        impulse, velocity, work = distances(
            i, kind, offset, lower, upper, group_offset, group_size, coefficient, r, u, x
        )
        out[residuals.IMPULSE] = max(out[residuals.IMPULSE], impulse)
        out[residuals.VELOCITY] = max(out[residuals.VELOCITY], velocity)
        out[residuals.WORK] = max(out[residuals.WORK], work)
    out[residuals.NATURAL] = residuals.ratio(plain, size.max(), big)
    out[residuals.SCALED] = residuals.ratio(scaled, size_s.max(), big_s)
    out[residuals.WORST] = where
    out[residuals.APPROACH] = residuals.approach(
        kind, offset, lower, upper, group_offset, group_size, diagonal, r, u, u_free
    )
    return out
