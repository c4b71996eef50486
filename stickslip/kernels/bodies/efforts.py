"""Efforts of actuators: forces and moments that two bodies exert on each other at a joint."""

import numpy as np

from stickslip.kernels.bodies.rotation import matrix, times
from stickslip.kernels.jit import jit


@jit
def add_efforts(body, point, force, moment, q, F):
    """F += wrenches of all actuators, + on the first body and - on the second.

    body (k, 2), -1 for the inertial frame; point (k, 3) in the frame of the first body; force, moment (k, 3)
    in that of the second; q (n, 7); F (n, 6), moments in the frames of the bodies.
    """
    R = np.empty((2, 3, 3))
    x = np.empty((2, 3))
    for k in range(body.shape[0]):
        for side in range(2):
            b = body[k, side]
            if b < 0:
                matrix(1.0, 0.0, 0.0, 0.0, R[side])
                x[side] = 0.0
            else:
                matrix(q[b, 3], q[b, 4], q[b, 5], q[b, 6], R[side])
                x[side] = q[b, :3]
        p0, p1, p2 = times(R[0], point[k, 0], point[k, 1], point[k, 2])
        p0, p1, p2 = p0 + x[0, 0], p1 + x[0, 1], p2 + x[0, 2]
        f0, f1, f2 = times(R[1], force[k, 0], force[k, 1], force[k, 2])
        m0, m1, m2 = times(R[1], moment[k, 0], moment[k, 1], moment[k, 2])
        for side in range(2):
            b = body[k, side]
            if b < 0:
                continue
            sign = 1.0 - 2.0 * side
            a0, a1, a2 = p0 - x[side, 0], p1 - x[side, 1], p2 - x[side, 2]
            t0, t1, t2 = m0 + a1 * f2 - a2 * f1, m1 + a2 * f0 - a0 * f2, m2 + a0 * f1 - a1 * f0
            F[b, 0] += sign * f0
            F[b, 1] += sign * f1
            F[b, 2] += sign * f2
            for i in range(3):
                F[b, 3 + i] += sign * (R[side, 0, i] * t0 + R[side, 1, i] * t1 + R[side, 2, i] * t2)
