"""The steps of a run, each of which can be made again, bit for bit, and differentiated."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.detection.detector import Detector
from stickslip.gradients.derivative import Derivative
from stickslip.gradients.step import StepDerivative, checked_kappa, checked_solver, differentiated
from stickslip.mechanics.parameters import Parameters, actuators
from stickslip.mechanics.world import BodyKind, World
from stickslip.mechanics.written_forces import JointEffort
from stickslip.schemes.body_step import BodyScheme, BodyStep
from stickslip.schemes.step import Memory, Solver
from stickslip.simulation.clock import ends
from stickslip.simulation.failure import SimulationFailure
from stickslip.simulation.world_checkpoint import WorldCheckpoint
from stickslip.simulation.world_loop import begun_run
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, ModelError, State

CONTROLS = ("effort", "wrench")
"""Parameters that may be given for every step."""
ON_FAILURE = ("raise", "accept")
"""What may be done about a step that misses its tolerance."""


KEPT_WITH_WORLDS = ("_bodies", "_step_shapes")
"""What schemes make of a world once and keep with it."""
NOTED = 20
"""Most sentences about steps that are kept."""


class Point(NamedTuple):
    """Where a run is between two steps."""

    state: State
    memory: Memory


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a run of a world."""

    world: World
    scheme: BodyScheme
    solver: Solver
    detector: Any
    start: Point
    times: Array
    """At the start, and at the end of each step [s], shape (steps + 1,)."""
    lengths: Array
    """Of each step [s], shape (steps,)."""
    shares: Array
    """How much longer each step is with an h that is longer by one [-], shape (steps,)."""
    controls: dict[str, Array]
    """Inputs for every step [N, N m], shapes (steps, na) and (steps, n, 6)."""
    kappa: float = 0.0
    on_failure: str = "raise"

    @classmethod
    def of(
        cls, world: World, *, until: float, h: float | None, scheme: str | BodyScheme | None, solver: Solver,
        detector: Any = None, start: WorldCheckpoint | State | None = None,
        controls: Mapping[str, ArrayLike] | None = None, kappa: float = 0.0, on_failure: str = "raise",
    ) -> "Steps":  # fmt: skip
        """Those that `simulate` would make."""
        if not isinstance(world, World):
            raise ModelError(f"world is {type(world).__name__}; expected a World, as WorldBuilder makes it")
        checked_solver(solver)
        begun = begun_run(world, WorldModel.of(world), h, scheme, start)
        clock, state = begun.clock, begun.state
        last, rest = ends(clock, state.t, until)
        full = last - clock.index
        times = [
            state.t,
            *(clock.at(clock.index + k) for k in range(1, full + 1)),
            *([until] if rest else []),
        ]
        lengths = [clock.h] * full + ([rest] if rest else [])
        shares = [1.0] * full + ([-float(full)] if rest else [])
        return cls(
            world, begun.scheme, solver, Detector(world) if detector is None else detector,
            Point(state, begun.memory), np.array(times), np.array(lengths), np.array(shares),
            checked_controls(world, controls or {}, len(lengths)), checked_kappa(kappa),
            checked_on_failure(on_failure),
        )  # fmt: skip

    def __len__(self) -> int:
        return self.lengths.size

    def make(self, k: int, point: Point) -> Point:
        """What step k leads to, from where it begins."""
        world, h = self.world_of(k), float(self.lengths[k])
        step = self.scheme.step(world, point.state, point.memory, h, self.solver, self.detector)
        return self._arrived(k, point, step)

    def differentiate(self, k: int, point: Point) -> tuple[StepDerivative, Point]:
        """The derivative of step k, from where it begins, and what it leads to."""
        world, h = self.world_of(k), float(self.lengths[k])
        derivative = differentiated(self.scheme)(
            self.scheme, world, point.state, point.memory, h, self.solver, self.detector, kappa=self.kappa
        )
        return derivative, self._arrived(k, point, derivative.step)

    def world_of(self, k: int) -> World:
        """The world in step k: with the inputs of that step."""
        if not self.controls:
            return self.world
        return with_inputs(self.world, {name: value[k] for name, value in self.controls.items()})

    def _arrived(self, k: int, point: Point, step: BodyStep) -> Point:
        if not step.ok and self.on_failure == "raise":
            raise SimulationFailure(point.state.t, step, None)
        end = State(float(self.times[k + 1]), step.state.q, step.state.v, step.state.z)
        if not (np.isfinite(end.q).all() and np.isfinite(end.v).all()):
            raise ModelError(f"the step from t = {point.state.t:.9g} s leads to numbers that are not finite")
        return Point(end, step.memory)


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


def with_inputs(world: World, inputs: Mapping[str, Array]) -> World:
    """`world` with these efforts of its actuators and these wrenches, whose shapes `Parameters` says."""
    forces = world.forces
    if "effort" in inputs:
        value, driven = iter(inputs["effort"]), {id(one) for one in actuators(world)}
        written = tuple(
            _driven(one, next(value)) if isinstance(one, JointEffort) and id(one) in driven else one
            for one in forces.written
        )
        forces = replace(forces, written=written)
    if "wrench" in inputs:
        forces = replace(forces, wrench=inputs["wrench"])
    found = replace(world, forces=forces)
    # What schemes keep with a world knows of its forces only whether there are any.
    if (len(forces) > 0) == (len(world.forces) > 0):
        found.__dict__.update({key: world.__dict__[key] for key in KEPT_WITH_WORLDS if key in world.__dict__})
    return found


def _driven(one: JointEffort, effort: float) -> JointEffort:
    return replace(one, effort=replace(one.effort, constant=np.array(effort)))


def checked_controls(world: World, controls: Mapping[str, ArrayLike], steps: int) -> dict[str, Array]:
    """Inputs for every step, as arrays that cannot be written to."""
    if not isinstance(controls, Mapping):
        raise ModelError(f"controls is {controls!r}; expected names and arrays, one row for each step")
    taken: dict[str, Array] = {}
    base = Parameters.of(world) if controls else None
    for name, given in controls.items():
        if name not in CONTROLS:
            raise ModelError(f"no control {name!r}; what may differ from step to step: {', '.join(CONTROLS)}")
        shape = (steps, *getattr(base, name).shape)
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
        if name == "wrench" and value[:, world.kind != BodyKind.DYNAMIC].any():
            raise ModelError("control wrench pushes a body that is not dynamic: no wrench moves it")
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
