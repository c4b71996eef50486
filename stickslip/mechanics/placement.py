"""A body as it is placed: its mass, centre of mass and inertia, and the rows of its shapes."""

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


ORIGIN, UPRIGHT = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
"""Where bodies are unless they are told."""
NO_POSITION = numbers("placement", "position", ORIGIN, (3,))
NO_TURN = numbers("placement", "quaternion", UPRIGHT, (4,))
STILL = numbers("placement", "inertia", np.zeros((3, 3)), (3, 3))
NO_SHAPE = Solid(0.0, NO_POSITION, STILL, ())


def place(owner: str, key: str, given: Any) -> Array:
    """Three numbers; in the plain forms at small cost, since there may be a hundred thousand bodies."""
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
    """A unit quaternion."""
    return NO_TURN if given is UPRIGHT else unit_quaternion(owner, given)


def solid(owner: str, shape: Any, kinds: set[type]) -> Solid:
    """`shape` in numbers; None is a body without a shape, that touches nothing.

    kinds: those known to be shapes, to which this one is added; asking a protocol takes time.
    """
    if shape is None:
        return NO_SHAPE
    if type(shape) not in kinds and (isinstance(shape, type) or not isinstance(shape, Shape)):
        raise ModelError(
            f"{owner}: {shape!r} is not a shape; known: Sphere, Plane, Cuboid, Capsule, Cylinder, Ellipsoid,"
            " ConvexHull, HeightField, Compound"
        )
    kinds.add(type(shape))
    whole = isfinite(shape.volume)
    rows = [(part.shape, part.position, part.quaternion) for part in getattr(shape, "parts", ())]
    return Solid(
        float(shape.volume),
        np.array(shape.centroid, float) if whole else NO_POSITION,
        np.array(shape.inertia, float) if whole else STILL,
        tuple(rows) or ((shape, NO_POSITION, NO_TURN),),
    )


def check_inertias(names: list[str], inertia: Array) -> None:
    """Refuse by name a dynamic body whose inertia cannot be; all at once, what looks odd one by one."""
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
    """Of a dynamic body: from density, or from its mass, or as given (3 moments or 3 x 3, user's axes)."""
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
        plain = type(density) is float and 0.0 < density < inf
        m = solid.volume * (density if plain else positive(owner, "density", density))
    if inertia is not None:
        return m, check_inertia(owner, inertia)
    scale = m / solid.volume if solid.volume > 0.0 else inf
    if not (isfinite(scale) and 0.0 < m * scale < inf):
        raise ModelError(f"{owner}: {m:g} kg in {solid.volume:g} m³ cannot be computed with")
    return m, scale * solid.inertia


def centre_of_mass(owner: str, solid: Solid, inertia: Any, centre: Any) -> Array:
    """In the frame of the user [m], shape (3,): the centroid unless it is given, with inertia about it."""
    if centre is None:
        return solid.centroid
    if inertia is None:
        raise ModelError(f"{owner}: centre is given without an inertia; give mass and inertia about it")
    return place(owner, "centre", centre)
