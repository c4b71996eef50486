"""`simulate` for worlds: step after step until the end, recorded."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from stickslip.interrupts import Interrupts
from stickslip.mechanics.given import called
from stickslip.mechanics.world import World
from stickslip.schemes import registry
from stickslip.schemes.body_forces import with_least_forces
from stickslip.schemes.body_march import BodyMarch, Stretch
from stickslip.schemes.body_step import BodyScheme
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory, Selector, Solver, Step
from stickslip.simulation.clock import (
    MOST_HALVINGS,
    OFF_CLOCK,
    ON_FAILURE,
    Clock,
    Progress,
    checked_clock,
    choice,
    ends,
    every,
    length,
)
from stickslip.simulation.ending import kept
from stickslip.simulation.failure import SimulationFailure
from stickslip.simulation.world_checkpoint import EnergySums, WorldCheckpoint
from stickslip.simulation.world_forces import WorldForces
from stickslip.simulation.world_model import WorldModel
from stickslip.simulation.world_notes import Lookout
from stickslip.simulation.world_record import Watch
from stickslip.simulation.world_recorder import WorldRecorder
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.state import Array, ModelError, State


def simulate_world(
    world: World, *, until: float, h: float | None = None, scheme: str | BodyScheme | None = None,
    solver: Solver, solver_name: str = "", tolerance: float = 1e-8, record: int = 1,
    on_failure: str = "raise", start: WorldCheckpoint | State | None = None,
    progress: Progress | None = None, watch: Watch | None = None, select: Selector | None = None,
) -> WorldTrajectory:  # fmt: skip
    """Carry `world` to time `until` [s] in steps of `h` [s]; see `stickslip.simulate`, which knows solvers by
    name."""
    if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
        raise ModelError(f"solver is {solver!r}; expected a name, such as 'auto', or a solver")
    if progress is not None and not callable(progress):
        raise ModelError(f"progress is {progress!r}; expected a function of the time reached and the end")
    if watch is not None and not callable(watch):
        raise ModelError(f"watch is {watch!r}; expected a function of a WorldRecord")
    run: _Run | None = None

    def so_far() -> WorldTrajectory | None:
        return None if run is None else run.trajectory(solver_name or type(solver).__name__, tolerance)

    def begun_at(interrupts: Interrupts) -> tuple[_Run, Clock, int, float]:
        prepared, model = PreparedWorld(world), WorldModel.of(world)
        begun = begun_run(prepared, model, h, scheme, start)
        recorder = WorldRecorder(world, begun.state, begun.memory, begun.clock.index, begun.sums)
        made = _Run(
            prepared, model, begun.scheme, solver, choice("on_failure", on_failure, ON_FAILURE),
            None if select is None else WorldForces(select), recorder, begun.state, begun.memory,
            Lookout(world, begun.state), Clock(begun.clock.origin, begun.clock.h), interrupts, progress,
            BodyMarch.of(prepared, begun.scheme, solver),
        )  # fmt: skip
        if watch is not None:
            made.watch = lambda: watch(recorder.last(model, tolerance))
        return made, begun.clock, *ends(begun.clock, begun.state.t, until)

    chosen = every(record)

    def work(interrupts: Interrupts) -> None:
        nonlocal run
        run, clock, last, rest = interrupts.run(begun_at, interrupts)
        interrupts.run(run.tell)
        try:
            run.to(clock, until, last, rest, chosen)
        except (KeyError, IndexError) as error:
            if not isinstance(start, WorldCheckpoint) or run.recorder.steps:
                raise
            # A memory from a file may be anything; the scheme met what it never leaves there.
            name = registry.described(run.scheme)[0]
            raise ModelError(f"the memory of the start is not one that {name} leaves: {error}") from None
        except _Missed as missed:
            more = missed.more + _where(world, missed.step)
            raise SimulationFailure(missed.t, missed.step, so_far(), more) from None

    return kept(work, so_far)


class _Missed(Exception):  # noqa: N818
    """A step that missed its tolerance and must not be accepted."""

    def __init__(self, t: float, step: Step, more: str = ""):
        self.t, self.step, self.more = t, step, more


@dataclass(slots=True)
class _Run:
    """A run: what makes its steps, and where it is."""

    prepared: PreparedWorld
    model: WorldModel
    scheme: BodyScheme
    solver: Solver
    on_failure: str
    forces: WorldForces | None
    """Chooses the impulses that records tell; None: those of the solver."""
    recorder: WorldRecorder
    state: State
    memory: Memory
    lookout: Lookout
    clock: Clock
    interrupts: Interrupts
    progress: Progress | None
    march: BodyMarch | None
    """Makes several steps together; None where they are made one by one."""
    watch: Callable[[], None] | None = None

    def to(self, clock: Clock, until: float, last: int, rest: float, record: int) -> None:
        """Full steps up to number `last` of the clock, and a shortened one of length `rest` [s] if any.

        Signals may end it anywhere: a record counts when it is whole.
        """
        advance, report = self._advance, self._report
        index, end = clock.index, OFF_CLOCK if rest else last
        while index < last:
            made = self.interrupts.run(self._march, clock, index, last, end, record)
            if not made:
                made, to = 1, index + 1
                closes = to % record == 0 or to == end
                self.interrupts.run(advance, clock.h, clock.at(to), to, closes)
            index += made
            self.interrupts.run(report, self.state.t, until)
        if rest:
            self.interrupts.run(advance, rest, until, OFF_CLOCK, True)
            self.interrupts.run(report, until, until)

    def _march(self, clock: Clock, index: int, last: int, end: int, record: int) -> int:
        """How many steps were made together from the clock's index; 0 where the next is made by itself."""
        if self.march is None or self.watch is not None:
            return 0
        # Least forces are chosen from steps made again, which needs the step before a record.
        most = last - index
        if self.forces is not None and record > 1:
            most = min(most, record - index % record, last - index) - 1
        if most < 1:
            return 0
        stretch = self.march.make(self.state, self.memory, clock.h, clock.at, index, record, end, most)
        if stretch is None:
            return 0
        k, n = stretch.steps, self.state.q.size
        indices = np.arange(index + 1, index + k + 1)
        t = np.array([clock.at(int(one)) for one in indices])
        q, v = stretch.room.q.reshape(-1, n), stretch.room.v.reshape(len(stretch.room.v), -1)
        q.flags.writeable = v.flags.writeable = False
        first = self.recorder.records
        self.recorder.add_stretch(stretch, t, clock.h, index, (indices % record == 0) | (indices == end))
        if self.forces is not None and self.recorder.records > first:
            again = partial(self._again, stretch, (self.state.t, *t[:-1].tolist()), self.memory, clock.h)
            self.forces.hold(first, k, again, stretch.room.local.nbytes)
        for j in range(0 if self.lookout.idle else k):
            self.lookout.look(State(float(t[j]), q[j + 1], v[j + 1], self.state.z))
        self.state, self.memory = State(float(t[-1]), q[k], v[k], self.state.z), stretch.memory
        return k

    def _again(self, stretch: Stretch, starts: tuple[float, ...], memory: Memory, h: float, k: int) -> Step:
        """Step k of a stretch whose steps are all recorded, made by itself; starts: of its steps [s]; memory:
        before the first."""
        q, v = stretch.room.q[k].reshape(-1), stretch.room.v[k].reshape(-1)
        return self._step(State(starts[k], q, v, self.state.z), stretch.memory_after(k, memory), h)

    def trajectory(self, solver: str, tolerance: float) -> WorldTrajectory:
        """The run so far."""
        recorder = self.recorder
        name, options = registry.described(self.scheme)
        return WorldTrajectory(
            model=self.model, **recorder.arrays(), memory=recorder.memory, scheme=name,
            scheme_options=options, solver=solver, tolerance=tolerance,
            clock=Clock(self.clock.origin, self.clock.h, recorder.index),
            steps=recorder.steps, missed=recorder.missed, relaxation=recorder.relaxation,
            forces="solver" if self.forces is None else "least", choose=self.forces, notes=self.lookout.notes,
        )  # fmt: skip

    def tell(self) -> None:
        """Show the last record to whoever watches."""
        if self.watch is not None:
            called("the run", "watch", self.watch, (), self.state.t)

    def _report(self, t: float, until: float) -> None:
        if self.progress is not None:
            called("the run", "progress", self.progress, (t, until), t)

    def _advance(self, h: float, t: float, index: int, closes: bool) -> None:
        """One step of the clock, which ends at t: a step as it is, or what `on_failure` makes of it."""
        step = self._step(self.state, self.memory, h)
        steps = (step,) if step.solved else self._after_miss(step)
        for k, one in enumerate(steps, 1):
            final = k == len(steps)
            # Time is the clock's, not a sum of steps.
            end = State(t if final else one.state.t, one.state.q, one.state.v, one.state.z)
            if not (_all_finite(end.q) and _all_finite(end.v)):
                self.prepared.world.check_state(end)
            recorded = closes and final
            if self.watch is not None and self.forces is not None and recorded:  # to be shown at once
                self.recorder.add(with_least_forces(one, self.forces.select), end, index, True)
            else:
                self.recorder.add(one, end, index, recorded)
                if self.forces is not None and recorded and one.solves:
                    self.forces.add(self.recorder.records - 1, one)
            self.state, self.memory = end, one.memory
            self.lookout.look(end)
        if closes:
            self.tell()

    def _step(self, state: State, memory: Memory, h: float) -> Step:
        return self.scheme.step(self.prepared, state, memory, h, self.solver)

    def _after_miss(self, step: Step) -> tuple[Step, ...]:
        """The steps to take in place of one that missed its tolerance: itself, or 2, 4, ... shorter ones."""
        if self.on_failure == "accept":
            return (step,)
        if self.on_failure == "raise":
            raise _Missed(self.state.t, step)
        for halvings in range(1, MOST_HALVINGS + 1):
            h, state, memory, steps = step.h / 2**halvings, self.state, self.memory, []
            for _ in range(2**halvings):
                one = self._step(state, memory, h)
                if not one.solved:
                    break
                steps.append(one)
                state, memory = one.state, one.memory
            else:
                return tuple(steps)
        raise _Missed(self.state.t, step, f", and so did one of {2**MOST_HALVINGS} shorter ones")


@dataclass(frozen=True, eq=False, slots=True)
class BegunRun:
    """Where a run begins, and with what."""

    scheme: BodyScheme
    state: State
    memory: Memory
    clock: Clock
    sums: EnergySums


def begun_run(
    prepared: PreparedWorld, model: WorldModel, h: float | None, scheme: str | BodyScheme | None,
    start: WorldCheckpoint | State | None,
) -> BegunRun:  # fmt: skip
    """The scheme, and the state, memory and clock that it begins with."""
    world = prepared.world
    if start is None or isinstance(start, State):
        if h is None:
            raise ModelError("h is missing: simulate(world, until=..., h=...)")
        h, found = length("h", h), registry.chosen_for_bodies(scheme)
        state = world.start if start is None else _checked(world, start)
        return BegunRun(found, state, found.begin(prepared, state, h), Clock(state.t, h), EnergySums())
    if not isinstance(start, WorldCheckpoint):
        raise ModelError(
            f"start is {type(start).__name__}; expected a checkpoint of a world, such as"
            " trajectory.checkpoint(), or a State to begin with"
        )
    start.model.check_same(model)
    state = _checked(world, start.state)
    found = (
        registry.remade_for_bodies(start.scheme, start.scheme_options)
        if scheme is None
        else registry.chosen_for_bodies(scheme)
    )
    step = start.clock.h if h is None else length("h", h)
    same = registry.described(found) == (start.scheme, start.scheme_options)
    if same and step == start.clock.h:
        for name, value in start.memory.items():
            if not np.isfinite(value).all():
                raise ModelError(f"the memory of the start: {name!r} is not finite")
        checked_clock(start.clock, state.t)
        return BegunRun(found, state, start.memory, start.clock, start.sums)
    # Another scheme or step has no use for the memory, and counts from here.
    return BegunRun(found, state, found.begin(prepared, state, step), Clock(state.t, step), start.sums)


def _where(world: World, step: Step) -> str:
    """Between which bodies the answer of a step is worst, as part of a sentence."""
    worst = next((one.residuals.worst for one in step.solves if not one.ok), -1)
    if step.reason or not 0 <= worst < len(step.contacts):
        return ""
    first, second = (world.names[body] for body in step.contacts.body[worst])
    return f", worst where {first!r} and {second!r} touch"


def _checked(world: World, state: State) -> State:
    """A state that the user gives, as a copy that cannot be written to."""
    try:
        q, v = np.array(state.q, float), np.array(state.v, float)
        found = State(float(state.t), q, v)
    except (TypeError, ValueError) as error:
        raise ModelError(f"start: t, q and v must be real numbers: {error}") from None
    world.check_state(found)
    q.flags.writeable = v.flags.writeable = False
    return found


def _all_finite(x: Array) -> bool:
    """Whether all numbers are; the sum of their squares tells in one call, unless it is too large."""
    return math.isfinite(x.dot(x)) or bool(np.isfinite(x).all())
