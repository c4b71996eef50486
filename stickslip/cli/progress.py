"""Progress of long work: shown on stderr if it is a terminal, and removed when the work is done."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[int, float], None]
"""Called by a solver with the iterations done and the judge's error [-]."""

Parts = Callable[[str, int, int], None]
"""Called with the current activity, the number of parts done and the total number of parts."""

Time = Callable[..., None]
"""Called with the current time of a simulation, its end [s], and its `RunStatus` if available."""


OFTEN = 0.1
"""Shortest time between two updates of a bar [s]."""


@contextmanager
def watch(what: str, quiet: bool = False) -> Iterator[Progress | None]:
    """Show a status line with the activity `what`; yield a function that a solver calls with its progress.

    Yields None, and shows nothing, if `quiet` or if stderr is not a terminal.
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
    """Show a bar with the parts done and the time left; yield None under the conditions of `watch`."""
    columns = "MofNCompleteColumn", "TimeElapsedColumn", "TimeRemainingColumn"
    with _bar(what, *columns, quiet=quiet) as update:
        yield update


@contextmanager
def watch_time(what: str) -> Iterator[Time | None]:
    """Show a bar with the time of a simulation; yield None under the conditions of `watch`."""
    shown = -float("inf")
    began: tuple[float, float] | None = None
    with _bar(what, "TimeElapsedColumn", "TimeRemainingColumn") as update:

        def report(t: float, until: float, status: Any = None) -> None:
            # Steps may take microseconds; the bar is updated ten times a second.
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
    """Show a bar followed by these columns of rich; yield a function of activity, parts done and total."""
    console = None if quiet else terminal()
    if console is None:
        yield None
        return
    from rich import progress

    left = progress.TextColumn("{task.description}", markup=False), progress.BarColumn()
    right = (getattr(progress, name)() for name in columns)
    with progress.Progress(*left, *right, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda now, done, total: bar.update(
            task, description=f"{what}: {now}" if now else what, completed=done, total=total
        )


def terminal() -> Any:
    """Return a console on stderr, or None if stderr is not a terminal that rich can draw on."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    from rich.console import Console

    console = Console(stderr=True)
    return None if console.is_dumb_terminal else console
