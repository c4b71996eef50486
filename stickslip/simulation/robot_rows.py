"""Rows of records of runs of robots, from single steps and from steps of compiled calls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.kernels.robots import layout as at
from stickslip.kernels.robots.motion import kinetic_energy
from stickslip.kernels.robots.outputs import write_applied, write_bodies
from stickslip.schemes.robot_drive import mocap_twists
from stickslip.schemes.robot_march import RobotStrip
from stickslip.schemes.robot_memory import restore
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Memory, Step
from stickslip.simulation.body_rows import (
    Kept,
    certified_columns,
    contacts_of,
    numbers_of,
    rows_of,
    start_numbers,
)
from stickslip.simulation.robot_model import RobotModel
from stickslip.simulation.robot_sensors import RobotSensors
from stickslip.simulation.rows import Rows, Table, joined, lent
from stickslip.state import Array, State

JUDGED = {
    "natural": at.NATURAL, "natural_scaled": at.NATURAL_SCALED, "iterations": at.ITERATIONS,
    "penetration": at.PENETRATION, "opening": at.OPENING, "correction": at.CORRECTION,
    "kinetic": at.KINETIC, "potential": at.POTENTIAL, "dissipated": at.DISSIPATED, "work": at.WORK,
    "lifted": at.LIFTED, "balance": at.BALANCE,
}  # fmt: skip
"""Columns of the kernel's numbers of each step, by the name of the record's column."""
APPLIED = "inputs/qfrc_applied", "inputs/xfrc_applied"
"""Columns of forces that a user applies: generalised ones, and those on bodies."""


@dataclass(eq=False, slots=True)
class StripSteps:
    """Consecutive steps of a strip, which become rows together."""

    strip: RobotStrip
    first: int
    """Number of steps of the strip before the first of these."""
    stop: int
    """Number of steps of the strip up to the last of these."""
    ends: list[int]
    """Numbers of the recorded steps, counted from the first of these."""
    sensors: list[tuple[Array, ...]]
    """Values of the sensors of the world at the recorded steps [any], each of the shape of its sensor."""
    inputs: list[dict[str, Array]]
    """Inputs of the world in each of the steps [N, N m, m/s, rad/s], each of the shape of its input."""
    read: bool = False
    """Whether the steps have been converted to rows, so that no step may be added."""


class RobotRows:
    """Converts steps of a run of a robot to rows of records."""

    def __init__(self, prepared: PreparedRobot, model: RobotModel):
        self.prepared, self.model = prepared, model
        self.sensors = RobotSensors(prepared)
        """Reader of the sensors of the world around the robot."""

    @property
    def world_inputs(self) -> dict[str, Array]:
        """Inputs of forces and motions of the world around the robot, by name [N, N m, m/s, rad/s]."""
        return {} if self.prepared.drive is None else self.prepared.drive.inputs

    def of_step(self, step: Step, before: State, state: State, index: int, closes: bool) -> Kept:
        """Return the data of a step that ended at `state` for its row; closes: whether it is recorded."""
        arrays = self._arrays(state, before, step.h)
        bodies = arrays["poses"].reshape(-1, 7), arrays["twists"].reshape(-1, 6)
        if closes:
            applied = arrays.get(APPLIED[1])
            arrays |= self.sensors.of_step(step, before, state, *bodies, applied)
        else:
            arrays |= self.sensors.rows.columns(None)
        row = Kept(numbers_of(step, state, index), arrays)
        if not closes:
            return row
        joint_id = np.zeros(0, np.int64) if step.joint_id is None else step.joint_id
        return row._replace(contacts=contacts_of(step), joint_r=step.joint_r, joint_id=joint_id)

    def _arrays(self, state: State, before: State, h: float) -> dict[str, Array]:
        """Return the columns of bodies and sensors at the state of the data, at the end of a step of length h
        from `before`."""
        nb, data = len(self.model), self.prepared.data
        poses, twists = np.empty((nb, 7)), np.empty((nb, 6))
        write_bodies(self.prepared.motion, self.prepared.traits, poses, twists)
        columns = {
            f"sensors/{name}": np.array(data.sensordata[first : first + count])
            for name, (first, count) in zip(
                self.model.sensor_names, self.model.sensor_place.tolist(), strict=True
            )
        }
        moved = mocap_twists(self.prepared.model, before.z[None], state.z[None], np.array([h]), twists)
        twist = self._with_motions(np.array([state.t]), poses.reshape(1, -1), moved.reshape(1, -1))[0]
        pushed, applied = np.zeros(1, np.int64), np.empty((1, state.v.size + 6 * nb))
        write_applied(self.prepared.motion, pushed, applied, 0)
        columns |= {f"inputs/{name}": value for name, value in self.world_inputs.items()}
        return {
            "q": state.q, "v": state.v, "z": state.z, "poses": poses.reshape(-1), "twists": twist, **columns,
            **(_input_columns(applied[0], state.v.size) if pushed[0] else {}),
        }  # fmt: skip

    def _with_motions(self, t: Array, poses: Array, twists: Array) -> Array:
        """Return the velocities of all bodies, with those of the world's kinematic bodies."""
        drive = self.prepared.drive
        return twists if drive is None else drive.with_motions(t, poses, twists)

    def rows(self, steps: Sequence[Any]) -> Rows:
        """Return one row per step, from results of `of_step` or from `StripSteps`."""
        if isinstance(steps[0], StripSteps):
            recorded = any(part.ends for part in steps)
            pushed = recorded and any(
                part.strip.room.pushed[part.first + 1 : part.stop + 1].any() for part in steps
            )
            return joined([self._of_strip(part, recorded, pushed) for part in steps])
        # Forces that the user applies are columns if there are any.
        forces: dict[str, Array] = next((row.arrays for row in steps if APPLIED[0] in row.arrays), {})
        for name in APPLIED if forces else ():
            for row in steps:
                row.arrays.setdefault(name, np.zeros_like(forces[name]))
        return rows_of(steps)

    def _of_strip(self, part: StripSteps, recorded: bool, pushed: bool) -> Rows:
        """Return the rows of steps of a strip.

        recorded: whether any step is recorded, which needs all columns; pushed: whether to include the forces
        that the user applies.
        """
        # 1. Columns of all steps.
        part.read = True
        strip, a, b = part.strip, part.first, part.stop
        room, n, after, place = strip.room, b - a, slice(a + 1, b + 1), self.model.sensor_place
        numbers, drive = room.numbers[a:b], self.prepared.drive
        if drive is not None:
            numbers = drive.own_numbers(numbers, room.q[a : b + 1], room.v[a : b + 1])
        columns = certified_columns(room.t[after], strip.h, strip.index + a, numbers, JUDGED)
        if not recorded:
            return lent(columns, {})
        # 2. States, bodies, sensors and inputs.
        poses, twists = room.poses[after].reshape(n, -1), room.twists[after].reshape(n, -1)
        moved = mocap_twists(self.prepared.model, room.z[a:b], room.z[after], np.full(n, strip.h), twists)
        columns |= {name: getattr(room, name)[after] for name in ("q", "v", "z")}
        columns |= {"poses": poses, "twists": self._with_motions(columns["t"], poses, moved)}
        for name, (first, count) in zip(self.model.sensor_names, place.tolist(), strict=True):
            columns[f"sensors/{name}"] = room.sensors[after, first : first + count]
        if pushed:
            forces = np.where(room.pushed[after, None] != 0, room.applied[after], 0.0)
            columns |= _input_columns(forces, room.v.shape[1])
        columns |= self.sensors.rows.rows(n, part.ends, part.sensors)
        for name in self.world_inputs:
            columns[f"inputs/{name}"] = np.array([inputs[name] for inputs in part.inputs])
        return lent(columns, _tables(room, a, b, part.ends))

    def first(self, state: State, memory: Memory, index: int, sums: dict[str, float]) -> Rows:
        """Return the record of the start; sums: energies so far [J]."""
        restore(self.prepared, state, memory)
        motion, traits = self.prepared.motion, self.prepared.traits
        kinetic, potential = sums.get("kinetic"), sums.get("potential")
        if kinetic is None or potential is None:
            kinetic = kinetic_energy(motion, traits)
            potential = float(motion.energy[0])
            if self.prepared.drive is not None:
                carriers = self.prepared.drive.carrier_energy(state.q[None], state.v[None])
                kinetic, potential = kinetic - float(carriers[0][0]), potential - float(carriers[1][0])
        numbers = start_numbers(state, index, kinetic, potential, sums)
        arrays = self._arrays(state, state, 1.0)
        bodies = arrays["poses"].reshape(-1, 7), arrays["twists"].reshape(-1, 6)
        return self.rows([Kept(numbers, arrays | self.sensors.at_start(state, *bodies))])


def _input_columns(forces: Array, nv: int) -> dict[str, Array]:
    """Return the columns of the forces that a user applies; forces: generalised ones, then those on bodies
    [N, N m], shape (..., nv + 6 nbody)."""
    general, bodies = forces[..., :nv], forces[..., nv:]
    return dict(zip(APPLIED, (general, bodies.reshape(*bodies.shape[:-1], -1, 6)), strict=True))


def _tables(room: Any, a: int, b: int, ends: list[int]) -> dict[str, Table]:
    """Return the tables of contacts and joints of steps a to b; ends: numbers of the recorded steps, counted
    from a."""
    tables = {}
    for name, table in (("contacts", room.contacts), ("joints", room.joints)):
        first, stop = table.offset[a : b + 1 : b - a].tolist()
        rows: Any = slice(first, stop if ends else first)
        counts = np.diff(table.offset[a : b + 1]) if ends else np.zeros(b - a, np.int64)
        if 0 < len(ends) < b - a:
            closes = np.zeros(b - a, bool)
            closes[ends] = True
            rows = np.flatnonzero(np.repeat(closes, counts)) + first
            counts = np.where(closes, counts, 0)
        columns = {key: getattr(table, key)[rows] for key in table._fields if key != "offset"}
        if name == "contacts":
            columns["choice"] = np.zeros(len(columns["id"]), np.int64)
        tables[name] = Table(counts, columns)
    return tables
