"""Actuators with constant efforts, all at once: many small calls would take longer than a step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stickslip.mechanics.joint_motion import TURNING
from stickslip.mechanics.joints import JointKind
from stickslip.mechanics.turns import matrices
from stickslip.mechanics.written_forces import JointEffort, WrittenForce
from stickslip.state import Array, IntArray


@dataclass(frozen=True, eq=False)
class ConstantEfforts:
    """Constant efforts along or about axes that turn with the second bodies of joints."""

    body: IntArray
    """First and second body, -1 for the inertial frame [-], shape (k, 2)."""
    point: Array
    """Of the joints in the frames of their first bodies [m], shape (k, 3)."""
    force: Array
    """Along the axes, in the frames of the second bodies [N], shape (k, 3)."""
    moment: Array
    """About the axes, in the frames of the second bodies [N m], shape (k, 3)."""

    def add(self, q: Array, F: Array) -> None:
        """Add wrenches to F, shape (n, 6), at q, shape (7 n,)."""
        n = F.shape[0]
        R, x = np.empty((n + 1, 3, 3)), np.zeros((n + 1, 3))
        R[:n], R[n] = matrices(q.reshape(n, 7)[:, 3:]), np.eye(3)
        x[:n] = q.reshape(n, 7)[:, :3]
        first, second = self.body[:, 0], self.body[:, 1]
        frame = R[second]
        f = np.matmul(frame, self.force[:, :, None])[:, :, 0]
        moment = np.matmul(frame, self.moment[:, :, None])[:, :, 0]
        at = x[first] + np.matmul(R[first], self.point[:, :, None])[:, :, 0]
        total = np.zeros((n + 1, 6))
        for body, sign in ((first, 1.0), (second, -1.0)):
            wrench = np.empty((f.shape[0], 6))
            wrench[:, :3] = sign * f
            arm = at - x[body]
            turned = moment + np.stack(
                [
                    arm[:, 1] * f[:, 2] - arm[:, 2] * f[:, 1],
                    arm[:, 2] * f[:, 0] - arm[:, 0] * f[:, 2],
                    arm[:, 0] * f[:, 1] - arm[:, 1] * f[:, 0],
                ],
                axis=1,
            )
            wrench[:, 3:] = sign * np.matmul(turned[:, None, :], R[body])[:, 0]
            np.add.at(total, body, wrench)
        F += total[:n]


def split(
    written: Sequence[JointEffort | WrittenForce],
) -> tuple[ConstantEfforts | None, tuple[JointEffort | WrittenForce, ...]]:
    """The constant efforts among actuators and users' forces, None if there are none, and all others."""
    constant, others = [], []
    for one in written:
        if (
            isinstance(one, JointEffort)
            and one.effort.constant is not None
            and one.joints.kind[one.joint] != JointKind.DISTANCE
        ):
            constant.append(one)
        else:
            others.append(one)
    if not constant:
        return None, tuple(others)
    axis = np.array([float(one.effort(0.0)) * one.joints.frame[one.joint, 1, 0] for one in constant])
    turns = np.array([one.column == TURNING for one in constant])[:, None]
    return (
        ConstantEfforts(
            np.array([one.joints.body[one.joint] for one in constant], np.int64),
            np.array([one.joints.point[one.joint, 0] for one in constant], float),
            np.where(turns, 0.0, axis),
            np.where(turns, axis, 0.0),
        ),
        tuple(others),
    )
