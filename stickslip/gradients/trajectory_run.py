"""Runs as sequences of steps, each of which can be recomputed bitwise and differentiated."""

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
"""Variables that every scheme carries from step to step."""
ON_FAILURE = ("raise", "accept")
"""Actions for a step that misses its tolerance."""
NOTED = 20
"""Largest number of sentences about steps that are kept."""


class Point(NamedTuple):
    """State and memory of a run between two steps."""

    state: State
    memory: Memory


class Run(ABC):
    """Steps of a run."""

    start: Point
    """State and memory at the start."""
    times: Array
    """Times at the start and at the end of each step [s], shape (steps + 1,)."""
    lengths: Array
    """Lengths of the steps [s], shape (steps,)."""
    shares: Array
    """Derivative of the length of each step by h [-], shape (steps,)."""
    controls: dict[str, Array]
    """Inputs for every step; the first axis has the steps."""
    on_failure: str
    """One of `ON_FAILURE`."""

    def __len__(self) -> int:
        return self.lengths.size

    @property
    @abstractmethod
    def known(self) -> tuple[str, ...]:
        """Names by which the run can be differentiated."""

    @abstractmethod
    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of one of these inputs in one step; of q that of displacements."""

    @abstractmethod
    def displacements(self, state: State, dq: Array) -> Array:
        """Convert derivatives by q of a state to derivatives by displacements; return the latter
        unchanged."""

    @abstractmethod
    def coordinates(self, q: Array, on_q: Array) -> Array:
        """Convert weights of displacements to weights of the numbers of q."""

    @abstractmethod
    def make(self, k: int, point: Point) -> Point:
        """Make step k from `point`, and return its end."""

    @abstractmethod
    def differentiate(self, k: int, point: Point) -> tuple[Derivative, Point]:
        """Return the derivative of step k from `point`, and its end."""

    def size(self, name: str) -> int:
        """Number of entries of an input in one step."""
        return int(np.prod(self.shape(name), dtype=int))

    def arrived(self, k: int, point: Point, step: Any) -> Point:
        """Return the end of step k; raise an error if the step failed, unless failures are accepted."""
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
    """Run of a prepared model with a scheme and a solver."""

    prepared: P
    scheme: S
    solver: Solver
    start: Point
    times: Array
    """Times at the start and at the end of each step [s], shape (steps + 1,)."""
    lengths: Array
    """Lengths of the steps [s], shape (steps,)."""
    shares: Array
    """Derivative of the length of each step by h [-], shape (steps,)."""
    controls: dict[str, Array]
    """Inputs for every step [any], shapes (steps, ...)."""
    kappa: float = 0.0
    on_failure: str = "raise"


def divided(clock: Clock, t: float, until: float) -> tuple[Array, Array, Array]:
    """Return times, lengths and shares (see `Run`) of the steps from t to `until`."""
    last, rest = ends(clock, t, until)
    full = last - clock.index
    numbers = range(clock.index + 1, last + 1)
    times = [t, *(clock.at(k) for k in numbers), *([until] if rest else [])]
    lengths = [*(clock.length(k) for k in numbers), *([rest] if rest else [])]
    shares = [1.0] * full + ([-float(full)] if rest else [])
    return np.array(times), np.array(lengths), np.array(shares)


class Flagged:
    """Existence and uniqueness of the derivatives of the steps of a run."""

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
    """Collects the kinks, non-unique steps and notes of a run; steps may be added in any order."""

    def __init__(self) -> None:
        self._kinks: list[int] = []
        self._not_unique: list[int] = []
        self._notes: dict[str, tuple[int, int]] = {}

    def add(self, k: int, derivative: Derivative) -> None:
        """Add the derivative of step k. Each sentence is stored once; of many, those of the first steps."""
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

    def summary(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]]:
        """Return the steps without a derivative, the steps with non-unique impulses, and the sentences."""
        notes = []
        for note, (first, count) in sorted(self._notes.items(), key=lambda one: one[1]):
            where = f"step {first}" if count == 1 else f"{count} steps, the first {first}"
            notes.append(f"{where}: {note}")
        return tuple(sorted(self._kinks)), tuple(sorted(self._not_unique)), tuple(notes)


def checked_inputs(
    controls: Mapping[str, ArrayLike], shapes: Mapping[str, tuple[int, ...]], steps: int
) -> dict[str, Array]:
    """Return inputs for every step as read-only arrays; `shapes` are their shapes in one step."""
    if not isinstance(controls, Mapping):
        raise ModelError(f"controls is {controls!r}; expected names and arrays, one row for each step")
    inputs: dict[str, Array] = {}
    for name, numbers in controls.items():
        if name not in shapes:
            raise ModelError(
                f"unknown control {name!r}; controls that may differ between steps: {', '.join(shapes)}"
            )
        shape = (steps, *shapes[name])
        try:
            value = np.array(numbers, float)
        except (TypeError, ValueError):
            raise ModelError(
                f"control {name} is {type(numbers).__name__}; expected numbers, shape {shape}"
            ) from None
        if value.shape != shape:
            raise ModelError(
                f"control {name} has shape {value.shape}, expected {shape}: one row for each step"
            )
        if not np.isfinite(value).all():
            at = int(np.flatnonzero(~np.isfinite(value.reshape(steps, -1)).all(axis=1))[0])
            raise ModelError(f"control {name} is not finite in step {at}")
        value.flags.writeable = False
        inputs[name] = value
    return inputs


def checked_on_failure(on_failure: str) -> str:
    """Return the action for a step that misses its tolerance; raise a ModelError for an unknown one."""
    if on_failure not in ON_FAILURE:
        raise ModelError(
            f"on_failure is {on_failure!r}; known where steps are differentiated: {', '.join(ON_FAILURE)}"
        )
    return on_failure
