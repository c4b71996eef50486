"""Assembly of joints into a contact problem, after its contacts: rows, cones, biases and guesses.

linkage: `Linkage`; blocks: `JointRowArrays` of m blocks and n rows.
"""

import numpy as np

from stickslip.kernels.activation import gap_rate, stabilised_rate
from stickslip.kernels.bodies.assembly import add_prescribed
from stickslip.kernels.bodies.joint_geometry import PARTS
from stickslip.kernels.bodies.joints import joint_rows
from stickslip.kernels.bodies.layout import Acting, JointRowArrays, LastJoints
from stickslip.kernels.bodies.motion import NOTHING
from stickslip.kernels.bodies.redundancy import project_redundant_rows
from stickslip.kernels.cones import FREE, NONNEGATIVE, Cones
from stickslip.kernels.jit import jit


@jit
def joint_blocks(joints, q, v, v_free, v_ahead, span, slack, stabilised):
    """Return (joint with invalid rows or -1, `JointRowArrays` of all joints).

    Arguments and blocks are those of `joint_rows`. In addition the bias contains gap / h for stops that are
    active by the threshold alone or, if `stabilised`, errors over h for all constraints and stops. joints:
    `JointArrays`.
    """
    nj = joints.kind.shape[0]
    m, n = 7 * nj, 12 * nj  # 6 rows of constraints, four stops, two rows of friction at most
    out = JointRowArrays(
        np.empty((m, 2), np.int64), np.empty((n, 2, 6)), np.empty(m, np.int64), np.empty(m, np.int64),
        np.empty(m), np.empty(m), np.empty(n), np.empty(n), np.empty(n), np.empty(n),
        np.empty(m, np.int64), np.empty(m, np.int64),
    )  # fmt: skip
    m, n, bad = joint_rows(joints, q, v, v_free, v_ahead, span, slack, out)
    k = 0
    for i in range(m):
        e = joints.bounce[out.joint[i]]
        for _ in range(out.size[i]):
            before = out.bounce[k] / e if out.bounce[k] < 0.0 else 0.0
            if stabilised and out.kind[i] == FREE:
                out.bias[k] += out.error[k] / span.h
            elif stabilised and out.kind[i] == NONNEGATIVE:
                out.bias[k] += stabilised_rate(out.error[k], before, e, span.h) - out.bounce[k]
            elif not stabilised and out.forecast[k] > 0.0:
                rate = gap_rate(out.error[k], before, e > 0.0, span.h)
                if rate > 0.0:
                    out.bias[k], out.bounce[k] = out.bias[k] - out.bounce[k] + rate, 0.0
            k += 1
    return bad, JointRowArrays(
        out.bodies[:m], out.rows[:n], out.size[:m], out.kind[:m], out.low[:m], out.high[:m], out.bias[:n],
        out.bounce[:n], out.error[:n], out.forecast[:n], out.joint[:m], out.part[:m],
    )  # fmt: skip


@jit
def stop_slack(slack, length):
    """Return the thresholds of the stops of sliding and turning of each joint [m, rad], shape (nj, 2)."""
    out = np.empty((length.shape[0], 2))
    for j in range(length.shape[0]):
        out[j, 0], out[j, 1] = slack, slack / length[j] if length[j] > 0.0 else 0.0
    return out


@jit
def contacts_alone(active):
    """Return the `Acting` of contacts without joints."""
    return Acting(
        active.contacts.body, active.rows_of_M, active.K, active.u_bias, active.guess, active.rows,
        np.empty(0),
    )  # fmt: skip


@jit
def with_joints(linkage, contacts, blocks, row, v_free, last):
    """Return the `Acting` of contacts and of the blocks of joints.

    contacts: `Acting` without joints; row: see `BodyArrays`; v_free (n, 6); last: `LastJoints`.
    """
    c, pc, groups = contacts.sides.shape[0], contacts.u_bias.shape[0], contacts.K.group_size.shape[0]
    m, n = blocks.size.shape[0], blocks.bias.shape[0]
    # 1. Rows, biases and errors in one unit.
    bias, unit, error, at = blocks.bias.copy(), np.empty(n), np.empty(n), 0
    add_prescribed(blocks.bodies, blocks.size, blocks.rows, row, v_free, bias)
    rows = np.empty((pc + n, 2, 6))
    rows[:pc] = contacts.rows
    for i in range(m):
        for _ in range(blocks.size[i]):
            turns = True
            for side in range(2):
                for k in range(3):
                    turns = turns and blocks.rows[at, side, k] == 0.0
            unit[at] = linkage.length[blocks.joint[i]] if turns else 1.0
            for side in range(2):
                for k in range(6):
                    rows[pc + at, side, k] = blocks.rows[at, side, k] * unit[at]
            bias[at], error[at] = bias[at] * unit[at], blocks.error[at] * unit[at]
            at += 1
    project_redundant_rows(linkage, blocks, row, rows[pc:], bias, error)
    # 2. Cones, after those of the contacts.
    K = Cones(
        np.empty(c + m, np.int64), np.empty(c + m + 1, np.int64), np.empty(c + m), np.empty(c + m),
        np.empty(c + m + 1, np.int64), contacts.K.group_size, contacts.K.coefficient,
    )  # fmt: skip
    sides, rows_of_M = np.empty((c + m, 2), np.int64), np.empty((c + m, 2), np.int64)
    K.kind[:c], K.lower[:c], K.upper[:c] = contacts.K.kind, contacts.K.lower, contacts.K.upper
    K.offset[: c + 1], K.group_offset[: c + 1] = contacts.K.offset, contacts.K.group_offset
    sides[:c], rows_of_M[:c], at = contacts.sides, contacts.rows_of_M, 0
    for i in range(m):
        K.kind[c + i], K.group_offset[c + i + 1] = blocks.kind[i], groups
        K.lower[c + i], K.upper[c + i] = blocks.low[i] / unit[at], blocks.high[i] / unit[at]
        at += blocks.size[i]
        K.offset[c + i + 1] = pc + at
        for side in range(2):
            b = blocks.bodies[i, side]
            sides[c + i, side], rows_of_M[c + i, side] = b, row[b] if b >= 0 else -1
    # 3. Initial impulses.
    u_bias, guess = np.empty(pc + n), np.empty(pc + n)
    u_bias[:pc], u_bias[pc:], guess[:pc] = contacts.u_bias, bias, contacts.guess
    last_impulses(blocks, last, guess[pc:])
    for k in range(n):
        guess[pc + k] /= unit[k]
    return Acting(sides, rows_of_M, K, u_bias, guess, rows, unit)


@jit
def block_id(blocks, i):
    """Return the identifier of block i, the same in every step; identifiers increase with i."""
    return blocks.joint[i] * PARTS + blocks.part[i]


@jit
def last_impulses(blocks, last, out):
    """out (n,) <- impulses of the same blocks in the previous step, else 0.   last: `LastJoints`."""
    at = k_last = r_start = 0
    for i in range(blocks.size.shape[0]):
        number, size = block_id(blocks, i), blocks.size[i]
        while k_last < last.id.shape[0] and last.id[k_last] < number:
            r_start += int(last.size[k_last])
            k_last += 1
        same = k_last < last.id.shape[0] and last.id[k_last] == number and last.size[k_last] == size
        for k in range(size):
            out[at + k] = last.r[r_start + k] if same else 0.0
        at += size


@jit
def last_joints(blocks, unit, r):
    """Return the `LastJoints` of a step.

    r (n,): impulses in the units of the problem; unit (n,): see `Acting`.
    """
    m = blocks.size.shape[0]
    ids, size, impulse = np.empty(m), np.empty(m), np.empty(r.shape[0])
    for i in range(m):
        ids[i], size[i] = block_id(blocks, i), blocks.size[i]
    for k in range(r.shape[0]):
        impulse[k] = r[k] * unit[k]
        if abs(impulse[k]) < NOTHING:
            impulse[k] = 0.0
    return LastJoints(ids, size, impulse)
