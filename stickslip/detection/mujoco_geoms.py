"""Shapes and collision filters of a world in the form of MuJoCo's geoms."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.detection.spheres import ROUND
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Capsule, Cuboid, Cylinder, Ellipsoid, Plane, Shape, Sphere
from stickslip.mechanics.world import World
from stickslip.state import Array, BoolArray, IntArray, ModelError

mujoco: Any = load_mujoco()

PATTERNS = 15
"""Largest number of different rows of `Filters.collide`: MuJoCo's filters have 31 bits, two per pattern."""


@dataclass(frozen=True)
class Geom:
    """A shape as MuJoCo describes it."""

    arguments: dict[str, Any]
    """Arguments of `add_geom`."""
    shift: Array
    """Position of the geom's frame in the frame of the shape [m], shape (3,)."""


def geom_of(spec: Any, name: str, shape: Shape, unit: float) -> Geom | None:
    """Return the shape as MuJoCo describes it; None for an unsupported shape.

    Meshes of hulls and height fields are added to `spec` under `name`.
    """
    kind, here = mujoco.mjtGeom, np.zeros(3)
    if isinstance(shape, Sphere):
        return Geom({"type": kind.mjGEOM_SPHERE, "size": [shape.radius / unit, 0.0, 0.0]}, here)
    if isinstance(shape, Plane):
        return Geom({"type": kind.mjGEOM_PLANE, "size": [0.0, 0.0, 1.0]}, here)
    if isinstance(shape, Cuboid):
        return Geom({"type": kind.mjGEOM_BOX, "size": np.divide(shape.size, 2.0 * unit)}, here)
    if isinstance(shape, Capsule | Cylinder):
        size = [shape.radius / unit, 0.5 * shape.length / unit, 0.0]
        capsule = isinstance(shape, Capsule)
        return Geom({"type": kind.mjGEOM_CAPSULE if capsule else kind.mjGEOM_CYLINDER, "size": size}, here)
    if isinstance(shape, Ellipsoid):
        return Geom({"type": kind.mjGEOM_ELLIPSOID, "size": np.divide(shape.radii, unit)}, here)
    if isinstance(shape, ConvexHull):
        # Vertices relative to the middle of the hull: single precision is relative to the size of the hull.
        middle = 0.5 * (shape.vertices.min(axis=0) + shape.vertices.max(axis=0))
        mesh = spec.add_mesh(name=name, inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX)
        mesh.uservert = ((shape.vertices - middle) / unit).ravel()
        return Geom({"type": kind.mjGEOM_MESH, "meshname": name}, middle)
    if isinstance(shape, HeightField):
        return _field(spec, name, shape, unit)
    return None


def _field(spec: Any, name: str, shape: HeightField, unit: float) -> Geom:
    """Return a height field: heights from 0 to 1 times their range, x along the columns.

    The base below the field is as thick as the field is wide.
    """
    low, span = float(shape.heights.min()), float(np.ptp(shape.heights))
    span = span if span > 0.0 else unit
    field = spec.add_hfield(name=name)
    field.ncol, field.nrow = shape.heights.shape
    width, depth = shape.size
    field.size = np.array([0.5 * width, 0.5 * depth, span, max(width, depth)]) / unit
    field.userdata = ((shape.heights - low) / span).T.ravel()
    return Geom({"type": mujoco.mjtGeom.mjGEOM_HFIELD, "hfieldname": name}, np.array([0.0, 0.0, low]))


def unit_of(shapes: tuple[Shape, ...]) -> float:
    """Return the power of two near the median size of the bounded shapes [m]."""
    reach = [shape.reach for shape in shapes if math.isfinite(shape.reach)]
    return float(2.0 ** round(math.log2(float(np.median(reach))))) if reach else 1.0


def filter_bits(world: World, spheres: bool) -> list[tuple[int, int]]:
    """Return contype and conaffinity of each shape.

    Groups with equal rules share two bits: one for spheres and planes, which do not collide with each other
    unless `spheres`, and one for other shapes.
    """
    pattern, touches = collision_patterns(world)
    bits = []
    for shape, p in zip(world.shapes.shape, pattern.tolist(), strict=True):
        is_round = isinstance(shape, ROUND)
        seen = 0
        for other in np.flatnonzero(touches[p]).tolist():
            seen |= 0b10 << (2 * other)
            if spheres or not is_round:
                seen |= 0b01 << (2 * other)
        bits.append(((0b01 if is_round else 0b10) << (2 * p), seen))
    return bits


def collision_patterns(world: World) -> tuple[IntArray, BoolArray]:
    """Merge groups of shapes with equal rules to patterns.

    Return the pattern of each shape, shape (ns,), and which patterns may touch, shape (k, k).
    """
    collide = np.asarray(world.filters.collide)
    patterns, pattern = np.unique(collide, axis=0, return_inverse=True)
    if len(patterns) > PATTERNS:
        raise ModelError(
            f"filters: {len(patterns)} groups, all with different rules; at most {PATTERNS} can be told apart"
        )
    pattern = pattern.reshape(-1)
    first = [int(np.flatnonzero(pattern == k)[0]) for k in range(len(patterns))]
    return pattern[world.shapes.group], collide[np.ix_(first, first)]
