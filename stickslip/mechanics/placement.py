"""A body as it is placed: its mass, centre of mass and inertia, and the rows of its shapes."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from stickslip.mechanics.given import positive
from stickslip.mechanics.inertia import check_inertia
from stickslip.mechanics.motions import Motion
from stickslip.mechanics.shapes import Shape
from stickslip.state import Array, ModelError

Part = tuple[Shape, Array, Array]
"""A shape, its position and its quaternion in the frame of the user."""


@dataclass(frozen=True, slots=True)
class Solid:
    """A shape as a body of density 1: worked out once for all bodies that share it."""

    volume: float
    """[m³]."""
    centroid: Array
    """Centre of volume in the frame of the user [m], shape (3,)."""
    inertia: Array
    """About the centroid at density 1 kg/m³ [kg m²], shape (3, 3)."""
    parts: tuple[Part, ...]
    """The shape, or the parts of a compound and of the compounds in it."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A body as the user placed it."""

    kind: int
    """`BodyKind`."""
    mass: float
    """[kg]."""
    inertia: Array
    """About the centre of mass [kg m²], shape (3, 3)."""
    centre: Array
    """Of mass, in the frame of the user [m], shape (3,); its origin where the body is not dynamic."""
    position: Array
    """Of the frame of the user [m], shape (3,)."""
    quaternion: Array
    """Of the frame of the user, unit, scalar first [-], shape (4,)."""
    velocity: Array
    """Of the origin of the frame of the user [m/s], shape (3,)."""
    spin: Array
    """Inertial [rad/s], shape (3,)."""
    parts: tuple[Part, ...]
    material: int
    """Row of `Materials`."""
    group: int
    """Row of `Filters.collide`."""
    motion: Motion | None


NO_POSITION, NO_TURN = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
NO_SHAPE = Solid(0.0, np.zeros(3), np.zeros((3, 3)), ())
STILL = np.zeros((3, 3))


def solid(owner: str, shape: Any) -> Solid:
    """`shape` in numbers; None is a body without a shape, that touches nothing."""
    if shape is None:
        return NO_SHAPE
    if isinstance(shape, type) or not isinstance(shape, Shape):
        raise ModelError(
            f"{owner}: {shape!r} is not a shape; known: Sphere, Plane, Cuboid, Capsule, Cylinder, Ellipsoid,"
            " ConvexHull, HeightField, Compound"
        )
    whole = isfinite(shape.volume)
    rows = [(part.shape, part.position, part.quaternion) for part in getattr(shape, "parts", ())]
    return Solid(
        float(shape.volume),
        np.array(shape.centroid, float) if whole else NO_POSITION,
        np.array(shape.inertia, float) if whole else STILL,
        tuple(rows) or ((shape, NO_POSITION, NO_TURN),),
    )


def mass_and_inertia(
    owner: str, solid: Solid, density: float, mass: float | None, inertia: Any
) -> tuple[float, Array]:
    """Of a dynamic body: from density, or from its mass, or as given (3 moments or 3 x 3, user's axes)."""
    if not isfinite(solid.volume):
        kinds = ", ".join(sorted({type(part).__name__ for part, _, _ in solid.parts}))
        raise ModelError(f"{owner}: {kinds} has no mass; make it fixed, or give it a motion")
    if mass is None and inertia is not None:
        raise ModelError(f"{owner}: inertia is given without a mass; give both")
    if not solid.parts and (mass is None or inertia is None):
        raise ModelError(f"{owner}: without a shape it needs a mass and an inertia")
    m = positive(owner, "density", density) * solid.volume if mass is None else positive(owner, "mass", mass)
    if inertia is not None:
        return m, check_inertia(owner, inertia)
    if not (isfinite(m) and m > 0.0 and solid.volume > 0.0):
        raise ModelError(f"{owner}: its mass is {m:g} kg, its volume {solid.volume:g} m³")
    return m, check_inertia(owner, solid.inertia * (m / solid.volume))
