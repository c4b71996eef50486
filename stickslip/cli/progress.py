"""Signs of life during long work: on stderr, only on a terminal, gone when the work is done."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, float], None]
"""Called by a solver with the iterations done and the judge's error [-]."""


@contextmanager
def watch(what: str, quiet: bool = False) -> Iterator[Progress | None]:
    """Show that `what` is going on, and what a solver reports of it.

    Gives None, and shows nothing, when `quiet` or when stderr is not a terminal.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    if console.is_dumb_terminal:
        yield None
        return
    with console.status(Text(what)) as status:
        yield lambda iterations, error: status.update(
            Text(f"{what}: {iterations} iterations, error {error:.1e}")
        )
