"""Signals during long computations: none is lost, and none interrupts code that must not be interrupted.

Python runs the handler of a signal between any two bytecodes of the main thread, and an exception that it
raises (the KeyboardInterrupt of Ctrl+C) propagates from there. Two places do not tolerate that. Compiled code
with callbacks to Python loses the exception: ctypes prints it and returns. Interrupted bookkeeping is left
inconsistent. Moreover, a propagating exception may be caught on the way, or be converted by compiled code.

Within `Interrupts` handlers still run immediately, but their exceptions are stored, and compiled code is told
to stop. A stored exception is raised immediately from code that may be interrupted anywhere (`run`),
otherwise by the next `check`.

Every solve uses this class, so it must be fast: handlers are read and set by the functions behind those of
`signal`, which convert numbers to enums and take ten times as long.
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
"""Signals whose handlers may raise: termination, timers, and those reserved for users."""
KNOWN = tuple(int(getattr(signal, name)) for name in NAMES if hasattr(signal, name))
"""Numbers of these signals on this system."""
CHECK_SIGNALS = ctypes.cast(ctypes.pythonapi.PyErr_CheckSignals, ctypes.c_void_p).value or 0
"""Address of the CPython function that runs the handlers of pending signals, in the main thread."""


class Interrupts:
    """Context in which exceptions of signal handlers are stored instead of raised.

    It replaces only handlers written in Python, in the main thread, where they run. An ignored signal stays
    ignored, and a handler that raises nothing ends nothing.
    """

    __slots__ = ("_handlers", "_stop", "error", "hears", "open")

    def __init__(self, hears: bool = True) -> None:
        """hears: whether compiled code polls signals; it must not do so without the interpreter's lock."""
        self.hears = hears
        self.error: BaseException | None = None
        """First stored exception."""
        self.open = False
        """Whether exceptions of handlers may propagate immediately."""
        self._stop: np.ndarray | None = None
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def __enter__(self) -> Self:
        try:
            for number in KNOWN:
                handler = handler_of(number)
                if callable(handler):
                    self._handlers[number] = handler
                    set_handler(number, self._arrived)
        except BaseException as error:  # raised by a handler that is not replaced yet
            self.release()
            other = threading.current_thread() is not threading.main_thread()
            if not (other and isinstance(error, ValueError)):  # other threads neither set nor run handlers
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        if error is None and self.error is None:
            return
        interrupt = interrupt_behind(error) if self.error is None else self.error
        if interrupt is not None and interrupt is not error:
            raise interrupt from None

    def release(self) -> None:
        """Restore the handlers, except those replaced meanwhile.

        Their exceptions propagate from now on, also during this call, but only after all are restored.
        """
        self.open = True
        try:
            for number, handler in self._handlers.items():
                if handler_of(number) == self._arrived:
                    set_handler(number, handler)
        except BaseException:
            self.release()
            raise

    def note(self, error: BaseException) -> None:
        """Store `error`, unless another one is stored, and stop compiled code."""
        if self.error is None:
            self.error = error
        if self._stop is not None:
            self._stop[0] = 1

    def flag(self, into: np.ndarray | None = None) -> np.ndarray:
        """Return the array for compiled code (`kernels/callables.py`) [-], shape (2,), int.

        It contains whether to stop, and the address of the function that runs pending handlers. `into` is an
        earlier array to reuse.
        """
        self._stop = np.empty(2, np.int64) if into is None else into
        self._stop[0], self._stop[1] = self.error is not None, CHECK_SIGNALS if self.hears else 0
        return self._stop

    def check(self) -> None:
        """Raise the stored exception, if any."""
        if self.error is not None:
            raise self.error

    def taken(self) -> BaseException | None:
        """Return the stored exception and forget it; the caller raises it."""
        error, self.error = self.error, None
        return error

    def run(self, work: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
        """Return the result of `work`, which signals may interrupt anywhere; raise an interrupt it caught."""
        try:
            self.open = True
            result = work(*arguments, **named)
        finally:
            self.open = False
        self.check()
        return result

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        try:
            self._handlers[number](number, frame)
        except BaseException as error:
            self.note(error)
            if self.open:
                raise


def interrupt_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """Return the KeyboardInterrupt behind a SystemError of compiled code, if any."""
    cause: BaseException | None = error if isinstance(error, SystemError) else None
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause
