"""Where a step of Moreau-Jean has no derivative: contacts and stops about to switch, and corrections."""

import numpy as np

from stickslip.gradients.moreau_jean_assembly import Assembly
from stickslip.gradients.moreau_jean_joints import LOWER, UPPER, JointBlocks
from stickslip.mechanics.world import World
from stickslip.schemes.bodies import Finder, MoreauJeanBodies
from stickslip.schemes.body_blocks import contact_blocks
from stickslip.schemes.body_joints import joint_coordinates
from stickslip.schemes.body_start import Start
from stickslip.schemes.body_step import BodyStep
from stickslip.state import Array

NEAR = 1e-9
"""Share of the size of things below which a gap or velocity is on the border."""


def kinks_of(
    scheme: MoreauJeanBodies, step: BodyStep, assembly: Assembly, detector: Finder
) -> tuple[str, ...]:
    """A sentence for each thing that is where its derivative jumps, or that is not differentiated."""
    return ()
