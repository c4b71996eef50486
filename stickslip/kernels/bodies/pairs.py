"""Geometry of one contact, or one part of a joint, between two bodies, for relations of equations.

q (2, 7): poses of the two bodies, independent of their numbers in a world.
"""

from stickslip.kernels.bodies.frames import fill_tangents
from stickslip.kernels.bodies.gaps import gap_and_normal, poses_of, rows_at
from stickslip.kernels.bodies.joint_geometry import block_rows, coordinate_row, place_joint, scene
from stickslip.kernels.jit import jit


@jit
def contact_of_pair(forms, q, frame, c, rows):
    """Return the gap of the only contact of `Forms`.

    frame (3, 3) <- n, t1, t2; c (2, 3) <- points of the contact; rows (6, 2, 6) <- rows along n, t1, t2, of
    rolling about t1, t2, and of torsion about n.
    """
    poses = poses_of(q)
    gap = gap_and_normal(forms, 0, poses, frame[0], c)
    fill_tangents(frame)
    rows_at(forms.kind[0], (forms.body[0, 0], forms.body[0, 1]), forms.radius[0], frame, poses, c, rows)
    return gap


@jit
def joint_of_pair(joints, part, q, rows, value):
    """rows (6, 2, 6), value (6,) <- `block_rows` of a part of the only joint; return the number of rows."""
    flat, at = q.reshape(-1), scene(q)
    place_joint(joints, 0, joints.body[0], flat, at)
    return block_rows(part, joints, 0, at, rows, value)


@jit
def coordinate_of_pair(joints, column, q, row):
    """Return s (column 0) or the angle (column 1) of the only joint; row (2, 6) <- its row."""
    flat, at = q.reshape(-1), scene(q)
    place_joint(joints, 0, joints.body[0], flat, at)
    return coordinate_row(column, joints, 0, at, row)
