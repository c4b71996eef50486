"""Which part of a run is drawn: systems, interactions, bodies and instants by name, refused by name; and the
contacts of one body by the body on the other side."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from stickslip.names import LISTED, alternatives
from stickslip.problem.checks import Array, IntArray
from stickslip.simulation.model import InteractionPart
from stickslip.simulation.trajectory import Trajectory

Run = Trajectory
"""What a simulation leaves: of equations that were written, or of bodies that were placed."""

NAMED = 8
"""Most interactions or bodies that get a curve of their own."""
LONGEST = 32
"""Letters of a name in a title."""


class PlotError(ValueError):
    """What was asked for cannot be drawn; the message says what can."""


def check_names(
    run: Run, *, interaction: str | None = None, system: str | None = None, body: str | None = None
) -> None:
    """A body of written equations is a mistake, and so is an interaction or a system of a world."""
    if not run.of_world:
        given, kind = {"body": body}, "written equations"
        known = tuple(part.name for part in run.model.systems)
        whose = "its systems:"
    else:
        given, known, kind = {"interaction": interaction, "system": system}, run.model.names, "placed bodies"
        whose = "its bodies:"
    for what, name in given.items():
        if name is not None:
            names = alternatives(name, known, whose, LISTED)
            raise PlotError(f"no {what} {name!r}: the run is of {kind}; {names}")


def body_number(run: Trajectory, name: str) -> int:
    """Number of a body by name."""
    if name not in run.model.names:
        raise PlotError(f"no body {name!r}; {alternatives(name, run.model.names, most=LISTED)}")
    return run.model.names.index(name)


def interactions(run: Trajectory, name: str | None, contacts: bool) -> list[tuple[InteractionPart, slice]]:
    """The interaction of that name, or all, with their components; `contacts`: only those of mechanics."""
    places = [(part, components) for part, components, _ in run.model.places]
    if name is not None:
        found = [place for place in places if place[0].name == name]
        if not found:
            names = alternatives(name, (part.name for part, _ in places), most=LISTED)
            raise PlotError(f"no interaction {name!r}; {names}")
        return found
    if contacts:
        return [place for place in places if not place[0].first_order and is_contact(place[0]).any()]
    return places


def is_contact(part: InteractionPart) -> np.ndarray:
    """Which blocks of an interaction are unilateral, with friction or without [-], shape (blocks,), bool."""
    return np.asarray((part.K.lower == 0.0) & (part.K.upper == np.inf))


def record_at(run: Run, at: float) -> int:
    """Number of the record nearest to the time `at` [s], which must lie within the run."""
    start, end = float(run.t[0]), float(run.t[-1])
    slack = 1e-9 * max(abs(start), abs(end))
    if not start - slack <= at <= end + slack:
        raise PlotError(f"the time {at:g} s is outside the run, which goes from {start:g} to {end:g} s")
    return int(np.argmin(np.abs(run.t - at)))


def title_of(run: Run, what: str, part: str | None = None) -> str:
    """A title of one line: what is drawn, and of whom."""
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
    """Which contacts a body has, and with whom."""

    names: tuple[str, ...]
    """Of the other bodies, those with most contacts first; the last stands for all others where there are
    many."""
    rows: IntArray
    """Rows of the contacts of the body [-], shape (m,)."""
    record: IntArray
    """Record of each [-], shape (m,)."""
    other: IntArray
    """Place in `names` of its other body [-], shape (m,)."""

    @classmethod
    def of(cls, run: Trajectory, body: str) -> Self:
        """The contacts of the body of that name; a `PlotError` where it never had one."""
        k, contacts = body_number(run, body), run.raw_contacts
        rows = np.flatnonzero((contacts.body == k).any(axis=1))
        if not rows.size:
            raise PlotError(f"body {body!r} had no contact in the records of this run")
        mates = contacts.body[rows]
        mate = np.where(mates[:, 0] == k, mates[:, 1], mates[:, 0])
        numbers, count = np.unique(mate, return_counts=True)
        numbers = numbers[np.argsort(-count, kind="stable")]
        named = numbers if numbers.size <= NAMED else numbers[: NAMED - 1]
        names = [run.model.names[i] for i in named]
        if numbers.size > NAMED:
            names.append(f"{numbers.size - named.size} others")
        place = np.full(len(run.model), len(named), np.int64)
        place[named] = np.arange(named.size)
        return cls(tuple(names), rows, contacts.record[rows], place[mate])

    def over_time(self, n: int, values: Array, least: bool) -> Iterator[tuple[str, Array]]:
        """For each other body the least value of its contacts in each of n records, or their sum; NaN where
        there is no contact (a sum is 0 there), shape (n,)."""
        for k, name in enumerate(self.names):
            mine = self.other == k
            found = np.full(n, np.inf if least else 0.0)
            (np.minimum if least else np.add).at(found, self.record[mine], values[mine])
            yield name, np.where(np.isinf(found), np.nan, found)
