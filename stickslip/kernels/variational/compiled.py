"""Compilation of kernels that call kernels of other folders.

Numba's cache is keyed by the files of one folder (see `kernels/jit.py`), which would keep stale code of
callers here when a kernel elsewhere changes; so the key of these is made of all the folders they call into.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from stickslip.kernels.jit import jit as compiled_alone
from stickslip.kernels.jit import stamp

HERE = Path(__file__).parent
FOLDERS = HERE, HERE.parent / "bodies"
"""Where the kernels are that kernels of this folder call."""


@cache
def joint_stamp() -> tuple[float, int]:
    """Newest change and total size of all folders."""
    stamps = [stamp(folder) for folder in FOLDERS]
    return max(newest for newest, _ in stamps), sum(size for _, size in stamps)


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """`kernels.jit.jit` for kernels of this folder."""
    kernel: Any = compiled_alone(function)
    cache_file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if cache_file is not None:
        cache_file._source_stamp = joint_stamp()
    return kernel  # type: ignore[no-any-return]
