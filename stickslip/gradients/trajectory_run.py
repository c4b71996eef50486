"""A run as its steps, whatever it is a run of: each can be made again, bit for bit, and differentiated."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip.gradients.derivative import Derivative
from stickslip.schemes.step import Memory, Solver
from stickslip.simulation.clock import Clock, ends
from stickslip.simulation.failure import SimulationFailure
from stickslip.state import Array, ModelError, State

CARRIED = ("q", "v")
"""What every scheme carries from step to step."""
ON_FAILURE = ("raise", "accept")
"""What may be done about a step that misses its tolerance."""
NOTED = 20
"""Most sentences about steps that are kept."""


class Point(NamedTuple):
    """Where a run is between two steps."""

    state: State
    memory: Memory


class Run(ABC):
    """The steps of a run."""

    start: Point
    times: Array
    """At the start, and at the end of each step [s], shape (steps + 1,)."""
    lengths: Array
    """Of each step [s], shape (steps,)."""
    shares: Array
    """How much longer each step is with an h that is longer by one [-], shape (steps,)."""
    controls: dict[str, Array]
    """Inputs for every step, each with an axis of steps before its own."""
    on_failure: str

    def __len__(self) -> int:
        return self.lengths.size

    @property
    @abstractmethod
    def known(self) -> tuple[str, ...]:
        """What it can be differentiated by."""

    @abstractmethod
    def shape(self, name: str) -> tuple[int, ...]:
        """Of one of those in one step; q as displacements."""

    @abstractmethod
    def displacements(self, state: State, dq: Array) -> Array:
        """Derivatives by displacements, from those or from derivatives by q of a state."""

    @abstractmethod
    def coordinates(self, q: Array, on_q: Array) -> Array:
        """Weights of the numbers of q, from those of displacements."""

    @abstractmethod
    def make(self, k: int, point: Point) -> Point:
        """What step k leads to, from where it begins."""

    @abstractmethod
    def differentiate(self, k: int, point: Point) -> tuple[Derivative, Point]:
        """The derivative of step k, from where it begins, and what it leads to."""

    def size(self, name: str) -> int:
        """How many numbers it can be differentiated by under that name."""
        return int(np.prod(self.shape(name), dtype=int))

    def arrived(self, k: int, point: Point, step: Any) -> Point:
        """Where step k led to; what is not good is refused, or accepted where that was asked for."""
        if not step.solved and self.on_failure == "raise":
            raise SimulationFailure(point.state.t, step, None)
        end = State(float(self.times[k + 1]), step.state.q, step.state.v, step.state.z)
        if not (np.isfinite(end.q).all() and np.isfinite(end.v).all()):
            raise ModelError(f"the step from t = {point.state.t:.9g} s gives numbers that are not finite")
        return Point(end, step.memory)


P = TypeVar("P")
S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class SchemeRun(Run, Generic[P, S]):
    """The steps of a run that a scheme makes of a prepared model."""

    prepared: P
    scheme: S
    solver: Solver
    start: Point
    times: Array
    """As `Run` has it [s], shape (steps + 1,)."""
    lengths: Array
    """As `Run` has it [s], shape (steps,)."""
    shares: Array
    """As `Run` has it [-], shape (steps,)."""
    controls: dict[str, Array]
    """Inputs for every step, as `Run` has it [any], shapes (steps, ...)."""
    kappa: float = 0.0
    on_failure: str = "raise"


def divided(clock: Clock, t: float, until: float) -> tuple[Array, Array, Array]:
    """Times, lengths and shares of the steps from t to `until`."""
    last, rest = ends(clock, t, until)
    full = last - clock.index
    numbers = range(clock.index + 1, last + 1)
    times = [t, *(clock.at(k) for k in numbers), *([until] if rest else [])]
    lengths = [*(clock.length(k) for k in numbers), *([rest] if rest else [])]
    shares = [1.0] * full + ([-float(full)] if rest else [])
    return np.array(times), np.array(lengths), np.array(shares)


class Flagged:
    """What is said of the derivatives of the steps of a run."""

    kinks: tuple[int, ...]
    not_unique: tuple[int, ...]

    @property
    def exists(self) -> bool:
        """Whether every step has a derivative."""
        return not self.kinks

    @property
    def unique(self) -> bool:
        """Whether the impulses of every step are unique."""
        return not self.not_unique


class Flags:
    """Steps whose derivative is one of several, gathered one after the other in any order."""

    def __init__(self) -> None:
        self._kinks: list[int] = []
        self._not_unique: list[int] = []
        self._notes: dict[str, tuple[int, int]] = {}

    def add(self, k: int, derivative: Derivative) -> None:
        """Look at the derivative of step k; each sentence is kept once, those of the first steps of many."""
        if derivative.exists and derivative.unique:
            return
        if not derivative.exists:
            self._kinks.append(k)
        if not derivative.unique:
            self._not_unique.append(k)
        for note in derivative.notes:
            first, count = self._notes.get(note, (k, 0))
            self._notes[note] = min(first, k), count + 1
        while len(self._notes) > NOTED:
            del self._notes[max(self._notes, key=lambda note: self._notes[note])]

    def told(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]]:
        """Steps that have no derivative, steps with impulses that are not unique, and sentences."""
        notes = []
        for note, (first, count) in sorted(self._notes.items(), key=lambda one: one[1]):
            where = f"step {first}" if count == 1 else f"{count} steps, the first {first}"
            notes.append(f"{where}: {note}")
        return tuple(sorted(self._kinks)), tuple(sorted(self._not_unique)), tuple(notes)


def checked_inputs(
    controls: Mapping[str, ArrayLike], shapes: Mapping[str, tuple[int, ...]], steps: int
) -> dict[str, Array]:
    """Inputs for every step, whose shapes in one step are known, as arrays that cannot be written to."""
    if not isinstance(controls, Mapping):
        raise ModelError(f"controls is {controls!r}; expected names and arrays, one row for each step")
    taken: dict[str, Array] = {}
    for name, given in controls.items():
        if name not in shapes:
            raise ModelError(
                f"unknown control {name!r}; controls that may differ between steps: {', '.join(shapes)}"
            )
        shape = (steps, *shapes[name])
        try:
            value = np.array(given, float)
        except (TypeError, ValueError):
            raise ModelError(
                f"control {name} is {type(given).__name__}; expected numbers, shape {shape}"
            ) from None
        if value.shape != shape:
            raise ModelError(
                f"control {name} has shape {value.shape}, expected {shape}: one row for each step"
            )
        if not np.isfinite(value).all():
            at = int(np.flatnonzero(~np.isfinite(value.reshape(steps, -1)).all(axis=1))[0])
            raise ModelError(f"control {name} is not finite in step {at}")
        value.flags.writeable = False
        taken[name] = value
    return taken


def checked_on_failure(on_failure: str) -> str:
    """What to do about a step that misses its tolerance."""
    if on_failure not in ON_FAILURE:
        raise ModelError(
            f"on_failure is {on_failure!r}; known where steps are differentiated: {', '.join(ON_FAILURE)}"
        )
    return on_failure
