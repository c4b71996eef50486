"""Stepper of runs of robots: makes steps, and converts them to rows of records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.interrupts import Interrupts
from stickslip.kernels.robots import layout as at
from stickslip.kernels.robots.motion import kinetic_energy
from stickslip.kernels.robots.outputs import deepest, tell_bodies, write_applied
from stickslip.mechanics.given import called, numbers
from stickslip.names import LISTED, alternatives
from stickslip.robots.linkage import input_values
from stickslip.schemes import registry
from stickslip.schemes.robot_drive import mocap_twists
from stickslip.schemes.robot_march import ROWS, RobotMarch, RobotStrip
from stickslip.schemes.robot_memory import applied_to, memory_of, restore
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Memory, Solver, Step
from stickslip.simulation.begun import Begun, begun_from, begun_new
from stickslip.simulation.body_rows import (
    Kept,
    certified_columns,
    contacts_of,
    explain_contact,
    numbers_of,
    reduction,
    rows_of,
    start_numbers,
)
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import OFF_CLOCK, Clock, Stride
from stickslip.simulation.recorder import Marched, recorded
from stickslip.simulation.robot_model import RobotModel
from stickslip.simulation.robot_sensors import RobotSensors
from stickslip.simulation.rows import Reduction, Rows, Table, joined, lent
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, ModelError, State, UnknownNameError

JUDGED = {
    "natural": at.NATURAL, "natural_scaled": at.NATURAL_SCALED, "iterations": at.ITERATIONS,
    "penetration": at.PENETRATION, "opening": at.OPENING, "correction": at.CORRECTION,
    "kinetic": at.KINETIC, "potential": at.POTENTIAL, "dissipated": at.DISSIPATED, "work": at.WORK,
    "lifted": at.LIFTED, "balance": at.BALANCE,
}  # fmt: skip
"""Columns of the kernel's numbers of each step, by the name of the record's column."""
APPLIED = "inputs/qfrc_applied", "inputs/xfrc_applied"
"""Columns of forces that a user applies: generalised ones, and those on bodies."""
Control = Callable[[Any], Any]
"""User's function of MuJoCo's data, called before each step: it returns the controls, or writes them to
`data.ctrl`."""


@dataclass(eq=False, slots=True)
class _Together:
    """Data of some steps of a strip for their rows."""

    strip: RobotStrip
    """The strip."""
    first: int
    """Number of steps of the strip before the first of these."""
    stop: int
    """Number of steps of the strip up to the last of these."""
    ends: list[int]
    """Numbers of the recorded steps, counted from the first of these."""
    shown: list[tuple[Array, ...]]
    """Values of the sensors of the world around the robot at the recorded steps."""
    given: list[dict[str, Array]]
    """Inputs of that world in each of the steps."""
    read: bool = False
    """Whether the steps have been converted to rows, so that no step may be added."""


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
        self._growing: _Together | None = None
        """Data of the last steps of compiled calls, to which more may be added."""
        self._sensors = RobotSensors(prepared)
        if prepared.drive is not None:
            prepared.drive.begin(begun.inputs)

    @property
    def world_inputs(self) -> dict[str, Array]:
        """Inputs of forces and motions of the world around the robot, by name [N, N m, m/s, rad/s]."""
        return {} if self.prepared.drive is None else self.prepared.drive.inputs

    # 1. Steps.

    @property
    def free(self) -> bool:
        """Whether compiled calls do not use Python, so that threads can run them in parallel."""
        return self._march is not None and self.control is None and self.prepared.free

    def step(self, state: State, memory: Memory, h: float) -> Step:
        """Return the step of length h that begins at `state`."""
        self._ask(state)
        made: Step = self.scheme.step(self.prepared, state, memory, h, self.solver)
        return made

    def again(self, state: State, recall: Callable[[], Memory], h: float) -> Callable[[], Step]:
        """Return a function that repeats a step, on separate data."""
        motion = self.prepared.motion
        given = np.concatenate([motion.ctrl, motion.mocap_pos.reshape(-1), motion.mocap_quat.reshape(-1)])
        data, inputs = self.prepared.data, self.world_inputs
        applied = applied_to(data.qfrc_applied, data.xfrc_applied, data.eq_active)
        return partial(self._again, state, recall, h, given, applied, inputs)

    def _again(
        self, state: State, recall: Callable[[], Memory], h: float, given: Array,
        applied: Mapping[str, Array], inputs: Mapping[str, Array],
    ) -> Step:  # fmt: skip
        """Repeat a step with the user's controls and poses of mocap bodies [any, m, -], shape
        (nu + 7 nmocap,), forces, and inputs of the world."""
        z, prepared = np.array(state.z), PreparedRobot(self.prepared.robot)
        if prepared.drive is not None:
            prepared.drive.begin(inputs)
        na, nu, n = prepared.model.na, prepared.model.nu, prepared.model.nmocap
        z[na : na + nu] = given[:nu]
        begin, memory = State(state.t, state.q, state.v, z), {**recall(), **applied}
        restore(prepared, begin, memory)
        prepared.data.mocap_pos[:] = given[nu : nu + 3 * n].reshape(n, 3)
        prepared.data.mocap_quat[:] = given[nu + 3 * n :].reshape(n, 4)
        made: Step = self.scheme.step(prepared, begin, memory, h, self.solver)
        return made

    def contacts(self, memory: Memory, step: Step | None) -> int:
        """Return the number of blocks of the last step."""
        return int(memory["key"].size) if step is None else len(step.contacts)

    def check(self, step: Step, state: State) -> None:
        """Raise ModelError for a state that is not finite."""
        if not all(np.isfinite(one).all() for one in (state.q, state.v, state.z)):
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
        return interrupts.run(self._together, state, recall, clock, index, most, every, end)

    def _together(
        self, state: State, recall: Callable[[], Memory], clock: Clock, index: int, most: int, every: int,
        end: int,
    ) -> Marched | None:  # fmt: skip
        """Make steps in one compiled call; None if the next step has to be made by itself."""
        assert self._march is not None
        self._ask(state)
        made = self._march.make(state, recall, clock.length(index + 1), clock.at, index, most)
        if made is None:
            return None
        return self._taken(*made, index, every, end)

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
        recall, given = (
            partial(self._memory, strip, stop - 1, self._active(), 0),
            strip.room.z[stop, self.prepared.model.na :],
        )
        more = self._applied(strip, stop, self._active()), self.world_inputs
        again = partial(self._again, before, recall, strip.h, given, *more)
        return self._taken(strip, done, index, every, OFF_CLOCK), again

    def _taken(self, strip: RobotStrip, done: int, index: int, every: int, end: int) -> Marched:
        """Return the last `done` steps of a strip, as those of a compiled call."""
        stop, numbers = strip.steps, strip.room.numbers
        grown = self._growing
        new = grown is None or grown.strip is not strip or grown.read
        if grown is None or new:
            grown = self._growing = _Together(strip, stop - done, stop, [], [], [])
        grown.stop, before, ends = stop, stop - done - grown.first, recorded(index, done, every, end)
        if self._sensors:
            grown.shown.extend([self._sensors.of_strip(strip, stop - done + k + 1) for k in ends])
        grown.ends.extend([before + k for k in ends])
        grown.given.extend([self.world_inputs] * done)
        residual = worst = numbers.item(stop - 1, at.NATURAL_SCALED)
        if done > 1:
            worst = float(numbers[stop - done : stop, at.NATURAL_SCALED].max())
        kept = grown if new else None
        recall = partial(self._memory, strip, stop, self._active())
        return Marched(kept, done, strip.state, recall, residual, worst)

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

    def _ask(self, state: State) -> None:
        """Call the user's function for the controls of the next step, and check them."""
        if self.control is None:
            return
        data = self.prepared.data
        if self.prepared.at is not state:
            self.prepared.place(state)
        given = called("the run", "control", self.control, (data,), state.t)
        if given is not None:
            try:
                values = np.asarray(given, float).reshape(-1)
            except (TypeError, ValueError):
                values = np.full(1, np.nan)
            own = data.ctrl.size - self._inputs  # controls of the world are the last, and may be omitted
            if values.size not in (own, data.ctrl.size) or not np.isfinite(values).all():
                raise ModelError(
                    f"control: at t = {state.t:.9g} s it gives {given!r}; expected {own} finite"
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
                told = alternatives(name, tuple(known), most=LISTED) if known else "the robot has none"
                raise UnknownNameError(f"unknown input {name!r}; {told}")
            if name in self.world_inputs:
                assert self.prepared.drive is not None
                self.prepared.drive.set({name: value})
                continue
            given = numbers(f"input {name!r}", "its value", np.ravel(value), (None,))
            sizes = (1,) if name in actuators else (3, 7)
            if given.size not in sizes:
                wanted = (
                    "a number" if sizes == (1,) else "a position (3,), or a position and a quaternion (7,)"
                )
                raise ModelError(f"input {name!r}: {given.size} numbers were given; expected {wanted}")
            if name in actuators:
                data.ctrl[actuators.index(name)] = given[0]
                continue
            k = int(model.body_mocapid[bodies.index(name)])
            data.mocap_pos[k] = given[:3]
            if given.size == 7:
                data.mocap_quat[k] = given[3:]
        return state

    def inputs(self, state: State) -> dict[str, Array]:
        """Return controls of actuators [any], poses of mocap bodies [m, -], shape (7,), and inputs of the
        world around the robot [N, N m, m/s, rad/s], by name."""
        data, model = self.prepared.data, self.prepared.model
        found = {name: np.array(data.ctrl[k]) for k, name in enumerate(self.prepared.robot.names("actuator"))}
        for body in np.flatnonzero(model.body_mocapid >= 0).tolist():
            k = self._mocap(body)
            if k < 0:
                continue
            found[self.model.names[body]] = np.concatenate([data.mocap_pos[k], data.mocap_quat[k]])
        return found | self.world_inputs

    def _mocap(self, body: int) -> int:
        """Return the number of a mocap body that the user moves; -1 for other bodies."""
        k, drive = int(self.prepared.model.body_mocapid[body]), self.prepared.drive
        return -1 if drive is not None and k in drive.mocap else k

    # 2. Rows of records.

    def keep(self, step: Step, before: State, state: State, index: int, closes: bool, told: bool) -> Kept:
        """Return the data of a step that ended at `state` for its row."""
        arrays = self._arrays(state, before, step.h)
        of_bodies = arrays["poses"].reshape(-1, 7), arrays["twists"].reshape(-1, 6)
        if closes:
            applied = arrays.get(APPLIED[1])
            arrays |= self._sensors.of_step(step, before, state, *of_bodies, applied)
        else:
            arrays |= self._sensors.rows.columns(None)
        kept = Kept(numbers_of(step, state, index), arrays)
        if not closes:
            return kept
        joint_id = np.zeros(0, np.int64) if step.joint_id is None else step.joint_id
        return kept._replace(contacts=contacts_of(step), joint_r=step.joint_r, joint_id=joint_id)

    def _arrays(self, state: State, before: State, h: float) -> dict[str, Array]:
        """Return the columns of bodies and sensors at the state of the data, at the end of a step of length h
        from `before`."""
        nb, data = len(self.model), self.prepared.data
        poses, twists = np.empty((nb, 7)), np.empty((nb, 6))
        tell_bodies(self.prepared.motion, self.prepared.traits, poses, twists)
        shown = {
            f"sensors/{name}": np.array(data.sensordata[first : first + count])
            for name, (first, count) in zip(
                self.model.sensor_names, self.model.sensor_place.tolist(), strict=True
            )
        }
        moved = mocap_twists(self.prepared.model, before.z[None], state.z[None], np.array([h]), twists)
        twist = self._twists(np.array([state.t]), poses.reshape(1, -1), moved.reshape(1, -1))[0]
        pushed, applied = np.zeros(1, np.int64), np.empty((1, state.v.size + 6 * nb))
        write_applied(self.prepared.motion, pushed, applied, 0)
        shown |= {f"inputs/{name}": value for name, value in self.world_inputs.items()}
        return {
            "q": state.q, "v": state.v, "z": state.z, "poses": poses.reshape(-1), "twists": twist, **shown,
            **(_input_columns(applied[0], state.v.size) if pushed[0] else {}),
        }  # fmt: skip

    def _twists(self, t: Array, poses: Array, twists: Array) -> Array:
        """Return the velocities of all bodies, with those of the world's motions."""
        drive = self.prepared.drive
        return twists if drive is None else drive.tell_twists(t, poses, twists)

    def rows(self, kept: Sequence[Any]) -> Rows:
        """Return one row per step."""
        if isinstance(kept[0], _Together):
            told = any(one.ends for one in kept)
            pushed = told and any(one.strip.room.pushed[one.first + 1 : one.stop + 1].any() for one in kept)
            return joined([self._marched(one, told, pushed) for one in kept])
        # Forces that the user applies are columns if there are any.
        given: dict[str, Array] = next((one.arrays for one in kept if APPLIED[0] in one.arrays), {})
        for name in APPLIED if given else ():
            for one in kept:
                one.arrays.setdefault(name, np.zeros_like(given[name]))
        return rows_of(kept)

    def _marched(self, kept: _Together, told: bool, pushed: bool) -> Rows:
        """Return the rows of steps of a strip. told: whether any step is recorded, which needs all columns;
        pushed: whether to include the forces that the user applies."""
        kept.read = True
        strip, a, b = kept.strip, kept.first, kept.stop
        room, n, after, place = strip.room, b - a, slice(a + 1, b + 1), self.model.sensor_place
        numbers, drive = room.numbers[a:b], self.prepared.drive
        if drive is not None:
            numbers = drive.own_numbers(numbers, room.q[a : b + 1], room.v[a : b + 1])
        columns = certified_columns(room.t[after], strip.h, strip.index + a, numbers, JUDGED)
        if not told:
            return lent(columns, {})
        poses, twists = room.poses[after].reshape(n, -1), room.twists[after].reshape(n, -1)
        moved = mocap_twists(self.prepared.model, room.z[a:b], room.z[after], np.full(n, strip.h), twists)
        columns |= {name: getattr(room, name)[after] for name in ("q", "v", "z")}
        columns |= {"poses": poses, "twists": self._twists(columns["t"], poses, moved)}
        for name, (first, count) in zip(self.model.sensor_names, place.tolist(), strict=True):
            columns[f"sensors/{name}"] = room.sensors[after, first : first + count]
        if pushed:
            forces = np.where(room.pushed[after, None] != 0, room.applied[after], 0.0)
            columns |= _input_columns(forces, room.v.shape[1])
        columns |= self._sensors.rows.rows(n, kept.ends, kept.shown)
        for name in self.world_inputs:
            columns[f"inputs/{name}"] = np.array([one[name] for one in kept.given])
        return lent(columns, _tables(room, a, b, kept.ends))

    def first(self, state: State, memory: Memory, index: int, sums: dict[str, float]) -> Rows:
        """Return the record of the start."""
        restore(self.prepared, state, memory)
        motion, traits = self.prepared.motion, self.prepared.traits
        kinetic, potential = sums.get("kinetic"), sums.get("potential")
        if kinetic is None or potential is None:
            kinetic = kinetic_energy(motion, traits)
            potential = float(motion.energy[0])
            if self.prepared.drive is not None:
                carried = self.prepared.drive.carrier_energy(state.q[None], state.v[None])
                kinetic, potential = kinetic - float(carried[0][0]), potential - float(carried[1][0])
        numbers = start_numbers(state, index, kinetic, potential, sums)
        arrays = self._arrays(state, state, 1.0)
        of_bodies = arrays["poses"].reshape(-1, 7), arrays["twists"].reshape(-1, 6)
        return self.rows([Kept(numbers, arrays | self._sensors.at_start(state, *of_bodies))])

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
        """Note that the records `of` have been written to a file."""


def _input_columns(forces: Array, nv: int) -> dict[str, Array]:
    """Return the columns of the forces that a user applies; forces: generalised ones, then those on bodies
    [N, N m], shape (..., nv + 6 nbody)."""
    general, bodies = forces[..., :nv], forces[..., nv:]
    return dict(zip(APPLIED, (general, bodies.reshape(*bodies.shape[:-1], -1, 6)), strict=True))


def _tables(room: Any, a: int, b: int, ends: list[int]) -> dict[str, Table]:
    """Return the tables of contacts and joints of steps a to b; ends: numbers of the recorded steps, counted
    from a."""
    made = {}
    for name, table in (("contacts", room.contacts), ("joints", room.joints)):
        first, stop = table.offset[a : b + 1 : b - a].tolist()
        rows: Any = slice(first, stop if ends else first)
        counts = np.diff(table.offset[a : b + 1]) if ends else np.zeros(b - a, np.int64)
        if 0 < len(ends) < b - a:
            closes = np.zeros(b - a, bool)
            closes[ends] = True
            rows = np.flatnonzero(np.repeat(closes, counts)) + first
            counts = np.where(closes, counts, 0)
        found = {key: getattr(table, key)[rows] for key in table._fields if key != "offset"}
        if name == "contacts":
            found["choice"] = np.zeros(len(found["id"]), np.int64)
        made[name] = Table(counts, found)
    return made


def begun_robot(
    prepared: PreparedRobot, model: RobotModel, h: Stride | None, scheme: Any, start: Any
) -> Begun:
    """Return the start of a run of a robot, from None (the robot's start), a State or a Checkpoint."""
    robot = prepared.robot
    if start is None or isinstance(start, State):
        found = registry.chosen_for_robots(scheme)
        state = robot.start if start is None else start
        robot.check_state(state)
        h = float(prepared.robot.model.opt.timestep) if h is None else h
        return begun_new(found, state, h, prepared)
    if not isinstance(start, Checkpoint) or not isinstance(start.model, RobotModel):
        what = "of another kind of model" if isinstance(start, Checkpoint) else type(start).__name__
        raise ModelError(
            f"start is {what}; expected a checkpoint of a robot, such as trajectory.checkpoint(), or a State,"
            " such as robot.key('home')"
        )
    start.model.check_same(model)
    robot.check_state(start.state)
    found = registry.chosen_for_robots(start.scheme if scheme is None else scheme)
    return begun_from(start, found, h, prepared, np.isfinite)
