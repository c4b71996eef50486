"""Small dense contact problems in one call: sweeps, Newton's method between them, and the judge's word.

Steps of small systems are mostly calls. So this takes W as one flat array and makes its own work arrays;
what is not solved here is left to the solvers.

A few sweeps, each block solved exactly, find out who separates, sticks and slides. Newton's method then
ends in two or three steps where sweeps would need dozens. Where it does not, there are light sweeps, by the
diagonal of W alone, and another try. Rolling contacts have light sweeps before the first one: an exact solve
takes microseconds for each of them.
"""

import numpy as np

from stickslip.kernels import blocks, cones, contact_law, measures, residuals, sweeps, warm_newton
from stickslip.kernels import local as one
from stickslip.kernels.jit import jit
from stickslip.kernels.scratch import Scratch, matrix

SMALL = 80
"""Most unknowns of a problem that is solved in one call."""
FIRST, LATER, LAST = 6, 6, 100
"""Sweeps before Newton's method from nothing, light ones before each later try, and the most exact ones.
After four sweeps it takes two steps on the recorded problems of 4 to 9 contacts, after three up to six."""
LOOKS = 2
"""Sweeps up to which the judge's norms are asked after each: uncoupled contacts are solved by then."""
TRIES, STEPS = 3, 12
"""How often Newton's method is tried, and its most steps each time: hyperstatic boxes of 4 to 12 contacts
take 2 to 14 after FIRST sweeps, and no fewer after more."""
WORTH = 100.0
ENOUGH = 0.3
"""Share of the tolerance to which it solves: its own norms are not quite the judge's."""
BURYING = 1e22
"""Square of the ratio of impulses to load from which on a guess buries the load."""
STARTED, NOTHING_KNOWN, REFUSED = 0.0, -1.0, -2.0
FLOATS = 16
"""Vectors that Newton's method and what is handed to it take, beside three matrices."""
SOLVED, SWEEPS, NEWTONS, EQUILIBRIUM = range(residuals.MEASURES, residuals.MEASURES + 4)
TOLD = residuals.MEASURES + 4
"""What is told of a solve: the judge's measures, whether it is solved, sweeps and Newton steps, and the
equilibrium of a global problem."""


@jit
def solve(cone_arrays, W, u_free, tolerance, r, u, told):
    """r, u <- the answer of u = W r + u_free with its law; told (TOLD,) <- what the judge says, and the work.

    cone_arrays: a `Cones` as a plain tuple; W (n n,) row by row; u_free, u (n,); r (n,) the guess on entry.
    """
    find(measures.judge_dense, cone_arrays, W, W, u_free, tolerance, r, u, told)


@jit
def find(judge, cone_arrays, given, W, u_free, tolerance, r, u, told):
    """`solve`, with the matrix in the form `given` before the judge: judge(K, given, r, u_free) as in
    `measures`."""
    n, K = u_free.shape[0], cones.Cones(*cone_arrays)
    told[SWEEPS], told[NEWTONS], told[EQUILIBRIUM] = 0, 0, 0.0
    if n == 1:  # the case met most, in full: the answer of one component does not depend on the guess
        r[0] = one.one_component(W[0], u_free[0], K.lower[0], K.upper[0], r[0])
        told[SWEEPS] = 1
        measure(judge, cone_arrays, given, u_free, tolerance, r, u, told)
        return
    cones.project(K, r, r)
    if K.kind.shape[0] > 1:
        newton(judge, cone_arrays, given, W, u_free, tolerance, r, u, told)
        if told[SOLVED] != 0.0:
            return
    sweep_exactly(judge, cone_arrays, given, W, u_free, tolerance, r, u, told)


@jit
def newton(judge, K, given, W, u_free, tolerance, r, u, told):
    """Sweeps by the diagonal of W and Newton's method in turns, and the judge; arguments as of `find`."""
    n = u_free.shape[0]
    scratch = Scratch(
        np.empty((3 * n + FLOATS) * (n + 8)), np.empty(12 * n + 80, np.int64), np.zeros(4, np.int64)
    )
    across, size = matrix(scratch, n, n), 0.0  # rows and columns exchanged, for sums that run along rows
    for i in range(n):
        size += abs(r[i])
        for j in range(n):
            across[j, i] = W[i * n + j]
    told[SOLVED] = 0.0
    for turn in range(TRIES):
        count = LATER if turn > 0 else (FIRST if size == 0.0 else 0)
        warm_newton.sweep(scratch, K, across, u_free, count, r)
        steps, error = warm_newton.solve(scratch, K, across, u_free, ENOUGH * tolerance, STEPS, r, u)
        told[SWEEPS], told[NEWTONS] = told[SWEEPS] + count, told[NEWTONS] + steps
        if error <= WORTH * tolerance:
            measure(judge, K, given, u_free, tolerance, r, u, told)
        if told[SOLVED] != 0.0:
            return


@jit
def sweep_exactly(judge, cone_arrays, given, W, u_free, tolerance, r, u, told):
    """Sweeps with an exact solution of each block, and the judge; arguments as of `find`."""
    K = cones.Cones(*cone_arrays)
    problem, work = sweeps.prepare(own_blocks, K, W, u_free, 1.0)
    at, spare = residuals.Point(r, u, u_free), (work.vectors[1], work.vectors[2])
    live, look, done = np.empty(K.kind.shape[0], np.bool_), 1, 0
    while True:
        for i in range(live.shape[0]):
            live[i] = not measures.is_zero(r, K.offset[i], K.offset[i + 1] - K.offset[i])
        sweep(problem, work, live, r)
        done += 1
        if done < look:
            continue
        # The judge's norms, and where they end the solve all that it measures.
        measures.velocities(K.offset, W, r, u_free, u)
        plain, scaled, _ = residuals.stop_measures(
            contact_law.natural_map, K, problem.scales, residuals.EXACT, at, spare
        )
        error = max(plain, scaled)
        ends = done >= LAST or not error < np.inf
        if ends or error <= tolerance:
            measure(judge, cone_arrays, given, u_free, tolerance, r, u, told)
            if ends or told[SOLVED] != 0.0:
                told[SWEEPS] += done
                return
        look = min(done + 1 + done // 3, LAST)


@jit
def answer(K, W, u_free, guess, tolerance, r, u, told):
    """`solve` from a guess (n,), or from nothing (0,), for Python; told[SOLVED] is REFUSED where its numbers
    are not finite. A guess that buries the load is forgotten: nothing is known of an answer beside it."""
    told[SOLVED] = begin(guess, W, u_free, r)
    if told[SOLVED] != REFUSED:
        find(measures.judge_dense, K, W, W, u_free, tolerance, r, u, told)


@jit
def answer_blocks(K, W, u_free, guess, tolerance, r, u, told):
    """The same for W in blocks, a `BlockW` as a plain tuple: solved as one array, judged in its blocks."""
    n, matrix = u_free.shape[0], blocks.BlockW(*W)
    dense = np.zeros(n * n)
    blocks.fill(matrix, dense)
    told[SOLVED] = begin(guess, dense, u_free, r)
    if told[SOLVED] != REFUSED:
        find(measures.measure_blocks, K, W, dense, u_free, tolerance, r, u, told)


@jit
def answer_global(K, problem, u_bias, guess, tolerance, r, u, v, told):
    """The same for a global problem without joints, (M, H, f), M (nv, nv), H (nv, n), f (nv,); v (nv,) <- its
    velocities, told[EQUILIBRIUM] <- what the judge says of these.

    v is eliminated: W = H' M^-1 H, u_free = H' M^-1 f + u_bias.
    """
    M, H, f = problem
    nv, n = H.shape
    solved = measures.solved_by_mass(M, H, f, f)
    W, u_free = np.zeros(n * n), u_bias.copy()
    for j in range(nv):
        moved = solved[j]
        for i in range(n):
            h = H[j, i]
            if h != 0.0:
                u_free[i] += h * moved[0]
                for k in range(n):
                    W[i * n + k] += h * moved[2 + k]
    told[SOLVED] = begin(guess, W, u_free, r)
    if told[SOLVED] == REFUSED:
        return
    find(measures.judge_dense, K, W, W, u_free, tolerance, r, u, told)
    for j in range(nv):
        v[j] = solved[j, 0]
        for k in range(n):
            v[j] += solved[j, 2 + k] * r[k]
    told[: residuals.MEASURES], told[EQUILIBRIUM], u[:] = measures.measure_global(K, M, H, f, u_bias, r, v)
    good = residuals.is_solved(told, tolerance) and told[EQUILIBRIUM] <= tolerance
    told[SOLVED] = 1.0 if good else 0.0


@jit
def is_fit(guess, f, u_bias):
    """Whether a guess for a problem of bodies is finite and does not bury the load."""
    load = 0.0
    for x in f:  # f @ f would call BLAS, whose threads take longer to meet than the sum takes
        load += x * x
    for x in u_bias:
        load += x * x
    return state_of(guess, 1.0, load) == STARTED


@jit
def begin(guess, W, u_free, r):
    """r <- the guess, where that is one, else 0; what `state_of` says of it."""
    state = NOTHING_KNOWN
    if guess.shape[0] > 0:
        load = square = 0.0
        for x in u_free:
            load += x * x
        for x in W:
            square += x * x
        state = state_of(guess, square, load)
    for k in range(r.shape[0]):
        r[k] = guess[k] if state == STARTED else 0.0
    return state


@jit
def state_of(guess, square, load):
    """STARTED, NOTHING_KNOWN where a guess buries the load, or REFUSED.   square: |W|²; load: |u_free|²."""
    size = 0.0
    for k in range(guess.shape[0]):
        if not abs(guess[k]) < np.inf:
            return REFUSED
        size += guess[k] * guess[k]
    return STARTED if square * size < BURYING * load or size == 0.0 else NOTHING_KNOWN


@jit
def measure(judge, K, given, u_free, tolerance, r, u, told):
    """u, told <- what the judge says of r, from the problem's own arrays, and whether it is solved."""
    told[: residuals.MEASURES], u[:] = judge(K, given, r, u_free)
    told[SOLVED] = 1.0 if residuals.is_solved(told, tolerance) else 0.0


def solve_into(
    kind, offset, lower, upper, group_offset, group_size, coefficient, W, u_free, tolerance, r, u, told
):  # fmt: skip
    """`solve` as a function that other kernels are handed."""
    K = kind, offset, lower, upper, group_offset, group_size, coefficient
    solve(K, W, u_free, tolerance, r, u, told)


@jit
def own_blocks(W, offset, local, local_start, diagonal):
    """local, diagonal <- W_ii of each block at its place, and the diagonal of W (n,)."""
    n = diagonal.shape[0]
    for i in range(offset.shape[0] - 1):
        a, d, at = offset[i], offset[i + 1] - offset[i], local_start[i]
        for k in range(d):
            diagonal[a + k] = W[(a + k) * n + a + k]
            for m in range(d):
                local[at + k * d + m] = W[(a + k) * n + a + m]


@jit
def sweep(problem, work, live, r):
    """One sweep over the blocks, each solved exactly.   live (nb,): whether the impulse of a block is not
    0."""
    K, W, local, local_start, n = problem.K, problem.W, problem.local, problem.local_start, r.shape[0]
    q, old, out, offset, u_free = work.bench[0], work.bench[1], work.bench[2], K.offset, problem.u_free
    group_offset, coefficient, kappa = K.group_offset, K.coefficient, work.kappa
    nb = offset.shape[0] - 1
    for i in range(nb):
        a, d, at, g = offset[i], offset[i + 1] - offset[i], local_start[i], group_offset[i]
        if d == 3 and K.kind[i] == cones.FRICTION and group_offset[i + 1] - g == 1:
            # The case met most, with three sums that do not wait for each other.
            x, y, z, r0, r1, r2 = a * n, (a + 1) * n, (a + 2) * n, r[a], r[a + 1], r[a + 2]
            q0, q1, q2 = u_free[a], u_free[a + 1], u_free[a + 2]
            for j in range(nb):
                if live[j]:
                    for m in range(offset[j], offset[j + 1]):
                        q0 += W[x + m] * r[m]
                        q1 += W[y + m] * r[m]
                        q2 += W[z + m] * r[m]
            q0 = ((q0 - local[at] * r0) - local[at + 1] * r1) - local[at + 2] * r2
            q1 = ((q1 - local[at + 3] * r0) - local[at + 4] * r1) - local[at + 5] * r2
            q2 = ((q2 - local[at + 6] * r0) - local[at + 7] * r1) - local[at + 8] * r2
            r[a], r[a + 1], r[a + 2], kappa[g] = one.coulomb3(local, at, q0, q1, q2, coefficient[g], kappa[g])
            live[i] = r[a] != 0.0 or r[a + 1] != 0.0 or r[a + 2] != 0.0
            continue
        for k in range(d):
            old[k] = r[a + k]
            q[k] = u_free[a + k]
        for j in range(nb):
            if live[j]:
                for k in range(d):
                    for m in range(offset[j], offset[j + 1]):
                        q[k] += W[(a + k) * n + m] * r[m]
        for k in range(d):
            for m in range(d):
                q[k] -= local[at + k * d + m] * old[m]
        one.solve_block(i, K, local, local_start, q, old, kappa, work.spare, out)
        live[i] = False
        for k in range(d):
            r[a + k] = out[k]
            live[i] = live[i] or out[k] != 0.0
