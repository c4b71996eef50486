"""A run that was told to stop at a step that missed its tolerance."""

from typing import Any

from stickslip.schemes.step import Step


class SimulationFailure(RuntimeError):  # noqa: N818 (a failure is not an error of the caller)
    """A step missed its tolerance, and the run was told to stop at that; what was done is kept."""

    def __init__(self, t: float, step: Step, trajectory: Any, more: str = ""):
        self.t, self.step, self.trajectory = t, step, trajectory
        bad = [one for one in step.solves if not one.ok]
        bad.sort(key=lambda one: -one.verdict.code)  # of a relaxed step only what was missed is to blame
        self.solution = bad[0] if bad else None
        """The first answer that missed its tolerance; None where the scheme itself failed."""
        reason = step.reason or "; ".join(
            f"{one.solver}: {one.reason or one.status.value} (natural {one.residuals.natural:.2e},"
            f" natural_scaled {one.residuals.natural_scaled:.2e}, tolerance {one.tolerance:.0e})"
            for one in bad[:1]
        )
        kept = '"accept" or "halve" goes on, and .trajectory holds what was done'
        goes_on = '"accept" goes on' if trajectory is None else kept
        super().__init__(
            f"the step of h = {step.h:.6g} s from t = {t:.9g} s missed its tolerance{more}: {reason};"
            f" on_failure={goes_on}"
        )
