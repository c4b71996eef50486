"""Frames of contacts from their normals."""

import numpy as np

from stickslip.kernels.jit import jit


@jit
def fill_tangents(frame):
    """frame[1], frame[2] <- t1, t2, with frame[0] = n right-handed and orthonormal to rounding; n a unit
    vector.   frame (3, 3).

    Duff et al. 2017, Building an orthonormal basis, revisited, JCGT 6(1), listing 3: no branch, a function
    of n alone; it jumps where n_z changes sign.
    """
    n0, n1, n2 = frame[0, 0], frame[0, 1], frame[0, 2]
    sign = np.copysign(1.0, n2.real)
    a = -1.0 / (sign + n2)
    b = n0 * n1 * a
    frame[1, 0], frame[1, 1], frame[1, 2] = 1.0 + sign * n0 * n0 * a, sign * b, -sign * n0
    frame[2, 0], frame[2, 1], frame[2, 2] = b, sign + n1 * n1 * a, -n1
