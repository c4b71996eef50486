"""Joints between bodies, as arrays: what they hold, their stops and dry friction, and their coordinates."""

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
    """Nothing."""
    BALL = 1
    """Rotation."""
    HINGE = 2
    """Rotation about its axis."""
    SLIDER = 3
    """Sliding along its axis."""
    CYLINDRICAL = 4
    """Sliding along its axis and rotation about it."""
    DISTANCE = 5
    """All but the distance of its two points."""


SLIDING, TURNING = 0, 1
"""Columns of stops and friction in `Joints`."""
TURN = 2.0 * np.pi
COLUMNS = {
    JointKind.HINGE: (TURNING,),
    JointKind.SLIDER: (SLIDING,),
    JointKind.CYLINDRICAL: (SLIDING, TURNING),
    JointKind.DISTANCE: (SLIDING,),
}
"""The coordinates of the kinds that have some; `limits` and `friction` belong to the first."""


@dataclass(frozen=True, eq=False)
class Joints:
    """All joints of a world. A joint to the inertial frame has second body -1, whose frame is inertial."""

    names: tuple[str, ...]
    kind: IntArray
    """`JointKind` of each [-], shape (nj,)."""
    body: IntArray
    """First and second body [-], shape (nj, 2)."""
    point: Array
    """Its point in the frame of either body [m], shape (nj, 2, 3)."""
    frame: Array
    """Rows: axis and two more, right-handed, in the frame of either body; alike at the start [-],
    shape (nj, 2, 3, 3)."""
    length: Array
    """Of distance joints at the start [m], shape (nj,)."""
    lower: Array
    """Lower stops of sliding (for a distance joint its length) [m] and of the angle [rad], shape (nj, 2);
    -inf for none."""
    upper: Array
    """Upper stops, as `lower` [m, rad], shape (nj, 2); inf for none."""
    friction: Array
    """Dry friction against sliding [N] and against turning [N m], shape (nj, 2)."""
    e: Array
    """Restitution of the stops [-], shape (nj,)."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def arrays(self) -> JointArrays:
        """The joints as kernels take them."""
        return JointArrays(
            self.kind, self.body, self.point, self.frame, self.length, self.lower, self.upper, self.friction,
            self.e,
        )  # fmt: skip


def number_of_joint(owner: str, joints: Joints, name: str) -> int:
    """The number of a joint; an unknown one is a ModelError that lists some of the known."""
    if name not in joints.names:
        raise ModelError(f"{owner}: unknown joint {name!r}; {alternatives(name, joints.names, most=LISTED)}")
    return joints.names.index(name)


def column_of(owner: str, joints: Joints, name: str, turn: bool) -> tuple[int, int]:
    """Number of a joint and the column of its coordinate; `turn` asks a cylindrical one for its angle."""
    j = number_of_joint(owner, joints, name)
    kind = JointKind(int(joints.kind[j]))
    columns = COLUMNS.get(kind, ())
    if not columns or (turn and TURNING not in columns):
        what = "angle" if turn else "coordinate"
        raise ModelError(f"{owner}: joint {name!r} is a {kind.name.lower()} joint, which has no {what}")
    return j, TURNING if turn else columns[0]


def coordinate(joints: Joints, j: int, column: int, q: Any, v: Any) -> tuple[Any, Any]:
    """Coordinate and rate of joint j: of sliding [m, m/s], or of its angle [rad, rad/s]; q (7 n,), v (6 n,).

    Of the first body against the second, along or about the axis of the second. Angles are from -π to π, or
    in the turn about the middle of their stops.
    """
    y, rate = effort_coordinate(joints.arrays, j, column, q, v)
    return y, rate


def reaction(joints: JointArrays, j: int, h: Array, q: Array, v: Array, impulses: JointTable) -> Reaction:
    """What joint j does to its first body, means over n steps: force [N] and moment about its point on that
    body [N m], both inertial, shape (n, 3), of all that it holds, its stops and its dry friction; and of the
    stops and the friction alone the effort along its sliding [N] and about its angle [N m], shape (n, 2).

    The steps have lengths h [s], shape (n,), and end at q (n, 7 nb), v (n, 6 nb); the ids of impulses tell
    whose they are, as `Step.joint_id` does. They act along lines of the middle of the step, found from its
    end to second order in h (those of the variational scheme stand at its start: to first order). Forces of
    fixed joints, balls and hinges have inertial lines and are exact. A step of length 0 has no reaction.
    """
    n = h.shape[0]
    result = Reaction(np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 2)))
    joint_reaction(joints, j, h, q.reshape(n, -1, 7), v.reshape(n, -1, 6), impulses, result)
    return result
