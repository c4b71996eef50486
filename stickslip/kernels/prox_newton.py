"""Proximal point method with Newton's method on the Alart-Curnier function inside.

Outer step (Rockafellar 1976; Siconos Developer's Notes 2017, ch. 16, for the function):

    find x with F_alpha(x) = F(x, W x + u_free + alpha D (x - r)) small, then r <- x,

D = diag(1 / rho) contact by contact, so that alpha has no unit. The inner method is Newton's with full steps:
open contacts are eliminated, the others give the system (A + B (W + alpha D)) dx = -F. A line search on |F|
only slows it down; an outer step that fails is repeated with a larger alpha.

`advance` runs until a linear system has to be solved, and leaves it with its right-hand side in a
`newton_systems.System`. Small systems are dense and solved here (`run_dense`); large ones are assembled in
the blocks of W, or over bodies (`newton_bodies.py`), and solved by `linalg.front_lu`.
"""

import math

import numpy as np

from stickslip.kernels import blocks, contact_law, dense_lu, maps, newton_systems, residuals
from stickslip.kernels.jit import jit

(
    PHASE, ALPHA, F_CENTRE, F_BEST, INNER, NEWTON, BEST, TOLERANCE, BUDGET, MARK, MARK_AT, OUTER,
    ETA, MOST_INNER, SHRINK, GROW, EASY, PATIENCE, SIZE, SINGULAR, STATE, OPERATIONS, LOOKS, FLOOR, FAILED,
    FADE,
) = range(26)  # fmt: skip
SLOTS = 26
START, SOLVE, DONE = 0.0, 1.0, 2.0
RUNNING, SOLVED, BUDGET_SPENT, STALLED, NOT_FINITE = 0.0, 1.0, 2.0, 3.0, 4.0
LARGEST_ALPHA = 1e3
LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1e-3
"""Bounds of the first alpha [-]; heuristic."""
R, X, X_BEST, KEEP, U, Q, WORK = range(7)
VECTORS = 8
"""Rows of `vectors` (VECTORS, n): centre, iterate, best of this outer step, best of all, u, q, and two of
work."""
LINES = 512
"""Largest number of rows of the history; later entries overwrite the last one."""


@jit
def weight_at(error):
    """Return the first alpha from a point with this error."""
    return min(max(error, LEAST_WEIGHT), MOST_WEIGHT)


@jit
def evaluate(system, r, u):
    """Evaluate F, its Jacobians and the state of each contact at (r, u); returns |F| [N s]."""
    newton_systems.evaluate(maps.alart_curnier, system, r, u)
    total = 0.0
    for k in range(r.shape[0]):
        x = system.F[k] / system.scales.length[k]
        total += x * x
    return math.sqrt(total)


@jit
def begin(control, alpha, tolerance, budget):
    """Initialise `control` for a solve of at most `budget` Newton steps.

    An inner solve ends at ETA times the first |F| or after MOST_INNER steps. If it took at most EASY steps
    alpha shrinks, but not below FLOOR, nor below twice the last alpha that FAILED, which fades by FADE at
    each success.
    """
    for k in range(SLOTS):
        control[k] = 0.0
    control[PHASE], control[ALPHA], control[TOLERANCE], control[BUDGET] = START, alpha, tolerance, budget
    control[ETA], control[MOST_INNER], control[SHRINK], control[GROW], control[EASY] = 0.9, 8.0, 0.1, 4.0, 6.0
    control[PATIENCE], control[FLOOR], control[FADE] = 25.0, 1e-7, 0.3


@jit
def judged(system, r, u, vectors, control, history):
    """Return the error of r, with velocities u, by the judge's norms; keep the best iterate."""
    natural, scaled, _ = residuals.stop_measures(
        contact_law.natural_map, system.K, system.scales, residuals.EXACT,
        residuals.Point(r, u, system.u_free), (vectors[WORK], vectors[WORK + 1]),
    )  # fmt: skip
    error = max(natural, scaled)
    at = min(int(control[LOOKS]), history.shape[0] - 1)
    history[at, 0], history[at, 1], history[at, 2] = control[NEWTON], natural, scaled
    control[LOOKS] = at + 1.0
    if not (natural < math.inf and scaled < math.inf):
        return math.inf
    if error < control[BEST]:
        control[BEST] = error
        for k in range(r.shape[0]):
            vectors[KEEP, k] = r[k]
    return error


@jit
def advance(multiply, assemble, system, vectors, control, history):
    """Run until a linear system has to be solved (returns true) or the solve ends (returns false).

    multiply: (W, r, bias, u), u <- W r + bias; assemble: one of `newton_systems`. The caller then writes the
    solution to system.rhs, or sets control[SINGULAR] = 1.
    """
    W, weight, n = system.W, system.weight, system.u_free.shape[0]
    r, x, x_best, u, q = vectors[R], vectors[X], vectors[X_BEST], vectors[U], vectors[Q]
    if control[PHASE] == START:
        multiply(W, r, system.u_free, u)
        control[BEST], control[MARK] = math.inf, math.inf
        judged(system, r, u, vectors, control, history)
        control[F_CENTRE] = evaluate(system, r, u)
        control[PHASE] = DONE
    elif control[PHASE] == SOLVE:
        move(system, x, control)
        control[NEWTON] += 1.0
        control[INNER] += 1.0
    while True:
        # 1. An outer step begins at r, with q = u_free - alpha D r.
        if control[PHASE] == DONE:
            if is_over(control):
                return False
            for k in range(n):
                x[k], x_best[k] = r[k], r[k]
                q[k] = system.u_free[k] - control[ALPHA] * weight[k] * r[k]
            control[F_BEST], control[INNER], control[SINGULAR] = control[F_CENTRE], 0.0, 0.0
            control[PHASE] = SOLVE
        # 2. F_alpha at x, and the next Newton step unless the inner solve ends.
        multiply(W, x, q, u)
        for k in range(n):
            u[k] += control[ALPHA] * weight[k] * x[k]
        size = evaluate(system, x, u)
        if control[INNER] > 0.0 and size < control[F_BEST]:
            control[F_BEST] = size
            for k in range(n):
                x_best[k] = x[k]
        failed = control[SINGULAR] != 0.0 or not size < math.inf
        near = control[INNER] > 0.0 and size <= control[ETA] * control[F_CENTRE]
        if not (failed or near or control[INNER] >= control[MOST_INNER]):
            control[SIZE] = assemble(system, control[ALPHA], x)
            return True
        # 3. The outer step ends at the best x.
        multiply(W, x_best, system.u_free, u)
        judged(system, x_best, u, vectors, control, history)
        settle(r, x_best, evaluate(system, x_best, u), control)
        control[PHASE] = DONE


@jit
def advance_blocks(arrays, vectors, control, history):
    """`advance` for systems in the blocks of W; arrays as `newton_systems.system_of` takes them."""
    system = newton_systems.system_of(arrays)
    return advance(blocks.multiply, newton_systems.assemble_blocks, system, vectors, control, history)


@jit
def move(system, x, control):
    """x <- x + dx, and 0 at open contacts; unchanged if the system was singular."""
    if control[SINGULAR] != 0.0:
        return
    offset, place = system.K.offset, system.place
    for i in range(place.shape[0]):
        for k in range(offset[i], offset[i + 1]):
            if place[i] < 0:
                x[k] = 0.0
            else:
                x[k] += system.rhs[place[i] + k - offset[i]]


@jit
def settle(r, x_best, size, control):
    """End an outer step: accept its best point if it is better, and choose the next alpha."""
    near = control[F_BEST] <= control[ETA] * control[F_CENTRE]
    control[OUTER] += 1.0
    if near or size < control[F_CENTRE]:
        for k in range(r.shape[0]):
            r[k] = x_best[k]
        control[F_CENTRE] = size
    if not near:
        control[FAILED] = control[ALPHA]
        control[ALPHA] = min(control[ALPHA] * control[GROW], LARGEST_ALPHA)
    elif control[INNER] <= control[EASY]:
        smaller = max(control[ALPHA] * control[SHRINK], 2.0 * control[FAILED], control[FLOOR])
        control[ALPHA] = min(control[ALPHA], smaller)
        control[FAILED] *= control[FADE]
    if control[F_CENTRE] < 0.5 * control[MARK]:
        control[MARK], control[MARK_AT] = control[F_CENTRE], control[OUTER]


@jit
def is_over(control):
    """Whether the solve ends; control[STATE] <- the reason."""
    if control[BEST] <= control[TOLERANCE]:
        control[STATE] = SOLVED
    elif not control[F_CENTRE] < math.inf:
        control[STATE] = NOT_FINITE
    elif control[NEWTON] >= control[BUDGET]:
        control[STATE] = BUDGET_SPENT
    elif control[OUTER] - control[MARK_AT] >= control[PATIENCE]:
        control[STATE] = STALLED
    return control[STATE] != RUNNING


@jit
def run_dense(system, vectors, control, history):
    """Run `advance` to its end with dense linear systems."""
    while advance(blocks.multiply, newton_systems.assemble_dense, system, vectors, control, history):
        m = int(control[SIZE])
        if not dense_lu.lu_solve(system.matrix, system.rhs, m):
            control[SINGULAR] = 1.0
        control[OPERATIONS] += m * m * m / 3.0 + 2.0 * m * m


@jit
def solve_small(K, W, u_free, r, alpha, tolerance, budget, patience):
    """Return (best, control, history) of a dense solve from r, with all work arrays allocated here."""
    n = u_free.shape[0]
    system = newton_systems.prepare(K, W, u_free, np.empty((n, n)))
    vectors, control, history = np.zeros((VECTORS, n)), np.zeros(SLOTS), np.empty((LINES, 3))
    vectors[R] = r
    begin(control, alpha, tolerance, budget)
    control[PATIENCE] = patience
    run_dense(system, vectors, control, history)
    return vectors[KEEP].copy(), control, history[: int(control[LOOKS])]
