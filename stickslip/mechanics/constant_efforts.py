"""Actuators with constant efforts, all at once: many small calls would take longer than a step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stickslip.kernels.bodies import efforts
from stickslip.mechanics.joint_motion import TURNING
from stickslip.mechanics.joints import JointKind
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
        efforts.add_efforts(self.body, self.point, self.force, self.moment, q.reshape(-1, 7), F)


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
