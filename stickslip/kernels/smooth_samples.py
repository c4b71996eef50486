"""Samples of a smooth motion in one compiled call, by the steps of `smooth_steps`.

If a watched quantity may cross zero in a sample, or the sample cannot be completed, the run ends before it,
and `schemes/event_driven_run.py` makes that sample.
"""

import math
from typing import NamedTuple

import numpy as np

from stickslip.kernels import march_contacts as contacts
from stickslip.kernels import march_layout as at
from stickslip.kernels import march_motion as motion
from stickslip.kernels import smooth
from stickslip.kernels.callables import STOP, is_stopped
from stickslip.kernels.jit import jit
from stickslip.kernels.smooth_steps import LOOK, NEW, OLD, SHORTEST, STAGES, interpolate, state_within, step
from stickslip.state import Array

CORRECTIONS = 5
"""Largest number of corrections of drift in a sample."""
G, SLOPE, G_LAST, SLOPE_LAST, G_END, SLOPE_END, G_BEFORE, FLOOR, FASTEST = range(9)
"""Rows of `Bench.looks`: values and rates at the present point, at the previous point and at the end of a
step, value before the previous point, largest |value| that counts as zero, largest |rate|."""
LOOKS = 9
"""Number of rows of `Bench.looks`."""
PROJECTION, WORK = range(2)
"""Columns of `Samples.measures`."""


class Samples(NamedTuple):
    """Results: row 0 of q, v, lam and substep is the start, row k + 1 the end of sample k."""

    q: Array
    """[m, rad], shape (samples + 1, nq)."""
    v: Array
    """[m/s, rad/s], shape (samples + 1, nv)."""
    lam: Array
    """[N], shape (samples + 1, size)."""
    substep: Array
    """Next step of the integrator [s], shape (samples + 1, 1)."""
    r: Array
    """[N s], shape (samples, size)."""
    u: Array
    """[m/s], shape (samples, size)."""
    y: Array
    """[m, rad], shape (samples, size)."""
    measures: Array
    """Projection [m] and work [J], shape (samples, 2)."""


@jit
def run(model, stretch, z, tools, times, samples):
    """Compute samples until one needs the full scheme; return the number done.

    tools: `Tableau`, `Options`, `Work`, `smooth.Room`, `Bench`; times (samples + 1,).
    """
    stop = model.dynamics.values.stop
    work, ties = tools[2], model.ties
    drift = work.tying.components[at.DRIFT_NOW]
    contacts.fixed_rates(ties.table, ties.values.constants, work.tying.rows, drift)
    for k in range(samples.r.shape[0]):
        if is_stopped(stop):
            return k
        if not sample(model, stretch, z, tools, times[k], times[k + 1], k, samples) or stop[STOP] != 0:
            return k
    return samples.r.shape[0]


@jit
def sample(model, stretch, z, tools, t, end, k, samples):
    """Compute one sample; return False if it needs the full scheme."""
    _, options, work, room, bench = tools
    nq, nv, n = samples.q.shape[1], samples.v.shape[1], stretch.known.shape[0]
    states, looks, watched = bench.states, bench.looks, stretch.watched
    state, size = states[OLD], states.shape[1]
    # 1. State at the start, and watched quantities, which must stay positive.
    for j in range(nq):
        state[j] = samples.q[k, j]
    for j in range(nv):
        state[nq + j] = samples.v[k, j]
    for j in range(nq + nv, size):
        state[j] = 0.0
    if end - t <= SHORTEST * max(abs(t), abs(end)):
        return False
    reference = smooth.state_rates(model, stretch, t, state, z, work, room, bench.stages[0])
    if math.isnan(reference) or not smooth.keeps_directions(stretch, room.u):
        return False
    smooth.others(stretch, 1.0, room, looks[G])
    set_floors(stretch, options, n, room, looks)
    if k == 0:
        smooth.gaps(model, stretch, t, state, z, work, room, looks[G : SLOPE + 1])
    for w in range(watched.shape[0]):
        if watched[w, smooth.KIND] == smooth.GAP:
            if k > 0:  # values at the end of the previous sample
                c = watched[w, smooth.NORMAL]
                looks[G, w], looks[SLOPE, w] = samples.y[k - 1, c], samples.u[k - 1, c]
            g, slope = looks[G, w], looks[SLOPE, w]
            if slope >= -options.velocity_tolerance:
                looks[FLOOR, w] += max(-1.001 * g, 0.0)
            looks[FASTEST, w] = abs(slope)
        if not looks[G, w] >= -looks[FLOOR, w] or not looks[G, w] > looks[FLOOR, w]:
            return False  # zero or negative: the full scheme decides whether it rises
        looks[G_BEFORE, w] = math.nan
    # 2. Steps of the integrator, each checked for zero crossings.
    substep = samples.substep[k, 0]
    h = min(substep, options.max_step, end - t)
    while t < end:
        least = 10.0 * (np.nextafter(t, math.inf) - t)
        t_new, h, determinant = step(model, stretch, z, tools, t, end, max(min(h, options.max_step), least))
        if not t_new > t:
            return False
        share = math.ceil(options.parts * (t_new - t) / substep)
        parts = max(1, min(options.parts, share))
        if not is_quiet(model, stretch, z, tools, (t, t_new, determinant), reference, parts):
            return False
        substep = h if t_new < end else max(substep, h)
        for j in range(size):
            states[OLD, j], bench.stages[0, j] = states[NEW, j], bench.stages[STAGES, j]
        t = t_new
    # 3. End of the sample: correction of drift, outputs.
    return finish(model, stretch, z, tools, (end, substep), k, samples)


@jit
def set_floors(stretch, options, n, room, looks):
    """looks[FLOOR] <- largest |value| of each watched quantity that counts as zero."""
    force, fastest = 0.0, 0.0
    for j in range(n):
        force = max(force, abs(room.force[j]))
    for j in range(room.acceleration.shape[0]):
        fastest = max(fastest, abs(room.acceleration[j]))
    for w in range(stretch.watched.shape[0]):
        kind = stretch.watched[w, smooth.KIND]
        floor = 1e-10 * force + 1e-14 * fastest
        if kind == smooth.GAP:
            floor = 1e-3 * options.gap_tolerance
        elif kind == smooth.SLIDING:
            floor = options.velocity_tolerance
        elif kind >= smooth.NEAR:
            floor = 0.0
        looks[FLOOR, w] = floor


@jit
def look(model, stretch, z, tools, t, state, reference, out):
    """out (2, watched) <- watched quantities and rates of gaps; return False if `balance` fails."""
    work, room, watched = tools[2], tools[3], stretch.watched
    count, nq, nv = watched.shape[0], room.moved.shape[1], room.acceleration.shape[0]
    if count > 0 and watched[count - 1, smooth.KIND] != smooth.GAP:
        lasting = smooth.balance(model, stretch, (t, state[:nq], state[nq : nq + nv]), z, work, room)
        if math.isnan(lasting):
            return False
        smooth.others(stretch, lasting / reference, room, out[0])
    smooth.gaps(model, stretch, t, state, z, work, room, out)
    return True


@jit
def is_quiet(model, stretch, z, tools, span, reference, fewest):
    """Return whether certainly no watched quantity crosses zero in the step, by the criteria of `Lookout`."""
    options, bench = tools[1], tools[4]
    t, t_new, determinant = span
    # 1. Values at the end, and number of points: more if a gap may close.
    looks, watched, end = bench.looks, stretch.watched, bench.states[NEW]
    if watched.shape[0] == 0:
        return True
    smooth.others(stretch, determinant / reference, tools[3], looks[G_END])
    smooth.gaps(model, stretch, t_new, end, z, tools[2], tools[3], looks[G_END : SLOPE_END + 1])
    parts = fewest
    for w in range(watched.shape[0]):
        if watched[w, smooth.KIND] == smooth.GAP:
            looks[FASTEST, w] = max(looks[FASTEST, w], abs(looks[SLOPE_END, w]))
            if min(looks[G, w], looks[G_END, w]) <= 2.0 * (t_new - t) * looks[FASTEST, w]:
                parts = options.parts
    if parts > 1 and not interpolate(model, stretch, z, tools, t, t_new - t):
        return False
    # 2. Values at these points, and minima between them.
    for part in range(1, parts + 1):
        before = t + (t_new - t) * (part - 1) / parts
        s = t_new if part == parts else t + (t_new - t) * part / parts
        for w in range(watched.shape[0]):
            looks[G_LAST, w], looks[SLOPE_LAST, w] = looks[G, w], looks[SLOPE, w]
        if part == parts:
            for w in range(watched.shape[0]):
                looks[G, w], looks[SLOPE, w] = looks[G_END, w], looks[SLOPE_END, w]
        else:
            state_within(bench, (s - t) / (t_new - t))
            if not look(model, stretch, z, tools, s, bench.states[LOOK], reference, looks[G : SLOPE + 1]):
                return False
        for w in range(watched.shape[0]):
            if not looks[G, w] >= -looks[FLOOR, w]:
                return False
            if may_dip(looks[:, w], watched[w, smooth.KIND], s - before):
                return False
            looks[G_BEFORE, w] = looks[G_LAST, w]
    return True


@jit
def may_dip(looks, kind, dt):
    """Return whether a quantity, positive at the last points, may have a negative minimum between them."""
    g, last, before = looks[G], looks[G_LAST], looks[G_BEFORE]
    if kind == smooth.GAP:
        falls = looks[SLOPE_LAST] < 0.0 and looks[SLOPE] > 0.0
        # The tangents at the ends are lower bounds of a convex function.
        return falls and min(last + looks[SLOPE_LAST] * dt, g - looks[SLOPE] * dt) < 0.0
    if not (last < before and last < g):
        return False
    return last - (g - before) ** 2 / (8.0 * (before - 2.0 * last + g)) < 0.25 * last


@jit
def finish(model, stretch, z, tools, arrival, k, samples):
    """Write the end of a sample, with corrected drift of closed contacts and joints; False on failure."""
    _, _, work, _, bench = tools
    t, substep = arrival
    nq, nv, n = samples.q.shape[1], samples.v.shape[1], stretch.known.shape[0]
    # 1. State.
    q, v, state, map_ = samples.q[k + 1], samples.v[k + 1], bench.states[OLD], work.problem.map
    for j in range(nq):
        q[j] = state[j]
    for j in range(nv):
        v[j] = state[nq + j]
    smooth.normalize(model.dynamics.systems, q)
    # 2. Impulses, forces, work, and correction of drift.
    for j in range(samples.r.shape[1]):
        samples.r[k, j], samples.lam[k + 1, j] = 0.0, 0.0 if n > 0 else samples.lam[k, j]
    samples.measures[k, PROJECTION] = samples.measures[k, WORK] = 0.0
    if n > 0:
        for j in range(n):
            samples.r[k, map_[0, j]] = state[nq + nv + j]
            samples.lam[k + 1, map_[0, j]] = bench.stages[0, nq + nv + j]
        if stretch.rubbing.shape[0] > 0:
            samples.measures[k, WORK] = state[nq + nv + n]
        if not settle(model, stretch, z, tools, t, k, samples):
            return False
    # 3. Outputs and their rates.
    samples.substep[k + 1, 0] = substep
    for i in range(model.ties.table.shape[0]):
        contacts.outputs(i, model.ties, t, q, z, work.tying.buffers, samples.y[k])
        smooth.rates_at(i, model.ties, t, q, v, z, work.tying, samples.u[k])
    finite = True
    for j in range(nq):
        finite = finite and abs(q[j]) < math.inf
    for j in range(nv):
        finite = finite and abs(v[j]) < math.inf
    return finite


@jit
def settle(model, stretch, z, tools, t, k, samples):
    """Correct closed contacts and joints to y = 0 and ẏ = 0 by the smallest change in the metric of M."""
    _, options, work, room, _ = tools
    q, v, level, map_, n = (
        samples.q[k + 1], samples.v[k + 1], stretch.level, work.problem.map, stretch.known.shape[0]
    )  # fmt: skip
    right, change = room.right, room.moved
    for j in range(q.shape[0]):
        change[1, j] = q[j]
    # 1. Positions: Newton steps to y = 0.
    for _ in range(CORRECTIONS):
        worst = 0.0
        for j in range(stretch.involved.shape[0]):
            contacts.outputs(stretch.involved[j], model.ties, t, q, z, work.tying.buffers, room.outputs[0])
        for j in range(stretch.levels):
            right[j] = -room.outputs[0, map_[0, level[j]]]
            worst = max(worst, abs(right[j]))
        if worst <= 1e-4 * options.gap_tolerance:
            break
        if not smooth.respond_at(model, stretch, (t, q, v), z, work, room):
            return False
        if not kick(stretch, stretch.levels, n, work.problem.W, room):
            return False
        for j in range(v.shape[0]):
            room.acceleration[j] = 0.0
        smooth.push(n, model.ties, map_, work.tying.responses, room.force, room.acceleration)
        smooth.coordinate_rates(model.dynamics.systems, q, room.acceleration, change[0])
        for j in range(q.shape[0]):
            q[j] += change[0, j]
        smooth.normalize(model.dynamics.systems, q)
    for j in range(q.shape[0]):
        samples.measures[k, PROJECTION] = max(samples.measures[k, PROJECTION], abs(q[j] - change[1, j]))
    if not smooth.respond_at(model, stretch, (t, q, v), z, work, room):
        return False
    # 2. Velocities: one impulse to ẏ = 0, counted in r and in the work of contacts.
    worst = 0.0
    for j in range(level.shape[0]):
        right[j] = -room.u[map_[0, level[j]]]
        worst = max(worst, abs(right[j]))
    if worst <= 1e-4 * options.velocity_tolerance:
        return True
    if not kick(stretch, level.shape[0], n, work.problem.W, room):
        return False
    smooth.push(n, model.ties, map_, work.tying.responses, room.force, v)
    for j in range(level.shape[0]):
        c, impulse = map_[0, level[j]], room.force[level[j]]
        samples.r[k, c] += impulse
        samples.measures[k, WORK] += 0.5 * impulse * room.u[c]
    return True


@jit
def kick(stretch, count, n, W, room):
    """force <- impulses that change the first `count` rates of `level` by `right`; False if singular."""
    S, level = room.matrices[1], stretch.level
    for i in range(count):
        for j in range(count):
            S[i * count + j] = W[level[i] * n + level[j]]
    if not motion.factor(S, room.pivots, count):
        return False
    motion.substitute(S, room.pivots, room.right, count)
    for j in range(n):
        room.force[j] = 0.0
    for j in range(count):
        room.force[level[j]] = room.right[j]
    return True
