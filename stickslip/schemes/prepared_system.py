"""Prepared systems of equations: data that the steps of a system share, computed once and on first use.

A `NonsmoothSystem` is a plain value. Code that makes many steps of a system (a run, a derivative, a user's
loop) passes a `PreparedSystem` to the scheme in its place; a step that receives a `NonsmoothSystem` prepares
it itself.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from stickslip.problem.checks import Array
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem

Part = TypeVar("Part")

KEPT = 64
"""Largest number of cached parts of one kind, for example of different step lengths."""
NEIGHBOURS = 512
"""Largest number of cached systems of a family."""


class PreparedSystem:
    """System with data that its steps share; each part is computed once, on first use."""

    def __init__(self, system: NonsmoothSystem | Family):
        """system: a system, or a family, which stands for its system at the family's numbers."""
        self.family = system if isinstance(system, Family) else None
        self.system = system.system if isinstance(system, Family) else system
        self._parts: dict[Callable[..., Any], dict[tuple[Hashable, ...], Any]] = {}
        self._neighbours: dict[bytes, PreparedSystem] = {}

    @classmethod
    def of(cls, system: "NonsmoothSystem | Family | PreparedSystem") -> "PreparedSystem":
        """Return a prepared system; an argument that is already prepared is returned unchanged."""
        return system if isinstance(system, PreparedSystem) else cls(system)

    def part(self, make: Callable[..., Part], *key: Hashable) -> Part:
        """Return make(self, *key), computed once for each key."""
        cache = self._parts.setdefault(make, {})
        if key not in cache:
            value = make(self, *key)
            if len(cache) >= KEPT:
                del cache[next(iter(cache))]
            cache[key] = value
        part: Part = cache[key]
        return part

    def at(self, numbers: Mapping[str, Array]) -> "PreparedSystem":
        """Return the system of the family at these numbers, which may contain others; the system itself if it
        has no family."""
        if self.family is None:
            return self
        values = {name: numbers[name] for name in self.family.numbers}
        key = b"".join(value.tobytes() for value in values.values())
        if key not in self._neighbours:
            if len(self._neighbours) >= NEIGHBOURS:
                self._neighbours.clear()
            system = self.family.at(values)
            self._neighbours[key] = self if system is self.system else PreparedSystem(system)
        return self._neighbours[key]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy without cached parts, which a copy computes itself."""
        return PreparedSystem, (self.family or self.system,)
