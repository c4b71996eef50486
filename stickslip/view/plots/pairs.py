"""Contacts of one body of a world by the body on the other side, a row per record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stickslip.problem.checks import Array, IntArray
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.view.plots.choice import NAMED, PlotError, body_number


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
    def of(cls, run: WorldTrajectory, body: str) -> Pairs:
        """The contacts of the body of that name; a `PlotError` where it never had one."""
        k, contacts = body_number(run, body), run.contacts
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
