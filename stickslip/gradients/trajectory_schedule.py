"""Which states of a run to keep while its steps are gone through backwards: as few as asked, and made again.

Binomial checkpointing (Griewank & Walther 2000, Algorithm 799: Revolve): with c states kept, the run's start
among them, no step is made more than r times as long as there are at most C(c + r, c) of them; the number of
steps made is the least possible.
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
    """The steps 0, 1, ..., of a run, the last first, from its start and how a step is made."""

    start: Point
    steps: int
    """How many there are."""
    kept: int
    """Most states that are kept at once, the start among them."""
    make: Callable[[int, Point], Point]
    """The state after a step, from its number and the state before it."""
    visit: Callable[[int, Point], Found]
    """What is wanted of a step, from its number and the state before it."""
    made: int = 0
    """Steps made so far, without those that `visit` makes."""
    most: int = 0
    """Most states that were kept at once."""

    def __iter__(self) -> Iterator[tuple[int, Found]]:
        """Numbers of the steps, the last first, and what is wanted of each."""
        held, end = [(0, self.start)], self.steps
        while end > 0:
            at, point = held[-1]
            while end - at > 1 and len(held) < self.kept:
                forth = ahead(end - at, self.kept - len(held) + 1)
                at, point = at + forth, self._carried(at, at + forth, point)
                held.append((at, point))
            self.most = max(self.most, len(held))
            end -= 1
            found = self.visit(end, self._carried(at, end, point))
            if at == end:
                held.pop()
            del point
            yield end, found

    def _carried(self, at: int, to: int, point: Point) -> Point:
        for k in range(at, to):
            point = self.make(k, point)
        self.made += to - at
        return point


def ahead(steps: int, kept: int) -> int:
    """After how many of `steps` > 1 steps to keep the next state, when `kept` > 1 may be, the first included.

    The least of the best numbers: by either neighbour the steps made again would be as many or more.
    """
    repeats = repetitions(steps, kept)
    return max(1, _reach(kept, repeats - 2), steps - _reach(kept - 1, repeats))


def repetitions(steps: int, kept: int) -> int:
    """How often steps are made at most with so many states kept: the least r with C(kept + r, r) >= steps."""
    r = 0
    while _reach(kept, r) < steps:
        r += 1
    return r


def least_made(steps: int, kept: int) -> int:
    """Steps made by `Backwards`, without those that `visit` makes."""
    r = repetitions(steps, kept)
    return r * steps - _reach(kept + 1, r - 1)


def default_kept(steps: int) -> int:
    """States to keep such that no step is made more than twice, about √(2 steps)."""
    kept = 1
    while _reach(kept, 2) < steps:
        kept += 1
    return kept


def checked_kept(checkpoints: int | None, steps: int) -> int:
    """How many states to keep, from what a user asks for."""
    if checkpoints is None:
        return default_kept(steps)
    if isinstance(checkpoints, bool) or not isinstance(checkpoints, int) or checkpoints < 1:
        raise ModelError(
            f"checkpoints is {checkpoints!r}; the number of states to keep must be a whole number from 1"
        )
    return checkpoints


def _reach(kept: int, repeats: int) -> int:
    """Steps that can be gone through backwards: C(kept + repeats, kept)."""
    return math.comb(kept + repeats, kept) if repeats >= 0 else 0
