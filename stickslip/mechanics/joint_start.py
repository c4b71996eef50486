"""Joints as users give them, inertial and at the start, turned into the table of joints."""

from collections.abc import Iterable
from math import inf
from typing import Any, ClassVar, Protocol

import numpy as np

from stickslip.mechanics.given import columns, direction, not_negative, numbers
from stickslip.mechanics.joints import COLUMNS, TURN, TURNING, JointKind, Joints
from stickslip.mechanics.materials import given_coefficients
from stickslip.mechanics.placement import Placed
from stickslip.names import alternatives
from stickslip.rotations import frame, matrices
from stickslip.state import Array, ModelError

JointRow = tuple[Any, ...]
"""A joint: its name, and its row of each array of `Joints`."""


class PlacedJoint(Protocol):
    """A joint of `stickslip.joints`, with places of its own: `point` and `axis`, or `first` and `second`."""

    kind: ClassVar[str]
    """What `WorldBuilder.joint` calls it."""


def kind_and_places(
    owner: str, joint: str | JointKind | PlacedJoint, places: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The name of the kind of a joint, and its places: those given beside a name, or its own."""
    if isinstance(joint, JointKind):
        return joint.name.lower(), places
    if isinstance(joint, str) or not hasattr(joint, "kind"):
        return joint, places  # type: ignore[return-value]  # `joint_row` refuses what is no name
    if any(given is not None for given in places.values()):
        raise ModelError(f"{owner}: {type(joint).__name__} determines its {', '.join(places)} itself")
    if getattr(joint, "length", None) is not None:
        raise ModelError(f"{owner}: a distance joint of a world keeps its length at the start, or has limits")
    names = {"point": ("point", "first"), "axis": ("axis",), "second_point": ("second",)}
    own = {
        key: next((getattr(joint, n) for n in known if hasattr(joint, n)), None)
        for key, known in names.items()
    }
    return joint.kind, own


def joint_row(
    name: str, kind: str, body: tuple[int, int], sides: list[Placed | None], *, point: Any, axis: Any,
    limits: Any, turn_limits: Any, friction: Any, turn_friction: Any, e: Any, second_point: Any,
) -> JointRow:  # fmt: skip
    """The row of a joint between two placed bodies (None: the inertial frame), everything checked."""
    owner = f"joint {name!r}"
    names = [one.name.lower() for one in JointKind]
    if kind not in names:
        raise ModelError(f"{owner}: unknown kind {kind!r} of joints; {alternatives(kind, names)}")
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
        strength = not_negative(owner, prefix + "friction", given)
        if column is None:
            if stops is not None or strength > 0.0:
                raise ModelError(f"{owner}: a {kind} joint has no {prefix}limits and no {prefix}friction")
            continue
        dry[column] = strength
        if stops is not None:
            lower[column], upper[column] = _stops(owner, prefix + "limits", stops, length)
            if column == TURNING and not upper[column] - lower[column] < TURN:
                raise ModelError(
                    f"{owner}: {prefix}limits of an angle need both stops, less than 2π apart,"
                    " because the angle is known only up to full turns"
                )
    if what is JointKind.DISTANCE and dry.any():
        raise ModelError(f"{owner}: a distance joint has no friction")
    restitution = given_coefficients(owner, e=e)["e"]
    local = [_seen_from(side, where, axes) for side, where in zip(sides, points, strict=True)]
    where, rows = zip(*local, strict=True)
    return name, what, body, where, rows, length, lower, upper, dry, restitution


def joint_table(rows: Iterable[JointRow]) -> Joints:
    """All joints as arrays."""
    return Joints(*columns(list(rows), (), (2,), (2, 3), (2, 3, 3), (), (2,), (2,), (2,), (), whole=2))


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
            raise ModelError(f"{owner}: its two points coincide, so that its line has no direction")
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
        raise ModelError(f"{owner}: {key} is {given!r}; give (lower, upper), with None for no stop") from None
    if not low < high:
        raise ModelError(f"{owner}: {key} is ({low:g}, {high:g}); the lower stop must be below the upper")
    slack = 1e-12 * start  # a length that rounding puts past a stop is at the stop
    if not low - slack <= start <= high + slack:
        raise ModelError(f"{owner}: it starts at {start:g}, outside its {key} ({low:g}, {high:g})")
    return low, high


def _seen_from(side: Placed | None, point: Array, axes: Array) -> tuple[Array, Array]:
    """An inertial point and inertial rows in the frame of a body."""
    if side is None:
        return point, axes
    R = matrices(side.quaternion)
    return R.T @ (point - side.position) - side.centre, axes @ R
