"""Derivatives of a solution, of a step and of a whole run, by the implicit function theorem."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.gradients.derivative import Derivative as Derivative
    from stickslip.gradients.robot_step import RobotStepDerivative as RobotStepDerivative
    from stickslip.gradients.solution import SolutionDerivative as SolutionDerivative
    from stickslip.gradients.step import StepDerivative as StepDerivative
    from stickslip.gradients.system_step import SystemStepDerivative as SystemStepDerivative
    from stickslip.gradients.trajectory import AtEnd as AtEnd
    from stickslip.gradients.trajectory import TrajectoryGradient as TrajectoryGradient
    from stickslip.gradients.trajectory_sensitivity import TrajectorySensitivity as TrajectorySensitivity
else:
    __getattr__, __dir__ = door(__name__)
