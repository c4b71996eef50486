"""Descent on the convex problem min ½ z'W z + q'z over C, with g(z) = W z + q.

`state` (SLOTS,) is the whole memory beside z and work, so that a solve can pause and go on. W may be
slightly unsymmetric or indefinite in recorded files: every search is bounded, and what is sought is
-g(z) in N_C(z) with W as given. A problem is the tuple C, W, q; see `kernels/products.py` for C and W.
"""

import math

from stickslip.kernels import cones, products
from stickslip.kernels.jit import jit

STARTED, ERROR, CURVATURE, THETA, STEP, COUNT = 0, 1, 2, 3, 4, 5
SLOTS = 6
TRIALS = 60
"""Most trials of a step in one iteration."""
NOISE = 1e-26
"""Moves below this share of |z|², squared, are rounding: their curvature means nothing."""
SHORTEST, LONGEST = 1e-8, 1e4
"""Bounds of the step, in units where W_ii is about 1; longer ones only feed impulses without bound."""
DECREASE = 1e-4
"""Share of the slope that a step must gain (Birgin, Martínez & Raydan 2000)."""
ROUNDING = 1e-13
"""Share of the objective that is rounding."""
LOCAL = 5
"""Projected steps on each block in one visit of Gauss-Seidel."""
CHECK = 5
"""Sweeps of Gauss-Seidel between two looks at the residual, which costs a product."""


@jit
def accelerated(problem, z, work, state, tolerance, count):
    """Accelerated projected gradient with restart: Mazhar et al. 2015. Iterations made.

    The test of the step, f(x) <= f(y) + g(y)·(x - y) + ½ L |x - y|², is (x - y)·W(x - y) <= L |x - y|²
    for a quadratic f, free of cancellation. z, q (n,); work (6, n).
    """
    C, W, q = problem
    offset, g, y, gy, x, gx, scratch = C.offset, work[0], work[1], work[2], work[3], work[4], work[5]
    n = z.shape[0]
    if state[STARTED] == 0.0:
        products.velocity(offset, W, z, q, g)
        for k in range(n):
            y[k], gy[k] = z[k], g[k]
        state[STARTED], state[THETA] = 1.0, 1.0
    L, theta = state[CURVATURE], state[THETA]
    for iteration in range(count):
        for _trial in range(TRIALS):
            products.project_step(C, y, 1.0 / L, gy, x)
            products.velocity(offset, W, x, q, gx)
            moved, curve = 0.0, 0.0
            for k in range(n):
                d = x[k] - y[k]
                moved += d * d
                curve += d * (gx[k] - gy[k])
            if not curve > L * moved or moved <= NOISE * products.dot(y, y):
                break
            L *= 2.0
        uphill = 0.0
        for k in range(n):
            uphill += gy[k] * (x[k] - z[k])
        following = 0.5 * theta * (math.sqrt(theta * theta + 4.0) - theta)
        momentum = theta * (1.0 - theta) / (theta * theta + following)
        if uphill > 0.0:  # O'Donoghue & Candès 2015
            following, momentum = 1.0, 0.0
        for k in range(n):
            y[k] = x[k] + momentum * (x[k] - z[k])
            gy[k] = gx[k] + momentum * (gx[k] - g[k])
            z[k], g[k] = x[k], gx[k]
        theta, L = following, max(0.9 * L, 1.0 / LONGEST)
        state[CURVATURE], state[THETA] = L, theta
        state[ERROR] = products.natural(C, z, g, q, scratch)
        if state[ERROR] <= tolerance:
            return iteration + 1
    return count


@jit
def spectral(problem, z, work, state, recent, tolerance, count):
    """Spectral projected gradient, nonmonotone: Birgin, Martínez & Raydan 2000, SPG2. Iterations made.

    The objective along a direction is a known parabola, so that the line search needs no product.
    z, q (n,); work (6, n); recent (memory,) last values of the objective.
    """
    C, W, q = problem
    offset, g, x, gx, scratch = C.offset, work[0], work[1], work[2], work[3]
    n, memory = z.shape[0], recent.shape[0]
    if state[STARTED] == 0.0:
        products.velocity(offset, W, z, q, g)
        recent[:] = -math.inf
        state[STARTED], state[COUNT] = 1.0, 0.0
    step = state[STEP]
    for iteration in range(count):
        products.project_step(C, z, step, g, x)
        products.velocity(offset, W, x, q, gx)
        f, slope, curve, moved, bent = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(n):
            d, gd = x[k] - z[k], gx[k] - g[k]
            f += 0.5 * z[k] * (g[k] + q[k])
            slope += g[k] * d
            curve += d * gd
            moved += d * d
            bent += gd * gd
        recent[int(state[COUNT]) % memory] = f
        worst = recent[0]
        for k in range(1, memory):
            worst = max(worst, recent[k])
        share = 1.0
        for _trial in range(TRIALS):
            gain = share * slope + 0.5 * share * share * curve
            if not f + gain > worst + DECREASE * share * slope + ROUNDING * abs(worst):
                break
            best = -slope / curve if curve > 0.0 else 0.5 * share
            share = best if 0.1 * share <= best <= 0.9 * share else 0.5 * share
        for k in range(n):
            z[k] += share * (x[k] - z[k])
            g[k] += share * (gx[k] - g[k])
        if moved > NOISE * products.dot(z, z):
            step = LONGEST
            if curve > 0.0:
                step = moved / curve if int(state[COUNT]) % 2 == 0 else curve / bent
            step = min(max(step, SHORTEST), LONGEST)
        state[STEP] = step
        state[COUNT] += 1.0
        state[ERROR] = products.natural(C, z, g, q, scratch)
        if state[ERROR] <= tolerance:
            return iteration + 1
    return count


@jit
def gauss_seidel(problem, z, work, state, tolerance, count):
    """Block Gauss-Seidel: a few projected steps with 1 / |W_ii|_F on each block in turn. Sweeps made.

    W as block rows. z, q (n,); work (6, n).
    """
    C, W, q = problem
    kind, offset, (row_start, column, data_start, data, _, _, _) = C.kind, C.offset, W
    g, x, scratch = work[0], work[1], work[3]
    for sweep in range(count):
        for i in range(kind.shape[0]):
            a, b = offset[i], offset[i + 1]
            d, at, square = b - a, -1, 0.0
            for k in range(a, b):
                g[k] = q[k]
            for block in range(row_start[i], row_start[i + 1]):
                j, p = column[block], data_start[block]
                if j == i:
                    at = p
                for k in range(a, b):
                    for m in range(offset[j], offset[j + 1]):
                        g[k] += data[p] * z[m]
                        p += 1
            for p in range(at, at + d * d):
                square += data[p] * data[p]
            size = math.sqrt(square) if square > 0.0 else 1.0
            for _step in range(LOCAL):
                for k in range(a, b):
                    x[k] = z[k] - g[k] / size
                cones.project_block(i, C, x, x)
                for k in range(a, b):
                    for m in range(a, b):
                        g[k] += data[at + (k - a) * d + m - a] * (x[m] - z[m])
                for k in range(a, b):
                    z[k] = x[k]
        state[COUNT] += 1.0
        if int(state[COUNT]) % CHECK == 1 or sweep == count - 1:
            products.velocity(offset, W, z, q, g)
            state[ERROR] = products.natural(C, z, g, q, scratch)
            if state[ERROR] <= tolerance:
                return sweep + 1
    return count
