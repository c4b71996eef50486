"""Interior point for monotone complementarity problems: predictor and corrector on the LCP.

The problem is converted to an LCP (`box_to_lcp`, which keeps A + A' positive semidefinite). From x = w = a
large number, Newton steps on w = M x + q, x_i w_i = sigma kappa keep x, w > 0. sigma follows from a predictor
step with sigma = 0 (Mehrotra 1992; for the LCP Wright 1997, ch. 8). The final solution is exact: the active
pairs are determined by x > w and their equations are solved.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stickslip.options import iterations_option, option
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.convert import box_to_lcp
from stickslip.problem.convert.complementarity import is_monotone, least_eigenvalue
from stickslip.problem.equilibration import equilibrate
from stickslip.problem.solution import Status
from stickslip.solvers.base import BoxSolver
from stickslip.solvers.lemke import box_certificate, settled
from stickslip.solvers.watch import Watch

PATIENCE = 30
"""Number of steps without halving the error after which the method counts as stalled."""
NEAR = 1e-4
"""Error below which the equations of the currently active pairs are solved (heuristic)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonotoneInteriorPoint(BoxSolver):
    """Interior point with predictor and corrector, for monotone problems without friction."""

    name: ClassVar[str] = "ipm-lcp"
    max_iterations: int = iterations_option(200, "steps")
    fraction: float = option(
        0.995,
        "largest fraction of the distance to the boundary in one step",
        low=0.5,
        high=1.0,
        open_high=True,
    )

    patience: ClassVar[int] = PATIENCE

    def iterate(self, problem: BoxProblem, guess: Array | None, watch: Watch) -> None:
        """Make interior-point steps."""
        if guess is not None:
            watch.look(guess, 0)
        conversion = box_to_lcp(problem)
        M = np.asarray(conversion.problem.A)
        scale = equilibrate(np.maximum(np.abs(M), np.abs(M).T))[0]  # the same for rows and columns
        path = _Path(scale[:, None] * M * scale, scale * conversion.problem.b, self.fraction)
        while watch.goes_on:
            if path.n and not path.step():
                watch.stop(Status.STALLED, "Newton's matrix is singular")
                break
            z = conversion.recover(scale * path.x).r
            error = watch.look(np.clip(z, problem.lower, problem.upper))
            if watch.goes_on and error <= NEAR:
                decided = np.where(path.x > path.w, path.x, 0.0)
                watch.look(settled(problem, conversion.recover(scale * decided).r), 0)
        if watch.status is not Status.SOLVED:
            watch.certificate = box_certificate(problem)
            if watch.certificate is None and not is_monotone(M):
                watch.stop(
                    Status.STALLED,
                    f"A + A' has a negative eigenvalue, {least_eigenvalue(M):.2g} of its largest entry:"
                    " the problem is not monotone, which ipm-lcp needs; take lemke or newton-min",
                )


class _Path:
    """Iterate x, w > 0 of one LCP w = M x + q."""

    def __init__(self, M: Array, q: Array, fraction: float):
        self.M, self.q, self.fraction, self.n = M, q, fraction, q.size
        size = max(1.0, float(np.abs(q).max(initial=0.0)))
        self.x, self.w = np.full(self.n, size), np.full(self.n, size)

    def step(self) -> bool:
        """Make one step by predictor and corrector; return False if the matrix is singular."""
        x, w = self.x, self.w
        miss = w - self.M @ x - self.q
        kappa = float(x @ w) / self.n
        matrix = self.M + np.diag(w / x)
        try:
            inverse = np.linalg.inv(matrix)
            # 1. Predictor, sigma = 0.
            dx = inverse @ (miss - w)
            dw = self.M @ dx - miss
            reach = self._longest(dx, dw, 1.0)
            ahead = float((x + reach * dx) @ (w + reach * dw)) / self.n
            sigma = (max(ahead, 0.0) / kappa) ** 3
            # 2. Corrector with the second-order term dx dw of the predictor.
            dx = inverse @ (miss - w + (sigma * kappa - dx * dw) / x)
            dw = self.M @ dx - miss
        except np.linalg.LinAlgError:
            return False
        if not (np.isfinite(dx).all() and np.isfinite(dw).all()):
            return False
        length = self._longest(dx, dw, self.fraction)
        self.x, self.w = x + length * dx, w + length * dw
        return bool((self.x > 0.0).all() and (self.w > 0.0).all())

    def _longest(self, dx: Array, dw: Array, fraction: float) -> float:
        """Return the largest equal step, at most 1, that keeps x and w positive."""
        rate = max(float((-dx / self.x).max()), float((-dw / self.w).max()), 0.0)
        return 1.0 if rate <= fraction else fraction / rate
