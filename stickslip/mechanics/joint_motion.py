"""The coordinates of joints that slide or turn, and their rates, in a state."""

import numpy as np

from stickslip.mechanics.joints import JointKind, Joints
from stickslip.mechanics.points import Point
from stickslip.names import LISTED, alternatives
from stickslip.rotations import matrices
from stickslip.state import Array, ModelError

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


def coordinate(joints: Joints, j: int, column: int, q: Array, v: Array) -> tuple[float, float]:
    """Coordinate and rate of joint j: of sliding [m, m/s], or of its angle [rad, rad/s].

    Of the first body against the second, along or about the axis of the second. Angles are from -π to π, or
    in the turn about the middle of their stops.
    """
    first, second = (Point(int(joints.body[j, side]), joints.point[j, side]) for side in (0, 1))
    if column == TURNING:
        a, b = (_rows(joints, j, side, q) for side in (0, 1))
        spin = _spin(first.body, q, v) - _spin(second.body, q, v)
        angle = float(np.arctan2(a[1] @ b[2], a[1] @ b[1]))
        lower, upper = joints.lower[j, TURNING], joints.upper[j, TURNING]
        if np.isfinite(upper - lower):
            angle += TURN * float(np.floor((0.5 * (lower + upper) - angle) / TURN + 0.5))
        return angle, float(spin @ b[0])
    arm = first.position(q) - second.position(q)
    rate = first.velocity(q, v) - second.velocity(q, v)
    if joints.kind[j] == JointKind.DISTANCE:
        length = float(np.linalg.norm(arm))
        return length, float(arm @ rate) / length if length > 0.0 else 0.0
    axis = _rows(joints, j, 1, q)[0]
    # The axis turns with the second body: d/dt (axis · arm) = axis · (rate - ω₂ × arm).
    drift = np.cross(_spin(second.body, q, v), arm)
    return float(axis @ arm), float(axis @ (rate - drift))


def axis_of(joints: Joints, j: int, q: Array) -> Array:
    """Inertial axis of joint j, that of its second body; of a distance joint its line [-], shape (3,)."""
    if joints.kind[j] != JointKind.DISTANCE:
        return _rows(joints, j, 1, q)[0]
    first, second = (Point(int(joints.body[j, side]), joints.point[j, side]).position(q) for side in (0, 1))
    arm = first - second
    length = float(np.linalg.norm(arm))
    return arm / length if length > 0.0 else np.zeros(3)


def _rows(joints: Joints, j: int, side: int, q: Array) -> Array:
    """Inertial rows of the frame of one side [-], shape (3, 3)."""
    body, local = int(joints.body[j, side]), joints.frame[j, side]
    return local if body < 0 else local @ matrices(q[7 * body + 3 : 7 * body + 7]).T


def _spin(body: int, q: Array, v: Array) -> Array:
    """Inertial [rad/s], shape (3,)."""
    if body < 0:
        return np.zeros(3)
    return matrices(q[7 * body + 3 : 7 * body + 7]) @ v[6 * body + 3 : 6 * body + 6]
