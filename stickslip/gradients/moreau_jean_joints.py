"""Joints along directions: rows, biases and bounds of known blocks, by the kernels of the step."""

from dataclasses import dataclass

import numpy as np

from stickslip.gradients.moreau_jean_inputs import Complex
from stickslip.gradients.moreau_jean_motion import each
from stickslip.kernels.bodies.joint_geometry import DRY
from stickslip.kernels.bodies.joints import known_blocks
from stickslip.mechanics.joints import Joints
from stickslip.schemes.body_joints import PARTS, joint_table
from stickslip.state import Array, IntArray


@dataclass(frozen=True, eq=False, slots=True)
class JointBlocks:
    """The blocks of joints of a step, and where the rows of each joint are in it."""

    joint: IntArray
    """Of each block [-], shape (m,)."""
    part: IntArray
    """As `PARTS` [-], shape (m,)."""
    start: IntArray
    """First row of each block, and the total [-], shape (m + 1,)."""

    @classmethod
    def of(cls, ids: Array, size: Array) -> "JointBlocks":
        """From what a memory keeps of them."""
        number = ids.astype(np.int64)
        start = np.concatenate([[0], np.cumsum(size.astype(np.int64))])
        return cls(number // len(PARTS), number % len(PARTS), start)


@dataclass(frozen=True, eq=False, slots=True)
class Jointed:
    """Rows of joints along directions."""

    rows: Complex
    """[-, m], shape (k, p, 2, 6); 0 for the inertial frame."""
    bias: Complex
    """What the rows turn by until the end of the step [m/s, rad/s], shape (k, p)."""
    bound: Complex
    """Largest impulse of each block of friction, 0 of others [N s, N m s], shape (k, m)."""


def joints_along(
    joints: Joints, blocks: JointBlocks, q: Complex, v: Complex, v_ahead: Complex, h: Complex, theta: float
) -> Jointed:
    """The same blocks along directions; q and v at the middle of the step, v_ahead after free rotation to
    its end, each of shape (k, n, ...)."""
    k, p = max(len(q), len(v), len(v_ahead), len(h)), int(blocks.start[-1])
    rows, bias = np.empty((k, p, 2, 6), complex), np.empty((k, p), complex)
    table = joint_table(joints)
    flat = (x.reshape(len(x), -1) for x in (q, v, v_ahead))
    for to_rows, to_bias, *given in each(rows, bias, *flat, theta * h):
        known_blocks(table, blocks.joint, blocks.part, blocks.start, *given, to_rows, to_bias)
    bound = np.zeros((k, len(blocks.part)), complex)
    dry = np.flatnonzero((blocks.part > 0) & (blocks.part % 3 == 0))
    column = (blocks.part[dry] > DRY).astype(int)
    bound[:, dry] = h[:, None] * joints.friction[blocks.joint[dry], column]
    return Jointed(rows, bias, bound)
