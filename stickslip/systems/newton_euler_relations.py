"""Contact of Newton-Euler bodies in one, three and more components: (N), (N, T1, T2), (N, T1, T2, R1, R2, S).

The components are the relative velocity at the contact, first body minus second, along the normal and two
tangents; with rolling friction the relative angular velocity along the same tangents; with torsional friction
that along the normal. The normal points from the second body, or the world, to the first (Siconos Developer's
Notes 2017, (11.46)).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip import rotations
from stickslip.kernels import march_bodies as kernels
from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems.body_outputs import BodyOutput
from stickslip.systems.dynamics import vector
from stickslip.systems.quantities import OUTPUT, Given, Quantity, needed, quantity
from stickslip.systems.relations import Binding, MechanicalOutput


@dataclass(frozen=True, eq=False)
class Touch:
    """Closest points, gap and normal of two bodies."""

    gap: float
    """Signed distance [m]."""
    normal: Array
    """Unit normal, from the second body to the first [-], shape (3,)."""
    first: Array
    """Contact point on the first body, inertial frame [m], shape (3,)."""
    second: Array
    """Contact point on the second body, inertial frame [m], shape (3,)."""


class Geometry(ABC):
    """Contact geometry of an interaction."""

    quantities: tuple[Quantity, ...] = ()

    @abstractmethod
    def touch(self, t: float, q: Array, z: Array) -> Touch:
        """Return gap, normal and contact points at q."""

    def surface(self, t: float, q: Array, z: Array) -> Array | None:
        """Velocity of the second body's surface relative to the body [m/s], shape (3,); None for zero."""
        return None


@dataclass(frozen=True, eq=False)
class BodyContact:
    """Contact of one or two bodies whose gap, normal and point are functions of q, first body first.

    `surface_velocity` is the velocity of a moving surface (a conveyor, a shaken table). It is required if the
    gap depends on t.
    """

    gap: Given
    """Signed distance [m]; takes any of (t, q, z)."""
    normal: Given
    """Unit normal from the second body, or the world, to the first [-], shape (3,)."""
    point: Given
    """Contact point in the inertial frame [m], shape (3,); on the first body where `second` is given."""
    second: Given | None = None
    """Contact point on the second body [m], shape (3,); by default `point`."""
    surface_velocity: Given | None = None
    """Velocity of the second body's surface relative to the body [m/s], shape (3,)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Contact(to, "BodyContact", _Given(to, self))


@dataclass(frozen=True, eq=False)
class PointOnPlane:
    """Contact of a point of a body with the fixed plane {x: normal · x = offset}."""

    point: ArrayLike
    """Point in the body frame [m], shape (3,)."""
    normal: ArrayLike = (0.0, 0.0, 1.0)
    """Normal of the plane, on the body's side [-], shape (3,)."""
    offset: float = 0.0
    """Position of the plane along its normal [m]."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Contact(to, "PointOnPlane", AbovePlane(to, self.point, 0.0, self.normal, self.offset))


@dataclass(frozen=True, eq=False)
class SpherePlane:
    """Contact of a sphere of a body with the fixed plane {x: normal · x = offset}."""

    radius: float
    """Radius [m]."""
    normal: ArrayLike = (0.0, 0.0, 1.0)
    """Normal of the plane, on the body's side [-], shape (3,)."""
    offset: float = 0.0
    """Position of the plane along its normal [m]."""
    center: ArrayLike = (0.0, 0.0, 0.0)
    """Centre of the sphere in the body frame [m], shape (3,)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        radius = _length(to, "radius", self.radius)
        return Contact(to, "SpherePlane", AbovePlane(to, self.center, radius, self.normal, self.offset))


@dataclass(frozen=True, eq=False)
class SphereSphere:
    """Contact of spheres of two bodies, or of a sphere of a body and a sphere fixed in space."""

    radius_first: float
    """Radius [m]."""
    radius_second: float
    """Radius [m]."""
    center_first: ArrayLike = (0.0, 0.0, 0.0)
    """Centre in the first body's frame [m], shape (3,)."""
    center_second: ArrayLike = (0.0, 0.0, 0.0)
    """Centre in the second body's frame, or in the inertial one [m], shape (3,)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Contact(to, "SphereSphere", Spheres(to, self))


class Contact(BodyOutput):
    """Bound contact: one or three components, two more with rolling friction, one more with torsional."""

    def __init__(self, to: Binding, kind: str, geometry: Geometry):
        super().__init__(to, kind, (1, 3, 4, 5, 6))
        self.geometry = geometry
        self.touch(0.0, to.q0, to.z0)

    def touch(self, t: float, q: Array, z: Array) -> Touch:
        """Return gap, normal and contact points [m], for drawing and for checks."""
        return self.geometry.touch(t, q, z)

    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        y = np.zeros(self.m)
        y[0] = self.geometry.touch(t, q, z).gap
        return y

    def body_rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        point = self.geometry.touch(t, q, z)
        touch = np.concatenate([[point.gap], point.normal, point.first, point.second])
        out = np.empty((self.m, self.to.nv))
        kernels.contact_rows(touch, np.ascontiguousarray(q), self.m, np.empty(9), out.reshape(-1))
        return out

    def drift(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        surface = self.geometry.surface(t, q, z)
        if surface is None:
            return None
        drift = np.zeros(self.m)
        drift[: min(self.m, 3)] = -(rotations.frame(self.geometry.touch(t, q, z).normal) @ surface)[: self.m]
        return drift

    @property
    def holonomic(self) -> slice:
        return slice(0, 1)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return self.geometry.quantities


class AbovePlane(Geometry):
    """Geometry of a sphere (a point if its radius is 0) above a fixed plane."""

    def __init__(self, to: Binding, center: ArrayLike, radius: float, normal: ArrayLike, offset: float):
        if to.nq != 7:
            raise ModelError(f"{to.owner}: contact with a fixed plane takes one body")
        place, direction = vector(to.owner, "center", center, 3), vector(to.owner, "normal", normal, 3)
        size = float(np.linalg.norm(direction))
        if not size > 0.0:
            raise ModelError(f"{to.owner}: normal is zero")
        self.numbers = np.concatenate(
            [place, [radius], direction / size, vector(to.owner, "offset", offset, 1)]
        )
        """Arguments of `kernels.touch_plane` [m, -], shape (8,)."""

    def touch(self, t: float, q: Array, z: Array) -> Touch:
        out = np.empty(kernels.TOUCH)
        kernels.touch_plane(self.numbers, q, out)
        return Touch(float(out[0]), out[1:4], out[4:7], out[7:])


class Spheres(Geometry):
    """Geometry of spheres of two bodies, or of a body and the world."""

    def __init__(self, to: Binding, given: SphereSphere):
        self.owner = to.owner
        radii = [_length(to, n, getattr(given, n)) for n in ("radius_first", "radius_second")]
        centers = [vector(to.owner, n, getattr(given, n), 3) for n in ("center_first", "center_second")]
        self.numbers = np.concatenate([radii, *centers])
        """Arguments of `kernels.touch_spheres` [m], shape (8,)."""

    def touch(self, t: float, q: Array, z: Array) -> Touch:
        out = np.empty(kernels.TOUCH)
        kernels.touch_spheres(self.numbers, q, out)
        if not np.isfinite(out[1]):
            raise ModelError(f"{self.owner}: at t = {t:.9g} s, the centres of the two spheres coincide")
        return Touch(float(out[0]), out[1:4], out[4:7], out[7:])


class _Given(Geometry):
    """Geometry by the user's functions."""

    def __init__(self, to: Binding, given: BodyContact):
        takes = "t", "q", "z"
        self.owner = to.owner
        self.gap = needed(quantity(to.owner, "gap", given.gap, (1,), OUTPUT, takes))
        self.normal = needed(quantity(to.owner, "normal", given.normal, (3,), OUTPUT, takes))
        self.point = needed(quantity(to.owner, "point", given.point, (3,), OUTPUT, takes))
        self.second = quantity(to.owner, "second", given.second, (3,), OUTPUT, takes)
        self.velocity = quantity(to.owner, "surface_velocity", given.surface_velocity, (3,), OUTPUT, takes)
        if "t" in self.gap.wanted and self.velocity is None:
            raise ModelError(f"{to.owner}: surface_velocity is missing, although the gap depends on time")
        quantities = (self.gap, self.normal, self.point, self.second, self.velocity)
        self.quantities = tuple(one for one in quantities if one is not None)
        self._lam = np.zeros(to.law.size)

    def touch(self, t: float, q: Array, z: Array) -> Touch:
        at = t, q, self._lam, z
        normal, first = self.normal(*at), self.point(*at)
        if not abs(float(normal @ normal) - 1.0) <= 1e-6:
            raise ModelError(f"{self.owner}: at t = {t:.9g} s, normal is not a unit vector: {normal}")
        second = first if self.second is None else self.second(*at)
        return Touch(float(self.gap(*at)[0]), normal, first, second)

    def surface(self, t: float, q: Array, z: Array) -> Array | None:
        return None if self.velocity is None else self.velocity(t, q, self._lam, z)


def _length(to: Binding, name: str, value: float) -> float:
    number = float(vector(to.owner, name, value, 1)[0])
    if not number > 0.0:
        raise ModelError(f"{to.owner}: {name} is {number:.6g}; it must be positive")
    return number
