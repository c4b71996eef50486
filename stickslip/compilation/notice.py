"""Progress line on a terminal while kernels are compiled; no output elsewhere.

compiling kernels, once for this version and processor: 41 (body_problems.measure), 9 s
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AFTER = 1.0
"""Time of compilation before the line is shown [s]."""


class _Line:
    """State of the line in this process."""

    def __init__(self) -> None:
        self.silent = 0
        self.count = 0
        self.begun: float | None = None
        self.written = False
        self.depth = 0

    def show(self, name: str, stream: Any) -> None:
        passed = time.monotonic() - (self.begun or 0.0)
        text = (
            f"compiling kernels, once for this version and processor: {self.count} ({name}), {passed:.0f} s"
        )
        try:
            width = os.get_terminal_size(stream.fileno()).columns - 1
            stream.write("\r\x1b[2K" + text[:width])
            stream.flush()
            self.written = True
        except (OSError, ValueError):  # the terminal was closed
            self.silent += 1

    def clear(self, stream: Any) -> None:
        if self.written:
            self.written = False
            try:
                stream.write("\r\x1b[2K")
                stream.flush()
            except (OSError, ValueError):
                self.silent += 1


_LINE = _Line()


@contextmanager
def silent() -> Iterator[None]:
    """Context without the line, for callers that show their own progress."""
    _LINE.silent += 1
    try:
        yield
    finally:
        _LINE.silent -= 1


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Context of the compilation of one kernel and its callees, under the compiler's lock."""
    stream = sys.stderr
    if _LINE.depth == 0:
        _LINE.count, _LINE.begun = 0, time.monotonic()
    _LINE.depth += 1
    _LINE.count += 1
    try:
        if _shown(stream) and time.monotonic() - (_LINE.begun or 0.0) > AFTER:
            _LINE.show(name, stream)
        yield
    finally:
        _LINE.depth -= 1
        if _LINE.depth == 0:
            _LINE.clear(stream)


def _shown(stream: Any) -> bool:
    """Return whether the line is to be shown: on a terminal, from the main thread, unless switched off."""
    if _LINE.silent or os.environ.get("STICKSLIP_PROGRESS", "1") == "0":
        return False
    try:
        return bool(stream.isatty()) and threading.current_thread() is threading.main_thread()
    except (AttributeError, ValueError):  # no stream, or a closed one
        return False
