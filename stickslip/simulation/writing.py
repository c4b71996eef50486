"""Writing of a run's records to a file during the run."""

import time
from typing import Any, Protocol

from stickslip.simulation.recorder import Recorder
from stickslip.simulation.trajectory import Trajectory

FLUSH = 1.0
"""Default of the longest time between two writes [s]."""
MOST_PENDING = 2**24
"""Size of the records in memory from which they are written before that time [bytes]."""


class Sink(Protocol):
    """Protocol of files to which a run is written while it is in progress."""

    def append(self, tail: Trajectory) -> None:
        """Append the records of `tail`; the first of them is in the file already, except at the start of a
        file."""

    def read(self) -> Trajectory:
        """Return the run in the file so far."""

    def with_tail(self, tail: Trajectory) -> Trajectory:
        """Return the run in the file, followed by records that could not be written."""

    def end(self, complete: bool) -> Trajectory:
        """Close the file, and return the run in it."""


class Writer:
    """Writes records to a file when they are due."""

    def __init__(self, sink: Sink, flush: float):
        self.sink = sink
        self._flush, self._written, self._flushed = flush, False, time.monotonic()
        self._ended: Trajectory | None = None

    @property
    def is_late(self) -> bool:
        """Whether the time since the last write exceeds the limit."""
        return time.monotonic() - self._flushed >= self._flush

    def is_due(self, recorder: Recorder) -> bool:
        """Whether records should be written."""
        return self.is_late or recorder.store.bytes >= MOST_PENDING

    def write(self, tail: Trajectory, steps: Any, recorder: Recorder, now: bool) -> None:
        """Write the records in memory; now: even if there are no new ones."""
        if len(tail) > 1 or not self._written or now:
            self.sink.append(tail)
            self._written = True
            steps.written(tail)
            recorder.forget()
        self._flushed = time.monotonic()

    def end(self, complete: bool, write: Any, tail: Any) -> Trajectory:
        """Write the remaining records, close the file, and return the run; an OSError has it as an attribute.
        write: writes the records in memory; tail: returns them."""
        if self._ended is None:
            try:
                write()
                self._ended = self.sink.end(complete)
            except OSError as error:
                self._ended = self.sink.with_tail(tail())
                if complete:
                    error.trajectory = self._ended  # type: ignore[attr-defined]
                    raise
        return self._ended
