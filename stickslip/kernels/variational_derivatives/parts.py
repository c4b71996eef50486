"""What all contacts and joints of a step are, and how they change with the poses of their two bodies.

Directions are numbered (δx, δθ) of the first body, then of the second, δθ in its own frame; further ones of
contacts are its two points (3 + 3) and its two radii.
"""

import numpy as np

from stickslip.kernels.bodies.gaps import LINEARISED
from stickslip.kernels.bodies.joint_geometry import place_body, scene
from stickslip.kernels.jit import jit
from stickslip.kernels.variational_derivatives.rows import JOINT_ROWS, contact_rows, displace, joint_rows

SMALL = 1e-30
"""Step in the imaginary direction."""
POSES, SHAPES = 12, 20
"""Directions of poses, and these with points and radii."""


@jit
def tell(coefficient, rows, body, v, v_before, wrench, rate, before):
    """wrench (12,), rate, before (k,) <- imaginary parts of Σ coefficient rows, rows v and rows v_before.

    coefficient (k,), rows (k, 2, 6) complex.
    """
    for k in range(coefficient.shape[0]):
        rate[k], before[k] = 0.0, 0.0
    for side in range(2):
        i = body[side]
        for m in range(6):
            total = 0.0
            for k in range(coefficient.shape[0]):
                slope = rows[k, side, m].imag / SMALL
                total += coefficient[k] * slope
                if i >= 0:
                    rate[k] += slope * v[i, m]
                    before[k] += slope * v_before[i, m]
            wrench[6 * side + m] = total


@jit
def moved(R0, x0, side, d, R, x):
    """R, x <- R0, x0 with one of the bodies displaced in the imaginary direction."""
    for s in range(2):
        for k in range(3):
            x[s, k] = x0[s, k]
            for m in range(3):
                R[s, k, m] = R0[s, k, m]
    displace(R[side], x[side], d, SMALL * 1j)


@jit
def contact_parts(
    kind, body, point, normal, radius, frame, r, q, q_end, v, v_before, directions, rows, end_rows, gap,
    wrench, rate, before, opening,
):  # fmt: skip
    """Rows at the start (nc, 6, 2, 6), rows of the gap at the end (nc, 2, 6), gaps there (nc,), and how the
    impulses r (nc, 6) on both bodies (nc, d, 12), rows times v and times v_before (nc, d, 6) and, of points
    and radii, gaps at the end (nc, d - 12) change along d directions."""
    R0, x0 = np.empty((2, 3, 3), np.complex128), np.empty((2, 3), np.complex128)
    R1, x1 = np.empty((2, 3, 3), np.complex128), np.empty((2, 3), np.complex128)
    R, x, P = (
        np.empty((2, 3, 3), np.complex128),
        np.empty((2, 3), np.complex128),
        np.empty((2, 3), np.complex128),
    )
    axes, local = np.empty((3, 3), np.complex128), np.empty((6, 2, 6), np.complex128)
    c, a = np.empty((2, 3), np.complex128), np.empty(2, np.complex128)
    for i in range(kind.shape[0]):
        for side in range(2):
            place_body(q.reshape(-1), body[i, side], R0[side], x0[side])
            place_body(q_end.reshape(-1), body[i, side], R1[side], x1[side])
            a[side] = radius[i, side]
            for k in range(3):
                c[side, k] = point[i, side, k]
        contact_rows(kind[i], c, normal[i], a, frame[i], R0, x0, axes, P, local)
        for k in range(6):
            for side in range(2):
                for m in range(6):
                    rows[i, k, side, m] = local[k, side, m].real
        if kind[i] != LINEARISED:
            gap[i] = contact_rows(kind[i], c, normal[i], a, frame[i], R1, x1, axes, P, local).real
        for side in range(2):
            for m in range(6):
                end_rows[i, side, m] = local[0, side, m].real
        for d in range(directions):
            if d < POSES:
                if body[i, d // 6] < 0:
                    continue
                moved(R0, x0, d // 6, d % 6, R, x)
                contact_rows(kind[i], c, normal[i], a, frame[i], R, x, axes, P, local)
            else:
                shift(d - POSES, SMALL * 1j, c, a)
                if kind[i] != LINEARISED:
                    found = contact_rows(kind[i], c, normal[i], a, frame[i], R1, x1, axes, P, local)
                    opening[i, d - POSES] = found.imag / SMALL
                contact_rows(kind[i], c, normal[i], a, frame[i], R0, x0, axes, P, local)
                shift(d - POSES, -SMALL * 1j, c, a)
            tell(r[i], local, body[i], v, v_before, wrench[i, d], rate[i, d], before[i, d])


@jit
def shift(d, by, point, radius):
    """Change one number of points (2, 3) or radii (2,)."""
    if d < 6:
        point[d // 3, d % 3] += by
    else:
        radius[d - 6] += by


@jit
def joint_parts(
    kind, body, point, frame, length, count, coefficient, q, q_end, v, v_before, rows, end_rows, value,
    wrench, rate, before,
):  # fmt: skip
    """Rows at the start and at the end (nj, 9, 2, 6), errors and coordinates there (nj, 8), and how
    coefficient (nj, 9) times rows on both bodies (nj, 12, 12), rows times v and v_before (nj, 12, 9) change
    with poses.   count (nj, 2): components of place and of turn that joints hold."""
    R0, x0 = np.empty((2, 3, 3), np.complex128), np.empty((2, 3), np.complex128)
    at, y = scene(R0), np.zeros(8, np.complex128)
    local = np.zeros((JOINT_ROWS, 2, 6), np.complex128)
    for j in range(kind.shape[0]):
        local[:] = 0.0
        y[:] = 0.0
        many = count[j, 0], count[j, 1]
        for side in range(2):
            place_body(q_end.reshape(-1), body[j, side], at[0][side], at[1][side])
            place_body(q.reshape(-1), body[j, side], R0[side], x0[side])
        joint_rows(kind[j], point[j], frame[j], length[j], many, at, local, y)
        for k in range(8):
            value[j, k] = y[k].real
        end_rows[j] = local.real
        at[0][:], at[1][:] = R0, x0
        joint_rows(kind[j], point[j], frame[j], length[j], many, at, local, y)
        rows[j] = local.real
        for d in range(POSES):
            # rows of points that are held together do not change where bodies are only shifted
            if body[j, d // 6] < 0 or (count[j, 0] == 3 and d % 6 < 3):
                continue
            moved(R0, x0, d // 6, d % 6, at[0], at[1])
            joint_rows(kind[j], point[j], frame[j], length[j], many, at, local, y)
            tell(coefficient[j], local, body[j], v, v_before, wrench[j, d], rate[j, d], before[j, d])


@jit
def add_pairs(wrench, body, row, out):
    """out (6 nd, 6 n) += changes of wrenches on both bodies of a pair, (k, 12, 12), with the displacements of
    both (middle axis).   row (n,): numbers of the dynamic bodies, -1 for others."""
    for k in range(body.shape[0]):
        for by in range(2):
            j = body[k, by]
            if j < 0:
                continue
            for of in range(2):
                if body[k, of] < 0 or row[body[k, of]] < 0:
                    continue
                i = row[body[k, of]]
                for b in range(6):
                    for a in range(6):
                        out[6 * i + a, 6 * j + b] += wrench[k, 6 * by + b, 6 * of + a]
