"""Compilation kept apart from work, in wall time and in processor time, and told while it lasts."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from numba.core import event

LOCK = "numba:compiler_lock"
"""Numba's event around compiling a function or loading it from its cache."""


class Compiling(event.Listener):  # type: ignore[misc]
    """Time under Numba's compiler lock inside a `with`, whoever asked for it: ours or a user's own solver."""

    def __init__(self, told: Callable[[bool], None] | None = None) -> None:
        """`told` is called with True when compilation begins, with False when it has ended."""
        self.met = False
        """Whether anything was compiled or loaded."""
        self._told, self._depth = told, 0
        self._wall = self._cpu = 0.0
        self._begun = (0.0, 0.0)

    @property
    def seconds(self) -> float:
        """Wall time of compilation so far [s]."""
        return self._wall + (time.perf_counter() - self._begun[0] if self._depth else 0.0)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of compilation so far [s]."""
        return self._cpu + (time.process_time() - self._begun[1] if self._depth else 0.0)

    def on_start(self, event: Any) -> None:
        """Numba begins."""
        if not self._depth:
            self.met = True
            self._begun = time.perf_counter(), time.process_time()
            if self._told is not None:
                self._told(True)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Numba has ended."""
        self._depth -= 1
        if not self._depth:
            if self._told is not None:
                self._told(False)
            self._wall += time.perf_counter() - self._begun[0]
            self._cpu += time.process_time() - self._begun[1]

    def __enter__(self) -> "Compiling":
        event.register(LOCK, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        event.unregister(LOCK, self)
