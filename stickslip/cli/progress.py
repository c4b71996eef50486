"""Signs of life during long work: on stderr, only on a terminal, gone when the work is done."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[int, float], None]
"""Called by a solver with the iterations done and the judge's error [-]."""

Parts = Callable[[str, int, int], None]
"""Called with what is going on, how many parts of the work are done and how many there are."""

Time = Callable[[float, float], None]
"""Called with the time that a simulation has reached, and its end [s]."""


@contextmanager
def watch(what: str, quiet: bool = False) -> Iterator[Progress | None]:
    """Show that `what` is going on, and what a solver reports of it.

    Gives None, and shows nothing, when `quiet` or when stderr is not a terminal.
    """
    console = None if quiet else terminal()
    if console is None:
        yield None
        return
    from rich.text import Text

    with console.status(Text(what)) as status:
        yield lambda iterations, error: status.update(
            Text(f"{what}: {iterations} iterations, error {error:.1e}")
        )


@contextmanager
def watch_parts(what: str) -> Iterator[Parts | None]:
    """Show how far work of many parts is; None where `watch` gives it."""
    console = terminal()
    if console is None:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()
    with Bar(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def report(part: str, done: int, total: int) -> None:
            bar.update(task, description=f"{what}: {part}", completed=done, total=total)

        yield report


@contextmanager
def watch_time(what: str) -> Iterator[Time | None]:
    """Show how far a simulation is; None where `watch` gives it."""
    console = terminal()
    if console is None:
        yield None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        shown = [-float("inf")]

        def report(t: float, until: float) -> None:
            # A bar moves by a five-hundredth at least: steps may take microseconds.
            if t - shown[0] >= abs(until) / 500.0 or t >= until:
                shown[0] = t
                bar.update(task, description=f"{what}: t = {t:.4g} s", completed=t, total=until)

        yield report


def terminal() -> Any:
    """A console on stderr, or None where that is no terminal that can be drawn on."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    from rich.console import Console

    console = Console(stderr=True)
    return None if console.is_dumb_terminal else console
