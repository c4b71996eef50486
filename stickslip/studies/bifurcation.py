"""Bifurcation diagrams: long-term motions of a driven system over a parameter.

At each value of the parameter the run covers `transient` periods, which are dropped, and then `samples`
periods, whose final states are the Poincaré section.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.exhibits import Cell, Column, Curve, Figure, Panel, Table
from stickslip.extras import needed
from stickslip.mechanics.world import World
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import Level
from stickslip.schemes import registry as schemes
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import Clock
from stickslip.simulation.loop import simulate
from stickslip.simulation.model import Model
from stickslip.simulation.trajectory import Trajectory
from stickslip.solvers import registry as solvers
from stickslip.state import ModelError, State
from stickslip.studies.study import Parts, Progress
from stickslip.systems.system import NonsmoothSystem

if TYPE_CHECKING:
    import pandas

Observe = Callable[[Trajectory], Any]
"""Function of the run over one period, whose last record is the end of the period, that returns numbers."""

NEAR = 1e-3
"""Difference below which states of sections count as equal, over the range of all sections [-]; heuristic."""
MOST = 64
"""Largest number of periods of a repetition that `repeats` looks for."""


@dataclass(frozen=True, eq=False)
class Bifurcation:
    """A bifurcation diagram: Poincaré sections and observed numbers at each value of the parameter."""

    name: str
    """Name of the parameter, with its unit."""
    values: Array
    """Values of the parameter [any], shape (n,)."""
    periods: Array
    """Period of the excitation at each value [s], shape (n,)."""
    states: tuple[Array, ...]
    """For each value the Poincaré section: states (q, v) at the ends of the periods kept [any], shape
    (samples, nq + nv) each."""
    observed: Mapping[str, tuple[Array, ...]]
    """By name of the observed quantity, for each value all numbers of the periods kept [any], shape (any,)
    each."""
    ends: Mapping[str, tuple[IntArray, ...]]
    """Index of the period of each observed number, from 0 [-], shape (any,) each."""

    def repeats(self, near: float = NEAR) -> IntArray:
        """Return the number of periods after which the motion repeats, at each value [-], shape (n,).

        States of the section that many periods apart differ by less than `near` times the range of each
        coordinate over all values. The number is 0 if there is none up to half of the samples and `MOST`.
        """
        everywhere = np.concatenate(self.states)
        small = near * np.ptp(everywhere, axis=0) + 1e-12 * np.abs(everywhere).max(axis=0, initial=0.0)
        return np.array([_repeats(section, small) for section in self.states])

    def to_frame(self) -> "pandas.DataFrame":
        """Return all numbers as a data frame of pandas (extra `tables`): parameter, quantity, period,
        number."""
        pandas = needed("pandas", "a data frame")
        rows = [row for name in self.observed for row in self.rows(name)]
        return pandas.DataFrame(rows, columns=[self.name, "observed", "period", "value"])

    def rows(self, name: str) -> list[tuple[float, str, int, float]]:
        """Return parameter, name, period and number of all numbers of the quantity `name`."""
        pairs = zip(self.values.tolist(), self.ends[name], self.observed[name], strict=True)
        return [
            (value, name, int(end), float(number))
            for value, ends, numbers in pairs
            for end, number in zip(ends, numbers, strict=True)
        ]

    def figure(self, title: str = "Bifurcations") -> Figure:
        """Return the diagram: a panel of each observed quantity over the parameter."""
        panels = []
        for name, numbers in self.observed.items():
            x = np.repeat(self.values, [each.size for each in numbers])
            panels.append(Panel("", self.name, name, [Curve(name, x, np.concatenate(numbers), "o")]))
        return Figure(title, panels)

    def section(self, k: int, first: int = 0, second: int | None = None) -> Figure:
        """Return the Poincaré section at value k: one component of the state against another.

        The default is the first coordinate against the first velocity.
        """
        states = self.states[k]
        second = states.shape[1] // 2 if second is None else second
        points = Curve("section", states[:, first], states[:, second], "o")
        axes = f"state {first}", f"state {second}"
        return Figure(f"Poincaré section at {self.name} = {self.values[k]:g}", [Panel("", *axes, [points])])

    def table(self) -> Table:
        """Return a table with a row for each value: periods of repetition and ranges of observed
        quantities."""
        columns: list[Column | str] = [Column(self.name, ".10g"), "repeats in periods"]
        for name in self.observed:
            columns += [
                f"{name}: numbers",
                Column(f"{name}: least", ".6g"),
                Column(f"{name}: largest", ".6g"),
            ]
        rows = []
        for k, (value, period) in enumerate(zip(self.values.tolist(), self.repeats().tolist(), strict=True)):
            row: list[Cell] = [value, str(period or "none")]
            for quantity in self.observed.values():
                numbers = quantity[k]
                row += (
                    [numbers.size, float(numbers.min()), float(numbers.max())]
                    if numbers.size
                    else [0, None, None]
                )
            rows.append(row)
        return Table("Long-term motions", columns, rows)


def bifurcation(
    make: Callable[[float], NonsmoothSystem | World],
    values: ArrayLike,
    *,
    period: float | Callable[[float], float],
    observe: Observe | Mapping[str, Observe] | None = None,
    transient: int = 100,
    samples: int = 50,
    steps: int = 200,
    follow: bool = True,
    scheme: Any = None,
    solver: str | Any = "auto",
    tolerance: float | None = None,
    name: str = "parameter",
    progress: Progress | None = None,
) -> Bifurcation:
    """Return the bifurcation diagram of a driven system or world over a parameter.

    make        function of the parameter that returns the model
    values      values of the parameter, in the order of the computation
    period      period of the excitation [s], or a function of the parameter that returns it; any time between
                sections for a model without excitation
    observe     function of the run over one period, whose last record is the end of the period, that returns
                a number or several; or several functions by name; `lambda run: run.q[-1, 0]` unless given
    transient   number of periods dropped at each value
    samples     number of periods kept
    steps       number of time steps in a period
    follow      whether each value starts from the end of the previous one; otherwise from the start of its
                model
    scheme, solver, tolerance   as of `simulate`
    name        name of the parameter, with its unit
    progress    function of a text, the number of values done, and the number of all values

    The same arguments give the same bytes. Exceptions carry a note with the value of the parameter.

    Example:

        def bouncing(e):
            ball = ss.Lagrangian("ball", M=1.0, q0=0.1, F_ext=lambda t: -9.81 + 5.0 * np.sin(20.0 * t))
            floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=e))
            return ss.NonsmoothSystem([ball], [floor])


        diagram = ss.bifurcation(bouncing, [0.1, 0.2], period=np.pi / 10, transient=2, samples=3, steps=20)
    """
    if not callable(make):
        raise ModelError(f"make is {make!r}; expected a function that gives the model at a value")
    points = np.array(values, float).reshape(-1)
    if not points.size or not np.isfinite(points).all():
        raise ModelError(f"values is {values!r}; give one number or more, all finite")
    for word, count, least in (("transient", transient, 0), ("samples", samples, 1), ("steps", steps, 1)):
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
            raise ModelError(f"{word} is {count!r}; it must be a whole number >= {least}")
    observers = (
        observe if isinstance(observe, Mapping) else {"q0" if observe is None else "observed": observe}
    )
    observers = {word: observer or (lambda run: run.q[-1, 0]) for word, observer in observers.items()}
    for word, observer in observers.items():
        if not callable(observer):
            raise ModelError(f"observe[{word!r}] is {observer!r}; expected a function of a run")
    report = Parts(progress, points.size)
    before: Trajectory | None = None
    results: list[tuple[float, Array, dict[str, tuple[Array, IntArray]]]] = []
    for value in points.tolist():
        report(f"{name} = {value:g}")
        try:
            # 1. Model, period and initial state.
            model = make(value)
            time = float(period(value) if callable(period) else period)
            if not (time > 0.0 and np.isfinite(time)):
                raise ModelError(f"period is {time!r}; it must be positive [s]")
            start = _start(model, before, time / steps) if follow and before is not None else None
            # 2. Run over the transient and the samples; section and observed numbers.
            before = _settled(model, time, (transient, samples, steps), start, scheme, solver, tolerance)
            results.append((time, *_observed(before, steps, samples, observers)))
        except Exception as error:
            error.add_note(f"at {name} = {value:g}")
            raise
    report.end()
    return Bifurcation(
        name, points, np.array([time for time, _, _ in results]), tuple(states for _, states, _ in results),
        {word: tuple(numbers[word][0] for _, _, numbers in results) for word in observers},
        {word: tuple(numbers[word][1] for _, _, numbers in results) for word in observers},
    )  # fmt: skip


def _start(model: NonsmoothSystem | World, before: Trajectory, h: float) -> Any:
    """Return the final state of the previous run at the initial time of the model, without the scheme's
    memory."""
    if isinstance(model, World):
        return State(model.start.t, before.q[-1], before.v[-1])
    state = State(0.0, np.array(before.q[-1]), np.array(before.v[-1]), model.z0)
    same = Model.of(model, (Level.VELOCITY,) * len(model.interactions))
    return Checkpoint(state, {}, Clock(0.0, h), same, "")


def _settled(
    model: NonsmoothSystem | World, period: float, counts: tuple[int, int, int], start: Any, scheme: Any,
    solver: Any, tolerance: float | None,
) -> Trajectory:  # fmt: skip
    """Return the run over the periods kept and the one before, with all steps recorded.

    The period before shows whether an event of the first step of the samples began there.
    """
    transient, samples, steps = counts
    of_world = isinstance(model, World)
    chosen_scheme: Any = (
        schemes.chosen_for_bodies(scheme) if of_world else schemes.chosen_for_system(scheme, model)  # type: ignore[arg-type]
    )
    tolerance = (1e-8 if of_world else 1e-10) if tolerance is None else tolerance
    chosen_solver = solvers.make(solver, tolerance=tolerance) if isinstance(solver, str) else solver
    h = period / steps
    options: dict[str, Any] = {
        "h": h, "scheme": chosen_scheme, "solver": chosen_solver,
        "solver_name": solvers.described(chosen_solver),
        "tolerance": getattr(chosen_solver, "tolerance", tolerance),
    }  # fmt: skip
    t = model.start.t if isinstance(model, World) else 0.0
    if transient > 1:
        dropped = simulate(model, until=t + (transient - 1) * steps * h, record=steps, start=start, **options)
        start = dropped.checkpoint(-1)
    return simulate(model, until=t + (transient + samples) * steps * h, start=start, **options)


def _observed(
    run: Trajectory, steps: int, samples: int, observers: Mapping[str, Observe]
) -> tuple[Array, dict[str, tuple[Array, IntArray]]]:
    """Return the states at the ends of periods, and by name the observed numbers and their periods."""
    ends = len(run) - 1 - steps * np.arange(samples - 1, -1, -1)
    states = np.concatenate([np.asarray(run.q)[ends], np.asarray(run.v)[ends]], axis=1)
    parts = [_period(run, int(end) - steps, int(end)) for end in ends]
    observed = {}
    for word, observer in observers.items():
        numbers = [np.asarray(observer(part), float).reshape(-1) for part in parts]
        index = np.repeat(np.arange(samples), [part.size for part in numbers])
        observed[word] = (np.concatenate(numbers), index)
    return states, observed


def _period(run: Trajectory, first: int, last: int) -> Trajectory:
    """Return the run between two records, with its events."""
    begin, end = run.t[first], run.t[last]
    events = tuple(event for event in run.events if begin < event.t <= end)
    return replace(run[first : last + 1], events=events)


def _repeats(section: Array, small: Array) -> int:
    """Return the least p for which states p periods apart differ by at most `small`, or 0."""
    for p in range(1, min(MOST, len(section) // 2) + 1):
        if (np.abs(section[p:] - section[:-p]) <= small).all():
            return p
    return 0
