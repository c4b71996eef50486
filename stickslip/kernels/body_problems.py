"""Contact problems over bodies in one call: sweeps from a guess where it is no answer, and the judge's word.

M v = f + H r, u = H' v + u_bias, with M in body blocks and H in contact blocks: K as its seven arrays,
bodies (nc, 2) with -1 for a fixed side, rows (n, 2, k), M and root F (count, k, k) with M^-1 = F F',
f (count, k), u_bias (n,).
"""

import math

import numpy as np

from stickslip.kernels import anderson, blocks, body_sweeps, cones, residuals, schedule, small_contacts
from stickslip.kernels import local as one
from stickslip.kernels.jit import jit

AIM, ROUNDING = 1e-4, 1e-13
"""A guess that is an answer already is swept until its error is below ROUNDING, unless it is better than the
tolerance by AIM: taken as it stands in every step of a body at rest, its error would add up in velocities.
With AIM near 1 steps would go back and forth for ever: a guess with the error a, taken, leaves the velocity
a, and the next step, swept, takes that back with impulses that have the error a as the guess after it."""
POLISH, VISITS, LOOK = 8.0, 500.0, 4.0
"""At most POLISH such sweeps, or as many as visit VISITS blocks; the judge is asked after LOOK of them, and
then as their rate predicts."""
NOTHING = 1e-280
"""Squares below this are of numbers that are nothing: their own squares may have vanished."""
MOST_WORK = 1_000_000
"""Components that sweeps may visit before other methods begin: 10 ms and more."""
PLAIN = 60.0
"""Plain sweeps over Coulomb contacts that are followed by accelerated ones."""
LINES = 64
"""Lines kept of the history."""
MANY = 1000
"""Components above which accelerated sweeps follow plain ones; small problems go to Newton's method."""
MIXED = 8
"""Sweeps that an accelerated one starts from a mix of."""
MOST_MIXED, MIXED_TRIAL = 300.0, 40.0
"""Most accelerated sweeps, and those before they may be called too slow."""


@jit
def sweeps_worth(size, only_coulomb):
    """Sweeps over so many components before other methods begin; only_coulomb: no rolling, no joints.

    Accelerated sweeps follow plain ones of many Coulomb contacts, and soon are the better ones.
    """
    if only_coulomb and size > MANY:
        return PLAIN
    return float(max(500, min(5000, MOST_WORK // max(size, 1))))


@jit
def sweep_coulomb3(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    bodies, rows, root, f, u_bias, tolerance, limit, control, r,
):  # fmt: skip
    """(r, v, control, history) after at most `limit` sweeps from r (n,) in K over 3D Coulomb contacts.

    Where these are too slow and contacts many, accelerated ones follow (`anderson.py`).

    r is the best iterate, v its body velocities (count, k), control as `schedule` has it.
    """
    n, nc = u_bias.shape[0], kind.shape[0]
    moved, J, free, u_free = mass_scaled(bodies, offset, rows, root, f, u_bias)
    w = np.zeros(free.shape)
    stride = 9 + one.EXTRAS_3
    local, local_start = np.empty(stride * nc), stride * np.arange(nc)
    history, best = np.empty((LINES, 3)), r.copy()
    body_sweeps.refresh(moved, offset, J, u_free, r, w, np.empty(n))
    isotropic, rho, length, scaled = np.empty((nc, 2)), np.empty(nc), np.empty(n), np.empty(nc)
    kappa, vectors, bench = np.zeros(nc), np.empty((5, n)), np.empty((1, residuals.MEASURES))
    body_sweeps.run_coulomb3(
        kind, offset, lower, upper, group_offset, group_size, coefficient,
        moved, J, w, isotropic, local, local_start,
        rho, length, scaled, u_free, 1.0, tolerance, limit,
        r, best, kappa, vectors, bench, control, history,
    )  # fmt: skip
    state = control[schedule.STATE]
    if n > MANY and (state == schedule.SLOW or state == schedule.RUNNING):
        weight, mix, gram = np.empty(n), np.zeros(anderson.SLOTS), np.zeros((MIXED, MIXED))
        anderson.weigh(offset, local, local_start, weight)
        anderson.forget(mix)
        _begin_to_mix(control, r, best)
        anderson.run_bodies_coulomb3(
            weight, mix, gram, np.zeros((2 * MIXED + 3, n)), np.zeros((MIXED + 2, MIXED)),
            kind, offset, lower, upper, group_offset, group_size, coefficient,
            moved, J, w, isotropic, local, local_start,
            rho, length, scaled, u_free, 1.0, tolerance, control[schedule.ALLOWED],
            r, best, kappa, vectors, bench, control, history,
        )  # fmt: skip
    v = _velocities(moved, offset, J, root, free, best, w)
    return best, v, control, history[: int(control[schedule.CHECKS])].copy()


@jit
def _begin_to_mix(control, r, best):
    """Set up accelerated sweeps from the best iterate, where plain ones are too slow."""
    for k in range(r.shape[0]):
        r[k] = best[k]
    done = control[schedule.SWEEPS]
    control[schedule.STATE], control[schedule.ALLOWED] = schedule.RUNNING, done + MOST_MIXED
    control[schedule.TRIAL], control[schedule.GAP], control[schedule.NEXT] = (
        done + MIXED_TRIAL,
        2.0,
        done + 4.0,
    )
    control[schedule.SINCE], control[schedule.ERROR_THEN] = done, control[schedule.BEST]


@jit
def sweep_blocks(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    bodies, rows, root, f, u_bias, tolerance, limit, control, r,
):  # fmt: skip
    """`sweep_coulomb3` for blocks of any kind: joints, stops, dry friction, rolling and torsion."""
    n, nb, groups = u_bias.shape[0], kind.shape[0], coefficient.shape[0]
    moved, J, free, u_free = mass_scaled(bodies, offset, rows, root, f, u_bias)
    w = np.zeros(free.shape)
    local_start, size, d = np.empty(nb, np.int64), 0, 1
    for i in range(nb):
        local_start[i], own = size, offset[i + 1] - offset[i]
        size += own * own + small_contacts.extras(i, kind, group_offset, own)
        d = max(d, own)
    local, bench = np.zeros(size), np.empty((2 * d + 6, max(2 * d + 2, residuals.MEASURES)))
    rho, length, scaled, vectors = np.empty(nb), np.empty(n), np.empty(groups), np.empty((5, n))
    body_sweeps.prepare(
        kind, offset, group_offset, group_size, coefficient, J, local, local_start, bench[4:],
        rho, length, scaled, vectors[0],
    )  # fmt: skip
    for i in range(nb):
        if kind[i] == cones.FREE:
            small_contacts.invert(local, local_start[i], offset[i + 1] - offset[i])
    history, best = np.empty((LINES, 3)), r.copy()
    body_sweeps.refresh(moved, offset, J, u_free, r, w, np.empty(n))
    body_sweeps.run(
        kind, offset, lower, upper, group_offset, group_size, coefficient,
        moved, J, w, np.empty((nb, 2)), local, local_start,
        rho, length, scaled, u_free, 1.0, tolerance, limit,
        r, best, np.zeros(groups), vectors, bench, control, history,
    )  # fmt: skip
    v = _velocities(moved, offset, J, root, free, best, w)
    return best, v, control, history[: int(control[schedule.CHECKS])].copy()


@jit
def solve_coulomb3(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    bodies, rows, M, root, f, u_bias, tolerance, limit, guess,
):  # fmt: skip
    """(r, v, u, told, control, history): the guess where the judge takes it, else at most `limit` sweeps.

    u and told (MEASURES + 1), the judge's measures and the equilibrium, only where control says SOLVED.
    """
    K = kind, offset, lower, upper, group_offset, group_size, coefficient
    r, v, u, told, control = _asked(K, bodies, rows, M, root, f, u_bias, tolerance, guess)
    history = np.zeros((1, 3))
    history[0, 1], history[0, 2] = told[residuals.NATURAL], told[residuals.SCALED]
    good = control[schedule.STATE] == schedule.SOLVED
    finest = min(ROUNDING, tolerance)
    if good and _worst(told) <= max(AIM * tolerance, finest):
        return r, v, u, told, control, history
    target, budget = (finest, _polish(kind, limit)) if good else (tolerance, limit)
    control = _controls(good, budget)
    r_new, v_new, control, history = sweep_coulomb3(
        kind, offset, lower, upper, group_offset, group_size, coefficient,
        bodies, rows, root, f, u_bias, target, budget, control, r.copy(),
    )  # fmt: skip
    if good:
        return _better(
            K, bodies, rows, M, root, f, u_bias, tolerance, r, v, u, told, r_new, v_new, control, history
        )
    if control[schedule.STATE] == schedule.SOLVED:
        u = _told(K, bodies, rows, M, root, f, u_bias, r_new, v_new, told)
    return r_new, v_new, u, told, control, history


@jit
def solve_blocks(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    bodies, rows, M, root, f, u_bias, tolerance, limit, guess,
):  # fmt: skip
    """`solve_coulomb3` for blocks of any kind: joints, stops, dry friction, rolling and torsion."""
    K = kind, offset, lower, upper, group_offset, group_size, coefficient
    r, v, u, told, control = _asked(K, bodies, rows, M, root, f, u_bias, tolerance, guess)
    history = np.zeros((1, 3))
    history[0, 1], history[0, 2] = told[residuals.NATURAL], told[residuals.SCALED]
    good = control[schedule.STATE] == schedule.SOLVED
    finest = min(ROUNDING, tolerance)
    if good and _worst(told) <= max(AIM * tolerance, finest):
        return r, v, u, told, control, history
    target, budget = (finest, _polish(kind, limit)) if good else (tolerance, limit)
    control = _controls(good, budget)
    r_new, v_new, control, history = sweep_blocks(
        kind, offset, lower, upper, group_offset, group_size, coefficient,
        bodies, rows, root, f, u_bias, target, budget, control, r.copy(),
    )  # fmt: skip
    if good:
        return _better(
            K, bodies, rows, M, root, f, u_bias, tolerance, r, v, u, told, r_new, v_new, control, history
        )
    if control[schedule.STATE] == schedule.SOLVED:
        u = _told(K, bodies, rows, M, root, f, u_bias, r_new, v_new, told)
    return r_new, v_new, u, told, control, history


@jit
def _asked(K, bodies, rows, M, root, f, u_bias, tolerance, guess):
    """(r, v, u, told, control): the guess projected, what the judge says of it, and what is left to do."""
    kind, offset, lower, upper, group_offset, group_size, coefficient = K
    r, told, control = np.empty(u_bias.shape[0]), np.empty(residuals.MEASURES + 1), np.zeros(schedule.SLOTS)
    cones.project(kind, offset, lower, upper, group_offset, group_size, coefficient, guess, r)
    v = velocities(bodies, offset, rows, root, f, r)
    u = _told(K, bodies, rows, M, root, f, u_bias, r, v, told)
    if residuals.is_solved(told, tolerance) and told[residuals.MEASURES] <= tolerance:
        control[schedule.STATE] = schedule.SOLVED
    return r, v, u, told, control


@jit
def _worst(told):
    """The largest of the relative measures."""
    return max(told[residuals.NATURAL], told[residuals.SCALED], told[residuals.MEASURES])


@jit
def _polish(kind, limit):
    """Sweeps for a guess that is an answer."""
    return min(max(POLISH, VISITS // kind.shape[0]), limit)


@jit
def _controls(good, budget):
    """Those of sweeps after a look at the guess: as many as it takes, or at most a few more."""
    control = np.zeros(schedule.SLOTS)
    control[schedule.STATE] = schedule.NEW
    control[schedule.NEXT], control[schedule.ALLOWED] = (min(LOOK, budget), 0.0) if good else (1.0, budget)
    return control


@jit
def _better(K, bodies, rows, M, root, f, u_bias, tolerance, r, v, u, told, r_new, v_new, control, history):
    """What a solve gives back: the guess, which is an answer, or what sweeps made of it if that is better."""
    control[schedule.STATE], told_new = schedule.SOLVED, np.empty(told.shape[0])
    u_new = _told(K, bodies, rows, M, root, f, u_bias, r_new, v_new, told_new)
    if _worst(told_new) < _worst(told) and residuals.is_solved(told_new, tolerance):
        return r_new, v_new, u_new, told_new, control, history
    return r, v, u, told, control, history


@jit
def _told(K, bodies, rows, M, root, f, u_bias, r, v, told):
    """u of the judge; told <- its measures of r (n,) and v (count, k), and the equilibrium."""
    kind, offset, lower, upper, group_offset, group_size, coefficient = K
    measures, equilibrium, u = measure(
        kind, offset, lower, upper, group_offset, group_size, coefficient,
        bodies, rows, M, root, f, u_bias, r, v,
    )  # fmt: skip
    for k in range(residuals.MEASURES):
        told[k] = measures[k]
    told[residuals.MEASURES] = equilibrium
    return u


@jit
def velocities(bodies, offset, rows, root, f, r):
    """M^-1 (f + H r), shape (count, k)."""
    count, k = root.shape[0], root.shape[1]
    v, pushed, scaled = np.zeros((count, k)), np.empty((count, k)), np.empty(k)
    blocks.blocks_to_bodies(bodies, offset, rows, r, pushed)
    for b in range(count):
        for i in range(k):
            scaled[i] = 0.0
            for j in range(k):
                scaled[i] += root[b, j, i] * (f[b, j] + pushed[b, j])
        for i in range(k):
            for j in range(k):
                v[b, i] += root[b, i, j] * scaled[j]
    return v


@jit
def mass_scaled(bodies, offset, rows, root, f, u_bias):
    """(bodies, J, free, u_free): fixed sides as a last body that stands, J = H' F, F' f, J F' f + u_bias."""
    count, k = root.shape[0], root.shape[1]
    moved, J = np.empty(bodies.shape, np.int64), np.empty(rows.shape)
    blocks.scale_rows(bodies, offset, rows, root, J)
    for i in range(bodies.shape[0]):
        for side in range(2):
            moved[i, side] = bodies[i, side] if bodies[i, side] >= 0 else count
    free, u_free = np.zeros((count + 1, k)), np.empty(u_bias.shape[0])
    for b in range(count):
        for i in range(k):
            for j in range(k):
                free[b, i] += root[b, j, i] * f[b, j]
    blocks.bodies_to_blocks(moved, offset, J, free, u_bias, u_free)
    return moved, J, free, u_free


@jit
def _velocities(moved, offset, J, root, free, r, w):
    """M^-1 (f + H r), shape (count, k); w (count + 1, k) work."""
    count, k = root.shape[0], root.shape[1]
    blocks.blocks_to_bodies(moved, offset, J, r, w)
    v = np.zeros((count, k))
    for b in range(count):
        for i in range(k):
            for j in range(k):
                v[b, i] += root[b, i, j] * (free[b, j] + w[b, j])
    return v


@jit
def measure(
    kind, offset, lower, upper, group_offset, group_size, coefficient,
    bodies, rows, M, root, f, u_bias, r, v,
):  # fmt: skip
    """(measures, equilibrium, u): all that the judge says of r (n,) and v (count, k), from scratch."""
    n, count, k = r.shape[0], M.shape[0], M.shape[1]
    pushed, v_free, moved = np.empty((count, k)), np.zeros((count, k)), np.zeros((count, k))
    blocks.blocks_to_bodies(bodies, offset, rows, r, pushed)
    scaled = np.empty(k)
    error = largest = error_v = speed = 0.0
    sums = np.zeros(5)  # squares of M v, f, pushed; v, v_free
    for b in range(count):
        for target, forced in ((v_free, 0.0), (moved, 1.0)):
            for i in range(k):
                s = 0.0
                for j in range(k):
                    s += root[b, j, i] * (f[b, j] + forced * pushed[b, j])
                scaled[i] = s
            for i in range(k):
                for j in range(k):
                    target[b, i] += root[b, i, j] * scaled[j]
        for i in range(k):
            momentum = 0.0
            for j in range(k):
                momentum += M[b, i, j] * v[b, j]
            gap = momentum - f[b, i] - pushed[b, i]
            error += gap * gap
            gap = v[b, i] - moved[b, i]
            error_v += gap * gap
            sums[0] += momentum * momentum
            sums[1] += f[b, i] * f[b, i]
            sums[2] += pushed[b, i] * pushed[b, i]
            sums[3] += v[b, i] * v[b, i]
            sums[4] += v_free[b, i] * v_free[b, i]
    diagonal, u, u_free = np.empty(n), np.empty(n), np.empty(n)
    blocks.bodies_to_blocks(bodies, offset, rows, v, u_bias, u)
    blocks.bodies_to_blocks(bodies, offset, rows, v_free, u_bias, u_free)
    own = 0.0
    for i in range(bodies.shape[0]):
        for j in range(offset[i], offset[i + 1]):
            total = 0.0
            for side in range(2):
                b = bodies[i, side]
                if b >= 0:
                    for m in range(k):
                        s = 0.0
                        for o in range(k):
                            s += rows[j, side, o] * root[b, o, m]
                        total += s * s
            diagonal[j] = total
            own += total * r[j] * (total * r[j])
    largest = max(sums[0], sums[1], sums[2])
    speed = max(sums[3], sums[4], own)
    out = residuals.measure(
        kind, offset, lower, upper, group_offset, group_size, coefficient, diagonal, r, u, u_free
    )
    return out, max(_relative(error, largest), _relative(error_v, speed)), u


@jit
def _relative(error, scale):
    """sqrt(error / scale), 0 where error is NOTHING, x/0 = inf, NaN where either is."""
    if error != error or scale != scale:
        return math.nan
    if error <= NOTHING:
        return 0.0
    if scale == 0.0:
        return math.inf
    return math.sqrt(error) / math.sqrt(scale)
