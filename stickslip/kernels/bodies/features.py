"""Features of shapes at a contact: corners, edges and faces, with their round parts.

A narrow phase yields the closest points of two shapes and a normal. From these, the features that meet at the
contact are identified, and the contact becomes a row of `gaps.Forms` with their smooth gap. Shapes are cores
with a radius (a point, a line, a polyhedron), ellipsoids, cylinders and height fields. A cylinder has faces
at its ends, a line with a radius as its side, and a round corner, the rim, at each end. If the cylinder is so
upright that the lowest point of the rim is ill-defined, a point of the rim and its tangent replace the rim.
"""

import math
from typing import NamedTuple

import numpy as np

from stickslip.kernels.bodies.fields import Field, surface
from stickslip.kernels.bodies.joint_geometry import dot
from stickslip.kernels.bodies.rotation import cross, times, times_back
from stickslip.kernels.jit import jit
from stickslip.state import Array, BoolArray, IntArray

CORE, PLANE, ELLIPSOID, CYLINDER, FIELD = range(5)
"""Families of shapes."""
CORNER, EDGE, FACE = range(3)
"""Types of features."""
ALIGNED = 1e-5
"""Largest difference of a normal and that of a face, for points within `ShapeFeatures.near` [-]
(heuristic)."""
RIM = 0.02
"""Smallest sine of the angle between the axis of a cylinder at rest and the normal for which the rim is a
round corner [-] (heuristic)."""
PARALLEL, ALMOST = 1e-4, 0.05
"""Sines of the angle of two lines: below PARALLEL they have no common normal, below ALMOST their ends are
contacts too [-] (heuristic)."""
MORE = 4
"""Largest number of rows of a contact."""
SHARP, ROUGH, LOOSE, BORDER = 1, 2, 4, 8
"""Marks of rows, added: the gap is a distance of corners or edges, never negative; features do not match, and
a point fixed to one body and a plane fixed to the other replace them; the same with a face of the other body;
the contact is at the border of its feature, where another feature takes over."""
FINE = 1e-9
"""Points on a rim are distinct beyond this angle [rad] (heuristic)."""


class ShapeFeatures(NamedTuple):
    """Features of the shapes of a world, in the frames of the shapes."""

    family: IntArray
    """Family of each shape [-], shape (ns,)."""
    body: IntArray
    """Body of each shape [-], shape (ns,)."""
    position: Array
    """Position in the body frame [m], shape (ns, 3)."""
    R: Array
    """Rotation matrix in the body frame [-], shape (ns, 3, 3)."""
    radius: Array
    """Radius about a core, or of a cylinder [m], shape (ns,)."""
    size: Array
    """Radii of ellipsoids; half lengths of cylinders, in [:, 0]; half widths of fields [m], shape (ns, 3)."""
    near: Array
    """Tolerance of the distance of a point from its feature [m], shape (ns,)."""
    start: IntArray
    """Index of the first corner, edge and face of each shape, and their numbers [-], shape (ns + 1, 3)."""
    corner: Array
    """Corners [m], shape (nv, 3)."""
    edge: Array
    """Both ends of edges [m], shape (ne, 2, 3)."""
    normal: Array
    """Normals of faces [-], shape (nf, 3)."""
    ring_start: IntArray
    """Index in `ring` of the first corner of each face, and the number of all [-], shape (nf + 1,)."""
    ring: Array
    """Corners of faces, counter-clockwise seen from outside [m], shape (nr, 3)."""
    grid: IntArray
    """For height fields: index of the first height, rows and columns [-], shape (ns, 3)."""
    heights: Array
    """Heights of all fields, rows along y [m], shape (nh,)."""
    aligned: float
    """Largest difference of a normal and that of a face [-]."""
    searched: IntArray
    """Whether a narrow phase searches for closest points of the shape: 0 no; 1 yes, except with planes; 2
    always, or in single precision [-], shape (ns,)."""


class Side(NamedTuple):
    """Features of one shape at a contact, in the frame of its body."""

    has: BoolArray
    """Whether there is a corner, an edge, a face [-], shape (3,)."""
    code: IntArray
    """Numbers of these features [-], shape (3,)."""
    rank: IntArray
    """Numbers of these features, equal for nearby points on a rim [-], shape (3,)."""
    point: Array
    """Points of these features [m], shape (3, 3)."""
    axis: Array
    """Direction of the edge, normal of the face [-], shape (3, 3)."""
    radius: Array
    """Radii about these features [m], shape (3,)."""
    ends: Array
    """Ends of the edge; NaN if it has none [m], shape (2, 3)."""
    round: Array
    """Q of the corner, and of corners at the ends of the edge [m], shape (2, 3, 3)."""
    touch: Array
    """Contact point on the surface [m], and outward normal [-], shape (2, 3)."""


class Rows(NamedTuple):
    """Rows of `gaps.Forms`, and the contacts that they belong to."""

    contact: IntArray
    """Contact of each row [-], shape (k,)."""
    flip: IntArray
    """1 if the first body of the row is the second of the contact [-], shape (k,)."""
    kind: IntArray
    code: IntArray
    """Numbers of both features, combined in one number [-], shape (k,)."""
    rank: IntArray
    """As `code`, equal for nearby points on a rim [-], shape (k,)."""
    mark: IntArray
    """Sum of marks: SHARP, ... [-], shape (k,)."""
    point: Array
    normal: Array
    axis: Array
    radius: Array
    round: Array
    feature: IntArray
    """Types of the features of the first and second body of the row [-], shape (k, 2)."""


@jit
def to_segment(p, a, b):
    """Return the squared distance of p from the segment between a and b, all (3,)."""
    l2, along = 0.0, 0.0
    for k in range(3):
        l2 += (b[k] - a[k]) ** 2
        along += (p[k] - a[k]) * (b[k] - a[k])
    along = min(max(along / l2, 0.0), 1.0) if l2 > 0.0 else 0.0
    square = 0.0
    for k in range(3):
        square += (p[k] - a[k] - along * (b[k] - a[k])) ** 2
    return square


@jit
def within(p, ring, first, last, n, near):
    """Return whether p (3,) projects into the polygon ring[first:last], enlarged by `near`.

    The polygon is counter-clockwise about its normal n (3,).
    """
    for k in range(first, last):
        a, b = ring[k], ring[k + 1 if k + 1 < last else first]
        e0, e1, e2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        m0, m1, m2 = cross(n[0], n[1], n[2], e0, e1, e2)
        inside = m0 * (p[0] - a[0]) + m1 * (p[1] - a[1]) + m2 * (p[2] - a[2])
        if inside < -near * math.sqrt(m0 * m0 + m1 * m1 + m2 * m2):
            return False
    return True


@jit
def apart(a, b):
    """Return the squared distance of two points (3,)."""
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2


@jit
def put(out, kind, code, point, axis, radius):
    """out, `Side` <- a feature of type `kind`."""
    out.has[kind], out.code[kind], out.rank[kind], out.radius[kind] = True, code, code, radius
    for k in range(3):
        out.point[kind, k], out.axis[kind, k] = point[k], axis[k]


@jit
def put_edge(out, code, a, b, radius):
    """out, `Side` <- the edge from a to b (3,)."""
    size = math.sqrt(apart(a, b))
    out.has[EDGE], out.code[EDGE], out.rank[EDGE], out.radius[EDGE] = True, code, code, radius
    for k in range(3):
        out.ends[0, k], out.ends[1, k] = a[k], b[k]
        out.point[EDGE, k], out.axis[EDGE, k] = 0.5 * (a[k] + b[k]), (b[k] - a[k]) / size


@jit
def core_features(t, s, p, m, out):
    """out, `Side` <- features of a core with a radius.   p, m (3,): surface point and outward normal."""
    # 1. Corner.
    c, near2, best = np.empty(3), t.near[s] ** 2, np.inf
    for k in range(3):
        c[k] = p[k] - t.radius[s] * m[k]
    for v in range(t.start[s, CORNER], t.start[s + 1, CORNER]):
        square = apart(c, t.corner[v])
        if square <= near2 and square < best:
            best = square
            put(out, CORNER, v - t.start[s, CORNER], t.corner[v], m, t.radius[s])
    # 2. Edge.
    best = np.inf
    for e in range(t.start[s, EDGE], t.start[s + 1, EDGE]):
        square = to_segment(c, t.edge[e, 0], t.edge[e, 1])
        if square <= near2 and square < best:
            best = square
            put_edge(out, e - t.start[s, EDGE], t.edge[e, 0], t.edge[e, 1], t.radius[s])
    # 3. Face.
    best = np.inf
    for f in range(t.start[s, FACE], t.start[s + 1, FACE]):
        first, last, n = t.ring_start[f], t.ring_start[f + 1], t.normal[f]
        square = apart(n, m)
        if square <= t.aligned**2 and square < best:
            over = dot(n, c) - dot(n, t.ring[first])
            if abs(over) <= t.near[s] and within(c, t.ring, first, last, n, t.near[s]):
                best = square
                put(out, FACE, f - t.start[s, FACE], t.ring[first], n, 0.0)
                for k in range(3):  # the centre of the face, which is fixed if sizes change
                    out.point[FACE, k] = 0.0
                    for r in range(first, last):
                        out.point[FACE, k] += t.ring[r, k] / (last - first)


@jit
def cylinder_features(t, s, p, m, least, out):
    """out, `Side` <- features of a cylinder.   p, m (3,): see `core_features`.

    The rim is a round corner if the sine of the angle between axis and normal exceeds `least`.
    """
    r, half, near, axis = t.radius[s], t.size[s, 0], t.near[s], np.zeros(3)
    axis[2] = 1.0
    far, sign, tilt = math.hypot(p[0], p[1]), 1.0 if p[2] > 0.0 else -1.0, math.hypot(m[0], m[1])
    at_end, at_side, top = abs(abs(p[2]) - half) <= near, abs(far - r) <= near, np.zeros(3)
    top[2] = sign * half
    if at_end and tilt <= t.aligned and sign * m[2] > 0.0 and far <= r + near:
        put(out, FACE, int(sign > 0.0), top, sign * axis, 0.0)
    if abs(m[2]) <= t.aligned and at_side:
        put_edge(out, 0, -half * axis, half * axis, r)
        out.round[1, 0, 0] = out.round[1, 1, 1] = r
    if at_end and at_side and tilt > least:
        put(out, CORNER, int(sign > 0.0), top, m, 0.0)
        out.round[0, 0, 0] = out.round[0, 1, 1] = r
    elif at_end and at_side:
        angle = math.atan2(p[1], p[0]) + math.pi
        number = 2 + 2 * np.int64(math.floor(angle / FINE)) + int(sign > 0.0)
        rim = np.array([p[0] * r / far, p[1] * r / far, sign * half])
        put(out, CORNER, number, rim, m, 0.0)
        put(out, EDGE, number, rim, np.array([-rim[1] / r, rim[0] / r, 0.0]), 0.0)
        sector = 2 * np.int64(math.floor(angle * 8.0 / math.pi)) + int(sign > 0.0)
        out.rank[CORNER], out.rank[EDGE] = 2 + sector, 2 + sector


@jit
def field_features(t, s, p, m, out):
    """out, `Side` <- features of a height field: of the triangles about a point p (3,) with normal m (3,)."""
    begin, rows, columns = t.grid[s]
    heights = t.heights[begin : begin + rows * columns].reshape(rows, columns)
    field = Field(heights, t.size[s, 0], t.size[s, 1], p, t.R[s])
    dx, dy, near = 2.0 * t.size[s, 0] / (columns - 1), 2.0 * t.size[s, 1] / (rows - 1), t.near[s]
    corner, n = np.empty((3, 3)), np.empty(3)
    best_corner = best_edge = best_face = np.inf
    for look in range(5):  # the triangle below p, and its neighbours if p is on an edge
        x = p[0] + (0.0 if look == 0 else 4.0 * near * (look % 2 * 2 - 1))
        y = p[1] + (0.0 if look == 0 else 4.0 * near * (look // 3 * 2 - 1))
        _, n[0], n[1], n[2], triangle = surface(x, y, field)
        i, j = triangle // 2 % columns, triangle // 2 // columns
        for k in range(3):
            a, b = i + (k > 0), j + (k > 1)
            if triangle % 2 == 1 and k == 1:
                a, b = i, j + 1
            corner[k, 0], corner[k, 1] = a * dx - t.size[s, 0], b * dy - t.size[s, 1]
            corner[k, 2] = heights[b, a]
            square = apart(p, corner[k])
            if square <= near**2 and square < best_corner:
                best_corner = square
                put(out, CORNER, b * columns + a, corner[k], m, 0.0)
        for k in range(3):
            square = to_segment(p, corner[k], corner[(k + 1) % 3])
            if square <= near**2 and square < best_edge:
                best_edge = square
                # Edges of a cell: along x, along y, diagonal.
                low = corner[k] if k < 2 else corner[0]
                high = corner[k + 1] if k < 2 else corner[2]
                which = 2 if k == 2 else (0 if abs(high[1] - low[1]) < 0.5 * dy else 1)
                a, b = round((low[0] + t.size[s, 0]) / dx), round((low[1] + t.size[s, 1]) / dy)
                put_edge(out, 3 * np.int64(b * columns + a) + which, low, high, 0.0)
        square = apart(n, m)
        if square <= 100.0 * t.aligned**2 and square < best_face:
            over = dot(n, p) - dot(n, corner[0])
            if abs(over) <= near:
                best_face = square
                put(out, FACE, triangle, corner[0], n, 0.0)


@jit
def features_of(t, s, x, R, place, outward, least, out):
    """out, `Side` <- features of shape s at a point `place` with normal `outward`, both (3,), inertial frame.

    x (3,), R (3, 3): pose of its body; least: see `cylinder_features`.
    """
    out.has[:], out.round[:], out.ends[:], out.radius[:] = False, 0.0, np.nan, 0.0
    A, p, m = t.R[s], np.empty(3), np.empty(3)
    b = times_back(R, place[0] - x[0], place[1] - x[1], place[2] - x[2])
    o = times_back(R, outward[0], outward[1], outward[2])
    for k in range(3):
        out.touch[0, k], out.touch[1, k] = b[k], o[k]
    p[0], p[1], p[2] = times_back(
        A, b[0] - t.position[s, 0], b[1] - t.position[s, 1], b[2] - t.position[s, 2]
    )
    m[0], m[1], m[2] = times_back(A, o[0], o[1], o[2])
    family, none = t.family[s], np.zeros(3)
    if family == CORE:
        core_features(t, s, p, m, out)
    elif family == PLANE:
        none[2] = 1.0
        put(out, FACE, 0, np.zeros(3), none, 0.0)
    elif family == ELLIPSOID:
        put(out, CORNER, 0, none, m, 0.0)
        for k in range(3):
            out.round[0, k, k] = t.size[s, k]
    elif family == CYLINDER:
        cylinder_features(t, s, p, m, least, out)
    else:
        field_features(t, s, p, m, out)
    for kind in range(3):  # from the frame of the shape to that of the body
        move(t.position[s], A, out.point[kind])
        turn(A, out.axis[kind])
    for k in range(2):
        move(t.position[s], A, out.ends[k])
        for c in range(3):
            turn(A, out.round[k, :, c])


@jit
def turn(A, a):
    """a (3,) <- A a."""
    a[0], a[1], a[2] = times(A, a[0], a[1], a[2])


@jit
def move(x, A, a):
    """a (3,) <- x + A a."""
    turn(A, a)
    for k in range(3):
        a[k] += x[k]
