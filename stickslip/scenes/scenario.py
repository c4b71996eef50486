"""A scene that runs: a system or a world, how long and how finely, the facts it must show, and its figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stickslip.exhibits import Figure
from stickslip.mechanics.world import World
from stickslip.systems.system import NonsmoothSystem


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
    """What a run must show, of its Trajectory, or WorldTrajectory where `system` is a world; facts that hold
    for one scheme only look at `trajectory.scheme`."""
    figure: Callable[[Any], Figure]
    """What to draw."""
    schemes: tuple[str, ...] = ()
    """Names of all schemes that can run it."""
