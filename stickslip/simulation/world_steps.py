"""Stepper of runs of worlds: makes steps, and converts them to rows of records."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.interrupts import Interrupts
from stickslip.kernels.steps import bodies as kernels
from stickslip.mechanics import energy
from stickslip.mechanics.sensors import Reading
from stickslip.problem.checks import all_finite, frozen
from stickslip.schemes.body_forces import with_least_forces
from stickslip.schemes.body_march import BodyMarch, Strip, memory_of
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import OVERLAP, Memory, Selector, Solver, Step
from stickslip.simulation.begun import Begun
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
from stickslip.simulation.clock import OFF_CLOCK, Clock
from stickslip.simulation.contacts import CONTACT_WIDTHS
from stickslip.simulation.recorder import Lane, Marched, recorded
from stickslip.simulation.rows import Reduction, Rows, Table, joined
from stickslip.simulation.sensor_rows import SensorRows
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_forces import WorldForces
from stickslip.simulation.world_memory import MemoryTables
from stickslip.simulation.world_model import WorldModel
from stickslip.simulation.world_notes import Lookout
from stickslip.state import Array, State

JUDGED = {
    "natural": kernels.NATURAL, "natural_scaled": kernels.NATURAL_SCALED, "iterations": kernels.ITERATIONS,
    "penetration": kernels.PENETRATION, "correction": kernels.CORRECTION, "kinetic": kernels.KINETIC,
    "potential": kernels.POTENTIAL, "dissipated": kernels.DISSIPATED, "work": kernels.WORK,
    "lifted": kernels.LIFTED, "balance": kernels.BALANCE, "opening": kernels.OPENING,
}  # fmt: skip
"""Columns of the kernel's numbers of each step, by the name of the record's column."""


@dataclass(eq=False, slots=True)
class _Together:
    """Data of the steps of a strip for their rows."""

    strip: Strip
    """The strip."""
    steps: int = 0
    """Number of steps of the strip that are kept, from the first on."""
    ends: list[int] = field(default_factory=list)
    """Numbers of the recorded steps."""
    sensors: list[tuple[Array, ...]] = field(default_factory=list)
    """Values of the sensors at the ends of the recorded steps."""


class WorldSteps:
    """Stepper of one run of a world."""

    def __init__(
        self, prepared: PreparedWorld, model: WorldModel, begun: Begun, solver: Solver,
        select: Selector | None,
    ):  # fmt: skip
        self.prepared, self.scheme, self.solver, self.model = prepared, begun.scheme, solver, model
        self.every = 1
        """Number of steps between records."""
        self._select = select
        """Selects the reported impulses; None: those of the solver."""
        self._given = prepared
        """The world with the default values of its inputs."""
        self._alone = False
        """Whether steps are made one by one up to the next record, because it cannot be repeated later."""
        self._memories = MemoryTables(begun.scheme, begun.memory)
        self._lookout = Lookout(prepared.world, begun.state)
        self._inputs = {name: one.default for name, one in prepared.world.inputs.items()}
        """Values of the inputs of the world, by name [see `DeclaredInput`], any shape."""
        self._march = BodyMarch.of(prepared, begun.scheme, solver, self._flat_inputs())
        """Makes several steps in one compiled call; None if steps have to be made one by one."""
        self._growing: _Together | None = None
        """Data of the strip in use."""
        if begun.inputs:
            self.set_inputs(begun.inputs, begun.state)
        self._sensors = SensorRows(prepared.world.sensors)
        self._looks = bool(prepared.world.sensors) or not self._lookout.idle
        """Whether sensors or lost bodies are checked after compiled calls."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the run, one sentence each."""
        return self._lookout.notes

    # 1. Steps.

    @property
    def free(self) -> bool:
        """Whether compiled calls do not use users' functions, so that threads can run them in parallel."""
        return self._march is not None and not self._looks and not self.prepared.world.motions.written

    def step(self, state: State, memory: Memory, h: float) -> Step:
        """Return the step of length h that begins at `state`."""
        return self.scheme.step(self.prepared, state, memory, h, self.solver)  # type: ignore[no-any-return]

    def again(
        self, state: State, recall: Callable[[], Memory], h: float, under: PreparedWorld | None = None
    ) -> Callable[[], Step]:
        """Return a function that repeats a step with the present inputs; under: the world with other
        inputs."""
        prepared = self.prepared if under is None else under
        return lambda: self.scheme.step(prepared, state, recall(), h, self.solver)

    def contacts(self, memory: Memory, step: Step | None) -> int:
        """Return the number of contacts of the last step."""
        return int(memory["id"].size) if step is None else len(step.contacts)

    def depth(self, state: State) -> float:
        """Return the deepest overlap of bodies [m]."""
        return max(0.0, -float(self.prepared.detector.find(state.q, 0.0).gap.min(initial=0.0)))

    def check(self, step: Step, state: State) -> None:
        """Raise ModelError for a state that is not finite."""
        if not (all_finite(state.q) and all_finite(state.v)):
            self.prepared.world.check_state(state)

    def explain(self, state: State, step: Step, raised: bool) -> str:
        """Return the bodies of the contact with the largest residual, as part of a sentence."""
        return explain_contact(self.model.names, step, raised)

    def march(
        self, state: State, recall: Callable[[], Memory], clock: Clock, index: int, most: int, every: int,
        end: int, interrupts: Interrupts,
    ) -> Marched | None:  # fmt: skip
        """Make several steps in one compiled call; return None if the next step has to be made by itself.
        recall: returns the scheme's memory."""
        self._alone = self._alone and index % every != 0
        if self._march is None or self._alone:
            return None
        h, at = clock.length(index + 1), clock.at
        result = interrupts.run(self._march.make, state, recall, h, at, index, every, end, most)
        if result is None:
            return None
        strip, done = result
        first = strip.steps - done
        ends = [first + k for k in recorded(index, done, every, end)]
        shown = interrupts.run(self._look, strip, first, ends) if self._looks else []
        return self._taken(strip, first, ends, shown)

    @property
    def lane(self) -> Lane | None:
        """Function that adds one step to the strip in use, to be recorded by `followed`; None if each step
        needs more than that."""
        if self._march is None or self._looks or (self._select is not None and self.every > 1):
            return None
        return self._march.follow

    def followed(self, done: int, index: int, every: int) -> tuple[Marched, Callable[[], Step]]:
        """Return `done` steps that the lane made from an index of the clock on, and a function that repeats
        the last of them."""
        strip = None if self._march is None else self._march.strip
        assert strip is not None
        before, carried, under = strip.before
        again = self.again(before, partial(memory_of, carried), strip.settings.h, under)
        first = strip.steps - done
        ends = [first + k for k in recorded(index, done, every, OFF_CLOCK)]
        return self._taken(strip, first, ends, []), again

    def _taken(self, strip: Strip, first: int, ends: list[int], shown: list[tuple[Array, ...]]) -> Marched:
        """Return the steps of a strip from row `first` on, as those of a compiled call; ends: rows of the
        recorded steps; shown: values of the sensors there."""
        done, carried = strip.steps - first, strip.carried
        grown, record = self._growing, None
        if grown is None or grown.strip is not strip:
            grown = record = self._growing = _Together(strip)
        grown.steps = first + done
        grown.ends += ends
        grown.sensors += shown
        residual = worst = strip.room.numbers.item(first + done - 1, kernels.NATURAL_SCALED)
        if done > 1:
            worst = max(strip.room.numbers[first : first + done, kernels.NATURAL_SCALED].tolist())

        def memory(k: int) -> Memory:
            return memory_of(carried) if k == done - 1 else strip.memory_after(first + k + 1)

        return Marched(record, done, strip.state, memory, residual, worst)

    def _look(self, strip: Strip, first: int, ends: list[int]) -> list[tuple[Array, ...]]:
        """Return the values of the sensors at the ends of recorded steps, and note lost bodies."""
        shown = [self._sensors.read(one) for one in self._readings(strip, ends)]
        for k in range(first + 1, strip.steps + 1):
            self._lookout.look(State(strip.times[k], strip.q[k], strip.v[k]))
        return shown

    def _marched(self, kept: _Together) -> Rows:
        """Return the rows of the steps of a strip."""
        strip, n, ends = kept.strip, kept.steps, kept.ends
        strip.closed = True
        t, numbers = np.array(strip.times[1 : n + 1]), strip.room.numbers[:n]
        columns = certified_columns(t, strip.settings.h, strip.index, numbers, JUDGED)
        columns |= {"q": strip.q[1 : n + 1], "v": strip.v[1 : n + 1]}
        columns |= self._sensors.rows(n, ends, kept.sensors)
        columns |= self._input_columns(strip.inputs_of(n))
        table, joints = strip.room.contacts, strip.room.joints
        contacts = {
            name: getattr(table, name)[: table.offset[n]] for name in CONTACT_WIDTHS if name != "choice"
        }
        contacts["choice"] = np.zeros(len(contacts["id"]), np.int64)
        links = {name: getattr(joints, name)[: joints.offset[n]] for name in ("r", "id")}
        return Rows(columns, {
            "contacts": Table(np.diff(table.offset[: n + 1]), contacts),
            "joints": Table(np.diff(joints.offset[: n + 1]), links),
            **self._memories.of_strip(strip, n, ends, self._select is not None),
        })  # fmt: skip

    def set_inputs(self, values: Mapping[str, ArrayLike], state: State) -> State:
        """Set inputs of the world; return the state, which does not change."""
        self._alone = (
            self._select is not None and self.every > 1
        )  # a record is repeated with one set of inputs for all its steps
        self.prepared = self.prepared.with_inputs(values)
        self._inputs |= {name: frozen(np.array(value, float)) for name, value in values.items()}
        if self._march is not None:
            self._march.set_inputs(self.prepared, self._flat_inputs())
        return state

    def inputs(self, state: State) -> dict[str, Array]:
        """Return the values of the inputs of the world, by name [N, N m, m/s, rad/s], any shape."""
        return dict(self._inputs)

    def _flat_inputs(self) -> Array:
        """Return the values of all inputs, concatenated [N, N m, m/s, rad/s], shape (any,)."""
        return np.concatenate([np.zeros(0), *(one.reshape(-1) for one in self._inputs.values())])

    def _input_columns(self, values: Array) -> dict[str, Array]:
        """Return the inputs by column, from the values of all inputs, shape (..., any)."""
        columns, end = {}, 0
        for name, one in self._inputs.items():
            end += one.size
            part = values[..., end - one.size : end]
            columns[f"inputs/{name}"] = part.reshape((*values.shape[:-1], *one.shape))
        return columns

    # 2. Rows of records.

    def keep(self, step: Step, before: State, state: State, index: int, closes: bool, told: bool) -> Kept:
        """Return the data of a step that ended at `state` for its row. told: whether impulses are selected
        now, because the record is watched, or because the step cannot be repeated from the previous
        record."""
        # 1. Numbers, state and inputs.
        arrays = {"q": state.q, "v": state.v} | self._input_columns(self._flat_inputs())
        self._alone, alone = (self._alone or told) and not closes, self._alone
        self._lookout.look(state, step.measures.get(OVERLAP, 0.0))
        numbers = numbers_of(step, state, index)
        if not closes:
            return Kept(numbers, arrays | self._sensors.columns(None))
        # 2. Sensors, which use the impulses of the solver.
        c, memory = step.contacts, step.memory
        joint_id = np.full(step.joint_r.size, -1) if step.joint_id is None else step.joint_id
        impulses = (step.r, step.joint_r, joint_id)
        reading = Reading(self.prepared.world, state, before, step.h, c.body, c.point, c.frame, *impulses)
        arrays |= self._sensors.columns(self._sensors.read(reading))
        # 3. Selected impulses, and the memory.
        now = self._select is not None and (told or alone or not self._memories.kept)
        if self._select is not None and now:
            step = with_least_forces(step, self._select)
        memory = self._memories.of_step(memory, now, self._select is not None and not now and step.summed)
        return Kept(numbers, arrays, contacts_of(step), step.joint_r, joint_id, memory)

    def rows(self, kept: Sequence[Any]) -> Rows:
        """Return one row per step."""
        if isinstance(kept[0], _Together):
            return joined([self._marched(one) for one in kept])
        rows = rows_of(kept)
        return Rows(rows.columns, rows.tables | self._memories.of_steps([one.memory for one in kept]))

    def first(self, state: State, memory: Memory, index: int, sums: dict[str, float]) -> Rows:
        """Return the record of the start."""
        world = self.prepared.world
        kinetic, potential = sums.get("kinetic"), sums.get("potential")
        if kinetic is None or potential is None:
            kinetic, potential = energy.kinetic(world, state.v), energy.potential(world, state.t, state.q)
        arrays = {"q": state.q, "v": state.v} | self._input_columns(self._flat_inputs())
        arrays |= self._sensors.columns(self._sensors.read(Reading.at(world, state)))
        numbers = start_numbers(state, index, kinetic, potential, sums)
        return self.rows([Kept(numbers, arrays, memory=memory)])

    def reduction(self, sums: dict[str, float]) -> Reduction:
        """Return the reduction of steps to records."""
        return reduction(sums)

    def _readings(self, strip: Strip, ends: list[int]) -> Iterator[Reading]:
        """Yield the sensors' input at the ends of recorded steps."""
        table, joints = strip.room.contacts, strip.room.joints
        for end in ends if self.prepared.world.sensors else ():
            first, last = (State(strip.times[k], strip.q[k], strip.v[k]) for k in (end, end + 1))
            rows = slice(int(table.offset[end]), int(table.offset[end + 1]))
            contacts = (table.body[rows], table.point[rows], table.frame[rows], table.r[rows])
            rows = slice(int(joints.offset[end]), int(joints.offset[end + 1]))
            links = joints.r[rows], joints.id[rows]
            yield Reading(self.prepared.world, last, first, strip.settings.h, *contacts, *links)

    # 3. Quantities computed from records on access.

    def parts(self) -> dict[str, Any]:
        """Return further arguments of a `Trajectory` of the records."""
        select = self._select
        if select is None:
            return {"choose": None, "forces": "solver"}
        parts = self._given, self.scheme, self.solver, select
        return {"choose": WorldForces(lambda: parts), "forces": "least"}

    def sums(self, of: Trajectory, since: float) -> dict[str, float]:
        """Return energies from which a run continues, in addition to totals: none."""
        return {}

    def written(self, of: Trajectory) -> None:
        """Note that the records `of` have been written to a file."""
