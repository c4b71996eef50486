"""Contacts that are searched in every step, because the features of two bodies that meet change with motion.

A system has a fixed number of interactions for such contacts, its slots, whose relations are `SlotRelation`s.
A
`Search` finds the features that may meet in a step; `fitted` returns the system in which each slot has the
smooth gap of its features.
"""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from stickslip.problem.checks import Array
from stickslip.state import ModelError, State
from stickslip.systems.relations import Relation
from stickslip.systems.system import NonsmoothSystem

FAR = 1e6
"""Gap of a slot without features [m]."""


class Features(Protocol):
    """Features that may meet in a step, by slots. Equal objects have equal gaps and equal hashes."""

    def __hash__(self) -> int: ...

    @property
    def relations(self) -> Mapping[int, Relation]:
        """Relation of each slot, by the number of the slot."""

    @property
    def names(self) -> Array:
        """Identifier of the features of each slot; 0 for an empty slot [-], shape (slots,)."""


class Search(Protocol):
    """Search for features that meet."""

    slots: int
    """Number of slots."""

    def near(
        self, system: NonsmoothSystem, state: State, h: float, names: Array, entered: tuple[Any, ...] = ()
    ) -> Features:
        """Return the features that may meet within time h from `state`, and those in `entered`.

        names: identifiers of the previous step, which keep their slots [-], shape (slots,).
        """

    def entered(
        self, system: NonsmoothSystem, before: State, after: State, features: Features
    ) -> tuple[Any, float]:
        """Return features that overlap at the end of a step but were not among its features, None if there
        are none, and the least gap among them, at most 0 [m]."""


@runtime_checkable
class SlotRelation(Relation, Protocol):
    """A relation whose features are searched in every step.

    If it is bound directly, it uses the features that meet at the coordinates of each call, so that its gap
    may
    jump.
    """

    search: Search
    slot: int
    """Number of the slot."""


def search_of(system: NonsmoothSystem) -> Search | None:
    """Return the search for the contacts of a system; None if it has no slots."""
    searches = {id(one): one for one in (relation.search for relation in _slots(system).values())}
    if len(searches) > 1:
        raise ModelError("a system has contacts of two worlds; combine them in one world")
    return next(iter(searches.values()), None)


def slots_of(system: NonsmoothSystem) -> dict[int, int]:
    """Return the index of the interaction of each slot, by the number of the slot."""
    at = {one.name: number for number, one in enumerate(system.interactions)}
    return {relation.slot: at[name] for name, relation in _slots(system).items()}


def fitted(system: NonsmoothSystem, features: Features) -> NonsmoothSystem:
    """Return the system in which each slot has the gap of its features."""
    relations = features.relations
    return system.with_relations({name: relations[one.slot] for name, one in _slots(system).items()})


def _slots(system: NonsmoothSystem) -> dict[str, SlotRelation]:
    return {one.name: one.relation for one in system.interactions if isinstance(one.relation, SlotRelation)}
