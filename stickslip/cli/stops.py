"""Ctrl+C and SIGTERM: the first one asks a command to stop, the second one ends the process."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from stickslip.cli.errors import ExitCode


class Terminated(KeyboardInterrupt):
    """SIGTERM asks the process to stop, as Ctrl+C does."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Within it both signals raise: KeyboardInterrupt, or Terminated. After the first one they act as the
    system has it, so that a second one ends the process even within compiled code.

    A signal that is ignored, or has a handler of its own, is left as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    taken = {number: handler for number, handler in usual.items() if signal.getsignal(number) == handler}

    def stop(number: int, frame: FrameType | None) -> None:
        for each in taken:
            signal.signal(each, signal.SIG_DFL)
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    try:
        for number in taken:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


def stop_code(stop: KeyboardInterrupt) -> ExitCode:
    """What the process returns after that signal."""
    return ExitCode.TERMINATED if isinstance(stop, Terminated) else ExitCode.INTERRUPTED


def stop_word(stop: KeyboardInterrupt) -> str:
    """What is said of work that the signal ended."""
    return "terminated" if isinstance(stop, Terminated) else "interrupted"
