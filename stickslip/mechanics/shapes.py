"""Shapes of bodies: geometry, volume and inertia.

This file has shapes with closed formulas; others are in `hulls`, `height_fields` and `compounds`. All
quantities
are in the frame of the shape. The shapes of this file are centred in it; `Plane` is z <= 0.
"""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from stickslip.mechanics.given import positive, positives
from stickslip.state import Array, ModelError


@runtime_checkable
class Shape(Protocol):
    """Base class of shapes: volume, inertia and extent in the frame of the shape."""

    @property
    def volume(self) -> float:
        """Volume [m³]; inf for shapes that only fixed or kinematic bodies may have."""

    @property
    def centroid(self) -> Array:
        """Centre of volume [m], shape (3,)."""

    @property
    def inertia(self) -> Array:
        """Inertia about the centroid at density 1 kg/m³ [kg m²], shape (3, 3)."""

    @property
    def reach(self) -> float:
        """Radius of a bounding sphere about the origin of the frame [m], the smallest one except for
        compounds;
        inf for a plane."""


class Centred:
    """Base class of shapes whose centre of volume is the origin of their frame."""

    @property
    def centroid(self) -> Array:
        return np.zeros(3)


class Endless:
    """Base class of infinite shapes, for fixed and kinematic bodies only."""

    @property
    def volume(self) -> float:
        return math.inf

    @property
    def centroid(self) -> Array:
        return np.zeros(3)

    @property
    def inertia(self) -> Array:
        return np.diag([math.inf] * 3)

    @property
    def reach(self) -> float:
        return math.inf


def check_moments(shape: Shape) -> None:
    """Raise a ModelError for a shape whose volume or inertia overflows or underflows."""
    with np.errstate(all="ignore"):
        volume, moments = shape.volume, np.diag(shape.inertia)
    if not (0.0 < volume < math.inf and (moments > 0.0).all() and (moments < math.inf).all()):
        raise ModelError(
            f"{type(shape).__name__}: too large or too small for double precision: its volume comes out as "
            f"{volume} m³ and its moments of inertia as {moments}"
        )


@dataclass(frozen=True)
class Sphere(Centred):
    """Ball around the origin of the frame.

    Example:

        b = ss.WorldBuilder()
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1), density=2700.0)
    """

    radius: float
    """Radius [m]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("Sphere", "radius", self.radius))
        check_moments(self)

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * math.pi * self.radius * self.radius * self.radius

    @property
    def inertia(self) -> Array:
        return np.diag([0.4 * self.volume * self.radius * self.radius] * 3)

    @property
    def reach(self) -> float:
        return self.radius


@dataclass(frozen=True)
class Plane(Endless):
    """Half-space z <= 0; its surface has the normal +z. Fixed and kinematic bodies only.

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("ramp", ss.Plane(), quaternion=ss.rotation((0, 1, 0), 0.4), fixed=True)
    """


@dataclass(frozen=True)
class Cuboid(Centred):
    """Box with edges along the axes, centred in the frame.

    Example:

        b = ss.WorldBuilder()
        b.body("brick", ss.Cuboid((0.2, 0.1, 0.05)), position=(0, 0, 1))
    """

    size: tuple[float, float, float]
    """Full lengths of the edges along x, y, z [m]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", positives("Cuboid", "size", self.size, 3))
        check_moments(self)

    @property
    def volume(self) -> float:
        x, y, z = self.size
        return x * y * z

    @property
    def inertia(self) -> Array:
        x, y, z = self.size
        return self.volume / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])

    @property
    def reach(self) -> float:
        return 0.5 * math.hypot(*self.size)


@dataclass(frozen=True)
class Capsule(Centred):
    """Cylinder along z with a hemisphere at each end.

    Example:

        b = ss.WorldBuilder()
        b.body("rod", ss.Capsule(0.05, 0.4), position=(0, 0, 1))
    """

    radius: float
    """Radius [m]."""
    length: float
    """Length of the cylindrical part; the total length is longer by 2 radius [m]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("Capsule", "radius", self.radius))
        object.__setattr__(self, "length", positive("Capsule", "length", self.length))
        check_moments(self)

    @property
    def volume(self) -> float:
        return math.pi * self.radius * self.radius * (self.length + 4.0 / 3.0 * self.radius)

    @property
    def inertia(self) -> Array:
        r, l = self.radius, self.length  # noqa: E741
        straight, ends = math.pi * r * r * l, 4.0 / 3.0 * math.pi * r * r * r
        along = 0.5 * straight * r * r + 0.4 * ends * r * r
        # The centroid of a half ball is 3 r / 8 from its flat side: parallel-axis theorem, applied twice.
        across = straight * (r * r / 4.0 + l * l / 12.0) + ends * (0.4 * r * r + 0.25 * l * l + 0.375 * r * l)
        return np.diag([across, across, along])

    @property
    def reach(self) -> float:
        return self.radius + 0.5 * self.length


@dataclass(frozen=True)
class Cylinder(Centred):
    """Cylinder along z with flat ends.

    Example:

        b = ss.WorldBuilder()
        b.body("wheel", ss.Cylinder(0.3, 0.05), position=(0, 0, 1))
    """

    radius: float
    """Radius [m]."""
    length: float
    """Distance of the ends [m]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("Cylinder", "radius", self.radius))
        object.__setattr__(self, "length", positive("Cylinder", "length", self.length))
        check_moments(self)

    @property
    def volume(self) -> float:
        return math.pi * self.radius * self.radius * self.length

    @property
    def inertia(self) -> Array:
        along = 0.5 * self.radius * self.radius
        across = 0.25 * self.radius * self.radius + self.length * self.length / 12.0
        return self.volume * np.diag([across, across, along])

    @property
    def reach(self) -> float:
        return math.hypot(self.radius, 0.5 * self.length)


@dataclass(frozen=True)
class Ellipsoid(Centred):
    """Ellipsoid with axes along x, y and z.

    Example:

        b = ss.WorldBuilder()
        b.body("pebble", ss.shapes.Ellipsoid((0.1, 0.08, 0.05)), position=(0, 0, 1))
    """

    radii: tuple[float, float, float]
    """Semi-axes along x, y, z [m]."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "radii", positives("Ellipsoid", "radii", self.radii, 3))
        check_moments(self)

    @property
    def volume(self) -> float:
        a, b, c = self.radii
        return 4.0 / 3.0 * math.pi * a * b * c

    @property
    def inertia(self) -> Array:
        a, b, c = self.radii
        return self.volume / 5.0 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])

    @property
    def reach(self) -> float:
        return max(self.radii)
