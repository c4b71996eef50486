"""Joints between bodies as arrays: geometry, stops, dry friction, coordinates and reactions."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from stickslip.kernels.bodies.joints import Reaction, effort_coordinate, joint_reaction
from stickslip.kernels.bodies.layout import JointArrays
from stickslip.kernels.steps.tables import JointTable
from stickslip.names import LISTED, alternatives
from stickslip.state import Array, IntArray, ModelError


class JointKind(IntEnum):
    """Kind of a joint, by its free motions."""

    FIXED = 0
    """No free motion."""
    BALL = 1
    """Rotation."""
    HINGE = 2
    """Rotation about its axis."""
    SLIDER = 3
    """Sliding along its axis."""
    CYLINDRICAL = 4
    """Sliding along its axis and rotation about it."""
    DISTANCE = 5
    """All motions that keep the distance of two points."""


SLIDING, TURNING = 0, 1
"""Columns of stops and friction in `Joints`."""
TURN = 2.0 * np.pi
"""A full turn [rad]."""
COLUMNS = {
    JointKind.HINGE: (TURNING,),
    JointKind.SLIDER: (SLIDING,),
    JointKind.CYLINDRICAL: (SLIDING, TURNING),
    JointKind.DISTANCE: (SLIDING,),
}
"""Coordinates of the kinds of joints that have any; `limits` and `friction` refer to the first."""


@dataclass(frozen=True, eq=False)
class Joints:
    """Joints of a world. The second body of a joint to the inertial frame is -1."""

    names: tuple[str, ...]
    kind: IntArray
    """`JointKind` of each joint [-], shape (nj,)."""
    body: IntArray
    """First and second body [-], shape (nj, 2)."""
    point: Array
    """Joint point in the frame of each body [m], shape (nj, 2, 3)."""
    frame: Array
    """Joint frame in the frame of each body, as rows: the axis and two normals, right-handed; both coincide
    at
    the start [-], shape (nj, 2, 3, 3)."""
    length: Array
    """Length of distance joints at the start [m], shape (nj,)."""
    lower: Array
    """Lower stops of sliding, or of the length of a distance joint [m], and of the angle [rad], shape (nj,
    2);
    -inf for none."""
    upper: Array
    """Upper stops, as `lower` [m, rad], shape (nj, 2); inf for none."""
    friction: Array
    """Dry friction of sliding [N] and of turning [N m], shape (nj, 2)."""
    e: Array
    """Restitution of the stops [-], shape (nj,)."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def arrays(self) -> JointArrays:
        """Joints as arrays for kernels."""
        return JointArrays(
            self.kind, self.body, self.point, self.frame, self.length, self.lower, self.upper, self.friction,
            self.e,
        )  # fmt: skip


def number_of_joint(owner: str, joints: Joints, name: str) -> int:
    """Return the index of a joint; raise a ModelError for an unknown name."""
    if name not in joints.names:
        raise ModelError(f"{owner}: unknown joint {name!r}; {alternatives(name, joints.names, most=LISTED)}")
    return joints.names.index(name)


def column_of(owner: str, joints: Joints, name: str, turn: bool) -> tuple[int, int]:
    """Return the index of a joint and the column of its coordinate; `turn`: the angle of a cylindrical
    joint."""
    j = number_of_joint(owner, joints, name)
    kind = JointKind(int(joints.kind[j]))
    columns = COLUMNS.get(kind, ())
    if not columns or (turn and TURNING not in columns):
        missing = "angle" if turn else "coordinate"
        raise ModelError(f"{owner}: joint {name!r} is a {kind.name.lower()} joint, which has no {missing}")
    return j, TURNING if turn else columns[0]


def coordinate(joints: Joints, j: int, column: int, q: Any, v: Any) -> tuple[Any, Any]:
    """Return coordinate and rate of joint j: sliding [m, m/s] or angle [rad, rad/s]; q (7 n,), v (6 n,).

    They describe the motion of the first body relative to the second, along or about the axis of the second.
    Angles are between -π and π, or within half a turn of the middle of the stops.
    """
    y, rate = effort_coordinate(joints.arrays, j, column, q, v)
    return y, rate


def reaction(joints: JointArrays, j: int, h: Array, q: Array, v: Array, impulses: JointTable) -> Reaction:
    """Return the mean reactions of joint j on its first body over each of n steps.

    These are force [N] and moment about the joint point of that body [N m], both in the inertial frame, shape
    (n, 3), of constraints, stops and dry friction; and the effort of stops and friction alone along the
    sliding
    coordinate [N] and about the angle [N m], shape (n, 2).

    The steps have lengths h [s], shape (n,), and end at q (n, 7 nb), v (n, 6 nb). The ids of impulses are
    those
    of `Step.joint_id`. Impulses act along directions at the middle of the step, which are computed from its
    end
    to second order in h (to first order for the variational scheme, whose directions are those at the start).
    Forces of fixed, ball and hinge joints have inertial directions and are exact. A step of length 0 has no
    reaction.
    """
    n = h.shape[0]
    result = Reaction(np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 2)))
    joint_reaction(joints, j, h, q.reshape(n, -1, 7), v.reshape(n, -1, 6), impulses, result)
    return result
