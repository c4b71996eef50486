"""Small dense contact problems in one call: sweeps, Newton's method, and the judge.

Calls are a large part of the cost of a small problem. These kernels therefore take W as one flat array and
allocate their own work arrays. Problems that they do not solve are left to the other solvers.

A few light sweeps, with the diagonal of W as step sizes, predict which contacts separate, stick and slide.
Newton's method then takes two to ten steps where sweeps would take dozens. It is tried again after more light
sweeps, and the last resort is sweeps that solve each block exactly.
"""

import numpy as np

from stickslip.kernels import blocks, cones, contact_law, measures, residuals, sweeps, warm_newton
from stickslip.kernels import local as one
from stickslip.kernels.jit import jit
from stickslip.kernels.scratch import Scratch, matrix

SMALL = 80
"""Largest number of unknowns of a problem that is solved in one call."""
FIRST, LATER, LAST = 6, 6, 100
"""Light sweeps before Newton's method from zero, light sweeps before each later attempt, and the largest
number of exact sweeps. After 8 or 10 light sweeps stacks of 12 contacts take longer; chosen on
`benchmarks/small.py`."""
TRIES, STEPS = 3, 12
"""Attempts of Newton's method, and the largest number of steps of each: hyperstatic stacks of 4 to 12
contacts take 2 to 11 steps in `benchmarks/small.py`."""
WORTH = 100.0
"""Error of Newton's method over the tolerance above which its answer is not given to the judge [-], whose
measures of 12 rolling contacts cost two Newton steps; heuristic."""
ENOUGH = 0.3
"""Share of the tolerance to which Newton's method solves [-]: its norms differ a little from the judge's."""
BURYING = 1e22
"""Square of the ratio of impulses to load above which a guess is forgotten [-]: beside such impulses the load
is lost in rounding."""
STARTED, NOTHING_KNOWN, REFUSED = 0.0, -1.0, -2.0
"""States of a guess: it is used, it is absent or forgotten, it has numbers that are not finite."""
FLOATS = 16
"""Vectors of work beside three matrices."""
SOLVED, SWEEPS, NEWTONS, EQUILIBRIUM = range(residuals.MEASURES, residuals.MEASURES + 4)
REPORT = residuals.MEASURES + 4
"""Length of the report of a solve: the judge's measures, whether it is solved, sweeps, Newton steps, and the
equilibrium of a global problem."""


@jit
def solve(cone_arrays, W, u_free, tolerance, r, u, report):
    """Solve u = W r + u_free with the law of each block: r, u (n,) <- the answer, report (REPORT,) <-
    measures of the judge and amounts of work.

    cone_arrays: a `Cones` as a plain tuple; W (n n,) row by row; u_free (n,); r is the guess on entry.
    """
    find(measures.judge_dense, cone_arrays, W, W, u_free, tolerance, r, u, report)


@jit
def find(judge, cone_arrays, given, W, u_free, tolerance, r, u, report):
    """`solve` with a choice of the judge: judge(K, given, r, u_free), as in `measures`, gets the matrix in
    the form `given`."""
    n, K = u_free.shape[0], cones.Cones(*cone_arrays)
    report[SWEEPS], report[NEWTONS], report[EQUILIBRIUM] = 0, 0, 0.0
    if n == 1:  # the most frequent case: the answer of one component does not depend on the guess
        r[0] = one.one_component(W[0], u_free[0], K.lower[0], K.upper[0], r[0])
        report[SWEEPS] = 1
        measure(judge, cone_arrays, given, u_free, tolerance, r, u, report)
        return
    cones.project(K, r, r)
    if K.kind.shape[0] > 1:
        newton(judge, cone_arrays, given, W, u_free, tolerance, r, u, report)
        if report[SOLVED] != 0.0:
            return
    sweep_exactly(judge, cone_arrays, given, W, u_free, tolerance, r, u, report)


@jit
def newton(judge, K, given, W, u_free, tolerance, r, u, report):
    """Try light sweeps and Newton's method, up to TRIES times; arguments as of `find`."""
    n = u_free.shape[0]
    scratch = Scratch(
        np.empty((3 * n + FLOATS) * (n + 8)), np.empty(12 * n + 80, np.int64), np.zeros(4, np.int64)
    )
    across, size = matrix(scratch, n, n), 0.0  # the transpose of W, for sums along rows
    for i in range(n):
        size += abs(r[i])
        for j in range(n):
            across[j, i] = W[i * n + j]
    report[SOLVED] = 0.0
    for turn in range(TRIES):
        count = LATER if turn > 0 else (FIRST if size == 0.0 else 0)
        warm_newton.sweep(scratch, K, across, u_free, count, r)
        steps, error = warm_newton.solve(scratch, K, across, u_free, ENOUGH * tolerance, STEPS, r, u)
        report[SWEEPS], report[NEWTONS] = report[SWEEPS] + count, report[NEWTONS] + steps
        if error <= WORTH * tolerance:
            measure(judge, K, given, u_free, tolerance, r, u, report)
        if report[SOLVED] != 0.0:
            return


@jit
def sweep_exactly(judge, cone_arrays, given, W, u_free, tolerance, r, u, report):
    """Sweep with exact solutions of the blocks until the judge's measures allow; arguments as of `find`."""
    K = cones.Cones(*cone_arrays)
    problem, work = sweeps.prepare(own_blocks, K, W, u_free, 1.0)
    at, spare = residuals.Point(r, u, u_free), (work.vectors[1], work.vectors[2])
    look, count = 1, 0
    while True:
        sweep(problem, work, r)
        count += 1
        if count < look:
            continue
        # The judge's norms, and all its measures where they end the solve.
        measures.velocities(K.offset, W, r, u_free, u)
        plain, scaled, _ = residuals.stop_measures(
            contact_law.natural_map, K, problem.scales, residuals.EXACT, at, spare
        )
        error = max(plain, scaled)
        ends = count >= LAST or not error < np.inf
        if ends or error <= tolerance:
            measure(judge, cone_arrays, given, u_free, tolerance, r, u, report)
            if ends or report[SOLVED] != 0.0:
                report[SWEEPS] += count
                return
        look = min(count + 1 + count // 3, LAST)


@jit
def answer(K, W, u_free, guess, tolerance, r, u, report):
    """`solve` for Python, from a guess (n,) or without one (0,).

    report[SOLVED] is REFUSED where the guess is not finite. A guess that buries the load is forgotten.
    """
    report[SOLVED] = begin(guess, W, u_free, r)
    if report[SOLVED] != REFUSED:
        find(measures.judge_dense, K, W, W, u_free, tolerance, r, u, report)


@jit
def answer_blocks(K, W, u_free, guess, tolerance, r, u, report):
    """`answer` for W in blocks, a `BlockW` as a plain tuple: solved as one array, judged in its blocks."""
    n, matrix = u_free.shape[0], blocks.BlockW(*W)
    dense = np.zeros(n * n)
    blocks.fill(matrix, dense)
    report[SOLVED] = begin(guess, dense, u_free, r)
    if report[SOLVED] != REFUSED:
        find(measures.measure_blocks, K, W, dense, u_free, tolerance, r, u, report)


@jit
def answer_global(K, problem, u_bias, guess, tolerance, r, u, v, report):
    """`answer` for a global problem without joints, (M, H, f), M (nv, nv), H (nv, n), f (nv,).

    v is eliminated: W = H' M^-1 H, u_free = H' M^-1 f + u_bias. v (nv,) <- the velocities,
    report[EQUILIBRIUM] <- the judge's error of M v = f + H r.
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
    report[SOLVED] = begin(guess, W, u_free, r)
    if report[SOLVED] == REFUSED:
        return
    find(measures.judge_dense, K, W, W, u_free, tolerance, r, u, report)
    for j in range(nv):
        v[j] = solved[j, 0]
        for k in range(n):
            v[j] += solved[j, 2 + k] * r[k]
    report[: residuals.MEASURES], report[EQUILIBRIUM], u[:] = measures.measure_global(
        K, M, H, f, u_bias, r, v
    )
    good = residuals.is_solved(report, tolerance) and report[EQUILIBRIUM] <= tolerance
    report[SOLVED] = 1.0 if good else 0.0


@jit
def is_fit(guess, f, u_bias):
    """Whether a guess of a problem of bodies is finite and does not bury the load."""
    load = 0.0
    for x in f:  # f @ f would call BLAS, whose threads take longer to start than the sum takes
        load += x * x
    for x in u_bias:
        load += x * x
    return state_of(guess, 1.0, load) == STARTED


@jit
def begin(guess, W, u_free, r):
    """Return the state of the guess; r <- the guess if it is used, else 0."""
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
    """Return the state of a guess: STARTED, NOTHING_KNOWN if it buries the load, REFUSED if it is not finite.

    square: |W|²; load: |u_free|².
    """
    size = 0.0
    for k in range(guess.shape[0]):
        if not abs(guess[k]) < np.inf:
            return REFUSED
        size += guess[k] * guess[k]
    return STARTED if square * size < BURYING * load or size == 0.0 else NOTHING_KNOWN


@jit
def measure(judge, K, given, u_free, tolerance, r, u, report):
    """report <- the judge's measures of r from the problem's own arrays, and whether it is solved; u (n,) <-
    its velocities."""
    report[: residuals.MEASURES], u[:] = judge(K, given, r, u_free)
    report[SOLVED] = 1.0 if residuals.is_solved(report, tolerance) else 0.0


def solve_into(
    kind, offset, lower, upper, group_offset, group_size, coefficient, W, u_free, tolerance, r, u, report
):  # fmt: skip
    """`solve` as a function that is passed to other kernels."""
    K = kind, offset, lower, upper, group_offset, group_size, coefficient
    solve(K, W, u_free, tolerance, r, u, report)


@jit
def own_blocks(W, offset, local, local_start, diagonal):
    """local <- the blocks W_ii, diagonal (n,) <- the diagonal of W."""
    n = diagonal.shape[0]
    for i in range(offset.shape[0] - 1):
        a, d, at = offset[i], offset[i + 1] - offset[i], local_start[i]
        for k in range(d):
            diagonal[a + k] = W[(a + k) * n + a + k]
            for m in range(d):
                local[at + k * d + m] = W[(a + k) * n + a + m]


@jit
def sweep(problem, work, r):
    """Make one sweep over the blocks, each solved exactly."""
    K, W, local, local_start, n = problem.K, problem.W, problem.local, problem.local_start, r.shape[0]
    q, old, out = work.bench[0], work.bench[1], work.bench[2]
    for i in range(K.kind.shape[0]):
        a, d, at = K.offset[i], K.offset[i + 1] - K.offset[i], local_start[i]
        for k in range(d):
            old[k], q[k] = r[a + k], problem.u_free[a + k]
            for m in range(n):
                q[k] += W[(a + k) * n + m] * r[m]
            for m in range(d):
                q[k] -= local[at + k * d + m] * r[a + m]
        one.solve_block(i, K, local, local_start, q, old, work.kappa, work.spare, out)
        for k in range(d):
            r[a + k] = out[k]
