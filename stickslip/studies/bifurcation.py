"""Bifurcation diagrams: what a driven system settles to, over a parameter.

At each value of the parameter the system is carried over `transient` periods that are dropped, and then over
`samples` periods that are kept. The states at the ends of these are its Poincaré section.
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
"""Any number of numbers, of the run over one period; its last record is the end of the period."""

NEAR = 1e-3
"""Sections are the same if they differ by less than this share of the range of all sections [-]."""
MOST = 64
"""Most periods in which a motion is looked at to repeat."""


@dataclass(frozen=True, eq=False)
class Bifurcation:
    """What was found at each value of the parameter."""

    name: str
    """Name of the parameter, with its unit."""
    values: Array
    """Values of the parameter [any], shape (n,)."""
    periods: Array
    """Period at each of them [s], shape (n,)."""
    states: tuple[Array, ...]
    """At each value the states (q, v) at the ends of the periods kept, a Poincaré section [any], shape
    (samples, nq + nv) each."""
    observed: Mapping[str, tuple[Array, ...]]
    """By the name of what was observed, at each value all numbers of the periods kept [any], shape (any,)
    each."""
    ends: Mapping[str, tuple[IntArray, ...]]
    """Of each number the period that it is of, from 0 [-], shape (any,) each."""

    def repeats(self, near: float = NEAR) -> IntArray:
        """In how many periods the motion repeats at each value [-], shape (n,); 0 where in no number up to
        half of the samples: sections that many periods apart differ by less than `near` times the range of
        each coordinate over all values."""
        everywhere = np.concatenate(self.states)
        small = near * np.ptp(everywhere, axis=0) + 1e-12 * np.abs(everywhere).max(axis=0, initial=0.0)
        return np.array([_repeats(section, small) for section in self.states])

    def to_frame(self) -> "pandas.DataFrame":
        """All numbers as a table of pandas (extra `tables`): parameter, what was observed, period, number."""
        pandas = needed("pandas", "a data frame")
        rows = [row for name in self.observed for row in self.rows(name)]
        return pandas.DataFrame(rows, columns=[self.name, "observed", "period", "value"])

    def rows(self, name: str) -> list[tuple[float, str, int, float]]:
        """Parameter, name, period and number of all that was observed by that name."""
        pairs = zip(self.values.tolist(), self.ends[name], self.observed[name], strict=True)
        return [
            (value, name, int(end), float(number))
            for value, ends, numbers in pairs
            for end, number in zip(ends, numbers, strict=True)
        ]

    def figure(self, title: str = "Bifurcations") -> Figure:
        """The diagram: what was observed against the parameter, a panel each."""
        panels = []
        for name, found in self.observed.items():
            x = np.repeat(self.values, [each.size for each in found])
            panels.append(Panel("", self.name, name, [Curve(name, x, np.concatenate(found), "o")]))
        return Figure(title, panels)

    def section(self, k: int, first: int = 0, second: int | None = None) -> Figure:
        """The Poincaré section at value k: one number of the state against another, by default the first
        coordinate against the first velocity, or the second state where there are no velocities."""
        states = self.states[k]
        second = states.shape[1] // 2 if second is None else second
        points = Curve("section", states[:, first], states[:, second], "o")
        axes = f"state {first}", f"state {second}"
        return Figure(f"Poincaré section at {self.name} = {self.values[k]:g}", [Panel("", *axes, [points])])

    def table(self) -> Table:
        """A row for each value: in how many periods the motion repeats, and ranges of what was observed."""
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
            for found in self.observed.values():
                one = found[k]
                row += [one.size, float(one.min()), float(one.max())] if one.size else [0, None, None]
            rows.append(row)
        return Table("What the motion settles to", columns, rows)


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
    at = np.array(values, float).reshape(-1)
    if not at.size or not np.isfinite(at).all():
        raise ModelError(f"values is {values!r}; give one number or more, all finite")
    for word, count, least in (("transient", transient, 0), ("samples", samples, 1), ("steps", steps, 1)):
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
            raise ModelError(f"{word} is {count!r}; it must be a whole number >= {least}")
    looks = observe if isinstance(observe, Mapping) else {"q0" if observe is None else "observed": observe}
    looks = {word: look or (lambda run: run.q[-1, 0]) for word, look in looks.items()}
    for word, look in looks.items():
        if not callable(look):
            raise ModelError(f"observe[{word!r}] is {look!r}; expected a function of a run")
    tell = Parts(progress, at.size)
    before: Trajectory | None = None
    found: list[tuple[float, Array, dict[str, tuple[Array, IntArray]]]] = []
    for value in at.tolist():
        tell(f"{name} = {value:g}")
        try:
            model = make(value)
            time = float(period(value) if callable(period) else period)
            if not (time > 0.0 and np.isfinite(time)):
                raise ModelError(f"period is {time!r}; it must be positive [s]")
            start = _start(model, before, time / steps) if follow and before is not None else None
            before = _settled(model, time, (transient, samples, steps), start, scheme, solver, tolerance)
            found.append((time, *_looked(before, steps, samples, looks)))
        except Exception as error:
            error.add_note(f"at {name} = {value:g}")
            raise
    tell.end()
    return Bifurcation(
        name, at, np.array([time for time, _, _ in found]), tuple(states for _, states, _ in found),
        {word: tuple(one[word][0] for _, _, one in found) for word in looks},
        {word: tuple(one[word][1] for _, _, one in found) for word in looks},
    )  # fmt: skip


def _start(model: NonsmoothSystem | World, before: Trajectory, h: float) -> Any:
    """Where the run before ended, at the time at which the model starts, without the scheme's memory."""
    if isinstance(model, World):
        return State(model.start.t, before.q[-1], before.v[-1])
    state = State(0.0, np.array(before.q[-1]), np.array(before.v[-1]), model.z0)
    same = Model.of(model, (Level.VELOCITY,) * len(model.interactions))
    return Checkpoint(state, {}, Clock(0.0, h), same, "")


def _settled(
    model: NonsmoothSystem | World, period: float, counts: tuple[int, int, int], start: Any, scheme: Any,
    solver: Any, tolerance: float | None,
) -> Trajectory:  # fmt: skip
    """The run over the periods that are kept and the one before them, all steps recorded: what begins in
    the first step of a period is told from what goes on."""
    transient, samples, steps = counts
    of_world = isinstance(model, World)
    chosen: Any = (
        schemes.chosen_for_bodies(scheme) if of_world else schemes.chosen_for_system(scheme, model)  # type: ignore[arg-type]
    )
    tolerance = (1e-8 if of_world else 1e-10) if tolerance is None else tolerance
    made = solvers.make(solver, tolerance=tolerance) if isinstance(solver, str) else solver
    h = period / steps
    how: dict[str, Any] = {
        "h": h, "scheme": chosen, "solver": made, "solver_name": solvers.described(made),
        "tolerance": getattr(made, "tolerance", tolerance),
    }  # fmt: skip
    t = model.start.t if isinstance(model, World) else 0.0
    if transient > 1:
        dropped = simulate(model, until=t + (transient - 1) * steps * h, record=steps, start=start, **how)
        start = dropped.checkpoint(-1)
    return simulate(model, until=t + (transient + samples) * steps * h, start=start, **how)


def _looked(
    run: Trajectory, steps: int, samples: int, looks: Mapping[str, Observe]
) -> tuple[Array, dict[str, tuple[Array, IntArray]]]:
    """States at the ends of periods, and what was observed in each."""
    ends = len(run) - 1 - steps * np.arange(samples - 1, -1, -1)
    states = np.concatenate([np.asarray(run.q)[ends], np.asarray(run.v)[ends]], axis=1)
    parts = [_period(run, int(end) - steps, int(end)) for end in ends]
    seen = {}
    for word, look in looks.items():
        each = [np.asarray(look(part), float).reshape(-1) for part in parts]
        number = np.repeat(np.arange(samples), [one.size for one in each])
        seen[word] = (np.concatenate(each), number)
    return states, seen


def _period(run: Trajectory, first: int, last: int) -> Trajectory:
    """The run from one record to another, with the events between them."""
    begin, end = run.t[first], run.t[last]
    events = tuple(event for event in run.events if begin < event.t <= end)
    return replace(run[first : last + 1], events=events)


def _repeats(section: Array, small: Array) -> int:
    for p in range(1, min(MOST, len(section) // 2) + 1):
        if (np.abs(section[p:] - section[:-p]) <= small).all():
            return p
    return 0
