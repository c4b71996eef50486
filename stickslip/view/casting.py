"""Which solid each point of a picture shows: parallel rays against balls, polyhedra, cylinders, planes and
triangles, each met in closed form. Nothing is sorted, and solids may overlap."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from stickslip.state import Array, IntArray

NOTHING = -1
"""Number of the solid where a ray meets none."""
GRAZING = 1e-9
"""Cosines below this are those of faces that are seen from the side."""
SIDEWAYS = 1e-3
"""Planes whose normal is less towards the viewer than this cosine are not seen."""
AT_ONCE = 1 << 20
"""Points of triangles that are looked at together."""


@dataclass(frozen=True, eq=False)
class Camera:
    """Looks along parallel rays; pixel (i, j) is row i from below and column j from the left."""

    centre: Array
    """What the origin of the picture shows [m], shape (3,)."""
    axes: Array
    """Rows: to the right, upwards and towards the viewer, orthonormal [-], shape (3, 3)."""
    low: tuple[float, float]
    """Of the picture, to the right and upwards of the origin [m]."""
    pixel: float
    """Edge of a pixel [m]."""
    shape: tuple[int, int]
    """Rows and columns of pixels."""

    def seen(self, points: Array) -> Array:
        """Points to the right, upwards and towards the viewer [m], shape (n, 3)."""
        return np.asarray((points - self.centre) @ self.axes.T)

    def rows_and_columns(self) -> tuple[Array, Array]:
        """Middles of pixels, upwards and to the right [m], shapes (rows,) and (columns,)."""
        rows, columns = (np.arange(n, dtype=float) + 0.5 for n in self.shape)
        return self.low[1] + self.pixel * rows, self.low[0] + self.pixel * columns

    def met(self, depth: Array, pixels: np.ndarray) -> Array:
        """Where rays end, by their depths [m] and the numbers of their pixels, row by row: to the right,
        upwards and towards the viewer [m], shape (n, 3)."""
        up, right = self.rows_and_columns()
        row, column = np.divmod(pixels, self.shape[1])
        return np.stack([right[column], up[row], depth.reshape(-1)[pixels]], axis=1)


@dataclass(frozen=True, eq=False)
class Convex:
    """A convex body within a quadric, between planes, or both.

    `turn` is from its axes to those of the camera; `right` and `up` are the rays' distances from its origin
    there [m], a row of columns and a column of rows."""

    faces: Array = field(default_factory=lambda: np.zeros((0, 3)))
    """Outer normals of the planes, of unit length [-], shape (k, 3)."""
    offsets: Array = field(default_factory=lambda: np.zeros(0))
    """Of the planes from the origin along them [m], shape (k,)."""
    quadric: Array | None = None
    """Q of the quadric x Q x = 1 [1/m²], shape (3, 3)."""
    box: tuple[Array, Array] | None = None
    """Middle and half edges of a box about it [m], shape (3,) each; None when it has no end."""

    @classmethod
    def ball(cls, radii: Array) -> Self:
        """A ball or an ellipsoid."""
        return cls(quadric=np.diag(1.0 / radii**2), box=(np.zeros(3), radii))

    @classmethod
    def cuboid(cls, edges: Array) -> Self:
        """With edges along the axes."""
        faces = np.concatenate([np.eye(3), -np.eye(3)])
        return cls(faces, np.tile(0.5 * edges, 2), box=(np.zeros(3), 0.5 * edges))

    @classmethod
    def cylinder(cls, radius: float, half: float) -> Self:
        """About the z axis, from -half to half."""
        ends = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
        box = np.zeros(3), np.array([radius, radius, half])
        return cls(ends, np.full(2, half), np.diag([radius**-2, radius**-2, 0.0]), box)

    @classmethod
    def hull(cls, vertices: Array, triangles: IntArray) -> Self:
        """Within triangles that are counter-clockwise seen from outside."""
        corners = vertices[triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(normals, axis=1)
        keep = length > 0.0
        normals = normals[keep] / length[keep][:, None]
        offsets = np.einsum("ni,ni->n", normals, corners[keep, 0])
        # Triangles of one face have one plane.
        _, first = np.unique(np.round(normals, 9), axis=0, return_index=True)
        return cls(normals[first], offsets[first], box=_box_of(vertices))

    @classmethod
    def below(cls) -> Self:
        """What is below the plane z = 0, which is seen from above."""
        return cls(np.array([[0.0, 0.0, 1.0]]), np.zeros(1))

    def met(self, right: Array, up: Array, turn: Array) -> Array:
        """How far towards the viewer from its origin each ray meets it; -inf where it does not [m], shape
        (rows, columns)."""
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
        """Outer normals at points of its surface that the viewer sees, in its own frame; of any length [-],
        shape (n, 3)."""
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
    """A form in space: of convex shape, or triangles."""

    form: Convex | None
    """None where it is `triangles`."""
    position: Array
    """Of the origin of its frame [m], shape (3,)."""
    turn: Array
    """From its axes to inertial ones [-], shape (3, 3)."""
    triangles: Array | None = None
    """In its own frame [m], shape (k, 3, 3)."""

    @property
    def box(self) -> tuple[Array, Array] | None:
        """Middle and half edges of a box about it [m], shape (3,) each; None when it has no end."""
        if self.form is not None:
            return self.form.box
        assert self.triangles is not None
        return _box_of(self.triangles.reshape(-1, 3))


@dataclass(frozen=True, eq=False)
class Hits:
    """What the rays of a camera meet first."""

    depth: Array
    """Towards the viewer from the origin of the picture; -inf where there is nothing [m], shape
    (rows, columns)."""
    solid: IntArray
    """Number of the solid, or `NOTHING` [-], shape (rows, columns)."""
    normal: Array
    """Outer, right, up and towards the viewer, of unit length [-], shape (rows, columns, 3), float32."""


def cast(solids: Sequence[Solid], camera: Camera) -> Hits:
    """What each pixel of a camera shows of some solids."""
    depth, which = depths(solids, camera)
    hits = Hits(depth, which, np.zeros((*camera.shape, 3), np.float32))
    order = np.argsort(which, axis=None, kind="stable")
    bounds = np.searchsorted(which.reshape(-1)[order], np.arange(len(solids) + 1))
    normal = hits.normal.reshape(-1, 3)
    for number, solid in enumerate(solids):
        pixels = order[bounds[number] : bounds[number + 1]]
        if not pixels.size:
            continue
        turn = camera.axes @ solid.turn
        if solid.form is None:
            out = _facet_normals(solid, turn, camera, pixels)
        else:
            at = camera.met(depth, pixels) - camera.seen(solid.position)
            out = solid.form.normals(at @ turn, turn) @ turn.T
        normal[pixels] = out / np.linalg.norm(out, axis=1, keepdims=True)
    return hits


def depths(solids: Sequence[Solid], camera: Camera) -> tuple[Array, IntArray]:
    """How near the first solid is on each ray, and which it is, as `Hits` has them."""
    depth, which = np.full(camera.shape, -np.inf), np.full(camera.shape, NOTHING, np.int64)
    up, right = camera.rows_and_columns()
    for number, solid in enumerate(solids):
        turn, place = camera.axes @ solid.turn, camera.seen(solid.position)
        if solid.form is None:
            corners = _corners(solid, turn, place)
            _paint_triangles(depth, which, camera, corners, np.full(len(corners), number))
            continue
        rows, columns = _window(camera, solid.form.box, turn, place)
        if rows.stop <= rows.start or columns.stop <= columns.start:
            continue
        w = solid.form.met(right[None, columns] - place[0], up[rows, None] - place[1], turn) + place[2]
        part = depth[rows, columns]
        nearer = w > part
        part[nearer] = w[nearer]
        which[rows, columns][nearer] = number
    return depth, which


def _window(
    camera: Camera, box: tuple[Array, Array] | None, turn: Array, place: Array
) -> tuple[slice, slice]:
    """The rows and columns of pixels that may show something in a box."""
    if box is None:
        return slice(0, camera.shape[0]), slice(0, camera.shape[1])
    middle, half = place + turn @ box[0], np.abs(turn) @ box[1]
    found = []
    for axis, count in ((1, camera.shape[0]), (0, camera.shape[1])):
        ends = (middle[axis] + np.array([-1.0, 1.0]) * half[axis] - camera.low[axis]) / camera.pixel
        first, last = np.clip(ends, -1.0, count + 1.0)
        found.append(slice(max(0, math.floor(first)), min(count, math.ceil(last))))
    return found[0], found[1]


def _box_of(points: Array) -> tuple[Array, Array]:
    """Middle and half edges of the box about points [m], shape (3,) each."""
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low


def _corners(solid: Solid, turn: Array, place: Array) -> Array:
    """Of its triangles, along the axes of the camera [m], shape (k, 3, 3)."""
    assert solid.triangles is not None
    return np.asarray(place + solid.triangles @ turn.T)


def _paint_triangles(depth: Array, which: IntArray, camera: Camera, corners: Array, labels: IntArray) -> None:
    """Triangles, those of similar size together: every pixel near one is tried, and shows its label."""
    corners = corners.copy()
    corners[:, :, :2] = (corners[:, :, :2] - camera.low) / camera.pixel - 0.5
    most = np.array(camera.shape[::-1])
    first = np.clip(np.floor(corners[:, :, :2].min(axis=1)), 0, most)
    last = np.clip(np.ceil(corners[:, :, :2].max(axis=1)), -1, most - 1)
    edge = (last - first).max(axis=1, initial=0.0) + 1.0
    power = np.where((last >= first).all(axis=1), np.ceil(np.log2(np.maximum(edge, 2.0))), -1).astype(int)
    for size in np.unique(power[power > 0]):
        rows = np.flatnonzero(power == size)
        side = 2 ** int(size)
        some = max(1, AT_ONCE // side**2)
        for k in range(0, len(rows), some):
            pick = rows[k : k + some]
            _paint_some(depth, which, corners[pick], labels[pick], first[pick].astype(int), side)


def _paint_some(
    depth: Array, which: IntArray, corners: Array, labels: IntArray, first: IntArray, side: int
) -> None:
    """Triangles that each lie in a square of `side` pixels from `first` on."""
    across, upward = (
        first[:, None, None, 0] + np.arange(side),
        first[:, None, None, 1] + np.arange(side)[:, None],
    )
    (ax, ay, aw), (bx, by, bw), (cx, cy, cw) = (corners[:, k].T[:, :, None, None] for k in range(3))
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    area = np.where(np.abs(area) > GRAZING, area, np.nan)  # seen from the side: nothing is inside
    b = ((across - ax) * (cy - ay) - (upward - ay) * (cx - ax)) / area
    c = ((bx - ax) * (upward - ay) - (by - ay) * (across - ax)) / area
    inside = (b >= 0.0) & (c >= 0.0) & (b + c <= 1.0)
    inside &= (across < depth.shape[1]) & (upward < depth.shape[0])
    w = (aw + b * (bw - aw) + c * (cw - aw))[inside]
    pixel = (upward * depth.shape[1] + across)[inside]
    flat = depth.reshape(-1)
    won = w > flat[pixel]
    np.maximum.at(flat, pixel, w)
    won &= w == flat[pixel]
    label = np.broadcast_to(labels[:, None, None], inside.shape)[inside]
    which.reshape(-1)[pixel[won]] = label[won]


def _facet_normals(solid: Solid, turn: Array, camera: Camera, pixels: IntArray) -> Array:
    """Of the triangles that pixels show, along the axes of the camera [-], shape (n, 3)."""
    corners = _corners(solid, turn, camera.seen(solid.position))
    depth, which = np.full(camera.shape, -np.inf), np.full(camera.shape, NOTHING, np.int64)
    _paint_triangles(depth, which, camera, corners, np.arange(len(corners)))
    facets = corners[which.reshape(-1)[pixels]]
    out = np.cross(facets[:, 1] - facets[:, 0], facets[:, 2] - facets[:, 0])
    return np.asarray(out * np.sign(out[:, 2:]))  # seen from either side


def _quadric(form: Array, right: Array, up: Array) -> tuple[Array, Array]:
    """The larger and the smaller w with (right, up, w) form (right, up, w) = 1, shape (rows, columns) each:
    -inf and inf where there is none, inf and -inf where a ray stays inside."""
    a = form[2, 2]
    b = form[0, 2] * right + form[1, 2] * up
    c = form[0, 0] * right**2 + (form[1, 1] * up**2 - 1.0) + 2.0 * form[0, 1] * right * up
    if a <= GRAZING**2 * np.trace(form):
        return np.where(c <= 0.0, np.inf, -np.inf), np.where(c <= 0.0, -np.inf, np.inf)
    inside = b * b - a * c
    root = np.sqrt(np.maximum(inside, 0.0))
    return np.where(inside > 0.0, (root - b) / a, -np.inf), np.where(inside > 0.0, (-root - b) / a, np.inf)
