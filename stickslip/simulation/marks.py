"""Points and axes, in the frames of bodies, at which viewers draw joints and sensors of worlds and robots."""

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
"""Largest number of joints, and of sensors, that are drawn."""
NAMES = {"slide": "slider"}
"""Kinds of joints of robots with another name in worlds."""


def joints_of(model: WorldModel) -> list[dict[str, Any]]:
    """Return name, kind, both bodies (-1: inertial frame), the point in each [m], and the axis in the first
    [-], of each joint."""
    joints = [
        {
            "name": name, "kind": JointKind(int(model.joint_kind[j])).name.lower(),
            "body": model.joint_body[j].tolist(), "point": model.joint_point[j].tolist(),
            "axis": model.joint_frame[j, 0, 0].tolist(),
        }
        for j, name in enumerate(model.joints[:MOST])
    ]  # fmt: skip
    if isinstance(model, RobotModel) and (robot := _source(model)) is not None:
        joints += _robot_joints(robot)
    return joints[:MOST]


def sensors_of(model: WorldModel) -> list[dict[str, Any]]:
    """Return the name of each sensor with a position, and its points: bodies (-1: inertial frame) and
    positions in them [m]."""
    source = _source(model)
    if isinstance(source, World):
        return _world_sensors(source, source.names, model)
    if isinstance(source, Robot):
        marks = _robot_sensors(source)
        return marks + (
            [] if source.world is None else _world_sensors(source.world, source.world.names, model)
        )
    return []


def _source(model: WorldModel) -> Any:
    """Return the world or robot; None for a file without it."""
    with suppress(ModelError, OSError, ValueError):
        return model.source() if callable(model.source) else model.source
    return None


def _world_sensors(world: World, names: tuple[str, ...], model: WorldModel) -> list[dict[str, Any]]:
    """Return the sensors of a world with positions; bodies are numbered as in `model`."""
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
    """Return the joints of MuJoCo's model, without free joints; frames of bodies have their origin in the
    centre of mass."""
    m, joints = robot.model, []
    for j, name in enumerate(robot.names("joint")[:MOST]):
        kind, body = KINDS[int(m.jnt_type[j])], int(m.jnt_bodyid[j])
        if kind == "free":
            continue
        point = (m.jnt_pos[j] - m.body_ipos[body]).tolist()
        kind = NAMES.get(kind, kind)
        joints.append(
            {"name": name, "kind": kind, "body": [body, -1], "point": [point, point],
             "axis": m.jnt_axis[j].tolist()}
        )  # fmt: skip
    return joints


def _robot_sensors(robot: Robot) -> list[dict[str, Any]]:
    """Return the sensors at sites, bodies, geoms and joints."""
    m, kinds = robot.model, load_mujoco().mjtObj
    sensors = []
    for k, name in enumerate(robot.names("sensor")[:MOST]):
        kind, number = int(m.sensor_objtype[k]), int(m.sensor_objid[k])
        if kind == int(kinds.mjOBJ_SITE):
            body, place = int(m.site_bodyid[number]), m.site_pos[number]
        elif kind == int(kinds.mjOBJ_GEOM):
            body, place = int(m.geom_bodyid[number]), m.geom_pos[number]
        elif kind == int(kinds.mjOBJ_JOINT):
            body, place = int(m.jnt_bodyid[number]), m.jnt_pos[number]
        elif kind in (int(kinds.mjOBJ_BODY), int(kinds.mjOBJ_XBODY)):
            body, place = number, m.body_ipos[number]
        else:
            continue
        sensors.append({"name": name, "body": [body], "point": [(place - m.body_ipos[body]).tolist()]})
    return sensors
