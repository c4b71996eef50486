"""Partial computations of `body_measures.py` for threads, over contacts or bodies from `first` to `end`.

The impulses on a body are summed over its contacts in the order of the contacts (`touching`). Threads thus
never write to the same body, and sums equal those of one pass over all contacts. All kernels release the lock
of the interpreter.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import blocks, body_measures, cones, contact_law, residuals
from stickslip.kernels.blocks import RIGID
from stickslip.kernels.jit import jit, jit_without_lock


class Touching(NamedTuple):
    """Contacts of each body, in compressed rows."""

    start: Any
    """First entry of each body in `side`, then the number of entries, shape (bodies + 1,)."""
    side: Any
    """2 i if the body is the first of contact i, 2 i + 1 if it is the second, increasing for each body."""


class Seen(NamedTuple):
    """Sums and maxima of the judge over some contacts, to be combined with those of the others."""

    scales: Any
    """`residuals.Metric` of the contacts."""
    sums: Any
    """`residuals.stop_sums` of the contacts."""
    approach: Any
    """`residuals.approach_sizes` of the contacts."""
    local: Any
    """`residuals.local_sizes` of the contacts."""
    units: Any
    """`residuals.unit_measures` of the contacts, shape (MEASURES,)."""
    own: Any
    """Sum of (W_kk r_k)²."""
    is_scaled: Any
    """Whether W_ii > 0 for all of the contacts, so that their scales do not depend on other contacts."""


@jit_without_lock
def touching(bodies, count):
    """Return the `Touching` of contacts between `count` bodies.   bodies (nc, 2), -1 for a fixed side."""
    start = np.zeros(count + 1, np.int64)
    for i in range(bodies.shape[0]):
        for k in range(2):
            if bodies[i, k] >= 0:
                start[bodies[i, k] + 1] += 1
    for b in range(count):
        start[b + 1] += start[b]
    side, place = np.empty(start[count], np.int64), start[:count].copy()
    for i in range(bodies.shape[0]):
        for k in range(2):
            b = bodies[i, k]
            if b >= 0:
                side[place[b]] = 2 * i + k
                place[b] += 1
    return Touching(start, side)


@jit_without_lock
def push(near, offset, rows, r, first, end, w):
    """w <- impulses on the bodies from first to end, of six velocities each.   near: the `Touching`."""
    for b in range(first, end):
        for k in range(RIGID):
            w[b, k] = 0.0
        for place in range(near.start[b], near.start[b + 1]):
            i, side = near.side[place] // 2, near.side[place] % 2
            for j in range(offset[i], offset[i + 1]):
                for k in range(RIGID):
                    w[b, k] += rows[j, side, k] * r[j]


@jit_without_lock
def see(bodies, offset, rows, w, bias, first, end, u):
    """u <- velocities of the contacts from first to end, by `blocks.bodies_to_blocks`."""
    blocks.bodies_to_blocks(bodies[first:end], offset[first : end + 1], rows, w, bias, u)


@jit_without_lock
def free_velocities(root, f, first, end, v):
    """v <- M^-1 f of the bodies from first to end.   root (count, k, k), f, v (count, k)."""
    scaled = np.empty(f.shape[1])
    for b in range(first, end):
        for k in range(f.shape[1]):
            v[b, k] = 0.0
        blocks.add_velocity(root[b], f[b], scaled, v[b])


@jit_without_lock
def unload(problem, first, end, free):
    """Write J, diagonal and u of `free` for the contacts from first to end, all 3D Coulomb contacts.

    problem: a `BodyProblem`; free: its `body_measures.Unloaded`, with v already computed.
    """
    part = slice(3 * first, 3 * end)
    bodies, offset = problem.bodies[first:end], problem.K.offset[: end - first + 1]
    rows, J = problem.rows[part], free.J[part]
    blocks.scale_rows(bodies, offset, rows, problem.root, J)
    blocks.bodies_to_blocks(bodies, offset, rows, free.v, problem.u_bias[part], free.u[part])
    for j in range(J.shape[0]):
        total = 0.0
        for side in range(2):
            for m in range(J.shape[2]):
                total += J[j, side, m] * J[j, side, m]
        free.diagonal[3 * first + j] = total


@jit_without_lock
def velocities(problem, near, r, first, end, v):
    """v <- M^-1 (f + H r) of the bodies from first to end."""
    pushed, scaled = np.empty(v.shape), np.empty(v.shape[1])
    push(near, problem.K.offset, problem.rows, r, first, end, pushed)
    for b in range(first, end):
        for i in range(v.shape[1]):
            pushed[b, i] += problem.f[b, i]
            v[b, i] = 0.0
        blocks.add_velocity(problem.root[b], pushed[b], scaled, v[b])


@jit_without_lock
def balance(problem, near, v_free, r, v, first, end):
    """Return the `body_measures.balance` of the bodies from first to end."""
    pushed = np.empty(v.shape)
    push(near, problem.K.offset, problem.rows, r, first, end, pushed)
    return body_measures.balance(problem, v_free, pushed, v, first, end)


@jit
def part_of(K, first, end):
    """Return the set of the blocks from first to end of K, all 3D Coulomb contacts."""
    size = end - first
    return cones.Cones(
        K.kind[first:end], K.offset[: size + 1], K.lower[first:end], K.upper[first:end],
        K.group_offset[: size + 1], K.group_size[first:end], K.coefficient[first:end],
    )  # fmt: skip


@jit_without_lock
def project(K, x, first, end, out):
    """out <- P_K(x) of the 3D Coulomb contacts from first to end."""
    part = slice(3 * first, 3 * end)
    cones.project_contacts(part_of(K, first, end), x[part], out[part])


@jit
def point_of(problem, free, r, u, first, end):
    """Return (set, diagonal of W, `residuals.Point`, work) of the contacts from first to end."""
    part = slice(3 * first, 3 * end)
    point = residuals.Point(r[part], u[part], free.u[part])
    work = np.empty(0), np.empty(0)  # needed by blocks of other kinds only
    return part_of(problem.K, first, end), free.diagonal[part], point, work


@jit_without_lock
def look(problem, free, r, v, first, end, u):
    """Return the `Seen` of the 3D Coulomb contacts from first to end; u <- their velocities."""
    see(problem.bodies, problem.K.offset, problem.rows, v, problem.u_bias, first, end, u)
    K, diagonal, point, work = point_of(problem, free, r, u, first, end)
    scales, units, is_scaled, own_squares = (
        residuals.metric(K, diagonal),
        np.zeros(residuals.MEASURES),
        True,
        0.0,
    )
    for i in range(end - first):
        is_scaled = is_scaled and diagonal[3 * i] + diagonal[3 * i + 1] + diagonal[3 * i + 2] > 0.0
    for k in range(diagonal.shape[0]):
        own_squares += (diagonal[k] * point.r[k]) * (diagonal[k] * point.r[k])
    residuals.unit_measures(K, residuals.EXACT, point, work, units)
    return Seen(
        scales, residuals.stop_sums(contact_law.no_map, K, scales, residuals.EXACT, point, work),
        residuals.approach_sizes(K, diagonal, point), residuals.local_sizes(K, scales, diagonal, point),
        units, own_squares, is_scaled,
    )  # fmt: skip


@jit_without_lock
def single(problem, free, scales, approach, local, r, u, first, end):
    """Return `residuals.closing` and `residuals.largest_local` of the contacts from first to end.

    approach, local: `residuals.approach_sizes` and `residuals.local_sizes` of all contacts.
    """
    K, diagonal, point, work = point_of(problem, free, r, u, first, end)
    closing = residuals.closing(K, diagonal, point, approach)
    return closing, residuals.largest_local(contact_law.no_map, K, scales, point, work, local)
