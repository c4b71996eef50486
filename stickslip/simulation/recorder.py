"""Keeps the steps of a run while it goes on, as rows of records.

Steps made one by one are held as their stepper kept them, and become rows by the hundred, which is several
times faster than one by one. Steps made together come as rows. To make rows of hundreds of steps takes as
long as twenty fast steps; `tidy` does it in parts, so that no single step waits for all of it.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np

from stickslip.problem.solution import Verdict
from stickslip.schemes.step import Event, Memory, Step
from stickslip.simulation.rows import Reduction, Rows
from stickslip.simulation.store import MemoryStore
from stickslip.state import State

HELD = 256
"""So many steps are held before they become rows."""
COPIED = 2**16
"""Bytes that one part of `Recorder.tidy` copies, about: it takes as long as a fast step."""


Lane = Callable[[State, int, int, float], State | None]
"""Makes one more step after those made together last: from a state to a time [s], given the clock's index
before it and every how many steps are recorded. It gives the state there, and keeps the step where the others
are; None where the step is to be made otherwise. What signals raise comes before a step or after it."""


class Marched(NamedTuple):
    """Steps that one compiled call made, all of them certified."""

    kept: Any
    """What rows need of them; None where what was kept last has them, too."""
    steps: int
    """How many."""
    state: State
    """At the end of the last."""
    memory: Callable[[int], Memory]
    """Gives the scheme's after step k of them, which is recorded or the last."""
    residual: float
    """Largest unit-free natural residual of the last [-]."""
    worst: float
    """Largest of all [-]."""
    error: BaseException | None = None
    """What is to be raised once these steps are kept."""


def recorded(index: int, steps: int, every: int, end: int) -> list[int]:
    """Which of so many steps after an index of the clock are recorded: those that end at a multiple of
    `every`, or at `end`."""
    if steps == 1:
        return [0] if (index + 1) % every == 0 or index + 1 == end else []
    ends = list(range(every - index % every - 1, steps, every))
    last = end - index - 1
    if 0 <= last < steps and (not ends or ends[-1] != last):
        ends.append(last)
    return ends


class Rower(Protocol):
    """What turns kept steps into rows."""

    def rows(self, kept: Sequence[Any]) -> Rows:
        """One row per step, of what `keep` or `march` gave, all of one kind. Tables have entries of the
        recorded steps alone."""


class Recorder:
    """The records of a run while it is being made."""

    def __init__(self, rower: Rower, start: Rows, memory: Memory, index: int, reduction: Reduction):
        self.store = MemoryStore(start)
        """The records; with a file those that are not in it yet, after the last that is."""
        self.steps = self.missed = 0
        self.relaxation = ""
        """What stood in the place of the exact law in the first step that had it replaced."""
        self.events: list[Event] = []
        self.index = index
        """The clock's at the last record."""
        self._recall: Callable[[], Memory] = lambda: memory
        self._rower, self._reduction = rower, reduction
        self._held: list[Any] = []
        self._ends: list[int] = []
        self._count = 0
        """Steps that are held."""
        self._work: Iterator[None] | None = None
        """Turns steps that were held into rows, part by part; None if nothing is under way."""

    @property
    def totals(self) -> dict[str, float]:
        """Sums over all steps so far, by column [any]."""
        self.flush()
        return dict(self._reduction.totals)

    @property
    def memory(self) -> Memory:
        """The scheme's at the last record."""
        return self._recall()

    @property
    def work_since(self) -> float:
        """Of the contacts of systems since the last record [J]."""
        return self._reduction.carried("work_done")

    def add(self, step: Step, kept: Any, memory: Memory, index: int, closes: bool) -> None:
        """Take in a step as its stepper kept it, the clock's index at its end, and whether it is recorded."""
        self.steps += 1
        if not step.ok:
            self.missed += step.verdict is Verdict.MISSED
            self.relaxation = self.relaxation or step.replaced
        self.events.extend(step.events)
        if closes:
            self._ends.append(self._count)
            self._recall, self.index = lambda: memory, index
        self._hold(kept, 1)

    def extend(self, march: Marched, index: int, ends: Sequence[int]) -> None:
        """Take in steps made together; index: the clock's before the first; ends: which are recorded."""
        self.steps += march.steps
        if ends:
            self._ends.extend([end + self._count for end in ends])
            self._recall, self.index = partial(march.memory, ends[-1]), index + ends[-1] + 1
        self._hold(march.kept, march.steps)

    def _hold(self, kept: Any, steps: int) -> None:
        if kept is not None:
            self._held.append(kept)
        self._count += steps

    @property
    def is_due(self) -> bool:
        """Whether HELD steps wait to become rows, or some are becoming rows."""
        return self._count >= HELD or self._work is not None

    def flush(self) -> None:
        """Turn the steps that are held into rows."""
        while self._held or self._work is not None:
            self.tidy()

    def tidy(self) -> None:
        """Do one part of what turns the steps that are held into rows."""
        if self._work is None:
            self._work = self._turned()
        if next(self._work, self) is self:
            self._work = None

    def _turned(self) -> Iterator[None]:
        """Turn the steps that are held into rows."""
        held, ends, first = self._held, np.array(self._ends, np.int64), 0
        self._held, self._ends, self._count = [], [], 0
        for _, group in groupby(held, type):
            rows = self._rower.rows(list(group))
            yield
            own = ends[(ends >= first) & (ends < first + len(rows))] - first
            first += len(rows)
            found = yield from self._reduction.parts(rows, own)
            while len(own) and not found.own(COPIED):
                yield
            if len(own):
                self.store.append(found)
            yield

    def forget(self) -> None:
        """Let go of all records but the last: they are in a file."""
        n = len(self.store)
        last = self.store.rows(n - 1, n)
        self.store = MemoryStore(Rows({name: np.array(x) for name, x in last.columns.items()}, last.tables))
        self.events = []
