"""A run that goes on step by step: one object for every model, of which `simulate` is a loop.

    live = ss.live(world, h=1e-3)
    while live.t < 2.0:
        live.inputs["motor"] = -8.0 * live.joint("knee").position
        live.step()
    run = live.run()

Signals may cut steps and users' functions short, never what keeps the steps.
"""

import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple, Protocol

from numpy.typing import ArrayLike

from stickslip.interrupts import Interrupts
from stickslip.mechanics.given import called
from stickslip.mechanics.joints import column_of, coordinate
from stickslip.mechanics.world import World
from stickslip.schemes import registry
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Selector, Solver
from stickslip.simulation.begun import Begun
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import (
    MOST_HALVINGS,
    OFF_CLOCK,
    ON_FAILURE,
    Clock,
    Progress,
    RunStatus,
    choice,
    every,
    pause,
    takes_status,
)
from stickslip.simulation.contacts import WorldContacts
from stickslip.simulation.failure import SimulationFailure
from stickslip.simulation.record import Record, Watch
from stickslip.simulation.recorder import Recorder
from stickslip.simulation.system_steps import SystemSteps, begun_system
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_model import WorldModel
from stickslip.simulation.world_steps import WorldSteps, begun_world
from stickslip.state import ModelError, State
from stickslip.systems.system import NonsmoothSystem

FLUSH = 1.0
"""Records are written to a file after so much time at the latest [s]."""
MOST_PENDING = 2**24
"""Or when so much of them is held [bytes]."""


class Sink(Protocol):
    """A file that a run is written to while it goes on."""

    def append(self, tail: Trajectory) -> None:
        """Write the records of `tail` behind those before; the first of them is in the file already, save
        that of the start of a file."""

    def read(self) -> Trajectory:
        """The run in the file so far."""

    def with_tail(self, tail: Trajectory) -> Trajectory:
        """The run in the file, followed by records that could not be written to it."""

    def end(self, complete: bool) -> Trajectory:
        """Close the file, which holds all that was appended; the run in it, opened."""


class Missed(Exception):  # noqa: N818
    """A step that missed its tolerance and must not be accepted."""

    def __init__(self, t: float, step: Any, more: str = ""):
        self.t, self.step, self.more = t, step, more


class JointState(NamedTuple):
    """Where the coordinate of a joint is."""

    position: float
    """[m], or the angle from -π to π [rad]."""
    speed: float
    """[m/s, rad/s]."""


class Inputs(MutableMapping[str, Any]):
    """The inputs of a live run, by name."""

    def __init__(self, live: "Live"):
        self._live = live

    def __getitem__(self, name: str) -> Any:
        return self._live._steps.inputs(self._live.state)[name]

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        self._live.set_inputs({name: value})

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"input {name!r} cannot be removed; set it to another value")

    def __iter__(self) -> Iterator[str]:
        return iter(self._live._steps.inputs(self._live.state))

    def __len__(self) -> int:
        return len(self._live._steps.inputs(self._live.state))

    def __repr__(self) -> str:
        return f"Inputs({dict(self)})"


class Live:
    """A run that is being made: `step` goes on, and the rest says where it is."""

    def __init__(
        self, model: NonsmoothSystem | World, *, solver: Solver, h: float | None = None, scheme: Any = None,
        solver_name: str = "", tolerance: float = 1e-8, record: int = 1, on_failure: str = "raise",
        start: Any = None, watch: Watch | None = None, select: Selector | None = None,
        sink: Sink | None = None, flush: float = FLUSH,
    ):  # fmt: skip
        """See `stickslip.live`, which knows solvers by name."""
        if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
            raise ModelError(f"solver is {solver!r}; expected a name, such as 'auto', or a solver")
        if watch is not None and not callable(watch):
            raise ModelError(f"watch is {watch!r}; expected a function of a Record")
        self.model = model
        self._record, self._on_failure = every(record), choice("on_failure", on_failure, ON_FAILURE)
        self._solver, self._solver_name = solver, solver_name or type(solver).__name__
        self._tolerance, self._select, self._watch = tolerance, select, watch
        self._sink, self._flush, self._written = sink, pause(flush), False
        self._ended: Trajectory | None = None
        self._scheme, self._h, self._start = scheme, h, start
        self._prepared = PreparedWorld(model) if isinstance(model, World) else None
        self._begin(start)
        self._write(now=True)

    def _begin(self, start: Any) -> None:
        steps: SystemSteps | WorldSteps
        if self._prepared is not None:
            model = WorldModel.of(self._prepared.world)
            begun = begun_world(self._prepared, model, self._h, self._scheme, start)
            steps = WorldSteps(self._prepared, model, begun, self._solver, self._select)
        else:
            assert isinstance(self.model, NonsmoothSystem)
            prepared = PreparedSystem(self.model)
            begun = begun_system(prepared, self._h, self._scheme, start)
            steps = SystemSteps(prepared, begun, self._solver, self._select)
        steps.every = self._record
        self._begun: Begun = begun
        self._steps: Any = steps
        self.state, self._memory = begun.state, begun.memory
        self.clock = Clock(begun.clock.origin, begun.clock.h)
        self.index = begun.clock.index
        """Steps since the clock's origin."""
        first = steps.first(begun.state, begun.memory, begun.clock.index, begun.sums)
        reduction = steps.reduction(begun.sums)
        self._recorder = Recorder(steps, first, begun.memory, begun.clock.index, reduction)
        self._residual = self._worst = 0.0
        self._again: Callable[[], Any] | None = None
        """Makes the last step once more."""
        self._step: Any = None
        self._flushed = time.monotonic()

    # 1. Where it is.

    @property
    def t(self) -> float:
        """Time reached [s]."""
        return self.state.t

    @property
    def steps(self) -> int:
        """Steps made so far."""
        return self._recorder.steps

    @property
    def scheme(self) -> Any:
        """What makes the steps."""
        return self._steps.scheme

    @property
    def last_step(self) -> Any:
        """The last step as data, with its problems and solutions; None before the first. A step that was made
        in compiled code is made once more: of a world with the same bits, of systems to rounding."""
        if self._step is None and self._again is not None:
            self._step = self._again()
        return self._step

    @property
    def residual(self) -> float:
        """Largest unit-free natural residual of the problems of the last step [-], by the judge."""
        return float(self._residual if self._step is None else self._step.natural_scaled)

    @property
    def inputs(self) -> "Inputs":
        """What may be set between steps, by name: of a world its inputs (efforts of actuators, forces,
        prescribed motions), of systems their discrete parameters z."""
        return Inputs(self)

    def set_inputs(self, values: Mapping[str, ArrayLike]) -> None:
        """Set several inputs at once."""
        self.state = self._steps.set_inputs(values, self.state)

    def joint(self, name: str, turn: bool = False) -> JointState:
        """Of a world: position and speed of the coordinate of a joint; turn: that of turning, where a
        cylindrical joint has two."""
        if not isinstance(self.model, World):
            raise AttributeError(f"no joint {name!r}: this is a run of systems")
        joints = self.model.joints
        j, column = column_of(f"joint {name!r}", joints, name, turn)
        return JointState(*coordinate(joints, j, column, self.state.q, self.state.v))

    @property
    def contacts(self) -> WorldContacts:
        """Of a world: the contacts of the last step, as those of one record."""
        if self._step is None and self._recorder.index == self.index and self.index >= 0:
            part = self._tail()
            return replace(part, choose=None)[len(part) - 1 :].contacts  # type: ignore[no-any-return]
        step = self.last_step
        if step is None:
            return self._tail()[:1].raw_contacts  # type: ignore[no-any-return]
        return WorldContacts.of(step)

    def problem(self) -> Any:
        """The problem of the last step, to be saved, converted, or given to another solver; None where it had
        none. Of several the first."""
        step = self.last_step
        return step.solves[0].problem if step is not None and step.solves else None

    def checkpoint(self) -> Checkpoint:
        """Where it is, for `reset` and `simulate(..., start=...)`."""
        scheme, options = registry.described(self._steps.scheme)
        sums = self._recorder.totals | self._steps.sums(self._tail(), self._recorder.work_since)
        return Checkpoint(
            self.state, self._memory, Clock(self.clock.origin, self.clock.h, self.index),
            self._steps.model, scheme, options, self._solver_name, self._tolerance, sums,
        )  # fmt: skip

    def run(self) -> Trajectory:
        """What was recorded so far."""
        if self._sink is None:
            return self._tail()
        self._write(now=True)
        return self._sink.read()

    # 2. What goes on.

    def step(self, n: int = 1) -> State:
        """Make n steps; the state at their end."""
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise ModelError(f"n is {n!r}; how many steps is a whole number from 1")
        try:
            with Interrupts() as interrupts:
                if n > 1:
                    self._go(self.index + n - 1, OFF_CLOCK, interrupts, None)
                self._go(self.index + 1, OFF_CLOCK, interrupts, None)
        except Missed as missed:
            raise SimulationFailure(missed.t, missed.step, self.run(), missed.more) from None
        return self.state

    def reset(self, start: Checkpoint | State | None = None) -> None:
        """Go back to the start, or to a checkpoint; what was recorded is let go. Inputs of a world stay as
        they are set."""
        if self._sink is not None:
            raise ModelError("this run is written to a file and cannot go back; begin another with live(...)")
        inputs = dict(self.inputs) if self._prepared is not None else {}
        self._begin(self._start if start is None else start)
        if inputs:
            self.set_inputs(inputs)

    def to(
        self, until: float, last: int, rest: float, progress: Progress | None, interrupts: Interrupts
    ) -> None:
        """Full steps up to number `last` of the clock, and a shortened one of length `rest` [s] if any."""

        told = progress is not None and takes_status(progress)

        def report(t: float) -> None:
            if progress is not None:
                call = progress
                if told:
                    now = RunStatus(t, self.steps, self._contacts(), self._worst)
                    call = partial(progress, status=now)
                interrupts.run(called, "the run", "progress", call, (t, until), t)

        self._go(last, OFF_CLOCK if rest else last, interrupts, report)
        if rest:
            self._one(rest, until, OFF_CLOCK, True, interrupts)
            report(until)

    def _go(
        self, last: int, end: int, interrupts: Interrupts, report: Callable[[float], None] | None
    ) -> None:
        """Full steps up to number `last` of the clock; that of number `end` is recorded in any case."""
        while self.index < last:
            if not self._together(last, end, interrupts):
                to = self.index + 1
                self._one(
                    self.clock.h, self.clock.at(to), to, to % self._record == 0 or to == end, interrupts
                )
            if report is not None:
                report(self.state.t)
            if self._sink is not None:
                self._write()

    def _together(self, last: int, end: int, interrupts: Interrupts) -> bool:
        """Whether several steps were made in one compiled call."""
        if self._watch is not None:
            return False
        state, memory, index = self.state, self._memory, self.index
        again = self._steps.again(state, memory, self.clock.h)
        march = self._steps.march(
            state, memory, self.clock, index, last - index, self._record, end, interrupts
        )
        if march is None:
            return False
        n = march.steps
        first = self._record - index % self._record - 1
        ends = list(range(first, n, self._record))
        if index < end <= index + n and (not ends or ends[-1] != end - index - 1):
            ends.append(end - index - 1)
        self._recorder.extend(march, index, ends)
        self.state, self._memory, self.index = march.state, march.memory(n - 1), index + n
        self._again = again if n == 1 else None
        self._step = None
        self._residual, self._worst = march.residual, max(self._worst, march.worst)
        if march.error is not None:
            raise march.error
        interrupts.check()
        return True

    def _one(self, h: float, t: float, index: int, closes: bool, interrupts: Interrupts) -> None:
        """One step of the clock, which ends at t: a step as it is, or what `on_failure` makes of it."""
        step = interrupts.run(self._steps.step, self.state, self._memory, h)
        steps = (step,) if step.solved else interrupts.run(self._after_miss, step)
        for k, one in enumerate(steps, 1):
            final = k == len(steps)
            # Time is the clock's, not a sum of steps.
            end = State(t if final else one.state.t, one.state.q, one.state.v, one.state.z)
            self._steps.check(one, end)
            told = self._watch is not None
            kept = interrupts.run(self._steps.keep, one, self.state, end, index, closes and final, told)
            self._recorder.add(one, kept, one.memory, index, closes and final)
            self._again, self._step = None, one
            self._worst = max(self._worst, one.natural_scaled)
            self.state, self._memory = end, one.memory
        self.index = index
        if closes:
            interrupts.run(self.show)

    def _after_miss(self, step: Any) -> tuple[Any, ...]:
        """The steps to take in place of one that missed its tolerance: itself, or 2, 4, ... shorter ones."""
        if self._on_failure == "accept":
            return (step,)
        raised = self._on_failure == "raise"
        more = self._steps.explain(self.state, step, raised)
        if raised:
            raise Missed(self.state.t, step, more)
        for halvings in range(1, MOST_HALVINGS + 1):
            h, state, memory, steps = step.h / 2**halvings, self.state, self._memory, []
            for _ in range(2**halvings):
                one = self._steps.step(state, memory, h)
                if not one.solved:
                    break
                steps.append(one)
                state, memory = one.state, one.memory
            else:
                return tuple(steps)
        raise Missed(self.state.t, step, f", and so did one of {2**MOST_HALVINGS} shorter ones")

    def _contacts(self) -> int:
        return int(self._steps.contacts(self._memory, self._step))

    # 3. What it leaves.

    def show(self) -> None:
        """Show the last record to whoever watches."""
        if self._watch is not None:
            part = replace(self._tail(), choose=None)
            last = Record.of(part[len(part) - 1 :], 0)
            called("the run", "watch", self._watch, (last,), self.state.t)

    def _tail(self) -> Trajectory:
        """The records that are in memory: all, or with a file those since the last that is in it."""
        recorder = self._recorder
        recorder.flush()
        scheme, options = registry.described(self._steps.scheme)
        return Trajectory(
            self._steps.model, recorder.store.snapshot(), scheme, options, self._solver_name, self._tolerance,
            Clock(self.clock.origin, self.clock.h), recorder.steps, recorder.missed, recorder.relaxation,
            memory=recorder.memory, events=tuple(recorder.events), notes=self._steps.notes,
            **self._steps.parts(),
        )  # fmt: skip

    def _write(self, now: bool = False) -> None:
        """Write what was recorded to the file, where it is time to."""
        recorder = self._recorder
        late = time.monotonic() - self._flushed >= self._flush
        if self._sink is None or not (now or late or recorder.store.bytes >= MOST_PENDING):
            return
        tail = self._tail()
        if len(tail) > 1 or not self._written or now:
            self._sink.append(tail)
            self._written = True
            self._steps.written(tail)
            recorder.forget()
        self._flushed = time.monotonic()

    def end(self, complete: bool) -> Trajectory:
        """The run, which does not go on: with a file all of it is there, or an OSError carries it."""
        if self._sink is None:
            return self._tail()
        if self._ended is None:
            try:
                self._write(now=True)
                self._ended = self._sink.end(complete)
            except OSError as error:
                self._ended = self._sink.with_tail(self._tail())
                if complete:
                    error.trajectory = self._ended  # type: ignore[attr-defined]
                    raise
        return self._ended
