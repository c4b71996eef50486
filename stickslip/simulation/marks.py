"""Where joints and sensors of a world or a robot are drawn: points and axes in the frames of bodies."""

from contextlib import suppress
from typing import Any

import numpy as np

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.mechanics.joints import JointKind
from stickslip.mechanics.world import World
from stickslip.robots.robot import Robot
from stickslip.simulation.robot_model import KINDS, RobotModel
from stickslip.simulation.world_model import WorldModel
from stickslip.state import ModelError

MOST = 2000
"""Joints, and sensors, that are drawn at most."""
NAMES = {"slide": "slider"}
"""Kinds of joints of robots that are called otherwise in worlds."""


def joints_of(model: WorldModel) -> list[dict[str, Any]]:
    """Name, kind, both bodies (-1: inertial frame), the point in each [m], and the axis in the first [-]."""
    found = [
        {
            "name": name, "kind": JointKind(int(model.joint_kind[j])).name.lower(),
            "body": model.joint_body[j].tolist(), "point": model.joint_point[j].tolist(),
            "axis": model.joint_frame[j, 0, 0].tolist(),
        }
        for j, name in enumerate(model.joints[:MOST])
    ]  # fmt: skip
    if isinstance(model, RobotModel) and (robot := _source(model)) is not None:
        found += _robot_joints(robot)
    return found[:MOST]


def sensors_of(model: WorldModel) -> list[dict[str, Any]]:
    """Name of each sensor that has a place, and its points: bodies (-1: inertial frame) and places in them
    [m]."""
    source = _source(model)
    if isinstance(source, World):
        return _world_sensors(source, source.names, model)
    if isinstance(source, Robot):
        own = _robot_sensors(source)
        return own + ([] if source.world is None else _world_sensors(source.world, source.world.names, model))
    return []


def _source(model: WorldModel) -> Any:
    """The world or robot itself; None of a file that does not have it."""
    with suppress(ModelError, OSError, ValueError):
        return model.source() if callable(model.source) else model.source
    return None


def _world_sensors(world: World, names: tuple[str, ...], model: WorldModel) -> list[dict[str, Any]]:
    number = {name: k for k, name in enumerate(model.names)}
    return [
        {
            "name": sensor.name,
            "body": [-1 if p.body < 0 else number[names[p.body]] for p in sensor.places],
            "point": [np.asarray(p.local, float).tolist() for p in sensor.places],
        }
        for sensor in world.sensors[:MOST] if sensor.places
    ]  # fmt: skip


def _robot_joints(robot: Robot) -> list[dict[str, Any]]:
    """Those of MuJoCo's model but free ones; a body's frame here has its origin in the centre of mass."""
    m, found = robot.model, []
    for j, name in enumerate(robot.names("joint")[:MOST]):
        kind, body = KINDS[int(m.jnt_type[j])], int(m.jnt_bodyid[j])
        if kind == "free":
            continue
        point = (m.jnt_pos[j] - m.body_ipos[body]).tolist()
        kind = NAMES.get(kind, kind)
        found.append(
            {"name": name, "kind": kind, "body": [body, -1], "point": [point, point],
             "axis": m.jnt_axis[j].tolist()}
        )  # fmt: skip
    return found


def _robot_sensors(robot: Robot) -> list[dict[str, Any]]:
    """Those at sites, bodies, geoms and joints."""
    m, kinds = robot.model, load_mujoco().mjtObj
    found = []
    for k, name in enumerate(robot.names("sensor")[:MOST]):
        what, number = int(m.sensor_objtype[k]), int(m.sensor_objid[k])
        if what == int(kinds.mjOBJ_SITE):
            body, place = int(m.site_bodyid[number]), m.site_pos[number]
        elif what == int(kinds.mjOBJ_GEOM):
            body, place = int(m.geom_bodyid[number]), m.geom_pos[number]
        elif what == int(kinds.mjOBJ_JOINT):
            body, place = int(m.jnt_bodyid[number]), m.jnt_pos[number]
        elif what in (int(kinds.mjOBJ_BODY), int(kinds.mjOBJ_XBODY)):
            body, place = number, m.body_ipos[number]
        else:
            continue
        found.append({"name": name, "body": [body], "point": [(place - m.body_ipos[body]).tolist()]})
    return found
