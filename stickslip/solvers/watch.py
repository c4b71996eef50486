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

from stickslip.compilation.timing import Compilation
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.residuals import examine
from stickslip.problem.solution import AnyProblem, Status
from stickslip.solvers.certify import Attempt
from stickslip.solvers.registry import Progress

HALVING = 0.5
"""Progress means that the error falls to this share of what it was."""
NEARLY = 0.1
"""An exact error within this share of the tolerance may be rounding of a relaxed answer that is exact."""
LONGEST_GAP = 50
"""Most iterations between two looks of a cheap method: a look costs about one of them."""
PROGRESS_SECONDS = 0.1
"""Time between two calls of `progress` [s]; it changes what is shown, nothing that is computed."""


class Watch:
    """Counts iterations of one solve, judges its iterates, keeps the best and the history."""

    def __init__(
        self, problem: AnyProblem, tolerance: float, limit: int,
        progress: Progress | None = None, patience: int = 0, relaxed: bool = False,
    ):  # fmt: skip
        """`limit`: most iterations; `patience`: iterations without halving the error before it has
        stalled, 0 for never; `relaxed`: judge the convex relaxation, for methods that solve that."""
        self.problem, self.tolerance, self.limit, self.patience = problem, tolerance, limit, patience
        has_friction = isinstance(problem, ContactProblem | GlobalProblem) and problem.K.coefficient.size > 0
        self.relaxed = relaxed and has_friction
        self.iterations = 0
        self.best = np.zeros(problem.size)
        """Best impulses so far by the judge [N s], shape (n,)."""
        self.error = np.inf
        """Error of `best`: the larger of natural and natural_scaled [-]."""
        self.best_v: Array | None = None
        """Velocities that belong to `best`, of a global problem [m/s, rad/s], shape (nv,)."""
        self.best_lam: Array | None = None
        """Multipliers that belong to `best`, of a global problem [N s], shape (p,)."""
        self.u = problem.u_free if isinstance(problem, ContactProblem) else np.zeros(problem.size)
        """Velocities of the impulses last looked at [m/s], shape (n,); w of a problem over a box."""
        self.scaled = np.inf
        """natural_scaled of the impulses last looked at [-]: for decisions that must not know units."""
        self.status: Status | None = None
        self.reason = ""
        self.operations = 0.0
        """Multiplications, where the method counts them."""
        self.certificate: Certificate | None = None
        """Why there is no solution, in the method's view."""
        self._progress, self._history = progress, []  # type: ignore[var-annotated]
        self._mark, self._mark_at, self._shown = np.inf, 0, 0.0

    def __enter__(self) -> "Watch":
        self._silence = np.errstate(all="ignore")  # what overflows is judged as such
        self._silence.__enter__()
        self._compilation = Compilation()
        self._compilation.__enter__()
        self._start = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._seconds = time.perf_counter() - self._start
        self._compilation.__exit__()
        self._silence.__exit__(kind, error, trace)

    @property
    def goes_on(self) -> bool:
        """Whether neither an end was found nor the limit of iterations reached."""
        return self.status is None and self.iterations < self.limit

    @property
    def gap(self) -> int:
        """Iterations to make before the next look: a fifth of those made, at most LONGEST_GAP."""
        return min(1 + self.iterations // 4, LONGEST_GAP, self.limit - self.iterations)

    def look(self, r: Array, iterations: int = 1, v: Array | None = None, lam: Array | None = None) -> float:
        """Judge `r` (of a global problem with `v` and `lam`), reached by so many more iterations.

        Returns its error, infinite if it is not finite.
        """
        self.iterations += iterations
        residuals, self.u = examine(self.problem, np.ascontiguousarray(r), v, lam, self.relaxed)
        error, self.scaled = residuals.error, residuals.natural_scaled
        self._history.append((self.iterations, residuals.natural, residuals.natural_scaled))
        if error < self.error or residuals.solved(self.tolerance):
            self.error, self.best = error, r.copy()
            self.best_v, self.best_lam = (None if x is None else x.copy() for x in (v, lam))
        if residuals.solved(self.tolerance) and not self._nearly_exact(r, error, v, lam):
            self.status = Status.RELAXED if self.relaxed else Status.SOLVED
        elif not np.isfinite(error):
            self.status = Status.NOT_FINITE
        elif self.error <= HALVING * self._mark:
            self._mark, self._mark_at = self.error, self.iterations
        elif self.patience and self.iterations - self._mark_at >= self.patience:
            still = self.iterations - self._mark_at
            self.stop(Status.STALLED, f"the residual has not halved for {still} iterations")
        self._tell()
        return error

    def _nearly_exact(self, r: Array, error: float, v: Array | None, lam: Array | None) -> bool:
        """Whether a relaxed answer may still become one of the exact law, where nothing slides."""
        if not self.relaxed or error <= NEARLY * self.tolerance:
            return False
        exact = examine(self.problem, np.ascontiguousarray(r), v, lam)[0]
        return self.tolerance < exact.error <= self.tolerance / NEARLY

    def stop(self, status: Status, reason: str = "") -> None:
        """End the iteration for a reason of the method's own."""
        self.status, self.reason = status, reason

    def attempt(self) -> Attempt:
        """The best iterate and how it was found."""
        history = np.array(self._history).reshape(-1, 3)
        status = self.status or Status.MAX_ITERATIONS
        if self.relaxed and self.error <= self.tolerance:
            status = Status.RELAXED
        return Attempt(
            self.best, status, self.iterations,
            self._seconds - self._compilation.seconds, self._compilation.seconds, history, self.reason,
            operations=self.operations, certificate=self.certificate,
        )  # fmt: skip

    def _tell(self) -> None:
        if self._progress is not None and time.perf_counter() - self._shown >= PROGRESS_SECONDS:
            self._shown = time.perf_counter()
            self._progress(self.iterations, self.error)
