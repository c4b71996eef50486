"""Signs of life during long work: on stderr, only on a terminal, gone when the work is done."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[int, float], None]
"""Called by a solver with the iterations done and the judge's error [-]."""

Parts = Callable[[str, int, int], None]
"""Called with what is going on, how many parts of the work are done and how many there are."""

Time = Callable[..., None]
"""Called with the time that a simulation has reached, its end [s], and its `RunStatus` where it is known."""


OFTEN = 0.1
"""Least time between two moves of a bar [s]."""


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
def watch_parts(what: str, quiet: bool = False) -> Iterator[Parts | None]:
    """Show how far work of many parts is, and the time left; None where `watch` gives it."""
    columns = "MofNCompleteColumn", "TimeElapsedColumn", "TimeRemainingColumn"
    with _bar(what, *columns, quiet=quiet) as update:
        yield update


@contextmanager
def watch_time(what: str) -> Iterator[Time | None]:
    """Show how far a simulation is; None where `watch` gives it."""
    shown = -float("inf")
    began: tuple[float, float] | None = None
    with _bar(what, "TimeElapsedColumn", "TimeRemainingColumn") as update:

        def report(t: float, until: float, status: Any = None) -> None:
            # Steps may take microseconds; a bar moves ten times a second.
            nonlocal shown, began
            now = time.monotonic()
            began = (now, t) if began is None else began
            if now - shown >= OFTEN or t >= until:
                shown = now
                assert update is not None
                fast = (t - began[1]) / (now - began[0]) if now > began[0] else 0.0
                parts = [f"t = {t:.4g} s", f"{fast:.3g} x real time"] if fast else [f"t = {t:.4g} s"]
                if status is not None:
                    parts += [f"{status.contacts} contacts"] if status.contacts >= 0 else []
                    parts.append(f"residual {status.residual:.1e}")
                update(", ".join(parts), t, until)

        yield update and report


@contextmanager
def _bar(
    what: str, *columns: str, quiet: bool = False
) -> Iterator[Callable[[str, float, float], None] | None]:
    """A bar with these columns of rich behind it; told where the work is, what is done and the total."""
    console = None if quiet else terminal()
    if console is None:
        yield None
        return
    from rich import progress

    first = progress.TextColumn("{task.description}", markup=False), progress.BarColumn()
    more = (getattr(progress, name)() for name in columns)
    with progress.Progress(*first, *more, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda now, done, total: bar.update(
            task, description=f"{what}: {now}" if now else what, completed=done, total=total
        )


def terminal() -> Any:
    """A console on stderr, or None where that is no terminal that can be drawn on."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    from rich.console import Console

    console = Console(stderr=True)
    return None if console.is_dumb_terminal else console
