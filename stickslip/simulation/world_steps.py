"""Steps of a world, as the run of any model makes and keeps them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.interrupts import Interrupts
from stickslip.kernels.steps import bodies as kernels
from stickslip.mechanics import energy
from stickslip.mechanics.sensors import Reading
from stickslip.mechanics.world import World
from stickslip.problem.solution import Verdict
from stickslip.schemes import registry
from stickslip.schemes.body_forces import with_least_forces
from stickslip.schemes.body_march import BodyMarch, Stretch
from stickslip.schemes.body_step import BodyScheme
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory, Selector, Solver, Step
from stickslip.simulation.begun import Begun, begun_from, begun_new
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import Clock
from stickslip.simulation.contacts import CONTACT_WIDTHS, WHOLE
from stickslip.simulation.recorder import Marched
from stickslip.simulation.rows import TOTAL, Reduction, Rows, Table, rule
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_forces import WorldForces
from stickslip.simulation.world_model import WorldModel
from stickslip.simulation.world_notes import Lookout
from stickslip.state import Array, IntArray, ModelError, State

MOST_AXES = 8
"""Of what a sensor shows: as many as files keep."""
NUMBERS = (
    "t", "h", "index", "verdicts", "natural", "natural_scaled", "iterations", "penetration", "opening",
    "correction", "kinetic", "potential", "dissipated", "work", "lifted", "balance",
)  # fmt: skip
"""Columns of one number per row, in the order in which a kept step has them."""
TOTALS = tuple(name for name in NUMBERS if rule(name) == TOTAL)
"""Energies that add up over a run."""
KINDS = {"index": np.int64, "iterations": np.int64, "verdicts": np.int8}
"""Columns that are no reals."""
JUDGED = {
    "natural": kernels.NATURAL, "natural_scaled": kernels.NATURAL_SCALED, "iterations": kernels.ITERATIONS,
    "penetration": kernels.PENETRATION, "correction": kernels.CORRECTION, "kinetic": kernels.KINETIC,
    "potential": kernels.POTENTIAL, "dissipated": kernels.DISSIPATED, "work": kernels.WORK,
    "lifted": kernels.LIFTED, "balance": kernels.BALANCE,
}  # fmt: skip
"""Columns of the numbers of steps made together."""


class _Kept(NamedTuple):
    """What rows need of a step."""

    numbers: tuple[float, ...]
    q: Array
    v: Array
    contacts: tuple[Any, ...]
    joint_r: Array
    joint_id: IntArray
    sensors: tuple[Array, ...]


class _Together(NamedTuple):
    """What rows need of steps made together."""

    room: Any
    steps: int
    t: list[float]
    """Their ends [s]."""
    h: float
    number: int
    """The clock's before the first."""
    q: Array
    v: Array
    ends: list[int]
    """Which are recorded."""
    sensors: list[tuple[Array, ...]]
    """What these show then."""


class WorldSteps:
    """Makes the steps of one run of a world, and the rows of its records."""

    def __init__(
        self, prepared: PreparedWorld, model: WorldModel, begun: Begun, solver: Solver,
        select: Selector | None,
    ):  # fmt: skip
        self.prepared, self.scheme, self.solver, self.model = prepared, begun.scheme, solver, model
        self.every = 1
        """Every how many steps are recorded."""
        self._forces = None if select is None else WorldForces(select)
        """Chooses the impulses that records tell; None: those of the solver."""
        self._records = 1
        """So far, with the start."""
        self._lookout = Lookout(prepared.world, begun.state)
        self._march = BodyMarch.of(prepared, begun.scheme, solver)
        """Makes several steps together; None where they are made one by one."""
        self._inputs: dict[str, Array] = {}
        """Those that were set."""
        self._shapes: list[tuple[int, ...]] = []
        """Of what the sensors show."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What else happened, a sentence each."""
        return self._lookout.notes

    # 1. The step.

    def step(self, state: State, memory: Memory, h: float) -> Step:
        """The step of length h that begins at `state`."""
        return self.scheme.step(self.prepared, state, memory, h, self.solver)  # type: ignore[no-any-return]

    def again(self, state: State, memory: Memory, h: float) -> Callable[[], Step]:
        """What makes a step once more, whatever the inputs are by then."""
        return partial(self.scheme.step, self.prepared, state, memory, h, self.solver)

    def contacts(self, memory: Memory, step: Step | None) -> int:
        """Of the last step; -1 where that is not known."""
        return int(memory["id"].size) if step is None else len(step.contacts)

    def check(self, step: Step, state: State) -> None:
        """Refuse a state that is not finite."""
        if not (_all_finite(state.q) and _all_finite(state.v)):
            self.prepared.world.check_state(state)

    def explain(self, state: State, step: Step, raised: bool) -> str:
        """Between which bodies the answer of a step is worst, as part of a sentence."""
        worst = next((one.residuals.worst for one in step.solves if not one.ok), -1)
        if not raised or step.reason or not 0 <= worst < len(step.contacts):
            return ""
        first, second = (self.model.names[body] for body in step.contacts.body[worst])
        return f", worst where {first!r} and {second!r} touch"

    def march(
        self, state: State, memory: Memory, clock: Clock, index: int, most: int, every: int, end: int,
        interrupts: Interrupts,
    ) -> Marched | None:  # fmt: skip
        """Several steps in one compiled call; None where the next is made by itself."""
        if self._march is None:
            return None
        # Least forces are chosen from steps made again, which needs the step before a record.
        if self._forces is not None and every > 1:
            most = min(most, every - index % every) - 1
        if most < 1:
            return None
        return interrupts.run(self._together, state, memory, clock, index, most, every, end)

    def _together(
        self, state: State, memory: Memory, clock: Clock, index: int, most: int, every: int, end: int
    ) -> Marched | None:  # fmt: skip
        assert self._march is not None
        stretch = self._march.make(state, memory, clock.h, clock.at, index, every, end, most)
        if stretch is None:
            return None
        k, n, room = stretch.steps, state.q.size, stretch.room
        q, v = room.q.reshape(-1, n), room.v.reshape(len(room.v), -1)
        q.flags.writeable = v.flags.writeable = False
        t = [clock.at(index + j) for j in range(1, k + 1)]
        numbers = range(index + 1, index + k + 1)
        ends = [j for j, number in enumerate(numbers) if number % every == 0 or number == end]
        if self._forces is not None and ends:
            again = partial(self._again, stretch, (state.t, *t[:-1]), memory, clock.h)
            self._forces.hold(self._records, len(ends), again, room.local.nbytes)
        self._records += len(ends)
        for j in range(0 if self._lookout.idle else k):
            self._lookout.look(State(t[j], q[j + 1], v[j + 1]))
        shown = [self._read(one) for one in self._readings(stretch, state, t, clock.h, ends)]
        kept = _Together(room, k, t, clock.h, index, q[1 : k + 1], v[1 : k + 1], ends, shown)
        return Marched(
            kept, k, State(t[-1], q[k], v[k]),
            lambda j: stretch.memory if j == k - 1 else stretch.memory_after(j + 1, memory),
            float(room.numbers[k - 1, kernels.NATURAL_SCALED]),
            float(room.numbers[:k, kernels.NATURAL_SCALED].max()),
        )  # fmt: skip

    def _marched(self, kept: Sequence[_Together]) -> Rows:
        """Rows of steps made together."""

        def joined(parts: list[Any]) -> Any:
            return parts[0] if len(parts) == 1 else np.concatenate(parts)

        table = joined([one.room.numbers[: one.steps] for one in kept])
        counts = [one.steps for one in kept]
        columns: dict[str, Any] = {
            "t": np.concatenate([one.t for one in kept]), "h": np.repeat([one.h for one in kept], counts),
            "index": joined([one.number + np.arange(1, one.steps + 1) for one in kept]),
            "verdicts": np.full(len(table), Verdict.CERTIFIED.code, np.int8), "opening": np.zeros(len(table)),
            "q": joined([one.q for one in kept]), "v": joined([one.v for one in kept]),
        }  # fmt: skip
        columns |= {name: table[:, place].astype(KINDS.get(name, float)) for name, place in JUDGED.items()}
        first = np.cumsum([0, *counts])
        ends = [start + j for start, one in zip(first.tolist(), kept, strict=False) for j in one.ends]
        shown = [each for one in kept for each in one.sensors]
        for i, sensor in enumerate(self.prepared.world.sensors):
            column = np.zeros((len(table), *self._shapes[i]))
            if shown:
                column[ends] = [one[i] for one in shown]
            columns[f"sensors/{sensor.name}"] = column
        found = {
            name: joined([getattr(one.room, name)[: one.room.offset[one.steps]] for one in kept])
            for name in CONTACT_WIDTHS
            if name != "choice"
        }
        found["choice"] = np.zeros(len(found["id"]), np.int64)
        each = joined([np.diff(one.room.offset[: one.steps + 1]) for one in kept])
        joints = Table(np.zeros(len(table), np.int64), {"r": np.zeros(0), "id": np.zeros(0, np.int64)})
        return Rows(columns, {"contacts": Table(each, found), "joints": joints})

    def _again(self, stretch: Stretch, starts: tuple[float, ...], memory: Memory, h: float, k: int) -> Step:
        """Step k of a stretch whose steps are all recorded, made by itself; starts: of its steps [s]; memory:
        before the first."""
        q, v = stretch.room.q[k].reshape(-1), stretch.room.v[k].reshape(-1)
        return self.step(State(starts[k], q, v), stretch.memory_after(k, memory), h)

    def set_inputs(self, values: Mapping[str, ArrayLike], state: State) -> State:
        """Give inputs of the world other values from here on; the state, which stays as it is."""
        if self._forces is not None:
            self._forces.settle()  # steps that are made again had the inputs of before
        self.prepared = self.prepared.with_inputs(values)
        self._inputs |= {name: np.array(value, float) for name, value in values.items()}
        self._march = BodyMarch.of(self.prepared, self.scheme, self.solver)
        return state

    def inputs(self, state: State) -> dict[str, Array]:
        """Values of the inputs of the world, by name [N, N m, m/s, rad/s], any shape."""
        defaults = {name: np.asarray(one.default) for name, one in self.prepared.world.inputs.items()}
        return defaults | self._inputs

    # 2. What is kept of it.

    def keep(self, step: Step, before: State, state: State, index: int, closes: bool, told: bool) -> _Kept:
        """What rows need of a step that ended at `state`; told: whether its record is looked at now."""
        forces, contacts, joint_r, joint_id = self._forces, NOTHING, np.zeros(0), np.zeros(0, np.int64)
        sensors = tuple(np.zeros(shape) for shape in self._shapes)
        if closes:
            c = step.contacts
            joint_id = np.full(step.joint_r.size, -1) if step.joint_id is None else step.joint_id
            # Of the solver's impulses, whichever are told.
            impulses = (step.r, step.joint_r, joint_id)
            world, span = self.prepared.world, (state, before, step.h)
            sensors = self._read(Reading(world, *span, c.body, c.point, c.frame, *impulses))
            if forces is not None and told:
                step = with_least_forces(step, forces.select)
            elif forces is not None and step.solves:
                forces.add(self._records, step)
            self._records += 1
            choice = np.zeros(len(c), np.int64) if step.choice is None else step.choice
            contacts = (c.id, c.body, c.point, c.frame, c.gap, c.law, step.r, step.u, choice)
            joint_r = step.joint_r
        self._lookout.look(state)
        e = step.energy
        code = 0 if step.ok else step.verdict.code
        numbers = (
            state.t, step.h, index, code, step.natural, step.natural_scaled, step.iterations,
            step.penetration, step.opening, step.correction, e.kinetic, e.potential, e.dissipated, e.work,
            e.lifted, e.balance,
        )  # fmt: skip
        return _Kept(numbers, state.q, state.v, contacts, joint_r, joint_id, sensors)

    def rows(self, kept: Sequence[Any]) -> Rows:
        """One row per step."""
        if isinstance(kept[0], _Together):
            return self._marched(kept)
        table = np.array([one.numbers for one in kept])
        columns: dict[str, Any] = {
            name: table[:, k].astype(KINDS.get(name, float)) for k, name in enumerate(NUMBERS)
        }
        columns |= {"q": np.stack([one.q for one in kept]), "v": np.stack([one.v for one in kept])}
        for k, sensor in enumerate(self.prepared.world.sensors):
            columns[f"sensors/{sensor.name}"] = np.stack([one.sensors[k] for one in kept])
        contacts = {
            name: np.concatenate([one.contacts[k] for one in kept]) for k, name in enumerate(CONTACT_WIDTHS)
        }
        counts = np.array([len(one.contacts[0]) for one in kept])
        joints = np.array([len(one.joint_r) for one in kept])
        tables = {
            "contacts": Table(counts, contacts),
            "joints": Table(
                joints,
                {
                    "r": np.concatenate([one.joint_r for one in kept]),
                    "id": np.concatenate([one.joint_id for one in kept]),
                },
            ),
        }
        return Rows(columns, tables)

    def first(self, state: State, memory: Memory, index: int, sums: dict[str, float]) -> Rows:
        """The record of the start."""
        world = self.prepared.world
        kinetic, potential = sums.get("kinetic"), sums.get("potential")
        if kinetic is None or potential is None:
            kinetic, potential = energy.kinetic(world, state.v), energy.potential(world, state.t, state.q)
        totals = (sums.get(name, 0.0) for name in TOTALS)
        numbers = (state.t, 0.0, index, *(0.0,) * 7, kinetic, potential, *totals)
        sensors = self._read(Reading.at(world, state))
        none = np.zeros(0), np.zeros(0, np.int64)
        return self.rows([_Kept(numbers, state.q, state.v, NOTHING, *none, sensors)])

    def reduction(self, sums: dict[str, float]) -> Reduction:
        """How steps become records."""
        return Reduction({name: sums.get(name, 0.0) for name in TOTALS})

    def _readings(
        self, stretch: Stretch, before: State, t: list[float], h: float, ends: list[int]
    ) -> Iterator[Reading]:
        """Those of the recorded steps of a stretch, which began at `before` and whose steps end at t."""
        room, times = stretch.room, [before.t, *t]
        for end in ends if self.prepared.world.sensors else ():
            first, last = (
                State(times[k], room.q[k].reshape(-1), room.v[k].reshape(-1)) for k in (end, end + 1)
            )
            own = slice(int(room.offset[end]), int(room.offset[end + 1]))
            contacts = (room.body[own], room.point[own], room.frame[own], room.r[own])
            yield Reading(self.prepared.world, last, first, h, *contacts)

    def _read(self, reading: Reading) -> tuple[Array, ...]:
        """What the sensors show; always of the same shape, and never NaN."""
        shown, state = [], reading.state
        for k, sensor in enumerate(self.prepared.world.sensors):
            value = sensor.read(reading)
            at = f"sensor {sensor.name!r}: at t = {state.t:.9g} s"
            if value.ndim > MOST_AXES:
                raise ModelError(f"{at} it shows an array of {value.ndim} axes; files keep {MOST_AXES}")
            if np.isnan(value).any():
                raise ModelError(f"{at} it shows {value}")
            if k == len(self._shapes):
                self._shapes.append(value.shape)
            elif value.shape != self._shapes[k]:
                raise ModelError(f"{at} its shape is {value.shape}; at first it was {self._shapes[k]}")
            shown.append(value)
        return tuple(shown)

    # 3. What is made of records when they are asked for.

    def parts(self) -> dict[str, Any]:
        """What a trajectory of the records needs beside them."""
        return {"choose": self._forces, "forces": "solver" if self._forces is None else "least"}

    def sums(self, of: Trajectory, since: float) -> dict[str, float]:
        """Energies beside those that add up over the steps: none."""
        return {}

    def written(self, of: Trajectory) -> None:
        """Take note that records are in a file; `of` ends with the last of them."""
        if self._forces is not None:
            self._forces.forget(len(of) - 1)


NOTHING: tuple[Any, ...] = tuple(
    np.zeros((0, *width), np.int64 if name in WHOLE else np.float64) for name, width in CONTACT_WIDTHS.items()
)
"""No contact, by column."""


def begun_world(
    prepared: PreparedWorld, model: WorldModel, h: float | None, scheme: str | BodyScheme | None, start: Any
) -> Begun:  # fmt: skip
    """The scheme, and the state, memory and clock that a run of a world begins with."""
    world = prepared.world

    def begin(found: BodyScheme) -> Callable[[State, float], Memory]:
        return lambda state, h: found.begin(prepared, state, h)

    if start is None or isinstance(start, State):
        found = registry.chosen_for_bodies(scheme)
        state = world.start if start is None else checked_state(world, start)
        return begun_new(found, state, h, begin(found))
    if not isinstance(start, Checkpoint) or not isinstance(start.model, WorldModel):
        what = "of a system" if isinstance(start, Checkpoint) else type(start).__name__
        raise ModelError(
            f"start is {what}; expected a checkpoint of a world, such as trajectory.checkpoint(), or a State"
            " to begin with"
        )
    start.model.check_same(model)
    checked_state(world, start.state)
    found = (
        registry.remade_for_bodies(start.scheme, start.scheme_options)
        if scheme is None
        else registry.chosen_for_bodies(scheme)
    )
    return begun_from(start, found, h, begin(found), np.isfinite)


def checked_state(world: World, state: State) -> State:
    """A state that the user gives, as a copy that cannot be written to."""
    try:
        q, v = np.array(state.q, float), np.array(state.v, float)
        found = State(float(state.t), q, v)
    except (TypeError, ValueError) as error:
        raise ModelError(f"start: t, q and v must be real numbers: {error}") from None
    world.check_state(found)
    q.flags.writeable = v.flags.writeable = False
    return found


def _all_finite(x: Array) -> bool:
    """Whether all numbers are; the sum of their squares tells in one call, unless it is too large."""
    return math.isfinite(x.dot(x)) or bool(np.isfinite(x).all())
