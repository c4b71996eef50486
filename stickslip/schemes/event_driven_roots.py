"""The first instant at which a watched quantity falls below zero within a step of an integrator.

The quantities are looked at where the integrator's dense output is cut into equal parts. One that begins at
zero (a gap just after an impact, a sliding speed just after the slip) counts from where it has been
positive; a dip between two looks is found through the minimum that its slopes or its neighbours announce.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from stickslip.problem.checks import Array, IntArray
from stickslip.state import BoolArray

HALVINGS = 40
"""How often an interval is halved towards its start in search of a positive value."""
RESOLUTION = 4.0 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Crossing:
    """What crossed first."""

    t: float
    """When [s]."""
    which: IntArray
    """Numbers of the watched quantities, those that cross at the same time together [-], shape (k,)."""
    suddenly: BoolArray
    """Which of them were below zero from the beginning, without a crossing [-], shape (k,), bool."""

    @property
    def sudden(self) -> bool:
        """Whether all were."""
        return bool(self.suddenly.all())


class Lookout:
    """Watches quantities over one stretch, integrator step after integrator step."""

    def __init__(self, t: float, g: Array, slope: Array, floor: Array, together: float):
        self.floor, self.together = floor, together
        self.t, self.g = t, g
        self.slope, self.fastest = slope, np.abs(slope)
        self.before: tuple[float, Array] | None = None
        self.risen = g > floor
        """Whether each quantity has been positive yet [-], shape (n,), bool."""

    def start(self) -> Crossing | None:
        """What is below zero already."""
        below = np.flatnonzero(self.g < -self.floor)
        return Crossing(self.t, below, np.ones(below.size, bool)) if below.size else None

    def advance(
        self, t_end: float, parts: int, few: int, watch: Callable[[float], Array],
        slopes: Callable[[float], Array], watch_one: Callable[[int, float], float] | None = None,
    ) -> Crossing | None:  # fmt: skip
        """The first crossing until t_end; `slopes` are derivatives of the first quantities, the gaps, and
        `watch_one` gives one of the quantities, by its number, where that is cheaper.

        It is looked for in so many parts, in few where every gap is out of reach at twice the speed seen.
        """
        if not self.g.size:
            self.t = t_end
            return None
        t0 = self.t
        self.one = watch_one or (lambda i, s: float(watch(s)[i]))
        last = watch(t_end), slopes(t_end)
        n = self.slope.shape[0]
        self.fastest = np.maximum(self.fastest, np.abs(last[1]))
        reach = 2.0 * (t_end - t0) * self.fastest
        parts = parts if (np.minimum(self.g, last[0])[:n] <= reach).any() else few
        for k in range(1, parts + 1):
            t = t_end if k == parts else t0 + (t_end - t0) * k / parts
            g, slope = last if k == parts else (watch(t), slopes(t))
            found = self._between(t, g, slope, slopes)
            if found is not None:
                return found
            self.before = self.t, self.g
            self.risen |= g > 0.0
            self.t, self.g, self.slope = t, g, slope
        return None

    def _between(self, t: float, g: Array, slope: Array, slopes: Callable[[float], Array]) -> Crossing | None:
        roots: dict[int, tuple[float, bool]] = {}
        for i in np.flatnonzero(g < -self.floor).tolist():
            roots[i] = self._root(i, t)
        for i in self._dips(t, g, slope).tolist():
            dip = self._dip(i, t, slopes)
            if dip is not None:
                roots[i] = dip, False
        if not roots:
            return None
        first = min(time for time, _ in roots.values())
        same = [i for i, (time, _) in roots.items() if time - first <= self.together]
        return Crossing(first, np.array(same), np.array([roots[i][1] for i in same]))

    def _root(self, i: int, t: float) -> tuple[float, bool]:
        """Where quantity i, below zero at t, crossed; or where it was last looked at, having never risen."""
        if self.risen[i]:
            return _zero(partial(self.one, i), self.t, t) if self.g[i] > 0.0 else self.t, False
        a, b = self.t, t
        for _ in range(HALVINGS):
            middle = a + 0.5 * (b - a)
            if middle in (a, b):
                break
            if self.one(i, middle) > 0.0:
                return _zero(partial(self.one, i), middle, b), False
            b = middle
        return a, True

    def _dips(self, t: float, g: Array, slope: Array) -> IntArray:
        """Which quantities, positive at the last looks, have a minimum between them that may be negative."""
        n = slope.shape[0]
        dips: BoolArray = np.zeros(g.shape[0], bool)
        above = (g >= -self.floor) & (self.g > self.floor)
        dips[:n] = above[:n] & (self.slope < 0.0) & (slope > 0.0)
        # The tangents at the ends bound a convex dip from below.
        dt = t - self.t
        reach = np.minimum(self.g[:n] + self.slope * dt, g[:n] - slope * dt)
        dips[:n] &= reach < 0.0
        if self.before is not None and g.shape[0] > n:
            g2 = self.before[1]
            middle = above & (self.g < g2) & (self.g < g)
            bend = g2 - 2.0 * self.g + g
            with np.errstate(divide="ignore", invalid="ignore"):
                vertex = self.g - (g - g2) ** 2 / (8.0 * bend)
            dips[n:] = (middle & (vertex < 0.25 * self.g))[n:]
        return np.flatnonzero(dips)

    def _dip(self, i: int, t: float, slopes: Callable[[float], Array]) -> float | None:
        """Where quantity i crosses on its way to a negative minimum."""
        if i < self.slope.shape[0]:
            start = self.t
            lowest = _zero(lambda s: -float(slopes(s)[i]), self.t, t)
        else:
            assert self.before is not None
            start = self.before[0]
            lowest = float(minimize_scalar(partial(self.one, i), bounds=(start, t), method="bounded").x)
        if not self.one(i, lowest) < -self.floor[i]:
            return None
        return _zero(partial(self.one, i), start, lowest)


def _zero(g: Callable[[float], float], a: float, b: float) -> float:
    """Where g falls through zero between a and b."""
    if not g(a) > 0.0:
        return a
    if not g(b) < 0.0:
        return b
    return float(brentq(g, a, b, xtol=1e-15, rtol=RESOLUTION))
