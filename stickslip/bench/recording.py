"""The contact problems that a scene meets while it runs, as records that say where they come from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stickslip.files import ProblemRecord

Progress = Callable[[float, float], None]
"""Called with the time that a scene has reached, and its end [s]."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """One problem of a scene."""

    record: ProblemRecord
    """The problem, what is said about it, the answer found and the guess it was found from."""
    step: int
    """Number of the step, from 1; 0 where the scene is one problem."""
    time: float
    """When the step begins [s]."""
    name: str
    """Of a file, without ending: `stack-bodies10-000120`."""


def problems_of(
    scenario_name: str,
    parameters: dict[str, Any],
    *,
    every: int,
    start: float = 0.0,
    until: float | None = None,
    h: float | None = None,
    most: int | None = None,
    solver: str = "auto",
    progress: Progress | None = None,
) -> Iterator[Recorded]:
    """The problems of every so many steps that have contacts, from time `start` [s] on, at most `most`.

    A scene that fails on the way gives what it met before, and then its exception.
    """
    raise NotImplementedError


def record(
    scenario_name: str,
    parameters: dict[str, Any],
    out: Path,
    *,
    every: int,
    start: float = 0.0,
    until: float | None = None,
    h: float | None = None,
    most: int | None = None,
    solver: str = "auto",
    progress: Progress | None = None,
    told: Callable[[Path, Recorded], None] | None = None,
) -> list[Path]:
    """Write the problems of `problems_of` into the folder `out`, each as soon as it is met; the files.

    `told` is called after each with the file and what is in it.
    """
    raise NotImplementedError
