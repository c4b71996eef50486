"""Accumulation of impacts: infinitely many in a finite time, as of a ball coming to rest.

The intervals between the impacts of one contact then shrink geometrically, with ratio rho; the impacts end
after interval · rho / (1 - rho) more. Once that is short, the contact closes: the last impact is made
plastic, which gives the same momentum as the impacts left out, and the end is the accumulation point.
"""

import numpy as np

from stickslip.problem.checks import Array

STEADY = 0.1
"""Largest change of the ratio, over its distance to 1, at which intervals count as geometric."""


class Accumulation:
    """The last impact of every block, and how the intervals between them shrink."""

    def __init__(self, last: Array, interval: Array, ratio: Array, limit: float):
        self.last, self.interval, self.ratio = np.array(last), np.array(interval), np.array(ratio)
        self.limit = limit

    def hit(self, block: int, t: float) -> float | None:
        """An impact of a block at t [s]; how much later its impacts end, if that is soon [s]."""
        interval = t - self.last[block]
        ratio = interval / self.interval[block] if np.isfinite(self.interval[block]) else np.inf
        change = abs(ratio - self.ratio[block]) if np.isfinite(self.ratio[block]) else np.inf
        self.last[block], self.interval[block], self.ratio[block] = t, interval, ratio
        if not (ratio < 1.0 and change <= STEADY * (1.0 - ratio)):
            return None
        ahead = float(interval * ratio / (1.0 - ratio))
        return ahead if ahead <= self.limit else None

    def forget(self, block: int) -> None:
        """The block rests: impacts to come begin anew."""
        self.last[block], self.interval[block], self.ratio[block] = -np.inf, np.inf, np.inf
