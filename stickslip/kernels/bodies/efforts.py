"""Efforts of actuators: forces and moments that two bodies exert on each other at a joint."""

import numpy as np

from stickslip.kernels.bodies.joint_geometry import (
    coordinate_row,
    line_row,
    place_joint,
    rate,
    scene,
    within_turn,
)
from stickslip.kernels.jit import jit


@jit
def add_efforts(kind, body, point, frame, joint, column, effort, q, F):
    """F (n, 6) += wrenches of all actuators, moments in the frames of the bodies: + on the first body and -
    on the second, at one place, so that momentum is kept.

    Joints: kind (nj,), body (nj, 2), point (nj, 2, 3), frame (nj, 2, 3, 3). Actuators: joint (k,), column
    (k,) 0 along the joint and 1 about its axis, effort (k,). q (7 n,).
    """
    at, row = scene(q), np.empty((2, 6), q.dtype)
    for k in range(joint.shape[0]):
        j = joint[k]
        place_joint(body[j], point[j], frame[j], q, at)
        line_row(column[k], kind[j], at, row)
        for side in range(2):
            b = body[j, side]
            if b >= 0:
                for m in range(6):
                    F[b, m] += effort[k] * row[side, m]


@jit
def effort_coordinate(kind, body, point, frame, lower, upper, c, q, v):
    """s (c = 0) or the angle (c = 1) of one joint, and its rate along or about what an effort acts along."""
    at, row = scene(q), np.empty((2, 6), q.dtype)
    place_joint(body, point, frame, q, at)
    y = coordinate_row(c, kind, at, row)
    if c == 1:
        y = within_turn(y, lower, upper)
    line_row(c, kind, at, row)
    return y, rate(body, row, v)
