"""Tests for impacts that need several contact problems in a step (`schemes/body_impacts.py`)."""

from stickslip.kernels.bodies.motion import rate
from stickslip.kernels.jit import jit


@jit
def compresses(approach, law):
    """Return whether any contact with restitution approaches.   approach (nc,), law (nc, 4)."""
    any_contact = False
    for i in range(approach.shape[0]):
        any_contact = any_contact or (approach[i] < 0.0 and law[i, 3] > 0.0)
    return any_contact


@jit
def strikes(approach, blocks, v_start, v_free):
    """Return whether any contact closes faster than the forces of a step alone could cause.

    approach (nc,): normal velocities of the first nc `blocks`; v_start, v_free (n, 6): velocities before and
    after the forces.
    """
    for i in range(approach.shape[0]):
        sides, row = blocks.sides[i], blocks.rows[blocks.offset[i]]
        if approach[i] < -abs(rate(sides, row, v_free) - rate(sides, row, v_start)):
            return True
    return False
