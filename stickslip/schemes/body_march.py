"""Many steps of a world in one compiled call, where nobody asks between them.

`kernels/steps/bodies.py` makes them, with the same bits as `SemiExplicitMoreauJean.step`. Worlds with forces
that are Python functions, and other solvers than `auto`, have their steps made one by one; so have steps with
an impact that Poisson's law, or Newton's in parts, makes in several problems.
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
"""In one call."""
WORK = 40_000
"""Bodies and contacts that one call visits, about: some 10 ms, after which signals are heard."""
CONTACT_WORK = 20
"""What a contact, or a row of a joint, costs beside a body."""
LEAST_ROWS = 64
"""Of a strip where steps are asked for one by one."""
NO_END = -1
"""In the place of an index of the clock: no step is recorded but those of every so many."""
NO_INPUTS: Array = frozen(np.zeros(0))
MOST_SKIPPED = 64
"""Steps made one by one after several calls in a row that could not make any, at most."""


@dataclass(eq=False, slots=True)
class Strip:
    """Steps that follow each other, made by one compiled call or by several: row k is the end of step k."""

    room: Room
    """Rows 0 to `steps` of states, rows 0 to `steps` - 1 of numbers, and the contacts of those recorded."""
    q: Array
    """Poses of all rows [m, -], shape (rows, 7 n), not to be written to."""
    v: Array
    """Their velocities [m/s, rad/s], shape (rows, 6 n), not to be written to."""
    settings: Settings
    drives: Drives | None
    start: State
    """The first step begins at it."""
    memory: Memory
    """The scheme's then."""
    index: int
    """The clock's then."""
    carried: Carried
    """What the next step takes over."""
    state: State
    """At the end of the last step."""
    times: list[float]
    """Start, and ends of the steps [s]."""
    before: tuple[State, Carried, PreparedWorld]
    """Where the last step began: the state, what it carried over, and the world with its inputs."""
    inputs: list[tuple[int, Array]]
    """After how many steps inputs of the world were given, in order, and the values of all [any], shape
    (any,) each."""
    steps: int = 0
    """How many are made."""
    closed: bool = False
    """Whether no step may follow: what is here was read."""

    def can_follow(self, state: State, h: float) -> bool:
        """Whether there is room for a step of length h [s] from `state`."""
        same = self.state is state and self.settings.h == h
        return same and not self.closed and self.steps < len(self.room.numbers)

    def inputs_of(self, steps: int) -> Array:
        """Values of the inputs in so many steps [any], shape (steps, ...)."""
        first, values = zip(*self.inputs, strict=True)
        return np.repeat(values, np.diff(np.minimum([*first, steps], steps)), axis=0)

    @property
    def last_memory(self) -> Memory:
        """The scheme's memory after the last step."""
        return memory_of(self.carried)

    def memory_after(self, step: int) -> Memory:
        """The scheme's memory after so many steps, of which the last is recorded."""
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
    """Makes stretches of steps of one run."""

    prepared: PreparedWorld
    """With the inputs of the next step."""
    settings: tuple[float, float, bool, int, int, bool]
    """θ, tolerance, whether restitution is Newton's, parts of an impact, most sweeps of a correction, whether
    stabilised."""
    solve: Any
    """The kernel that solves the problems of this world."""
    inputs: Array
    """Values of all inputs of the world [any], shape (any,)."""
    contacts: int = 8
    """Of the last step, about."""
    misses: int = field(default=0)
    """Calls in a row that could make no step."""
    skip: int = field(default=0)
    """Steps to make one by one before the next call."""
    failure: tuple[float, Exception] | None = field(default=None)
    """What a motion raised when it was asked ahead, and the start of the step it was asked for [s]."""
    strip: Strip | None = field(default=None)
    """The last."""
    call: tuple[Any, Any] = (None, None)
    """The kernel of a step, and for which finder."""

    @classmethod
    def of(
        cls, prepared: PreparedWorld, scheme: Any, solver: Solver, inputs: Array = NO_INPUTS
    ) -> "BodyMarch | None":
        """For a run of a world; None where its steps are made one by one."""
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
        """Go on with the same world under other inputs, with these values."""
        self.prepared, self.inputs, self.failure = prepared, inputs, None
        if self.strip is not None:
            self.strip.inputs.append((self.strip.steps, inputs))

    def make(
        self, state: State, recall: Callable[[], Memory], h: float, at: Callable[[int], float], index: int,
        every: int, end: int, most: int,
    ) -> tuple[Strip, int] | None:  # fmt: skip
        """At most so many steps of length h from `state`: the strip that ends with them, and how many; None
        where the next is to be made by itself.

        recall: gives the scheme's memory at `state`. at: the time [s] at an index of the clock, which is at
        `index`. Contacts are kept of steps that end at a multiple of `every` of that index, or at `end`.
        """
        if self.skip:
            self.skip -= 1
            return None
        strip = self.strip
        if strip is None or not strip.can_follow(state, h):
            memory = recall()
            if self.solve is kernels.solve_coulomb and len(kept_of(memory)[0]) >= LARGE:
                return None  # the call would leave the step after detection and assembly
            strip = self.strip = self._begin(state, memory, h, index, every, most)
        first = strip.steps
        steps = min(most, len(strip.room.numbers) - first)
        if strip.drives is not None:
            starts = [state.t, *(at(index + k) for k in range(1, steps))]
            steps = self._drive(strip.drives.given[first:], h, starts)
        (done, ending, carried), warned = self._made(strip, index, every, end, steps)
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
        # Nothing is called from here on, so that a signal comes before all of it or after.
        self.misses = 0
        strip.before = state, strip.carried, self.prepared  # of steps made together, that of the first
        strip.times += times
        strip.carried, strip.steps, strip.state = carried, row, reached
        return strip, done

    def follow(self, state: State, index: int, every: int, t: float) -> State | None:
        """The end, at t [s], of one more step of the last strip, as `make` has it; None where there is no
        room for it, or `make` has to see to it."""
        strip = self.strip
        if strip is None or strip.state is not state or strip.closed or strip.drives is not None or self.skip:
            return None
        row = strip.steps + 1
        if row == len(strip.q):
            return None
        (done, _, carried), warned = self._made(strip, index, every, NO_END, 1)
        if warned:  # once: MuJoCo does not say it again
            strip.closed = True
            self._leave(1)
        if warned or not done:
            return None
        reached = State(t, strip.q[row], strip.v[row], state.z)
        strip.before = state, strip.carried, self.prepared
        strip.times += (t,)
        strip.carried, strip.steps, strip.state = carried, row, reached
        return reached

    def _leave(self, more: int) -> None:
        """Let the next steps be made by themselves, so many more than `make` is at."""
        self.misses += 1
        self.skip = min(2 ** (self.misses - 1), MOST_SKIPPED) - 1 + more

    def _made(self, strip: Strip, index: int, every: int, end: int, steps: int) -> tuple[Any, bool]:
        """What the kernel says of at most so many more steps of a strip, and whether MuJoCo warned."""
        bodies, detector = self.prepared.bodies, self.prepared.detector
        finder, shapes, spheres = detector.compiled()  # type: ignore[misc]
        arguments = (
            finder, self.solve, shapes, spheres, bodies.arrays, bodies.forces, bodies.linkage, strip.drives,
            strip.settings, index, every, end, strip.carried, strip.room, strip.steps, steps,
        )  # fmt: skip
        if self.call[1] is not finder:
            known, key = self.prepared.entries, (finder, self.solve, bodies.forces is None)
            if key not in known:
                known[key] = entry(kernels.march, *arguments)
            self.call = known[key], finder
        warned = detector.warned()
        with warned:
            found = self.call[0](*arguments)
        return found, bool(warned.found)

    def _begin(self, state: State, memory: Memory, h: float, index: int, every: int, most: int) -> Strip:
        """A strip without steps yet."""
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
        moved = len(motions)
        drives = Drives(motions.numbers, np.empty((rows, moved, 6))) if moved else None
        contacts, reserve = LastContacts(*kept_of(memory)), float(memory["reserve"][0])
        carried = Carried(contacts, last_joints(memory), reserve)
        before = state, carried, self.prepared
        return Strip(
            room, q, v, settings, drives, state, memory, index, carried, state, [state.t], before,
            [(0, self.inputs)],
        )  # fmt: skip

    def _drive(self, given: Array, h: float, starts: list[float]) -> int:
        """given <- velocities of kinematic bodies in steps of length h that start at these times; in how
        many: a motion that raises ends them before its step, and what it raised is raised when that step is
        due."""
        if self.failure is not None and self.failure[0] <= starts[0]:
            raise self.failure[1]
        for k, start in enumerate(starts):
            try:
                given[k] = self.prepared.world.motions.values(start + h)
            except Exception as error:
                if k == 0:
                    raise
                self.failure = start, error
                return k
        return len(starts)


def memory_of(carried: Carried) -> Memory:
    """A memory as `SemiExplicitMoreauJean` leaves it."""
    last, joints = carried.contacts, carried.joints
    made = {
        "id": last.id, "point": last.local, "frame": last.frame, "r": last.r, "joint_r": joints.r,
        "reserve": np.array([carried.reserve]), "joint_id": joints.id, "joint_size": joints.size,
    }  # fmt: skip
    for array in made.values():
        array.flags.writeable = False
    return made


def _most_rows(linkage: Linkage | None) -> int:
    """Of the joints in a step."""
    if linkage is None:
        return 0
    joints = linkage.joints
    stops = np.isfinite(joints.lower).sum() + np.isfinite(joints.upper).sum()
    return 6 * len(joints.kind) + int(stops + (joints.friction > 0.0).sum())


def _room(steps: int, n: int, most: int, joint_rows: int) -> Room:
    """Where `steps` steps of n bodies with `most` recorded contacts, and such rows of joints, are written."""
    return Room(
        np.empty((steps + 1, n, 7)), np.empty((steps + 1, n, 6)), np.empty((steps, kernels.NUMBERS)),
        empty_contacts(steps, most), np.empty((most, 2, 3)), empty_joints(steps, joint_rows),
    )  # fmt: skip
