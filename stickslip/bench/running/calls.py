"""Calls of a solver: timed with compilation apart, stopped by `progress` when time is up."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.bench.running.compiling import Compiling
from stickslip.bench.running.entrants import Entrant
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.mass import MassMatrix
from stickslip.problem.solution import Problem


class Observer:
    """What a run tells on its way; this one keeps it to itself."""

    def made(self, options: dict[str, Any]) -> None:
        """The solver is there, with these options."""

    def calling(self) -> None:
        """The solver is about to be called."""

    def called(self) -> None:
        """It has come back."""

    def compiling(self, begins: bool) -> None:
        """Compilation begins, or has ended."""

    def delegated(self) -> None:
        """A peer has the run from here on, and keeps its time itself."""


class TimeIsUp(BaseException):
    """Raised out of `progress` when time is up; no `except Exception` of a solver catches it."""


@dataclass(frozen=True)
class Call:
    """One call and what it took."""

    answer: Any
    """What came back."""
    seconds: float
    """Wall time, compilation apart [s]."""
    cpu_seconds: float
    """Processor time, compilation apart [s]."""
    compile_seconds: float
    """Wall time of compilation [s]."""
    compiled: bool
    """Whether anything was compiled, or loaded from where compiled code is kept."""


class Guard:
    """The `progress` of a call: keeps what it is told, and raises when time is up."""

    def __init__(self, timeout: float, spent: Callable[[], float]):
        """`spent`: time of the call so far, compilation apart [s]."""
        self.timeout, self.spent = timeout, spent
        self.iterations, self.error = 0, float("nan")

    def __call__(self, iterations: int, error: float) -> None:
        """Told by the solver."""
        with suppress(TypeError, ValueError, OverflowError):
            self.iterations, self.error = int(iterations), float(error)
        if self.spent() > self.timeout:
            raise TimeIsUp


@dataclass(frozen=True)
class Stopped:
    """A call that was stopped by its guard."""

    seconds: float
    """Wall time until then, compilation apart [s]."""
    compile_seconds: float
    """Wall time of compilation [s]."""
    iterations: int
    """The last that it told."""
    error: float
    """The last that it told [-]."""


def call(
    entrant: Entrant, problem: Problem, observer: Observer, timeout: float | None = None
) -> Call | Stopped:
    """Call the solver once; with a `timeout` [s] its progress is watched."""
    problem = fresh(problem)
    with np.errstate(), Compiling(observer.compiling) as compiling:
        cpu_start, start = time.process_time(), time.perf_counter()

        def spent() -> float:
            return time.perf_counter() - start - compiling.seconds

        guard = None if timeout is None else Guard(timeout, spent)
        observer.calling()
        cpu_start, start = time.process_time(), time.perf_counter()
        try:
            answer = entrant.solve(problem, guard)
            seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
        except TimeIsUp:
            assert guard is not None
            return Stopped(spent(), compiling.seconds, guard.iterations, guard.error)
        finally:
            observer.called()
    return Call(
        answer,
        max(0.0, seconds - compiling.seconds),
        max(0.0, cpu_seconds - compiling.cpu_seconds),
        compiling.seconds,
        compiling.met,
    )


def fresh(problem: Problem) -> Problem:
    """The same problem, without the factors of M that an earlier solve has left in it."""
    return replace(problem, M=MassMatrix(problem.M.matrix)) if isinstance(problem, GlobalProblem) else problem
