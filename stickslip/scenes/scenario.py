"""Scenarios: a system or a world with duration, time step, expected facts and a figure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.world import World
from stickslip.state import Array
from stickslip.systems.system import NonsmoothSystem

GRAVITY = 9.81
"""Acceleration of gravity, along -z [m/s²]."""
BODIES = ("moreau-jean-semi-explicit",)
"""Default schemes of scenes that are worlds."""
SWITCHED = ("euler-moreau", "event-driven")
"""Schemes of circuits and relays whose switching the event-driven scheme can resolve."""


@dataclass(frozen=True)
class Fact:
    """A known value of a run, and its measured value."""

    claim: str
    """The fact in words, with source and unit, such as "second impact [s], closed form"."""
    measured: float
    """Value of the run."""
    expected: float
    """Expected value."""
    tolerance: float
    """Largest absolute difference; the claim or the docs give the reason."""

    def __post_init__(self) -> None:
        for name in ("measured", "expected", "tolerance"):  # numbers of NumPy too
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def ok(self) -> bool:
        """Whether the measured value agrees with the expected one."""
        return abs(self.measured - self.expected) <= self.tolerance


@dataclass(frozen=True, eq=False)
class Scenario:
    """A complete simulation by name."""

    name: str
    """Name, also on the command line."""
    summary: str
    """Description in one line."""
    system: NonsmoothSystem | World
    """The model."""
    until: float
    """End of the simulation [s]."""
    h: float
    """Time step [s]."""
    scheme: str
    """Name of the default scheme."""
    options: dict[str, Any]
    """Options of the default scheme."""
    facts: Callable[[Any], Sequence[Fact]]
    """Function of a Trajectory that returns the facts of the run; facts that hold for one scheme only depend
    on `trajectory.scheme`."""
    figure: Callable[[Any], Figure]
    """Function of a Trajectory that returns a figure."""
    schemes: tuple[str, ...] = ()
    """Names of all schemes that can run it."""
    period: float | None = None
    """Period of the excitation [s]; None if there is none."""
    observe: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Quantities of bifurcation diagrams, by name with unit: functions of the run over one period."""


def scene(
    name: str, summary: str, system: NonsmoothSystem | World, until: float, h: float,
    facts: Callable[[Any], Iterable[Fact]], figure: Callable[[Any], Figure],
    schemes: tuple[str, ...] = BODIES, options: Mapping[str, Any] | None = None,
) -> Scenario:  # fmt: skip
    """Return a Scenario whose default scheme is the first of `schemes`; `facts` may be a generator."""
    return Scenario(
        name, summary, system, until, h, schemes[0], dict(options or {}),
        lambda trajectory: list(facts(trajectory)), figure, schemes,
    )  # fmt: skip


def against(
    title: str, x_label: str, y_label: str, x: Array, curves: Mapping[str, Array | tuple[Array, str]],
    **look: Any,
) -> Panel:  # fmt: skip
    """Return a panel of curves over one abscissa `x`, by name; a curve is y, or (y, line style)."""
    drawn = [Curve(name, x, *(y if isinstance(y, tuple) else (y,))) for name, y in curves.items()]
    return Panel(title, x_label, y_label, drawn, **look)


def over_time(
    title: str, y_label: str, t: Array, curves: Mapping[str, Array | tuple[Array, str]], **look: Any
) -> Panel:
    """Return a panel of curves over time [s]."""
    return against(title, "t [s]", y_label, t, curves, **look)
