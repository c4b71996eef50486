"""One run in this process: read a problem, solve it by a contestant, time the calls, and judge the answers.

The first call is stopped through `progress` at the time limit; for solvers that report progress this does not
cost a process. A call that compiles kernels is not timed, unless it takes longer than the patience of the
limits: then its time without compilation counts. The judge decides success.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from stickslip.bench.campaigns.contestants import ContestantError, is_ours, is_peer, source_of
from stickslip.bench.records import FIGURES, Job, JobError, Limits, Outcome, RunRecord, timings
from stickslip.bench.running.answers import Answer, answer_of, count_of, sentence, worst
from stickslip.bench.running.calls import Call, Tell, call, entrant, untold
from stickslip.bench.running.memory import Peak
from stickslip.files import FormatError, read_record
from stickslip.problem.checks import ProblemError
from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.solution import Problem
from stickslip.solvers.registry import MissingPackage

KEPT_PROBLEMS = 2
"""Number of cached problems."""


class Attempts:
    """Maker of runs in a long-lived process; a problem is read once for all solvers."""

    def __init__(self) -> None:
        self._read = lru_cache(KEPT_PROBLEMS)(problem_of)

    def read(self, job: Job) -> Problem:
        """Read the problem of a job."""
        return self._read(job.path, job.kind, job.problem)

    def make(self, job: Job, limits: Limits, given: Problem, tell: Tell) -> RunRecord:
        """Run a job on its problem, which has been read, and return the record."""
        return attempt(job, limits, given, tell)

    def forget(self) -> None:
        """Clear the cache of problems."""
        self._read.cache_clear()


def problem_of(path: str, kind: str | None, expected: str) -> Problem:
    """Read the problem of a job; raise a `JobError` if it cannot be read or has another fingerprint."""
    try:
        problem = read_record(Path(path), kind).problem
    except (FormatError, ProblemError, OSError) as error:
        raise JobError(sentence(error)) from error
    actual = fingerprint(problem)
    if actual != expected:
        raise JobError(
            f"{path} has changed: it holds the problem {actual[:12]} now, not {expected[:12]};"
            " start the campaign anew, or put the file back"
        )
    return problem


def attempt(job: Job, limits: Limits, problem: Problem | None = None, tell: Tell = untold) -> RunRecord:
    """Run one job in this process and return its record; problem: the problem, if it was read already.

    Raises a `JobError` if the file cannot be read or contains another problem, or if the file of a user's
    solver has changed. tell: receives events of calls and of compilation.
    """
    if job.contestant.place:
        _same_source(job)
    problem = problem_of(job.path, job.kind, job.problem) if problem is None else problem
    if is_peer(job.contestant):
        from stickslip.bench.siconos.peer import attempt_siconos

        tell("delegated")
        try:
            return attempt_siconos(job, limits, problem)
        except Exception as error:
            return job.blank(Outcome.RAISED, reason=sentence(error))
    return _Run(job, limits, problem, tell).record()


def _same_source(job: Job) -> None:
    """Raise a `JobError` if the file of a user's solver has changed since the job was made."""
    try:
        actual = source_of(job.contestant)
    except ContestantError as error:
        raise JobError(f"{job.contestant.name}: {error}") from None
    if job.source and actual != job.source:
        raise JobError(
            f"{job.contestant.place} has changed: its hash is {actual} now, not {job.source};"
            " start the campaign anew, or put the file back"
        )


@dataclass
class _Run:
    """One run in progress."""

    job: Job
    limits: Limits
    problem: Problem
    tell: Tell
    options: dict[str, Any] | None = None
    calls: list[Call] = field(default_factory=list)
    """Timed calls."""
    answers: list[Answer] = field(default_factory=list)
    """Distinct answers of all calls, timed or not."""
    compile_seconds: float = 0.0
    memory: float = float("nan")

    def record(self) -> RunRecord:
        """Make the solver, call it and judge the answers; errors become records, too."""
        try:
            with threadpool_limits(1):  # around all calls, as it takes a millisecond and evicts caches
                late = self._called()
            return self._judged() if late is None else self._late(late)
        except MemoryError as error:
            return self._blank(Outcome.MEMORY, f"it asked for more memory than there is: {sentence(error)}")
        except MissingPackage as error:  # not a failure of the method
            return self._blank(Outcome.REFUSED, sentence(error))
        except (Exception, SystemExit) as error:
            refusal = ProblemError if is_ours(self.job.contestant) else NotImplementedError
            outcome = Outcome.REFUSED if type(error) is refusal else Outcome.RAISED
            return self._blank(outcome, sentence(error))

    def _called(self) -> Call | None:
        """Make all calls; return the one that was stopped or late, if there is one."""
        spent = 0.0
        for first in chain([True], repeat(False)):
            # A new solver for every call, as data cached by one call would speed up the next.
            solver, options = entrant(self.job.contestant, self.job.tolerance)
            if first:
                self.options = options
                self.tell("made", options=options)
            with Peak(measure=not self.calls) as peak:
                done = call(solver, self.problem, self.tell, self.limits.timeout if first else None)
            self.compile_seconds += done.compile_seconds
            if done.late:
                return done
            if done.seconds > self.limits.timeout:
                return replace(
                    done, iterations=count_of(getattr(done.answer, "iterations", 0)), error=float("nan")
                )
            self._add(done, peak.above)
            spent += done.seconds
            if len(self.calls) >= self.limits.best_of or (self.calls and spent >= self.limits.patience):
                break
        return None

    def _add(self, done: Call, memory: float) -> None:
        """Add the answer of a call, and its time unless it compiled."""
        counts = not done.compiled or done.seconds > self.limits.patience
        if counts or self.answers:  # do not repeat calls of solvers that compile every time
            self.calls.append(done)
            self.memory = memory if len(self.calls) == 1 else self.memory
        answer = answer_of(done.answer)
        if not any(answer.bits == other.bits for other in self.answers):
            self.answers.append(answer)

    def _late(self, stopped: Call) -> RunRecord:
        """Record of a run that was stopped at the time limit."""
        progress = ""
        if stopped.error == stopped.error:
            progress = f"; it was at {stopped.error:.1e} after {stopped.iterations} iterations"
        return self._blank(
            Outcome.TIMEOUT,
            f"stopped after {stopped.seconds:.3g} s{progress}",
            seconds=stopped.seconds,
            iterations=stopped.iterations,
        )

    def _judged(self) -> RunRecord:
        """Record with the judge's residuals of the worst answer, and the shortest time."""
        if self.job.contestant.place and fingerprint(self.problem) != self.job.problem:
            return self._blank(Outcome.RAISED, "it has changed the problem it was given")
        answer, residuals = worst(self.problem, self.answers)
        solved = residuals.solved(self.job.tolerance)
        remarks = [answer.remark(solved, residuals.error)]
        if len(self.answers) > 1:
            remarks.append("calls gave different answers, of which this is the worst")
        return self._blank(
            Outcome.SOLVED if solved else Outcome.MISSED,
            "; ".join(filter(None, remarks)),
            status=answer.status,
            **{name: getattr(residuals, name) for name in FIGURES},
            iterations=answer.iterations,
            **timings([done.seconds for done in self.calls], [done.cpu_seconds for done in self.calls]),
            history=answer.history,
        )

    def _blank(self, outcome: Outcome, reason: str, **fields: Any) -> RunRecord:
        record = self.job.blank(outcome, self.options, reason=reason, **fields)
        return replace(record, compile_seconds=self.compile_seconds, memory=self.memory)
