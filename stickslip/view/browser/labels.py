"""Names beside bodies."""

from typing import Any

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.view.browser.painter import Painter
from stickslip.view.browser.panel import shown_name
from stickslip.view.browser.stage import Frame, Stage

MOST = 200
"""Bodies that get a label; those that move come first."""


class Labels:
    """Labels that come with the first frame that is to have them, and then move with the bodies."""

    def __init__(self, scene: Any, stage: Stage, painter: Painter):
        order = np.argsort(stage.model.kind == BodyKind.FIXED, kind="stable")
        self.bodies = order[:MOST].tolist()
        """Numbers of the bodies that have one."""
        self._scene, self._painter, self._stage = scene, painter, stage
        self._handles: list[Any] = []

    def show(self, frame: Frame, shown: bool) -> None:
        """Move the labels to their bodies, or hide them."""
        if shown and not self._handles:
            names = self._stage.model.names
            self._handles = [
                self._scene.add_label(f"/labels/{body}", shown_name(names[body], 24)) for body in self.bodies
            ]
        places = self._painter.drawn(frame.bodies)
        for body, handle in zip(self.bodies, self._handles, strict=False):
            handle.visible = shown
            if shown:
                handle.position = places[body]
