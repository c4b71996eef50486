"""Calls of a solver: timed with compilation apart, stopped by `progress` when time is up."""

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
from stickslip.solvers.registry import Progress

LOCK = "numba:compiler_lock"
"""Numba's event around compiling a function or loading it from its cache."""
Tell = Callable[..., None]
"""Hears what happens in a run, an event and what belongs to it: `made` (the solver is there, with `options`),
`calling`, `called`, `compiling`, `compiled`, `delegated` (a peer has the run, and keeps its time itself)."""


@dataclass(frozen=True)
class Entrant:
    """A solver made for one run."""

    solver: Any
    """With a verb `solve(problem)`."""
    options: dict[str, Any]
    """All its options that can be seen, defaults too."""
    tells: bool
    """Whether `solve` takes `progress`."""

    def solve(self, problem: Any, progress: Progress | None = None) -> Any:
        """What it finds; `progress` goes to those who take it."""
        if progress is None or not self.tells:
            return self.solver.solve(problem)
        return self.solver.solve(problem, progress=progress)


def entrant(contestant: Contestant, tolerance: float) -> Entrant:
    """The solver of a contestant with its options, and with the tolerance where it takes one."""
    solver = make(contestant, tolerance)
    return Entrant(solver, _options(solver, dict(contestant.options)), takes(solver.solve, "progress"))


def _options(solver: Any, given: dict[str, Any]) -> dict[str, Any]:
    """All fields of a dataclass, otherwise what was given; values that no file can hold as text."""
    seen = given
    if is_dataclass(solver) and not isinstance(solver, type):
        seen = {spec.name: getattr(solver, spec.name) for spec in fields(solver) if spec.init}
    return {
        name: value if isinstance(value, bool | int | float | str) else str(value)[:200]
        for name, value in sorted(seen.items())
    }


class Compiling(event.Listener):  # type: ignore[misc]
    """Time under Numba's compiler lock inside a `with`, whoever asked for it: ours or a user's own solver."""

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """`tell` is called with "compiling" when compilation begins, with "compiled" when it has ended."""
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
        """Numba begins."""
        if not self._depth:
            self.met = True
            self._begun = time.perf_counter(), time.process_time()
            self._tell("compiling")
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Numba has ended."""
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


def untold(event: str, **more: Any) -> None:
    """Keep what happens to oneself."""


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


def call(entrant: Entrant, problem: Problem, tell: Tell, timeout: float | None = None) -> Call | Stopped:
    """Call the solver once; with a `timeout` [s] its progress is watched."""
    problem = fresh(problem)
    with np.errstate(), Compiling(tell) as compiling:
        cpu_start, start = time.process_time(), time.perf_counter()

        def spent() -> float:
            return time.perf_counter() - start - compiling.seconds

        guard = None if timeout is None else Guard(timeout, spent)
        tell("calling")
        cpu_start, start = time.process_time(), time.perf_counter()
        try:
            answer = entrant.solve(problem, guard)
            seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
        except TimeIsUp:
            assert guard is not None
            return Stopped(spent(), compiling.seconds, guard.iterations, guard.error)
        finally:
            tell("called")
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
