"""The clocks of a run seen from outside: time in the solver, time of compilation, and all the rest."""

import time

from stickslip.bench.jobs import Limits
from stickslip.bench.siconos.peer import total_seconds

GRACE, SHARE = 0.5, 0.1
"""A call may outlast the time limit by so many seconds and this share of it, to end by itself."""
APART = 600.0
"""Time for reading the problem, importing the solver and judging its answer [s]."""
MARGIN = 30.0
"""A peer, which keeps its time itself, may outlast its own total by so many seconds."""


class Clocks:
    """Fed with what the process tells, asked whether its time is up."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._spent = {"other": 0.0, "calling": 0.0, "compiling": 0.0, "delegated": 0.0}
        self._mode, self._outer, self._since = "other", "other", time.monotonic()

    @property
    def calling(self) -> float:
        """Time in the call that is or was the last, compilation apart [s]."""
        self._advance()
        return self._spent["calling"]

    @property
    def compiling(self) -> float:
        """Time of compilation [s]."""
        self._advance()
        return self._spent["compiling"]

    @property
    def is_compiling(self) -> bool:
        """Whether something is being compiled now."""
        return self._mode == "compiling"

    @property
    def is_delegated(self) -> bool:
        """Whether a peer has the run, and watches itself."""
        return self._mode == "delegated"

    def hear(self, event: str) -> None:
        """What the process tells, at the moment when it does."""
        self._advance()
        if event == "calling":
            self._spent["calling"] = 0.0
            self._mode = "calling"
        elif event == "called":
            self._mode = "other"
        elif event == "compiling" and not self.is_compiling:
            self._outer, self._mode = self._mode, "compiling"
        elif event == "compiled":
            self._mode = self._outer
        elif event == "delegated":
            self._mode = "delegated"

    def late(self) -> str:
        """Why its time is up; empty while it is not."""
        self._advance()
        spent, timeout = self._spent, self._limits.timeout
        if spent["calling"] > timeout + GRACE + SHARE * timeout:
            return f"stopped after {spent['calling']:.3g} s"
        if spent["delegated"] > total_seconds(self._limits) + MARGIN:
            return f"stopped after {spent['delegated']:.3g} s in all"
        if spent["compiling"] > self._limits.compile_timeout:
            return f"stopped: compilation took more than {self._limits.compile_timeout:g} s"
        if spent["other"] > APART:
            return f"stopped: reading, importing and judging took more than {APART:g} s"
        return ""

    def _advance(self) -> None:
        now = time.monotonic()
        self._spent[self._mode] += now - self._since
        self._since = now
