"""Result of a study: tables and figures, which the command line prints, writes and draws.

A study is a module with `NAME`, `SUMMARY` (one line) and `run(quick, progress) -> Study`, listed in
`stickslip.studies.STUDIES`. It neither prints nor draws. Further keyword arguments of `run` are options of
the study; the command line has an option for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from stickslip.exhibits import Figure, Table

Progress = Callable[[str, int, int], None]
"""Function called during long work with the current activity, the number of completed parts, and their
total."""


class Parts:
    """Reports progress by parts; it is called at the start of each part with its name."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total = progress, total
        self.done = 0
        """Number of parts that were started."""

    def __call__(self, what: str) -> None:
        """Report the start of a part."""
        if self._progress is not None:
            self._progress(what, min(self.done, self._total), self._total)
        self.done += 1

    def end(self) -> None:
        """Report the end of the work."""
        self.done = self._total
        self("done")


@dataclass(frozen=True, eq=False)
class Study:
    """Results of one run of a study."""

    name: str
    """Name of the study."""
    tables: Sequence[Table]
    """Tables in reading order."""
    figures: dict[str, Figure] = field(default_factory=dict)
    """Figures by name, the stem of their file."""
    data: dict[str, Any] = field(default_factory=dict)
    """Further results in JSON types: numbers, text, lists and mappings."""


class StudyInputError(ValueError):
    """The input of a study is invalid; the message is one sentence with the reason."""


class StudyModule(Protocol):
    """Interface of the modules in `stickslip.studies.STUDIES`."""

    NAME: str
    SUMMARY: str

    def run(self, quick: bool = False, progress: Progress | None = None, **given: Any) -> Study:
        """Run the study; `quick` runs a small part in seconds. given: options of this study."""
