"""From contacts to the rows, sets, biases and guesses of a contact problem.

Contacts: `Contacts`; R (n, 3, 3): rotations of bodies.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.activation import gap_rate, stabilised_rate, takes_part
from stickslip.kernels.bodies.contacts import copy_contact, empty_contacts
from stickslip.kernels.bodies.joint_geometry import point_row, turn_row
from stickslip.kernels.bodies.layout import Active, Overlaps
from stickslip.kernels.bodies.motion import least_rate, rate
from stickslip.kernels.bodies.rotation import matrix
from stickslip.kernels.bodies.tracking import local_points, track_contacts
from stickslip.kernels.cones import FRICTION, Cones
from stickslip.kernels.jit import jit, jit_without_lock
from stickslip.state import Array, IntArray

OPENS = 1e-3
"""A contact that opens by more than this share of its overlap in a step needs no correction."""


@jit
def fill_row(body, point, axis, along, q, R, i, out):
    """out <- row of contact i along `axis`, or about it (`along` False), over both sides.   out (2, 6)."""
    for side in range(2):
        b = body[i, side]
        sign = 1.0 if side == 0 else -1.0
        if along:
            point_row(axis, R[b], q[b], point[i], sign, out[side])
        else:
            turn_row(axis, R[b], sign, out[side])


class Bench(NamedTuple):
    """What is known of the contacts found before it is known which of them take part."""

    local: Array
    """Points in the frames of the two bodies [m], shape (nc, 2, 3)."""
    order: IntArray
    """Contacts in the order of their names [-], shape (nc,)."""
    name: IntArray
    """Ids in that order [-], shape (nc,)."""
    last_r: Array
    """What they bore in the last step, in that order [N s, N m s], shape (nc, 6)."""
    active: IntArray
    """Places in that order of contacts that take part [-], shape (nc,)."""
    ahead: Array
    """Their forecast gaps [m], shape (nc,)."""
    R: Array
    """Rotations of the bodies [-], shape (n, 3, 3)."""


@jit
def assemble(found, last, slots, row, free, span, slack, newton, stabilised):
    """`Active`: contacts matched with those of the last step, and those that take part as blocks.

    found: `Contacts`; last: `LastContacts`; slots: most contacts of a pair of shapes; row: of `BodyArrays`;
    free: `FreeMotion`; span: `Span`; slack: ε of `kernels/activation.py` [m]; newton: whether restitution is
    Newton's; stabilised: whether gaps stand in the law of all contacts, then within the whole step.
    """
    nc = found.id.shape[0]
    bench = bench_of(nc, row.shape[0])
    # 1. Which contact is which, and what it bore in the last step.
    turn_bodies(free.q_m, 0, row.shape[0], bench)
    recognise(found, last, slots, free.q_m, 0, nc, bench)
    # 2. Those that take part, by their forecast gap.
    c, p, g = choose(found, row, free, span, slack, stabilised, 0, nc, bench)
    # 3. and 4. Their own data, in the order of their names, and sets, rows, biases and first impulses.
    out = room_of(c, p, g)
    write_blocks(found, row, free, span, newton, stabilised, bench, 0, c, (0, 0, 0), out)
    return out


@jit
def bench_of(nc, n):
    """A `Bench` for nc contacts between n bodies."""
    return Bench(
        np.empty((nc, 2, 3)), np.empty(nc, np.int64), np.empty(nc, np.int64), np.zeros((nc, 6)),
        np.empty(nc, np.int64), np.empty(nc), np.empty((n, 3, 3)),
    )  # fmt: skip


@jit_without_lock
def turn_bodies(q, first, end, bench):
    """Rotations of the bodies from `first` to `end`."""
    for i in range(first, end):
        matrix(q[i, 3], q[i, 4], q[i, 5], q[i, 6], bench.R[i])


@jit_without_lock
def recognise(found, last, slots, q, first, end, bench):
    """Points, order, names and last impulses of the contacts from `first` to `end`, which has all of a pair
    of shapes or none."""
    part = slice(first, end)
    local, order = bench.local[part], bench.order[part]
    local_points(q.reshape(-1), found.body[part], found.point[part], local)
    track_contacts(
        found.id[part], local, found.frame[part], slots, last, order, bench.name[part], bench.last_r[part]
    )
    for k in range(end - first):
        order[k] += first


@jit_without_lock
def choose(found, row, free, span, slack, stabilised, first, end, bench):
    """(contacts, components, groups) that take part of those from `first` to `end`; which, and their forecast
    gaps, from there on in the bench."""
    v_start, v_free, q, one = free.v_start, free.v_free, free.q_m, np.empty((2, 6))
    c = p = g = 0
    for place in range(first, end):
        i = bench.order[place]
        if row[found.body[i, 0]] < 0 and row[found.body[i, 1]] < 0:
            continue
        fill_row(found.body, found.point, found.frame[i, 0], True, q, bench.R, i, one)
        reach = span.h if stabilised else span.reach
        forecast = found.gap[i] + reach * least_rate(1.0, found.body[i], one, v_start, v_free)
        if takes_part(found.gap[i], forecast, slack) or (stabilised and forecast <= slack):
            bench.active[first + c], bench.ahead[first + c] = place, forecast
            c += 1
            p += 3 + (2 if found.law[i, 1] > 0.0 else 0) + (1 if found.law[i, 2] > 0.0 else 0)
            g += 1 + (1 if found.law[i, 1] > 0.0 else 0) + (1 if found.law[i, 2] > 0.0 else 0)
    return c, p, g


@jit
def room_of(c, p, g):
    """An `Active` for c contacts of p components and g groups."""
    K = Cones(
        np.empty(c, np.int64), np.empty(c + 1, np.int64), np.empty(c), np.empty(c), np.empty(c + 1, np.int64),
        np.empty(g, np.int64), np.empty(g),
    )  # fmt: skip
    K.offset[0] = K.group_offset[0] = 0
    return Active(
        empty_contacts(c), np.empty((c, 2, 3)), np.empty((c, 2), np.int64), K, np.empty(p), np.empty(p),
        np.empty(c), np.empty((p, 2, 6)),
    )  # fmt: skip


@jit_without_lock
def write_blocks(found, row, free, span, newton, stabilised, bench, first, count, before, out):
    """out, `Active` <- the `count` contacts that take part from `first` on in the bench.

    before: contacts, components and groups before them.
    """
    q, v_free, given = free.q_m, free.v_free, np.empty(2, np.int64)
    K, kept, u_bias, guess, rows = out.K, out.contacts, out.u_bias, out.guess, out.rows
    a, at, g = before
    for place in range(first, first + count):
        i, r, start, law = (
            bench.order[bench.active[place]],
            bench.last_r[bench.active[place]],
            at,
            kept.law[a],
        )
        copy_contact(found, i, kept, a)
        kept.id[a] = bench.name[bench.active[place]]
        for k in range(2):
            out.rows_of_M[a, k] = row[found.body[i, k]]
            for d in range(3):
                out.local[a, k, d] = bench.local[i, k, d]
        K.kind[a], K.lower[a], K.upper[a] = FRICTION, 0.0, np.inf
        for k in range(3):
            fill_row(found.body, found.point, found.frame[i, k], True, q, bench.R, i, rows[at + k])
            guess[at + k] = r[k]
        at += 3
        K.group_size[g], K.coefficient[g] = 2, law[0]
        g += 1
        if law[1] > 0.0:
            for k in range(2):
                fill_row(found.body, found.point, found.frame[i, 1 + k], False, q, bench.R, i, rows[at + k])
                guess[at + k] = r[3 + k]
            at += 2
            K.group_size[g], K.coefficient[g] = 2, law[1]
            g += 1
        if law[2] > 0.0:
            fill_row(found.body, found.point, found.frame[i, 0], False, q, bench.R, i, rows[at])
            guess[at] = r[5]
            at += 1
            K.group_size[g], K.coefficient[g] = 1, law[2]
            g += 1
        K.offset[a + 1], K.group_offset[a + 1] = at, g
        for side in range(2):
            b = kept.body[a, side]
            given[side] = -1 if row[b] >= 0 else b
        for j in range(start, at):
            u_bias[j] = rate(given, rows[j], v_free)
        approach, ahead = rate(kept.body[a], rows[start], free.v_start), bench.ahead[place]
        out.approach[a] = approach
        if stabilised:
            u_bias[start] += stabilised_rate(kept.gap[a], approach, law[3], span.h)
        else:
            if newton:
                u_bias[start] += law[3] * min(approach, 0.0)
            if (
                ahead > 0.0
            ):  # it takes part by the threshold alone: its gap over h in the place of restitution
                opening = gap_rate(kept.gap[a], approach, law[3] > 0.0, span.h)
                if opening > 0.0:
                    u_bias[start] += opening - (law[3] * min(approach, 0.0) if newton else 0.0)
        a += 1


@jit
def add_prescribed(sides, size, rows, row, v, bias):
    """bias <- bias + what sides that are not dynamic do to all rows of the blocks.   size (m,), bias (p,)."""
    j, given = 0, np.empty(2, np.int64)
    for i in range(size.shape[0]):
        for side in range(2):
            b = sides[i, side]
            given[side] = b if b >= 0 and row[b] < 0 else -1
        for _ in range(size[i]):
            bias[j] += rate(given, rows[j], v)
            j += 1


@jit
def by_contact(offset, law, x):
    """x (p,) of contacts as N, T1, T2, rolling about t1, t2, torsion about n, (nc, 6); 0 where none is.

    law (nc, 4): mu, mu_roll, mu_spin, e.
    """
    out = np.zeros((law.shape[0], 6))
    for i in range(law.shape[0]):
        at, size = offset[i], offset[i + 1] - offset[i]
        out[i, 0] = x[at]
        if size >= 3:
            out[i, 1], out[i, 2] = x[at + 1], x[at + 2]
        if law[i, 1] > 0.0 and size >= 5:
            out[i, 3], out[i, 4] = x[at + 3], x[at + 4]
        if law[i, 2] > 0.0 and (size == 4 or size == 6):
            out[i, 5] = x[at + size - 1]
    return out


@jit
def tell(law, gap, offset, reach, r, u):
    """(r, u by contact (nc, 6), `Overlaps`) at the end of a step.   reach: as `Span` has it.

    A contact that overlaps and opens by itself is only kept from closing; one with a gap may use it up.
    """
    depth, need, deepest, largest = np.empty(gap.shape[0]), np.empty(gap.shape[0]), 0.0, 0.0
    for i in range(gap.shape[0]):
        opened = reach * u[offset[i]]
        depth[i] = -(gap[i] + opened)
        deepest = max(deepest, depth[i])
        need[i] = 0.0 if opened > OPENS * depth[i] > 0.0 else depth[i]
        largest = max(largest, need[i])
    overlaps = Overlaps(depth, need, deepest, largest)
    return by_contact(offset, law, r), by_contact(offset, law, u), overlaps
