"""Accumulation of impacts (Zeno): infinitely many in a finite time, as for a ball that comes to rest.

The intervals between the impacts of one contact shrink geometrically, with ratio rho, and the impacts end
after a further interval · rho / (1 - rho). If several contacts of a body alternate, the pattern of one of
them repeats only after two or three impacts: intervals over one, two and three impacts are tested.
"""

import numpy as np

from stickslip.problem.checks import Array

STEADY = 0.1
"""Largest change of the ratio, relative to its distance from 1, for intervals that count as geometric [-]
(heuristic)."""
TURNS = 3
"""Largest number of impacts after which a pattern repeats."""
KEPT = 3 * TURNS + 1
"""Number of stored impacts of each contact: three intervals of the longest pattern."""


class Accumulation:
    """Times of the last impacts of every block, with a test for geometrically shrinking intervals."""

    def __init__(self, hits: Array, limit: float):
        self.hits = np.array(hits)
        """Times of the last impacts, the latest first [s], shape (blocks, KEPT); -inf: none."""
        self.limit = limit

    def hit(self, block: int, t: float) -> float | None:
        """Record an impact of a block at t [s]. Return the time to the accumulation point [s] if its
        intervals shrink geometrically and the time is at most `limit`; otherwise None."""
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
        """Discard the recorded impacts of a block."""
        self.hits[block] = -np.inf
