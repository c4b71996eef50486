"""Where the bodies of a world touch: spheres by the grid, all else by the general narrow phase."""

from stickslip.detection.contacts import ContactSet
from stickslip.detection.general import GeneralDetector
from stickslip.mechanics.world import World
from stickslip.state import Array


class Detector:
    """A workspace for the contacts of one world; it holds no state of the physics: same q, same bytes."""

    def __init__(self, world: World):
        self._general = GeneralDetector(world, spheres=True)

    def find(self, q: Array, margin: float) -> ContactSet:
        """All contacts with gap <= margin [m] at q, shape (7 n,)."""
        return self._general.find(q, margin)
