"""Contact detection: spheres and planes by a grid, other shapes by MuJoCo; contacts with persistent ids."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.detection.contacts import ContactSet as ContactSet
    from stickslip.detection.detector import Detector as Detector
    from stickslip.detection.overlaps import Overlap as Overlap
    from stickslip.detection.overlaps import find_overlaps as find_overlaps
    from stickslip.detection.pair_gaps import SmoothGap as SmoothGap
    from stickslip.detection.pair_gaps import smooth_gaps as smooth_gaps
else:
    __getattr__, __dir__ = door(__name__)
