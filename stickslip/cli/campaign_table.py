"""Tables of a campaign: how far it is, while it runs, and what it found, at its end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any

from stickslip.cli import progress
from stickslip.cli.errors import printable
from stickslip.cli.tables import duration

if TYPE_CHECKING:
    from stickslip.bench.jobs import Job
    from stickslip.bench.records import RunRecord
    from stickslip.bench.results import Results

GROUPS = {
    "solved": ("SOLVED",),
    "missed": ("MISSED",),
    "timeout": ("TIMEOUT",),
    "crashed": ("MEMORY", "CRASHED", "RAISED"),
    "refused": ("REFUSED",),
}
"""Columns, and the outcomes that are counted in each."""
SHOWN = 4
"""Jobs under way that are shown one by one."""


def outcomes(runs: Sequence[RunRecord]) -> dict[str, int]:
    """How many of the runs ended how, by the names of `GROUPS`."""
    count = Counter(run.outcome.name for run in runs)
    return {name: sum(count[outcome] for outcome in group) for name, group in GROUPS.items()}


def standings(results: Results) -> list[dict[str, Any]]:
    """Per solver and tolerance: what became of its runs, on how many it was fastest, and its time [s]."""
    lines: dict[tuple[str, float], list[RunRecord]] = {}
    best: dict[tuple[str, float], float] = {}
    for run in results.runs:
        lines.setdefault((run.solver, run.tolerance), []).append(run)
        if run.solved:
            place = run.problem, run.tolerance
            best[place] = min(best.get(place, run.seconds), run.seconds)
    return [
        {"solver": solver, "tolerance": tolerance, "runs": len(runs), **outcomes(runs)}
        | {
            "fastest": sum(run.solved and run.seconds == best[run.problem, tolerance] for run in runs),
            "seconds": sum(run.seconds for run in runs if run.seconds == run.seconds),
        }
        for (solver, tolerance), runs in sorted(lines.items(), key=lambda line: (line[0][0], -line[0][1]))
    ]


@contextmanager
def campaign_table(quiet: bool = False) -> Iterator[CampaignTable | None]:
    """The live table of a campaign on stderr; None when `quiet`, or where that is no terminal."""
    console = None if quiet else progress.terminal()
    if console is None:
        yield None
        return
    from rich.live import Live

    table = CampaignTable()
    with Live(console=console, get_renderable=table.drawn, refresh_per_second=4, transient=True):
        yield table


class CampaignTable:
    """Hears how a campaign goes on, and draws it."""

    def __init__(self) -> None:
        self._runs: dict[str, list[RunRecord]] = {}
        self._names: dict[str, str] = {}
        self._under_way: dict[str, tuple[Job, float]] = {}
        self._done = self._planned = 0
        self._start = time.monotonic()

    def planned(self, jobs: Sequence[Job], results: Results) -> None:
        """What is to be done, and what was done before."""
        self._names = {entry.hash: entry.name for entry in results.problems}
        self._runs = {job.contestant.label: [] for job in jobs}
        for run in results.runs:
            self._runs.setdefault(run.solver, []).append(run)
        self._planned, self._start = len(jobs), time.monotonic()

    def started(self, worker: str, job: Job) -> None:
        """A job begins."""
        self._under_way[worker] = job, time.monotonic()

    def ended(self, record: RunRecord) -> None:
        """A run is in the journal."""
        self._runs.setdefault(record.solver, []).append(record)
        self._done += 1
        for worker, (job, _) in list(self._under_way.items()):
            if (job.problem, job.contestant.label, job.tolerance) == record.key[:2] + record.key[3:]:
                del self._under_way[worker]

    def drawn(self) -> Any:
        """The table as rich draws it."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        shown.add_column("solver", no_wrap=True)
        for name in ("done", *GROUPS, "median time"):
            shown.add_column(name, justify="right", no_wrap=True)
        for solver, runs in list(self._runs.items()):
            times = [run.seconds for run in list(runs) if run.solved]
            counts = (len(runs), *outcomes(runs).values())
            middle = duration(median(times)) if times else ""
            shown.add_row(Text(printable(solver)), *(str(n) if n else "" for n in counts), middle)
        return Group(shown, *(Text(line, no_wrap=True, overflow="ellipsis") for line in self._lines()))

    def _lines(self) -> Iterator[str]:
        """What runs now, and how far everything is."""
        from stickslip.exhibits import power

        now = time.monotonic()
        under_way = list(self._under_way.values())
        for job, since in under_way[:SHOWN]:
            name = self._names.get(job.problem, job.problem[:12])
            label = printable(f"{job.contestant.label} on {name} at {power(job.tolerance)}")
            yield f"now: {label}, {clock(now - since)}"
        if len(under_way) > SHOWN:
            yield f"     and {len(under_way) - SHOWN} more"
        passed = now - self._start
        line = f"{self._done} of {self._planned} runs, {clock(passed)} passed"
        if self._done:
            line += f", about {clock(passed * (self._planned - self._done) / self._done)} left"
        yield line


def clock(seconds: float) -> str:
    """A time for people who wait: `12 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
