"""The file of a run, which its records are written to while it goes on."""

import time
from typing import Any, Protocol

from stickslip.simulation.recorder import Recorder
from stickslip.simulation.trajectory import Trajectory

FLUSH = 1.0
"""Records are written to a file after so much time at the latest [s]."""
MOST_PENDING = 2**24
"""Or when so much of them is held [bytes]."""


class Sink(Protocol):
    """A file that a run is written to while it goes on."""

    def append(self, tail: Trajectory) -> None:
        """Write the records of `tail` behind those before; the first of them is in the file already, save
        that of the start of a file."""

    def read(self) -> Trajectory:
        """The run in the file so far."""

    def with_tail(self, tail: Trajectory) -> Trajectory:
        """The run in the file, followed by records that could not be written to it."""

    def end(self, complete: bool) -> Trajectory:
        """Close the file, which holds all that was appended; the run in it, opened."""


class Writer:
    """Says when records are to be written to a file, and writes them."""

    def __init__(self, sink: Sink, flush: float):
        self.sink = sink
        self._flush, self._written, self._flushed = flush, False, time.monotonic()
        self._ended: Trajectory | None = None

    @property
    def is_late(self) -> bool:
        """Whether the last time is long ago."""
        return time.monotonic() - self._flushed >= self._flush

    def is_due(self, recorder: Recorder) -> bool:
        """Whether it is time to write."""
        return self.is_late or recorder.store.bytes >= MOST_PENDING

    def write(self, tail: Trajectory, steps: Any, recorder: Recorder, now: bool) -> None:
        """Write the records that are in memory; now: be there any or not."""
        if len(tail) > 1 or not self._written or now:
            self.sink.append(tail)
            self._written = True
            steps.written(tail)
            recorder.forget()
        self._flushed = time.monotonic()

    def end(self, complete: bool, write: Any, tail: Any) -> Trajectory:
        """Write what is left and close the file: the run in it, or an OSError carries it. write: writes the
        records that are in memory; tail: gives them."""
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
