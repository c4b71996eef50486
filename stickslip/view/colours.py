"""Colours of bodies in pictures: by body, speed, contact force or contact state."""

from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.state import Array
from stickslip.view.browser.instances import colour_of
from stickslip.view.browser.scales import scale_top
from stickslip.view.browser.stage import STATE_COLOURS, Frame, Stage

FIXED = (206, 208, 213)
"""Colour of fixed bodies, light, so that shadows on them are visible [0 to 255]."""
FREE = (235, 235, 235)
"""Colour of a body without contacts if colours show contact states [0 to 255]."""
SCALE = "viridis"
"""Colour map of Matplotlib for numbers; it is perceptually uniform, also in grey."""
ORDER = ("slipping", "rolling", "sticking", "separating")
"""Precedence of contact states: a body has the colour of the first state among its contacts."""


@dataclass(frozen=True, eq=False)
class Colouring:
    """Colours of bodies in all frames of a stage, with one scale for the whole run."""

    stage: Stage
    by: str
    """Quantity shown by colours: the option `colour` of `Look`."""
    top: float
    """Number at the upper end of the scale [m/s or N]; 0 without a scale."""

    @classmethod
    def of(cls, stage: Stage, by: str) -> "Colouring":
        """The colouring of a stage, with a scale from its records."""
        return cls(stage, by, scale_top(stage, by))

    @property
    def unit(self) -> str:
        """Unit of the numbers on the scale."""
        return {"speed": "m/s", "force": "N"}.get(self.by, "")

    def bodies(self, frame: Frame) -> Array:
        """Red, green and blue of every body [0 to 255], shape (nb, 3)."""
        model = self.stage.model
        colours = np.array([colour_of(model, body, FIXED) for body in range(len(model))], float)
        moves = model.kind == BodyKind.DYNAMIC
        if self.by == "state":
            colours[moves] = _states(frame, len(model))[moves]
        elif self.by != "body":
            shares = np.clip(self.numbers(frame) / self.top, 0.0, 1.0)
            colours[moves] = 255.0 * matplotlib.colormaps[SCALE](shares)[moves, :3]
        return colours.reshape(-1, 3)

    def numbers(self, frame: Frame) -> Array:
        """Number on the scale of every body: its speed [m/s], or the sum of the magnitudes of its contact
        forces [N], shape (nb,); non-finite values are replaced by 0."""
        if self.by == "speed":
            values = np.linalg.norm(frame.velocity[:, :3], axis=1)
        else:
            values = np.zeros(len(self.stage.model))
            magnitudes = np.linalg.norm(frame.forces, axis=1)
            for side in (0, 1):
                np.add.at(values, frame.pairs[:, side], magnitudes)
        return np.where(np.isfinite(values), values, 0.0)


def draw_legend(axes: Any, colouring: Colouring, extent: Any, ink: str) -> None:
    """Draw the legend of the colours in the upper right corner."""
    left, right, _, top = extent
    wide = right - left
    if colouring.by == "body":
        return
    if colouring.by == "state":
        marks = [*STATE_COLOURS.items(), ("no contact", FREE)]
        for k, (name, colour) in enumerate(marks):
            place = top - (0.035 + 0.035 * k) * wide
            axes.scatter(
                [right - 0.155 * wide],
                [place],
                s=16.0,
                marker="s",
                color=[np.array(colour) / 255.0],
                zorder=5,
            )
            axes.text(right - 0.135 * wide, place, name, ha="left", va="center", color=ink, zorder=5)
        return
    ends = right - 0.24 * wide, right - 0.04 * wide
    bar = matplotlib.colormaps[SCALE](np.linspace(0.0, 1.0, 128))[None, :, :3]
    axes.imshow(bar, extent=(*ends, top - 0.045 * wide, top - 0.03 * wide), aspect="auto", zorder=5)
    words: dict[str, Any] = {"va": "top", "color": ink, "zorder": 5}
    axes.text(ends[0], top - 0.05 * wide, "0", ha="center", **words)
    axes.text(ends[1], top - 0.05 * wide, f"{colouring.top:g}", ha="center", **words)
    axes.text(0.5 * sum(ends), top - 0.05 * wide, f"{colouring.by} [{colouring.unit}]", ha="center", **words)


def _states(frame: Frame, count: int) -> Array:
    """Colour of each body by the states of its contacts, see `ORDER` [0 to 255], shape (nb, 3)."""
    colours = np.tile(np.array(FREE, float), (count, 1))
    for state in reversed(ORDER):
        colours[frame.pairs[frame.states == state].reshape(-1)] = STATE_COLOURS[state]
    return colours
