"""What a study gives: tables and figures, for the command line to print, write and draw.

A study is a module with `NAME`, `SUMMARY` (one line) and `run(quick, progress) -> Study`, listed in
`stickslip.studies.STUDIES`. It prints nothing and draws nothing. What else a study can be asked for are
further arguments of its `run`, by keyword; the command line has an option for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from stickslip.exhibits import Figure, Table

Progress = Callable[[str, int, int], None]
"""Called during long work with what is going on, how many parts are done and how many there are."""


class Parts:
    """Tells progress part by part: called before each with what it is."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total = progress, total
        self.done = 0
        """Parts that have begun."""

    def __call__(self, what: str) -> None:
        """A part begins."""
        if self._progress is not None:
            self._progress(what, min(self.done, self._total), self._total)
        self.done += 1

    def end(self) -> None:
        """All is done."""
        self.done = self._total
        self("done")


@dataclass(frozen=True, eq=False)
class Study:
    """What one run of a study found."""

    name: str
    """Name of the study."""
    tables: Sequence[Table]
    """In the order in which they are read."""
    figures: dict[str, Figure] = field(default_factory=dict)
    """By name, which is the stem of the file they are drawn into."""
    data: dict[str, Any] = field(default_factory=dict)
    """Further results as JSON holds them: numbers, text, lists and mappings."""


class StudyInputError(ValueError):
    """What a study was given cannot be used; the message is one sentence that says why."""


class StudyModule(Protocol):
    """What a module in `stickslip.studies.STUDIES` offers."""

    NAME: str
    SUMMARY: str

    def run(self, quick: bool = False, progress: Progress | None = None, **given: Any) -> Study:
        """Run the study; `quick` is a small part of it, in seconds. given: what this study takes."""
