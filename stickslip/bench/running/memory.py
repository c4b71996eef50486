"""Memory of this process: current size and peak."""

import ctypes
import gc
import math
import re
import sys
from contextlib import suppress
from pathlib import Path

import psutil

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MIB = 2.0**20
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
"""Files of Linux with the peak memory of this process, and to reset the peak."""


def resident() -> float:
    """Current memory of this process [MiB]."""
    return float(psutil.Process().memory_info().rss / MIB)


def give_back() -> None:
    """Return unused memory to the system, so that the memory of a run can be measured."""
    gc.collect()
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # available in glibc
        if trim is not None:
            trim(0)


class Peak:
    """Peak memory within a `with` statement, above that before it."""

    def __init__(self, measure: bool = True) -> None:
        """measure: if False, nothing is measured."""
        self._measure = measure
        self.above = math.nan
        """Peak above the memory before [MiB]; NaN if the system does not provide it."""

    def __enter__(self) -> "Peak":
        if self._measure:
            give_back()
            try:
                CLEAR.write_text("5")  # reset the peak
            except OSError:
                self._measure = False
            self._before = resident()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._measure:
            peak = re.search(r"^VmHWM:\s*(\d+)", STATUS.read_text(), re.MULTILINE)
            self.above = max(0.0, float(peak[1]) / 1024.0 - self._before) if peak else math.nan


def bound_address_space(above: float) -> None:
    """Limit the address space of this process to `above` more than it has [MiB], if the system supports it.

    Excessive allocations then raise a `MemoryError` instead of exhausting the machine. Infinity removes the
    limit.
    """
    if resource is None:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = resource.RLIM_INFINITY
    if math.isfinite(above):
        soft = int(psutil.Process().memory_info().vms + above * MIB)
    if hard != resource.RLIM_INFINITY and (soft == resource.RLIM_INFINITY or soft > hard):
        soft = hard
    with suppress(OSError, ValueError):  # systems that do not implement the limit
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def no_core_dumps() -> None:
    """Disable core dumps."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
