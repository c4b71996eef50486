"""View of one joint of a run: its coordinates over time, and its forces on its first body."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels.bodies.joints import joint_coordinate
from stickslip.kernels.bodies.layout import JointArrays
from stickslip.kernels.steps.tables import JointTable
from stickslip.mechanics.joints import (
    COLUMNS,
    SLIDING,
    TURN,
    TURNING,
    JointKind,
    column_of,
    coordinate,
    reaction,
)
from stickslip.mechanics.world import World
from stickslip.names import LISTED, alternatives
from stickslip.robots.robot import Robot
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, ModelError, State, UnknownNameError


class JointState(NamedTuple):
    """Position and speed of the coordinate of a joint."""

    position: float
    """Slide or length [m], or angle from -π to π [rad]."""
    speed: float
    """Rate of the coordinate [m/s, rad/s]."""


def joint_state(model: Any, kept: Any, state: State, name: str, turn: bool) -> JointState:
    """Return the state of a joint by name; kept: the `RobotModel` of a robot. See `Live.joint`."""
    if isinstance(model, Robot):
        _, q, v = kept.coordinate(name)
        if q.stop - q.start != 1:
            raise AttributeError(f"joint {name!r} has several coordinates; see live.data.joint({name!r})")
        return JointState(float(state.q[q.start]), float(state.v[v.start]))
    if not isinstance(model, World):
        raise AttributeError(f"unknown joint {name!r}: this is a run of systems")
    j, column = column_of(f"joint {name!r}", model.joints, name, turn)
    return JointState(*coordinate(model.joints, j, column, state.q, state.v))


@dataclass(frozen=True, eq=False)
class JointView:
    """Motion and forces of one joint in a run: the first body relative to the second, along or about its
    axis.

    `speed` and `effort` belong to the coordinate of the joint. For a cylindrical joint they belong to its
    slide, and `turn_speed` and `turn_effort` to its rotation. Quantities that the joint constrains are None.
    """

    name: str
    """Name of the joint."""
    kind: JointKind
    """Kind of the joint."""
    position: Array | None
    """Slide of sliders and cylindrical joints, length of distance joints [m], shape (n,)."""
    angle: Array | None
    """Angle of hinges and cylindrical joints, continuous over full turns [rad], shape (n,). The number of
    turns follows from the mean speed between records; it is right unless this mean is wrong by half a turn
    per interval."""
    speed: Array | None
    """Rate of the coordinate [m/s, rad/s], shape (n,)."""
    turn_speed: Array | None
    """Rate of the angle of a cylindrical joint [rad/s], shape (n,)."""
    force: Array
    """Total force of the joint on the first body, inertial frame, mean over the last step of each record [N],
    shape (n, 3); 0 at the start."""
    moment: Array
    """Total moment of the joint on the first body, about its point on this body [N m], shape (n, 3)."""
    effort: Array | None
    """Effort of stops and dry friction along or about the coordinate [N, N m], shape (n,)."""
    turn_effort: Array | None
    """Effort about the angle of a cylindrical joint [N m], shape (n,)."""


def joint_view(
    model: WorldModel, name: str, t: Array, h: Array, q: Array, v: Array, impulses: JointTable
) -> JointView:
    """Return the view of a joint by name; the other arguments are columns of the trajectory."""
    if name not in model.joints:
        known = alternatives(name, model.joints, most=LISTED) if model.joints else "there are no joints"
        raise UnknownNameError(f"unknown joint {name!r}; {known}")
    j = model.joints.index(name)
    if not model.joint_frame[j].any() or (impulses.id < 0).any():
        raise ModelError(
            f"joint {name!r}: the trajectory does not tell its axes, or which impulses are its own; it is"
            " from before they were kept, or its scheme gives no joint_id: make the run anew"
        )
    arrays, kind = _arrays(model), JointKind(int(model.joint_kind[j]))
    place: dict[int, Array] = {}
    speed: dict[int, Array] = {}
    for column in COLUMNS.get(kind, ()):
        y, rate = np.empty(t.size), np.empty(t.size)
        joint_coordinate(arrays, j, column, q, v, y, rate)
        place[column], speed[column] = (_unwrapped(t, y, rate) if column == TURNING else y), rate
    force, moment, effort = reaction(arrays, j, h, q, v, impulses)
    columns = COLUMNS.get(kind, ())
    first = columns[0] if columns else None
    second = columns[1] if len(columns) > 1 else None
    return JointView(
        name, kind, place.get(SLIDING), place.get(TURNING),
        None if first is None else speed[first], None if second is None else speed[second], force, moment,
        None if first is None else effort[:, first], None if second is None else effort[:, second],
    )  # fmt: skip


def _unwrapped(t: Array, angle: Array, speed: Array) -> Array:
    """Return continuous angles, with the number of turns by the speeds [rad], shape (n,)."""
    ahead = 0.5 * np.diff(t) * (speed[1:] + speed[:-1])
    turns = np.rint((ahead - np.diff(angle)) / TURN)
    return angle + TURN * np.concatenate(([0.0], np.cumsum(turns)))


def _arrays(model: WorldModel) -> JointArrays:
    """Return the joints as arrays for the kernels, without friction and restitution."""
    none = np.zeros_like(model.joint_lower)
    return JointArrays(
        model.joint_kind, model.joint_body, model.joint_point, model.joint_frame, model.joint_length,
        model.joint_lower, model.joint_upper, none, np.zeros(len(model.joints)),
    )  # fmt: skip
