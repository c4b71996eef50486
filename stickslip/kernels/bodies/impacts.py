"""Whether a step has an impact that its law makes in several problems (`schemes/body_impacts.py`)."""

from stickslip.kernels.bodies.motion import rate
from stickslip.kernels.jit import jit


@jit
def compresses(approach, law):
    """Whether a contact approaches that gives something back.   approach (nc,), law (nc, 4)."""
    found = False
    for i in range(approach.shape[0]):
        found = found or (approach[i] < 0.0 and law[i, 3] > 0.0)
    return found


@jit
def strikes(approach, blocks, v_start, v_free):
    """Whether a contact closes faster than forces alone would make it in a step.

    approach (nc,): of the first of `Blocks`; velocities (n, 6) before and after these forces.
    """
    for i in range(approach.shape[0]):
        sides, row = blocks.sides[i], blocks.rows[blocks.offset[i]]
        if approach[i] < -abs(rate(sides, row, v_free) - rate(sides, row, v_start)):
            return True
    return False
