"""Who takes part in a campaign: a solver of ours, a peer, or a solver of the user's own, with its options."""

from dataclasses import dataclass
from typing import Any

from stickslip.solvers import registry

Value = bool | int | float | str
"""What an option of a solver may be."""

SHORT = {"newton": "newton-ac"}
"""Names that stand for one of a family of solvers."""
PEER = "siconos"
"""What names of Siconos's solvers begin with: siconos-nsgs, siconos-admm, ...; alone, all of them."""


@dataclass(frozen=True)
class Contestant:
    """A solver and the options it was given, as data that goes to any process."""

    name: str
    """Of the registry, of a solver of Siconos (siconos-nsgs), or the one given to a user's own."""
    options: tuple[tuple[str, Value], ...] = ()
    """Options that differ from the defaults, by name, in alphabetical order; never `tolerance`."""
    place: str = ""
    """Where a user's own solver is: `file.py:Class` or `package.module:Class`; empty for all others."""

    @property
    def label(self) -> str:
        """Name in tables, as it is typed: `ipm:variant=simple`."""
        return ":".join([self.name, *(f"{key}={value}" for key, value in self.options)])

    def as_json(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"name": self.name, "options": dict(self.options), "place": self.place}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Contestant":
        """The inverse of `as_json`."""
        return cls(data["name"], tuple(sorted(data["options"].items())), data["place"])


def is_peer(contestant: Contestant) -> bool:
    """Whether it is a solver of Siconos."""
    return not contestant.place and contestant.name.startswith(f"{PEER}-")


def is_ours(contestant: Contestant) -> bool:
    """Whether it is in our registry."""
    return not contestant.place and contestant.name in registry.names()
