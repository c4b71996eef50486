"""Calls of solvers: timed without compilation, and stopped by `progress` at the time limit."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numba.core import event

from stickslip.bench.campaigns.contestants import Contestant, make, takes
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.mass import MassMatrix
from stickslip.problem.solution import Problem

LOCK = "numba:compiler_lock"
"""Numba's event for compiling a function or loading it from the cache."""
Tell = Callable[..., None]
"""Function that receives the events of a run with their data: `made` (the solver has been made, with
`options`), `calling`, `called`, `compiling`, `compiled`, `delegated` (a peer makes the run and measures the
time)."""


def untold(event: str, **data: Any) -> None:
    """Ignore events."""


def entrant(contestant: Contestant, tolerance: float) -> tuple[Any, dict[str, Any]]:
    """Make the solver of a contestant, with the tolerance if it accepts one; return it and all its options.

    Options are the fields of a dataclass, else the given options; values that files cannot represent become
    text.
    """
    solver, options = make(contestant, tolerance), dict(contestant.options)
    if is_dataclass(solver) and not isinstance(solver, type):
        options = {spec.name: getattr(solver, spec.name) for spec in fields(solver) if spec.init}
    return solver, {
        name: value if isinstance(value, bool | int | float | str) else str(value)[:200]
        for name, value in sorted(options.items())
    }


class Compiling(event.Listener):  # type: ignore[misc]
    """Measures the time under Numba's compiler lock within a `with` statement."""

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """tell: called with "compiling" at the start of a compilation, and with "compiled" at its end."""
        self.met = False
        """Whether anything was compiled or loaded."""
        self._tell, self._depth = tell, 0
        self._wall = self._cpu = 0.0
        self._begun = (0.0, 0.0)

    @property
    def seconds(self) -> float:
        """Wall time of compilation so far [s]."""
        return self._wall + (time.perf_counter() - self._begun[0] if self._depth else 0.0)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of compilation so far [s]."""
        return self._cpu + (time.process_time() - self._begun[1] if self._depth else 0.0)

    def on_start(self, event: Any) -> None:
        """Register the start of a compilation."""
        if not self._depth:
            self.met = True
            self._begun = time.perf_counter(), time.process_time()
            self._tell("compiling")
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Register the end of a compilation."""
        self._depth -= 1
        if not self._depth:
            self._tell("compiled")
            self._wall += time.perf_counter() - self._begun[0]
            self._cpu += time.process_time() - self._begun[1]

    def __enter__(self) -> "Compiling":
        event.register(LOCK, self)
        return self

    def __exit__(self, *failure: object) -> None:
        event.unregister(LOCK, self)


class TimeIsUp(BaseException):
    """Raised by `progress` at the time limit; `except Exception` of a solver does not catch it."""


@dataclass
class Call:
    """One call of a solver, and its times."""

    answer: Any = None
    """Return value."""
    seconds: float = math.nan
    """Wall time without compilation [s]."""
    cpu_seconds: float = math.nan
    """Processor time without compilation [s]."""
    compile_seconds: float = 0.0
    """Wall time of compilation [s]."""
    compiled: bool = False
    """Whether anything was compiled, or loaded from the cache."""
    late: bool = False
    """Whether it was stopped at the time limit."""
    iterations: int = 0
    """Last reported number of iterations."""
    error: float = math.nan
    """Last reported error [-]."""


def call(solver: Any, problem: Problem, tell: Tell, timeout: float | None = None) -> Call:
    """Call the solver once; with a `timeout` [s] it is stopped by `progress`, if it accepts that argument."""
    if isinstance(problem, GlobalProblem):  # without the cached factors of M of an earlier solve
        problem = replace(problem, M=MassMatrix(problem.M.matrix))
    done = Call()

    def progress(iterations: int, error: float) -> None:
        with suppress(TypeError, ValueError, OverflowError):
            done.iterations, done.error = int(iterations), float(error)
        if timeout is not None and time.perf_counter() - start - compiling.seconds > timeout:
            raise TimeIsUp

    arguments = {"progress": progress} if timeout is not None and takes(solver.solve, "progress") else {}
    with np.errstate(), Compiling(tell) as compiling:
        tell("calling")
        cpu, start = time.process_time(), time.perf_counter()
        try:
            done.answer = solver.solve(problem, **arguments)
        except TimeIsUp:
            done.late = True
        finally:
            wall, cpu = time.perf_counter() - start, time.process_time() - cpu
            tell("called")
    done.seconds = max(0.0, wall - compiling.seconds)
    done.cpu_seconds = max(0.0, cpu - compiling.cpu_seconds)
    done.compile_seconds, done.compiled = compiling.seconds, compiling.met
    return done
