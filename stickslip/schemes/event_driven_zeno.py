"""Accumulation of impacts: infinitely many in a finite time, as of a ball coming to rest.

The intervals between the impacts of one contact then shrink geometrically, with ratio rho, and the impacts
end after interval · rho / (1 - rho) more. Where several contacts of a body take turns, the pattern of one
repeats only every second or third impact: intervals are looked at over one, two and three impacts.
"""

import numpy as np

from stickslip.problem.checks import Array

STEADY = 0.1
"""Largest change of the ratio, over its distance to 1, at which intervals count as geometric."""
TURNS = 3
"""Impacts after which a pattern may repeat, at most."""
KEPT = 3 * TURNS + 1
"""Impacts of each contact that are remembered: three intervals."""


class Accumulation:
    """The last impacts of every block, and whether the intervals between them shrink geometrically."""

    def __init__(self, hits: Array, limit: float):
        self.hits = np.array(hits)
        """Times of the last impacts, the latest first [s], shape (blocks, KEPT); -inf where none was."""
        self.limit = limit

    def hit(self, block: int, t: float) -> float | None:
        """An impact of a block at t [s]; how much later its impacts end, if that is soon [s]."""
        times = self.hits[block]
        times[1:], times[0] = times[:-1].copy(), t
        for turns in range(1, TURNS + 1):
            marks = times[: 3 * turns + 1 : turns]
            if not np.isfinite(marks[-1]):
                return None
            latest, former, first = marks[:-1] - marks[1:]
            if not latest < former < np.inf or not first > 0.0:
                continue
            ratio = latest / former
            if abs(ratio - former / first) <= STEADY * (1.0 - ratio):
                ahead = float(latest * ratio / (1.0 - ratio))
                return ahead if ahead <= self.limit else None
        return None

    def forget(self, block: int) -> None:
        """The block rests, or was looked after otherwise: impacts to come begin anew."""
        self.hits[block] = -np.inf
