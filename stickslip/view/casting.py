"""Ray casting with parallel rays: balls, polyhedra, cylinders, planes and triangles are intersected in closed
form. Solids need no order and may overlap."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from stickslip.state import Array, IntArray

NOTHING = -1
"""Number in place of a solid for rays that hit none."""
GRAZING = 1e-9
"""Cosine of the angle to the viewer below which a face is treated as parallel to the rays [-]."""
SIDEWAYS = 1e-3
"""The same for planes, which are unbounded [-]."""
AT_ONCE = 1 << 20
"""Number of pixels of triangles that are processed in one vectorised call."""


@dataclass(frozen=True, eq=False)
class Camera:
    """Camera with parallel rays; pixel (i, j) is in row i from below and column j from the left."""

    centre: Array
    """Point shown at the origin of the picture [m], shape (3,)."""
    axes: Array
    """Rows: to the right, upwards and towards the viewer, orthonormal [-], shape (3, 3)."""
    low: tuple[float, float]
    """Lower left corner of the picture, relative to its origin [m]."""
    pixel: float
    """Edge of a pixel [m]."""
    shape: tuple[int, int]
    """Numbers of rows and columns of pixels."""

    def seen(self, points: Array) -> Array:
        """Coordinates of points along the axes of the camera [m], shape (n, 3)."""
        return np.asarray((points - self.centre) @ self.axes.T)

    def rows_and_columns(self) -> tuple[Array, Array]:
        """Centres of pixels, upwards and to the right [m], shapes (rows,) and (columns,)."""
        rows, columns = (np.arange(n, dtype=float) + 0.5 for n in self.shape)
        return self.low[1] + self.pixel * rows, self.low[0] + self.pixel * columns

    def met(self, depth: Array, pixels: np.ndarray) -> Array:
        """End points of rays, from their depths [m] and the numbers of their pixels, counted row by row;
        along the axes of the camera [m], shape (n, 3)."""
        up, right = self.rows_and_columns()
        row, column = np.divmod(pixels, self.shape[1])
        return np.stack([right[column], up[row], depth.reshape(-1)[pixels]], axis=1)


@dataclass(frozen=True, eq=False)
class Convex:
    """A convex body within a quadric, between planes, or both.

    In its methods `turn` is the rotation from its axes to those of the camera; `right` and `up` are the
    coordinates of the rays relative to its origin [m], shapes (1, columns) and (rows, 1)."""

    faces: Array = field(default_factory=lambda: np.zeros((0, 3)))
    """Outer normals of the planes, of unit length [-], shape (k, 3)."""
    offsets: Array = field(default_factory=lambda: np.zeros(0))
    """Distances of the planes from the origin along their normals [m], shape (k,)."""
    quadric: Array | None = None
    """Q of the quadric x Q x = 1 [1/m²], shape (3, 3)."""
    box: tuple[Array, Array] | None = None
    """Centre and half edges of its bounding box [m], shape (3,) each; None if it is unbounded."""

    @classmethod
    def ball(cls, radii: Array) -> Self:
        """A ball or an ellipsoid."""
        return cls(quadric=np.diag(1.0 / radii**2), box=(np.zeros(3), radii))

    @classmethod
    def cuboid(cls, edges: Array) -> Self:
        """A cuboid with edges along the axes."""
        faces = np.concatenate([np.eye(3), -np.eye(3)])
        return cls(faces, np.tile(0.5 * edges, 2), box=(np.zeros(3), 0.5 * edges))

    @classmethod
    def cylinder(cls, radius: float, half: float) -> Self:
        """A cylinder about the z axis, from -half to half."""
        ends = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
        box = np.zeros(3), np.array([radius, radius, half])
        return cls(ends, np.full(2, half), np.diag([radius**-2, radius**-2, 0.0]), box)

    @classmethod
    def hull(cls, vertices: Array, triangles: IntArray) -> Self:
        """A convex hull of triangles that are counter-clockwise seen from outside."""
        corners = vertices[triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(normals, axis=1)
        keep = length > 0.0
        normals = normals[keep] / length[keep][:, None]
        offsets = np.einsum("ni,ni->n", normals, corners[keep, 0])
        # Triangles of the same face have the same plane.
        _, first = np.unique(np.round(normals, 9), axis=0, return_index=True)
        return cls(normals[first], offsets[first], box=_box_of(vertices))

    @classmethod
    def below(cls) -> Self:
        """The half space below the plane z = 0."""
        return cls(np.array([[0.0, 0.0, 1.0]]), np.zeros(1))

    def met(self, right: Array, up: Array, turn: Array) -> Array:
        """Depth of the hit of each ray, towards the viewer from the origin of the body; -inf without a hit
        [m], shape (rows, columns)."""
        shape = (up.size, right.size)
        top, bottom, outside = np.full(shape, np.inf), np.full(shape, -np.inf), np.zeros(shape, bool)
        if self.quadric is not None:
            top, bottom = _quadric(turn @ self.quadric @ turn.T, right, up)
        for (x, y, z), offset in zip(self.faces @ turn.T, self.offsets, strict=True):
            if abs(z) <= (SIDEWAYS if self.box is None else GRAZING):
                outside |= x * right + y * up > offset
            elif z > 0.0:
                np.minimum(top, (offset - x * right) / z - (y / z) * up, out=top)
            else:
                np.maximum(bottom, (offset - x * right) / z - (y / z) * up, out=bottom)
        top[outside | (top <= bottom) | (top == np.inf)] = -np.inf
        return top

    def normals(self, points: Array, turn: Array) -> Array:
        """Outer normals at visible points of the surface, in the frame of the body, not normalised [-], shape
        (n, 3)."""
        faces, offsets = (part[self.faces @ turn[2] > GRAZING] for part in (self.faces, self.offsets))
        away = points @ faces.T - offsets
        if self.quadric is None:
            return np.asarray(faces[away.argmax(axis=1)])
        slope = points @ self.quadric
        value = np.einsum("ni,ni->n", points, slope) - 1.0
        outer = 0.5 * value / np.maximum(np.linalg.norm(slope, axis=1), 1e-300)  # distance, to first order
        for face, beyond in zip(faces, away.T, strict=True):
            slope[beyond > outer] = face
        return slope


@dataclass(frozen=True, eq=False)
class Solid:
    """A placed body to draw: a convex form or triangles."""

    form: Convex | None
    """Convex form; None if the solid consists of `triangles`."""
    position: Array
    """Position of the origin of its frame [m], shape (3,)."""
    turn: Array
    """Rotation from its axes to inertial axes [-], shape (3, 3)."""
    triangles: Array | None = None
    """Corners of triangles in its own frame [m], shape (k, 3, 3)."""

    @property
    def box(self) -> tuple[Array, Array] | None:
        """Centre and half edges of its bounding box [m], shape (3,) each; None if it is unbounded."""
        if self.form is not None:
            return self.form.box
        assert self.triangles is not None
        return _box_of(self.triangles.reshape(-1, 3))


@dataclass(frozen=True, eq=False)
class Hits:
    """First hits of the rays of a camera."""

    depth: Array
    """Depth towards the viewer from the origin of the picture; -inf without a hit [m], shape
    (rows, columns)."""
    solid: IntArray
    """Number of the solid, or `NOTHING` [-], shape (rows, columns)."""
    normal: Array
    """Outer unit normals along the axes of the camera [-], shape (rows, columns, 3), float32."""


def cast(solids: Sequence[Solid], camera: Camera) -> Hits:
    """Compute depth, solid and normal of each pixel."""
    depth, numbers = depths(solids, camera)
    hits = Hits(depth, numbers, np.zeros((*camera.shape, 3), np.float32))
    order = np.argsort(numbers, axis=None, kind="stable")
    bounds = np.searchsorted(numbers.reshape(-1)[order], np.arange(len(solids) + 1))
    normal = hits.normal.reshape(-1, 3)
    for number, solid in enumerate(solids):
        pixels = order[bounds[number] : bounds[number + 1]]
        if not pixels.size:
            continue
        turn = camera.axes @ solid.turn
        if solid.form is None:
            outer = _facet_normals(solid, turn, camera, pixels)
        else:
            hit_points = camera.met(depth, pixels) - camera.seen(solid.position)
            outer = solid.form.normals(hit_points @ turn, turn) @ turn.T
        normal[pixels] = outer / np.linalg.norm(outer, axis=1, keepdims=True)
    return hits


def depths(solids: Sequence[Solid], camera: Camera) -> tuple[Array, IntArray]:
    """Compute depth and number of the first solid on each ray, as in `Hits`."""
    depth, numbers = np.full(camera.shape, -np.inf), np.full(camera.shape, NOTHING, np.int64)
    up, right = camera.rows_and_columns()
    for number, solid in enumerate(solids):
        turn, origin = camera.axes @ solid.turn, camera.seen(solid.position)
        if solid.form is None:
            corners = _corners(solid, turn, origin)
            _paint_triangles(depth, numbers, camera, corners, np.full(len(corners), number))
            continue
        rows, columns = _window(camera, solid.form.box, turn, origin)
        if rows.stop <= rows.start or columns.stop <= columns.start:
            continue
        w = solid.form.met(right[None, columns] - origin[0], up[rows, None] - origin[1], turn) + origin[2]
        part = depth[rows, columns]
        nearer = w > part
        part[nearer] = w[nearer]
        numbers[rows, columns][nearer] = number
    return depth, numbers


def _window(
    camera: Camera, box: tuple[Array, Array] | None, turn: Array, origin: Array
) -> tuple[slice, slice]:
    """Rows and columns of the pixels that cover a box."""
    if box is None:
        return slice(0, camera.shape[0]), slice(0, camera.shape[1])
    centre, half = origin + turn @ box[0], np.abs(turn) @ box[1]
    ranges = []
    for axis, count in ((1, camera.shape[0]), (0, camera.shape[1])):
        ends = (centre[axis] + np.array([-1.0, 1.0]) * half[axis] - camera.low[axis]) / camera.pixel
        first, last = np.clip(ends, -1.0, count + 1.0)
        ranges.append(slice(max(0, math.floor(first)), min(count, math.ceil(last))))
    return ranges[0], ranges[1]


def _box_of(points: Array) -> tuple[Array, Array]:
    """Centre and half edges of the bounding box of points [m], shape (3,) each."""
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low


def _corners(solid: Solid, turn: Array, place: Array) -> Array:
    """Corners of the triangles of a solid, along the axes of the camera [m], shape (k, 3, 3)."""
    assert solid.triangles is not None
    return np.asarray(place + solid.triangles @ turn.T)


def _paint_triangles(
    depth: Array, painted: IntArray, camera: Camera, corners: Array, labels: IntArray
) -> None:
    """Rasterise labelled triangles into depths and labels; those of similar size are processed together."""
    corners = corners.copy()
    corners[:, :, :2] = (corners[:, :, :2] - camera.low) / camera.pixel - 0.5
    limits = np.array(camera.shape[::-1])
    first = np.clip(np.floor(corners[:, :, :2].min(axis=1)), 0, limits)
    last = np.clip(np.ceil(corners[:, :, :2].max(axis=1)), -1, limits - 1)
    edge = (last - first).max(axis=1, initial=0.0) + 1.0
    power = np.where((last >= first).all(axis=1), np.ceil(np.log2(np.maximum(edge, 2.0))), -1).astype(int)
    for size in np.unique(power[power > 0]):
        rows = np.flatnonzero(power == size)
        side = 2 ** int(size)
        batch = max(1, AT_ONCE // side**2)
        for k in range(0, len(rows), batch):
            selected = rows[k : k + batch]
            _paint_some(
                depth, painted, corners[selected], labels[selected], first[selected].astype(int), side
            )


def _paint_some(
    depth: Array, painted: IntArray, corners: Array, labels: IntArray, first: IntArray, side: int
) -> None:
    """Rasterise triangles that each lie in a square of `side` pixels with the lower left pixel `first`."""
    across, upward = (
        first[:, None, None, 0] + np.arange(side),
        first[:, None, None, 1] + np.arange(side)[:, None],
    )
    (ax, ay, aw), (bx, by, bw), (cx, cy, cw) = (corners[:, k].T[:, :, None, None] for k in range(3))
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    area = np.where(np.abs(area) > GRAZING, area, np.nan)  # parallel to the rays: no pixel is inside
    b = ((across - ax) * (cy - ay) - (upward - ay) * (cx - ax)) / area
    c = ((bx - ax) * (upward - ay) - (by - ay) * (across - ax)) / area
    inside = (b >= 0.0) & (c >= 0.0) & (b + c <= 1.0)
    inside &= (across < depth.shape[1]) & (upward < depth.shape[0])
    w = (aw + b * (bw - aw) + c * (cw - aw))[inside]
    pixel = (upward * depth.shape[1] + across)[inside]
    flat = depth.reshape(-1)
    nearest = w > flat[pixel]
    np.maximum.at(flat, pixel, w)
    nearest &= w == flat[pixel]
    label = np.broadcast_to(labels[:, None, None], inside.shape)[inside]
    painted.reshape(-1)[pixel[nearest]] = label[nearest]


def _facet_normals(solid: Solid, turn: Array, camera: Camera, pixels: IntArray) -> Array:
    """Normals of the triangles shown by pixels, along the axes of the camera [-], shape (n, 3)."""
    corners = _corners(solid, turn, camera.seen(solid.position))
    depth, which = np.full(camera.shape, -np.inf), np.full(camera.shape, NOTHING, np.int64)
    _paint_triangles(depth, which, camera, corners, np.arange(len(corners)))
    facets = corners[which.reshape(-1)[pixels]]
    out = np.cross(facets[:, 1] - facets[:, 0], facets[:, 2] - facets[:, 0])
    return np.asarray(out * np.sign(out[:, 2:]))  # triangles are visible from both sides


def _quadric(form: Array, right: Array, up: Array) -> tuple[Array, Array]:
    """The larger and the smaller root w of (right, up, w) form (right, up, w) = 1, shape (rows, columns)
    each: -inf and inf without a root, inf and -inf if the whole ray is inside."""
    a = form[2, 2]
    b = form[0, 2] * right + form[1, 2] * up
    c = form[0, 0] * right**2 + (form[1, 1] * up**2 - 1.0) + 2.0 * form[0, 1] * right * up
    if a <= GRAZING**2 * np.trace(form):
        return np.where(c <= 0.0, np.inf, -np.inf), np.where(c <= 0.0, -np.inf, np.inf)
    inside = b * b - a * c
    root = np.sqrt(np.maximum(inside, 0.0))
    return np.where(inside > 0.0, (root - b) / a, -np.inf), np.where(inside > 0.0, (-root - b) / a, np.inf)
