"""Placement of bodies: mass, centre of mass, inertia, and the parts of shapes, from the user's arguments."""

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from stickslip.mechanics.given import numbers, positive, unit_quaternion
from stickslip.mechanics.inertia import check_inertia
from stickslip.mechanics.motions import Motion
from stickslip.mechanics.shapes import Shape
from stickslip.state import Array, ModelError

Part = tuple[Shape, Array, Array]
"""A shape, its position [m] and its quaternion in the user's frame."""


@dataclass(frozen=True, slots=True)
class Solid:
    """Properties of a shape at density 1, computed once for all bodies that share the shape."""

    volume: float
    """Volume [m³]."""
    centroid: Array
    """Centre of volume in the user's frame [m], shape (3,)."""
    inertia: Array
    """Inertia about the centroid at density 1 kg/m³ [kg m²], shape (3, 3)."""
    parts: tuple[Part, ...]
    """The shape itself, or the parts of a compound."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A body as the user placed it."""

    kind: int
    """`BodyKind`."""
    mass: float
    """Mass [kg]."""
    inertia: Array
    """Inertia about the centre of mass [kg m²], shape (3, 3)."""
    centre: Array
    """Centre of mass in the user's frame [m], shape (3,); 0 if the body is not dynamic."""
    position: Array
    """Position of the user's frame [m], shape (3,)."""
    quaternion: Array
    """Orientation of the user's frame, unit, scalar first [-], shape (4,)."""
    velocity: Array
    """Velocity of the origin of the user's frame [m/s], shape (3,)."""
    spin: Array
    """Angular velocity in the inertial frame [rad/s], shape (3,)."""
    parts: tuple[Part, ...]
    material: int
    """Index of the material in `Materials`."""
    group: int
    """Index of the group in `Filters.groups`."""
    motion: Motion | None


ORIGIN, UPRIGHT = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
"""Default position [m] and quaternion of bodies."""
NO_POSITION = numbers("placement", "position", ORIGIN, (3,))
"""`ORIGIN` as an array [m], shape (3,)."""
NO_TURN = numbers("placement", "quaternion", UPRIGHT, (4,))
"""`UPRIGHT` as an array [-], shape (4,)."""
STILL = numbers("placement", "inertia", np.zeros((3, 3)), (3, 3))
"""Inertia of bodies that are not dynamic [kg m²], shape (3, 3)."""
NO_SHAPE = Solid(0.0, NO_POSITION, STILL, ())
"""The `Solid` of a body without a shape."""


def place(owner: str, key: str, given: Any) -> Array:
    """Return three finite numbers as an array. Common forms are fast, for worlds with very many bodies."""
    if given is ORIGIN:
        return NO_POSITION
    if (
        type(given) is tuple
        and all(type(one) is float and isfinite(one) for one in given)
        and len(given) == 3
    ):
        return np.array(given)
    if type(given) is np.ndarray and given.dtype == np.float64 and given.shape == (3,):
        copied: Array = given.copy()
        if isfinite(copied[0]) and isfinite(copied[1]) and isfinite(copied[2]):
            return copied
    return numbers(owner, key, given, (3,))


def turn(owner: str, given: Any) -> Array:
    """Return a unit quaternion."""
    return NO_TURN if given is UPRIGHT else unit_quaternion(owner, given)


def solid(owner: str, shape: Any, kinds: set[type]) -> Solid:
    """Return the properties of `shape`; None is a body without a shape, which has no contacts.

    kinds: cache of types that satisfy the protocol `Shape`, whose check is slow; the type is added to it.
    """
    if shape is None:
        return NO_SHAPE
    if type(shape) not in kinds and (isinstance(shape, type) or not isinstance(shape, Shape)):
        raise ModelError(
            f"{owner}: {shape!r} is not a shape; known: Sphere, Plane, Cuboid, Capsule, Cylinder, Ellipsoid,"
            " ConvexHull, HeightField, Compound"
        )
    kinds.add(type(shape))
    is_finite = isfinite(shape.volume)
    rows = [(part.shape, part.position, part.quaternion) for part in getattr(shape, "parts", ())]
    return Solid(
        float(shape.volume),
        np.array(shape.centroid, float) if is_finite else NO_POSITION,
        np.array(shape.inertia, float) if is_finite else STILL,
        tuple(rows) or ((shape, NO_POSITION, NO_TURN),),
    )


def check_inertias(names: list[str], inertia: Array) -> None:
    """Raise a ModelError that names the first dynamic body with an impossible inertia.

    A fast check of all bodies selects those that `check_inertia` examines.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = inertia / np.abs(inertia).max(axis=(1, 2), initial=0.0)[:, None, None]
    odd = ~np.isfinite(scaled).all(axis=(1, 2))
    moments = np.linalg.eigvalsh(np.where(odd[:, None, None], 0.0, scaled))
    odd |= (moments[:, 0] < 1e-10) | (moments[:, 0] + moments[:, 1] < moments[:, 2])
    for k in np.flatnonzero(odd):
        check_inertia(f"body {names[k]!r}", inertia[k])


def mass_and_inertia(
    owner: str, solid: Solid, density: float, mass: float | None, inertia: Any
) -> tuple[float, Array]:
    """Return mass and inertia of a dynamic body, from density, from its mass, or as given.

    A given inertia has 3 moments or 3 x 3 entries, in the user's axes.
    """
    if not isfinite(solid.volume):
        kinds = ", ".join(sorted({type(part).__name__ for part, _, _ in solid.parts}))
        raise ModelError(f"{owner}: {kinds} has no mass; make the body fixed, or give it a motion")
    if mass is None and inertia is not None:
        raise ModelError(f"{owner}: inertia is given without a mass; give both")
    if not solid.parts and (mass is None or inertia is None):
        raise ModelError(f"{owner}: a body without a shape needs a mass and an inertia")
    if mass is not None:
        m = positive(owner, "mass", mass)
    else:
        is_valid = type(density) is float and 0.0 < density < inf
        m = solid.volume * (density if is_valid else positive(owner, "density", density))
    if inertia is not None:
        return m, check_inertia(owner, inertia)
    scale = m / solid.volume if solid.volume > 0.0 else inf
    if not (isfinite(scale) and 0.0 < m * scale < inf):
        raise ModelError(f"{owner}: {m:g} kg in {solid.volume:g} m³ cannot be computed with")
    return m, scale * solid.inertia


def centre_of_mass(owner: str, solid: Solid, inertia: Any, centre: Any) -> Array:
    """Return the centre of mass in the user's frame [m], shape (3,); by default the centroid."""
    if centre is None:
        return solid.centroid
    if inertia is None:
        raise ModelError(f"{owner}: centre is given without an inertia; give mass and inertia about it")
    return place(owner, "centre", centre)
