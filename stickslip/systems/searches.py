"""Contacts that are found anew in every step: which features of two bodies meet changes as they move.

A system has a fixed number of interactions for such contacts, its slots: those whose relation is a
`SlotRelation`. A `Search` says which features meet about a step; `fitted` is the system in which each slot
has the gap of its features, which is smooth.
"""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from stickslip.problem.checks import Array
from stickslip.state import ModelError, State
from stickslip.systems.relations import Relation
from stickslip.systems.system import NonsmoothSystem

FAR = 1e6
"""Gap where nothing can meet [m]."""


class Features(Protocol):
    """Features that meet about a step, each in a slot. Equal ones have equal gaps, and equal hashes."""

    def __hash__(self) -> int: ...

    @property
    def relations(self) -> Mapping[int, Relation]:
        """Relation of each slot, by its number."""

    @property
    def names(self) -> Array:
        """What tells the features of a slot from others; 0 where it has none [-], shape (slots,)."""


class Search(Protocol):
    """Finds features that meet."""

    slots: int
    """Number of slots."""

    def near(
        self, system: NonsmoothSystem, state: State, h: float, names: Array, entered: tuple[Any, ...] = ()
    ) -> Features:
        """Features that may meet within h from `state`, and those that `entered`.

        names: those of the step before, which keep their slots [-], shape (slots,).
        """

    def entered(
        self, system: NonsmoothSystem, before: State, after: State, features: Features
    ) -> tuple[Any, float]:
        """What overlaps at the end of a step and was not among its features, None where nothing does; and
        the least gap there, at most 0 [m]."""


@runtime_checkable
class SlotRelation(Relation, Protocol):
    """A relation whose features are found anew in every step. Bound as it is, it has those that meet at the
    place it is asked for, so that its gap may jump."""

    search: Search
    slot: int
    """Number of the slot."""


def search_of(system: NonsmoothSystem) -> Search | None:
    """What finds the contacts of a system; None where it has no slots."""
    found = {id(one): one for one in (relation.search for relation in _slots(system).values())}
    if len(found) > 1:
        raise ModelError("a system has contacts of two worlds; combine them in one world")
    return next(iter(found.values()), None)


def slots_of(system: NonsmoothSystem) -> dict[int, int]:
    """The number of the interaction of each slot of a system, by that of the slot."""
    at = {one.name: number for number, one in enumerate(system.interactions)}
    return {relation.slot: at[name] for name, relation in _slots(system).items()}


def fitted(system: NonsmoothSystem, features: Features) -> NonsmoothSystem:
    """The system in which each slot has the gap of its features."""
    relations = features.relations
    return system.with_relations({name: relations[one.slot] for name, one in _slots(system).items()})


def _slots(system: NonsmoothSystem) -> dict[str, SlotRelation]:
    return {one.name: one.relation for one in system.interactions if isinstance(one.relation, SlotRelation)}
