"""Projected Gauss-Seidel and SOR: each row of A z + b in turn.

z_i <- P_[l_i, u_i](z_i - omega (A z + b)_i / A_ii). It converges for symmetric positive definite A and
0 < omega < 2 (Cryer 1971), and for diagonally dominant ones with omega <= 1.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import box_sweeps
from stickslip.options import iterations_option, option
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.solution import Status
from stickslip.solvers.base import BoxSolver
from stickslip.solvers.watch import Watch

PATIENCE = 2_000
"""Number of sweeps without halving the error after which the method counts as stalled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedGaussSeidel(BoxSolver):
    """Projected Gauss-Seidel and SOR row by row, for problems without friction and positive diagonal."""

    name: ClassVar[str] = "pgs"
    max_iterations: int = iterations_option(20_000, "sweeps")
    relaxation: float = option(
        1.0,
        "relaxation of the rows: above 1 over-relaxation (SOR), below 1 damping",
        low=0.0,
        high=2.0,
        open_low=True,
        open_high=True,
    )
    symmetric: bool = option(False, "sweep forward and backward, which counts as one sweep")

    patience: ClassVar[int] = PATIENCE

    def iterate(self, problem: BoxProblem, guess: Array | None, watch: Watch) -> None:
        """Make sweeps over the rows."""
        start = np.zeros(problem.size) if guess is None else guess
        z = np.clip(start, problem.lower, problem.upper)
        watch.look(z, 0)
        diagonal = np.ascontiguousarray(problem.A.diagonal())
        bad = np.flatnonzero(~(diagonal > 0.0) & (problem.lower < problem.upper))
        if bad.size and watch.goes_on:
            i = int(bad[0])
            watch.stop(
                Status.STALLED,
                f"row {i} has diagonal {diagonal[i]:.3g}, which Gauss-Seidel would divide by; it must"
                " be positive: use lemke or newton-min",
            )
        A = problem.A if isinstance(problem.A, sp.csr_array) else sp.csr_array(problem.A)
        rows = A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data, diagonal
        bounds = problem.lower, problem.upper
        while watch.goes_on:
            gap = watch.gap
            box_sweeps.sweep(rows, problem.b, bounds, self.relaxation, self.symmetric, gap, z)
            watch.look(z, gap)
