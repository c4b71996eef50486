"""Convex hulls of points: vertices, triangles, and their exact volume and inertia."""

from dataclasses import InitVar, dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull as Quickhull
from scipy.spatial import QhullError

from stickslip.mechanics.given import numbers
from stickslip.mechanics.inertia import from_second_moments
from stickslip.mechanics.shapes import check_moments
from stickslip.state import Array, IntArray, ModelError

FLAT = 1e-9
"""Smallest ratio of thickness to width of a hull [-]; the volume of thinner ones is rounding. Heuristic."""
DENT = 1e-6
"""Mean depth of dents, relative to the width, up to which a mesh counts as convex [-]. Vertices in single
precision, as in binary STL, cause a few 1e-8."""


class HasPoints(Protocol):
    """A mesh, or another object with points; its `triangles`, if present, are its surface."""

    @property
    def points(self) -> Array:
        """Points [m], shape (m, 3)."""


@dataclass(frozen=True, eq=False)
class ConvexHull:
    """Convex hull of points: an array [m], shape (m, 3), or a mesh.

    hull   use the hull of a mesh that is not convex or not closed. By default such a mesh is an error,
           because its hull is a different body

    Example:

        tetrahedron = ss.ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
        b = ss.WorldBuilder()
        b.body("stone", tetrahedron, position=(0, 0, 1), density=2600.0)
    """

    points: InitVar[ArrayLike | HasPoints]
    hull: InitVar[bool] = False
    vertices: Array = field(init=False)
    """Vertices of the hull [m], shape (nv, 3)."""
    triangles: IntArray = field(init=False)
    """Triangles as rows of `vertices`, counter-clockwise seen from outside [-], shape (nt, 3)."""
    volume: float = field(init=False)
    """Volume [m³]."""
    centroid: Array = field(init=False)
    """Centre of volume [m], shape (3,)."""
    inertia: Array = field(init=False)
    """Inertia about the centroid at density 1 kg/m³ [kg m²], shape (3, 3)."""
    reach: float = field(init=False)
    """Distance of the farthest vertex from the origin [m]."""
    given: Array = field(init=False, repr=False)
    """Points of which the hull was computed [m], shape (m, 3)."""

    def __post_init__(self, points: ArrayLike | HasPoints, hull: bool) -> None:
        cloud: Any = points
        cloud_points = numbers("ConvexHull", "points", getattr(cloud, "points", cloud), (None, 3))
        # 1. Centre and scale: Qhull's tolerances and the sums below assume coordinates of order 1.
        middle, width = _extent(cloud_points)
        scaled = (cloud_points - middle) / width
        _refuse_flat(scaled)
        # 2. Hull, volume and moments.
        corners, triangles = _hull(scaled)
        volume, centroid, second = _moments(scaled[corners], triangles)
        surface = getattr(cloud, "triangles", None)
        if surface is not None and len(surface) and not hull:
            _refuse_dents(scaled, np.asarray(surface), scaled[corners], triangles, volume, float(width))
        with np.errstate(over="ignore", under="ignore"):
            values = {
                "given": cloud_points,
                "vertices": cloud_points[corners],
                "triangles": triangles,
                "volume": float(volume * width**3),
                "centroid": middle + width * centroid,
                "inertia": from_second_moments(second) * width**3 * width**2,
                "reach": float(np.linalg.norm(cloud_points[corners], axis=1).max()),
            }
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)
        check_moments(self)

    @property
    def size(self) -> Array:
        """Extent along x, y, z [m], shape (3,)."""
        return np.asarray(np.ptp(self.vertices, axis=0))

    def __repr__(self) -> str:
        return f"ConvexHull({len(self.vertices)} vertices, {len(self.triangles)} triangles)"


def _extent(points: Array) -> tuple[Array, np.float64]:
    """Return the middle of the bounding box of the points [m], shape (3,), and its longest edge [m]."""
    if len(points) < 4:
        raise ModelError(f"ConvexHull: {len(points)} points; a body needs at least 4")
    low, high = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * low + 0.5 * high
    with np.errstate(over="ignore"):
        width = (high - low).max()
    if width == 0.0:
        raise ModelError(f"ConvexHull: all {len(points)} points coincide, so that they have no volume")
    if not 1e-60 < width < 1e60:
        raise ModelError(
            f"ConvexHull: too large or too small for double precision: its points span {width} m"
        )
    return middle, width


def _refuse_flat(points: Array) -> None:
    """Raise a ModelError for points on a line or in a plane, by the singular values of their coordinates."""
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) / np.sqrt(len(points))
    for count, where in ((1, "on a line"), (2, "in a plane")):
        if spread[count] <= FLAT * spread[0]:
            raise ModelError(
                f"ConvexHull: all {len(points)} points lie {where}, or within {FLAT:g} of their extent of it,"
                " so they have no volume; give a solid, or a Cuboid of some thickness"
            )


def _hull(points: Array) -> tuple[IntArray, IntArray]:
    """Return the indices of the vertices, and triangles of these, oriented outwards."""
    try:
        hull = Quickhull(points)
    except QhullError as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise ModelError(f"ConvexHull: the hull of {len(points)} points fails: {reason}") from None
    corners, triangles = np.unique(hull.simplices, return_inverse=True)
    triangles = triangles.reshape(-1, 3).astype(np.int64)
    a, b, c = (points[corners][triangles[:, k]] for k in range(3))
    inwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles[inwards] = triangles[inwards][:, [0, 2, 1]]
    return corners.astype(np.int64), triangles


def _refuse_dents(
    points: Array, surface: IntArray, vertices: Array, triangles: IntArray, volume: float, width: float
) -> None:
    """Raise a ModelError for a surface that is not the surface of its hull.

    From a point c inside the hull, each ray meets the surface of a convex body once, and the tetrahedra
    (c, a, b, d) over its triangles fill the hull: Σ |det| / 6 = volume of the hull. Dents and holes leave
    gaps,
    folds are counted twice. The order of vertices and shared vertices do not matter. points, vertices and
    volume
    are in units of `width` [m].
    """
    c = vertices.mean(axis=0)
    once = np.unique(np.sort(surface, axis=1), axis=0)
    filled = float(np.abs(np.linalg.det((points - c)[once])).sum()) / 6.0
    a, b, d = (vertices[triangles[:, k]] for k in range(3))
    area = 0.5 * float(np.linalg.norm(np.cross(b - a, d - a), axis=1).sum())
    if abs(filled - volume) <= DENT * area:
        return
    hull = f"the hull of its points has {volume * width**3:.6g} m³"
    open_edges, turned = _edges(surface)
    if open_edges:
        fault = (
            f"it is open ({open_edges} edges belong to an odd number of triangles), so it encloses no volume"
        )
    elif turned:
        fault = (
            f"it is not convex; {turned} edges have neighbours of opposite order, so its volume is not known"
        )
    else:
        enclosed = abs(float(np.linalg.det((points - c)[surface]).sum())) / 6.0 * width**3
        fault = f"it is not convex: it encloses {enclosed:.6g} m³"
    raise ModelError(
        f"ConvexHull: the mesh of {len(surface)} triangles is not the surface of a convex body: {fault}, and"
        f" {hull}. Give a Compound of convex parts, or take the hull instead: ConvexHull(mesh, hull=True)"
    )


def _edges(surface: IntArray) -> tuple[int, int]:
    """Return the number of edges with an odd number of triangles, and of other edges that are not traversed
    equally often in both directions."""
    ways = np.concatenate([surface[:, [0, 1]], surface[:, [1, 2]], surface[:, [2, 0]]])
    forward = ways[:, 0] < ways[:, 1]
    _, edge = np.unique(np.sort(ways, axis=1), axis=0, return_inverse=True)
    edge = edge.reshape(-1)
    count, balance = np.bincount(edge), np.bincount(edge, np.where(forward, 1.0, -1.0))
    odd = count % 2 == 1
    return int(odd.sum()), int(((balance != 0.0) & ~odd).sum())


def _moments(vertices: Array, triangles: IntArray) -> tuple[float, Array, Array]:
    """Return volume, centroid, and second moments about it, as sums over tetrahedra from an inner point.

    For a tetrahedron (0, a, b, c): ∫ dV = d/6, ∫ x dV = d/24 s, ∫ x x' dV = d/120 (s s' + a a' + b b' + c
    c'),
    with d = a · (b × c) and s = a + b + c.
    """
    inside = vertices.mean(axis=0)
    abc = (vertices - inside)[triangles]
    d = np.linalg.det(abc)
    s = abc.sum(axis=1)
    volume = d.sum() / 6.0
    centroid = d @ s / 24.0 / volume
    second = (np.einsum("t,ti,tj->ij", d, s, s) + np.einsum("t,tki,tkj->ij", d, abc, abc)) / 120.0
    second -= volume * np.outer(centroid, centroid)
    return float(volume), inside + centroid, 0.5 * (second + second.T)
