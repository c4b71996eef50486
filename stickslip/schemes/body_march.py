"""Many steps of a world in one compiled call, where nobody asks between them.

`kernels/steps/bodies.py` makes them, with the same bits as `SemiExplicitMoreauJean.step`. Worlds with joints
or forces that are Python functions, other solvers than `auto`, Poisson's law and impacts in parts have their
steps made one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.compilation import JIT
from stickslip.detection.detector import Detector
from stickslip.detection.tracking import kept_of
from stickslip.kernels.bodies.layout import LastContacts
from stickslip.kernels.steps import bodies as kernels
from stickslip.kernels.steps.bodies import Drives, Room, Settings
from stickslip.mechanics.motions import Motions
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.schemes.body_world import Bodies, PreparedWorld
from stickslip.schemes.step import Memory, Solver
from stickslip.state import Array, State

MOST_STEPS = 512
"""In one call."""
WORK = 40_000
"""Bodies and contacts that one call visits, about: some 10 ms, after which signals are heard."""
CONTACT_WORK = 20
"""What a contact costs beside a body."""
MOST_SKIPPED = 64
"""Steps made one by one after calls that could not make any, at most."""


@dataclass(frozen=True, eq=False, slots=True)
class Stretch:
    """Steps that one call made."""

    steps: int
    """How many; 0 where the next has to be made by itself."""
    room: Room
    """Rows 0 to `steps` of states, rows 0 to `steps` - 1 of numbers, and the contacts of those recorded."""
    memory: Memory
    """At the end of the last step."""

    def memory_after(self, step: int, before: Memory) -> Memory:
        """The scheme's memory after so many steps, all of which are recorded; before: that of the start."""
        if step == 0:
            return before
        rows = slice(int(self.room.offset[step - 1]), int(self.room.offset[step]))
        room = self.room
        reserve = room.numbers[step - 1, kernels.RESERVE]
        return _memory(room.id[rows].astype(float), room.local[rows], room.frame[rows], room.r[rows], reserve)


@dataclass(eq=False, slots=True)
class BodyMarch:
    """Makes stretches of steps of one run."""

    bodies: Bodies
    motions: Motions
    settings: tuple[float, float, bool, int]
    """θ, tolerance, whether restitution is Newton's, most sweeps of a correction."""
    detector: Detector
    solve: Any
    """The kernel that solves the problems of this world."""
    contacts: int = 8
    """Of the last step, about."""
    misses: int = field(default=0)
    """Calls in a row that could make no step."""
    skip: int = field(default=0)
    """Steps to make one by one before the next call."""
    failure: tuple[float, Exception] | None = field(default=None)
    """What a motion raised when it was asked ahead, and the start of the step it was asked for [s]."""

    @classmethod
    def of(cls, prepared: PreparedWorld, scheme: Any, solver: Solver) -> "BodyMarch | None":
        """For a run of a world; None where its steps are made one by one."""
        if (
            not JIT
            or type(scheme) is not SemiExplicitMoreauJean
            or not getattr(solver, "compiled_steps", False)
        ):
            return None
        world, bodies, detector = prepared.world, prepared.bodies, prepared.detector
        plain = scheme.impact == "newton" and scheme.parts == 1
        if not plain or world.forces.need_python or bodies.jointed or not bodies.dynamic.size:
            return None
        if detector.compiled() is None:
            return None
        sweeps = scheme.sweeps if scheme.correction else 0
        settings = scheme.theta, float(getattr(solver, "tolerance", 0.0)), True, sweeps
        solve = kernels.solve_coulomb if bodies.most_rows == 3 else kernels.solve_any
        return cls(bodies, world.motions, settings, detector, solve)

    def make(
        self, state: State, memory: Memory, h: float, at: Callable[[int], float], index: int, every: int,
        end: int, most: int,
    ) -> Stretch | None:  # fmt: skip
        """At most so many steps of length h from `state`; None where the next is to be made by itself.

        at: the time [s] at an index of the clock, which is at `index`. Contacts are kept of steps that end at
        a multiple of `every` of that index, or at `end`.
        """
        if self.skip:
            self.skip -= 1
            return None
        n = self.bodies.count
        steps = max(1, min(most, MOST_STEPS, WORK // (n + CONTACT_WORK * self.contacts)))
        drives, steps = self._drives(h, [state.t, *(at(index + k) for k in range(1, steps))])
        recorded = sum(1 for k in range(index + 1, index + steps + 1) if k % every == 0 or k == end)
        found = self.detector.compiled()
        assert found is not None
        finder, shapes, spheres = found
        theta, tolerance, newton, sweeps = self.settings
        bodies = self.bodies
        settings = Settings(
            h, theta, tolerance, newton, bodies.touch, bodies.size, bodies.least_weight, sweeps,
            *bodies.rates,
        )  # fmt: skip
        room = _room(steps, n, recorded * (2 * self.contacts + 16))
        room.q[0], room.v[0] = state.q.reshape(n, 7), state.v.reshape(n, 6)
        last = LastContacts(*kept_of(memory))
        with self.detector.warnings() as warned:
            done, ending, last, reserve = kernels.march(
                finder, self.solve, shapes, spheres, bodies.arrays, bodies.forces, drives, settings, index,
                every, end, last, float(memory["reserve"][0]), room,
            )  # fmt: skip
        self.contacts = max(8, int(last.id.shape[0]))
        if ending == kernels.NO_ROOM:
            self.contacts *= 2
        if not done or warned:
            if ending == kernels.LEFT or warned:
                self.misses += 1
                self.skip = min(2**self.misses, MOST_SKIPPED) - 1
                return None
            return self.make(state, memory, h, at, index, every, end, most)
        self.misses = 0
        return Stretch(done, room, _memory(last.id, last.local, last.frame, last.r, reserve))

    def _drives(self, h: float, starts: list[float]) -> tuple[Drives | None, int]:
        """Velocities of kinematic bodies in steps of length h that start at these times, and in how many: a
        motion that raises ends them before its step, and what it raised is raised when that step is due."""
        if not len(self.motions):
            return None, len(starts)
        if self.failure is not None and self.failure[0] <= starts[0]:
            raise self.failure[1]
        given = np.empty((len(starts), len(self.motions), 6))
        for k, start in enumerate(starts):
            try:
                given[k] = self.motions.values(start + h)
            except Exception as error:
                if k == 0:
                    raise
                self.failure = start, error
                return Drives(self.motions.numbers, given), k
        return Drives(self.motions.numbers, given), len(starts)


def _memory(ids: Array, local: Array, frame: Array, r: Array, reserve: float) -> Memory:
    """A memory as `SemiExplicitMoreauJean` leaves it where there are no joints."""
    none = np.zeros(0)
    made = {
        "id": ids, "point": local, "frame": frame, "r": r, "joint_r": none, "reserve": np.array([reserve]),
        "joint_id": none, "joint_size": none,
    }  # fmt: skip
    for array in made.values():
        array.flags.writeable = False
    return made


def _room(steps: int, n: int, most: int) -> Room:
    """Where `steps` steps of n bodies with `most` recorded contacts are written to."""
    return Room(
        np.empty((steps + 1, n, 7)), np.empty((steps + 1, n, 6)), np.empty((steps, kernels.NUMBERS)),
        np.zeros(steps + 1, np.int64), np.empty(most, np.int64), np.empty((most, 2), np.int64),
        np.empty((most, 3)), np.empty((most, 3, 3)), np.empty(most), np.empty((most, 4)), np.empty((most, 6)),
        np.empty((most, 6)), np.empty((most, 2, 3)),
    )  # fmt: skip
