"""De Saxcé's shift and its derivative, for the interior point that linearises it."""

import math

from stickslip.kernels.jit import jit


@jit
def shifted(offset, size, u, smoothing, out, B):
    """out <- u + s e on friction cones, s = sqrt(|u_T|² + smoothing²) - smoothing, and B = d(out)/du.

    Scaled to mu = 1, so the shift is |u_T| itself. Blocks with one cone component or none have no shift;
    a fixed component has B = 0 rows, set by the caller.
    """
    for i in range(size.shape[0]):
        o, m = offset[i], size[i]
        square = smoothing * smoothing
        for k in range(o, offset[i + 1]):
            out[k] = u[k]
        for k in range(1, m):
            square += u[o + k] * u[o + k]
        if m > 1:
            slide = math.sqrt(square)
            out[o] += slide - smoothing
            for k in range(1, m):
                B[i, 0, k] = u[o + k] / slide if slide > 0.0 else 0.0
