"""Joints as users give them, inertial and at the start, turned into the table of joints."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.mechanics.given import numbers
from stickslip.mechanics.joint_motion import COLUMNS, TURN, TURNING
from stickslip.mechanics.joints import JointKind, Joints
from stickslip.mechanics.materials import given_coefficients
from stickslip.mechanics.placement import Placed
from stickslip.mechanics.turns import direction
from stickslip.names import alternatives
from stickslip.rotations import frame, matrices
from stickslip.state import Array, ModelError


@dataclass(frozen=True, slots=True)
class JointStart:
    """A joint as one row of `Joints`."""

    kind: JointKind
    body: tuple[int, int]
    point: Array
    """[m], shape (2, 3)."""
    frame: Array
    """[-], shape (2, 3, 3)."""
    length: float
    lower: Array
    """[m, rad], shape (2,)."""
    upper: Array
    """[m, rad], shape (2,)."""
    friction: Array
    """[N, N m], shape (2,)."""
    e: float


def joint_start(
    owner: str, kind: str, body: tuple[int, int], sides: list[Placed | None], *, point: Any, axis: Any,
    limits: Any, turn_limits: Any, friction: Any, turn_friction: Any, e: Any, second_point: Any,
) -> JointStart:  # fmt: skip
    """The row of a joint between two placed bodies (None: the inertial frame), everything checked."""
    names = [one.name.lower() for one in JointKind]
    if kind not in names:
        raise ModelError(f"{owner}: no kind {kind!r} of joints; {alternatives(kind, names)}")
    what = JointKind[kind.upper()]
    points = _points(owner, what, sides, point, second_point)
    axes = _axes(owner, what, points, axis)
    length = float(np.linalg.norm(points[0] - points[1])) if what is JointKind.DISTANCE else 0.0
    lower, upper, dry = np.full(2, -inf), np.full(2, inf), np.zeros(2)
    own, other = (*COLUMNS.get(what, ()), None, None)[:2]
    for prefix, column, stops, given in (
        ("", own, limits, friction),
        ("turn_", other, turn_limits, turn_friction),
    ):
        strength = _at_least_zero(owner, prefix + "friction", given)
        if column is None:
            if stops is not None or strength > 0.0:
                raise ModelError(f"{owner}: a {kind} joint has no {prefix}limits and no {prefix}friction")
            continue
        dry[column] = strength
        if stops is not None:
            lower[column], upper[column] = _stops(owner, prefix + "limits", stops, length)
            if column == TURNING and not upper[column] - lower[column] < TURN:
                raise ModelError(
                    f"{owner}: {prefix}limits of an angle need both stops, less than 2π apart:"
                    " it is known only up to full turns"
                )
    if what is JointKind.DISTANCE and dry.any():
        raise ModelError(f"{owner}: a distance joint has no friction")
    restitution = given_coefficients(owner, e=e)["e"]
    local = [_seen_from(side, where, axes) for side, where in zip(sides, points, strict=True)]
    return JointStart(
        what, body, np.array([where for where, _ in local]), np.array([rows for _, rows in local]),
        length, lower, upper, dry, restitution,
    )  # fmt: skip


def joint_table(joints: dict[str, JointStart]) -> Joints:
    """All joints as arrays."""
    rows = list(joints.values())

    def column(key: str, shape: tuple[int, ...], dtype: type = float) -> Any:
        out: NDArray[Any] = np.array([getattr(row, key) for row in rows], dtype).reshape(len(rows), *shape)
        out.flags.writeable = False
        return out

    return Joints(
        names=tuple(joints),
        kind=column("kind", (), np.int64),
        body=column("body", (2,), np.int64),
        point=column("point", (2, 3)),
        frame=column("frame", (2, 3, 3)),
        length=column("length", ()),
        lower=column("lower", (2,)),
        upper=column("upper", (2,)),
        friction=column("friction", (2,)),
        e=column("e", ()),
    )


def _points(
    owner: str, kind: JointKind, sides: list[Placed | None], point: Any, second_point: Any
) -> tuple[Array, Array]:
    """The inertial points of both sides: one and the same, but for distance joints."""
    if kind is JointKind.DISTANCE:
        given = [point, second_point]
        keys = ("point", "second_point")
        ends = [
            _centre(owner, key, side) if one is None else numbers(owner, key, one, (3,))
            for key, one, side in zip(keys, given, sides, strict=True)
        ]
        if (ends[0] == ends[1]).all():
            raise ModelError(f"{owner}: its two points are the same, so that its line has no direction")
        return ends[0], ends[1]
    if second_point is not None:
        raise ModelError(f"{owner}: only a distance joint has a second_point")
    if point is None:
        if kind not in (JointKind.FIXED, JointKind.SLIDER):
            raise ModelError(f"{owner}: a {kind.name.lower()} joint needs a point")
        where = _centre(owner, "point", sides[0])
    else:
        where = numbers(owner, "point", point, (3,))
    return where, where


def _centre(owner: str, key: str, side: Placed | None) -> Array:
    """The centre of mass of a body at the start, inertial."""
    if side is None:
        raise ModelError(f"{owner}: {key} is missing; the inertial frame has no centre of mass")
    return side.position + matrices(side.quaternion) @ side.centre


def _axes(owner: str, kind: JointKind, points: tuple[Array, Array], axis: Any) -> Array:
    """Inertial rows: the axis (of a distance joint its line) and two more."""
    if kind in (JointKind.HINGE, JointKind.SLIDER, JointKind.CYLINDRICAL):
        if axis is None:
            raise ModelError(f"{owner}: a {kind.name.lower()} joint needs an axis")
        return frame(direction(owner, "axis", axis))
    if axis is not None:
        raise ModelError(f"{owner}: a {kind.name.lower()} joint has no axis")
    if kind is JointKind.DISTANCE:
        return frame(direction(owner, "point", points[0] - points[1]))
    return np.eye(3)


def _stops(owner: str, key: str, given: Any, start: float) -> tuple[float, float]:
    """(lower, upper), about the coordinate of the start; None is no stop."""
    try:
        lower, upper = given
        low, high = -inf if lower is None else float(lower), inf if upper is None else float(upper)
    except (TypeError, ValueError):
        raise ModelError(f"{owner}: {key} is {given!r}; give (lower, upper), None for no stop") from None
    if not low < high:
        raise ModelError(f"{owner}: {key} is ({low:g}, {high:g}); the lower stop must be below the upper")
    slack = 1e-12 * start  # a length that rounding puts past a stop is at the stop
    if not low - slack <= start <= high + slack:
        raise ModelError(f"{owner}: it starts at {start:g}, outside of its {key} ({low:g}, {high:g})")
    return low, high


def _at_least_zero(owner: str, key: str, value: Any) -> float:
    found = float(numbers(owner, key, value, ()))
    if found < 0.0:
        raise ModelError(f"{owner}: {key} is {found:g}; it cannot be negative")
    return found


def _seen_from(side: Placed | None, point: Array, axes: Array) -> tuple[Array, Array]:
    """An inertial point and inertial rows in the frame of a body."""
    if side is None:
        return point, axes
    R = matrices(side.quaternion)
    return R.T @ (point - side.position) - side.centre, axes @ R
