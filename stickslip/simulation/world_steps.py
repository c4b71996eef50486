"""Steps of a world, as the run of any model makes and keeps them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.interrupts import Interrupts
from stickslip.kernels.steps import bodies as kernels
from stickslip.mechanics import energy
from stickslip.mechanics.sensors import Reading
from stickslip.problem.checks import all_finite
from stickslip.problem.solution import Verdict
from stickslip.schemes.body_forces import with_least_forces
from stickslip.schemes.body_march import BodyMarch, Strip, memory_of
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import OVERLAP, Memory, Selector, Solver, Step
from stickslip.simulation.begun import Begun
from stickslip.simulation.clock import OFF_CLOCK, Clock
from stickslip.simulation.contacts import CONTACT_WIDTHS, WHOLE
from stickslip.simulation.recorder import Lane, Marched, recorded
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
    "lifted": kernels.LIFTED, "balance": kernels.BALANCE, "opening": kernels.OPENING,
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


@dataclass(eq=False, slots=True)
class _Together:
    """What rows need of steps made together."""

    strip: Strip
    record: int
    """Number of the first record."""
    steps: int = 0
    """How many of the strip are kept: the first ones."""
    ends: list[int] = field(default_factory=list)
    """Which of them are recorded."""
    sensors: list[tuple[Array, ...]] = field(default_factory=list)
    """What sensors show at their ends."""


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
        self._growing: _Together | None = None
        """The last of those, which more may follow."""
        self._inputs: dict[str, Array] = {}
        """Those that were set."""
        self._shapes: list[tuple[int, ...]] = []
        """Of what the sensors show."""
        self._looks = bool(prepared.world.sensors) or not self._lookout.idle
        """Whether anything is looked at after steps made together."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What else happened, a sentence each."""
        return self._lookout.notes

    # 1. The step.

    def step(self, state: State, memory: Memory, h: float) -> Step:
        """The step of length h that begins at `state`."""
        return self.scheme.step(self.prepared, state, memory, h, self.solver)  # type: ignore[no-any-return]

    def again(
        self, state: State, recall: Callable[[], Memory], h: float, under: PreparedWorld | None = None
    ) -> Callable[[], Step]:
        """What makes a step once more, whatever the inputs are by then; under: the world with its inputs."""
        prepared = self.prepared if under is None else under
        return lambda: self.scheme.step(prepared, state, recall(), h, self.solver)

    def contacts(self, memory: Memory, step: Step | None) -> int:
        """Of the last step; -1 where that is not known."""
        return int(memory["id"].size) if step is None else len(step.contacts)

    def depth(self, state: State) -> float:
        """Deepest overlap of bodies [m]."""
        return max(0.0, -float(self.prepared.detector.find(state.q, 0.0).gap.min(initial=0.0)))

    def check(self, step: Step, state: State) -> None:
        """Refuse a state that is not finite."""
        if not (all_finite(state.q) and all_finite(state.v)):
            self.prepared.world.check_state(state)

    def explain(self, state: State, step: Step, raised: bool) -> str:
        """Between which bodies the answer of a step is worst, as part of a sentence."""
        return explain_contact(self.model.names, step, raised)

    def march(
        self, state: State, recall: Callable[[], Memory], clock: Clock, index: int, most: int, every: int,
        end: int, interrupts: Interrupts,
    ) -> Marched | None:  # fmt: skip
        """Several steps in one compiled call; None where the next is made by itself. recall: gives the
        scheme's memory."""
        if self._march is None:
            return None
        # Least forces are chosen from steps made again, which needs the step before a record.
        if self._forces is not None and every > 1:
            most = min(most, every - index % every) - 1
        if most < 1:
            return None
        if self._forces is not None:
            interrupts.run(self._forces.relieve)
        h, at = clock.length(index + 1), clock.at
        made = interrupts.run(self._march.make, state, recall, h, at, index, every, end, most)
        if made is None:
            return None
        strip, done = made
        first = strip.steps - done
        ends = [first + k for k in recorded(index, done, every, end)]
        shown = interrupts.run(self._look, strip, first, ends) if self._looks else []
        return self._taken(strip, first, ends, shown)

    @property
    def lane(self) -> Lane | None:
        """Makes one more step after those of the last strip, to be kept when `followed` is asked; None where
        somebody looks at every step."""
        if self._march is None or self._forces is not None or self._looks:
            return None
        return self._march.follow

    def followed(self, done: int, index: int, every: int) -> tuple[Marched, Callable[[], Step]]:
        """So many steps that the lane made from an index of the clock on, and what makes the last again."""
        strip = None if self._march is None else self._march.strip
        assert strip is not None
        before, carried, under = strip.before
        again = self.again(before, partial(memory_of, carried), strip.settings.h, under)
        first = strip.steps - done
        ends = [first + k for k in recorded(index, done, every, OFF_CLOCK)]
        return self._taken(strip, first, ends, []), again

    def _taken(self, strip: Strip, first: int, ends: list[int], shown: list[tuple[Array, ...]]) -> Marched:
        """Keep the steps of a strip from row `first` on; ends: those that are recorded."""
        done, carried = strip.steps - first, strip.carried
        grown, kept = self._growing, None
        if grown is None or grown.strip is not strip:
            grown = kept = self._growing = _Together(strip, self._records)
        grown.steps = first + done
        if ends:
            grown.ends += ends
            grown.sensors += shown
            self._records += len(ends)
            if self._forces is not None:
                again = partial(self._again, self.prepared, strip)
                self._forces.hold(grown.record, len(grown.ends), again, strip.room.local.nbytes)
        residual = worst = strip.room.numbers.item(first + done - 1, kernels.NATURAL_SCALED)
        if done > 1:
            worst = max(strip.room.numbers[first : first + done, kernels.NATURAL_SCALED].tolist())

        def memory(k: int) -> Memory:
            return memory_of(carried) if k == done - 1 else strip.memory_after(first + k + 1)

        return Marched(kept, done, strip.state, memory, residual, worst)

    def _look(self, strip: Strip, first: int, ends: list[int]) -> list[tuple[Array, ...]]:
        """What sensors show at the ends of recorded steps, once lost bodies are noted."""
        shown = [self._read(one) for one in self._readings(strip, ends)]
        for k in range(first + 1, strip.steps + 1):
            self._lookout.look(State(strip.times[k], strip.q[k], strip.v[k]))
        return shown

    def _marched(self, kept: Sequence[_Together]) -> Rows:
        """Rows of steps made together."""

        def joined(parts: list[Any]) -> Any:
            return parts[0] if len(parts) == 1 else np.concatenate(parts)

        strips = [(one.strip, one.steps) for one in kept]
        counts = [n for _, n in strips]
        table = joined([one.room.numbers[:n] for one, n in strips])
        columns: dict[str, Any] = {
            "t": np.concatenate([one.times[1 : n + 1] for one, n in strips]),
            "h": np.repeat([one.settings.h for one, _ in strips], counts),
            "index": joined([one.index + np.arange(1, n + 1) for one, n in strips]),
            "verdicts": np.full(len(table), Verdict.CERTIFIED.code, np.int8),
            "q": joined([one.q[1 : n + 1] for one, n in strips]),
            "v": joined([one.v[1 : n + 1] for one, n in strips]),
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
        tables = [(one.room.contacts, n) for one, n in strips]
        found = {
            name: joined([getattr(table, name)[: table.offset[n]] for table, n in tables])
            for name in CONTACT_WIDTHS
            if name != "choice"
        }
        found["choice"] = np.zeros(len(found["id"]), np.int64)
        each = joined([np.diff(table.offset[: n + 1]) for table, n in tables])
        ends_of = [(one.room.joints, one.room.joints.offset[: n + 1]) for one, n in strips]
        rows = {
            "r": joined([links.r[: k[-1]] for links, k in ends_of]),
            "id": joined([links.id[: k[-1]] for links, k in ends_of]),
        }
        joints = Table(joined([np.diff(k) for _, k in ends_of]), rows)
        return Rows(columns, {"contacts": Table(each, found), "joints": joints})

    def _again(self, prepared: PreparedWorld, strip: Strip, k: int) -> Step:
        """Step k of a strip whose steps are all recorded, made by itself."""
        state = State(strip.times[k], strip.q[k], strip.v[k])
        made: Step = self.scheme.step(prepared, state, strip.memory_after(k), strip.settings.h, self.solver)
        return made

    def set_inputs(self, values: Mapping[str, ArrayLike], state: State) -> State:
        """Give inputs of the world other values from here on; the state, which stays as it is."""
        if self._forces is not None:
            self._forces.settle()  # steps that are made again had the inputs of before
        self.prepared = self.prepared.with_inputs(values)
        self._inputs |= {name: np.array(value, float) for name, value in values.items()}
        if self._march is not None:
            self._march.set_inputs(self.prepared, close=self._forces is not None)
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
                forces.relieve()
                forces.add(self._records, step)
            self._records += 1
            choice = np.zeros(len(c), np.int64) if step.choice is None else step.choice
            contacts = (c.id, c.body, c.point, c.frame, c.gap, c.law, step.r, step.u, choice)
            joint_r = step.joint_r
        self._lookout.look(state, step.measures.get(OVERLAP, 0.0))
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
            for one in kept:
                one.strip.closed = True
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

    def _readings(self, strip: Strip, ends: list[int]) -> Iterator[Reading]:
        """Those of recorded steps."""
        table, joints = strip.room.contacts, strip.room.joints
        for end in ends if self.prepared.world.sensors else ():
            first, last = (State(strip.times[k], strip.q[k], strip.v[k]) for k in (end, end + 1))
            own = slice(int(table.offset[end]), int(table.offset[end + 1]))
            contacts = (table.body[own], table.point[own], table.frame[own], table.r[own])
            own = slice(int(joints.offset[end]), int(joints.offset[end + 1]))
            links = joints.r[own], joints.id[own]
            yield Reading(self.prepared.world, last, first, strip.settings.h, *contacts, *links)

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
        if self._forces is not None:
            self._forces.relieve()
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


def explain_contact(names: Sequence[str], step: Step, raised: bool) -> str:
    """Between which bodies the answer of a step is worst, as part of a sentence."""
    worst = next((one.residuals.worst for one in step.solves if not one.ok), -1)
    if not raised or step.reason or not step.summed or not 0 <= worst < len(step.contacts):
        return ""
    first, second = (names[body] for body in step.contacts.body[worst])
    return f", worst where {first!r} and {second!r} touch"
