"""Conversion of joints from the user's form, in the inertial frame at the start, to the table of joints."""

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
"""A joint: its name, and its entries of the arrays of `Joints`."""


class PlacedJoint(Protocol):
    """A joint of `stickslip.joints`, with its own `point` and `axis`, or `first` and `second` point."""

    kind: ClassVar[str]
    """Name of its kind in `WorldBuilder.joint`."""


def kind_and_places(
    owner: str, joint: str | JointKind | PlacedJoint, places: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the name of the kind of a joint and its points and axis: those in `places`, or those of a joint
    object."""
    if isinstance(joint, JointKind):
        return joint.name.lower(), places
    if isinstance(joint, str) or not hasattr(joint, "kind"):
        return joint, places  # type: ignore[return-value]  # `joint_row` raises the error for other objects
    if any(argument is not None for argument in places.values()):
        raise ModelError(f"{owner}: {type(joint).__name__} determines its {', '.join(places)} itself")
    if getattr(joint, "length", None) is not None:
        raise ModelError(f"{owner}: a distance joint of a world keeps its length at the start, or has limits")
    names = {"point": ("point", "first"), "axis": ("axis",), "second_point": ("second",)}
    joint_places = {
        key: next((getattr(joint, n) for n in known if hasattr(joint, n)), None)
        for key, known in names.items()
    }
    return joint.kind, joint_places


def joint_row(
    name: str, kind: str, body: tuple[int, int], sides: list[Placed | None], *, point: Any, axis: Any,
    limits: Any, turn_limits: Any, friction: Any, turn_friction: Any, e: Any, second_point: Any,
) -> JointRow:  # fmt: skip
    """Check a joint between two bodies (None: the inertial frame), and return its row.

    Points, axis and limits are those of `WorldBuilder.joint`.
    """
    owner = f"joint {name!r}"
    names = [one.name.lower() for one in JointKind]
    if kind not in names:
        raise ModelError(f"{owner}: unknown kind {kind!r} of joints; {alternatives(kind, names)}")
    joint_kind = JointKind[kind.upper()]
    points = _points(owner, joint_kind, sides, point, second_point)
    axes = _axes(owner, joint_kind, points, axis)
    length = float(np.linalg.norm(points[0] - points[1])) if joint_kind is JointKind.DISTANCE else 0.0
    lower, upper, dry = np.full(2, -inf), np.full(2, inf), np.zeros(2)
    first_column, second_column = (*COLUMNS.get(joint_kind, ()), None, None)[:2]
    for prefix, column, stops, dry_friction in (
        ("", first_column, limits, friction),
        ("turn_", second_column, turn_limits, turn_friction),
    ):
        strength = not_negative(owner, prefix + "friction", dry_friction)
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
    if joint_kind is JointKind.DISTANCE and dry.any():
        raise ModelError(f"{owner}: a distance joint has no friction")
    restitution = given_coefficients(owner, e=e)["e"]
    local = [_seen_from(side, where, axes) for side, where in zip(sides, points, strict=True)]
    where, rows = zip(*local, strict=True)
    return name, joint_kind, body, where, rows, length, lower, upper, dry, restitution


def joint_table(rows: Iterable[JointRow]) -> Joints:
    """Return joints as arrays."""
    return Joints(*columns(list(rows), (), (2,), (2, 3), (2, 3, 3), (), (2,), (2,), (2,), (), whole=2))


def _points(
    owner: str, kind: JointKind, sides: list[Placed | None], point: Any, second_point: Any
) -> tuple[Array, Array]:
    """Return the points of both sides in the inertial frame; they differ only for distance joints."""
    if kind is JointKind.DISTANCE:
        points = [point, second_point]
        keys = ("point", "second_point")
        ends = [
            _centre(owner, key, side) if one is None else numbers(owner, key, one, (3,))
            for key, one, side in zip(keys, points, sides, strict=True)
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
    """Return the centre of mass of a body at the start, in the inertial frame."""
    if side is None:
        raise ModelError(f"{owner}: {key} is missing; the inertial frame has no centre of mass")
    return side.position + matrices(side.quaternion) @ side.centre


def _axes(owner: str, kind: JointKind, points: tuple[Array, Array], axis: Any) -> Array:
    """Return the joint frame in the inertial frame, as rows: the axis (the line of a distance joint) and two
    normals to it."""
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
    """Return stops (lower, upper); None is no stop. The coordinate at the start must lie between them."""
    try:
        lower, upper = given
        low, high = -inf if lower is None else float(lower), inf if upper is None else float(upper)
    except (TypeError, ValueError):
        raise ModelError(f"{owner}: {key} is {given!r}; give (lower, upper), with None for no stop") from None
    if not low < high:
        raise ModelError(f"{owner}: {key} is ({low:g}, {high:g}); the lower stop must be below the upper")
    slack = 1e-12 * start  # tolerance for rounding of the length at the start
    if not low - slack <= start <= high + slack:
        raise ModelError(f"{owner}: it starts at {start:g}, outside its {key} ({low:g}, {high:g})")
    return low, high


def _seen_from(side: Placed | None, point: Array, axes: Array) -> tuple[Array, Array]:
    """Return an inertial point and inertial rows in the frame of a body."""
    if side is None:
        return point, axes
    R = matrices(side.quaternion)
    return R.T @ (point - side.position) - side.centre, axes @ R
