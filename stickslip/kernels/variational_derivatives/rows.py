"""All rows of one contact and of one joint, and displacements of bodies in imaginary directions.

The kernels that steps use are evaluated at complex poses (`kernels/bodies/rotation.py`). R (2, 3, 3) and
x (2, 3) place the two bodies of a contact or joint; R need not stay orthogonal beyond first order in ε.
"""

from stickslip.kernels.bodies.gaps import LINEARISED, fill_tangents, gap_and_normal, rows_at, world_point
from stickslip.kernels.bodies.joint_geometry import (
    CYLINDRICAL,
    DISTANCE,
    SLIDER,
    angle_row,
    dot,
    hold_rows,
    line_row,
    locate,
    slide_row,
    turns,
)
from stickslip.kernels.jit import jit

SLIDE, ANGLE, AXIS, JOINT_ROWS = 6, 7, 8, 9
"""Rows of a joint after the six that it may hold: of its two coordinates, and of the turn about its axis."""


@jit
def displace(R, x, d, by):
    """Displace a body along direction d of (δx, δθ): x + by e_d, or R (1 + by [e_d]×)."""
    if d < 3:
        x[d] += by
        return
    i, j = (d - 2) % 3, (d - 1) % 3
    for k in range(3):
        a, b = R[k, i], R[k, j]
        R[k, i] = a + by * b
        R[k, j] = b - by * a


@jit
def contact_rows(kind, point, normal, radius, given, R, x, frame, P, rows):
    """Gap of a contact, and its rows (6, 2, 6): n, t1, t2, rolling about t1, t2, torsion about n.

    point (2, 3), radius (2,), R, x complex; normal (3,), given (3, 3) real; frame (3, 3), P (2, 3) complex
    room for its axes and where it touches.
    """
    if kind == LINEARISED:
        for side in range(2):
            world_point(x, R, side, point[side], P[side])
        for k in range(3):
            for m in range(3):
                frame[k, m] = given[k, m]
        gap = dot(frame[0], P[0]) - dot(frame[0], P[1])
    else:
        gap = gap_and_normal(kind, 0, 1, point, normal, radius, x, R, frame[0], P)
        fill_tangents(frame)
    rows_at(kind, 0, 1, radius, frame, x, R, P, rows)
    return gap


@jit
def joint_rows(kind, point, frame, length, count, at, rows, values):
    """Rows (9, 2, 6) of what a joint holds, count = (place, turn) of them, and of s, its angle and the turn
    about its axis where it has them; errors and coordinates into values (8,).   at: a `scene` whose R and x
    are there."""
    locate(point, frame, at)
    hold_rows(kind, length, frame, at, count[0], count[1], rows, values)
    if kind in (SLIDER, CYLINDRICAL, DISTANCE):
        values[SLIDE] = slide_row(kind, at, rows[SLIDE])
    if turns(kind):
        line_row(1, kind, at, rows[AXIS])
        values[ANGLE] = angle_row(at, rows[ANGLE])
