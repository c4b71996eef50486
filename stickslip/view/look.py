"""Options of pictures: marks, colours, direction of the camera and size."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.options import Options, option

SMALLEST, LARGEST = 1.0, 10.0
"""Bounds of the edges of a picture [in]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look(Options):
    """Options of still pictures and animations of a world.

    The projection is parallel, so that the scale is the same everywhere. Vertical planes, such as the walls
    of a box, are not drawn.
    """

    contacts: bool = option(False, "mark contact points, coloured by state")
    forces: bool = option(False, "draw contact forces as arrows, on the body that can move or is lifted")
    colour: str = option(
        "body", "what colours of bodies show: each its own, speed, contact force, or what its contacts do",
        choices=("body", "speed", "force", "state"),
    )  # fmt: skip
    size: tuple[float, float] = option((5.6, 4.0), "width and height of the picture, 1 to 10 each", unit="in")
    dpi: float = option(200.0, "pixels per inch", unit="1/in", low=30.0, high=600.0)
    azimuth: float = option(-60.0, "direction of the viewer about the vertical, from the x axis", unit="°",
                            low=-360.0, high=360.0)  # fmt: skip
    elevation: float = option(18.0, "height of the viewer above the horizon", unit="°", low=-90.0, high=90.0)

    def __post_init__(self) -> None:
        """Check all options; `size` may be any pair of numbers."""
        edges = np.asarray(self.size, float)
        if edges.shape != (2,) or not ((edges >= SMALLEST) & (edges <= LARGEST)).all():
            raise ValueError(
                f"Look: size is {self.size}; width and height are {SMALLEST:g} to {LARGEST:g} in"
            )
        object.__setattr__(self, "size", (float(edges[0]), float(edges[1])))
        Options.__post_init__(self)

    @classmethod
    def in_pixels(cls, width: int, height: int) -> dict[str, Any]:
        """Options `size` and `dpi` of a picture with these numbers of pixels and the default size of text."""
        wide = 5.6
        return {"size": (wide, wide * height / max(width, 1)), "dpi": width / wide}

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height of the picture [pixels]."""
        return round(self.size[0] * self.dpi), round(self.size[1] * self.dpi)
