"""Numbers of a robot that its steps are differentiated by: masses of bodies, friction and restitution."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.kernels.robots.layout import LAW_RESTITUTION, LIMIT
from stickslip.kernels.robots.rows import MOST_OF_A_PAIR, restitution_of
from stickslip.robots.robot import Robot
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.state import Array, IntArray

ROBOT_NUMBERS = ("mass", "friction", "restitution", "limit_restitution")
"""What `robot_with` takes."""
BOUNCES = ("restitution", "limit_restitution")
"""Those of impacts: of geoms, and of limits of joints and tendons."""


@contextmanager
def numbers_of(model: Any, **numbers: Array) -> Iterator[None]:
    """MuJoCo's model with other masses or coefficients of friction, for as long as that lasts."""
    fields = {"mass": "body_mass", "friction": "geom_friction"}
    own = {name: np.array(getattr(model, fields[name])) for name in numbers}
    write_numbers(model, **numbers)
    try:
        yield
    finally:
        write_numbers(model, **own)


def write_numbers(model: Any, mass: Array | None = None, friction: Array | None = None) -> None:
    """Masses of bodies [kg], shape (nbody,), and friction of geoms, shape (ngeom, 3), into MuJoCo's model."""
    mujoco = load_mujoco()
    if friction is not None:
        model.geom_friction[:] = np.reshape(friction, (-1, 3))
    if mass is not None:
        model.body_mass[:] = mass
        mujoco.mj_setConst(model, mujoco.MjData(model))  # masses of trees follow


def robot_with(robot: Robot, **numbers: Array) -> Robot:
    """A robot with other numbers: masses of bodies and friction of geoms as `write_numbers` takes them,
    restitution of geoms [-], shape (ngeom,), and at limits [-], shape (njnt + ntendon,)."""
    e, limits = (np.array(numbers.pop(name, getattr(robot, name)), float) for name in BOUNCES)
    model = copy.copy(robot.model)
    write_numbers(model, **numbers)
    return replace(robot, model=model, restitution=e, limit_restitution=limits)


def restitution_of_blocks(
    prepared: PreparedRobot, what: IntArray, key: IntArray
) -> tuple[Array, dict[str, Array]]:
    """Of the contacts and limits among blocks `what` and `key` (nb,): their restitution [-], shape (m,), and
    how it follows that of geoms and of limits, by the name of the number, shape (m, numbers).

    A contact has the smaller one of its geoms: where both are the same, each has half of the derivative.
    """
    robot = prepared.robot
    model, laws, rows = robot.model, robot.laws, np.flatnonzero(what >= LIMIT)
    e = np.zeros(rows.size)
    by_geoms = np.zeros((rows.size, model.ngeom))
    by_limits = np.zeros((rows.size, model.njnt + model.ntendon))
    for k, row in enumerate(rows.tolist()):
        number = int(key[row])
        if what[row] == LIMIT:
            limit = number // 4 + (model.njnt if number & 2 else 0)
            e[k], by_limits[k, limit] = robot.limit_restitution[limit], 1.0
            continue
        geoms = list(divmod(number // MOST_OF_A_PAIR, model.ngeom))
        e[k] = restitution_of(prepared.engine, prepared.traits, *geoms)
        if not laws.law[laws.kind[geoms[0]], laws.kind[geoms[1]], LAW_RESTITUTION] >= 0.0:
            smaller = robot.restitution[geoms] == e[k]
            by_geoms[k, geoms] = smaller / smaller.sum()
    return e, dict(zip(BOUNCES, (by_geoms, by_limits), strict=True))
