"""Adaptive steps of a run: pairs of steps, repeated until their error is within the tolerance.

The length of the next pair is stored with the scheme's memory, so that records and files contain it and a run
continues as if it had not been interrupted.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from stickslip.schemes.adaptive import Adaptive
from stickslip.schemes.step import Memory
from stickslip.simulation.clock import SAME, Clock
from stickslip.state import ModelError, State

PACE = "pace of adaptive steps"
"""Name of the memory entry with the length of the next step and the statistics."""

UNFIT = {
    "event-driven": "controls its own error by rtol and atol",
    **dict.fromkeys(
        ("schatzman-paoli", "variational", "variational-bodies"),
        "states its law on positions: whenever an impact was, one step and two end at the same gap, and their"
        " error does not show",
    ),
}
"""Schemes without adaptive steps, and the reasons."""


class Pace(NamedTuple):
    """Statistics of adaptive steps."""

    h: float
    """Length of the next step, unless the run ends before [s]."""
    rejected: int
    """Number of rejected pairs, whose error was too large."""
    coarse: int
    """Number of pairs of the shortest steps that were accepted with too large an error."""


class Pair(NamedTuple):
    """Two accepted steps; one if it failed."""

    steps: tuple[Any, ...]
    """The steps."""
    end: float
    """Time of their end [s]."""
    failed: Any
    """The first step that missed its tolerance with the shortest h; None without one."""


def begun(memory: Memory, clock: Clock) -> Memory:
    """Return the memory at the start of a run, with the entry of adaptive steps."""
    return memory if clock.adaptive is None else memory | _entry(Pace(clock.h, 0, 0))


def check_scheme(name: str, options: Mapping[str, Any]) -> None:
    """Raise ModelError for a scheme without adaptive steps, by name and options of `registry.described`."""
    for one in (name, *(x.get("scheme") for x in options.values() if isinstance(x, Mapping))):
        if one in UNFIT:
            raise ModelError(f"adaptive: the scheme {one} {UNFIT[one]}; give h or grid")


def checked(memory: Memory, clock: Clock) -> None:
    """Raise ModelError for a memory without a valid entry of adaptive steps."""
    if clock.adaptive is None:
        return
    pace = memory.get(PACE)
    if pace is None or pace.shape != (3,) or not clock.adaptive.h_min <= pace[0] <= clock.adaptive.h_max:
        raise ModelError("the memory of the start does not come from adaptive steps")


def read(memory: Memory) -> Pace | None:
    """Return the statistics of adaptive steps in a memory; None without any."""
    pace = memory.get(PACE)
    return None if pace is None else Pace(float(pace[0]), int(pace[1]), int(pace[2]))


class Steps(Protocol):
    """Protocol of steppers."""

    def step(self, state: State, memory: Memory, h: float) -> Any:
        """Return the step of length h that begins at `state`."""

    def depth(self, state: State) -> float:
        """Return the deepest overlap of contacts [m]."""


def pair(
    steps: Steps, state: State, memory: Memory, options: Adaptive, until: float, good: Callable[[Any], bool]
) -> Pair:
    """Return the next two steps, of equal length, at most to `until` [s]; good: whether a step is solved."""
    pace = read(memory)
    assert pace is not None
    depth = steps.depth(state)
    h, rejected, coarse = pace
    while True:
        # 1. Step length: the pairs before the end have equal lengths, so that no short one remains.
        rest = until - state.t
        last = 2.0 * h >= (1.0 - SAME) * rest
        tried = 0.5 * rest if last else 0.25 * rest if 4.0 * h > rest else h
        shortest = tried <= options.h_min
        # 2. Two steps, one step of twice the length, and their difference.
        fine: tuple[Any, ...] = ()
        error = np.inf
        try:
            fine = _two_steps(steps, state, memory, tried, good)
            if all(map(good, fine)):
                coarse_step, end = steps.step(state, memory, 2.0 * tried), fine[-1].state
                if good(coarse_step):
                    error = options.error(end.q, coarse_step.state.q, steps.depth(end) - depth)
        except ModelError:  # the step is too long, or the model has an error
            if shortest:
                raise
        # 3. Accept, or repeat with shorter steps.
        if error <= 1.0 or shortest:
            coarse += error > 1.0
            following = options.longer(tried, error) if error <= 1.0 else h
            if tried < h:  # shortened because of the end
                following = max(following, h)
            t = until if last and len(fine) == 2 else state.t + len(fine) * tried
            now, failed = _entry(Pace(following, rejected, coarse)), [step for step in fine if not good(step)]
            return Pair(
                tuple(replace(step, memory=step.memory | now) for step in fine), t, (*failed, None)[0]
            )
        rejected += 1
        h = options.shorter(tried, error)


def _two_steps(
    steps: Steps, state: State, memory: Memory, h: float, good: Callable[[Any], bool]
) -> tuple[Any, ...]:
    """Return two steps; one if it missed its tolerance."""
    first = steps.step(state, memory, h)
    return (first, steps.step(first.state, first.memory, h)) if good(first) else (first,)


def _entry(pace: Pace) -> Memory:
    """Return the memory entry of adaptive steps."""
    return {PACE: np.array(pace, float)}
