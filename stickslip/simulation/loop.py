"""`simulate`: step after step until the end, recorded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.interrupts import Interrupts
from stickslip.mechanics.given import called
from stickslip.problem.checks import Array
from stickslip.problem.contact import Level
from stickslip.schemes import registry
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.registry import SchemeChoice
from stickslip.schemes.starts import check_start
from stickslip.schemes.step import Memory, Scheme, Selector, Solver, Step, first_state
from stickslip.simulation.checkpoint import Checkpoint
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
from stickslip.simulation.model import Model
from stickslip.simulation.recorder import Recorder
from stickslip.simulation.trajectory import Trajectory, derived
from stickslip.simulation.written_forces import WrittenForces
from stickslip.state import ModelError, State
from stickslip.systems.system import NonsmoothSystem

TOGETHER = 8192
"""Most steps in one compiled call."""


def simulate(
    system: NonsmoothSystem, *, until: float, h: float | None = None, scheme: SchemeChoice | None = None,
    solver: Solver, solver_name: str = "", tolerance: float = 1e-10, record: int = 1,
    on_failure: str = "raise", start: Checkpoint | None = None, progress: Progress | None = None,
    watch: object = None, select: Selector | None = None,
) -> Trajectory:  # fmt: skip
    """Carry `system` to time `until` [s] in steps of `h` [s]; see `stickslip.simulate`, which knows solvers
    by name."""
    if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
        raise ModelError(f"solver is {solver!r}; expected a name, such as 'auto', or a solver")
    if progress is not None and not callable(progress):
        raise ModelError(f"progress is {progress!r}; expected a function of the time reached and the end")
    if watch is not None:
        raise ModelError(
            "watch is for worlds; a system has no bodies to look at, and tells `progress` its time"
        )
    prepared = PreparedSystem.of(system)
    begun: Begun | None = None
    recorder: Recorder | None = None

    def so_far() -> Trajectory | None:
        if begun is None or recorder is None:
            return None
        recorder.close()
        least = None if select is None else WrittenForces(prepared, begun.scheme, solver, select)
        return _trajectory(recorder, begun, solver_name or type(solver).__name__, tolerance, least)

    def first_record(begun: Begun) -> Recorder:
        model = Model.of(system, begun.scheme.levels(prepared))
        return Recorder(system, model, begun.state, begun.memory, begun.clock.index)

    def work(interrupts: Interrupts) -> None:
        nonlocal begun, recorder
        begun = interrupts.run(begun_run, prepared, h, scheme, start)
        last, rest = ends(begun.clock, begun.state.t, until)
        compiled = bool(getattr(solver, "compiled_steps", False))
        failing = choice("on_failure", on_failure, ON_FAILURE)
        plan = _Plan(until, last, rest, every(record), failing, compiled, tolerance)
        recorder = interrupts.run(first_record, begun)
        now = _Now(begun.state, begun.memory)
        try:
            _steps(now, prepared, begun, plan, solver, recorder, progress, interrupts)
        except _Missed as missed:
            raise SimulationFailure(missed.t, missed.step, so_far(), missed.more) from None

    return kept(work, so_far)


@dataclass(frozen=True, eq=False, slots=True)
class Begun:
    """Where a run begins, and with what."""

    scheme: Scheme
    state: State
    memory: Memory
    clock: Clock
    work: float
    """Of the contacts, before the run [J]."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How far a run goes."""

    until: float
    last: int
    """Index of the end of the last full step."""
    rest: float
    """Length of a shortened step after that [s]; 0 for none."""
    record: int
    on_failure: str
    compiled: bool
    """Whether steps may be made together by the scheme's own compiled solver."""
    tolerance: float
    """To which that solves [-]."""


class _Missed(Exception):  # noqa: N818
    """A step that missed its tolerance and must not be accepted."""

    def __init__(self, t: float, step: Step, more: str = ""):
        self.t, self.step, self.more = t, step, more


@dataclass(slots=True)
class _Now:
    """Where a run is."""

    state: State
    memory: Memory


def _steps(
    now: _Now, system: PreparedSystem, begun: Begun, plan: _Plan, solver: Solver, recorder: Recorder,
    progress: Progress | None, interrupts: Interrupts,
) -> None:  # fmt: skip
    """All steps of a run. Signals may cut steps and users' functions short, never what keeps the steps."""

    def report(t: float) -> None:
        if progress is not None:
            interrupts.run(called, "the run", "progress", progress, (t, plan.until), t)

    scheme, clock, record, last = begun.scheme, begun.clock, plan.record, plan.last
    index, h = clock.index, clock.h
    march = getattr(scheme, "march", None) if plan.compiled else None
    while index < last:
        if march is not None:
            done = _together(march, now, system, clock, index, plan, recorder, interrupts)
            if done is None:
                march = None
            elif done:
                index += done
                report(now.state.t)
                continue
        step = interrupts.run(scheme.step, system, now.state, now.memory, h, solver)
        index += 1
        t = clock.origin + index * h
        closes = index % record == 0 or (index == last and not plan.rest)
        _take(now, step, t, index, closes, system, scheme, solver, plan, recorder, interrupts)
        report(t)
    if plan.rest:
        step = interrupts.run(scheme.step, system, now.state, now.memory, plan.rest, solver)
        _take(now, step, plan.until, OFF_CLOCK, True, system, scheme, solver, plan, recorder, interrupts)
        report(plan.until)


def _together(
    march: Callable[..., Any], now: _Now, system: PreparedSystem, clock: Clock, index: int, plan: _Plan,
    recorder: Recorder, interrupts: Interrupts,
) -> int | None:  # fmt: skip
    """Many steps in one compiled call: how many were done; None where the scheme cannot."""
    # Calls end where they would without an interruption, so that sums over records add up alike.
    chunk = plan.record * max(1, TOGETHER // plan.record)
    count = min(plan.last, (index // chunk + 1) * chunk) - index
    times = clock.origin + np.arange(index, index + count + 1) * clock.h
    # Not within `run`: what ends a march is raised when its steps are kept.
    found = march(system, now.state, now.memory, clock.h, count, plan.tolerance, times, interrupts)
    if found is None:
        return None
    done = len(found)
    if done:
        numbers = np.arange(index + 1, index + done + 1)
        closes = (numbers % plan.record == 0) | ((numbers == plan.last) & (plan.rest == 0.0))
        recorder.extend(found, clock.h, numbers, closes)
        now.state, now.memory = found.state, found.memory
    error = getattr(found, "error", None)
    if error is not None:
        raise error
    interrupts.check()
    if done:
        _check_outputs(system.system, now.state, found.y[-1])
    return done


def _take(
    now: _Now, step: Step, t: float, index: int, closes: bool, system: PreparedSystem, scheme: Scheme,
    solver: Solver, plan: _Plan, recorder: Recorder, interrupts: Interrupts,
) -> None:  # fmt: skip
    """Take a step as it is, or do about it what `on_failure` says; the run is then at t."""
    if step.solved:
        end = State(t, step.state.q, step.state.v, step.state.z)
        _check_outputs(system.system, end, step.y)
        now.state, now.memory = end, step.memory
        recorder.add(step, end, index, closes)
        return
    steps = interrupts.run(_after_miss, now, step, system, scheme, solver, plan)
    for k, one in enumerate(steps, 1):
        end = one.state
        if k == len(steps):
            end = State(t, end.q, end.v, end.z)
        recorder.add(one, end, index, closes and k == len(steps))
        now.state, now.memory = end, one.memory


def _after_miss(
    now: _Now, step: Step, system: PreparedSystem, scheme: Scheme, solver: Solver, plan: _Plan
) -> tuple[Step, ...]:  # fmt: skip
    """The steps to take in place of one that missed its tolerance: itself, or 2, 4, ... shorter ones."""
    if plan.on_failure == "accept":
        return (step,)
    system.system.explain(now.state.t, now.state.q, now.state.v, now.state.z)
    if plan.on_failure == "raise":
        raise _Missed(now.state.t, step, _blamed(system.system, step.state))
    for halvings in range(1, MOST_HALVINGS + 1):
        h, state, memory, steps = step.h / 2**halvings, now.state, now.memory, []
        for _ in range(2**halvings):
            one = scheme.step(system, state, memory, h, solver)
            if not one.solved:
                break
            steps.append(one)
            state, memory = one.state, one.memory
        else:
            return tuple(steps)
    raise _Missed(now.state.t, step, f", and so did one of {2**MOST_HALVINGS} shorter ones")


def _check_outputs(system: NonsmoothSystem, state: State, y: Array) -> None:
    """Refuse outputs that are not finite: a gap that is NaN neither opens nor closes."""
    if np.isfinite(y).all():
        return
    system.explain(state.t, state.q, state.v, state.z)
    for one in system.interactions:
        own = y[one.components]
        if not np.isfinite(own).all():
            raise ModelError(f"interaction {one.name!r}: at t = {state.t:.9g} s, y is not finite: {own}")


def _blamed(system: NonsmoothSystem, state: State) -> str:
    """What is wrong with the model at the end of a step that missed its tolerance, if anything is."""
    try:
        system.explain(state.t, state.q, state.v, state.z)
    except ModelError as error:
        return f" ({error})"
    return ""


def begun_run(
    prepared: PreparedSystem, h: float | None, scheme: SchemeChoice | None, start: Checkpoint | None
) -> Begun:
    """The scheme, and the state, memory and clock that it begins with."""
    system = prepared.system
    if not isinstance(system, NonsmoothSystem):
        raise ModelError(f"system is {type(system).__name__}, expected a NonsmoothSystem")
    if start is None:
        if h is None:
            raise ModelError("h is missing: simulate(system, until=..., h=...)")
        h = length("h", h)
        found, state = registry.chosen_for_system(scheme, system), first_state(system)
        memory = found.begin(prepared, state, h)
        check_start(prepared, state, h, found)
        return Begun(found, state, memory, Clock(0.0, h), 0.0)
    if not isinstance(start, Checkpoint):
        raise ModelError(
            f"start is {type(start).__name__}; expected a checkpoint, such as trajectory.checkpoint(-1)"
        )
    # The scheme is asked nothing about a system that may not be its own; levels do not matter here.
    start.model.check_same(Model.of(system, (Level.VELOCITY,) * len(system.interactions)))
    found = registry.remade(start.scheme, start.scheme_options) if scheme is None else registry.chosen(scheme)
    system.check_state(start.state)
    step = start.clock.h if h is None else length("h", h)
    same = registry.described(found) == (start.scheme, start.scheme_options)
    if same and step == start.clock.h:
        for name, value in start.memory.items():
            if np.isnan(value).any():  # event-driven runs remember infinite times
                raise ModelError(f"the memory of the start: {name!r} is not a number")
        checked_clock(start.clock, start.state.t)
        return Begun(found, start.state, start.memory, start.clock, start.contact_work)
    # Another scheme or step has no use for the memory, and counts from here.
    memory = found.begin(prepared, start.state, step)
    return Begun(found, start.state, memory, Clock(start.state.t, step), start.contact_work)


def _trajectory(
    recorder: Recorder, begun: Begun, solver: str, tolerance: float, least: WrittenForces | None
) -> Trajectory:
    scheme, options = registry.described(begun.scheme)
    columns = recorder.arrays()
    columns["solver_r"] = columns.pop("r")
    named: dict[str, dict[str, Any]] = {"memory": {}, "measures": {}}
    for key in [key for key in columns if "/" in key]:
        kind, name = key.split("/", 1)
        named[kind][name] = columns.pop(key)
    work = columns.pop("work")
    return Trajectory(
        model=recorder.model, **columns, **named, events=tuple(recorder.events), scheme=scheme,  # type: ignore[arg-type]
        scheme_options=options, solver=solver, tolerance=tolerance,
        clock=Clock(begun.clock.origin, begun.clock.h), steps=recorder.steps, missed=recorder.missed,
        relaxation=recorder.relaxation,
        derive=derived(recorder.system, work, begun.work), forces="solver" if least is None else "least",
        choose=least,
    )  # fmt: skip
