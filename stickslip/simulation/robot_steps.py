"""Stepper of runs of robots: steps one by one or in compiled calls, and inputs set between them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.interrupts import Interrupts
from stickslip.kernels.robots import layout as at
from stickslip.kernels.robots.outputs import deepest
from stickslip.mechanics.given import called, numbers
from stickslip.names import LISTED, alternatives
from stickslip.robots.linkage import input_values
from stickslip.schemes import registry
from stickslip.schemes.robot_march import ROWS, RobotMarch, RobotStrip
from stickslip.schemes.robot_memory import applied_to, memory_of, restore
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Memory, Solver, Step
from stickslip.simulation.begun import Begun, begun_from, begun_new
from stickslip.simulation.body_rows import (
    Kept,
    explain_contact,
    reduction,
)
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import OFF_CLOCK, Clock, Stride
from stickslip.simulation.recorder import Marched, recorded
from stickslip.simulation.robot_model import RobotModel
from stickslip.simulation.robot_rows import RobotRows, StripSteps
from stickslip.simulation.rows import Reduction, Rows
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, ModelError, State, UnknownNameError

Control = Callable[[Any], Any]
"""User's function of MuJoCo's data, called before each step: it returns the controls, or writes them to
`data.ctrl`."""


class RobotSteps:
    """Stepper of one run of a robot."""

    notes: tuple[str, ...] = ()
    marches_watched = True
    """Whether watched runs use compiled calls: yes, because steps made one by one have other bits, and a run
    must not depend on whether it is watched."""

    def __init__(
        self, prepared: PreparedRobot, model: RobotModel, begun: Begun, solver: Solver,
        control: Control | None, rows: int = ROWS,
    ):  # fmt: skip
        """rows: number of steps in the buffer."""
        self.prepared, self.scheme, self.solver, self.model = prepared, begun.scheme, solver, model
        self.every = 1
        """Number of steps between records."""
        self.control = control
        world = prepared.robot.world
        self._inputs = 0 if world is None else len(input_values(world))
        """Number of controls that are inputs of the world."""
        compiled = bool(getattr(solver, "compiled_steps", False))
        self._march = RobotMarch(prepared, solver, rows) if compiled else None
        self._growing: StripSteps | None = None
        """Last steps of compiled calls, to which more may be added."""
        self._rows = RobotRows(prepared, model)
        if prepared.drive is not None:
            prepared.drive.begin(begun.inputs)

    @property
    def world_inputs(self) -> dict[str, Array]:
        """Inputs of forces and motions of the world around the robot, by name [N, N m, m/s, rad/s]."""
        return self._rows.world_inputs

    # 1. Steps.

    @property
    def free(self) -> bool:
        """Whether compiled calls do not use Python, so that threads can run them in parallel."""
        return self._march is not None and self.control is None and self.prepared.free

    def step(self, state: State, memory: Memory, h: float) -> Step:
        """Return the step of length h that begins at `state`."""
        self._set_controls(state)
        step: Step = self.scheme.step(self.prepared, state, memory, h, self.solver)
        return step

    def again(self, state: State, recall: Callable[[], Memory], h: float) -> Callable[[], Step]:
        """Return a function that repeats a step, on separate data."""
        motion = self.prepared.motion
        inputs = np.concatenate([motion.ctrl, motion.mocap_pos.reshape(-1), motion.mocap_quat.reshape(-1)])
        data = self.prepared.data
        applied = applied_to(data.qfrc_applied, data.xfrc_applied, data.eq_active)
        return partial(self._again, state, recall, h, inputs, applied, self.world_inputs)

    def _again(
        self, state: State, recall: Callable[[], Memory], h: float, inputs: Array,
        applied: Mapping[str, Array], world_inputs: Mapping[str, Array],
    ) -> Step:  # fmt: skip
        """Repeat a step with the user's controls and poses of mocap bodies, `inputs` [any, m, -], shape
        (nu + 7 nmocap,), with applied forces, and with inputs of the world."""
        z, prepared = np.array(state.z), PreparedRobot(self.prepared.robot)
        if prepared.drive is not None:
            prepared.drive.begin(world_inputs)
        na, nu, n = prepared.model.na, prepared.model.nu, prepared.model.nmocap
        z[na : na + nu] = inputs[:nu]
        begin, memory = State(state.t, state.q, state.v, z), {**recall(), **applied}
        restore(prepared, begin, memory)
        prepared.data.mocap_pos[:] = inputs[nu : nu + 3 * n].reshape(n, 3)
        prepared.data.mocap_quat[:] = inputs[nu + 3 * n :].reshape(n, 4)
        step: Step = self.scheme.step(prepared, begin, memory, h, self.solver)
        return step

    def contacts(self, memory: Memory, step: Step | None) -> int:
        """Return the number of blocks of the last step."""
        return int(memory["key"].size) if step is None else len(step.contacts)

    def check(self, step: Step, state: State) -> None:
        """Raise ModelError for a state that is not finite."""
        if not all(np.isfinite(part).all() for part in (state.q, state.v, state.z)):
            raise ModelError(f"at t = {state.t:.9g} s the state is not finite; use a smaller h")

    def depth(self, state: State) -> float:
        """Return the deepest overlap of contacts and limits [m, rad]."""
        if self.prepared.at is not state:
            self.prepared.place(state)
        return float(deepest(self.prepared.engine)[0])

    def explain(self, state: State, step: Step, raised: bool) -> str:
        """Return the bodies of the contact with the largest residual, as part of a sentence."""
        return explain_contact(self.model.names, step, raised)

    def march(
        self, state: State, recall: Callable[[], Memory], clock: Clock, index: int, most: int, every: int,
        end: int, interrupts: Interrupts,
    ) -> Marched | None:  # fmt: skip
        """Make several steps in one compiled call; return None if the next step has to be made by itself."""
        if self._march is None:
            return None
        # The user's function is called before each step.
        most = 1 if self.control is not None else most
        return interrupts.run(self._march_steps, state, recall, clock, index, most, every, end)

    def _march_steps(
        self, state: State, recall: Callable[[], Memory], clock: Clock, index: int, most: int, every: int,
        end: int,
    ) -> Marched | None:  # fmt: skip
        """Make steps in one compiled call; return None if the next step has to be made by itself."""
        assert self._march is not None
        self._set_controls(state)
        result = self._march.make(state, recall, clock.length(index + 1), clock.at, index, most)
        if result is None:
            return None
        return self._marched(*result, index, every, end)

    @property
    def strip(self) -> RobotStrip | None:
        """The strip in use."""
        return None if self._march is None else self._march.strip

    def ready(self, state: State) -> RobotStrip | None:
        """Return a strip to which a call for several robots can add steps from `state`; None without one."""
        return None if self._march is None or self.control is not None else self._march.ready(state)

    @property
    def lane(self) -> Callable[[State, int, int, float], State | None] | None:
        """Function that adds one step to the strip in use, to be recorded by `followed`; None if a user's
        function is called before every step."""
        return None if self._march is None or self.control is not None else self._march.lane

    def renew(self, state: State) -> bool:
        """Begin another strip if that of the lane is nearly full; return whether one was begun."""
        return self._march is not None and self._march.renew(state)

    def followed(self, done: int, index: int, every: int) -> tuple[Marched, Callable[[], Step]]:
        """Return `done` steps that the lane made from an index of the clock on, and a function that repeats
        the last of them."""
        strip = None if self._march is None else self._march.strip
        assert strip is not None
        stop, before = strip.steps, strip.state_after(strip.steps - 1)
        recall = partial(self._memory, strip, stop - 1, self._active(), 0)
        inputs, applied = (
            strip.room.z[stop, self.prepared.model.na :],
            self._applied(strip, stop, self._active()),
        )
        again = partial(self._again, before, recall, strip.h, inputs, applied, self.world_inputs)
        return self._marched(strip, done, index, every, OFF_CLOCK), again

    def _marched(self, strip: RobotStrip, done: int, index: int, every: int, end: int) -> Marched:
        """Return the last `done` steps of a strip, as those of a compiled call."""
        stop, numbers = strip.steps, strip.room.numbers
        # 1. Add the steps to those that become rows together.
        part = self._growing
        new = part is None or part.strip is not strip or part.read
        if part is None or new:
            part = self._growing = StripSteps(strip, stop - done, stop, [], [], [])
        part.stop, before, ends = stop, stop - done - part.first, recorded(index, done, every, end)
        sensors = self._rows.sensors
        if sensors:
            part.sensors.extend([sensors.of_strip(strip, stop - done + k + 1) for k in ends])
        part.ends.extend([before + k for k in ends])
        part.inputs.extend([self.world_inputs] * done)
        # 2. Residual of the last step, and the largest one.
        residual = worst = numbers.item(stop - 1, at.NATURAL_SCALED)
        if done > 1:
            worst = float(numbers[stop - done : stop, at.NATURAL_SCALED].max())
        recall = partial(self._memory, strip, stop, self._active())
        return Marched(part if new else None, done, strip.state, recall, residual, worst)

    def _active(self) -> Array:
        """Return the flags of active equality constraints [-], shape (neq,)."""
        return np.array(self.prepared.motion.eq_active)

    def _memory(self, strip: RobotStrip, stop: int, active: Array, k: int) -> Memory:
        """Return the scheme's memory after `stop` steps of a strip, the last with these flags `active`."""
        return memory_of(strip.last_after(stop), self.prepared.reach, self._applied(strip, stop, active))

    def _applied(self, strip: RobotStrip, stop: int, active: Array) -> dict[str, Array]:
        """Return the forces that the user applied in step `stop` of a strip, counted from 1, and `active`."""
        nv, forces = self.prepared.model.nv, strip.room.applied[stop]
        if not strip.room.pushed[stop]:
            forces = np.zeros(forces.size)
        return applied_to(forces[:nv], forces[nv:].reshape(-1, 6), active)

    def _set_controls(self, state: State) -> None:
        """Call the user's function for the controls of the next step, and check and set them."""
        if self.control is None:
            return
        data = self.prepared.data
        if self.prepared.at is not state:
            self.prepared.place(state)
        result = called("the run", "control", self.control, (data,), state.t)
        if result is not None:
            try:
                values = np.asarray(result, float).reshape(-1)
            except (TypeError, ValueError):
                values = np.full(1, np.nan)
            count = data.ctrl.size - self._inputs  # controls of the world are the last, and may be omitted
            if values.size not in (count, data.ctrl.size) or not np.isfinite(values).all():
                raise ModelError(
                    f"control: at t = {state.t:.9g} s it gives {result!r}; expected {count} finite"
                    " numbers, one for each control"
                )
            data.ctrl[: values.size] = values

    def set_inputs(self, values: Mapping[str, ArrayLike], state: State) -> State:
        """Set controls of actuators, poses of mocap bodies, and inputs of the world around the robot, by
        name; return the state, which does not change."""
        if self.prepared.at is not state:
            self.prepared.place(state)
        data, model = self.prepared.data, self.prepared.model
        actuators, bodies = self.prepared.robot.names("actuator"), self.model.names
        known = self.inputs(state)
        for name, value in values.items():
            if name not in known:
                hint = alternatives(name, tuple(known), most=LISTED) if known else "the robot has none"
                raise UnknownNameError(f"unknown input {name!r}; {hint}")
            if name in self.world_inputs:
                assert self.prepared.drive is not None
                self.prepared.drive.set({name: value})
                continue
            array = numbers(f"input {name!r}", "its value", np.ravel(value), (None,))
            sizes = (1,) if name in actuators else (3, 7)
            if array.size not in sizes:
                expected = (
                    "a number" if sizes == (1,) else "a position (3,), or a position and a quaternion (7,)"
                )
                raise ModelError(f"input {name!r}: {array.size} numbers were given; expected {expected}")
            if name in actuators:
                data.ctrl[actuators.index(name)] = array[0]
                continue
            k = int(model.body_mocapid[bodies.index(name)])
            data.mocap_pos[k] = array[:3]
            if array.size == 7:
                data.mocap_quat[k] = array[3:]
        return state

    def inputs(self, state: State) -> dict[str, Array]:
        """Return controls of actuators [any], poses of mocap bodies [m, -], shape (7,), and inputs of the
        world around the robot [N, N m, m/s, rad/s], by name."""
        data, model = self.prepared.data, self.prepared.model
        names = self.prepared.robot.names("actuator")
        values = {name: np.array(data.ctrl[k]) for k, name in enumerate(names)}
        for body in np.flatnonzero(model.body_mocapid >= 0).tolist():
            k = self._mocap(body)
            if k < 0:
                continue
            values[self.model.names[body]] = np.concatenate([data.mocap_pos[k], data.mocap_quat[k]])
        return values | self.world_inputs

    def _mocap(self, body: int) -> int:
        """Return the number of a mocap body that the user moves; -1 for other bodies."""
        k, drive = int(self.prepared.model.body_mocapid[body]), self.prepared.drive
        return -1 if drive is not None and k in drive.mocap else k

    # 2. Rows of records.

    def keep(self, step: Step, before: State, state: State, index: int, closes: bool, told: bool) -> Kept:
        """Return the data of a step that ended at `state` for its row."""
        return self._rows.of_step(step, before, state, index, closes)

    def rows(self, kept: Sequence[Any]) -> Rows:
        """Return one row per step."""
        return self._rows.rows(kept)

    def first(self, state: State, memory: Memory, index: int, sums: dict[str, float]) -> Rows:
        """Return the record of the start."""
        return self._rows.first(state, memory, index, sums)

    def reduction(self, sums: dict[str, float]) -> Reduction:
        """Return the reduction of steps to records."""
        return reduction(sums)

    # 3. Quantities computed from records on access.

    def parts(self) -> dict[str, Any]:
        """Return further arguments of a `Trajectory` of the records."""
        return {"choose": None, "forces": "solver"}

    def sums(self, of: Trajectory, since: float) -> dict[str, float]:
        """Return energies from which a run continues, in addition to totals: none."""
        return {}

    def written(self, of: Trajectory) -> None:
        """Do nothing: robots have no data that changes once the records `of` are in a file."""


def begun_robot(
    prepared: PreparedRobot, model: RobotModel, h: Stride | None, scheme: Any, start: Any
) -> Begun:
    """Return the start of a run of a robot, from None (the robot's start), a State or a Checkpoint."""
    robot = prepared.robot
    if start is None or isinstance(start, State):
        chosen = registry.chosen_for_robots(scheme)
        state = robot.start if start is None else start
        robot.check_state(state)
        h = float(prepared.robot.model.opt.timestep) if h is None else h
        return begun_new(chosen, state, h, prepared)
    if not isinstance(start, Checkpoint) or not isinstance(start.model, RobotModel):
        kind = "of another kind of model" if isinstance(start, Checkpoint) else type(start).__name__
        raise ModelError(
            f"start is {kind}; expected a checkpoint of a robot, such as trajectory.checkpoint(), or a State,"
            " such as robot.key('home')"
        )
    start.model.check_same(model)
    robot.check_state(start.state)
    chosen = registry.chosen_for_robots(start.scheme if scheme is None else scheme)
    return begun_from(start, chosen, h, prepared, np.isfinite)
