"""The coordinates of joints that slide or turn, and their rates, in a state."""

from typing import Any

import numpy as np

from stickslip.kernels.bodies.joints import effort_coordinate
from stickslip.mechanics.joints import JointKind, Joints
from stickslip.names import LISTED, alternatives
from stickslip.state import ModelError

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


def column_of(owner: str, joints: Joints, name: str, turn: bool) -> tuple[int, int]:
    """Number of a joint and the column of its coordinate; `turn` asks a cylindrical one for its angle."""
    if name not in joints.names:
        raise ModelError(f"{owner}: no joint {name!r}; {alternatives(name, joints.names, most=LISTED)}")
    j = joints.names.index(name)
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
