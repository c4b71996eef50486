"""Live runs, which advance step by step: one class for every model; `simulate` is a loop of it.

    live = ss.live(world, h=1e-3)
    while live.t < 2.0:
        live.inputs["motor"] = -8.0 * live.joint("knee").position
        live.step()
    run = live.run()

Signals may interrupt steps and users' functions, but not the bookkeeping of finished steps.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral
from operator import attrgetter
from typing import Any

from numpy.typing import ArrayLike

from stickslip.interrupts import Interrupts
from stickslip.mechanics.given import called
from stickslip.mechanics.world import World
from stickslip.problem.solution import Verdict
from stickslip.robots.robot import Robot
from stickslip.schemes import registry
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Memory, Selector, Solver
from stickslip.simulation import paces
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import (
    OFF_CLOCK,
    ON_FAILURE,
    Progress,
    RunStatus,
    Stride,
    choice,
    every,
    pause,
    takes_status,
)
from stickslip.simulation.contacts import WorldContacts
from stickslip.simulation.failure import Missed, SimulationFailure, steps_to
from stickslip.simulation.inputs import Inputs
from stickslip.simulation.joint_view import JointState, joint_state
from stickslip.simulation.record import Record, Watch
from stickslip.simulation.recorder import HELD, Lane, Marched, Recorder, recorded
from stickslip.simulation.steppers import begun_steps, prepared_model
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.writing import FLUSH, Sink, Writer
from stickslip.state import ModelError, State
from stickslip.systems.guards import Edges
from stickslip.systems.system import NonsmoothSystem


class Live:
    """Run that advances by `step`; its properties describe the current state. `ss.live` returns one."""

    def __init__(
        self, model: NonsmoothSystem | World | Robot, *, solver: Solver, h: Stride | None = None,
        scheme: Any = None, solver_name: str = "", tolerance: float = 1e-8, record: int = 1,
        on_failure: str = "raise", start: Any = None, watch: Watch | None = None,
        select: Selector | None = None, sink: Sink | None = None, flush: float = FLUSH,
        control: Callable[[Any], Any] | None = None,
    ):  # fmt: skip
        """See `stickslip.live`, which accepts names of solvers."""
        if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
            raise ModelError(f"solver is {solver!r}; expected a name, such as 'auto', or a solver")
        if watch is not None and not callable(watch):
            raise ModelError(f"watch is {watch!r}; expected a function of a Record")
        self.model = model
        self._record, self._on_failure = every(record), choice("on_failure", on_failure, ON_FAILURE)
        self._solver, self._solver_name = solver, solver_name or type(solver).__name__
        self._other_law = bool(getattr(solver, "other_law", False))
        self._tolerance, self._select, self._watch = tolerance, select, watch
        waits = pause(flush)
        self._writer = None if sink is None else Writer(sink, waits)
        self._scheme, self._h, self._start, self._control = scheme, h, start, control
        if control is not None and not (isinstance(model, Robot) and callable(control)):
            raise ModelError(f"control is {control!r}; expected a function of MuJoCo's data, for a robot")
        self._prepared = prepared_model(model)
        self._begin(start)
        self._write(now=True)

    def _begin(self, start: Any) -> None:
        """Start the run at `start`, or at the model's start for None."""
        options = self._h, self._scheme, start, self._solver, self._select, self._control
        begun, steps = begun_steps(self._prepared, *options)
        _require_steps(self._solver, steps.scheme)
        steps.every = self._record
        self._steps: Any = steps
        self._edges: Edges | None = getattr(steps, "edges", None)
        self.state = begun.state
        self._recall: Callable[[], Memory] = lambda: begun.memory
        """Returns the scheme's memory; after a compiled call, memories are built only when they are used."""
        self.clock = replace(begun.clock, index=0)
        self.index = begun.clock.index
        """Steps since the clock's origin."""
        first = steps.first(begun.state, begun.memory, begun.clock.index, begun.sums)
        reduction = steps.reduction(begun.sums)
        self._recorder = Recorder(steps, first, begun.memory, begun.clock.index, reduction)
        self._residual = self._worst = 0.0
        self._again: Callable[[], Any] | None = None
        """Repeats the last step and returns it as data."""
        self._step: Any = None
        """The last step as data, if it is known."""
        self._lane: Lane | None = None
        """Fast path for single steps, without bookkeeping; None if it cannot be used."""
        self._due, self._tidying = False, 0
        """Whether bookkeeping is due, and the number of its parts that are done."""
        self._settled = self.index
        """Index of the clock up to which steps are recorded; the fast path may be ahead of it."""

    # 1. Current state.

    @property
    def t(self) -> float:
        """Time reached [s]."""
        return self.state.t

    @property
    def steps(self) -> int:
        """Steps made so far."""
        return self._recorder.steps + self.index - self._settled

    @property
    def scheme(self) -> Any:
        """Scheme of the run."""
        return self._steps.scheme

    @property
    def last_step(self) -> Any:
        """The last step as data, with its problems and solutions; None before the first step. A step from
        compiled code is repeated: for worlds with the same bits, for systems to rounding."""
        self._settle()
        if self._step is None and self._again is not None:
            self._step = self._again()
        return self._step

    @property
    def residual(self) -> float:
        """Largest unit-free natural residual of the problems of the last step [-], by the judge."""
        self._settle()
        return float(self._residual if self._step is None else self._step.natural_scaled)

    @property
    def inputs(self) -> Inputs:
        """Inputs by name, which can be set between steps. Worlds: efforts of actuators, forces and prescribed
        motions; systems: discrete parameters z."""
        return Inputs(self)

    def set_inputs(self, values: Mapping[str, ArrayLike]) -> None:
        """Set several inputs at once."""
        state = self._steps.set_inputs(values, self.state)
        if state is not self.state:
            self._settle()
            self.state = state

    def joint(self, name: str, turn: bool = False) -> JointState:
        """Return position and speed of the coordinate of a joint of a world. turn: the rotation of a
        cylindrical joint, which has two coordinates."""
        return joint_state(self.model, self._steps.model, self.state, name, turn)

    @property
    def data(self) -> Any:
        """MuJoCo's data of a robot at the current state. Controls, applied forces and poses of mocap bodies
        may be written between steps."""
        if not isinstance(self._prepared, PreparedRobot):
            raise AttributeError("data belongs to robots; this model is not a robot")
        if self._prepared.at is not self.state:
            self._prepared.place(self.state)
        return self._prepared.data

    @property
    def contacts(self) -> WorldContacts:
        """Contacts of the last step of a world, as a table with one record."""
        self._settle()
        if self._step is None and self._recorder.index == self.index and self.index >= 0:
            part = self._tail()
            return replace(part, choose=None)[len(part) - 1 :].contacts  # type: ignore[no-any-return]
        step = self.last_step
        if step is None:
            return self._tail()[:1].raw_contacts  # type: ignore[no-any-return]
        return WorldContacts.of(step)

    def problem(self) -> Any:
        """Return the problem of the last step, which can be saved, converted, or passed to another solver:
        the first one if there are several, None if there is none."""
        step = self.last_step
        return step.solves[0].problem if step is not None and step.solves else None

    def checkpoint(self) -> Checkpoint:
        """Return the current checkpoint, for `reset` and `simulate(..., start=...)`."""
        self._settle()
        scheme, options = registry.described(self._steps.scheme)
        sums = self._recorder.totals | self._steps.sums(self._tail(), self._recorder.work_since)
        return Checkpoint(
            self.state, self._recall(), replace(self.clock, index=self.index),
            self._steps.model, scheme, options, self._solver_name, self._tolerance, sums,
            self._world_inputs(),
        )  # fmt: skip

    def _world_inputs(self) -> dict[str, Any]:
        """Return the inputs of a world, also of one around a robot; states do not contain them."""
        if isinstance(self._prepared, PreparedWorld):
            return dict(self.inputs)
        return dict(getattr(self._steps, "world_inputs", {}))

    def run(self) -> Trajectory:
        """Return the records so far."""
        if self._writer is None:
            return self._tail()
        self._write(now=True)
        return self._writer.sink.read()

    # 2. Stepping.

    def step(self, n: int = 1) -> State:
        """Make n steps (adaptive: n pairs of steps) and return the state at their end."""
        # 1. The fast path for a single step.
        lane, writer = self._lane, self._writer
        if lane is not None and type(n) is int and n == 1 and (writer is None or not writer.is_late):
            index = self.index + 1
            state = lane(self.state, self.index, self._record, self.clock.at(index))
            if state is None and self._renew() and self._lane is not None:
                state = self._lane(self.state, self.index, self._record, self.clock.at(index))
            if state is not None:
                # No calls between the end of the step and here, so that a signal interrupts before or after.
                self.state, self.index = state, index
                if self._due or index - self._settled >= HELD:
                    self._tidy()
                return state
        # 2. All other steps.
        if (type(n) is not int and not isinstance(n, Integral)) or isinstance(n, bool) or n < 1:
            raise ModelError(f"n is {n!r}; the number of steps must be a whole number from 1")
        try:
            with Interrupts() as interrupts:
                self._settle(interrupts)
                self._advance(int(n), interrupts)
        except Missed as missed:
            raise SimulationFailure(missed.t, missed.step, self.run(), missed.more) from None
        return self.state

    def _renew(self, interrupts: Interrupts | None = None) -> bool:
        """Give the fast path a new buffer if its own is nearly full, and return whether it has one. Without
        this the next step would take many times as long as others."""
        renew = getattr(self._steps, "renew", None)
        if renew is None:
            return False
        self._settle(interrupts)
        if not renew(self.state):
            return False
        self._lane = self._steps.lane
        return True

    def _tidy(self) -> None:
        """Do one part of the bookkeeping of the steps of the fast path. All of it at once would take many
        times as long as a step."""
        with Interrupts() as interrupts:
            if self._tidying == 0:
                self._settle(interrupts)
            elif self._tidying == 1:
                self._renew(interrupts)
            else:
                self._recorder.tidy()
            self._due = self._tidying < 2 or self._recorder.is_due
            self._tidying = self._tidying + 1 if self._due else 0

    def _advance(self, n: int, interrupts: Interrupts) -> None:
        """Make n steps of the clock, or n adaptive pairs."""
        if self.clock.adaptive is not None:
            for _ in range(n):
                self._pair(math.inf, interrupts)
            return
        self.clock.check_room(self.index, n)
        if n > 1:
            self._go(self.index + n - 1, OFF_CLOCK, interrupts, None)
        self._go(self.index + 1, OFF_CLOCK, interrupts, None)

    def reset(self, start: Checkpoint | State | None = None) -> None:
        """Return to the start, or to a checkpoint, with the inputs of that time; records are discarded."""
        if self._writer is not None:
            raise ModelError(
                "this run is written to a file and cannot be reset; start another one with live(...)"
            )
        self._begin(self._start if start is None else start)

    def to(
        self, until: float, last: int, rest: float, progress: Progress | None, interrupts: Interrupts
    ) -> None:
        """Make full steps up to index `last` of the clock, and a last step of length `rest` [s] if it is not
        0; adaptive steps up to `until` [s]."""
        status_aware = progress is not None and takes_status(progress)

        def report(t: float) -> None:
            if progress is not None:
                call = progress
                if status_aware:
                    contacts = int(self._steps.contacts(self._recall(), self._step))
                    call = partial(progress, status=RunStatus(t, self.steps, contacts, self._worst))
                interrupts.run(called, "the run", "progress", call, (t, until), t)

        while self.clock.adaptive is not None and self.state.t < until:
            self._pair(until, interrupts)
            report(self.state.t)
        self._go(last, OFF_CLOCK if rest else last, interrupts, report)
        if rest:
            self._one(rest, until, OFF_CLOCK, True, interrupts)
            report(until)

    def _go(
        self, last: int, end: int, interrupts: Interrupts, report: Callable[[float], None] | None
    ) -> None:
        """Make full steps up to index `last` of the clock; the step to index `end` is always recorded."""
        while self.index < last:
            if not self._together(last, end, interrupts):
                to = self.index + 1
                closes = to % self._record == 0 or to == end
                self._one(self.clock.length(to), self.clock.at(to), to, closes, interrupts)
            if report is not None:
                report(self.state.t)
            self._write()

    def _together(self, last: int, end: int, interrupts: Interrupts) -> bool:
        """Make steps up to index `last` in one compiled call; return False if that is not possible."""
        if self._watch is not None and not getattr(self._steps, "marches_watched", False):
            return False
        # 1. Number of steps of equal length without an edge of a guard.
        steps, clock, index, every = self._steps, self.clock, self.index, self._record
        again = steps.again(self.state, self._recall, clock.length(index + 1))
        most = clock.alike(index, last) if self._watch is None else 1
        if self._edges is not None:
            most = self._edges.clear(self.state.t, clock.length(index + 1), most)
            if not most:
                return False
        # 2. The compiled call.
        march = steps.march(self.state, self._recall, clock, index, most, every, end, interrupts)
        if march is None:
            return False
        # 3. Records, errors of users' functions, watcher, signals.
        ends = recorded(index, march.steps, every, end)
        self._take(march, index, ends, again if march.steps == 1 else None)
        if march.steps > 1 and self._due:
            self._recorder.flush()
        elif self._due:
            self._recorder.tidy()
        if march.error is not None:
            raise march.error
        if ends and self._watch is not None:
            interrupts.run(self.show)
        interrupts.check()
        return True

    def _take(self, march: Marched, index: int, ends: list[int], again: Callable[[], Any] | None) -> None:
        """Record the steps of a compiled call, which begin at an index of the clock."""
        self._recorder.extend(march, index, ends)
        self.state, self._recall = march.state, partial(march.memory, march.steps - 1)
        self.index = self._settled = index + march.steps
        self._again, self._step = again, None
        self._due = self._recorder.is_due
        self._residual, self._worst = march.residual, max(self._worst, march.worst)
        alike = self._watch is None and self._edges is None and not self.clock.grid
        alike = alike and self.clock.adaptive is None
        self._lane = getattr(self._steps, "lane", None) if alike else None

    def _settle(self, interrupts: Interrupts | None = None) -> None:
        """Record the steps of the fast path."""
        n, index = self.index - self._settled, self._settled
        if not n:
            return
        if interrupts is None:
            with Interrupts() as new:
                return self._settle(new)
        march, again = self._steps.followed(n, index, self._record)
        self._take(march, index, recorded(index, n, self._record, OFF_CLOCK), again)

    def _one(self, h: float, t: float, index: int, closes: bool, interrupts: Interrupts) -> None:
        """Make one step of the clock that ends at t. It is divided at edges, and replaced as `on_failure`
        says if it fails."""
        options = self._on_failure, self._good, interrupts.run
        steps = steps_to(t, h, self._steps, self.state, self._recall, *options)
        self._keep(steps, t, index, closes, interrupts)

    def _pair(self, until: float, interrupts: Interrupts) -> None:
        """Make the next two adaptive steps, at most to `until` [s]."""
        options = self.clock.adaptive
        assert options is not None
        end = until if self._edges is None else min(until, self._edges.after(self.state.t))
        arguments = self._steps, self.state, self._recall(), options, end, self._good
        pair = interrupts.run(paces.pair, *arguments)
        if pair.failed is not None and self._on_failure != "accept":
            explanation = self._steps.explain(self.state, pair.failed, True)
            raise Missed(self.state.t, pair.failed, f"{explanation}, and it is the shortest")
        index = self.index + len(pair.steps)
        closes = (index // 2) % self._record == 0 or pair.end == until
        self._keep(pair.steps, pair.end, index, closes, interrupts)
        self._write()

    def _keep(
        self, steps: tuple[Any, ...], t: float, index: int, closes: bool, interrupts: Interrupts
    ) -> None:
        """Record steps whose last one ends at t, at index `index` of the clock. closes: whether that end is a
        record."""
        self._lane = None
        for k, step in enumerate(steps, 1):
            final = k == len(steps)
            # The time is that of the clock, not a sum of step lengths.
            end = State(t if final else step.state.t, step.state.q, step.state.v, step.state.z)
            self._steps.check(step, end)
            # Steps that differ from those of the clock cannot be repeated from the previous record later.
            complete = self._watch is not None or len(steps) > 1 or index == OFF_CLOCK
            row = interrupts.run(self._steps.keep, step, self.state, end, index, closes and final, complete)
            self._recorder.add(step, row, step.memory, index, closes and final)
            self._again, self._step = None, step
            self._worst = max(self._worst, step.natural_scaled)
            self.state, self._recall = end, partial(attrgetter("memory"), step)
        self.index = self._settled = index
        if self._recorder.is_due:
            self._recorder.tidy()
        if closes:
            interrupts.run(self.show)

    def _good(self, step: Any) -> bool:
        """Whether a step solved the law of its scheme and solver."""
        return step.solved or (self._other_law and step.verdict is Verdict.RELAXED)

    # 3. Records.

    def show(self) -> None:
        """Pass the last record to the `watch` function."""
        if self._watch is not None:
            part = replace(self._tail(), choose=None)
            last = Record.of(part[len(part) - 1 :], 0)
            called("the run", "watch", self._watch, (last,), self.state.t)

    def _tail(self) -> Trajectory:
        """Return the records in memory: all, or with a file those from the last record in the file on."""
        self._settle()
        recorder = self._recorder
        recorder.flush()
        scheme, options = registry.described(self._steps.scheme)
        return Trajectory(
            self._steps.model, recorder.store.snapshot(), scheme, options, self._solver_name, self._tolerance,
            self.clock, recorder.steps, recorder.missed, recorder.relaxation,
            memory=recorder.memory, events=tuple(recorder.events), notes=self._steps.notes,
            **self._steps.parts(),
        )  # fmt: skip

    def _write(self, now: bool = False) -> None:
        """Write the records to the file if they are due, or `now`."""
        writer = self._writer
        if writer is not None and (now or writer.is_due(self._recorder)):
            writer.write(self._tail(), self._steps, self._recorder, now)

    def end(self, complete: bool) -> Trajectory:
        """End the run and return it. With a file, all of it is written, or an OSError has it as an
        attribute."""
        if self._writer is None:
            return self._tail()
        return self._writer.end(complete, partial(self._write, now=True), self._tail)


def _require_steps(solver: Any, scheme: Any) -> None:
    """Raise ModelError for a solver of whole steps with a scheme that does not pass such problems."""
    if getattr(solver, "takes_tangents", True) or getattr(scheme, "makes_steps", False):
        return
    kappa = float(getattr(solver, "kappa", 0.0))
    label = f"{type(solver).__name__} with kappa = {kappa:g}" if kappa else type(solver).__name__
    name, _ = registry.described(scheme)
    raise ModelError(
        f"{label} solves whole steps, which scheme='variational' makes of worlds; {name} makes contact"
        f" problems: give a world and scheme='variational', or another solver"
        + (", or leave kappa out" if kappa else "")
    )
