"""A warm process for work, replaced after a crash, a hang or a leak, so that these affect only one record.

The process is started on demand, in its own session, and executes `running.worker`. While it works, the
parent waits for its messages, monitors time and memory, and ends it and its descendants when a limit is
reached. The parent never waits longer than that. Time in the solver, time of compilation and other time are
measured by separate clocks.
"""

import math
import os
import secrets
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from stickslip.bench.records import JobError, Limits, Outcome, Record, Work
from stickslip.bench.running.child import Child, Garbled, understood
from stickslip.bench.siconos.peer import total_seconds

STARTING = 300.0
"""Time limit for the start of a process [s]; the first import may compile."""
MARK = "STICKSLIP_BENCH_PROCESS"
"""Environment variable that all descendants of a worker inherit, by which they are found."""
THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA", "VECLIB_MAXIMUM")
"""Prefixes of the environment variables of libraries that are limited to one thread."""
POLL = 0.05
"""Time between two checks of clock and memory [s]."""
FAMILY = 10
"""Number of checks of the memory of the process per check that includes its descendants, which is slower."""
LEAK = 1024.0
"""Growth of memory above which a process is replaced [MiB]."""
GRACE, SHARE = 0.5, 0.1
"""Extra time for a call to end by itself: seconds [s], and share of the time limit [-]."""
APART = 600.0
"""Time limit for reading the problem, importing the solver and judging its answer [s]."""
MARGIN = 30.0
"""Extra time for a peer, which measures its time itself [s]."""


class StartFailure(RuntimeError):  # noqa: N818 (a failure is not an error of the caller)
    """A worker process does not start, which is not a failure of a solver."""


class Closed(RuntimeError):  # noqa: N818 (describes a state)
    """The process was closed before or during a run."""


class Worker(Child):
    """A process of `running.worker`, which ends with its parent."""

    def __init__(self) -> None:
        # One thread, and modules found where this process finds them.
        places = os.pathsep.join(place or os.getcwd() for place in sys.path)
        threads = {f"{name}_NUM_THREADS": "1" for name in THREADS}
        lifeline, self._lifeline = os.pipe()
        try:
            super().__init__(
                [sys.executable, "-P", "-m", "stickslip.bench.running.worker", str(lifeline)],
                dict(os.environ) | threads | {"PYTHONPATH": places}, mark=(MARK, secrets.token_hex(8)),
                stderr=subprocess.PIPE, pass_fds=(lifeline,),
            )  # fmt: skip
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(lifeline)
        self.usual = 0.0
        """Memory after the start, plus the memory of everything compiled since [MiB]."""

    def greet(self) -> None:
        """Wait until the process is ready; raise `StartFailure` with the last line of its standard error
        if it does not get ready."""
        end = time.monotonic() + STARTING
        while time.monotonic() < end and not self.silent:
            for message in map(understood, self.lines(0.2)):
                if message.get("event") == "ready":
                    self.usual = float(message["memory"])
                    self._pipe("stderr").close()
                    return
        raise StartFailure(f"a worker process does not start: {self.last_words() or 'it says nothing'}")

    def end(self) -> int | None:
        """End the process and its descendants; return its exit code."""
        with self._lock:
            code = super().end()
            if self._lifeline >= 0:
                os.close(self._lifeline)
                self._lifeline = -1
            return code


class WarmProcess:
    """Runs jobs one after the other in a process of its own, which is replaced when it is spoiled."""

    def __init__(self, name: str = "", leak: float = LEAK):
        """name: displayed name. leak: growth of memory above which the process is replaced [MiB]."""
        self.name, self.leak = name, leak
        self._child: Worker | None = None
        self._closed, self._number = False, 0
        self._restarted: Work | None = None  # job that was started a second time
        self._lock, self._busy = threading.Lock(), threading.RLock()

    @property
    def pid(self) -> int | None:
        """Process id; None if there is no process."""
        child = self._child
        return None if child is None else child.pid

    def __enter__(self) -> "WarmProcess":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def run(self, job: Work, limits: Limits) -> Any:
        """Run one item of work and return its record; returns within the limits in any case.

        Raises a `JobError` if the work cannot be done, for example because its file contains another problem.
        """
        (result,) = self.runs([job], limits)
        if isinstance(result, JobError):
            raise result
        return result

    def runs(self, jobs: Sequence[Work], limits: Limits) -> Iterator[Record | JobError]:
        """Yield the records of several items of one kind in order, each as soon as it is available.

        All items are sent to the process in one message. If an item spoils the process, a new one gets the
        remaining items.
        """
        remaining = deque(jobs)
        while remaining:
            with self._busy:
                child = self._ready()
                try:
                    yield from self._results(child, remaining, limits)
                finally:
                    if remaining:  # the process is still working
                        self._end(child)

    def _results(self, child: Worker, remaining: deque[Work], limits: Limits) -> Iterator[Record | JobError]:
        """Send the remaining items to a process, and yield their records until the process is replaced."""
        first = self._number + 1
        self._number += len(remaining)
        items = [job.as_json() for job in remaining]
        child.send({"id": first, "work": remaining[0].place(), "jobs": items, "limits": asdict(limits)})
        lines = deque[bytes]()
        for number in range(first, self._number + 1):
            watch = _Watch(remaining[0], limits, number, child, lines, last=len(remaining) == 1)
            self._wait_for(watch)
            # Leftovers of an earlier run may have ended the process: start the job once more.
            if watch.died_early and remaining[0] is not self._restarted:
                self._restarted = remaining[0]
                return
            remaining.popleft()
            yield watch.result
            if self._child is not child:
                return

    def close(self) -> None:
        """End the process immediately; a thread that waits in `run` then raises `Closed`."""
        with self._lock:
            self._closed = True
            child = self._child
        if child is not None:
            child.kill()
            with self._busy:  # a thread that waits for the process notices its end and releases the lock
                self._end(child)

    def _wait_for(self, watch: "_Watch") -> None:
        """Wait for a run; end the process if it was spoiled, leaks memory or sent unexpected lines."""
        try:
            watch.wait()
        except BaseException:
            self._end(watch.child)
            raise
        unexpected = watch.last and watch.lines  # lines after the last record
        if watch.spoiled or unexpected or watch.memory_after - watch.child.usual > self.leak:
            self._end(watch.child)
        self._check_open()

    def _ready(self) -> Worker:
        child = self._child
        if child is not None and child.ended():
            self._end(child)
            child = None
        if child is None:
            with self._lock:
                self._check_open()
                child = self._child = Worker()
            try:
                child.greet()
            except BaseException:
                self._end(child)
                self._check_open()
                raise
        return child

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"{self.name or 'the process'} was closed")

    def _end(self, child: Worker) -> None:
        with self._lock:
            if self._child is child:
                self._child = None
        child.end()


@dataclass
class _Watch:
    """Monitor of one run in the parent process."""

    job: Work
    limits: Limits
    number: int
    child: Worker
    lines: deque[bytes]
    """Received lines that have not been processed, including those of the next run."""
    last: bool
    """Whether it is the last run of its message."""
    record: Any = None
    impossible: str = ""
    """Reason why the job cannot be run."""
    spoiled: bool = False
    """Whether the process must be replaced."""
    died_early: bool = False
    """Whether it ended before the work was begun."""
    memory_after: float = 0.0
    """Memory of the process after the run [MiB]."""

    @property
    def result(self) -> Record | JobError:
        """Record of the run, or the error of a job that cannot be run."""
        result: Record | JobError = JobError(self.impossible) if self.impossible else self.record
        return result

    def wait(self) -> None:
        """Wait until there is a record, sent by the process or made here when a limit is reached."""
        self.clocks = Clocks(self.limits)
        self.options: dict[str, Any] | None = None
        self.baseline = self.most = math.nan
        self.called, checks = False, 0
        try:
            while not self._over():
                if self.lines:
                    self._hear(understood(self.lines.popleft()))
                    continue
                self.lines.extend(self.child.lines(POLL))
                if self.lines:
                    continue
                if self.child.silent:
                    self._died()
                elif late := self.clocks.late():
                    self._stop(Outcome.TIMEOUT, late, seconds=self.clocks.calling or math.nan)
                else:
                    checks += 1
                    self._check_memory(family=checks % FAMILY == 0)
        except Garbled as error:
            self._stop(Outcome.CRASHED, str(error))

    def _over(self) -> bool:
        return self.record is not None or bool(self.impossible)

    def _hear(self, message: dict[str, Any]) -> None:
        """Process one message; raise `Garbled` for an invalid one."""
        if message.get("id") != self.number:
            raise Garbled("its answer belongs to no question")
        event = message.get("event")
        self.clocks.hear(str(event))
        try:
            if event == "begun":
                self.baseline = self.most = float(message["memory"])
            elif event == "made":
                self.options = dict(message["options"])
                # Exclude memory of reading and importing, which later solvers reuse.
                self.baseline = self.most = float(message["memory"])
            elif event == "calling":
                self.called = True
            elif event == "compiled":
                self.baseline += float(message["memory"])
                self.child.usual += float(message["memory"])  # compiled code is not a leak
            elif event == "impossible":
                self.impossible = str(message["reason"])
            elif event == "memory":
                self._stop(Outcome.MEMORY, str(message["reason"]))
            elif event == "record":
                self.memory_after = float(message["memory"])
                self._finish(self.job.record(message["record"]), busy=bool(message["busy"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Garbled(f"its answer is garbled: {type(error).__name__}") from None

    def _finish(self, record: Any, busy: bool) -> None:
        if record.key != self.job.key:
            raise Garbled("its answer belongs to another run")
        judged = record.outcome in (Outcome.SOLVED, Outcome.MISSED)
        if judged and math.isnan(getattr(record, "memory", 0.0)):  # not measurable within the process
            record = replace(record, memory=max(0.0, self.most - self.baseline))
        self.record = record
        # Threads and processes that a user's solver leaves running would disturb the next run.
        self.spoiled = busy or (self.last and self.job.own and self.child.has_family())

    def _check_memory(self, family: bool) -> None:
        """Stop the run if it exceeds the memory limit; family: include descendants of the process."""
        memory = self.child.memory(family)
        if memory is None or math.isnan(self.baseline):
            return
        self.most = max(self.most, memory)
        used, allowed = memory - self.baseline, self.limits.memory
        if used > allowed and self.clocks.mode not in ("compiling", "delegated"):
            reason = f"stopped at {used:.0f} MiB, more than the {allowed:.0f} MiB allowed"
            self._stop(Outcome.MEMORY, reason, memory=used)

    def _died(self) -> None:
        self.died_early = not self.called
        self._stop(Outcome.CRASHED, f"the process {self.child.end_as_it_does()}")

    def _stop(self, outcome: Outcome, reason: str, **fields: Any) -> None:
        """Make a record in the parent and mark the process for replacement."""
        self.spoiled = True
        fields.setdefault("memory", max(0.0, self.most - self.baseline) if self.called else math.nan)
        self.record = self.job.blank(
            outcome, self.options, reason=reason, compile_seconds=self.clocks.compiling, **fields
        )


class Clocks:
    """Clocks of a run, driven by the events of the process; they tell when a time limit is reached."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._spent = {"other": 0.0, "calling": 0.0, "compiling": 0.0, "delegated": 0.0}
        self.mode = "other"
        """Current activity of the process: calling, compiling, delegated (a peer makes the run) or other."""
        self._outer, self._since = "other", time.monotonic()

    @property
    def calling(self) -> float:
        """Time in the current or last call without compilation [s]."""
        self._advance()
        return self._spent["calling"]

    @property
    def compiling(self) -> float:
        """Time of compilation [s]."""
        self._advance()
        return self._spent["compiling"]

    def hear(self, event: str) -> None:
        """Receive an event of the process."""
        self._advance()
        if event == "calling":
            self._spent["calling"] = 0.0
        if event == "compiling" and self.mode != "compiling":
            self._outer = self.mode
        self.mode = {"called": "other", "compiled": self._outer}.get(
            event, event if event in self._spent else self.mode
        )

    def late(self) -> str:
        """Reason why a time limit is exceeded; empty otherwise."""
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
        self._spent[self.mode] += now - self._since
        self._since = now
