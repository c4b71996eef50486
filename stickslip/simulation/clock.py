"""Clock of a run: step lengths, end time, and checked options, for any model."""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.names import alternatives
from stickslip.schemes.adaptive import Adaptive
from stickslip.state import ModelError


class RunStatus(NamedTuple):
    """Status of a run."""

    t: float
    """Time reached [s]."""
    steps: int
    """Number of steps so far."""
    contacts: int
    """Number of contacts in the last step; for systems of active blocks."""
    residual: float
    """Largest unit-free natural residual so far [-]."""


Progress = Callable[..., None]
"""Function that is called with the time reached and the end [s], after every step or compiled call; with an
argument `status` it also receives a `RunStatus`."""

ON_FAILURE = ("raise", "accept", "halve")
"""Treatments of a step that misses its tolerance."""
FORCES = ("least", "solver")
"""Reported impulses if they are not unique: those of least norm, or those of the solver."""
SAME = 1e-6
"""Largest distance of the end time from a full number of steps, in steps, that counts as zero [-]."""
MOST_STEPS = 2.0**52
"""Largest number of steps; beyond it a step is lost in the rounding of time."""
ROUNDING = 1e-12
"""Difference of times, relative to the times, that counts as rounding [-]."""
MOST_HALVINGS = 8
"""Largest number of halvings of a step."""
OFF_CLOCK = -1
"""Index of a record that is not on the clock, at the end of a shortened step."""


Grid = tuple[float, ...]
"""Times at which steps end [s]."""
Stride = float | Grid | Adaptive
"""Definition of the step lengths: one length [s], the times at which steps end, or an error estimate."""


@dataclass(frozen=True)
class Clock:
    """Times of steps: origin + index h, or those of a grid, so that they do not depend on interruptions of
    the run. Times of adaptive steps are the sums of their lengths."""

    origin: float
    """Time of index 0 [s]."""
    h: float
    """Length of a step [s]; for a grid and adaptive steps that of the first."""
    index: int = 0
    """Number of steps since the origin."""
    grid: Grid = ()
    """Times [s], the origin first; empty if all steps have the length h."""
    adaptive: Adaptive | None = None
    """Options of adaptive steps; None for known lengths."""

    @classmethod
    def of(cls, t: float, stride: Stride) -> "Clock":
        """Return the clock of a run that begins at t [s]."""
        if isinstance(stride, Adaptive):
            return cls(t, stride.begin, adaptive=stride)
        if not isinstance(stride, tuple):
            return cls(t, length("h", stride))
        later = tuple(one for one in stride if one > t)
        if not later:
            raise ModelError(f"grid ends at {stride[-1]:g} s; it must extend beyond the start, t = {t:g} s")
        return cls(t, later[0] - t, grid=(t, *later))

    def anew(self, t: float) -> "Clock":
        """Return the clock that continues from t [s], the end of a shortened step."""
        return Clock.of(t, self.grid) if self.grid and t < self.grid[-1] else Clock(t, self.h)

    def at(self, index: int) -> float:
        """Return the time at an index [s]."""
        return self.grid[index] if self.grid else self.origin + index * self.h

    def times(self, first: int, last: int) -> Any:
        """Return the times from index `first` to index `last` inclusive [s], shape (last - first + 1,)."""
        if self.grid:
            return np.array(self.grid[first : last + 1])
        return self.origin + np.arange(first, last + 1) * self.h

    def length(self, index: int) -> float:
        """Return the length of the step that ends at an index [s]."""
        return float(self._lengths[index - 1]) if self.grid else self.h

    def alike(self, index: int, last: int) -> int:
        """Return the number of steps from `index`, at most to `last`, with the same length as the first."""
        if not self.grid:
            return last - index
        other = np.flatnonzero(self._lengths[index:last] != self._lengths[index])
        return int(other[0]) if other.size else last - index

    def check_room(self, index: int, steps: int) -> None:
        """Raise ModelError if the grid has fewer than `steps` steps after an index."""
        room = len(self.grid) - 1 - index
        if self.grid and steps > room:
            raise ModelError(f"n is {steps}; the grid ends at {self.grid[-1]:g} s, {room} steps from here")

    @cached_property
    def _lengths(self) -> Any:
        """Lengths of the steps of a grid [s], shape (steps,); equal if they differ by rounding of times."""
        times = np.array(self.grid)
        lengths = np.diff(times)
        rounding = 4.0 * np.finfo(float).eps * float(np.abs(times).max())
        for k in range(1, lengths.size):
            if abs(lengths[k] - lengths[k - 1]) <= rounding:
                lengths[k] = lengths[k - 1]
        return lengths

    @property
    def stride(self) -> Stride:
        """Definition of the step lengths from here on."""
        return self.adaptive or self.grid[self.index :] or self.h

    @property
    def told(self) -> str:
        """Step lengths, as part of a sentence."""
        if self.adaptive is not None:
            return f"adaptive steps, tolerance {self.adaptive.tolerance:g}"
        if self.grid:
            lengths = self._lengths
            return f"a grid of {lengths.size} steps, h = {lengths.min():g} to {lengths.max():g} s"
        return f"h = {self.h:g} s"

    @property
    def facts(self) -> dict[str, Any]:
        """Data of the clock in files."""
        grid = {"grid": list(self.grid)} if self.grid else {}
        adaptive = {} if self.adaptive is None else {"adaptive": asdict(self.adaptive)}
        return {**grid, **adaptive, "h": self.h, "origin": self.origin}


def stride(h: float | None, grid: ArrayLike | None, adaptive: Adaptive | None) -> Stride | None:
    """Return the definition of the step lengths from the arguments of a run; None without one."""
    arguments = {"h": h, "grid": grid, "adaptive": adaptive}
    names = [name for name, value in arguments.items() if value is not None]
    if len(names) > 1:
        raise ModelError(f"{' and '.join(names)} are given; each of them defines the step lengths: give one")
    if adaptive is not None and not isinstance(adaptive, Adaptive):
        raise ModelError(f"adaptive is {adaptive!r}; expected Adaptive(tolerance=...) of ss.schemes")
    return h if grid is None and adaptive is None else adaptive or checked_grid(grid)


def checked_grid(grid: Any) -> Grid:
    """Return checked times at which steps end [s]."""
    try:
        times = np.array(grid, float)
    except (TypeError, ValueError):
        raise ModelError(f"grid is {grid!r}; expected times at which steps end") from None
    if times.ndim != 1 or not times.size:
        raise ModelError(f"grid has shape {times.shape}; expected a vector of times at which steps end")
    if not np.isfinite(times).all():
        k = int(np.argmin(np.isfinite(times)))
        raise ModelError(f"grid[{k}] is {times[k]}; times must be finite")
    back = np.flatnonzero(np.diff(times) <= 0.0)
    if back.size:
        k = int(back[0])
        raise ModelError(
            f"grid[{k + 1}] is {times[k + 1]:.9g} s after grid[{k}] = {times[k]:.9g} s; times must increase"
        )
    return tuple(times.tolist())


def takes_status(progress: Progress) -> bool:
    """Whether a progress function has an argument named `status`."""
    try:
        return "status" in signature(progress).parameters
    except (TypeError, ValueError):
        return False


def checked_end(until: float | None, t: float, clock: Clock) -> float:
    """Return the checked end time of a run at t [s]; default: the end of its grid."""
    if until is None:
        if not clock.grid:
            raise ModelError("until is missing: simulate(model, until=..., h=...)")
        until = clock.grid[-1]
    if not isinstance(until, Real) or isinstance(until, bool) or not math.isfinite(until) or until <= t:
        raise ModelError(f"until is {until!r}; it must be later than the start, t = {t:g} s")
    return float(until)


def ends(clock: Clock, t: float, until: float) -> tuple[int, float]:
    """Return the index of the last full step, and the length of a shortened step after it, 0 without [s]."""
    until = checked_end(until, t, clock)
    if clock.adaptive is not None:
        raise ModelError("the steps of the start are adaptive, so that their number is unknown; give h")
    if clock.grid:
        return _ends_of_grid(clock, until)
    steps = (until - clock.origin) / clock.h
    if not steps < MOST_STEPS or t + clock.h == t:
        raise ModelError(
            f"h is {clock.h:g}; steps this short do not change the time between {t:g} and {until:g} s"
        )
    last = round(steps)
    if abs(steps - last) <= SAME * max(1.0, steps * 1e-6):
        return last, 0.0
    last = math.floor(steps)
    return last, until - clock.at(last)


def _ends_of_grid(clock: Clock, until: float) -> tuple[int, float]:
    """Return the same for a grid."""
    last = bisect_right(clock.grid, until) - 1
    for index in (last, last + 1):
        if index < len(clock.grid) and abs(clock.grid[index] - until) <= SAME * clock.length(max(index, 1)):
            return index, 0.0
    if last == len(clock.grid) - 1:
        raise ModelError(f"until is {until:g} s; the grid ends at {clock.grid[-1]:g} s")
    return last, until - clock.grid[last]


def checked_clock(clock: Clock, t: float) -> None:
    """Raise ModelError if the clock of a checkpoint does not agree with the time t of its state [s]."""
    length("h of the start", clock.h)
    if clock.adaptive is not None:
        return
    if clock.grid and not 0 <= clock.index < len(clock.grid) - 1:
        raise ModelError(
            f"the grid of the start ends at {clock.grid[-1]:.9g} s, and so does its run; give another"
            " grid, or h"
        )
    if not abs(clock.at(clock.index) - t) <= SAME * clock.h + ROUNDING * max(abs(t), abs(clock.origin)):
        raise ModelError(
            f"the clock of the start is at {clock.at(clock.index):.9g} s after {clock.index} steps, its state"
            f" at {t:.9g} s; use a checkpoint of a trajectory"
        )


def every(record: int) -> int:
    """Return the checked number of steps between records."""
    if not isinstance(record, Integral) or isinstance(record, bool) or record < 1:
        raise ModelError(
            f"record is {record!r}; the number of steps between records must be a whole number from 1"
        )
    return min(int(record), int(MOST_STEPS))


def choice(name: str, value: str, known: tuple[str, ...]) -> str:
    """Return the checked value of an option with a few known values."""
    if value not in known:
        raise ModelError(f"{name} is {value!r}; {alternatives(value, known)}")
    return value


def pause(flush: Any) -> float:
    """Return the checked time between two writes to a file [s]."""
    if not isinstance(flush, Real) or isinstance(flush, bool) or not float(flush) >= 0.0:
        raise ModelError(f"flush is {flush!r}; the time between two writes must be 0 s or more")
    return float(flush)


def length(name: str, h: float) -> float:
    """Return a checked step length [s]."""
    if not isinstance(h, Real) or isinstance(h, bool) or not math.isfinite(h) or h <= 0.0:
        raise ModelError(f"{name} is {h!r}; a time step must be positive and finite")
    return float(h)
