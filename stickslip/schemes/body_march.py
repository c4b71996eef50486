"""Many steps of a world in one compiled call.

`kernels/steps/bodies.py` computes the steps, with the same bits as `SemiExplicitMoreauJean.step`. Steps are
made one by one in worlds with forces that are Python functions, with solvers other than `auto`, and for
impacts that need several problems (Poisson's law, Newton's law in parts).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.compilation import JIT
from stickslip.detection.tracking import kept_of
from stickslip.kernels.bodies.layout import Carried, LastContacts, LastJoints, Linkage
from stickslip.kernels.domains import LARGE
from stickslip.kernels.jit import entry
from stickslip.kernels.steps import bodies as kernels
from stickslip.kernels.steps.bodies import Drives, Room, Settings
from stickslip.kernels.steps.tables import empty_contacts, empty_joints
from stickslip.problem.checks import frozen
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.schemes.body_blocks import last_joints
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory, Solver
from stickslip.state import Array, State

MOST_STEPS = 512
"""Largest number of steps of one call."""
WORK = 40_000
"""Approximate work of one call, in bodies times steps: about 10 ms, after which signals are handled."""
CONTACT_WORK = 20
"""Cost of a contact or of a joint row, relative to that of a body (heuristic)."""
LEAST_ROWS = 64
"""Smallest number of rows of a strip, so that single steps share one."""
NO_END = -1
"""Index of the clock that no step has: only every `every`-th step is recorded."""
NO_INPUTS: Array = frozen(np.zeros(0))
"""Values of the inputs of a world without inputs."""
MOST_SKIPPED = 64
"""Largest number of steps made one by one after several unsuccessful calls in a row (heuristic)."""


@dataclass(eq=False, slots=True)
class Strip:
    """Buffer of consecutive steps, written by one or several compiled calls: row k is the end of step k."""

    room: Room
    """Output arrays of the kernel: states in rows 0 to `steps`, numbers in rows 0 to `steps` - 1, contacts of
    recorded steps."""
    q: Array
    """Poses of all rows [m, -], shape (rows, 7 n), read-only."""
    v: Array
    """Velocities of all rows [m/s, rad/s], shape (rows, 6 n), read-only."""
    settings: Settings
    """Settings of the steps, as the kernel takes them."""
    drives: Drives | None
    """Kinematic bodies and their velocities; None without them."""
    start: State
    """State at the start of the first step."""
    memory: Memory
    """The scheme's memory at `start`."""
    index: int
    """Index of the clock at `start`."""
    carried: Carried
    """Memory of the kernel after the last step."""
    state: State
    """State at the end of the last step."""
    times: list[float]
    """Time of the start, and of the ends of the steps [s]."""
    before: tuple[State, Carried, PreparedWorld]
    """Start of the last call: the state, the memory of the kernel, and the world with its inputs."""
    inputs: list[tuple[int, Array]]
    """Changes of the inputs in order: the number of steps before the change, and the values of all inputs
    [any], shape (any,) each."""
    steps: int = 0
    """Number of steps in the buffer."""
    closed: bool = False
    """Whether no step may be added, because the contents have been read or the last call stopped early."""

    def can_follow(self, state: State, h: float) -> bool:
        """Whether a step of length h [s] from `state` can be added."""
        same = self.state is state and self.settings.h == h
        return same and not self.closed and self.steps < len(self.room.numbers)

    def inputs_of(self, steps: int) -> Array:
        """Return the values of the inputs in the first `steps` steps [any], shape (steps, ...)."""
        first, values = zip(*self.inputs, strict=True)
        return np.repeat(values, np.diff(np.minimum([*first, steps], steps)), axis=0)

    @property
    def last_memory(self) -> Memory:
        """The scheme's memory after the last step."""
        return memory_of(self.carried)

    def memory_after(self, step: int) -> Memory:
        """Return the scheme's memory after `step` steps, the last of which must be recorded."""
        if step == 0:
            return self.memory
        room, table, links = self.room, self.room.contacts, self.room.joints
        rows = slice(int(table.offset[step - 1]), int(table.offset[step]))
        contacts = LastContacts(
            table.id[rows].astype(float), room.local[rows], table.frame[rows], table.r[rows]
        )
        rows = slice(int(links.offset[step - 1]), int(links.offset[step]))
        name, size = np.unique(links.id[rows], return_counts=True)
        joints = LastJoints(name.astype(float), size.astype(float), links.r[rows])
        return memory_of(Carried(contacts, joints, room.numbers[step - 1, kernels.RESERVE]))


@dataclass(eq=False, slots=True)
class BodyMarch:
    """Computes steps of one run in compiled calls."""

    prepared: PreparedWorld
    """The world, with the inputs of the next step."""
    settings: tuple[float, float, bool, int, int, bool]
    """θ, tolerance, whether restitution is Newton's, number of parts of an impact, largest number of sweeps
    of a correction, whether the laws are stabilised."""
    solve: Any
    """Kernel that solves the problems of this world."""
    inputs: Array
    """Values of all inputs of the world [any], shape (any,)."""
    contacts: int = 8
    """Estimated number of contacts of a step."""
    misses: int = field(default=0)
    """Number of calls in a row that made no step."""
    skip: int = field(default=0)
    """Number of steps to make one by one before the next call."""
    failure: tuple[float, Exception] | None = field(default=None)
    """Start of the step for which a motion, evaluated in advance, raised [s], and the exception."""
    strip: Strip | None = field(default=None)
    """The buffer in use."""
    call: tuple[Any, Any] = (None, None)
    """Compiled entry of the kernel, and the contact finder that it belongs to."""

    @classmethod
    def of(
        cls, prepared: PreparedWorld, scheme: Any, solver: Solver, inputs: Array = NO_INPUTS
    ) -> "BodyMarch | None":
        """Return the march of a run of a world; None if its steps have to be made one by one."""
        if (
            not JIT
            or type(scheme) is not SemiExplicitMoreauJean
            or not getattr(solver, "compiled_steps", False)
        ):
            return None
        world, bodies, detector = prepared.world, prepared.bodies, prepared.detector
        if world.forces.need_python or not bodies.dynamic.size:
            return None
        if detector.compiled() is None:
            return None
        tolerance = float(getattr(solver, "tolerance", 0.0))
        settings = (
            scheme.theta, tolerance, scheme.impact == "newton", scheme.parts, scheme.correction_sweeps,
            scheme.stabilisation,
        )  # fmt: skip
        solve = kernels.solve_coulomb if bodies.most_rows == 3 else kernels.solve_any
        if bodies.jointed:
            solve = kernels.solve_linked
        return cls(prepared, settings, solve, inputs)

    def set_inputs(self, prepared: PreparedWorld, inputs: Array) -> None:
        """Continue with the same world under other inputs; `inputs` are the values of all of them."""
        self.prepared, self.inputs, self.failure = prepared, inputs, None
        if self.strip is not None:
            self.strip.inputs.append((self.strip.steps, inputs))

    def make(
        self, state: State, recall: Callable[[], Memory], h: float, at: Callable[[int], float], index: int,
        every: int, end: int, most: int,
    ) -> tuple[Strip, int] | None:  # fmt: skip
        """Make at most `most` steps of length h from `state`. Return the strip that ends with them and their
        number; None if the next step has to be made by itself.

        recall: returns the scheme's memory at `state`. at: returns the time [s] at an index of the clock,
        which is now `index`. Contacts are recorded for steps that end at a multiple of `every`, or at `end`.
        """
        if self.skip:
            self.skip -= 1
            return None
        strip = self.strip
        if strip is None or not strip.can_follow(state, h):
            # 1. A new buffer, unless the problem is too large for the compiled call.
            memory = recall()
            if self.solve is kernels.solve_coulomb and len(kept_of(memory)[0]) >= LARGE:
                return None  # the call would leave the step after detection and assembly
            strip = self.strip = self._begin(state, memory, h, index, every, most)
        # 2. The compiled call, after the velocities of the kinematic bodies.
        first = strip.steps
        steps = min(most, len(strip.room.numbers) - first)
        if strip.drives is not None:
            starts = [state.t, *(at(index + k) for k in range(1, steps))]
            steps = self._drive(strip.drives.given[first:], h, starts)
        (done, ending, carried), warned = self._march(strip, index, every, end, steps)
        # 3. No step made: retry with more room, or leave the next step to the scheme.
        self.contacts = max(8, len(carried.contacts.id))
        if ending == kernels.NO_ROOM:
            self.contacts *= 2
            strip.closed = True
        if not done or warned:
            strip.closed = True
            if ending == kernels.LEFT or warned:
                self._leave(0)
                return None
            return self.make(state, recall, h, at, index, every, end, most)
        times = [at(index + k) for k in range(1, done + 1)]
        row = first + done
        reached = State(times[-1], strip.q[row], strip.v[row], state.z)
        # 4. Update the buffer. No calls from here on, so that a signal interrupts before or after all of it.
        self.misses = 0
        strip.before = state, strip.carried, self.prepared  # the start of this call
        strip.times += times
        strip.carried, strip.steps, strip.state = carried, row, reached
        return strip, done

    def follow(self, state: State, index: int, every: int, t: float) -> State | None:
        """Add one step to the strip in use, as `make` does, and return the state at its end, at t [s]. Return
        None if there is no room for it, or if the step needs `make`."""
        strip = self.strip
        if strip is None or strip.state is not state or strip.closed or strip.drives is not None or self.skip:
            return None
        row = strip.steps + 1
        if row == len(strip.q):
            return None
        (done, _, carried), warned = self._march(strip, index, every, NO_END, 1)
        if warned:  # MuJoCo does not repeat a warning
            strip.closed = True
            self._leave(1)
        if warned or not done:
            return None
        reached = State(t, strip.q[row], strip.v[row], state.z)
        strip.before = state, strip.carried, self.prepared
        strip.times += (t,)
        strip.carried, strip.steps, strip.state = carried, row, reached
        return reached

    def _leave(self, extra: int) -> None:
        """Leave the next steps to the scheme: twice as many after each miss, and `extra` more."""
        self.misses += 1
        self.skip = min(2 ** (self.misses - 1), MOST_SKIPPED) - 1 + extra

    def _march(self, strip: Strip, index: int, every: int, end: int, steps: int) -> tuple[Any, bool]:
        """Call the kernel for at most `steps` more steps: its result, and whether MuJoCo warned."""
        bodies, detector = self.prepared.bodies, self.prepared.detector
        finder, shapes, spheres = detector.compiled()  # type: ignore[misc]
        arguments = (
            finder, self.solve, shapes, spheres, bodies.arrays, bodies.forces, bodies.linkage, strip.drives,
            strip.settings, index, every, end, strip.carried, strip.room, strip.steps, steps,
        )  # fmt: skip
        if self.call[1] is not finder:
            entries, key = self.prepared.entries, (finder, self.solve, bodies.forces is None)
            if key not in entries:
                entries[key] = entry(kernels.march, *arguments)
            self.call = entries[key], finder
        warned = detector.warned()
        with warned:
            result = self.call[0](*arguments)
        return result, bool(warned.found)

    def _begin(self, state: State, memory: Memory, h: float, index: int, every: int, most: int) -> Strip:
        """Return an empty strip that starts at `state`."""
        bodies, n = self.prepared.bodies, self.prepared.bodies.count
        links = _most_rows(bodies.linkage)
        work = max(1, WORK // (n + CONTACT_WORK * (self.contacts + links)))
        rows = min(max(most, LEAST_ROWS), MOST_STEPS, work)
        recorded = (index + rows) // every - index // every + 1
        room = _room(rows, n, recorded * (2 * self.contacts + 16), recorded * links)
        room.q[0], room.v[0] = state.q.reshape(n, 7), state.v.reshape(n, 6)
        q, v = room.q.reshape(rows + 1, -1), room.v.reshape(rows + 1, -1)
        q.flags.writeable = v.flags.writeable = False
        theta, tolerance, newton, parts, sweeps, stabilised = self.settings
        settings = Settings(
            h, theta, tolerance, newton, parts, bodies.touch, bodies.size, bodies.least_weight, sweeps,
            stabilised, *bodies.rates,
        )  # fmt: skip
        motions = self.prepared.world.motions
        driven = len(motions)
        drives = Drives(motions.numbers, np.empty((rows, driven, 6))) if driven else None
        contacts, reserve = LastContacts(*kept_of(memory)), float(memory["reserve"][0])
        carried = Carried(contacts, last_joints(memory), reserve)
        before = state, carried, self.prepared
        return Strip(
            room, q, v, settings, drives, state, memory, index, carried, state, [state.t], before,
            [(0, self.inputs)],
        )  # fmt: skip

    def _drive(self, velocities: Array, h: float, starts: list[float]) -> int:
        """Write the velocities of the kinematic bodies in the steps of length h from `starts`; return in how
        many steps. If a motion raises, the steps end before, and the exception is raised when its step is
        due."""
        if self.failure is not None and self.failure[0] <= starts[0]:
            raise self.failure[1]
        for k, start in enumerate(starts):
            try:
                velocities[k] = self.prepared.world.motions.values(start + h)
            except Exception as error:
                if k == 0:
                    raise
                self.failure = start, error
                return k
        return len(starts)


def memory_of(carried: Carried) -> Memory:
    """Return the memory of `SemiExplicitMoreauJean` from that of the kernel."""
    last, joints = carried.contacts, carried.joints
    memory = {
        "id": last.id, "point": last.local, "frame": last.frame, "r": last.r, "joint_r": joints.r,
        "reserve": np.array([carried.reserve]), "joint_id": joints.id, "joint_size": joints.size,
    }  # fmt: skip
    for array in memory.values():
        array.flags.writeable = False
    return memory


def _most_rows(linkage: Linkage | None) -> int:
    """Return the largest number of joint rows in a step."""
    if linkage is None:
        return 0
    joints = linkage.joints
    stops = np.isfinite(joints.lower).sum() + np.isfinite(joints.upper).sum()
    return 6 * len(joints.kind) + int(stops + (joints.friction > 0.0).sum())


def _room(steps: int, n: int, most: int, joint_rows: int) -> Room:
    """Return output arrays for `steps` steps of n bodies, with `most` recorded contacts and `joint_rows`
    recorded rows of joints in all."""
    return Room(
        np.empty((steps + 1, n, 7)), np.empty((steps + 1, n, 6)), np.empty((steps, kernels.NUMBERS)),
        empty_contacts(steps, most), np.empty((most, 2, 3)), empty_joints(steps, joint_rows),
    )  # fmt: skip
