"""Frames of contacts from their normals."""

import numpy as np

from stickslip.kernels.jit import jit


@jit
def basis(n0, n1, n2):
    """(t1, t2), six numbers, with n, t1, t2 right-handed and orthonormal to rounding; n a unit vector.

    Duff et al. 2017, Building an orthonormal basis, revisited, JCGT 6(1), listing 3: no branch, a function
    of n alone; it jumps where n_z changes sign.
    """
    sign = np.copysign(1.0, n2.real)
    a = -1.0 / (sign + n2)
    b = n0 * n1 * a
    return 1.0 + sign * n0 * n0 * a, sign * b, -sign * n0, b, sign + n1 * n1 * a, -n1
