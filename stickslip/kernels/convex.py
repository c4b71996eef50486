"""Descent methods for the convex problem min ½ z'W z + q'z over C, with g(z) = W z + q.

`state` (SLOTS,), z and work are the whole state, so that a solve can pause and continue. W of recorded
problems may be slightly unsymmetric or indefinite: all line searches are bounded, and the solution is defined
by -g(z) in N_C(z) with this W. A problem is the tuple (C, W, q); `kernels/products.py` defines C and W.
"""

import math

from stickslip.kernels import cones, products
from stickslip.kernels.jit import jit

STARTED, ERROR, CURVATURE, THETA, STEP, COUNT = 0, 1, 2, 3, 4, 5
"""Indices of `state`: whether started, residual, L and theta of `accelerated`, step size, iterations done."""
SLOTS = 6
"""Size of `state`."""
TRIALS = 60
"""Largest number of trial steps in one iteration."""
NOISE = 1e-26
"""Ratio |change of z|² / |z|² below which a change is rounding and its curvature is meaningless [-]."""
SHORTEST, LONGEST = 1e-8, 1e4
"""Bounds of the step size, in units with W_ii about 1 [-]. Longer steps only increase unbounded impulses."""
DECREASE = 1e-4
"""Sufficient-decrease parameter of the line search [-] (Birgin, Martínez & Raydan 2000)."""
ROUNDING = 1e-13
"""Relative rounding error of the objective [-]."""
LOCAL = 5
"""Number of projected steps on a block in each sweep of `gauss_seidel`; heuristic."""
CHECK = 5
"""Number of sweeps of `gauss_seidel` between residual checks, each of which costs a product; heuristic."""


@jit
def accelerated(problem, z, work, state, tolerance, count):
    """Apply accelerated projected gradient steps with restart (Mazhar et al. 2015); return their number.

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
        # 1. x = P_C(y - g(y) / L), with L doubled until the test holds.
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
        # 2. Momentum, with restart if the step goes uphill (O'Donoghue & Candès 2015).
        uphill = 0.0
        for k in range(n):
            uphill += gy[k] * (x[k] - z[k])
        following = 0.5 * theta * (math.sqrt(theta * theta + 4.0) - theta)
        momentum = theta * (1.0 - theta) / (theta * theta + following)
        if uphill > 0.0:
            following, momentum = 1.0, 0.0
        for k in range(n):
            y[k] = x[k] + momentum * (x[k] - z[k])
            gy[k] = gx[k] + momentum * (gx[k] - g[k])
            z[k], g[k] = x[k], gx[k]
        theta, L = following, max(0.9 * L, 1.0 / LONGEST)
        # 3. Residual.
        state[CURVATURE], state[THETA] = L, theta
        state[ERROR] = products.natural(C, z, g, q, scratch)
        if state[ERROR] <= tolerance:
            return iteration + 1
    return count


@jit
def spectral(problem, z, work, state, recent, tolerance, count):
    """Apply the nonmonotone spectral projected gradient method SPG2 (Birgin, Martínez & Raydan 2000).

    Return the iterations. The objective along a direction is a known parabola, so the line search needs no
    product. z, q (n,); work (6, n); recent (memory,): last values of the objective.
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
        # 1. Direction d = P_C(z - step g) - z.
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
        # 2. Line search against the largest of the recent objectives.
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
        # 3. Spectral step size: the two Barzilai-Borwein formulas in turn.
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
    """Apply block Gauss-Seidel with LOCAL projected gradient steps of size 1 / |W_ii|_F on each block.

    Return the sweeps. W in block rows; z, q (n,); work (6, n).
    """
    C, W, q = problem
    kind, offset, (row_start, column, data_start, data, _, _, _) = C.kind, C.offset, W
    g, x, scratch = work[0], work[1], work[3]
    for sweep in range(count):
        for i in range(kind.shape[0]):
            # 1. g_i = (W z + q)_i and |W_ii|_F.
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
            # 2. Projected steps.
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
