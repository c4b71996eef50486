"""Keeps steps of a world while a run goes on: what is recorded is held as it is, and joined at the end.

Between two records iterations and energies add up, the worst residual, penetration, opening and correction
count, and everything else is that of the last step.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from stickslip.mechanics import energy
from stickslip.mechanics.world import World
from stickslip.problem.solution import Verdict
from stickslip.schemes.body_step import BodyStep
from stickslip.schemes.step import Memory
from stickslip.simulation.world_checkpoint import EnergySums
from stickslip.simulation.world_contacts import WorldContacts
from stickslip.simulation.world_model import WorldModel
from stickslip.simulation.world_record import WorldRecord
from stickslip.state import Array, ModelError, State

CONTACT_WIDTHS: dict[str, tuple[int, ...]] = {
    "id": (), "body": (2,), "point": (3,), "frame": (3, 3), "gap": (), "law": (4,), "r": (6,), "u": (6,),
    "choice": (),
}  # fmt: skip
"""Columns of contacts, and the shape of each for one contact."""
WHOLE = ("id", "body", "choice")
"""Those of whole numbers."""
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
    """One item per record."""

    numbers: list[tuple[float, ...]] = field(default_factory=list)
    """t, h, verdict, natural, natural_scaled, iterations, penetration, opening, correction, energies."""
    q: list[Array] = field(default_factory=list)
    v: list[Array] = field(default_factory=list)
    contacts: list[tuple[Any, ...]] = field(default_factory=list)
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
        self._throughout = 0
        """Code of the verdict of the start: relaxed where the scheme itself is."""
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

    def add(self, step: BodyStep, state: State, index: int, closes: bool) -> None:
        """Take in a step that ended at `state`, the clock's index there, and whether it is to be recorded."""
        self.steps += 1
        since, told = self._since, step.energy
        if not step.ok:
            since.verdict = max(since.verdict, step.verdict.code)
            self.relaxation = self.relaxation or step.replaced
            self._throughout = Verdict.RELAXED.code if step.relaxation else self._throughout
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

    def _close(
        self, state: State, h: float, kinetic: float, potential: float, contacts: tuple[Any, ...],
        joint_r: Array,
    ) -> None:  # fmt: skip
        since, columns = self._since, self._columns
        columns.sensors.append(self._read(state))
        columns.numbers.append(
            (state.t, h, since.verdict, since.natural, since.natural_scaled, since.iterations,
             since.penetration, since.opening, since.correction, kinetic, potential, self._dissipated,
             self._work, self._lifted,
             self._balance)
        )  # fmt: skip
        columns.q.append(state.q)
        columns.v.append(state.v)
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
        row = dict(zip(NUMBERS, columns.numbers[-1], strict=True))
        parts = {
            name: _read_only(part) for name, part in zip(CONTACT_WIDTHS, columns.contacts[-1], strict=True)
        }
        contacts = WorldContacts(offset=np.array([0, len(parts["id"])]), **parts)
        return WorldRecord(
            t=row["t"], h=row["h"], q=_read_only(columns.q[-1]), v=_read_only(columns.v[-1]),
            verdict=tuple(Verdict)[int(row["verdict"])], natural=row["natural"],
            natural_scaled=row["natural_scaled"],
            penetration=row["penetration"], energy=row["kinetic"] + row["potential"],
            dissipated=row["dissipated"], contacts=contacts,
            tell=lambda: contacts.states(model.lightest(contacts.body), tolerance),
        )  # fmt: skip

    def arrays(self) -> dict[str, Any]:
        """The columns so far, each of one row per record, by the names that a trajectory has for them."""
        n = self._whole[0]
        columns = _Columns(*(getattr(self._columns, one.name)[:n] for one in fields(_Columns)))
        table = np.array(columns.numbers, float)
        found: dict[str, Any] = {name: table[:, k].copy() for k, name in enumerate(NUMBERS)}
        found["verdicts"] = found.pop("verdict").astype(np.int8)
        found["verdicts"][0] = max(found["verdicts"][0], self._throughout)
        found["iterations"] = found["iterations"].astype(np.int64)
        found["q"] = np.concatenate(columns.q).reshape(n, -1)
        found["v"] = np.concatenate(columns.v).reshape(n, -1)
        parts = {
            name: np.concatenate([one[k] for one in columns.contacts])
            for k, name in enumerate(CONTACT_WIDTHS)
        }
        offset = _offsets([one[0] for one in columns.contacts])
        found["joint_offset"], found["raw_joint_r"] = (
            _offsets(columns.joint_r),
            np.concatenate(columns.joint_r),
        )
        found["sensors"] = {
            sensor.name: np.stack([one[k] for one in columns.sensors])
            for k, sensor in enumerate(self.world.sensors)
        }
        for array in (*found.values(), *parts.values(), offset, *found["sensors"].values()):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
        return found | {"raw_contacts": WorldContacts(offset=offset, **parts)}


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
