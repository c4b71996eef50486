"""Root finding for events: the first instant at which a watched quantity falls below zero.

The quantities are evaluated at equal parts of the integrator's dense output. A quantity that starts at zero
(a gap just after an impact, a sliding velocity just after the start of slip) is watched once it has been
positive. A minimum between two evaluations is detected by its slopes or by neighbouring values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from stickslip.problem.checks import Array, IntArray
from stickslip.state import BoolArray

HALVINGS = 40
"""Largest number of bisections towards the start of an interval in search of a positive value."""
RESOLUTION = 4.0 * float(np.finfo(float).eps)
"""Relative tolerance of root finding [-]: four times the machine precision."""


@dataclass(frozen=True, eq=False)
class Crossing:
    """The first crossing of zero."""

    t: float
    """Time of the crossing [s]."""
    which: IntArray
    """Numbers of the watched quantities that cross at this time [-], shape (k,)."""
    suddenly: BoolArray
    """Whether each of them was below zero from the start, without a crossing [-], shape (k,), bool."""

    @property
    def sudden(self) -> bool:
        """Whether all of them were below zero from the start."""
        return bool(self.suddenly.all())


class Lookout:
    """Search for crossings of watched quantities during one smooth motion, step by step of the integrator."""

    def __init__(self, t: float, g: Array, slope: Array, floor: Array, together: float):
        self.floor, self.together = floor, together
        self.t, self.g = t, g
        self.slope, self.fastest = slope, np.abs(slope)
        self.before: tuple[float, Array] | None = None
        self.risen = g > floor
        """Whether each quantity has been positive [-], shape (n,), bool."""

    def start(self) -> Crossing | None:
        """Return the quantities that are below zero at the start; None if there are none."""
        below = np.flatnonzero(self.g < -self.floor)
        return Crossing(self.t, below, np.ones(below.size, bool)) if below.size else None

    def advance(
        self, t_end: float, parts: int, few: int, watch: Callable[[float], Array],
        slopes: Callable[[float], Array], watch_one: Callable[[int, float], float] | None = None,
    ) -> Crossing | None:  # fmt: skip
        """Return the first crossing until t_end, or None. slopes: returns the derivatives of the first
        quantities, the gaps; watch_one: returns one quantity by its number, if that is cheaper.

        The search has `parts` intervals, or `few` if no gap can close at twice the largest speed so far.
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
            crossing = self._between(t, g, slope, slopes)
            if crossing is not None:
                return crossing
            self.before = self.t, self.g
            self.risen |= g > 0.0
            self.t, self.g, self.slope = t, g, slope
        return None

    def _between(self, t: float, g: Array, slope: Array, slopes: Callable[[float], Array]) -> Crossing | None:
        """Return the first crossing between the last evaluation and t, or None."""
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
        """Return the crossing of quantity i, which is below zero at t, and False; for a quantity that has
        never been positive the time of its last evaluation, and True."""
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
        """Return the quantities that are positive at the last evaluations and may have a negative minimum
        between them."""
        n = slope.shape[0]
        dips: BoolArray = np.zeros(g.shape[0], bool)
        above = (g >= -self.floor) & (self.g > self.floor)
        dips[:n] = above[:n] & (self.slope < 0.0) & (slope > 0.0)
        # The tangents at both ends bound a convex function from below.
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
        """Return the crossing of quantity i before a negative minimum; None if the minimum is not
        negative."""
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
    """Return the zero of g, which decreases between a and b."""
    if not g(a) > 0.0:
        return a
    if not g(b) < 0.0:
        return b
    return float(brentq(g, a, b, xtol=1e-15, rtol=RESOLUTION))
