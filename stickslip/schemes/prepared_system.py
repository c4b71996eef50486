"""A system of equations prepared for steps: what they make of it once, made on first use, held beside it.

A `NonsmoothSystem` is a plain value. Whoever makes many steps of one (a run, a derivative, a loop by hand)
holds a `PreparedSystem` and gives it to the scheme in its place; a step that is given a system itself
prepares its own.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from stickslip.problem.checks import Array
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem

Part = TypeVar("Part")

KEPT = 64
"""Most parts of one kind that are kept: of as many step lengths, say."""
NEIGHBOURS = 512
"""Most systems of a family that are kept."""


class PreparedSystem:
    """System with data that its steps share; each part is computed once, on first use."""

    def __init__(self, system: NonsmoothSystem | Family):
        """system: the system; or a family, of which it is the system at the family's numbers."""
        self.family = system if isinstance(system, Family) else None
        self.system = system.system if isinstance(system, Family) else system
        self._parts: dict[Callable[..., Any], dict[tuple[Hashable, ...], Any]] = {}
        self._neighbours: dict[bytes, PreparedSystem] = {}

    @classmethod
    def of(cls, system: "NonsmoothSystem | Family | PreparedSystem") -> "PreparedSystem":
        """A system prepared; one that is already is returned as it is."""
        return system if isinstance(system, PreparedSystem) else cls(system)

    def part(self, make: Callable[..., Part], *key: Hashable) -> Part:
        """make(self, *key), made once for each key: what a scheme need not make again of the same system."""
        known = self._parts.setdefault(make, {})
        if key not in known:
            found = make(self, *key)
            if len(known) >= KEPT:
                del known[next(iter(known))]
            known[key] = found
        part: Part = known[key]
        return part

    def at(self, numbers: Mapping[str, Array]) -> "PreparedSystem":
        """The system of its family at these numbers, among others; itself where it has no family."""
        if self.family is None:
            return self
        own = {name: numbers[name] for name in self.family.numbers}
        key = b"".join(value.tobytes() for value in own.values())
        if key not in self._neighbours:
            if len(self._neighbours) >= NEIGHBOURS:
                self._neighbours.clear()
            system = self.family.at(own)
            self._neighbours[key] = self if system is self.system else PreparedSystem(system)
        return self._neighbours[key]

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, and one sent to another process, makes its own parts."""
        return PreparedSystem, (self.family or self.system,)
