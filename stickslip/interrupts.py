"""Signals during long work: none is lost, and none cuts work where that would do harm.

Python runs the handler of a signal between any two bytecodes of the main thread, and what it raises (the
KeyboardInterrupt of Ctrl+C) goes up from there. Two places cannot bear that. Compiled code that calls Python
functions back loses the exception: ctypes prints it and returns. Bookkeeping that is cut short is wrong. And
an exception that does go up may be caught on its way, or be turned into another one by compiled code.

Within `Interrupts` every handler still runs at once, but what it raises is noted. It goes up at once from
work that may be cut anywhere (`run`), and from the next `check` otherwise. It tells compiled code to stop.

Every solve is within one, so it must cost little: handlers are read and set by the functions behind those of
`signal`, which turn numbers into enums, at ten times the cost.
"""

import ctypes
import signal
import threading
from _signal import getsignal as handler_of  # type: ignore[import-not-found]
from _signal import signal as set_handler
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

import numpy as np

Result = TypeVar("Result")

NAMES = (
    "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU",
    "SIGUSR1", "SIGUSR2",
)  # fmt: skip
"""Signals that ask for an end, tell the time, or are the user's own: those whose handlers may raise."""
KNOWN = tuple(int(getattr(signal, name)) for name in NAMES if hasattr(signal, name))
"""Numbers of those that this system has."""
CHECK_SIGNALS = ctypes.cast(ctypes.pythonapi.PyErr_CheckSignals, ctypes.c_void_p).value or 0
"""Address of the function of CPython that runs handlers of signals that have arrived, in the main thread."""


class Interrupts:
    """Holds back what handlers of signals raise, while a `with` lasts.

    It changes only handlers written in Python, in the main thread, where they run: a signal that is ignored
    stays ignored, and a handler that raises nothing ends nothing.
    """

    __slots__ = ("_handlers", "_stop", "error", "hears", "open")

    def __init__(self, hears: bool = True) -> None:
        """hears: whether compiled code asks for signals; it must not where it works without the lock."""
        self.hears = hears
        self.error: BaseException | None = None
        """What ends the work: the first exception noted."""
        self.open = False
        """Whether what a handler raises may go up at once."""
        self._stop: np.ndarray | None = None
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def __enter__(self) -> Self:
        try:
            for number in KNOWN:
                handler = handler_of(number)
                if callable(handler):
                    self._handlers[number] = handler
                    set_handler(number, self._arrived)
        except BaseException as error:  # raised by a handler that is not held back yet
            self.release()
            other = threading.current_thread() is not threading.main_thread()
            if not (other and isinstance(error, ValueError)):  # no handler can be set, and none runs, there
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        if error is None and self.error is None:
            return
        found = interrupt_behind(error) if self.error is None else self.error
        if found is not None and found is not error:
            raise found from None

    def release(self) -> None:
        """Put the handlers back, save those that were replaced meanwhile. What they raise goes up from now
        on, be it in the midst of this: all are put back first."""
        self.open = True
        try:
            for number, handler in self._handlers.items():
                if handler_of(number) == self._arrived:
                    set_handler(number, handler)
        except BaseException:
            self.release()
            raise

    def note(self, error: BaseException) -> None:
        """Remember `error`, unless another came first, and stop compiled code."""
        if self.error is None:
            self.error = error
        if self._stop is not None:
            self._stop[0] = 1

    def flag(self, into: np.ndarray | None = None) -> np.ndarray:
        """For compiled code that begins (`kernels/callables.py`): whether to stop, and the address of a
        function that runs handlers of signals [-], shape (2,); `into` an array of before, or a new one."""
        self._stop = np.empty(2, np.int64) if into is None else into
        self._stop[0], self._stop[1] = self.error is not None, CHECK_SIGNALS if self.hears else 0
        return self._stop

    def check(self) -> None:
        """Raise what was noted, if anything was."""
        if self.error is not None:
            raise self.error

    def taken(self) -> BaseException | None:
        """What was noted, for the caller to raise; it is then no longer noted here."""
        found, self.error = self.error, None
        return found

    def run(self, work: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
        """What `work` returns; signals may end it anywhere, and end it here if it caught what they raised."""
        try:
            self.open = True
            found = work(*arguments, **named)
        finally:
            self.open = False
        self.check()
        return found

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        try:
            self._handlers[number](number, frame)
        except BaseException as error:
            self.note(error)
            if self.open:
                raise


def interrupt_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """The interrupt that compiled code made a SystemError of, if it did."""
    cause: BaseException | None = error if isinstance(error, SystemError) else None
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause
