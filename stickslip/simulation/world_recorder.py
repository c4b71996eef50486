"""Keeps steps of a world while a run goes on: what is recorded is held as it is, and joined at the end.

Between two records iterations and energies add up, the worst residual, penetration, opening and correction
count, and everything else is that of the last step.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.kernels.steps import bodies as kernels
from stickslip.mechanics import energy
from stickslip.mechanics.world import World
from stickslip.problem.solution import Verdict
from stickslip.schemes.body_march import Stretch
from stickslip.schemes.step import Memory, Step
from stickslip.simulation.world_checkpoint import EnergySums
from stickslip.simulation.world_contacts import CONTACT_WIDTHS, WHOLE, WorldContacts
from stickslip.simulation.world_model import WorldModel
from stickslip.simulation.world_record import WorldRecord
from stickslip.state import Array, ModelError, State

MOST_AXES = 8
"""Of what a sensor shows: as many as files keep."""


@dataclass(slots=True)
class _Worst:
    """What adds up or counts since the last record."""

    verdict: int = 0
    natural: float = 0.0
    natural_scaled: float = 0.0
    iterations: int = 0
    penetration: float = 0.0
    opening: float = 0.0
    correction: float = 0.0


@dataclass(slots=True)
class _Columns:
    """Blocks of records, of one step or of several made together; joints and sensors one a record."""

    numbers: list[Array] = field(default_factory=list)
    """NUMBERS of each record of a block, shape (m, 15)."""
    q: list[Array] = field(default_factory=list)
    """Coordinates of each record of a block, shape (m, 7 n)."""
    v: list[Array] = field(default_factory=list)
    """Velocities of each record of a block, shape (m, 6 n)."""
    counts: list[Array] = field(default_factory=list)
    """Numbers of contacts of each record of a block, shape (m,)."""
    contacts: list[tuple[Any, ...]] = field(default_factory=list)
    """Contacts of a block, by column."""
    joint_r: list[Array] = field(default_factory=list)
    sensors: list[tuple[Array, ...]] = field(default_factory=list)


NUMBERS = (
    "t", "h", "verdict", "natural", "natural_scaled", "iterations", "penetration", "opening", "correction",
    "kinetic", "potential", "dissipated", "work", "lifted", "balance",
)  # fmt: skip
"""Columns of one number per record, in the order in which a row has them."""


class WorldRecorder:
    """The columns of a trajectory of a world while it is being made."""

    def __init__(self, world: World, state: State, memory: Memory, index: int, sums: EnergySums):
        self.world = world
        self.steps = self.missed = 0
        self.relaxation = ""
        """What stood in the place of the exact law in the first step that had it replaced."""
        self._dissipated, self._work = sums.dissipated, sums.work
        self._lifted, self._balance = sums.lifted, sums.balance
        self._since = _Worst()
        self._columns = _Columns()
        kinetic, potential = sums.kinetic, sums.potential
        if kinetic is None or potential is None:
            kinetic, potential = energy.kinetic(world, state.v), energy.potential(world, state.t, state.q)
        nothing = tuple(_nothing(name) for name in CONTACT_WIDTHS)
        self._close(state, 0.0, kinetic, potential, nothing, np.zeros(0))
        self._whole = 1, memory, index

    @property
    def memory(self) -> Memory:
        """The scheme's memory at the last record."""
        return self._whole[1]

    @property
    def records(self) -> int:
        """How many there are."""
        return self._whole[0]

    @property
    def index(self) -> int:
        """The clock's index at the last record."""
        return self._whole[2]

    def add(self, step: Step, state: State, index: int, closes: bool) -> None:
        """Take in a step that ended at `state`, the clock's index there, and whether it is to be recorded."""
        self.steps += 1
        since, told = self._since, step.energy
        if not step.ok:
            since.verdict = max(since.verdict, step.verdict.code)
            self.relaxation = self.relaxation or step.replaced
            self.missed += step.verdict is Verdict.MISSED
        for one in step.solves:
            since.natural = max(since.natural, one.residuals.natural)
            since.natural_scaled = max(since.natural_scaled, one.residuals.natural_scaled)
            since.iterations += one.iterations
        since.penetration = max(since.penetration, step.penetration)
        since.opening = max(since.opening, step.opening)
        since.correction = max(since.correction, step.correction)
        self._dissipated += told.dissipated
        self._work += told.work
        self._lifted += told.lifted
        self._balance += told.balance
        if not closes:
            return
        c = step.contacts
        choice = np.zeros(len(c), np.int64) if step.choice is None else step.choice
        contacts = (c.id, c.body, c.point, c.frame, c.gap, c.law, step.r, step.u, choice)
        self._close(state, step.h, told.kinetic, told.potential, contacts, step.joint_r)
        # At once: an interrupt from the keyboard may come anywhere, and half a record is none.
        self._whole = self._whole[0] + 1, step.memory, index

    def add_stretch(self, stretch: Stretch, t: Array, h: float, index: int, closes: Array) -> None:
        """Take in steps made together, all of them certified: t (k,) their ends [s], index: the clock's
        before the first; closes (k,): which are recorded."""
        k, room, since = stretch.steps, stretch.room, self._since
        table, ends = room.numbers[:k], np.flatnonzero(closes)
        self.steps += k
        # 1. What adds up: sums in the order of the steps, as if each had been taken in by itself.
        sums = np.empty((k + 1, 4))
        sums[0] = self._dissipated, self._work, self._lifted, self._balance
        sums[1:] = table[:, [kernels.DISSIPATED, kernels.WORK, kernels.LIFTED, kernels.BALANCE]]
        sums = np.cumsum(sums, axis=0)[1:]
        self._dissipated, self._work, self._lifted, self._balance = sums[-1].tolist()
        # 2. What counts since the last record: of the steps up to each record, and after the last.
        worst = table[:, [kernels.NATURAL, kernels.NATURAL_SCALED, kernels.PENETRATION, kernels.CORRECTION]]
        starts = np.concatenate(([0], ends + 1))
        parts, some = np.zeros((len(starts), 5)), starts[starts < k]
        parts[: len(some), :4] = np.maximum.reduceat(worst, some, axis=0)
        parts[: len(some), 4] = np.add.reduceat(table[:, kernels.ITERATIONS], some)
        parts[0, :4] = np.maximum(
            parts[0, :4], [since.natural, since.natural_scaled, since.penetration, since.correction]
        )
        parts[0, 4] += since.iterations
        verdict, opening = since.verdict, since.opening
        tail = parts[-1].tolist()
        self._since = _Worst(0, tail[0], tail[1], int(tail[4]), tail[2], 0.0, tail[3])
        if not len(ends):
            self._since.verdict, self._since.opening = verdict, opening
            return
        # 3. The records.
        m, columns = len(ends), self._columns
        numbers = np.zeros((m, len(NUMBERS)))
        numbers[:, 0], numbers[:, 1] = t[ends], h
        numbers[0, 2], numbers[0, 7] = verdict, opening
        numbers[:, 3], numbers[:, 4], numbers[:, 5] = parts[:m, 0], parts[:m, 1], parts[:m, 4]
        numbers[:, 6], numbers[:, 8] = parts[:m, 2], parts[:m, 3]
        numbers[:, 9:11] = table[ends][:, [kernels.KINETIC, kernels.POTENTIAL]]
        numbers[:, 11:] = sums[ends]
        q, v = room.q[1:][ends].reshape(m, -1), room.v[1:][ends].reshape(m, -1)
        if self.world.sensors:
            for j in range(m):
                columns.sensors.append(self._read(State(float(t[ends[j]]), q[j], v[j])))
        else:
            columns.sensors.extend([()] * m)
        all_of = slice(0, int(room.offset[k]))
        columns.numbers.append(numbers)
        columns.q.append(q)
        columns.v.append(v)
        columns.counts.append(np.diff(room.offset[: k + 1])[ends])
        columns.contacts.append((
            room.id[all_of], room.body[all_of], room.point[all_of], room.frame[all_of], room.gap[all_of],
            room.law[all_of], room.r[all_of], room.u[all_of], np.zeros(all_of.stop, np.int64),
        ))  # fmt: skip
        columns.joint_r.extend([np.zeros(0)] * m)
        self._whole = self._whole[0] + m, stretch.memory, index + int(ends[-1]) + 1

    def _close(
        self, state: State, h: float, kinetic: float, potential: float, contacts: tuple[Any, ...],
        joint_r: Array,
    ) -> None:  # fmt: skip
        since, columns = self._since, self._columns
        columns.sensors.append(self._read(state))
        columns.numbers.append(np.array([
            [state.t, h, since.verdict, since.natural, since.natural_scaled, since.iterations,
             since.penetration, since.opening, since.correction, kinetic, potential, self._dissipated,
             self._work, self._lifted, self._balance]
        ]))  # fmt: skip
        columns.q.append(state.q.reshape(1, -1))
        columns.v.append(state.v.reshape(1, -1))
        columns.counts.append(np.array([len(contacts[0])]))
        columns.contacts.append(contacts)
        columns.joint_r.append(joint_r)
        self._since = _Worst()

    def _read(self, state: State) -> tuple[Array, ...]:
        """What the sensors show; always of the same shape, and never NaN."""
        shown = []
        first = self._columns.sensors[0] if self._columns.sensors else None
        for k, sensor in enumerate(self.world.sensors):
            value = np.array(sensor.read(self.world, state), float)
            if value.ndim > MOST_AXES:
                raise ModelError(
                    f"sensor {sensor.name!r}: what it shows has {value.ndim} axes; files keep {MOST_AXES}"
                )
            if np.isnan(value).any():
                raise ModelError(f"sensor {sensor.name!r}: at t = {state.t:.9g} s it shows {value}")
            if first is not None and value.shape != first[k].shape:
                raise ModelError(
                    f"sensor {sensor.name!r}: at t = {state.t:.9g} s its shape is {value.shape}; at first it"
                    f" was {first[k].shape}"
                )
            shown.append(value)
        return tuple(shown)

    def last(self, model: WorldModel, tolerance: float) -> WorldRecord:
        """The last record by itself, its arrays read-only; what contacts do is told from it alone."""
        columns = self._columns
        row = dict(zip(NUMBERS, columns.numbers[-1][-1].tolist(), strict=True))
        first = len(columns.contacts[-1][0]) - int(columns.counts[-1][-1])
        parts = {
            name: _read_only(part[first:])
            for name, part in zip(CONTACT_WIDTHS, columns.contacts[-1], strict=True)
        }
        contacts = WorldContacts(offset=np.array([0, len(parts["id"])]), **parts)
        return WorldRecord(
            t=row["t"], h=row["h"], q=_read_only(columns.q[-1][-1]), v=_read_only(columns.v[-1][-1]),
            verdict=tuple(Verdict)[int(row["verdict"])], natural=row["natural"],
            natural_scaled=row["natural_scaled"],
            penetration=row["penetration"], energy=row["kinetic"] + row["potential"],
            dissipated=row["dissipated"], contacts=contacts,
            tell=lambda: contacts.states(model.lightest(contacts.body), tolerance),
        )  # fmt: skip

    def arrays(self) -> dict[str, Any]:
        """The columns so far, each of one row per record, by the names that a trajectory has for them."""
        n = self._whole[0]
        columns, whole = self._columns, _whole_blocks(self._columns.numbers, n)
        table = np.concatenate(columns.numbers[:whole])
        found: dict[str, Any] = {name: table[:, k].copy() for k, name in enumerate(NUMBERS)}
        found["verdicts"] = found.pop("verdict").astype(np.int8)
        found["iterations"] = found["iterations"].astype(np.int64)
        found["q"], found["v"] = np.concatenate(columns.q[:whole]), np.concatenate(columns.v[:whole])
        parts = {
            name: np.concatenate([one[k] for one in columns.contacts[:whole]])
            for k, name in enumerate(CONTACT_WIDTHS)
        }
        offset = np.concatenate(([0], np.cumsum(np.concatenate(columns.counts[:whole]), dtype=np.int64)))
        joint_r = columns.joint_r[:n]
        found["joint_offset"], found["raw_joint_r"] = _offsets(joint_r), np.concatenate(joint_r)
        found["sensors"] = {
            sensor.name: np.stack([one[k] for one in columns.sensors[:n]])
            for k, sensor in enumerate(self.world.sensors)
        }
        for array in (*found.values(), *parts.values(), offset, *found["sensors"].values()):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        return found | {"raw_contacts": WorldContacts(offset=offset, **parts)}


def _whole_blocks(numbers: list[Array], records: int) -> int:
    """How many blocks make up so many records: a block that an interrupt cut short is left out."""
    count = 0
    for k, block in enumerate(numbers):
        if count == records:
            return k
        count += len(block)
    return len(numbers)


def _nothing(name: str) -> Any:
    """No contact, as a column."""
    return np.zeros((0, *CONTACT_WIDTHS[name]), np.int64 if name in WHOLE else np.float64)


def _read_only(array: Any) -> Any:
    """The same numbers, which cannot be written to by this name."""
    view = array.view()
    view.flags.writeable = False
    return view


def _offsets(parts: Sequence[Array]) -> Any:
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
