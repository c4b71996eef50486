"""Memory of this process: what it has now, and the most since some moment."""

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


def resident() -> float:
    """Memory that this process has now [MiB]."""
    return float(psutil.Process().memory_info().rss / MIB)


def give_back() -> None:
    """Return to the system what is no longer used, so that what a run takes is seen as its own."""
    gc.collect()
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, others need not
        if trim is not None:
            trim(0)


class Peak:
    """The most memory inside a `with`, above what there was before."""

    def __init__(self, measure: bool = True) -> None:
        """Without `measure` nothing is done."""
        self._known = measure
        self.above = math.nan
        """The most above what there was before [MiB]; NaN where the system does not say."""

    def __enter__(self) -> "Peak":
        if self._known:
            give_back()
            try:
                CLEAR.write_text("5")  # the peak begins anew
            except OSError:
                self._known = False
            self._before = resident()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._known:
            most = re.search(r"^VmHWM:\s*(\d+)", STATUS.read_text(), re.MULTILINE)
            self.above = max(0.0, float(most[1]) / 1024.0 - self._before) if most else math.nan


def bound_address_space(above: float) -> None:
    """Let this process reserve at most so much more [MiB], where the system has such a limit: one absurd
    allocation is then a `MemoryError` and not the end of the machine. Infinite takes the limit away."""
    if resource is None:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = resource.RLIM_INFINITY
    if math.isfinite(above):
        soft = int(psutil.Process().memory_info().vms + above * MIB)
    if hard != resource.RLIM_INFINITY and (soft == resource.RLIM_INFINITY or soft > hard):
        soft = hard
    with suppress(OSError, ValueError):  # systems that have the name and not the limit
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def no_core_dumps() -> None:
    """A crash leaves no file."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
