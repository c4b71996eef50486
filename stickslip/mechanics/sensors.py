"""Sensors: numbers read from a state, recorded beside it."""

from typing import TYPE_CHECKING, Protocol

from stickslip.state import Array, State

if TYPE_CHECKING:
    from stickslip.mechanics.world import World


class Sensor(Protocol):
    """Something that is measured."""

    @property
    def name(self) -> str:
        """By which a trajectory knows it."""

    def read(self, world: "World", state: State) -> Array:
        """What it shows [any], always of the same shape."""
