"""Steppers of runs (`SystemSteps`, `WorldSteps`, `RobotSteps`), chosen by the kind of the model."""

from collections.abc import Callable
from typing import Any

from stickslip.mechanics.world import World
from stickslip.robots.robot import Robot
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.robot_march import ROWS
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Selector, Solver, first_state
from stickslip.simulation.begun import Begun, begun_system, begun_world
from stickslip.simulation.clock import Stride
from stickslip.simulation.robot_model import RobotModel
from stickslip.simulation.robot_steps import RobotSteps, begun_robot
from stickslip.simulation.system_steps import SystemSteps
from stickslip.simulation.world_model import WorldModel
from stickslip.simulation.world_steps import WorldSteps
from stickslip.state import State
from stickslip.systems.system import NonsmoothSystem

Steps = SystemSteps | WorldSteps | RobotSteps
"""Any stepper."""


def prepared_model(model: NonsmoothSystem | World | Robot) -> Any:
    """Return a model prepared for its steps."""
    if isinstance(model, World):
        return PreparedWorld(model)
    return PreparedRobot(model) if isinstance(model, Robot) else PreparedSystem(model)


def start_of(prepared: Any) -> State:
    """Return the initial state of a prepared model."""
    if isinstance(prepared, PreparedRobot):
        return prepared.robot.start
    return prepared.world.start if isinstance(prepared, PreparedWorld) else first_state(prepared.system)


def begun_steps(
    prepared: Any, h: Stride | None, scheme: Any, start: Any, solver: Solver, select: Selector | None,
    control: Callable[[Any], Any] | None, rows: int = ROWS,
) -> tuple[Begun, Steps]:  # fmt: skip
    """Return the start of a run of a prepared model, and its stepper; rows: number of steps in the buffer of
    a robot."""
    if isinstance(prepared, PreparedRobot):
        robot = RobotModel.of_robot(prepared.robot)
        begun = begun_robot(prepared, robot, h, scheme, start)
        return begun, RobotSteps(prepared, robot, begun, solver, control, rows)
    if isinstance(prepared, PreparedWorld):
        model = WorldModel.of(prepared.world)
        begun = begun_world(prepared, model, h, scheme, start)
        return begun, WorldSteps(prepared, model, begun, solver, select)
    begun = begun_system(prepared, h, scheme, start)
    return begun, SystemSteps(prepared, begun, solver, select)
