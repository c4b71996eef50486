"""Which blocks a step has: contacts in their order, then of each joint what it holds, stops and dry friction.

Blocks are those of a `ProductSet`, in its seven arrays (`sets`); parts of joints are numbered as
`schemes.body_joints.PARTS` says. contacts and joints: the columns of `StepContacts` and `StepJoints`.
"""

import math

import numpy as np

from stickslip.kernels.bodies.joint_geometry import HOLD, LOWER, held, leaves
from stickslip.kernels.jit import jit

FREE, NONNEGATIVE, INTERVAL, FRICTION = 0, 1, 2, 3
"""Kinds of blocks, as `cones` has them."""
CONE, PYRAMID, IMPACT = 0, 1, 2
"""Models of friction, as `MODELS` has them."""


@jit
def lay_out(model, row, contacts, joints):
    """(kind, offset, lower, upper, group_offset, group_size, coefficient, pairs, sides, joint, part) of a
    step.

    pairs: rows of the mass matrix that blocks act on, sides the bodies (nb, 2); joint, part (nb,) of blocks
    of joints, -1 for contacts. A stop that is not finite and friction of 0 have no block.
    """
    law, nc, nj = contacts[7], contacts[0].shape[0], joints[0].shape[0]
    joint_kind, low, high, dry = joints[0], joints[5], joints[6], joints[7]
    most = nc + 7 * nj
    kind, offset, group_offset = (
        np.empty(most, np.int64),
        np.zeros(most + 1, np.int64),
        np.zeros(most + 1, np.int64),
    )
    lower, upper = np.empty(most), np.empty(most)
    group_size, coefficient = np.empty(3 * nc, np.int64), np.empty(3 * nc)
    sides, joint, part = np.empty((most, 2), np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    g = 0
    for i in range(nc):
        size = 3
        for k in range(3):
            if k > 0 and not law[i, k] > 0.0:
                continue
            group_size[g] = 1 if k == 2 else 2
            coefficient[g] = 0.0 if model == IMPACT else law[i, k]
            size += group_size[g] if k > 0 else 0
            g += 1
        kind[i], lower[i], upper[i], joint[i], part[i] = FRICTION, 0.0, math.inf, -1, -1
        offset[i + 1], group_offset[i + 1] = offset[i] + size, g
        sides[i, 0], sides[i, 1] = contacts[1][i, 0], contacts[1][i, 1]
    m = nc
    for j in range(nj):
        place, turn = held(joint_kind[j], low[j, 0], high[j, 0])
        first = m
        if place + turn > 0:
            kind[m], part[m], lower[m], upper[m] = FREE, HOLD, -math.inf, math.inf
            offset[m + 1] = offset[m] + place + turn
            m += 1
        for c in range(2):
            if not leaves(c, joint_kind[j], low[j, 0], high[j, 0]):
                continue
            for k in range(3):
                if (
                    (k == 0 and not math.isfinite(low[j, c]))
                    or (k == 1 and not math.isfinite(high[j, c]))
                    or (k == 2 and not dry[j, c] > 0.0)
                ):
                    continue
                kind[m], part[m] = (INTERVAL if k == 2 else NONNEGATIVE), LOWER + k + 3 * c
                lower[m] = -dry[j, c] if k == 2 else 0.0
                upper[m] = dry[j, c] if k == 2 else math.inf
                offset[m + 1] = offset[m] + 1
                m += 1
        for i in range(first, m):
            joint[i], sides[i, 0], sides[i, 1] = j, joints[1][j, 0], joints[1][j, 1]
            group_offset[i + 1] = g
    pairs = np.empty((m, 2), np.int64)
    for i in range(m):
        for side in range(2):
            pairs[i, side] = row[sides[i, side]] if sides[i, side] >= 0 else -1
    return (
        kind[:m].copy(), offset[: m + 1].copy(), lower[:m].copy(), upper[:m].copy(),
        group_offset[: m + 1].copy(), group_size[:g].copy(), coefficient[:g].copy(),
        pairs, sides[:m].copy(), joint[:m].copy(), part[:m].copy(),
    )  # fmt: skip
