"""Building blocks of first-order methods: products with W in either form, projections and norms of vectors.

K is a `Cones` (`kernels/cones.py`). W is a tuple of row_start, column, data_start, data (block rows, see
`kernels/blocks.py`), and bodies, rows, work (rows over bodies; work (bodies, k)). The arrays of the form that
is not used are empty.
"""

import math

from stickslip.kernels import blocks, cones
from stickslip.kernels.jit import jit


@jit
def velocity(offset, W, r, bias, u):
    """u <- W r + bias.   r, bias, u (n,); u and r are different arrays."""
    row_start, column, data_start, data, bodies, rows, work = W
    if bodies.shape[0] > 0:
        blocks.blocks_to_bodies(bodies, offset, rows, r, work)
        blocks.bodies_to_blocks(bodies, offset, rows, work, bias, u)
    else:
        blocks.multiply(blocks.BlockW(offset, row_start, column, data_start, data), r, bias, u)


@jit
def project_step(K, r, step, f, out):
    """out <- P_K(r - step f).   r, f, out (n,); out and f are different arrays."""
    kind, offset, group_offset, coefficient = K.kind, K.offset, K.group_offset, K.coefficient
    for i in range(kind.shape[0]):
        a, b, g = offset[i], offset[i + 1], group_offset[i]
        for k in range(a, b):
            out[k] = r[k] - step * f[k]
        if kind[i] == cones.FRICTION and b - a == 3 and group_offset[i + 1] - g == 1:  # Coulomb in 3D
            out[a], out[a + 1], out[a + 2] = cones.project_coulomb(
                coefficient[g], out[a], out[a + 1], out[a + 2]
            )
        else:
            cones.project_block(i, K, out, out)


@jit
def dot(x, y):
    """Return x·y.   x, y (n,)."""
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k] * y[k]
    return s


@jit
def difference(x, y):
    """Return |x - y|².   x, y (n,)."""
    s = 0.0
    for k in range(x.shape[0]):
        s += (x[k] - y[k]) * (x[k] - y[k])
    return s


@jit
def natural(K, r, u, q, x):
    """Return |r - P_K(r - u)| / max(|r|, |u|, |q|), 0/0 = 0, the residual of a problem without shift.

    r, u, q (n,) in scaled units; x (n,) work.
    """
    project_step(K, r, 1.0, u, x)
    top, bottom = difference(r, x), max(dot(r, r), dot(u, u), dot(q, q))
    return math.sqrt(top / bottom) if bottom > 0.0 else math.sqrt(top)
