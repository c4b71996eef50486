"""Contacts of ellipsoids, cylinders, hulls and height fields to rounding, from those of a narrow phase.

Where the closest points of two shapes are searched for, their distance is as good as the search and the
normal as its root; of shapes that just overlap, normals may be off by 1e-3. The gap of the features that meet
there (`gaps.py`) has its normal by Newton's method. Which features these are is looked for as far from the
place as a search errs, and told from the place that they lead to.
"""

import numpy as np

from stickslip.kernels.bodies.feature_pairs import place_rows
from stickslip.kernels.bodies.features import CORE, FIELD, LOOSE, PLANE, RIM, ROUGH, ShapeFeatures
from stickslip.kernels.bodies.frames import fill_tangents
from stickslip.kernels.bodies.gaps import Forms, gap_and_normal, poses_of
from stickslip.kernels.jit import jit

TURN, SHIFT = 1e-2, 1e-4
"""Largest change of a normal, and of a place over the size of shapes; of a gap over that size [-]."""
COARSER = (1.0, 30.0, 1000.0)
"""How far from a place features are looked for, over `ShapeFeatures.near` [-]."""
SAME = 1e-4
"""Share of the largest change up to which what meets at a place is what met at the one before [-]."""
CLOSE = 2.0
"""Gap over `ShapeFeatures.near` below which the difference of closest points is no good normal [-]."""
SIZE = 1e6
"""Size of a shape over `ShapeFeatures.near` [-]."""


@jit
def coarser(t, times):
    """`ShapeFeatures` t that take places for the same so many times as far away."""
    return ShapeFeatures(
        t.family, t.body, t.position, t.R, t.radius, t.size, times * t.near, t.start, t.corner, t.edge,
        t.normal, t.ring_start, t.ring, t.grid, t.heights, times * t.aligned, t.searched,
    )  # fmt: skip


@jit
def searched(tables, s, t):
    """Whether contacts of two shapes are found again by their features."""
    flat = PLANE in (tables.family[s], tables.family[t])
    return max(tables.searched[s], tables.searched[t]) > (1 if flat else 0)


@jit
def told_again(tables, q, shape, body, point, normal, gap):
    """Which contacts are of features (m,) bool; point (m, 3), normal (m, 3), gap (m,) of these <- by them.

    tables: `ShapeFeatures`; shape (m, 2), body (m, 2); q (n, 7).
    """
    m = gap.shape[0]
    fits, least = np.zeros(m, np.bool_), np.full(tables.family.shape[0], RIM)
    rows, count = place_rows(tables, q, shape, point, normal, gap, least, True)
    own = np.empty((count, 2), np.int64)
    for k in range(count):
        for side in range(2):
            own[k, side] = body[rows.contact[k], side if rows.flip[k] == 0 else 1 - side]
    forms = Forms(rows.kind, own, rows.point, rows.normal, rows.axis, rows.radius, rows.round)
    poses, n, c = poses_of(q), np.empty(3), np.empty((2, 3))
    for k in range(count):
        i, sign = rows.contact[k], 1.0 if rows.flip[k] == 0 else -1.0
        if not rows.mark[k] & (ROUGH | LOOSE):
            fits[i], gap[i] = True, gap_and_normal(forms, k, poses, n, c)
            for d in range(3):
                point[i, d] = c[0, d] - (rows.radius[k, 0] + 0.5 * gap[i]) * n[d]
                normal[i, d] = sign * n[d] + 0.0  # no negative zeros
    return fits


@jit
def away(found, i, size, point, normal, gap):
    """How far a place, normal and gap are from contact i, over what a search errs by: 1 at most where they
    are of the same contact."""
    moved = turned = 0.0
    for d in range(3):
        moved = max(moved, abs(point[d] - found.point[i, d]))
        turned = max(turned, abs(normal[d] - found.frame[i, 0, d]))
    return max(turned / TURN, moved / (TURN * size), abs(gap - found.gap[i]) / (SHIFT * size))


@jit
def is_alone(found, i):
    """Whether contact i is the only one of its two shapes."""
    for j in range(max(i - 1, 0), min(i + 2, found.id.shape[0])):
        if j != i and found.shape[j, 0] == found.shape[i, 0] and found.shape[j, 1] == found.shape[i, 1]:
            return False
    return True


@jit
def refine(found, tables, q):
    """Gaps, places and frames of `Contacts` <- those of the features that meet there; the numbers of those
    that are alone and stay as they are, for their features are not known or farther away than a search errs.

    tables: `ShapeFeatures`; q (n, 7).
    """
    nc, m = found.id.shape[0], 0
    left = np.empty(nc, np.int64)
    for i in range(nc):
        if searched(tables, found.shape[i, 0], found.shape[i, 1]):
            left[m] = i
            m += 1
    for times in COARSER:
        if m == 0:
            break
        mine = left[:m].copy()
        shape, body, point, gap = found.shape[mine], found.body[mine], found.point[mine], found.gap[mine]
        normal = found.frame[mine, 0]
        fits = told_again(coarser(tables, times), q, shape, body, point, normal, gap)
        size, far, count = np.empty(m), np.empty(m), 0
        unsure = np.empty(m, np.int64)
        for k in range(m):
            size[k] = SIZE * max(tables.near[shape[k, 0]], tables.near[shape[k, 1]])
            far[k] = away(found, mine[k], size[k], point[k], normal[k], gap[k])
            if fits[k] and far[k] <= 1.0 and (times > 1.0 or far[k] > SAME):
                unsure[count] = k
                count += 1
        if count > 0:  # what meets at the place that they lead to
            own = unsure[:count]
            points, normals, gaps = point[own], normal[own], gap[own]
            again = told_again(tables, q, shape[own], body[own], points, normals, gaps)
            for j in range(count):
                k = own[j]
                fits[k], gap[k] = again[j], gaps[j]
                for d in range(3):
                    point[k, d], normal[k, d] = points[j, d], normals[j, d]
                far[k] = away(found, mine[k], size[k], point[k], normal[k], gap[k])
        m = 0
        for k in range(mine.shape[0]):
            i = mine[k]
            if fits[k] and far[k] <= 1.0:
                found.gap[i] = gap[k]
                for d in range(3):
                    found.point[i, d], found.frame[i, 0, d] = point[k, d], normal[k, d]
                fill_tangents(found.frame[i])
            elif is_alone(found, i):  # several of one pair have normals of faces
                left[m] = i
                m += 1
    return left[:m]


@jit
def doubtful(found, left, tables):
    """Which of the contacts `left` have a normal that is not to be trusted: the difference of closest points
    that all but coincide."""
    out, m = np.empty(left.shape[0], np.int64), 0
    for i in left:
        s, t = found.shape[i, 0], found.shape[i, 1]
        near, apart = CLOSE * max(tables.near[s], tables.near[t]), False
        for one in (s, t):  # whose closest points lie inside, or have no normal of their own
            apart = apart or tables.family[one] == FIELD or tables.family[one] == PLANE
            apart = apart or (tables.family[one] == CORE and tables.radius[one] > 0.0)
        if not apart and abs(found.gap[i]) < near:
            out[m] = i
            m += 1
    return out[:m]
