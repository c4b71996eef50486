"""How far a run goes, in which steps, and what it does about a bad one: the same for systems and worlds."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple

from stickslip.names import alternatives
from stickslip.state import ModelError


class RunStatus(NamedTuple):
    """Where a run is."""

    t: float
    """Time reached [s]."""
    steps: int
    """Made so far."""
    contacts: int
    """Of the last step; of systems blocks that were active."""
    residual: float
    """Largest unit-free natural residual so far [-]."""


Progress = Callable[..., None]
"""Called with the time reached and the end [s], after every step or after several made together; one that has
an argument `status` is given a `RunStatus`, too."""

ON_FAILURE = ("raise", "accept", "halve")
"""What may be done about a step that misses its tolerance."""
FORCES = ("least", "solver")
"""Which of many certified impulses may be told: those of least norm, or those that the solver found."""
SAME = 1e-6
"""An end so close to a whole number of steps, in steps, is that number of steps."""
MOST_STEPS = 2.0**52
"""With more steps than this a step is lost in the rounding of time."""
ROUNDING = 1e-12
"""Difference of times that is rounding, over the times."""
MOST_HALVINGS = 8
"""A step is cut into at most 2 to this many."""
OFF_CLOCK = -1
"""Index of a record that is not on the clock: the end of a shortened step."""


@dataclass(frozen=True)
class Clock:
    """Times are origin + index h, so that they do not depend on how often a run was interrupted."""

    origin: float
    """Where counting began [s]."""
    h: float
    """Length of a step [s]."""
    index: int = 0
    """Steps since the origin."""

    def at(self, index: int) -> float:
        """Time after so many steps since the origin [s]."""
        return self.origin + index * self.h


def takes_status(progress: Progress) -> bool:
    """Whether a function of the progress has an argument named `status`."""
    try:
        return "status" in signature(progress).parameters
    except (TypeError, ValueError):
        return False


def ends(clock: Clock, t: float, until: float) -> tuple[int, float]:
    """Index of the end of the last full step, and the length of a shortened one after it [s]."""
    if not isinstance(until, Real) or isinstance(until, bool) or not math.isfinite(until) or until <= t:
        raise ModelError(f"until is {until!r}; the end must be a time after the start, t = {t:g} s")
    steps = (until - clock.origin) / clock.h
    if not steps < MOST_STEPS or t + clock.h == t:
        raise ModelError(f"h is {clock.h:g}; steps that short do not move time between {t:g} and {until:g} s")
    last = round(steps)
    if abs(steps - last) <= SAME * max(1.0, steps * 1e-6):
        return last, 0.0
    last = math.floor(steps)
    return last, until - clock.at(last)


def checked_clock(clock: Clock, t: float) -> None:
    """Refuse the clock of a checkpoint that does not count to its state's time t [s]."""
    length("h of the start", clock.h)
    if not abs(clock.at(clock.index) - t) <= SAME * clock.h + ROUNDING * max(abs(t), abs(clock.origin)):
        raise ModelError(
            f"the clock of the start is at {clock.at(clock.index):.9g} s after {clock.index} steps, its state"
            f" at {t:.9g} s; take a checkpoint as a trajectory gives it"
        )


def every(record: int) -> int:
    """Every how many steps to record, checked."""
    if not isinstance(record, Integral) or isinstance(record, bool) or record < 1:
        raise ModelError(f"record is {record!r}; every how many steps is a whole number from 1")
    return min(int(record), int(MOST_STEPS))


def choice(name: str, value: str, known: tuple[str, ...]) -> str:
    """The value of an option that is one of a few words, checked."""
    if value not in known:
        raise ModelError(f"{name} is {value!r}; {alternatives(value, known)}")
    return value


def pause(flush: Any) -> float:
    """The time between two writes to a file, checked [s]."""
    if not isinstance(flush, Real) or isinstance(flush, bool) or not float(flush) >= 0.0:
        raise ModelError(f"flush is {flush!r}; a time between two writes is 0 s or more")
    return float(flush)


def length(name: str, h: float) -> float:
    """The length of a step, checked [s]."""
    if not isinstance(h, Real) or isinstance(h, bool) or not math.isfinite(h) or h <= 0.0:
        raise ModelError(f"{name} is {h!r}; a step must be positive and finite")
    return float(h)
