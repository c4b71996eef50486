"""Anderson-accelerated Gauss-Seidel: each sweep starts from a mix of the last ones.

Type II, safeguarded by restarts (`kernels/anderson.py`), over the sweeps of `gauss_seidel.py` in both
of their forms. It helps where sweeps converge slowly and the contacts have found their states; where
states keep changing it restarts, its path depends on rounding, and it may stall above what plain sweeps
would reach in the long run.
"""

from dataclasses import dataclass
from functools import partial

from numpy.typing import ArrayLike

from stickslip.kernels import anderson
from stickslip.options import Options, iterations_option, option, tolerance_option
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.problem.solution import Problem, Solution
from stickslip.solvers.certify import Attempt, certified
from stickslip.solvers.gauss_seidel import GaussSeidel, Loop, by_sweeps
from stickslip.solvers.registry import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Anderson(Options):
    """Anderson-accelerated Gauss-Seidel, for every kind of block; fast where sweeps are slow but steady."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(20_000, "sweeps")
    memory: int = option(8, "earlier sweeps that are mixed; costs as many vectors twice", low=1, high=100)
    form: str = option(
        "auto", "sweep on W in blocks, on body velocities, or as the problem comes",
        choices=("auto", "delassus", "bodies"),
    )  # fmt: skip

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none); any problem, through its contact form."""
        return certified("anderson", partial(self.attempt, progress=progress), problem, guess, self.tolerance)

    def attempt(
        self, problem: ContactProblem, guess: Array | None, tolerance: float,
        progress: Progress | None = None, *, hopeful: bool = False, window: int = 0,
    ) -> Attempt:  # fmt: skip
        """Sweep over a contact problem; what was found, not yet certified.

        `hopeful` and `window` as in `by_sweeps`: the residual of mixed sweeps goes up and down.
        """
        sweeps = self.max_iterations
        return by_sweeps(
            self.prepare, problem, guess, tolerance, sweeps, progress, hopeful=hopeful, window=window
        )

    def prepare(self, problem: ContactProblem) -> Loop:
        """The compiled loop with the problem, its work arrays and a memory of sweeps in it."""
        plain = GaussSeidel(form=self.form).prepare(problem)
        swept, work, _ = plain.args
        return partial(plain.func, swept, work, anderson.memory_of(swept, self.memory))
