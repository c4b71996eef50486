"""Watch over an iteration: ask the judge, keep the best, say when to stop.

Every iterative solver in Python runs inside one:

    with Watch(problem, tolerance, limit, progress) as watch:
        while watch.goes_on:
            ...one iteration...
            watch.look(r)
    return watch.attempt()

Decisions are made on counts and residuals, never on the clock.
"""

import time
from types import TracebackType

import numpy as np

from stickslip.kernels.jit import Compilation
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.problem.residuals import examine
from stickslip.problem.solution import Status
from stickslip.solvers.certify import Attempt
from stickslip.solvers.registry import Progress

HALVING = 0.5
"""Progress means that the error falls to this share of what it was."""
PROGRESS_SECONDS = 0.1
"""Time between two calls of `progress` [s]; it changes what is shown, nothing that is computed."""


class Watch:
    """Counts iterations of one solve, judges its iterates, keeps the best and the history."""

    def __init__(
        self, problem: ContactProblem, tolerance: float, limit: int, progress: Progress | None = None,
        patience: int = 0,
    ):  # fmt: skip
        """`limit`: most iterations; `patience`: iterations without halving the error before it has
        stalled, 0 for never."""
        self.problem, self.tolerance, self.limit, self.patience = problem, tolerance, limit, patience
        self.iterations = 0
        self.best = np.zeros(problem.size)
        """Best impulses so far by the judge [N s], shape (n,)."""
        self.error = np.inf
        """Error of `best`: the larger of natural and natural_scaled [-]."""
        self.u = problem.u_free
        """Velocities of the impulses last looked at [m/s], shape (n,)."""
        self.status: Status | None = None
        self.reason = ""
        self.operations = 0.0
        """Multiplications, where the method counts them."""
        self._progress, self._history = progress, []  # type: ignore[var-annotated]
        self._mark, self._mark_at, self._shown = np.inf, 0, 0.0

    def __enter__(self) -> "Watch":
        self._compilation = Compilation()
        self._compilation.__enter__()
        self._start = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._seconds = time.perf_counter() - self._start
        self._compilation.__exit__()

    @property
    def goes_on(self) -> bool:
        """Whether neither an end was found nor the limit of iterations reached."""
        return self.status is None and self.iterations < self.limit

    def look(self, r: Array, iterations: int = 1) -> float:
        """Judge `r`, reached by so many more iterations; returns its error (infinite if not finite)."""
        self.iterations += iterations
        residuals, self.u = examine(self.problem, np.ascontiguousarray(r), None, None)
        error = residuals.error
        self._history.append((self.iterations, residuals.natural, residuals.natural_scaled))
        if error < self.error:
            self.error, self.best = error, r.copy()
        if residuals.solved(self.tolerance):
            self.status, self.error, self.best = Status.SOLVED, error, r.copy()
        elif not np.isfinite(error):
            self.status = Status.NOT_FINITE
        elif self.error <= HALVING * self._mark:
            self._mark, self._mark_at = self.error, self.iterations
        elif self.patience and self.iterations - self._mark_at >= self.patience:
            still = self.iterations - self._mark_at
            self.stop(Status.STALLED, f"the residual has not halved for {still} iterations")
        self._tell()
        return error

    def stop(self, status: Status, reason: str = "") -> None:
        """End the iteration for a reason of the method's own."""
        self.status, self.reason = status, reason

    def attempt(self) -> Attempt:
        """The best iterate and how it was found."""
        history = np.array(self._history).reshape(-1, 3)
        return Attempt(
            self.best, self.status or Status.MAX_ITERATIONS, self.iterations,
            self._seconds - self._compilation.seconds, self._compilation.seconds, history, self.reason,
            operations=self.operations,
        )  # fmt: skip

    def _tell(self) -> None:
        if self._progress is not None and time.perf_counter() - self._shown >= PROGRESS_SECONDS:
            self._shown = time.perf_counter()
            self._progress(self.iterations, self.error)
