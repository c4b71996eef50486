"""A step as its kernels take it, and which blocks it has: contacts in their order, then of each joint what it
holds, stops and dry friction.

Parts of joints are numbered as `schemes.body_joints.PARTS` says.
"""

import math
from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.gaps import Forms
from stickslip.kernels.bodies.joint_geometry import HOLD, LOWER, held, leaves
from stickslip.kernels.bodies.layout import JointArrays
from stickslip.kernels.cones import FREE, FRICTION, INTERVAL, NONNEGATIVE, Cones
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.block_lu import Plan
from stickslip.state import Array, IntArray

CONE, PYRAMID, IMPACT = 0, 1, 2
"""Models of friction, as `MODELS` has them."""


class StepBodies(NamedTuple):
    """Bodies of a step, as `StepProblem` has them."""

    row: IntArray
    """[-], shape (n,)."""
    q: Array
    """[m, -], shape (n, 7)."""
    v: Array
    """[m/s, rad/s], shape (n, 6)."""
    mass: Array
    """[kg], shape (n,)."""
    J: Array
    """[kg m²], shape (n, 3, 3)."""
    p: Array
    """Momenta [N s, N m s], shape (n, 6)."""


class ContactArrays(NamedTuple):
    """Contacts of a step. Normals point from the second body to the first."""

    forms: Forms
    gap: Array
    """At the start [m], shape (nc,)."""
    frame: Array
    """Rows n, t1, t2 at the start, right-handed, inertial [-], shape (nc, 3, 3)."""
    law: Array
    """mu, mu_roll, mu_spin, e [-, m, m, -], shape (nc, 4)."""
    bounce: Array
    """Least gap at the end, by restitution [m], shape (nc,)."""


class BlockArrays(NamedTuple):
    """Blocks of a step, as `StepBlocks` has them."""

    K: Cones
    pairs: IntArray
    """Rows of the mass matrix [-], shape (nb, 2)."""
    sides: IntArray
    """Bodies [-], shape (nb, 2)."""
    joint: IntArray
    """-1 for contacts [-], shape (nb,)."""
    part: IntArray
    """-1 for contacts [-], shape (nb,)."""


class StepArrays(NamedTuple):
    """A step."""

    h: float
    """Its length [s]."""
    model: int
    """Of friction."""
    bodies: StepBodies
    contacts: ContactArrays
    joints: JointArrays
    blocks: BlockArrays


class StepWires(NamedTuple):
    """Where the blocks of a step stand in the matrix of its Newton systems, as `StepGraph` has it."""

    plan: Plan
    blocks: int
    """How many the matrix has, with fill."""
    wires: IntArray
    """[-], shape (nb, 7)."""


@jit
def lay_out(model, row, contacts, joints):
    """`BlockArrays` of a step.   row: of the bodies; contacts: `ContactArrays`; joints: `JointArrays`.

    A stop that is not finite and friction of 0 have no block.
    """
    law, body, nc, nj = contacts.law, contacts.forms.body, contacts.gap.shape[0], joints.kind.shape[0]
    joint_kind, low, high, dry = joints.kind, joints.lower, joints.upper, joints.friction
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
        sides[i, 0], sides[i, 1] = body[i, 0], body[i, 1]
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
            joint[i], sides[i, 0], sides[i, 1] = j, joints.body[j, 0], joints.body[j, 1]
            group_offset[i + 1] = g
    pairs = np.empty((m, 2), np.int64)
    for i in range(m):
        for side in range(2):
            pairs[i, side] = row[sides[i, side]] if sides[i, side] >= 0 else -1
    K = Cones(
        kind[:m].copy(), offset[: m + 1].copy(), lower[:m].copy(), upper[:m].copy(),
        group_offset[: m + 1].copy(), group_size[:g].copy(), coefficient[:g].copy(),
    )  # fmt: skip
    return BlockArrays(K, pairs, sides[:m].copy(), joint[:m].copy(), part[:m].copy())
