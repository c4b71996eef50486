"""Select the part of a run to draw: systems, interactions, bodies and times; and the contacts of one body, by
the other body."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from stickslip.names import LISTED, alternatives
from stickslip.problem.checks import Array, IntArray
from stickslip.simulation.model import InteractionPart
from stickslip.simulation.trajectory import Trajectory

Run = Trajectory
"""A run of equations or of bodies."""

NAMED = 8
"""Largest number of interactions or bodies with separate curves."""
LONGEST = 32
"""Largest number of characters of a name in a title."""


class PlotError(ValueError):
    """A plot cannot be drawn; the message names the alternatives."""


def check_names(
    run: Run, *, interaction: str | None = None, system: str | None = None, body: str | None = None
) -> None:
    """Raise a PlotError for a body of a run of equations, or for an interaction or a system of a world."""
    if not run.of_world:
        words, kind = {"body": body}, "written equations"
        known = tuple(part.name for part in run.model.systems)
        prefix = "its systems:"
    else:
        words, known, kind = {"interaction": interaction, "system": system}, run.model.names, "placed bodies"
        prefix = "its bodies:"
    for word, name in words.items():
        if name is not None:
            names = alternatives(name, known, prefix, LISTED)
            raise PlotError(f"no {word} {name!r}: the run is of {kind}; {names}")


def body_number(run: Trajectory, name: str) -> int:
    """Number of a body by name."""
    if name not in run.model.names:
        raise PlotError(f"no body {name!r}; {alternatives(name, run.model.names, most=LISTED)}")
    return run.model.names.index(name)


def interactions(run: Trajectory, name: str | None, contacts: bool) -> list[tuple[InteractionPart, slice]]:
    """The interaction of this name, or all, with their components; contacts: only mechanical contacts."""
    places = [(part, components) for part, components, _ in run.model.places]
    if name is not None:
        matches = [place for place in places if place[0].name == name]
        if not matches:
            names = alternatives(name, (part.name for part, _ in places), most=LISTED)
            raise PlotError(f"no interaction {name!r}; {names}")
        return matches
    if contacts:
        return [place for place in places if not place[0].first_order and is_contact(place[0]).any()]
    return places


def is_contact(part: InteractionPart) -> np.ndarray:
    """Whether each block of an interaction is unilateral [-], shape (blocks,), bool."""
    return np.asarray((part.K.lower == 0.0) & (part.K.upper == np.inf))


def record_at(run: Run, at: float) -> int:
    """Number of the record nearest to the time `at` [s], which must lie within the run."""
    start, end = float(run.t[0]), float(run.t[-1])
    slack = 1e-9 * max(abs(start), abs(end))
    if not start - slack <= at <= end + slack:
        raise PlotError(f"the time {at:g} s is outside the run, which goes from {start:g} to {end:g} s")
    return int(np.argmin(np.abs(run.t - at)))


def title_of(run: Run, what: str, part: str | None = None) -> str:
    """Title in one line: the quantity `what`, and the part of the model that it belongs to."""
    if part is None:
        if not run.of_world:
            names = [each.name for each in run.model.systems]
            part = names[0] if len(names) == 1 else f"{len(names)} systems"
        else:
            part = f"{len(run.model)} bodies"
    law = " (relaxed)" if run.relaxed else ""
    return f"{what}: {part if len(part) <= LONGEST else part[: LONGEST - 1] + '…'}{law}"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Contacts of a body, grouped by the other body."""

    names: tuple[str, ...]
    """Names of the other bodies, by decreasing number of contacts; if there are many, the last name stands
    for the remaining bodies."""
    rows: IntArray
    """Rows of the contacts of the body [-], shape (m,)."""
    record: IntArray
    """Record of each contact [-], shape (m,)."""
    other: IntArray
    """Index of the other body in `names` [-], shape (m,)."""

    @classmethod
    def of(cls, run: Trajectory, body: str) -> Self:
        """The contacts of the body of this name; raise a `PlotError` if there are none."""
        k, contacts = body_number(run, body), run.raw_contacts
        rows = np.flatnonzero((contacts.body == k).any(axis=1))
        if not rows.size:
            raise PlotError(f"body {body!r} had no contact in the records of this run")
        pairs = contacts.body[rows]
        others = np.where(pairs[:, 0] == k, pairs[:, 1], pairs[:, 0])
        numbers, count = np.unique(others, return_counts=True)
        numbers = numbers[np.argsort(-count, kind="stable")]
        named = numbers if numbers.size <= NAMED else numbers[: NAMED - 1]
        names = [run.model.names[i] for i in named]
        if numbers.size > NAMED:
            names.append(f"{numbers.size - named.size} others")
        index = np.full(len(run.model), len(named), np.int64)
        index[named] = np.arange(named.size)
        return cls(tuple(names), rows, contacts.record[rows], index[others])

    def over_time(self, n: int, values: Array, least: bool) -> Iterator[tuple[str, Array]]:
        """Yield for each other body the smallest value of its contacts in each of n records, or their sum,
        shape (n,). Without a contact the smallest value is NaN and the sum is 0."""
        for k, name in enumerate(self.names):
            selected = self.other == k
            result = np.full(n, np.inf if least else 0.0)
            (np.minimum if least else np.add).at(result, self.record[selected], values[selected])
            yield name, np.where(np.isinf(result), np.nan, result)
