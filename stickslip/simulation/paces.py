"""Adaptive steps of a run: pairs of steps, tried until their error is allowed.

What the next pair begins with is kept beside the scheme's memory, so that records and files have it and a run
goes on as if it had not been interrupted.
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
"""Name in a memory of what the next pair begins with."""

UNFIT = {
    "event-driven": "controls its own error by rtol and atol",
    **dict.fromkeys(
        ("schatzman-paoli", "variational", "variational-bodies"),
        "states its law on positions: whenever an impact was, one step and two end at the same gap, and their"
        " error does not show",
    ),
}
"""Schemes whose steps are not compared, and why."""


class Pace(NamedTuple):
    """Statistics of adaptive steps."""

    h: float
    """Length of the next step, unless the end comes first [s]."""
    rejected: int
    """Pairs of steps that were tried and not kept, their error being too large."""
    coarse: int
    """Pairs of the shortest steps, kept although their error is too large."""


class Pair(NamedTuple):
    """Two steps that are kept, one after the other; one where that failed."""

    steps: tuple[Any, ...]
    end: float
    """When they end [s]."""
    failed: Any
    """The first step that missed its tolerance with the shortest h; None where none did."""


def begun(memory: Memory, clock: Clock) -> Memory:
    """A scheme's memory at the start of a run, with what adaptive steps begin with."""
    return memory if clock.adaptive is None else memory | _kept(Pace(clock.h, 0, 0))


def check_scheme(name: str, options: Mapping[str, Any]) -> None:
    """Refuse a scheme whose steps are not compared, by name and options as `registry.described` has them."""
    for one in (name, *(x.get("scheme") for x in options.values() if isinstance(x, Mapping))):
        if one in UNFIT:
            raise ModelError(f"adaptive: the scheme {one} {UNFIT[one]}; give h or grid")


def checked(memory: Memory, clock: Clock) -> None:
    """Refuse a memory without what adaptive steps need."""
    if clock.adaptive is None:
        return
    found = memory.get(PACE)
    if found is None or found.shape != (3,) or not clock.adaptive.h_min <= found[0] <= clock.adaptive.h_max:
        raise ModelError("the memory of the start does not come from adaptive steps")


def read(memory: Memory) -> Pace | None:
    """How adaptive steps went so far; None where there are none."""
    found = memory.get(PACE)
    return None if found is None else Pace(float(found[0]), int(found[1]), int(found[2]))


class Steps(Protocol):
    """What makes steps."""

    def step(self, state: State, memory: Memory, h: float) -> Any:
        """The step of length h that begins at `state`."""

    def depth(self, state: State) -> float:
        """Deepest overlap of what must not overlap [m]."""


def pair(
    steps: Steps, state: State, memory: Memory, options: Adaptive, until: float, good: Callable[[Any], bool]
) -> Pair:
    """The next two steps, of one length, that do not go beyond `until` [s]; good: whether one is solved."""
    pace = read(memory)
    assert pace is not None
    depth = steps.depth(state)
    h, rejected, coarse = pace
    while True:
        left = until - state.t
        last = 2.0 * h >= (1.0 - SAME) * left
        # No sliver is left before the end.
        tried = 0.5 * left if last else 0.25 * left if 4.0 * h > left else h
        shortest = tried <= options.h_min
        made: tuple[Any, ...] = ()
        error = np.inf
        try:
            made = _made(steps, state, memory, tried, good)
            if all(map(good, made)):
                whole, end = steps.step(state, memory, 2.0 * tried), made[-1].state
                if good(whole):
                    error = options.error(end.q, whole.state.q, steps.depth(end) - depth)
        except ModelError:  # of a step that is too long, or of the model itself
            if shortest:
                raise
        if error <= 1.0 or shortest:
            coarse += error > 1.0
            following = options.longer(tried, error) if error <= 1.0 else h
            if tried < h:  # shortened by the end, and not by its error
                following = max(following, h)
            t = until if last and len(made) == 2 else state.t + len(made) * tried
            now, failed = _kept(Pace(following, rejected, coarse)), [one for one in made if not good(one)]
            return Pair(tuple(replace(one, memory=one.memory | now) for one in made), t, (*failed, None)[0])
        rejected += 1
        h = options.shorter(tried, error)


def _made(
    steps: Steps, state: State, memory: Memory, h: float, good: Callable[[Any], bool]
) -> tuple[Any, ...]:
    """Two steps; one where that missed its tolerance."""
    first = steps.step(state, memory, h)
    return (first, steps.step(first.state, first.memory, h)) if good(first) else (first,)


def _kept(pace: Pace) -> Memory:
    return {PACE: np.array(pace, float)}
