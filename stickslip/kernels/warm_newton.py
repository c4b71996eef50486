"""Newton's method from a nearby start, on small problems with a dense W, and cheap sweeps that find one.

Full steps on Alart and Curnier's map (see `maps.py`). Components on a bound are eliminated; the others are
solved with W + epsilon diag W, epsilon proportional to the error. Otherwise redundant sticking contacts make
the matrix singular and r diverges.
"""

import math

from stickslip.kernels import cones, dense_lu
from stickslip.kernels.jit import jit_forward as jit
from stickslip.kernels.jit import jit_forward_inlined as jit_inlined
from stickslip.kernels.lines import add_line, add_lines
from stickslip.kernels.scratch import floats, give_back, ints, matrix, taken, zeros
from stickslip.kernels.tied import BOUND, FIELDS, PUSH, SLIP, STICK, TIED, assemble, follow, tie

SOFTEN, SOFTEST = 1e-2, 1e-9
"""Regularisation over the error, and its lower bound [-]; chosen on robots that stand and trot. With 0.1,
stacks take a few percent fewer steps, but the answer of one step of a robot is within its tolerance only
just."""
GROUP_STEP = 2.0
"""Step size of the map for groups of friction, times the trace of W_gg [-], at most the size of the group:
with 2, stacks of 12 contacts take a tenth fewer Newton steps than with 1 (`benchmarks/small.py`)."""
STEPS, SWEEPS, ROUNDS = 8, 4, 4
"""Largest number of Newton steps in a round, sweeps between two rounds, largest number of rounds."""
FIRST = 1e-6
"""Largest regularisation in the first step from a guess [-]: contacts that stick there also stuck in the
previous time step. Heuristic."""
FASTER = 0.1
"""Largest ratio of two successive errors with which factors are used again [-]; heuristic."""
NEAR = 1e-9
"""Distance from a bound below which a guess is on it, as a share of the interval [-]; heuristic."""
TAKEN = 1e-2
"""Share of the tolerance up to which a guess is returned as the answer [-]: after a guess that only just
meets the tolerance, the next time step would have to remove its error. Heuristic."""


@jit_inlined
def augmentation(K, W, rho):
    """rho (n,) <- step sizes of the map: 1 / W_kk, and min(size, GROUP_STEP) / trace W_gg for each group g of
    friction."""
    kind, offset, _, _, group_offset, group_size, _ = K
    for i in range(kind.shape[0]):
        a, end = offset[i], offset[i + 1]
        first = a + 1 if kind[i] == cones.FRICTION else end
        for k in range(a, first):
            rho[k] = 1.0 / W[k, k] if W[k, k] > 0.0 else 1.0
        if kind[i] != cones.FRICTION:
            continue
        for g in range(group_offset[i], group_offset[i + 1]):
            trace, m = 0.0, group_size[g]
            for k in range(first, first + m):
                trace += W[k, k]
            step = min(m, GROUP_STEP) / trace if trace > 0.0 else rho[a]
            for k in range(first, first + m):
                rho[k] = step
            first += m


@jit_inlined
def evaluate(K, rho, r, u, F, trial, state):
    """Return (|F|², |F|² with unscaled velocities) of the map at (r, u).

    F (n,) <- the map; state (n,) <- the state of each component, as in `tied.py`; trial (n,) <- r - rho u,
    which the map projects, or the bound of a component on a bound.
    """
    kind, offset, lower, upper, group_offset, group_size, coefficient = K
    scaled, plain = 0.0, 0.0
    for i in range(kind.shape[0]):
        a, end = offset[i], offset[i + 1]
        if kind[i] != cones.FRICTION:
            low, high = lower[i], upper[i]
            for k in range(a, end):
                x = r[k] - rho[k] * u[k]
                if low < x < high:
                    F[k], state[k] = rho[k] * u[k], STICK
                    plain += u[k] * u[k]
                else:
                    trial[k] = low if x <= low else high
                    F[k], state[k] = r[k] - trial[k], BOUND
                    plain += F[k] * F[k]
                scaled += F[k] * F[k]
            continue
        normal = r[a] - rho[a] * u[a]
        if normal <= 0.0:
            for k in range(a, end):
                F[k], state[k], trial[k] = r[k], BOUND, 0.0
                scaled += F[k] * F[k]
                plain += F[k] * F[k]
            continue
        F[a], state[a], trial[a] = rho[a] * u[a], STICK, normal
        scaled += F[a] * F[a]
        plain += u[a] * u[a]
        a += 1
        for g in range(group_offset[i], group_offset[i + 1]):
            m, radius, size = group_size[g], coefficient[g] * normal, 0.0
            for k in range(a, a + m):
                trial[k] = r[k] - rho[k] * u[k]
                size += trial[k] * trial[k]
            size = math.sqrt(size)
            if radius == 0.0:
                group_state, share = BOUND, 0.0
            elif size <= radius:
                group_state, share = STICK, 1.0
            else:
                group_state, share, state[offset[i]] = SLIP, radius / size, PUSH
            for k in range(a, a + m):
                state[k] = TIED if group_state == SLIP and k == a else group_state
                F[k] = r[k] - share * trial[k]
                scaled += F[k] * F[k]
                if group_state == STICK:
                    plain += u[k] * u[k]
                else:
                    plain += F[k] * F[k]
                    if group_state == BOUND:
                        trial[k] = 0.0
            a += m
    return scaled, plain


@jit_inlined
def assemble_sticking(W, rho, soft, u, known, own, A, b):
    """A (f, f), b (f,) <- Newton's system where no group slides, in the unknowns `own` (f,).

    A is symmetric, not scaled by rho; only its upper triangle is written.
    """
    f = own.shape[0]
    for p in range(f):
        k = own[p]
        row, line = A[p], W[k]
        for q in range(p, f):
            row[q] = line[own[q]]
        row[p] += soft / rho[k]
        b[p] = -(u[k] + known[k])


@jit_inlined
def keep_bounds(K, rho, r, u, F, trial, state):
    """Set the states of components of intervals from the guess r alone: on a bound where r is, else without
    velocity. The velocities of a guess say little about states: they come from its errors elsewhere."""
    kind, offset, lower, upper = K[0], K[1], K[2], K[3]
    for i in range(kind.shape[0]):
        if kind[i] != cones.INTERVAL:
            continue
        low, high, near = lower[i], upper[i], NEAR * (upper[i] - lower[i])
        for k in range(offset[i], offset[i + 1]):
            if not near < math.inf or r[k] == 0.0:
                continue
            if low + near < r[k] < high - near:
                F[k], state[k] = rho[k] * u[k], STICK
            else:
                trial[k], state[k] = low if r[k] <= low + near else high, BOUND
                F[k] = r[k] - trial[k]


@jit
def sweep(scratch, K, W, u_free, count, r):
    """Make `count` sweeps of projected Gauss-Seidel over components and groups of friction, with the diagonal
    of W as step sizes.

    They predict cheaply which contacts separate, stick and slide, and end cycles of Newton's method.
    W (n, >= n): row k is the velocities of a unit impulse k.
    """
    kind, offset, lower, upper, group_offset, group_size, coefficient = K
    n, mark = r.shape[0], taken(scratch)
    u, rho, change, order = floats(scratch, n), floats(scratch, n), floats(scratch, n), ints(scratch, n)
    augmentation(K, W, rho)
    for k in range(n):
        order[k] = k
    add_lines(u_free, W, order, r, n, 0, u)
    for _ in range(count):
        for i in range(kind.shape[0]):
            a, end = offset[i], offset[i + 1]
            first = a + 1 if kind[i] == cones.FRICTION else end
            # 1. Normal impulses, and components between bounds.
            for k in range(a, first):
                if W[k, k] > 0.0:
                    new = r[k] - rho[k] * u[k]
                    new = max(new, 0.0) if kind[i] == cones.FRICTION else min(max(new, lower[i]), upper[i])
                    if new != r[k]:
                        add_line(new - r[k], W[k], 0, u)
                        r[k] = new
            if first == end:
                continue
            # 2. Groups of friction, each on its disk.
            for g in range(group_offset[i], group_offset[i + 1]):
                stop, size, radius = first + group_size[g], 0.0, coefficient[g] * r[a]
                for k in range(first, stop):
                    change[k] = r[k] - rho[k] * u[k]
                    size += change[k] * change[k]
                size = math.sqrt(size)
                share, moved = radius / size if size > radius else 1.0, False
                for k in range(first, stop):
                    new = share * change[k]
                    change[k], r[k], moved = new - r[k], new, moved or new != r[k]
                if moved:
                    add_lines(u, W, order[first:stop], change[first:stop], stop - first, 0, u)
                first = stop
    give_back(scratch, mark)


@jit
def solve_in_rounds(scratch, K, W, u_free, tolerance, r, u):
    """Return (Newton steps, error) of `solve` in rounds, with sweeps between rounds that do not converge."""
    total, error = 0, math.inf
    for turn in range(ROUNDS):
        steps, error = solve(scratch, K, W, u_free, tolerance, STEPS, r, u)
        total += steps
        if error <= tolerance or turn == ROUNDS - 1:
            break
        sweep(scratch, K, W, u_free, SWEEPS, r)
    return total, error


@jit
def solve(scratch, K, W, u_free, tolerance, most, r, u):
    """Return (Newton steps, error): r (n,) <- the best iterate of at most `most` steps from r, u (n,) <- its
    velocities.

    W (n, >= n): row k is the velocities of a unit impulse k. While no group slides and no state changes, the
    matrix differs from that of the previous step by the regularisation alone: its factors are used again.
    """
    n, mark = r.shape[0], taken(scratch)
    rho, F, trial, best = floats(scratch, n), floats(scratch, n), floats(scratch, n), floats(scratch, n)
    known, b, inverse, nothing = floats(scratch, n), floats(scratch, n), floats(scratch, n), zeros(scratch, n)
    A, L = matrix(scratch, n, n), matrix(scratch, n, n)
    state, before, places, order = ints(scratch, n), ints(scratch, n), ints(scratch, n), ints(scratch, n)
    weights, place, ties = floats(scratch, n), ints(scratch, n), ints(scratch, FIELDS * K[5].shape[0])
    augmentation(K, W, rho)
    free = free_scaled = size = 0.0
    for k in range(n):
        order[k] = k
        free += u_free[k] * u_free[k]
        free_scaled += (rho[k] * u_free[k]) ** 2
        size += abs(r[k])
    softest, least, last, steps, f, factored = (
        FIRST if size > 0.0 else SOFTEN,
        math.inf,
        math.inf,
        0,
        0,
        False,
    )
    while True:
        # 1. Velocities, the map, and its norm over the larger of impulses and free velocities.
        add_lines(u_free, W, order, r, n, 0, u)
        scaled, plain = evaluate(K, rho, r, u, F, trial, state)
        total = 0.0
        for k in range(n):
            total += r[k] * r[k]
        x, y = max(total, free_scaled), max(total, free)
        error = max(math.sqrt(scaled / x) if x > 0.0 else 0.0, math.sqrt(plain / y) if y > 0.0 else 0.0)
        if error < least:
            least = error
            for k in range(n):
                best[k] = r[k]
        if not error < math.inf or least <= (tolerance if steps else TAKEN * tolerance) or steps >= most:
            break
        if steps == 0:
            keep_bounds(K, rho, r, u, F, trial, state)
        reuse = factored and error <= FASTER * last
        for k in range(n):
            reuse = reuse and state[k] == before[k]
            before[k] = state[k]
        last = error
        if reuse:
            for q in range(f):
                b[q] = -u[places[q]]
            solved = dense_lu.ldl_back(A, L, inverse, b, f)
        else:
            # 2. Components on bounds go there and sliding groups to mu r_N e; `known` is their velocities.
            f, m, count = 0, 0, 0
            for k in range(n):
                if state[k] == BOUND and r[k] != trial[k]:
                    places[m], b[m], r[k] = k, trial[k] - r[k], trial[k]
                    m += 1
                place[k] = f
                f += 1 if state[k] == STICK or state[k] == SLIP else 0
            for k in range(n):  # last, for their pivots are small until the others are eliminated
                if state[k] == PUSH:
                    place[k] = f
                    f += 1
            count, m = tie(K, r, trial, state, F, place, ties, places, b, m)
            add_lines(nothing, W, places, b, m, 0, known)
            # 3. The linear system of the other components.
            for k in range(n):
                if state[k] == STICK or state[k] == SLIP or state[k] == PUSH:
                    places[place[k]] = k
            soft, own = min(softest, max(SOFTEN * error, SOFTEST)), places[:f]
            if count > 0:
                work = nothing, weights
                assemble(
                    W, rho, soft, r, u, known, K[6], state, own, order, trial, F, ties, count, work, L, A, b
                )
                solved = dense_lu.lu_solve(A, b, f)
            else:
                assemble_sticking(W, rho, soft, u, known, own, A, b)
                solved = dense_lu.ldl_factor(A, L, inverse, order, f)
                solved = solved and dense_lu.ldl_back(A, L, inverse, b, f)
            factored, softest = count == 0, SOFTEN
        if not solved:
            error = math.inf
            break
        # 4. The step.
        for q in range(f):
            if state[places[q]] != SLIP:
                r[places[q]] += b[q]
        if not reuse:
            follow(K[6], trial, F, ties, count, b, r)
        steps += 1
    if error != least:
        for k in range(n):
            r[k] = best[k]
        add_lines(u_free, W, order, r, n, 0, u)
    give_back(scratch, mark)
    return steps, least
