"""Numbers of a robot that its steps are differentiated by: masses of bodies and friction of geoms."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.robots.robot import Robot
from stickslip.state import Array


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
    """A robot with other masses of bodies and friction of geoms, as `write_numbers` takes them."""
    model = copy.copy(robot.model)
    write_numbers(model, **numbers)
    return replace(robot, model=model)
