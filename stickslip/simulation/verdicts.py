"""Verdict of a run, for any model."""

import numpy as np

from stickslip.problem.solution import Verdict
from stickslip.state import BoolArray, IntArray


class RunVerdict:
    """Base class of runs: the verdict of a run from those of its records."""

    verdicts: IntArray
    missed: int
    relaxation: str

    @property
    def ok(self) -> BoolArray:
        """Whether all steps since the previous record are certified, that is, solved to their tolerance under
        the exact law [-], shape (n,), bool. It is False for steps with another law, and True for the start.
        Later steps do not change it."""
        return np.asarray(self.verdicts == Verdict.CERTIFIED.code)

    @property
    def verdict(self) -> Verdict:
        """Verdict on all steps of the run: certified, relaxed or missed."""
        if self.missed or (self.verdicts == Verdict.MISSED.code).any():
            return Verdict.MISSED
        return Verdict.CERTIFIED if self.ok.all() and not self.relaxation else Verdict.RELAXED
