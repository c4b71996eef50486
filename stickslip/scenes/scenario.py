"""A scene that runs: a system or a world, how long and how finely, the facts it must show, and its figure."""

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
"""Schemes of a scene that is a world, unless it says others."""
SWITCHED = ("euler-moreau", "event-driven")
"""Schemes of circuits and relays whose switches event-driven integration can follow."""


@dataclass(frozen=True)
class Fact:
    """Something known about a run, and what was measured."""

    claim: str
    """The fact in words, with its source and unit: «second impact [s], closed form»."""
    measured: float
    """What the run gave."""
    expected: float
    """What it should be."""
    tolerance: float
    """How far the two may be apart, absolutely, and why is in the claim or the docs."""

    def __post_init__(self) -> None:
        for name in ("measured", "expected", "tolerance"):  # numbers of NumPy too
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def ok(self) -> bool:
        """Whether the run shows the fact."""
        return abs(self.measured - self.expected) <= self.tolerance


@dataclass(frozen=True, eq=False)
class Scenario:
    """A ready simulation by name."""

    name: str
    """As the command line knows it."""
    summary: str
    """One line."""
    system: NonsmoothSystem | World
    """What is simulated."""
    until: float
    """How long [s]."""
    h: float
    """Time step [s]."""
    scheme: str
    """Name of the scheme that suits it."""
    options: dict[str, Any]
    """Options of that scheme."""
    facts: Callable[[Any], Sequence[Fact]]
    """What a run must show, of its Trajectory, or Trajectory where `system` is a world; facts that hold
    for one scheme only look at `trajectory.scheme`."""
    figure: Callable[[Any], Figure]
    """What to draw."""
    schemes: tuple[str, ...] = ()
    """Names of all schemes that can run it."""
    period: float | None = None
    """Period of what drives it [s]; None where nothing periodic does."""
    observe: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """What a bifurcation diagram shows, by name with its unit: functions of the run over one period."""


def scene(
    name: str, summary: str, system: NonsmoothSystem | World, until: float, h: float,
    facts: Callable[[Any], Iterable[Fact]], figure: Callable[[Any], Figure],
    schemes: tuple[str, ...] = BODIES, options: Mapping[str, Any] | None = None,
) -> Scenario:  # fmt: skip
    """A Scenario whose own scheme is the first of `schemes`; facts may be yielded one by one."""
    return Scenario(
        name, summary, system, until, h, schemes[0], dict(options or {}),
        lambda trajectory: list(facts(trajectory)), figure, schemes,
    )  # fmt: skip


def against(
    title: str, x_label: str, y_label: str, x: Array, curves: Mapping[str, Array | tuple[Array, str]],
    **look: Any,
) -> Panel:  # fmt: skip
    """A panel of curves over one abscissa `x`, by name; with a line style as (y, style)."""
    drawn = [Curve(name, x, *(y if isinstance(y, tuple) else (y,))) for name, y in curves.items()]
    return Panel(title, x_label, y_label, drawn, **look)


def over_time(
    title: str, y_label: str, t: Array, curves: Mapping[str, Array | tuple[Array, str]], **look: Any
) -> Panel:
    """A panel of curves over time [s]."""
    return against(title, "t [s]", y_label, t, curves, **look)
