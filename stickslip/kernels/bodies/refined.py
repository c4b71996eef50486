"""Refinement of contacts of ellipsoids, cylinders, hulls and height fields to rounding error.

If a narrow phase searches for the closest points of two shapes, their distance has the error of the search,
and the normal the square root of it; normals of shapes that barely overlap may have errors of 1e-3. The gap
of the features that meet at a contact (`gaps.py`) has a normal by Newton's method. These features are
searched for within the error of the narrow phase, and are checked at the refined contact point.
"""

import numpy as np

from stickslip.kernels.bodies.feature_pairs import place_rows
from stickslip.kernels.bodies.features import CORE, FIELD, LOOSE, PLANE, RIM, ROUGH, ShapeFeatures
from stickslip.kernels.bodies.frames import fill_tangents
from stickslip.kernels.bodies.gaps import Forms, gap_and_normal, poses_of
from stickslip.kernels.jit import jit

TURN, SHIFT = 1e-2, 1e-4
"""Largest changes by a refinement: TURN for normals, and for points over the size of shapes; SHIFT for gaps
over this size [-] (heuristic)."""
COARSER = (1.0, 30.0, 1000.0)
"""Tolerances of the search for features, over `ShapeFeatures.near` [-] (heuristic)."""
SAME = 1e-4
"""If the change is below this share of the largest one, the features are not checked again [-]
(heuristic)."""
CLOSE = 2.0
"""If the gap over `ShapeFeatures.near` is below this, the difference of closest points is not a reliable
normal [-] (heuristic)."""
SIZE = 1e6
"""Size of a shape over `ShapeFeatures.near` [-]."""


@jit
def coarser(t, times):
    """Return the `ShapeFeatures` t with tolerances multiplied by `times`."""
    return ShapeFeatures(
        t.family, t.body, t.position, t.R, t.radius, t.size, times * t.near, t.start, t.corner, t.edge,
        t.normal, t.ring_start, t.ring, t.grid, t.heights, times * t.aligned, t.searched,
    )  # fmt: skip


@jit
def searched(tables, s, t):
    """Return whether contacts of two shapes are refined: a narrow phase searches for their closest points."""
    flat = PLANE in (tables.family[s], tables.family[t])
    return max(tables.searched[s], tables.searched[t]) > (1 if flat else 0)


@jit
def refit(tables, q, shape, body, point, normal, gap):
    """point (m, 3), normal (m, 3), gap (m,) <- those of the features that meet at m contacts.

    Return whether each contact has matching features (m,); contacts without them are not changed. tables:
    `ShapeFeatures`; shape (m, 2), body (m, 2); q (n, 7).
    """
    m = gap.shape[0]
    fits, least = np.zeros(m, np.bool_), np.full(tables.family.shape[0], RIM)
    rows, count = place_rows(tables, q, shape, point, normal, gap, least, True)
    sides = np.empty((count, 2), np.int64)
    for k in range(count):
        for side in range(2):
            sides[k, side] = body[rows.contact[k], side if rows.flip[k] == 0 else 1 - side]
    forms = Forms(rows.kind, sides, rows.point, rows.normal, rows.axis, rows.radius, rows.round)
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
def away(contacts, i, size, point, normal, gap):
    """Return the difference of a point, normal and gap from contact i, over the error of a search.

    It is at most 1 if they belong to the same contact. size: of the shapes [m].
    """
    moved = turned = 0.0
    for d in range(3):
        moved = max(moved, abs(point[d] - contacts.point[i, d]))
        turned = max(turned, abs(normal[d] - contacts.frame[i, 0, d]))
    return max(turned / TURN, moved / (TURN * size), abs(gap - contacts.gap[i]) / (SHIFT * size))


@jit
def is_alone(contacts, i):
    """Return whether contact i is the only one of its two shapes."""
    for j in range(max(i - 1, 0), min(i + 2, contacts.id.shape[0])):
        if (
            j != i
            and contacts.shape[j, 0] == contacts.shape[i, 0]
            and contacts.shape[j, 1] == contacts.shape[i, 1]
        ):
            return False
    return True


@jit
def refine(contacts, tables, q):
    """contacts, `Contacts` <- gaps, points and frames of the features that meet at each contact.

    Return the numbers of the contacts that are the only one of their shapes and are not refined, since their
    features are unknown or beyond the error of a search. tables: `ShapeFeatures`; q (n, 7).
    """
    # 1. Contacts to refine.
    nc, m = contacts.id.shape[0], 0
    remaining = np.empty(nc, np.int64)
    for i in range(nc):
        if searched(tables, contacts.shape[i, 0], contacts.shape[i, 1]):
            remaining[m] = i
            m += 1
    for times in COARSER:
        if m == 0:
            break
        # 2. Features within this tolerance.
        chosen = remaining[:m].copy()
        shape, body, point, gap = (
            contacts.shape[chosen],
            contacts.body[chosen],
            contacts.point[chosen],
            contacts.gap[chosen],
        )
        normal = contacts.frame[chosen, 0]
        fits = refit(coarser(tables, times), q, shape, body, point, normal, gap)
        size, far, count = np.empty(m), np.empty(m), 0
        unsure = np.empty(m, np.int64)
        for k in range(m):
            size[k] = SIZE * max(tables.near[shape[k, 0]], tables.near[shape[k, 1]])
            far[k] = away(contacts, chosen[k], size[k], point[k], normal[k], gap[k])
            if fits[k] and far[k] <= 1.0 and (times > 1.0 or far[k] > SAME):
                unsure[count] = k
                count += 1
        # 3. Features at the refined point, if it has moved.
        if count > 0:
            recheck = unsure[:count]
            points, normals, gaps = point[recheck], normal[recheck], gap[recheck]
            again = refit(tables, q, shape[recheck], body[recheck], points, normals, gaps)
            for j in range(count):
                k = recheck[j]
                fits[k], gap[k] = again[j], gaps[j]
                for d in range(3):
                    point[k, d], normal[k, d] = points[j, d], normals[j, d]
                far[k] = away(contacts, chosen[k], size[k], point[k], normal[k], gap[k])
        # 4. Accepted contacts; others are tried again with a larger tolerance.
        m = 0
        for k in range(chosen.shape[0]):
            i = chosen[k]
            if fits[k] and far[k] <= 1.0:
                contacts.gap[i] = gap[k]
                for d in range(3):
                    contacts.point[i, d], contacts.frame[i, 0, d] = point[k, d], normal[k, d]
                fill_tangents(contacts.frame[i])
            elif is_alone(contacts, i):  # several contacts of a pair have normals of faces
                remaining[m] = i
                m += 1
    return remaining[:m]


@jit
def doubtful(contacts, remaining, tables):
    """Return those `remaining` contacts with unreliable normals: differences of almost equal points."""
    out, m = np.empty(remaining.shape[0], np.int64), 0
    for i in remaining:
        s, t = contacts.shape[i, 0], contacts.shape[i, 1]
        near, apart = CLOSE * max(tables.near[s], tables.near[t]), False
        for shape in (s, t):  # shapes with closest points inside, or with normals of their own
            apart = apart or tables.family[shape] == FIELD or tables.family[shape] == PLANE
            apart = apart or (tables.family[shape] == CORE and tables.radius[shape] > 0.0)
        if not apart and abs(contacts.gap[i]) < near:
            out[m] = i
            m += 1
    return out[:m]
