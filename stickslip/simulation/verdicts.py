"""What the steps of a run prove, whatever it is a run of."""

import numpy as np

from stickslip.problem.solution import Verdict
from stickslip.state import BoolArray, IntArray


class RunVerdict:
    """The verdict of a run from those of its records."""

    verdicts: IntArray
    missed: int
    relaxation: str

    @property
    def ok(self) -> BoolArray:
        """Whether all steps since the record before are certified: solved to their tolerance under the exact
        law [-], shape (n,), bool; False for every step in which the scheme puts another law in its place. Of
        the start it is True, which no step led to. No later step changes it."""
        return np.asarray(self.verdicts == Verdict.CERTIFIED.code)

    @property
    def verdict(self) -> Verdict:
        """What the run proves, all its steps together: certified, relaxed or missed."""
        if self.missed or (self.verdicts == Verdict.MISSED.code).any():
            return Verdict.MISSED
        return Verdict.CERTIFIED if self.ok.all() and not self.relaxation else Verdict.RELAXED
