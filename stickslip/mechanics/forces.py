"""Forces on bodies beside gravity: springs, dampers, actuators, and functions that users write."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stickslip.state import Array

if TYPE_CHECKING:
    from stickslip.mechanics.world import World

POTENTIAL, DAMPING, WORKING = 0, 1, 2
"""Which part of F a force is in: energies are counted by it."""


@dataclass(frozen=True, eq=False)
class Force:
    """A force that is known by the names of what it acts on, until a world is there."""

    name: str


@dataclass(frozen=True, eq=False)
class Forces:
    """All forces of a world beside gravity."""

    def add(self, t: float, q: Array, v: Array, F: Array) -> None:
        """Add forces (inertial frame [N]) and moments (body frame [N m]) to F, shape (3, n, 6).

        F[POTENTIAL] has those of a potential, F[DAMPING] those that only take energy, F[WORKING] the others.
        A number that is not finite is a ModelError that names the force, the body and t.
        """

    def potential(self, t: float, q: Array) -> float:
        """Of all springs [J]; without gravity's."""
        return 0.0

    def __len__(self) -> int:
        return 0

    def __str__(self) -> str:
        return ""


def bound(world: "World", forces: Iterable[Force]) -> Forces:
    """The forces of a world."""
    return Forces()
