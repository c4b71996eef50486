"""Parts of what `body_measures.py` computes, for threads: contacts, or bodies, from `first` to `end`.

What acts on a body is added up over its contacts, in the order of the contacts (`touching`), so that threads
never write to one body, and sums are those of one pass over all contacts. Every kernel works without the
lock of the interpreter.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import blocks, body_measures, cones, contact_law, residuals
from stickslip.kernels.blocks import RIGID
from stickslip.kernels.jit import jit, jit_without_lock


class Touching(NamedTuple):
    """The contacts of each body."""

    start: Any
    """First in `side` of those of each body, and the number of all, shape (bodies + 1,)."""
    side: Any
    """2 i where contact i has the body first, 2 i + 1 where second, increasing for each body."""


class Seen(NamedTuple):
    """What the judge sees of some contacts before it knows what all others are like."""

    scales: Any
    """Their `residuals.Metric`."""
    sums: Any
    """Their `residuals.stop_sums`."""
    approach: Any
    """Their `residuals.approach_sizes`."""
    local: Any
    """Their `residuals.local_sizes`."""
    units: Any
    """Their `residuals.unit_measures`, shape (MEASURES,)."""
    own: Any
    """Squares of W_ii r_i, added up."""
    is_scaled: Any
    """Whether W_ii > 0 at all of them, so that their scales follow from themselves."""


@jit_without_lock
def touching(bodies, count):
    """The `Touching` of contacts between `count` bodies.   bodies (nc, 2), -1 for a fixed side."""
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
    """`blocks.blocks_to_bodies` for some bodies of six velocities.   near: the `Touching`."""
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
    """`blocks.bodies_to_blocks` for some contacts."""
    blocks.bodies_to_blocks(bodies[first:end], offset[first : end + 1], rows, w, bias, u)


@jit_without_lock
def free_velocities(root, f, first, end, v):
    """v <- M^-1 f of some bodies.   root (count, k, k), f, v (count, k)."""
    scaled = np.empty(f.shape[1])
    for b in range(first, end):
        for k in range(f.shape[1]):
            v[b, k] = 0.0
        blocks.add_velocity(root[b], f[b], scaled, v[b])


@jit_without_lock
def unload(problem, first, end, free):
    """`body_measures.unloaded` of some contacts, all of them Coulomb's in 3D.

    problem: a `BodyProblem`; free: its `Unloaded`, where v is there already.
    """
    part = slice(3 * first, 3 * end)
    bodies, offset = problem.bodies[first:end], problem.K.offset[: end - first + 1]
    rows, J = problem.rows[part], free.J[part]
    blocks.scale_rows(bodies, offset, rows, problem.root, J)
    blocks.bodies_to_blocks(bodies, offset, rows, free.v, problem.u_bias[part], free.u[part])
    for j in range(J.shape[0]):
        own = 0.0
        for side in range(2):
            for m in range(J.shape[2]):
                own += J[j, side, m] * J[j, side, m]
        free.diagonal[3 * first + j] = own


@jit_without_lock
def velocities(problem, near, r, first, end, v):
    """`body_measures.velocities` of some bodies."""
    pushed, scaled = np.empty(v.shape), np.empty(v.shape[1])
    push(near, problem.K.offset, problem.rows, r, first, end, pushed)
    for b in range(first, end):
        for i in range(v.shape[1]):
            pushed[b, i] += problem.f[b, i]
            v[b, i] = 0.0
        blocks.add_velocity(problem.root[b], pushed[b], scaled, v[b])


@jit_without_lock
def balance(problem, near, v_free, r, v, first, end):
    """`body_measures.balance` of some bodies."""
    pushed = np.empty(v.shape)
    push(near, problem.K.offset, problem.rows, r, first, end, pushed)
    return body_measures.balance(problem, v_free, pushed, v, first, end)


@jit
def part_of(K, first, end):
    """Some of the blocks of a set, all of them Coulomb's contacts in 3D."""
    size = end - first
    return cones.Cones(
        K.kind[first:end], K.offset[: size + 1], K.lower[first:end], K.upper[first:end],
        K.group_offset[: size + 1], K.group_size[first:end], K.coefficient[first:end],
    )  # fmt: skip


@jit_without_lock
def project(K, x, first, end, out):
    """`cones.project_contacts` of some Coulomb contacts in 3D."""
    part = slice(3 * first, 3 * end)
    cones.project_contacts(part_of(K, first, end), x[part], out[part])


@jit
def point_of(problem, free, r, u, first, end):
    """(set, diagonal of W, `residuals.Point`, work) of some contacts."""
    part = slice(3 * first, 3 * end)
    at = residuals.Point(r[part], u[part], free.u[part])
    work = np.empty(0), np.empty(0)  # for blocks of other kinds
    return part_of(problem.K, first, end), free.diagonal[part], at, work


@jit_without_lock
def look(problem, free, r, v, first, end, u):
    """The `Seen` of some Coulomb contacts in 3D; u <- their velocities."""
    see(problem.bodies, problem.K.offset, problem.rows, v, problem.u_bias, first, end, u)
    K, diagonal, at, work = point_of(problem, free, r, u, first, end)
    scales, units, is_scaled, own = residuals.metric(K, diagonal), np.zeros(residuals.MEASURES), True, 0.0
    for i in range(end - first):
        is_scaled = is_scaled and diagonal[3 * i] + diagonal[3 * i + 1] + diagonal[3 * i + 2] > 0.0
    for k in range(diagonal.shape[0]):
        own += (diagonal[k] * at.r[k]) * (diagonal[k] * at.r[k])
    residuals.unit_measures(K, residuals.EXACT, at, work, units)
    return Seen(
        scales, residuals.stop_sums(contact_law.no_map, K, scales, residuals.EXACT, at, work),
        residuals.approach_sizes(K, diagonal, at), residuals.local_sizes(K, scales, diagonal, at), units, own,
        is_scaled,
    )  # fmt: skip


@jit_without_lock
def single(problem, free, scales, approach, local, r, u, first, end):
    """(speed, error): `residuals.closing` and `residuals.largest_local` of some contacts.

    approach, local: the sizes of all contacts, as `Seen` has them of some.
    """
    K, diagonal, at, work = point_of(problem, free, r, u, first, end)
    closing = residuals.closing(K, diagonal, at, approach)
    return closing, residuals.largest_local(contact_law.no_map, K, scales, at, work, local)
