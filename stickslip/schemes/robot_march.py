"""Many steps of a robot in one compiled call, `kernels/robots/steps.py`; of worlds see `body_march.py`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from sys import getrefcount
from typing import Any

import numpy as np

from stickslip.detection.mujoco_library import Warnings
from stickslip.kernels.held import Held
from stickslip.kernels.jit import entry
from stickslip.kernels.robots import steps as kernels
from stickslip.kernels.robots.layout import LastImpulses, Room
from stickslip.kernels.robots.many import march_many
from stickslip.kernels.robots.outputs import begin_room, follow_room
from stickslip.schemes.robot_memory import NOT_FINITE, WRITTEN, last_of, restore, room_for
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Memory, Solver
from stickslip.state import Array, ModelError, State, state_of

ROWS, NEARLY = 272, 16
"""Default number of steps of a room, and the number of free steps from which it counts as nearly full. Rooms
of this size stay in the cache; a room of 1000 steps made each step up to 40 % slower
(`benchmarks/robots.py`). One call makes at most this many steps, and handles no signals within it."""


@dataclass(eq=False, slots=True)
class RobotStrip:
    """Buffer of consecutive steps of a robot: row k of `room` is the end of step k."""

    room: Room
    """Output arrays, which only kernels write."""
    run: Held
    """A `kernels.Run` of steps in which no mocap body moves."""
    index: int
    """Index of the clock at the start."""
    h: float
    """Length of the steps [s]."""
    most: int
    """Largest number of steps."""
    times: Array
    """Time of the start, and of the ends of the steps [s], shape (most + 1,)."""
    state: State
    """State at the end of the last step."""
    steps: int = 0
    """Number of steps in the buffer."""
    closed: bool = False
    """Whether no step may be added, because the contents have been read."""

    def can_follow(self, state: State, h: float) -> bool:
        """Whether a step of length h [s] from `state` can be added."""
        return self.state is state and self.h == h and not self.closed and self.steps < self.most

    def state_after(self, step: int) -> State:
        """Return the state after `step` steps."""
        room = self.room
        return State(float(self.times[step]), room.q[step], room.v[step], room.z[step])

    def last_after(self, step: int) -> LastImpulses:
        """Return the impulses of step `step`, counted from 1; 0: those before the start."""
        room = self.room
        b, end = room.block_offset[step : step + 2].tolist()
        first = room.first[b + step : end + step + 1]
        return LastImpulses(room.key[b:end], first - first[0], room.impulse[first[0] : first[-1]])


class RobotMarch:
    """Computes steps of one run in compiled calls."""

    def __init__(self, prepared: PreparedRobot, solver: Solver, rows: int = ROWS):
        """rows: number of steps of a room."""
        self.prepared, self.tolerance = prepared, float(getattr(solver, "tolerance", 0.0))
        self.rows = rows
        self.strip: RobotStrip | None = None
        self.contacts = 8
        """Estimated number of contacts of a step."""
        self._places: list[_Place] = []
        """Rooms of the last two strips."""

    def make(
        self, state: State, recall: Callable[[], Memory], h: float, at: Callable[[int], float], index: int,
        most: int,
    ) -> tuple[RobotStrip, int] | None:  # fmt: skip
        """Make at most `most` steps of length h from `state`. Return the strip that ends with them and their
        number; None if the next step needs the solver."""
        prepared, strip = self.prepared, self.strip
        if prepared.at is not state:
            restore(prepared, state, recall())
        prepared.begin_drive(h)
        carried = prepared.carried(h)
        prepared.look_ahead(h, carried, state)
        if strip is None or not strip.can_follow(state, h):
            strip = self._begin(state, recall, index, h)
        steps, run = min(most, strip.most - strip.steps), strip.run
        if carried.moving or prepared.drive is not None:
            run, steps = Held(run.values._replace(carried=carried), like=run), 1
        done, ending = self._call(run, strip, steps, at(index + 1))
        if ending == kernels.NOT_FINITE and not done:
            raise ModelError(NOT_FINITE.format(at(index)))
        if ending == kernels.FAILED and not done:
            prepared.check_warnings(state.t)
        self.strip = strip
        if ending == kernels.NO_ROOM:
            self.contacts *= 2
            strip.closed = True
        if ending == kernels.NO_SCRATCH:
            strip.run = Held(strip.run.values._replace(scratch=prepared.begin()[3]), like=strip.run)
        if not done:
            prepared.at, strip.closed = state, ending not in (kernels.NO_SCRATCH, kernels.REMADE)
            if ending == kernels.LEFT:
                return None
            if ending == kernels.WRITTEN:
                raise ModelError(WRITTEN.format(state.t))
            if ending == kernels.REMADE:
                prepared.renew(state)
            if ending == kernels.NO_MEMORY:
                prepared.check_memory()
            return self.make(state, recall, h, at, index, most)
        self._follow(strip, [at(k) for k in range(index + 1, index + done + 1)])
        if ending in (kernels.FAILED, kernels.NOT_FINITE):
            prepared.leave_failure()  # the next step fails again, and reports it
        return strip, done

    @property
    def lane(self) -> Callable[[State, int, int, float], State | None] | None:
        """Function that adds one step to the strip in use, up to a given time [s], and returns the state at
        its end, or None if the step needs `make`. None if all steps need `make`."""
        prepared, strip = self.prepared, self.strip
        call = prepared.entries.get("march")
        if strip is None or call is None or prepared.drive is not None or not prepared.guarded:
            return None
        if prepared.looks_around:
            return None
        run, most = strip.run, strip.most
        q, v, z = strip.room.q, strip.room.v, strip.room.z

        def follow(state: State, index: int, every: int, t: float) -> State | None:
            k = strip.steps
            if prepared.at is not state or strip.state is not state or strip.closed or k == most:
                return None
            prepared.at = None
            done, ending = call(run, k, 1, t)
            if not done:
                if ending == kernels.FAILED:
                    prepared.check_warnings(state.t)
                prepared.at = state
                return None
            after = state_of(t, q[k + 1], v[k + 1], z[k + 1])
            # No calls from here on, so that a signal interrupts before or after all of it.
            strip.steps, strip.state, prepared.at = k + 1, after, after
            return after

        return follow

    def ready(self, state: State) -> RobotStrip | None:
        """Return a strip to which a call for several robots (`march_together`) can add steps from `state`;
        None if the next step needs `make`."""
        prepared, strip = self.prepared, self.strip
        if strip is None or prepared.at is not state or strip.state is not state or strip.closed:
            return None
        if not prepared.free or prepared.model.nmocap or prepared.looks_around:
            return None
        if strip.steps == strip.most and not self.renew(state):
            return None
        return self.strip

    def renew(self, state: State) -> bool:
        """Begin another strip at the end of the one in use, if it is nearly full and ends at `state`; return
        whether one was begun."""
        strip = self.strip
        if strip is None or strip.steps < strip.most - NEARLY or strip.closed or strip.state is not state:
            return False
        for place in self._places:
            if place.is_free():
                index, run = strip.index + strip.steps, place.fitted(strip.run.settings, strip.run.scratch)
                self.prepared.entries["follow"](run.room, strip.run.room, strip.steps)
                self.strip = RobotStrip(place.room, run, index, strip.h, self.rows, place.times, state)
                return True
        return False

    def _call(self, run: Held, strip: RobotStrip, steps: int, t: float) -> tuple[int, int]:
        """Call the kernel for at most `steps` more steps of a strip, the first of which ends at t [s]; return
        their number and the exit code. After an exception the data is at no state."""
        prepared = self.prepared
        call = prepared.entries.get("march")
        if call is None:
            call = prepared.entries["march"] = entry(kernels.march, run, strip.steps, steps, t)
        prepared.at = None
        if prepared.guarded:
            result: tuple[int, int] = call(run, strip.steps, steps, t)
        else:
            with Warnings() as warnings:
                result = call(run, strip.steps, steps, t)
            prepared.check_warnings(strip.state.t, warnings)
        return result

    def _follow(self, strip: RobotStrip, times: list[float]) -> None:
        """Update strip and data after steps that end at these times [s]."""
        room, t, first, end = strip.room, times[-1], strip.steps + 1, strip.steps + len(times)
        state = State(t, room.q[end], room.v[end], room.z[end])
        self.prepared.settle()
        self.prepared.data.time = t
        strip.times[first : end + 1] = times
        # No calls from here on, so that a signal interrupts before or after all of it.
        strip.steps, strip.state, self.prepared.at = end, state, state

    def _begin(self, state: State, recall: Callable[[], Memory], index: int, h: float) -> RobotStrip:
        """Return an empty strip that starts at `state`."""
        before, settings = self.strip, self.prepared.settings(h, self.tolerance)
        follows = before is not None and before.state is state
        last = before.last_after(before.steps) if before is not None and follows else last_of(recall())
        scratch, place = self.prepared.scratch, self._place(last, settings)
        arguments = place.fitted(settings, scratch).room, state.t, state.q, state.v, state.z, *last
        entries = self.prepared.entries
        if "begin" not in entries:
            entries["follow"] = entry(follow_room, place.run.room, place.run.room, 0)
            entries["begin"] = entry(begin_room, *arguments)
        entries["begin"](*arguments)
        return RobotStrip(place.room, place.run, index, h, self.rows, place.times, state)

    def _place(self, last: LastImpulses, settings: Held) -> "_Place":
        """Return a room for steps: that of older steps if there are no other references to its arrays.

        Steps that write to new memory take ten times as long as others; therefore the first call allocates
        two rooms.
        """
        self.contacts = max(self.contacts, 2 * int(self.prepared.data.ncon))
        most = self.rows * (self.contacts + 8)
        for one in self._places:
            if one.most >= most and one.room.impulse.size >= 2 * last.r.size and one.is_free():
                return one
        like = self._places[-1].run if self._places else self.prepared.entries.get("run")
        for _ in range(1 if self._places else 2):
            place = _Place(self.prepared, self.rows, most + last.r.size, settings, like)
            self._places = [*self._places[-1:], place]
            like = self.prepared.entries["run"] = place.run
        return self._places[-1]


def march_together(
    prepared: Sequence[PreparedRobot], strips: Sequence[RobotStrip], most: Sequence[int],
    at: Sequence[Callable[[int], float]], index: Sequence[int],
) -> tuple[list[int], dict[int, ModelError]]:  # fmt: skip
    """Add steps to the strips of robots of one structure that are `ready`; return their number for each, and
    the errors of robots whose first step failed, by their place.

    most: largest number for each. at: functions that return the times [s] at indices of their clocks, which
    are now `index`. A robot without steps is unchanged, or its data is at no state. What the user has written
    to its data since the last step is then lost: the error of its first step is therefore returned, and the
    step is not repeated.
    """
    n = len(strips)
    ints = np.array([[one.run.address for one in strips], [one.steps for one in strips], most], np.int64)
    first = np.array([time(k + 1) for time, k in zip(at, index, strict=True)])
    counts, ended = np.empty(n, np.int64), np.empty(n, np.int64)
    arguments = strips[0].run, *ints, first, counts, ended
    call = prepared[0].entries.get("many")
    if call is None:
        call = prepared[0].entries["many"] = entry(march_many, *arguments)
    before = [one.at for one in prepared]
    for robot in prepared:
        robot.at = None
    call(*arguments)
    steps, errors = counts.tolist(), dict[int, ModelError]()
    for k, (robot, strip, done, ending) in enumerate(
        zip(prepared, strips, steps, ended.tolist(), strict=True)
    ):
        robot.at = before[k]
        if done:
            room, row, t = strip.room, strip.steps + done, at[k](index[k] + done)
            strip.times[row] = robot.data.time = t
            strip.steps = row
            strip.state = robot.at = state_of(t, room.q[row], room.v[row], room.z[row])
        if ending in (kernels.FAILED, kernels.NOT_FINITE):
            if not done and (error := _failure(robot, ending, strip.state.t)):
                errors[k] = error
            robot.leave_failure()  # the next step fails again, and reports it
    return steps, errors


def _failure(robot: PreparedRobot, ending: int, t: float) -> ModelError | None:
    """Return the error of a step from t [s] on that was not made; None if MuJoCo gave no message."""
    if ending == kernels.NOT_FINITE:
        return ModelError(NOT_FINITE.format(t))
    try:
        robot.check_warnings(t)
    except ModelError as error:
        return error
    return None


class _Place:
    """A room with the kernel's arguments for steps that are written to it."""

    def __init__(self, prepared: PreparedRobot, rows: int, most: int, settings: Held, like: Held | None):
        """rows: number of steps; most: number of contacts of all of them; like: another run."""
        self.room, self.most = room_for(prepared, rows, most), most
        room = Held(self.room, like=None if like is None else like.room)
        self.run = Held(kernels.Run(*prepared.begin(), settings, prepared.still, room), like=like)
        self.times = self.room.t.view()  # Python writes to it
        parts: list[Any] = [self.room]
        for one in self.room:
            parts.extend(one if isinstance(one, tuple) else (one,))
        for k in range(1, len(parts)):
            parts[k].reshape(-1)[:1] = 0
            parts[k].flags.writeable = False
        self._parts = tuple(parts)
        del one, parts
        self._ours = self._references()

    def fitted(self, settings: Held, scratch: Held) -> Held:
        """Return the run with these settings and scratch."""
        if self.run.settings is not settings or self.run.scratch is not scratch:
            self.run = Held(self.run.values._replace(settings=settings, scratch=scratch), like=self.run)
        return self.run

    def is_free(self) -> bool:
        """Whether there are no other references to the room or its arrays."""
        return self._references() == self._ours

    def _references(self) -> int:
        """Return the number of references to the room and its arrays."""
        return sum(map(getrefcount, self._parts))
