"""Compilation kept apart from the work that it serves."""

import time
from collections.abc import Callable
from typing import Any

from stickslip.compilation import JIT

if JIT:
    from numba.core import event


class Compilation:
    """Seconds spent compiling kernels, or loading them from where they are kept, inside a `with`."""

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
    """(result, seconds of the call, seconds of its compilation); cheap for a compiled kernel. A function that
    calls kernels is taken like a kernel that is to be compiled."""
    if not JIT or getattr(kernel, "is_emitted", False):
        start = time.perf_counter()
        result = kernel(*arguments)
        return result, time.perf_counter() - start, 0.0
    with Compilation() as compilation:
        start = time.perf_counter()
        result = kernel(*arguments)
        seconds = time.perf_counter() - start
    return result, seconds - compilation.seconds, compilation.seconds
