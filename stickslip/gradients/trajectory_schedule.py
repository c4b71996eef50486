"""Checkpointing of runs: the steps in reverse order, with a limited number of stored states.

Binomial checkpointing (Griewank & Walther 2000, Algorithm 799: Revolve): with c stored states, including the
start of the run, no step is computed more than r times if there are at most C(c + r, c) steps. The total
number
of computed steps is minimal.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from stickslip.state import ModelError

Point = TypeVar("Point")
Found = TypeVar("Found")


@dataclass(slots=True)
class Backwards(Generic[Point, Found]):
    """Iterator over the steps of a run in reverse order."""

    start: Point
    """State at the start of the run."""
    steps: int
    """Number of steps."""
    kept: int
    """Largest number of stored states, including the start."""
    make: Callable[[int, Point], Point]
    """Function of the number of a step and the state before it, which returns the state after it."""
    visit: Callable[[int, Point], Found]
    """Function of the number of a step and the state before it, whose result is yielded."""
    made: int = 0
    """Number of steps made so far, except by `visit`."""
    most: int = 0
    """Largest number of states that were stored at once."""

    def __iter__(self) -> Iterator[tuple[int, Found]]:
        """Yield the number of each step, in reverse order, and the result of `visit`."""
        held, end = [(0, self.start)], self.steps
        while end > 0:
            at, point = held[-1]
            while end - at > 1 and len(held) < self.kept:
                forth = ahead(end - at, self.kept - len(held) + 1)
                at, point = at + forth, self._carried(at, at + forth, point)
                held.append((at, point))
            self.most = max(self.most, len(held))
            end -= 1
            visit = self.visit(end, self._carried(at, end, point))
            if at == end:
                held.pop()
            del point
            yield end, visit

    def _carried(self, at: int, to: int, point: Point) -> Point:
        """Make steps at, ..., to - 1, and return the state after them."""
        for k in range(at, to):
            point = self.make(k, point)
        self.made += to - at
        return point


def ahead(steps: int, kept: int) -> int:
    """Return after how many of `steps` > 1 steps to store the next state, with `kept` > 1 stored states in
    all.

    This is the smallest of the numbers that minimise the steps made.
    """
    repeats = repetitions(steps, kept)
    return max(1, _reach(kept, repeats - 2), steps - _reach(kept - 1, repeats))


def repetitions(steps: int, kept: int) -> int:
    """Largest number of times a step is made: the least r with C(kept + r, r) >= steps."""
    r = 0
    while _reach(kept, r) < steps:
        r += 1
    return r


def least_made(steps: int, kept: int) -> int:
    """Number of steps that `Backwards` makes, except by `visit`."""
    r = repetitions(steps, kept)
    return r * steps - _reach(kept + 1, r - 1)


def default_kept(steps: int) -> int:
    """Number of stored states with which no step is made more than twice, about √(2 steps)."""
    count = 1
    while _reach(count, 2) < steps:
        count += 1
    return count


def checked_kept(checkpoints: int | None, steps: int) -> int:
    """Return the number of states to store, for the argument `checkpoints` of a user."""
    if checkpoints is None:
        return default_kept(steps)
    if isinstance(checkpoints, bool) or not isinstance(checkpoints, int) or checkpoints < 1:
        raise ModelError(
            f"checkpoints is {checkpoints!r}; the number of states to keep must be a whole number from 1"
        )
    return checkpoints


def _reach(kept: int, repeats: int) -> int:
    """Number of steps that can be traversed: C(kept + repeats, kept)."""
    return math.comb(kept + repeats, kept) if repeats >= 0 else 0
