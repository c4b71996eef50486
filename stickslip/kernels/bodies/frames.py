"""Contact frames from normals."""

import math

import numpy as np

from stickslip.kernels.bodies.rotation import cross
from stickslip.kernels.jit import jit


@jit
def fill_tangents(frame):
    """frame[1], frame[2] <- tangents t1, t2, with the unit normal frame[0] = n right-handed and orthonormal.

    frame (3, 3). Duff et al. 2017, Building an orthonormal basis, revisited, JCGT 6(1), listing 3: without
    branches, a function of n only, discontinuous where n_z changes sign.
    """
    n0, n1, n2 = frame[0, 0], frame[0, 1], frame[0, 2]
    sign = np.copysign(1.0, n2.real)
    a = -1.0 / (sign + n2)
    b = n0 * n1 * a
    frame[1, 0], frame[1, 1], frame[1, 2] = 1.0 + sign * n0 * n0 * a, sign * b, -sign * n0
    frame[2, 0], frame[2, 1], frame[2, 2] = b, sign + n1 * n1 * a, -n1


@jit
def fill_frame(normal, out):
    """out (9,) <- rows: a unit normal (3,) and two tangents, right-handed.

    The tangents are computed with the coordinate axis that is most nearly perpendicular to the normal.
    """
    least = 0
    for k in range(1, 3):
        if abs(normal[k]) < abs(normal[least]):
            least = k
    for k in range(3):
        out[k], out[6 + k] = normal[k], 0.0
    out[6 + least] = 1.0
    a, b, c = cross(normal[0], normal[1], normal[2], out[6], out[7], out[8])
    length = math.sqrt(a * a + b * b + c * c)
    out[3], out[4], out[5] = a / length, b / length, c / length
    out[6], out[7], out[8] = cross(normal[0], normal[1], normal[2], out[3], out[4], out[5])
