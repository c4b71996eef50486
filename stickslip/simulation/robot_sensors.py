"""Sensors of a world around a robot, evaluated from the results of the robot's steps.

Their readings contain the bodies of the world with the same numbers as without a robot. Bodies of the robot
have the number -1 in contacts. Reactions of joints are computed by `robot_reactions.py`.
"""

from functools import cache, partial
from typing import Any

import numpy as np

from stickslip.kernels.robots.outputs import write_bodies
from stickslip.mechanics.sensors import NO_ID, Reading
from stickslip.robots.linkage import input_values
from stickslip.schemes.robot_march import RobotStrip
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Step
from stickslip.simulation.robot_reactions import JointReactions, RobotStep
from stickslip.simulation.sensor_rows import SensorRows
from stickslip.state import Array, IntArray, State


class RobotSensors:
    """Evaluates the sensors of the world around a robot; false without sensors."""

    def __init__(self, prepared: PreparedRobot):
        world, model = prepared.robot.world, prepared.model
        self.rows = SensorRows(() if world is None else world.sensors)
        """Values of the sensors as columns."""
        self._world, self._robot, self._drive = world, prepared.robot, prepared.drive
        names = () if world is None else world.names
        self._body: IntArray = np.array([int(model.body(name).id) for name in names], np.int64)
        self._number = np.full(model.nbody, -1)
        self._number[self._body] = np.arange(self._body.size)
        self._reactions = None if world is None or not self else JointReactions(model, world)
        self._controls = 0 if world is None else len(input_values(world))
        self._place = slice(model.na + model.nu - self._controls, model.na + model.nu)
        """Place in z of the controls that are inputs of the world."""
        self._spare: PreparedRobot | None = None
        """Additional data, for states other than that of the run's data."""

    def __bool__(self) -> bool:
        return bool(self.rows.sensors)

    def at_start(self, state: State, poses: Array, twists: Array) -> dict[str, Array]:
        """Return the columns at the start; poses (nbody, 7) and twists (nbody, 6) of all bodies."""
        if not self:
            return {}
        assert self._world is not None
        start = self._state(state.t, poses, twists)
        return self.rows.columns(self.rows.read(Reading.at(self._world, start)))

    def of_step(
        self, step: Step, before: State, state: State, poses: Array, twists: Array, applied: Array | None
    ) -> Any:
        """Return the columns at the end of a recorded step; poses and twists as in `at_start`; applied: the
        user's forces and moments on bodies [N, N m], shape (nbody, 6), None for none."""
        if not self:
            return {}
        c, ends = step.contacts, (self._bodies_at(before), self._state(state.t, poses, twists))
        joint_id = NO_ID if step.joint_id is None else step.joint_id
        result = self._result(state.z, step.joint_r, joint_id, applied)
        return self.rows.columns(self._read(*ends, step.h, (c.body, c.point, c.frame, step.r), result))

    def of_strip(self, strip: RobotStrip, end: int) -> tuple[Array, ...]:
        """Return the values at the end of a step of a strip, counted from 1."""
        room, table = strip.room, strip.room.contacts
        rows = slice(*table.offset[end - 1 : end + 1].tolist())
        if end > 1:
            first = self._state(float(strip.times[end - 1]), room.poses[end - 1], room.twists[end - 1])
        else:  # a strip does not have the bodies at its start
            first = self._bodies_at(strip.state_after(0))
        last = self._state(float(strip.times[end]), room.poses[end], room.twists[end])
        contacts = table.body[rows], table.point[rows], table.frame[rows], table.r[rows]
        rows, nv = slice(*room.joints.offset[end - 1 : end + 1].tolist()), room.v.shape[1]
        applied = room.applied[end, nv:].reshape(-1, 6) if room.pushed[end] else None
        result = self._result(room.z[end], room.joints.r[rows], room.joints.id[rows], applied)
        return self._read(first, last, strip.h, contacts, result)

    def _bodies_at(self, state: State) -> State:
        """Return the state of the world's bodies at a state of the robot."""
        if self._spare is None:
            self._spare = PreparedRobot(self._robot)
        m = self._spare.model
        poses, twists = np.empty((m.nbody, 7)), np.empty((m.nbody, 6))
        self._spare.place(state)
        write_bodies(self._spare.motion, self._spare.traits, poses, twists)
        return self._state(state.t, poses, twists)

    def _state(self, t: float, poses: Array, twists: Array) -> State:
        """Return the state of the world's bodies, from poses and twists of all bodies."""
        if self._drive is not None:
            twists = self._drive.with_motions(np.array([t]), poses.reshape(1, -1), twists.reshape(1, -1))[0]
        q, v = poses[self._body], twists.reshape(-1, 6)[self._body]
        return State(t, q.reshape(-1), v.reshape(-1))

    def _result(self, z: Array, r: Array, id: IntArray, applied: Array | None) -> RobotStep:
        """Return the `RobotStep` of a step; z: that of its end, shape (nz,); other arguments as there."""
        world = self._world if self._drive is None else self._drive.world
        assert world is not None
        forces = np.zeros((self._number.size, 6)) if applied is None else applied
        return RobotStep(world, z[self._place], r, id, forces)

    def _read(
        self, before: State, state: State, h: float, contacts: tuple[Any, ...], result: RobotStep
    ) -> tuple[Array, ...]:
        """Return the values of the sensors for a step; contacts: bodies, points, frames and impulses, as in a
        `Reading`."""
        assert self._world is not None
        assert self._reactions is not None
        body, *others = contacts
        reading = Reading(self._world, state, before, h, self._number[body].reshape(-1, 2), *others)
        reactions = cache(partial(self._reactions, reading, result))  # computed on first use
        return self.rows.read(reading._replace(reactions=reactions))
