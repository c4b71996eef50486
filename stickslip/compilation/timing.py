"""Time of compilation, separate from the time of the work."""

import time
from collections.abc import Callable
from typing import Any

from stickslip.compilation import JIT

if JIT:
    from numba.core import event


class Compilation:
    """Context that measures the time of compiling kernels, or of loading them from the store."""

    __slots__ = ("_listener", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        """Time under Numba's compiler lock [s]."""

    def __enter__(self) -> "Compilation":
        if JIT:
            self._listener = event.TimingListener()
            event.register("numba:compiler_lock", self._listener)
        return self

    def __exit__(self, *failure: object) -> None:
        if JIT:
            event.unregister("numba:compiler_lock", self._listener)
            if self._listener.done:
                self.seconds = self._listener.duration


def timed(kernel: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    """Return (result, time of the call without compilation [s], time of compilation [s]).

    The overhead is small for compiled kernels.
    """
    if not JIT or getattr(kernel, "is_emitted", False):
        start = time.perf_counter()
        result = kernel(*arguments)
        return result, time.perf_counter() - start, 0.0
    with Compilation() as compilation:
        start = time.perf_counter()
        result = kernel(*arguments)
        seconds = time.perf_counter() - start
    return result, seconds - compilation.seconds, compilation.seconds
