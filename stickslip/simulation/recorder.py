"""Recorder of a run: stores its steps as rows of records.

Single steps are held as the data that their stepper returned, and converted to rows by the hundred, which is
several times faster than one by one. Steps of compiled calls are rows already. The conversion of hundreds of
steps takes as long as twenty fast steps; `tidy` does it in parts, so that no single step waits for all of it.
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
"""Number of steps that are held before they are converted to rows."""
COPIED = 2**16
"""Approximate amount of data that one part of `Recorder.tidy` copies [bytes]; it takes as long as a fast
step."""


Lane = Callable[[State, int, int, float], State | None]
"""Fast path: function (state, index of the clock, steps between records, time [s] of the end) that adds one
step to the last compiled ones and returns the state at its end. It returns None if the step has to be made
otherwise. Signals interrupt before or after a step."""


class Marched(NamedTuple):
    """Steps of one compiled call, all of them certified."""

    kept: Any
    """Data for their rows; None if they are part of the data that were returned last."""
    steps: int
    """Number of steps."""
    state: State
    """State at the end of the last step."""
    memory: Callable[[int], Memory]
    """Function that returns the scheme's memory after step k, which must be recorded or the last."""
    residual: float
    """Largest unit-free natural residual of the last step [-]."""
    worst: float
    """Largest unit-free natural residual of all steps [-]."""
    error: BaseException | None = None
    """Exception to be raised after these steps are recorded."""


def recorded(index: int, steps: int, every: int, end: int) -> list[int]:
    """Return which of `steps` steps after an index of the clock are recorded: those that end at a multiple of
    `every`, or at `end`."""
    if steps == 1:
        return [0] if (index + 1) % every == 0 or index + 1 == end else []
    ends = list(range(every - index % every - 1, steps, every))
    last = end - index - 1
    if 0 <= last < steps and (not ends or ends[-1] != last):
        ends.append(last)
    return ends


class Rower(Protocol):
    """Protocol of steppers: conversion of steps to rows."""

    def rows(self, kept: Sequence[Any]) -> Rows:
        """Return one row per step, from data that `keep` or `march` returned, all of one kind. Tables have
        entries of recorded steps only."""


class Recorder:
    """Records of a run in progress."""

    def __init__(self, rower: Rower, start: Rows, memory: Memory, index: int, reduction: Reduction):
        self.store = MemoryStore(start)
        """The records; with a file, the last record in the file and those that are not in it yet."""
        self.steps = self.missed = 0
        self.relaxation = ""
        """Law that replaced the exact one in the first such step; empty without any."""
        self.events: list[Event] = []
        self.index = index
        """Index of the clock at the last record."""
        self._recall: Callable[[], Memory] = lambda: memory
        self._rower, self._reduction = rower, reduction
        self._held: list[Any] = []
        self._ends: list[int] = []
        self._count = 0
        """Number of steps that are held."""
        self._work: Iterator[None] | None = None
        """Conversion of held steps to rows in progress; None without one."""

    @property
    def totals(self) -> dict[str, float]:
        """Sums over all steps so far, by column [any]."""
        self.flush()
        return dict(self._reduction.totals)

    @property
    def memory(self) -> Memory:
        """The scheme's memory at the last record."""
        return self._recall()

    @property
    def work_since(self) -> float:
        """Work of the contacts of systems since the last record [J]."""
        return self._reduction.carried("work_done")

    def add(self, step: Step, kept: Any, memory: Memory, index: int, closes: bool) -> None:
        """Add a step with the data of its stepper; index: that of the clock at its end; closes: whether it is
        recorded."""
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
        """Add the steps of a compiled call; index: that of the clock before the first; ends: numbers of the
        recorded steps."""
        self.steps += march.steps
        if ends:
            self._ends.extend([end + self._count for end in ends])
            self._recall, self.index = partial(march.memory, ends[-1]), index + ends[-1] + 1
        self._hold(march.kept, march.steps)

    def _hold(self, kept: Any, steps: int) -> None:
        """Hold data of steps for their conversion to rows."""
        if kept is not None:
            self._held.append(kept)
        self._count += steps

    @property
    def is_due(self) -> bool:
        """Whether HELD steps wait for their conversion to rows, or a conversion is in progress."""
        return self._count >= HELD or self._work is not None

    def flush(self) -> None:
        """Convert all held steps to rows."""
        while self._held or self._work is not None:
            self.tidy()

    def tidy(self) -> None:
        """Do one part of the conversion of held steps to rows."""
        if self._work is None:
            self._work = self._turned()
        if next(self._work, self) is self:
            self._work = None

    def _turned(self) -> Iterator[None]:
        """Convert the held steps to rows; a generator of the parts of this work."""
        held, ends, first = self._held, np.array(self._ends, np.int64), 0
        self._held, self._ends, self._count = [], [], 0
        for _, group in groupby(held, type):
            rows = self._rower.rows(list(group))
            yield
            of_rows = ends[(ends >= first) & (ends < first + len(rows))] - first
            first += len(rows)
            records = yield from self._reduction.parts(rows, of_rows)
            while len(of_rows) and not records.own(COPIED):
                yield
            if len(of_rows):
                self.store.append(records)
            yield

    def forget(self) -> None:
        """Discard all records but the last, because they are in a file."""
        n = len(self.store)
        last = self.store.rows(n - 1, n)
        self.store = MemoryStore(Rows({name: np.array(x) for name, x in last.columns.items()}, last.tables))
        self.events = []
