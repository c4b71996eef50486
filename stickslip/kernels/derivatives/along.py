"""Derivatives of the kernels of steps along many directions, with complex numbers
(`kernels/bodies/rotation.py`).

The first axis of arrays is that of directions; it has length 1 for arrays without derivatives. The other axes
are those of the kernels. Contacts: (kind, flip, body, frame), see `Forms`; if flip is 1, the ball or point
belongs to the second body and the plane to the first.
"""

import numpy as np

from stickslip.kernels.bodies.frames import fill_tangents
from stickslip.kernels.bodies.gaps import LINEARISED, Forms, gap_and_normal, poses_of, rows_at, world_point
from stickslip.kernels.bodies.joint_geometry import block_rows, dot, place_joint, scene
from stickslip.kernels.bodies.motion import accelerate, move_along, move_half, rate
from stickslip.kernels.bodies.rotation import product
from stickslip.kernels.jit import jit
from stickslip.kernels.variational.momentum import momentum


@jit
def at(x, d):
    """Return x of direction d."""
    return x[d if x.shape[0] > 1 else 0]


@jit
def moved(q, v, h, out):
    """out (k, n, 7) <- `move_along` of all directions."""
    for d in range(out.shape[0]):
        move_along(at(q, d), at(v, d), at(h, d), out[d])


@jit
def freely(row, J, J_inverse, q, v, h, q_end, v_end):
    """q_end, v_end <- `move_half` of all directions."""
    for d in range(q_end.shape[0]):
        move_half(row, at(J, d), at(J_inverse, d), at(q, d), at(v, d), at(h, d), q_end[d], v_end[d])


@jit
def accelerated(bodies, gravity, v, F, h, v_free, f):
    """v_free (k, n, 6), f (k, nd, 6) <- `accelerate` of the dynamic bodies.

    bodies: (row, mass, J, J_inverse).
    """
    row, mass, J, J_inverse = bodies
    fall, push = np.empty(3, v_free.dtype), np.empty(6, v_free.dtype)
    for d in range(f.shape[0]):
        for k in range(3):
            fall[k] = at(h, d) * at(gravity, d)[k]
        m, inertia, inverse, speed, force = at(mass, d), at(J, d), at(J_inverse, d), at(v, d), at(F, d)
        for i in range(row.shape[0]):
            if row[i] >= 0:
                for k in range(6):
                    push[k] = at(h, d) * force[i, k]
                accelerate(m[i], inertia[i], inverse[i], fall, push, speed[i], v_free[d, i], f[d, row[i]])


@jit
def momenta(mass, J, v, h, out):
    """out (k, n, 6) <- `momentum` of all bodies."""
    for d in range(out.shape[0]):
        m, inertia, speed = at(mass, d), at(J, d), at(v, d)
        for i in range(out.shape[1]):
            momentum(m[i], inertia[i], at(h, d), speed[i], out[d, i])


@jit
def displacements(q, small, out):
    """out (k, n, 6) <- displacements δx, δθ = 2 vec(p̄ ∘ δp) / |p|² from imaginary parts of q over `small`."""
    for d in range(out.shape[0]):
        for i in range(out.shape[1]):
            p = q[d, i, 3:]
            square = 0.0
            for k in range(4):
                square += p[k].real * p[k].real
            a0, a1, a2, a3 = p[0].real, -p[1].real, -p[2].real, -p[3].real
            _, t0, t1, t2 = product(a0, a1, a2, a3, p[0].imag, p[1].imag, p[2].imag, p[3].imag)
            for k in range(3):
                out[d, i, k] = q[d, i, k].imag / small
            scale = 2.0 / (square * small)
            out[d, i, 3], out[d, i, 4], out[d, i, 5] = scale * t0, scale * t1, scale * t2


@jit
def add_lines(values, line, out):
    """out (size, k) <- out + values (k, m, w) at their rows line (m, w), -1 for none."""
    for i in range(line.shape[0]):
        for k in range(line.shape[1]):
            if line[i, k] >= 0:
                for d in range(values.shape[0]):
                    out[line[i, k], d] += values[d, i, k]


@jit
def entries(values, line, side, colours, colour, column, out):
    """out: value, row, column <- entries of a sparse matrix, those of values (k, m, w) that are not 0.

    Return their number. line (m, w): row of each value, -1 for none; side (m, any): bodies that each item
    depends on, -1 for none, of which one has the `colour`; column (n + 1, k): columns of the perturbed
    numbers of each body, the last row for those of no body.
    """
    value, at_line, at_column = out
    count, none = 0, column.shape[0] - 1
    for i in range(line.shape[0]):
        owner = none if colour < 0 else -1
        if colour >= 0:
            for s in range(side.shape[1]):
                if side[i, s] >= 0 and colours[side[i, s]] == colour:
                    owner = side[i, s]
        if owner < 0:
            continue
        for d in range(values.shape[0]):
            if column[owner, d] >= 0:
                for k in range(line.shape[1]):
                    if values[d, i, k] != 0.0 and line[i, k] >= 0:
                        value[count], at_line[count] = values[d, i, k], line[i, k]
                        at_column[count] = column[owner, d]
                        count += 1
    return count


@jit
def rates(rows, sides, v, out):
    """out (k, p) <- rows (k, p, 2, 6) times velocities v (k, n, 6) of their sides (p, 2), -1 for none."""
    for d in range(out.shape[0]):
        row, speed = at(rows, d), at(v, d)
        for j in range(out.shape[1]):
            out[d, j] = rate(sides[j], row[j], speed)


@jit
def contacts(table, share, shaped, q, rows, gap):
    """rows (k, nc, 6, 2, 6), gap (k, nc) <- `rows_at` and gaps of all contacts.

    Rows are taken at the surface of the first body plus `share` of the gap. table: contacts, see above;
    shaped: point, radius, normal, axis, round of `Forms`, those of the ball first.
    """
    kind, flip, body, frames = table
    point, radius, normal, axis, rounds = shaped
    frame, c, reach = np.empty((3, 3), q.dtype), np.empty((2, 3), q.dtype), np.zeros(2, q.dtype)
    balls = body.copy()
    for i in range(kind.shape[0]):
        if flip[i]:
            balls[i, 0], balls[i, 1] = body[i, 1], body[i, 0]
    for d in range(gap.shape[0]):
        poses = poses_of(at(q, d))
        points, radii = at(point, d), at(radius, d)
        forms = Forms(kind, balls, points, at(normal, d), at(axis, d), radii, at(rounds, d))
        for i in range(kind.shape[0]):
            pair = body[i, 0], body[i, 1]
            if kind[i] == LINEARISED:
                for side in range(2):
                    world_point(poses, pair[side], points[i, side], c[side])
                for k in range(3):
                    for m in range(3):
                        frame[k, m] = frames[i, k, m]
                gap[d, i] = dot(frame[0], c[0]) - dot(frame[0], c[1])
            else:
                sign = -1.0 if flip[i] else 1.0
                gap[d, i] = gap_and_normal(forms, i, poses, frame[0], c)
                for k in range(3):
                    frame[0, k] *= sign
                fill_tangents(frame)
                reach[0] = sign * (radii[i, 0] + share * gap[d, i])
            rows_at(kind[i], pair, reach, frame, poses, c, rows[d, i])


@jit
def joints(table, joint, part, start, q, rows, value):
    """rows (k, p, 2, 6), value (k, p) <- `block_rows` of m blocks of joints; rows of the inertial frame are
    0.

    table: `JointArrays`; joint, part (m,): of the blocks; start (m + 1,): their first rows.
    """
    place = scene(q)
    for d in range(value.shape[0]):
        flat, last = at(q, d).reshape(-1), -1
        for i in range(joint.shape[0]):
            j, n = joint[i], start[i]
            if j != last:
                place_joint(table, j, table.body[j], flat, place)
                last = j
            block_rows(part[i], table, j, place, rows[d, n:], value[d, n:])
            for side in range(2):
                if table.body[j, side] < 0:
                    rows[d, n : start[i + 1], side] = 0.0
