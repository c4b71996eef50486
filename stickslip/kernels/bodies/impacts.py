"""Whether a step has an impact that its law makes in several problems (`schemes/body_impacts.py`)."""

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
        by_forces, row = 0.0, blocks.rows[blocks.offset[i]]
        for side in range(2):
            b = blocks.sides[i, side]
            if b >= 0:
                for k in range(6):
                    by_forces += row[side, k] * (v_free[b, k] - v_start[b, k])
        if approach[i] < -abs(by_forces):
            return True
    return False
