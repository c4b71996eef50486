"""Runs of robots as steps that can be recomputed and differentiated."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from stickslip.gradients.charts import JointChart
from stickslip.gradients.robot_step import RobotStepDerivative, differentiated_robot
from stickslip.gradients.step import checked_kappa, checked_solver
from stickslip.gradients.trajectory_run import Point, SchemeRun, checked_inputs, checked_on_failure, divided
from stickslip.robots.robot import Robot
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.robots import ReducedMoreauJean
from stickslip.schemes.step import Solver
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.robot_model import RobotModel
from stickslip.simulation.robot_steps import begun_robot
from stickslip.state import Array, State

CONTROLS = ("ctrl", "force")
"""Inputs that may differ from step to step."""


@dataclass(frozen=True, eq=False)
class RobotRun(SchemeRun[PreparedRobot, ReducedMoreauJean]):
    """Run of a robot."""

    @classmethod
    def of(
        cls, robot: Robot | PreparedRobot, *, until: float, h: float | None,
        scheme: str | ReducedMoreauJean | None, solver: Solver, start: Checkpoint | State | None = None,
        controls: Mapping[str, ArrayLike] | None = None, kappa: float = 0.0, on_failure: str = "raise",
    ) -> "RobotRun":  # fmt: skip
        """Return the run that `simulate` would make; controls are constant unless given."""
        checked_solver(solver)
        prepared = robot if isinstance(robot, PreparedRobot) else PreparedRobot(robot)
        begun = begun_robot(prepared, RobotModel.of_robot(prepared.robot), h, scheme, start)
        parts = divided(begun.clock, begun.state.t, until)
        shapes = {name: input_shapes(prepared.robot)[name] for name in CONTROLS}
        return cls(
            prepared, begun.scheme, solver, Point(begun.state, begun.memory), *parts,
            checked_inputs(controls or {}, shapes, parts[1].size), checked_kappa(kappa),
            checked_on_failure(on_failure),
        )  # fmt: skip

    @property
    def known(self) -> tuple[str, ...]:
        # With prescribed motions, a change of h would also change the times at which they are evaluated.
        timed = self.prepared.drive is not None
        return tuple(name for name in input_shapes(self.prepared.robot) if name != "h" or not timed)

    def shape(self, name: str) -> tuple[int, ...]:
        return input_shapes(self.prepared.robot)[name]

    def displacements(self, state: State, dq: Array) -> Array:
        chart = JointChart(self.prepared.model)
        return chart.slopes(state.q)[0].T @ dq if dq.size == chart.nq != chart.nv else dq

    def coordinates(self, q: Array, on_q: Array) -> Array:
        return np.asarray(JointChart(self.prepared.model).slopes(q)[1].T @ on_q)

    def make(self, k: int, point: Point) -> Point:
        begin, h = self._driven(k, point), float(self.lengths[k])
        step = self.scheme.step(self.prepared, begin.state, begin.memory, h, self.solver)
        return self.arrived(k, point, step)

    def differentiate(self, k: int, point: Point) -> tuple[RobotStepDerivative, Point]:
        begin, h = self._driven(k, point), float(self.lengths[k])
        derivative = differentiated_robot(
            self.scheme, self.prepared, begin.state, begin.memory, h, self.solver, self.kappa, carried=k > 0
        )
        return derivative, self.arrived(k, point, derivative.step)

    def _driven(self, k: int, point: Point) -> Point:
        """Return the start of step k, with the controls of that step."""
        state, memory, na = point.state, point.memory, self.prepared.model.na
        if "ctrl" in self.controls:
            z, ctrl = np.array(state.z), self.controls["ctrl"][k]
            z[na : na + ctrl.size] = ctrl
            z.flags.writeable = False
            state = replace(state, z=z)
        if "force" in self.controls:
            memory = {**memory, "qfrc_applied": self.controls["force"][k]}
        return Point(state, memory)


def input_shapes(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the inputs by which steps of a robot can be differentiated."""
    m = robot.model
    return {
        "q": (m.nv,), "v": (m.nv,), "h": (1,), "act": (m.na,), "ctrl": (m.nu,), "force": (m.nv,),
        "mass": (m.nbody,), "friction": (m.ngeom, 3), "restitution": (m.ngeom,),
        "limit_restitution": (m.njnt + m.ntendon,),
    }  # fmt: skip
