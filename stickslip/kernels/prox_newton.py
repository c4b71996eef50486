"""Proximal point around Newton on the Alart-Curnier function, one decision at a time.

Outer step (Rockafellar 1976; Siconos Developer's Notes 2017, ch. 16, for the function):

    find x with F_alpha(x) = F(x, W x + u_free + alpha D (x - r)) small, then r <- x,

D = diag(1 / rho) contact by contact, so that alpha has no unit. Inside, Newton with full steps: open
contacts are eliminated, the others give the system (A + B (W + alpha D)) dx = -F. A line search on
|F| only slows it down; an outer step that fails is repeated with a larger alpha.

`advance` does everything except solving the linear system, which it leaves with its right-hand side
and asks for: small problems in CSR form, solved here (`run_dense`), large ones in the blocks of W
(control[IN_BLOCKS] = 1), for `linalg.front_lu`.
"""

import math

import numpy as np

from stickslip.kernels import blocks, cones, dense_lu, gauss_seidel, maps, newton_systems, residuals
from stickslip.kernels.jit import jit

(
    PHASE, ALPHA, F_CENTRE, F_BEST, INNER, NEWTON, BEST, TOLERANCE, BUDGET, MARK, MARK_AT, OUTER,
    ETA, MOST_INNER, SHRINK, GROW, EASY, PATIENCE, SIZE, SINGULAR, STATE, OPERATIONS, LOOKS, FLOOR, FAILED,
    FADE, IN_BLOCKS,
) = range(27)  # fmt: skip
SLOTS = 27
START, SOLVE, DONE = 0.0, 1.0, 2.0
RUNNING, SOLVED, BUDGET_SPENT, STALLED, NOT_FINITE = 0.0, 1.0, 2.0, 3.0, 4.0
LARGEST_ALPHA = 1e3
R, X, X_BEST, KEEP, U, Q, F, WORK_1, WORK_2 = range(9)
VECTORS = 9
"""Rows of `vectors` (VECTORS, n): centre, iterate, best of this outer step, best of all, ..."""
LINES = 512
"""Most lines of the history; later looks overwrite the last."""


@jit
def augmentation(K, local, local_start, scales, out):
    """out <- rho of the Alart-Curnier function: 1 / W_NN, and 1 / |sym W_gg| for each group g.

    local holds W_ii row by row at local_start. A group without W takes the rho of the judge.   out (n,).
    """
    kind, offset, group_offset, group_size = K.kind, K.offset, K.group_offset, K.group_size
    rho, length = scales.rho, scales.length
    for i in range(kind.shape[0]):
        a, d, at = offset[i], offset[i + 1] - offset[i], local_start[i]
        if kind[i] != cones.FRICTION:
            for k in range(d):
                w = local[at + k * d + k]
                out[a + k] = 1.0 / w if w > 0.0 else rho[i]
            continue
        w = local[at]
        out[a] = 1.0 / w if w > 0.0 else rho[i]
        k = 1
        for g in range(group_offset[i], group_offset[i + 1]):
            w = largest_eigenvalue(local, at, d, k, group_size[g])
            for _ in range(group_size[g]):
                out[a + k] = 1.0 / w if w > 0.0 else rho[i] * length[a + k] * length[a + k]
                k += 1


@jit
def largest_eigenvalue(local, at, d, k, size):
    """Largest eigenvalue of the symmetric part of a 1x1 or 2x2 group, a bound of it for larger ones."""
    if size == 2:
        p, s = local[at + k * d + k], local[at + (k + 1) * d + k + 1]
        o = 0.5 * (local[at + k * d + k + 1] + local[at + (k + 1) * d + k])
        return 0.5 * (p + s) + math.sqrt(0.25 * (p - s) * (p - s) + o * o)
    total = 0.0
    for m in range(k, k + size):
        total += local[at + m * d + m]
    return total


@jit
def evaluate(
    K,
    augment, length, r, u, F_values, A, B, contact_state,
):  # fmt: skip
    """F, its Jacobians A, B (nb, d, d) and the state of each contact; returns |F| [N s]."""
    kind, offset = K.kind, K.offset
    total = 0.0
    for i in range(kind.shape[0]):
        contact_state[i] = maps.alart_curnier(
            i, K,
            augment, r, u, F_values, A[i], B[i],
        )  # fmt: skip
        for k in range(offset[i], offset[i + 1]):
            x = F_values[k] / length[k]
            total += x * x
    return math.sqrt(total)


@jit
def assemble(
    W, order, weight, alpha, x, F_values, A, B,
    contact_state, place, indptr, indices, entries, rhs, w,
):  # fmt: skip
    """The Newton system of the contacts that are not open, in `order`; returns its size.

    Open contacts take dx = -x at once. place (nb,): first row of each contact, -1 if open; w (d,) work.
    """
    offset, row_start, column, data_start, data = W.offset, W.row_start, W.column, W.data_start, W.data
    m = 0
    for p in range(order.shape[0]):
        i = order[p]
        place[i] = -1
        if contact_state[i] != 0:
            place[i] = m
            m += offset[i + 1] - offset[i]
    at = 0
    for p in range(order.shape[0]):
        i = order[p]
        if place[i] < 0:
            continue
        a, d, width = offset[i], offset[i + 1] - offset[i], 0
        for k in range(d):
            w[k] = 0.0
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            c, e, start = offset[j], offset[j + 1] - offset[j], data_start[b]
            if place[j] >= 0:
                width += e
                continue
            for k in range(d):
                for q in range(e):
                    w[k] += data[start + k * e + q] * x[c + q]
        for k in range(d):
            s = -F_values[a + k]
            for q in range(d):
                s += B[i, k, q] * w[q]
            rhs[place[i] + k] = s
            indptr[place[i] + k] = at + k * width
        done = 0
        for b in range(row_start[i], row_start[i + 1]):
            j = column[b]
            if place[j] < 0:
                continue
            e, start = offset[j + 1] - offset[j], data_start[b]
            for k in range(d):
                to = at + k * width + done
                for q in range(e):
                    s = 0.0
                    for t in range(d):
                        s += B[i, k, t] * data[start + t * e + q]
                    if i == j:
                        s += A[i, k, q] + B[i, k, q] * alpha * weight[a + q]
                    indices[to + q], entries[to + q] = place[j] + q, s
            done += e
        at += d * width
    indptr[m] = at
    return m


@jit
def begin(control, alpha, tolerance, budget):
    """Set up a solve from r with so many Newton steps at most.

    An inner solve ends at ETA times the first |F| or after MOST_INNER steps; if it took at most EASY,
    alpha shrinks, but not below FLOOR nor near what FAILED lately (which is forgotten by FADE).
    """
    for k in range(SLOTS):
        control[k] = 0.0
    control[PHASE], control[ALPHA], control[TOLERANCE], control[BUDGET] = START, alpha, tolerance, budget
    control[ETA], control[MOST_INNER], control[SHRINK], control[GROW], control[EASY] = 0.9, 8.0, 0.1, 4.0, 6.0
    control[PATIENCE], control[FLOOR], control[FADE] = 25.0, 1e-7, 0.3


@jit
def judged(K, scales, u_free, r, u, vectors, control, history):
    """Ask the judge's measures about r, whose velocities are u; keep the best."""
    natural, scaled, _ = residuals.stop_measures(
        residuals.natural_map, K, scales, residuals.EXACT, r, u, u_free, vectors[WORK_1], vectors[WORK_2]
    )
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
def advance(
    K, W, scales, u_free, augment, weight, order, vectors, A, B, contact_state, place,
    indptr, indices, entries, rhs, bench, control, history,
):  # fmt: skip
    """Go on until a linear system has to be solved (true) or there is an end (false).

    The caller puts the solution in rhs[:control[SIZE]], or says control[SINGULAR] = 1.
    bench (d,) work.
    """
    offset, n = K.offset, u_free.shape[0]
    r, x, x_best, u, q = vectors[R], vectors[X], vectors[X_BEST], vectors[U], vectors[Q]
    if control[PHASE] == START:
        blocks.multiply(W, r, u_free, u)
        control[BEST], control[MARK] = math.inf, math.inf
        judged(K, scales, u_free, r, u, vectors, control, history)
        control[F_CENTRE] = evaluate(K, augment, scales.length, r, u, vectors[F], A, B, contact_state)
        control[PHASE] = DONE
    elif control[PHASE] == SOLVE:
        move(offset, place, rhs, x, control)
        control[NEWTON] += 1.0
        control[INNER] += 1.0
    while True:
        if control[PHASE] == DONE:
            if is_over(control):
                return False
            centre(r, x, x_best, u_free, weight, control, q)
            control[PHASE] = SOLVE
        blocks.multiply(W, x, q, u)
        for k in range(n):
            u[k] += control[ALPHA] * weight[k] * x[k]
        size = evaluate(K, augment, scales.length, x, u, vectors[F], A, B, contact_state)
        if control[INNER] > 0.0 and size < control[F_BEST]:
            control[F_BEST] = size
            for k in range(n):
                x_best[k] = x[k]
        failed = control[SINGULAR] != 0.0 or not size < math.inf
        near = control[INNER] > 0.0 and size <= control[ETA] * control[F_CENTRE]
        if not (failed or near or control[INNER] >= control[MOST_INNER]):
            if control[IN_BLOCKS] != 0.0:
                control[SIZE] = newton_systems.assemble_blocks(
                    W, weight, control[ALPHA], x, vectors[F],
                    A, B, contact_state, place, entries, rhs,
                )  # fmt: skip
            else:
                control[SIZE] = assemble(
                    W, order, weight, control[ALPHA], x, vectors[F],
                    A, B, contact_state, place, indptr, indices, entries, rhs, bench,
                )  # fmt: skip
            return True
        blocks.multiply(W, x_best, u_free, u)
        judged(K, scales, u_free, x_best, u, vectors, control, history)
        size = evaluate(K, augment, scales.length, x_best, u, vectors[F], A, B, contact_state)
        settle(r, x_best, size, control)
        control[PHASE] = DONE


@jit
def move(offset, place, rhs, x, control):
    """x <- x + dx; open contacts to zero. Nothing if the system was singular."""
    if control[SINGULAR] != 0.0:
        return
    for i in range(place.shape[0]):
        for k in range(offset[i], offset[i + 1]):
            if place[i] < 0:
                x[k] = 0.0
            else:
                x[k] += rhs[place[i] + k - offset[i]]


@jit
def centre(r, x, x_best, u_free, weight, control, q):
    """Begin an outer step at r: q <- u_free - alpha D r."""
    for k in range(r.shape[0]):
        x[k], x_best[k] = r[k], r[k]
        q[k] = u_free[k] - control[ALPHA] * weight[k] * r[k]
    control[F_BEST], control[INNER], control[SINGULAR] = control[F_CENTRE], 0.0, 0.0


@jit
def settle(r, x_best, size, control):
    """End an outer step: take its best point where it is better, and choose the next alpha."""
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
        wanted = max(control[ALPHA] * control[SHRINK], 2.0 * control[FAILED], control[FLOOR])
        control[ALPHA] = min(control[ALPHA], wanted)
        control[FAILED] *= control[FADE]
    if control[F_CENTRE] < 0.5 * control[MARK]:
        control[MARK], control[MARK_AT] = control[F_CENTRE], control[OUTER]


@jit
def is_over(control):
    """Whether the solve ends here, and why, in control[STATE]."""
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
def run_dense(
    K, W, scales, u_free, augment, weight, order, vectors, A, B, contact_state, place,
    indptr, indices, entries, rhs, bench, control, history, J,
):  # fmt: skip
    """`advance` to its end, every system solved here.   J (n, n) work."""
    while advance(
        K, W, scales, u_free, augment, weight, order, vectors, A, B, contact_state, place,
        indptr, indices, entries, rhs, bench, control, history,
    ):  # fmt: skip
        m = int(control[SIZE])
        for k in range(m):
            for c in range(m):
                J[k, c] = 0.0
            for at in range(indptr[k], indptr[k + 1]):
                J[k, indices[at]] = entries[at]
        if not dense_lu.lu_solve(J, rhs, m):
            control[SINGULAR] = 1.0
        control[OPERATIONS] += m * m * m / 3.0 + 2.0 * m * m


@jit
def solve_small(K, W, u_free, r, alpha, tolerance, budget, patience):
    """(best, control, history) from r, everything else made here: small problems are mostly calls."""
    offset, data, n, nb = K.offset, W.data, u_free.shape[0], K.kind.shape[0]
    d, size = 1, 0
    for i in range(nb):
        d = max(d, offset[i + 1] - offset[i])
        size += (offset[i + 1] - offset[i]) ** 2
    start, local, at = np.empty(nb, np.int64), np.zeros(size), 0
    for i in range(nb):
        start[i] = at
        at += (offset[i + 1] - offset[i]) ** 2
    diagonal, augment, weight = np.empty(n), np.empty(n), np.empty(n)
    gauss_seidel.own_blocks(W, offset, local, start, diagonal)
    scales = residuals.metric(K, diagonal)
    augmentation(K, local, start, scales, augment)
    weights(offset, scales, weight)
    vectors, control, history = np.zeros((VECTORS, n)), np.zeros(SLOTS), np.empty((LINES, 3))
    for k in range(n):
        vectors[R, k] = r[k]
    begin(control, alpha, tolerance, budget)
    control[PATIENCE] = patience
    states, place = np.zeros(nb, np.int64), np.zeros(nb, np.int64)
    indptr, indices = np.zeros(n + 1, np.int32), np.empty(data.shape[0], np.int32)
    run_dense(
        K, W, scales, u_free, augment, weight, np.arange(nb), vectors,
        np.zeros((nb, d, d)), np.zeros((nb, d, d)), states, place, indptr, indices, np.empty(data.shape[0]),
        np.zeros(n + 1), np.zeros(d), control, history, np.empty((n, n)),
    )  # fmt: skip
    return vectors[KEEP].copy(), control, history[: int(control[LOOKS])]


@jit
def weights(offset, scales, out):
    """out <- diagonal of D: mean diagonal of W of each contact, and of each further group.   out (n,)."""
    for i in range(offset.shape[0] - 1):
        for k in range(offset[i], offset[i + 1]):
            out[k] = 1.0 / (scales.rho[i] * scales.length[k] * scales.length[k])
