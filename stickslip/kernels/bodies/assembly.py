"""Assembly of contacts into a contact problem: rows, cones, biases and guesses of the active contacts.

Contacts: `Contacts`; R (n, 3, 3): rotation matrices of bodies.
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
"""A contact that opens by more than this share of its overlap in a step needs no correction [-]
(heuristic)."""


@jit
def fill_row(body, point, axis, along, q, R, i, out):
    """out (2, 6) <- row of contact i for the velocity along `axis`, or about it if `along` is False."""
    for side in range(2):
        b = body[i, side]
        sign = 1.0 if side == 0 else -1.0
        if along:
            point_row(axis, R[b], q[b], point[i], sign, out[side])
        else:
            turn_row(axis, R[b], sign, out[side])


class Bench(NamedTuple):
    """Work arrays of the assembly: data of all detected contacts."""

    local: Array
    """Points in the frames of the two bodies [m], shape (nc, 2, 3)."""
    order: IntArray
    """Contacts sorted by identifier [-], shape (nc,)."""
    name: IntArray
    """Identifiers in that order [-], shape (nc,)."""
    last_r: Array
    """Impulses of the previous step, in that order [N s, N m s], shape (nc, 6)."""
    active: IntArray
    """Positions of the active contacts in that order [-], shape (nc,)."""
    ahead: Array
    """Predicted gaps of the active contacts [m], shape (nc,)."""
    R: Array
    """Rotation matrices of the bodies [-], shape (n, 3, 3)."""


@jit
def assemble(contacts, last, slots, row, free, span, slack, newton, stabilised):
    """Return the `Active` contacts, matched with those of the previous step, as blocks of a problem.

    contacts: `Contacts`; last: `LastContacts`; slots: largest number of contacts of a pair of shapes; row:
    see `BodyArrays`; free: `FreeMotion`; span: `Span`; slack: ε of `kernels/activation.py` [m]; newton:
    whether restitution follows Newton's law; stabilised: whether the law of all contacts contains the gap;
    gaps are then predicted for the whole step.
    """
    nc = contacts.id.shape[0]
    bench = bench_of(nc, row.shape[0])
    # 1. Identifiers of the contacts, and their impulses in the previous step.
    turn_bodies(free.q_m, 0, row.shape[0], bench)
    recognise(contacts, last, slots, free.q_m, 0, nc, bench)
    # 2. Active contacts, by their predicted gaps.
    c, p, g = choose(contacts, row, free, span, slack, stabilised, 0, nc, bench)
    # 3. Their data in the order of identifiers, cones, rows, biases and initial impulses.
    out = room_of(c, p, g)
    write_blocks(contacts, row, free, span, newton, stabilised, bench, 0, c, (0, 0, 0), out)
    return out


@jit
def bench_of(nc, n):
    """Return a `Bench` for nc contacts between n bodies."""
    return Bench(
        np.empty((nc, 2, 3)), np.empty(nc, np.int64), np.empty(nc, np.int64), np.zeros((nc, 6)),
        np.empty(nc, np.int64), np.empty(nc), np.empty((n, 3, 3)),
    )  # fmt: skip


@jit_without_lock
def turn_bodies(q, first, end, bench):
    """bench.R <- rotation matrices of the bodies from `first` to `end` - 1."""
    for i in range(first, end):
        matrix(q[i, 3], q[i, 4], q[i, 5], q[i, 6], bench.R[i])


@jit_without_lock
def recognise(contacts, last, slots, q, first, end, bench):
    """bench <- points, order, identifiers and previous impulses of the contacts from `first` to `end` - 1.

    The range contains all contacts of a pair of shapes or none.
    """
    part = slice(first, end)
    local, order = bench.local[part], bench.order[part]
    local_points(q.reshape(-1), contacts.body[part], contacts.point[part], local)
    track_contacts(
        contacts.id[part], local, contacts.frame[part], slots, last, order, bench.name[part],
        bench.last_r[part],
    )  # fmt: skip
    for k in range(end - first):
        order[k] += first


@jit_without_lock
def choose(contacts, row, free, span, slack, stabilised, first, end, bench):
    """Select the active contacts of those from `first` to `end` - 1; return the numbers of active contacts,
    of their components and of their friction groups.

    bench.active[first:], bench.ahead[first:] <- active contacts and their predicted gaps.
    """
    v_start, v_free, q, line = free.v_start, free.v_free, free.q_m, np.empty((2, 6))
    c = p = g = 0
    for place in range(first, end):
        i = bench.order[place]
        if row[contacts.body[i, 0]] < 0 and row[contacts.body[i, 1]] < 0:
            continue
        fill_row(contacts.body, contacts.point, contacts.frame[i, 0], True, q, bench.R, i, line)
        reach = span.h if stabilised else span.reach
        forecast = contacts.gap[i] + reach * least_rate(1.0, contacts.body[i], line, v_start, v_free)
        if takes_part(contacts.gap[i], forecast, slack) or (stabilised and forecast <= slack):
            bench.active[first + c], bench.ahead[first + c] = place, forecast
            c += 1
            p += 3 + (2 if contacts.law[i, 1] > 0.0 else 0) + (1 if contacts.law[i, 2] > 0.0 else 0)
            g += 1 + (1 if contacts.law[i, 1] > 0.0 else 0) + (1 if contacts.law[i, 2] > 0.0 else 0)
    return c, p, g


@jit
def room_of(c, p, g):
    """Return an `Active` for c contacts with p components and g groups."""
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
def write_blocks(contacts, row, free, span, newton, stabilised, bench, first, count, before, out):
    """out, `Active` <- the `count` active contacts from `first` on in the bench.

    before: numbers of contacts, components and groups before them in `out`.
    """
    q, v_free, prescribed = free.q_m, free.v_free, np.empty(2, np.int64)
    K, active, u_bias, guess, rows = out.K, out.contacts, out.u_bias, out.guess, out.rows
    a, at, g = before
    for place in range(first, first + count):
        i, r, start, law = (
            bench.order[bench.active[place]],
            bench.last_r[bench.active[place]],
            at,
            active.law[a],
        )
        # 1. Data of the contact.
        copy_contact(contacts, i, active, a)
        active.id[a] = bench.name[bench.active[place]]
        for k in range(2):
            out.rows_of_M[a, k] = row[contacts.body[i, k]]
            for d in range(3):
                out.local[a, k, d] = bench.local[i, k, d]
        # 2. Cone, rows and guess: normal and sliding, rolling, torsion.
        K.kind[a], K.lower[a], K.upper[a] = FRICTION, 0.0, np.inf
        for k in range(3):
            fill_row(contacts.body, contacts.point, contacts.frame[i, k], True, q, bench.R, i, rows[at + k])
            guess[at + k] = r[k]
        at += 3
        K.group_size[g], K.coefficient[g] = 2, law[0]
        g += 1
        if law[1] > 0.0:
            for k in range(2):
                fill_row(
                    contacts.body, contacts.point, contacts.frame[i, 1 + k], False, q, bench.R, i,
                    rows[at + k],
                )  # fmt: skip
                guess[at + k] = r[3 + k]
            at += 2
            K.group_size[g], K.coefficient[g] = 2, law[1]
            g += 1
        if law[2] > 0.0:
            fill_row(contacts.body, contacts.point, contacts.frame[i, 0], False, q, bench.R, i, rows[at])
            guess[at] = r[5]
            at += 1
            K.group_size[g], K.coefficient[g] = 1, law[2]
            g += 1
        K.offset[a + 1], K.group_offset[a + 1] = at, g
        # 3. Bias: velocities of bodies without dynamics, and the terms of restitution and of the gap.
        for side in range(2):
            b = active.body[a, side]
            prescribed[side] = -1 if row[b] >= 0 else b
        for j in range(start, at):
            u_bias[j] = rate(prescribed, rows[j], v_free)
        approach, ahead = rate(active.body[a], rows[start], free.v_start), bench.ahead[place]
        out.approach[a] = approach
        if stabilised:
            u_bias[start] += stabilised_rate(active.gap[a], approach, law[3], span.h)
        else:
            if newton:
                u_bias[start] += law[3] * min(approach, 0.0)
            # A contact that is active by the threshold alone has y_m / h instead of restitution.
            if ahead > 0.0:
                opening = gap_rate(active.gap[a], approach, law[3] > 0.0, span.h)
                if opening > 0.0:
                    u_bias[start] += opening - (law[3] * min(approach, 0.0) if newton else 0.0)
        a += 1


@jit
def add_prescribed(sides, size, rows, row, v, bias):
    """bias (p,) <- bias + velocities of the rows due to bodies without dynamics.

    size (m,): number of rows of each block.
    """
    j, prescribed = 0, np.empty(2, np.int64)
    for i in range(size.shape[0]):
        for side in range(2):
            b = sides[i, side]
            prescribed[side] = b if b >= 0 and row[b] < 0 else -1
        for _ in range(size[i]):
            bias[j] += rate(prescribed, rows[j], v)
            j += 1


@jit
def by_contact(offset, law, x):
    """Return components x (p,) of contacts as an array (nc, 6); absent components are 0.

    Columns are N, T1, T2, rolling about t1, t2, torsion about n. law (nc, 4): mu, mu_roll, mu_spin, e.
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
    """Return (r by contact (nc, 6), u by contact (nc, 6), `Overlaps`) at the end of a step.

    reach: see `Span`. A position correction keeps a contact that overlaps and opens from closing, and may
    close a gap.
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
