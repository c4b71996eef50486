"""Arrays of a step of the variational scheme, and its blocks.

Blocks are the contacts in their order, then for each joint its constraints, its stops and its dry friction.
Parts of joints are numbered as in `schemes.body_joints.PARTS`.
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
"""Models of friction, in the order of `MODELS`."""


class StepBodies(NamedTuple):
    """Bodies of a step, as in `StepProblem`."""

    row: IntArray
    """Index among the dynamic bodies, -1 for other bodies [-], shape (n,)."""
    q: Array
    """Poses at the start [m, -], shape (n, 7)."""
    v: Array
    """Velocities of the previous step; of bodies without dynamics those of this one [m/s, rad/s], shape (n,
    6)."""
    mass: Array
    """Masses [kg], shape (n,)."""
    J: Array
    """Inertia in the body frame [kg m²], shape (n, 3, 3)."""
    p: Array
    """Momenta at the start, with forces [N s, N m s], shape (n, 6)."""


class ContactArrays(NamedTuple):
    """Contacts of a step. Normals point from the second body to the first."""

    forms: Forms
    gap: Array
    """Gaps at the start [m], shape (nc,)."""
    frame: Array
    """Rows n, t1, t2 at the start, right-handed, inertial frame [-], shape (nc, 3, 3)."""
    law: Array
    """Parameters mu, mu_roll, mu_spin, e [-, m, m, -], shape (nc, 4)."""
    bounce: Array
    """Smallest gap at the end, due to restitution [m], shape (nc,)."""


class BlockArrays(NamedTuple):
    """Blocks of a step, as in `StepBlocks`."""

    K: Cones
    pairs: IntArray
    """Rows of the mass matrix of both bodies, -1 for none [-], shape (nb, 2)."""
    sides: IntArray
    """First and second body, -1 for the inertial frame [-], shape (nb, 2)."""
    joint: IntArray
    """Joint of each block, -1 for contacts [-], shape (nb,)."""
    part: IntArray
    """Part of the joint, -1 for contacts [-], shape (nb,)."""


class StepArrays(NamedTuple):
    """Data of a step."""

    h: float
    """Time step [s]."""
    model: int
    """Model of friction."""
    bodies: StepBodies
    contacts: ContactArrays
    joints: JointArrays
    blocks: BlockArrays


class StepWires(NamedTuple):
    """Structure of the Newton matrix of a step, as in `StepGraph`."""

    plan: Plan
    blocks: int
    """Number of blocks of the matrix, with fill."""
    wires: IntArray
    """Bodies, nodes and matrix blocks of each block, see `NewtonSystem` [-], shape (nb, 7)."""


@jit
def lay_out(model, row, contacts, joints):
    """Return the `BlockArrays` of a step.   row: see `StepBodies`; contacts: `ContactArrays`; joints:
    `JointArrays`.

    Infinite stops and zero friction have no block.
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
    # 1. Contacts: normal and sliding, rolling, torsion.
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
    # 2. Joints: constraints, lower and upper stops, dry friction.
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
    # 3. Rows of the mass matrix.
    pairs = np.empty((m, 2), np.int64)
    for i in range(m):
        for side in range(2):
            pairs[i, side] = row[sides[i, side]] if sides[i, side] >= 0 else -1
    K = Cones(
        kind[:m].copy(), offset[: m + 1].copy(), lower[:m].copy(), upper[:m].copy(),
        group_offset[: m + 1].copy(), group_size[:g].copy(), coefficient[:g].copy(),
    )  # fmt: skip
    return BlockArrays(K, pairs, sides[:m].copy(), joint[:m].copy(), part[:m].copy())
