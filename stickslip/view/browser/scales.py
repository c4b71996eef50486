"""Upper ends of the colour scales of speeds and forces, constant over a run."""

import math

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.simulation.trajectory import Trajectory
from stickslip.view.browser.stage import SAMPLE, Stage

HIGH = 0.98
"""Quantile of the speeds of a run at the end of the scale [-]; faster bodies have the last colour."""
FORCES = 2.0
"""End of the scale of forces [typical contact forces]."""


def scale_top(stage: Stage, by: str) -> float:
    """Speed [m/s] or contact force [N] at the end of the scale; 0 for other colourings."""
    if by == "speed":
        return _rounded(_usual_speed(stage))
    return _rounded(FORCES * stage.arrow / stage.force_scale) if by == "force" else 0.0


def _usual_speed(stage: Stage) -> float:
    """Quantile `HIGH` of the speeds of dynamic bodies [m/s]; 1 without speeds."""
    if isinstance(stage.records, Trajectory):
        twists = stage.records.sample(SAMPLE).twists
    else:
        twists = np.zeros((1, 6 * len(stage.model))) if stage.records is None else stage.records.twists[None]
    moves = stage.model.kind == BodyKind.DYNAMIC
    speeds = np.linalg.norm(twists.reshape(len(twists), -1, 6)[:, moves, :3], axis=2)
    speeds = speeds[np.isfinite(speeds)]
    return float(np.quantile(speeds, HIGH)) if speeds.size else 1.0


def _rounded(number: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten; 1 for numbers that are not positive and finite."""
    if not 0.0 < number < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(number))
    return next(
        float(f"{k * power:.6g}") for k in (1.0, 2.0, 5.0, 10.0) if k * power >= number * (1.0 - 1e-9)
    )
