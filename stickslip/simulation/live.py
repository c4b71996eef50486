"""A run that goes on step by step: one object for every model, of which `simulate` is a loop.

    live = ss.live(world, h=1e-3)
    while live.t < 2.0:
        live.inputs["motor"] = -8.0 * live.joint("knee").position
        live.step()
    run = live.run()

Signals may cut steps and users' functions short, never what keeps the steps.
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
    """Run that advances on request by `step`; its properties describe the current state. `ss.live` makes
    it.
    """

    def __init__(
        self, model: NonsmoothSystem | World | Robot, *, solver: Solver, h: Stride | None = None,
        scheme: Any = None, solver_name: str = "", tolerance: float = 1e-8, record: int = 1,
        on_failure: str = "raise", start: Any = None, watch: Watch | None = None,
        select: Selector | None = None, sink: Sink | None = None, flush: float = FLUSH,
        control: Callable[[Any], Any] | None = None,
    ):  # fmt: skip
        """See `stickslip.live`, which knows solvers by name."""
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
        how = self._h, self._scheme, start, self._solver, self._select, self._control
        begun, steps = begun_steps(self._prepared, *how)
        _require_steps(self._solver, steps.scheme)
        steps.every = self._record
        self._steps: Any = steps
        self._edges: Edges | None = getattr(steps, "edges", None)
        self.state = begun.state
        self._recall: Callable[[], Memory] = lambda: begun.memory
        """Gives the scheme's memory: dictionaries of steps made together are made when they are asked for."""
        self.clock = replace(begun.clock, index=0)
        self.index = begun.clock.index
        """Steps since the clock's origin."""
        first = steps.first(begun.state, begun.memory, begun.clock.index, begun.sums)
        reduction = steps.reduction(begun.sums)
        self._recorder = Recorder(steps, first, begun.memory, begun.clock.index, reduction)
        self._residual = self._worst = 0.0
        self._again: Callable[[], Any] | None = None
        """Makes the last step once more."""
        self._step: Any = None
        self._lane: Lane | None = None
        """Makes one more step and nothing else; None where there is more to do."""
        self._due, self._tidying = False, 0
        """Whether bookkeeping is due, and the number of its parts that are done."""
        self._settled = self.index
        """The clock's at the last step that is taken in: the lane may have made more."""

    # 1. Where it is.

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
        """The last step as data, with its problems and solutions; None before the first. A step that was made
        in compiled code is made once more: of a world with the same bits, of systems to rounding."""
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
        """Inputs by name, to be set between steps: for a world efforts of actuators, forces and prescribed
        motions, for systems their discrete parameters z."""
        return Inputs(self)

    def set_inputs(self, values: Mapping[str, ArrayLike]) -> None:
        """Set several inputs at once."""
        state = self._steps.set_inputs(values, self.state)
        if state is not self.state:
            self._settle()
            self.state = state

    def joint(self, name: str, turn: bool = False) -> JointState:
        """Return position and speed of the coordinate of a joint of a world; turn: that of turning, where a
        cylindrical joint has two."""
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
        """Contacts of the last step of a world, as those of one record."""
        self._settle()
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
        """Inputs of a world, by itself or around a robot, which its states do not have."""
        if isinstance(self._prepared, PreparedWorld):
            return dict(self.inputs)
        return dict(getattr(self._steps, "world_inputs", {}))

    def run(self) -> Trajectory:
        """Return the records so far."""
        if self._writer is None:
            return self._tail()
        self._write(now=True)
        return self._writer.sink.read()

    # 2. What goes on.

    def step(self, n: int = 1) -> State:
        """Make n steps, of adaptive ones n pairs; the state at their end."""
        lane, writer = self._lane, self._writer
        if lane is not None and type(n) is int and n == 1 and (writer is None or not writer.is_late):
            index = self.index + 1
            state = lane(self.state, self.index, self._record, self.clock.at(index))
            if state is None and self._renew() and self._lane is not None:
                state = self._lane(self.state, self.index, self._record, self.clock.at(index))
            if state is not None:
                # Nothing is called between the end of the step and here: a signal comes before or after.
                self.state, self.index = state, index
                if self._due or index - self._settled >= HELD:
                    self._tidy()
                return state
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
        """Let the lane go on in other memory, if its own is nearly full; whether it does. Otherwise the next
        step would take many times as long as others."""
        renew = getattr(self._steps, "renew", None)
        if renew is None:
            return False
        self._settle(interrupts)
        if not renew(self.state):
            return False
        self._lane = self._steps.lane
        return True

    def _tidy(self) -> None:
        """Do one part of the bookkeeping of hundreds of steps of the lane. All of it at once would take many
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
        if self.clock.adaptive is not None:
            for _ in range(n):
                self._pair(math.inf, interrupts)
            return
        self.clock.check_room(self.index, n)
        if n > 1:
            self._go(self.index + n - 1, OFF_CLOCK, interrupts, None)
        self._go(self.index + 1, OFF_CLOCK, interrupts, None)

    def reset(self, start: Checkpoint | State | None = None) -> None:
        """Go back to the start, or to a checkpoint, with the inputs of then; what was recorded is let go."""
        if self._writer is not None:
            raise ModelError(
                "this run is written to a file and cannot be reset; start another one with live(...)"
            )
        self._begin(self._start if start is None else start)

    def to(
        self, until: float, last: int, rest: float, progress: Progress | None, interrupts: Interrupts
    ) -> None:
        """Full steps up to number `last` of the clock, and a shortened one of length `rest` [s] if any;
        adaptive ones up to `until` [s]."""
        told = progress is not None and takes_status(progress)

        def report(t: float) -> None:
            if progress is not None:
                call = progress
                if told:
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
        """Full steps up to number `last` of the clock; that of number `end` is recorded in any case."""
        while self.index < last:
            if not self._together(last, end, interrupts):
                to = self.index + 1
                closes = to % self._record == 0 or to == end
                self._one(self.clock.length(to), self.clock.at(to), to, closes, interrupts)
            if report is not None:
                report(self.state.t)
            self._write()

    def _together(self, last: int, end: int, interrupts: Interrupts) -> bool:
        """Whether several steps were made in one compiled call."""
        if self._watch is not None and not getattr(self._steps, "marches_watched", False):
            return False
        steps, clock, index, every = self._steps, self.clock, self.index, self._record
        again = steps.again(self.state, self._recall, clock.length(index + 1))
        most = clock.alike(index, last) if self._watch is None else 1
        if self._edges is not None:
            most = self._edges.clear(self.state.t, clock.length(index + 1), most)
            if not most:
                return False
        march = steps.march(self.state, self._recall, clock, index, most, every, end, interrupts)
        if march is None:
            return False
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
        """Take in steps made together from an index of the clock on."""
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
        """Take in the steps that the lane made."""
        n, index = self.index - self._settled, self._settled
        if not n:
            return
        if interrupts is None:
            with Interrupts() as own:
                return self._settle(own)
        march, again = self._steps.followed(n, index, self._record)
        self._take(march, index, recorded(index, n, self._record, OFF_CLOCK), again)

    def _one(self, h: float, t: float, index: int, closes: bool, interrupts: Interrupts) -> None:
        """One step of the clock, which ends at t, cut at edges: steps as they are, or what `on_failure` makes
        of them."""
        how = self._on_failure, self._good, interrupts.run
        taken = steps_to(t, h, self._steps, self.state, self._recall, *how)
        self._keep(taken, t, index, closes, interrupts)

    def _pair(self, until: float, interrupts: Interrupts) -> None:
        """The next two adaptive steps, not beyond `until` [s]."""
        options = self.clock.adaptive
        assert options is not None
        end = until if self._edges is None else min(until, self._edges.after(self.state.t))
        given = self._steps, self.state, self._recall(), options, end, self._good
        found = interrupts.run(paces.pair, *given)
        if found.failed is not None and self._on_failure != "accept":
            more = self._steps.explain(self.state, found.failed, True)
            raise Missed(self.state.t, found.failed, f"{more}, and it is the shortest")
        index = self.index + len(found.steps)
        closes = (index // 2) % self._record == 0 or found.end == until
        self._keep(found.steps, found.end, index, closes, interrupts)
        self._write()

    def _keep(
        self, steps: tuple[Any, ...], t: float, index: int, closes: bool, interrupts: Interrupts
    ) -> None:
        """Take in steps that end at t, number `index` of the clock."""
        self._lane = None
        for k, one in enumerate(steps, 1):
            final = k == len(steps)
            # Time is the clock's, not a sum of steps.
            end = State(t if final else one.state.t, one.state.q, one.state.v, one.state.z)
            self._steps.check(one, end)
            # Steps that are not the clock's are not made again from the record before.
            told = self._watch is not None or len(steps) > 1 or index == OFF_CLOCK
            kept = interrupts.run(self._steps.keep, one, self.state, end, index, closes and final, told)
            self._recorder.add(one, kept, one.memory, index, closes and final)
            self._again, self._step = None, one
            self._worst = max(self._worst, one.natural_scaled)
            self.state, self._recall = end, partial(attrgetter("memory"), one)
        self.index = self._settled = index
        if self._recorder.is_due:
            self._recorder.tidy()
        if closes:
            interrupts.run(self.show)

    def _good(self, step: Any) -> bool:
        """Whether a step solved what scheme and solver were told to solve."""
        return step.solved or (self._other_law and step.verdict is Verdict.RELAXED)

    # 3. What it leaves.

    def show(self) -> None:
        """Show the last record to whoever watches."""
        if self._watch is not None:
            part = replace(self._tail(), choose=None)
            last = Record.of(part[len(part) - 1 :], 0)
            called("the run", "watch", self._watch, (last,), self.state.t)

    def _tail(self) -> Trajectory:
        """The records that are in memory: all, or with a file those since the last that is in it."""
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
        """Write what was recorded to the file, where it is time to."""
        writer = self._writer
        if writer is not None and (now or writer.is_due(self._recorder)):
            writer.write(self._tail(), self._steps, self._recorder, now)

    def end(self, complete: bool) -> Trajectory:
        """The run, which does not go on: with a file all of it is there, or an OSError carries it."""
        if self._writer is None:
            return self._tail()
        return self._writer.end(complete, partial(self._write, now=True), self._tail)


def _require_steps(solver: Any, scheme: Any) -> None:
    """Refuse a solver of whole steps where the scheme makes none."""
    if getattr(solver, "takes_tangents", True) or getattr(scheme, "makes_steps", False):
        return
    kappa = float(getattr(solver, "kappa", 0.0))
    asked = f"{type(solver).__name__} with kappa = {kappa:g}" if kappa else type(solver).__name__
    name, _ = registry.described(scheme)
    raise ModelError(
        f"{asked} solves whole steps, which scheme='variational' makes of worlds; {name} makes contact"
        f" problems: give a world and scheme='variational', or another solver"
        + (", or leave kappa out" if kappa else "")
    )
