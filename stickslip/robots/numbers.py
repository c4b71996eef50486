"""Parameters of a robot that can be fitted, varied or differentiated by: masses, friction and restitution."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.robots.robot import Robot
from stickslip.state import Array, ModelError

ROBOT_NUMBERS = ("mass", "friction", "restitution", "limit_restitution")
"""Names of the parameters that `robot_with` takes."""
BOUNCES = ("restitution", "limit_restitution")
"""Parameters of impacts: restitution of geoms, and of limits of joints and tendons."""


@contextmanager
def numbers_of(model: Any, **numbers: Array) -> Iterator[None]:
    """Context in which MuJoCo's model has other masses or coefficients of friction."""
    fields = {"mass": "body_mass", "friction": "geom_friction"}
    arrays = {name: np.array(getattr(model, fields[name])) for name in numbers}
    write_numbers(model, **numbers)
    try:
        yield
    finally:
        write_numbers(model, **arrays)


def write_numbers(model: Any, mass: Array | None = None, friction: Array | None = None) -> None:
    """Write masses of bodies [kg], shape (nbody,), and friction of geoms, shape (ngeom, 3), to MuJoCo's
    model."""
    mujoco = load_mujoco()
    if friction is not None:
        model.geom_friction[:] = np.reshape(friction, (-1, 3))
    if mass is not None:
        model.body_mass[:] = mass
        mujoco.mj_setConst(
            model, mujoco.MjData(model)
        )  # recomputes derived constants, such as masses of subtrees


def robot_with(robot: Robot, **numbers: Array) -> Robot:
    """Return the robot with other parameters.

    These are masses of bodies and friction of geoms as in `write_numbers`, restitution of geoms [-], shape
    (ngeom,), and at limits [-], shape (njnt + ntendon,).
    """
    arrays = numbers_in(robot)
    for name, value in numbers.items():
        _check(name, np.asarray(value, float).reshape(arrays[name].shape), arrays[name])
    e, limits = (np.array(numbers.pop(name, arrays[name]), float) for name in BOUNCES)
    model = copy.copy(robot.model)
    write_numbers(model, **numbers)
    return replace(robot, model=model, restitution=e, limit_restitution=limits)


def numbers_in(robot: Robot) -> dict[str, Array]:
    """Return the parameters of a robot that `robot_with` takes, by name [kg, -, -, -]."""
    m = robot.model
    values = np.array(m.body_mass), np.array(m.geom_friction), robot.restitution, robot.limit_restitution
    return dict(zip(ROBOT_NUMBERS, values, strict=True))


def _check(name: str, value: Array, own: Array) -> None:
    """Raise a ModelError for invalid values of a parameter. own: the values of the model."""
    bad, allowed = value < 0.0, "at least 0"
    if name == "mass":
        bad, allowed = bad | ((value == 0.0) & (own > 0.0)), "above 0 where the model's is"
    elif name in BOUNCES:
        bad, allowed = bad | (value > 1.0), "from 0 to 1"
    if (bad | ~np.isfinite(value)).any():
        at = tuple(int(k) for k in np.argwhere(bad | ~np.isfinite(value))[0])
        place = ", ".join(map(str, at))
        raise ModelError(f"{name}[{place}] is {value[at]:g}; it must be {allowed}")
