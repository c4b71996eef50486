"""Joints along directions: the rows, biases and bounds of `kernels/bodies/joints.py` in complex numbers."""

from dataclasses import dataclass

import numpy as np

from stickslip.gradients.moreau_jean_inputs import Complex
from stickslip.gradients.moreau_jean_motion import cross, dot, moved, rotations, times, times_back
from stickslip.mechanics.joints import JointKind, Joints
from stickslip.schemes.body_joints import PARTS
from stickslip.state import Array, BoolArray, IntArray

HOLD, LOWER, UPPER, FRICTION = 0, 1, 2, 3
"""Parts of a joint, as `PARTS`; those of turning are 3 more."""
PLACED = (JointKind.FIXED, JointKind.BALL, JointKind.HINGE)
ALONG = (JointKind.SLIDER, JointKind.CYLINDRICAL)
ABOUT = (JointKind.HINGE, JointKind.CYLINDRICAL)
TURNED = (JointKind.FIXED, JointKind.SLIDER)


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
    """[-, m], shape (k, p, 2, 6)."""
    bias: Complex
    """What the rows turn by until the end of the step [m/s, rad/s], shape (k, p)."""
    bound: Complex
    """Largest impulse of each block of friction, 0 of others [N s, N m s], shape (k, m)."""


class _Scene:
    """Where joints are along directions: both sides in the second axis of all but `between`."""

    def __init__(self, joints: Joints, q: Complex):
        k, nj = q.shape[0], len(joints)
        frame = np.zeros((k, 1, 7), complex)
        frame[..., 3] = 1.0
        poses = np.concatenate([q, frame], axis=1)[:, joints.body]
        self.x: Complex = poses[..., :3]
        self.R: Complex = rotations(poses[..., 3:])
        self.P = self.x + times(self.R, joints.point.reshape(nj, 2, 3))
        self.axes = times(self.R[:, :, :, None], joints.frame.reshape(nj, 2, 3, 3))
        self.between = self.P[:, :, 0] - self.P[:, :, 1]

    def point_rows(self, j: IntArray, d: Complex, at_first: bool) -> Complex:
        """Rows of d · (velocity of the first point - that of the second), or of the second body at the first
        point, shape (k, nj, 2, 6)."""
        rows = np.zeros((len(d), j.size, 2, 6), complex)
        for side, sign in ((0, 1.0), (1, -1.0)):
            at = self.P[:, j, 0 if at_first else side]
            rows[:, :, side, :3] = sign * d
            turned = cross(at - self.x[:, j, side], d)
            rows[:, :, side, 3:] = sign * times_back(self.R[:, j, side], turned)
        return rows

    def turn_rows(self, j: IntArray, w: Complex) -> Complex:
        """Rows of w · (ω₁ - ω₂), shape (k, nj, 2, 6)."""
        rows = np.zeros((len(w), j.size, 2, 6), complex)
        rows[:, :, 0, 3:] = times_back(self.R[:, j, 0], w)
        rows[:, :, 1, 3:] = -times_back(self.R[:, j, 1], w)
        return rows


def joints_along(
    joints: Joints, blocks: JointBlocks, q: Complex, v: Complex, v_ahead: Complex, h: Complex, theta: float
) -> Jointed:
    """The same blocks along directions; q and v at the middle of the step, v_ahead after free rotation to
    its end, each of shape (k, n, ...)."""
    k = max(len(q), len(v), len(h))
    q, v, v_ahead = (np.broadcast_to(x, (k, *x.shape[1:])) for x in (q, v, v_ahead))
    reach = np.broadcast_to(theta * h, (k,))
    here = rows_of_joints(joints, blocks, q)
    there = rows_of_joints(joints, blocks, moved(q, v, reach))
    bodies = _bodies(joints, blocks)
    bias = _rates(there, bodies, v_ahead) - _rates(here, bodies, v)
    bound = np.zeros((k, len(blocks.part)), complex)
    dry = np.flatnonzero((blocks.part > 0) & (blocks.part % 3 == 0))
    column = (blocks.part[dry] > FRICTION).astype(int)
    bound[:, dry] = h[:, None] * joints.friction[blocks.joint[dry], column]
    return Jointed(here, bias, bound)


def _rates(rows: Complex, bodies: IntArray, v: Complex) -> Complex:
    """Rows times the velocities of their bodies; the rows of the inertial frame are 0."""
    return dot(rows[:, :, 0], v[:, bodies[:, 0]]) + dot(rows[:, :, 1], v[:, bodies[:, 1]])


def _bodies(joints: Joints, blocks: JointBlocks) -> IntArray:
    """Of the two sides of each row, shape (p, 2)."""
    return np.repeat(joints.body[blocks.joint], np.diff(blocks.start), axis=0)


def rows_of_joints(joints: Joints, blocks: JointBlocks, q: Complex) -> Complex:
    """Rows of blocks at q, shape (k, p, 2, 6); 0 for the inertial frame."""
    scene = _Scene(joints, q)
    rows = np.zeros((len(q), int(blocks.start[-1]), 2, 6), complex)
    kind, first = joints.kind[blocks.joint], blocks.start[:-1]
    hold = blocks.part == HOLD
    _fill_place(joints, scene, rows, blocks.joint, first, kind, hold)
    _fill_turn(joints, scene, rows, blocks.joint, first, kind, hold)
    for turning in (False, True):
        chosen = np.flatnonzero(~hold & ((blocks.part > FRICTION) == turning))
        j = blocks.joint[chosen]
        one = _angle_rows(scene, j) if turning else _slide_rows(joints, scene, j)
        rows[:, first[chosen]] = np.where(blocks.part[chosen] % 3 == UPPER, -1.0, 1.0)[:, None, None] * one
    rows[:, _bodies(joints, blocks) < 0] = 0.0
    return rows


def _fill_place(
    joints: Joints, scene: _Scene, rows: Complex, joint: IntArray, first: IntArray, kind: IntArray,
    hold: BoolArray,
) -> None:  # fmt: skip
    """What joints hold in place: all, across the axis of the second body, or a length."""
    k = rows.shape[0]
    placed = np.flatnonzero(hold & np.isin(kind, PLACED))
    for c in range(3):
        d = np.zeros((k, placed.size, 3), complex)
        d[..., c] = 1.0
        rows[:, first[placed] + c] = scene.point_rows(joint[placed], d, False)
    along = np.flatnonzero(hold & np.isin(kind, ALONG))
    for c in range(2):
        rows[:, first[along] + c] = scene.point_rows(
            joint[along], scene.axes[:, joint[along], 1, 1 + c], True
        )
    length = np.flatnonzero(hold & (kind == JointKind.DISTANCE))
    rows[:, first[length]] = _slide_rows(joints, scene, joint[length])


def _fill_turn(
    joints: Joints, scene: _Scene, rows: Complex, joint: IntArray, first: IntArray, kind: IntArray,
    hold: BoolArray,
) -> None:  # fmt: skip
    """What joints hold of turning: about two axes, or about all."""
    at = first + np.where(np.isin(kind, ALONG), 2, 3)
    about = np.flatnonzero(hold & np.isin(kind, ABOUT))
    j = joint[about]
    for c, sign in ((0, -1.0), (1, 1.0)):
        w = cross(scene.axes[:, j, 0, 0], sign * scene.axes[:, j, 1, 2 - c])
        rows[:, at[about] + c] = scene.turn_rows(j, w)
    turned = np.flatnonzero(hold & np.isin(kind, TURNED))
    j = joint[turned]
    p = _relative_turn(scene.axes[:, j])[..., None]
    own = joints.frame[j]
    for c in range(3):
        a, b = (c + 1) % 3, (c + 2) % 3
        rows[:, at[turned] + c, 0, 3:] = (
            p[:, :, 0] * own[:, 0, c] + p[:, :, 1 + a] * own[:, 0, b] - p[:, :, 1 + b] * own[:, 0, a]
        )
        rows[:, at[turned] + c, 1, 3:] = (
            -p[:, :, 0] * own[:, 1, c] + p[:, :, 1 + a] * own[:, 1, b] - p[:, :, 1 + b] * own[:, 1, a]
        )


def _relative_turn(axes: Complex) -> Complex:
    """Unit quaternion of the turn from the second side to the first, shape (k, nj, 4); it is small."""
    S = times(axes[:, :, 1, None], axes[:, :, 0])  # S[m, k] = second axis k · first axis m
    S = np.swapaxes(S, -1, -2)
    p = np.stack(
        [1.0 + S[..., 0, 0] + S[..., 1, 1] + S[..., 2, 2], S[..., 2, 1] - S[..., 1, 2],
         S[..., 0, 2] - S[..., 2, 0], S[..., 1, 0] - S[..., 0, 1]],
        axis=-1,
    )  # fmt: skip
    return p / np.sqrt(dot(p, p))[..., None]


def _slide_rows(joints: Joints, scene: _Scene, j: IntArray) -> Complex:
    """Of what slides: along the axis of the second body, or the length of a distance joint."""
    between = scene.between[:, j]
    far = (joints.kind[j] == JointKind.DISTANCE)[:, None]
    square = np.where(far[:, 0], dot(between, between), 1.0)
    d = np.where(far, between / np.sqrt(square)[..., None], scene.axes[:, j, 1, 0])
    return np.where(far[:, None], scene.point_rows(j, d, False), scene.point_rows(j, d, True))


def _angle_rows(scene: _Scene, j: IntArray) -> Complex:
    """Of the angle of joints."""
    own, t1, t2 = scene.axes[:, j, 0, 1], scene.axes[:, j, 1, 1], scene.axes[:, j, 1, 2]
    cosine, sine = dot(t1, own)[..., None], dot(t2, own)[..., None]
    b = (cosine * t2 - sine * t1) / (cosine * cosine + sine * sine)
    return scene.turn_rows(j, cross(own, b))
