"""Parameters of a world that can be fitted, varied or differentiated by: masses, friction, sizes, efforts,
...

    p = Parameters.of(world)
    world = p.with_(mu=[0.3]).applied(world)

Parameters are independent of each other: a change of size does not change the mass, a change of the position
of
a shape does not change the centre of mass.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from stickslip.laws import COEFFICIENTS, coefficient_fault
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.inertia import check_inertia
from stickslip.mechanics.shapes import Capsule, Cuboid, Cylinder, Ellipsoid, Shape, Sphere
from stickslip.mechanics.world import BodyKind, World
from stickslip.mechanics.written_forces import JointEffort, Written
from stickslip.names import alternatives
from stickslip.state import Array, ModelError

SIZES: dict[type, tuple[str, ...]] = {
    Sphere: ("radius",), Capsule: ("radius", "length"), Cylinder: ("radius", "length"), Cuboid: ("size",),
    Ellipsoid: ("radii",), ConvexHull: ("size",), HeightField: ("size",),
}  # fmt: skip
"""Fields that contain the lengths of each shape."""
BEYOND_CONTACTS = ("gravity", "mass", "inertia", "effort", "wrench")
"""Parameters that do not affect contact detection or the laws of contacts."""
SYMMETRIC = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Entries of the inertia matrix in the order of `Parameters.inertia`."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Parameters of a world as arrays that can be changed and written back.

    `pairs` (i, j), i <= j, of materials are in the order of `Materials.pairs`.

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.1))
        print(ss.mechanics.Parameters.of(b.build()).mu)
    """

    gravity: Array
    """Gravity [m/s²], shape (3,)."""
    mass: Array
    """Mass of each body; 0 if it is not dynamic [kg], shape (n,)."""
    inertia: Array
    """Inertia xx, yy, zz, xy, xz, yz about the centre of mass in the frame of each body; 0 if it is not
    dynamic
    [kg m²], shape (n, 6)."""
    mu: Array
    """Friction of each pair of materials [-], shape (pairs,)."""
    mu_roll: Array
    """Rolling friction of each pair [m], shape (pairs,)."""
    mu_spin: Array
    """Torsional friction of each pair [m], shape (pairs,)."""
    e: Array
    """Restitution of each pair [-], shape (pairs,)."""
    size: Array
    """Lengths of all shapes, concatenated: spheres (radius), capsules and cylinders (radius, length), cuboids
    (three edges), ellipsoids (three radii), convex hulls (extent along x, y, z, to which they are stretched)
    and
    height fields (along x and y) [m], shape (k,)."""
    place: Array
    """Position of the origin of each shape in the frame of its body [m], shape (ns, 3)."""
    effort: Array
    """Efforts of the actuators with a constant effort, in their order in the world [N, N m], shape (na,)."""
    wrench: Array
    """Additional force on the centre of mass and moment of each body, both in the inertial frame [N, N m],
    shape
    (n, 6)."""

    @classmethod
    def of(cls, world: World) -> "Parameters":
        """Return the parameters of a world."""
        m, n = world.materials, len(world.names)
        i, j = m.pairs.T
        sizes = [lengths(shape) for shape in world.shapes.shape]
        efforts = [float(one.effort.constant) for one in actuators(world)]  # type: ignore[arg-type]
        wrench = world.forces.wrench
        rows, columns = np.array(SYMMETRIC).T
        return cls(
            world.gravity.copy(), world.mass.copy(), world.inertia[:, rows, columns], m.mu[i, j],
            m.mu_roll[i, j], m.mu_spin[i, j], m.e[i, j], np.concatenate([np.zeros(0), *sizes]),
            world.shapes.position.copy(), np.array(efforts, float),
            np.zeros((n, 6)) if wrench is None else wrench.copy(),
        )  # fmt: skip

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all parameters."""
        return tuple(spec.name for spec in fields(cls))

    def with_(self, **changes: ArrayLike) -> "Parameters":
        """Return a copy with some parameters changed; each must be finite and have its shape."""
        arrays: dict[str, Any] = {}
        for name, argument in changes.items():
            if name not in self.names():
                raise ModelError(f"unknown parameter {name!r}; {alternatives(name, self.names())}")
            shape = getattr(self, name).shape
            try:
                value = np.array(argument, float)
            except (TypeError, ValueError):
                raise ModelError(
                    f"parameter {name} is {argument!r}; expected numbers, shape {shape}"
                ) from None
            if value.size != np.prod(shape, dtype=int):
                raise ModelError(f"parameter {name} has shape {value.shape}, expected {shape}")
            if not np.isfinite(value).all():
                raise ModelError(f"parameter {name} is not finite: {value}")
            arrays[name] = value.reshape(shape)
        return replace(self, **arrays)

    def applied(self, world: World) -> World:
        """Return `world` with these parameters; raise a ModelError for invalid ones (mass <= 0, mu < 0,
        ...)."""
        self._check(world)
        shapes, dynamic = world.shapes, world.kind == BodyKind.DYNAMIC
        inertia = matrix_of(self.inertia)
        M = np.zeros((int(dynamic.sum()), 6, 6))
        M[:, range(3), range(3)] = self.mass[dynamic, None]
        M[:, 3:, 3:] = inertia[dynamic]
        return replace(
            world, mass=_frozen(self.mass), inertia=_frozen(inertia), M=_frozen(M),
            gravity=_frozen(self.gravity), materials=world.materials.with_laws(self.law),
            shapes=replace(shapes, shape=self._shapes(shapes.shape), position=_frozen(self.place)),
            forces=replace(world.forces, written=self._written(world), wrench=self._wrench(world)),
        )  # fmt: skip

    def _check(self, world: World) -> None:
        base, dynamic = Parameters.of(world), world.kind == BodyKind.DYNAMIC
        for name in self.names():
            dimensions, expected = getattr(self, name).shape, getattr(base, name).shape
            if dimensions != expected:
                raise ModelError(f"parameter {name} has shape {dimensions}; this world has {expected}")
        for k in np.flatnonzero(dynamic).tolist():
            if not self.mass[k] > 0.0:
                raise ModelError(f"body {world.names[k]!r}: mass is {self.mass[k]} kg; it must be above 0")
            check_inertia(f"body {world.names[k]!r}", matrix_of(self.inertia[k]))
        for k in np.flatnonzero(~dynamic).tolist():
            if self.mass[k] or self.inertia[k].any() or self.wrench[k].any():
                raise ModelError(
                    f"body {world.names[k]!r} is not dynamic: mass, inertia and wrench have no effect on it"
                )
        for name in COEFFICIENTS:
            if fault := coefficient_fault(name, getattr(self, name), "pair"):
                raise ModelError(f"parameter {fault}")
        if not (self.size > 0.0).all():
            raise ModelError(f"parameter size is {self.size}; all lengths must be above 0")

    def _shapes(self, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        resized: list[Shape] = []
        at = 0
        for shape in shapes:
            k = lengths(shape).size
            resized.append(_resized(shape, self.size[at : at + k]))
            at += k
        return tuple(resized)

    def _written(self, world: World) -> tuple[Any, ...]:
        efforts = iter(self.effort)
        return tuple(
            replace(one, effort=_constant(one.effort, next(efforts))) if _is_input(one) else one
            for one in world.forces.written
        )

    def _wrench(self, world: World) -> Array | None:
        return _frozen(self.wrench) if self.wrench.any() or world.forces.wrench is not None else None

    @property
    def law(self) -> Array:
        """mu, mu_roll, mu_spin, e of each pair of materials [-, m, m, -], shape (pairs, 4)."""
        return np.stack([getattr(self, name) for name in COEFFICIENTS], axis=-1)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Return the number of entries of each parameter."""
        return {name: getattr(self, name).size for name in self.names()}


def matrix_of(six: Array) -> Array:
    """Return symmetric matrices, shape (..., 3, 3), from six numbers each, ordered as
    `Parameters.inertia`."""
    matrix = np.empty((*six.shape[:-1], 3, 3))
    for k, (i, j) in enumerate(SYMMETRIC):
        matrix[..., i, j] = matrix[..., j, i] = six[..., k]
    return matrix


def actuators(world: World) -> tuple[JointEffort, ...]:
    """Return the actuators with a constant effort."""
    return tuple(one for one in world.forces.written if _is_input(one))


def lengths(shape: Shape) -> Array:
    """Return the lengths of a shape [m], shape (1,), (2,) or (3,); empty for a plane."""
    parts = [np.atleast_1d(np.asarray(getattr(shape, key), float)) for key in SIZES.get(type(shape), ())]
    return np.concatenate([np.zeros(0), *parts])


def stretches(shape: Shape) -> Array:
    """Return the rate at which each length stretches a shape along its axes x, y, z [1/m], shape (lengths,
    3)."""
    size = lengths(shape)
    if isinstance(shape, Sphere | Capsule | Cylinder):
        across, along = 1.0 / size[0], 1.0 / size[-1]
        rates = np.array([[across, across, 0.0], [0.0, 0.0, along]])
        if not isinstance(shape, Cylinder):  # a point, or a line, with a radius
            rates[0] = 0.0
        return rates[: size.size]
    return np.asarray(np.eye(3)[: size.size] / size[:, None])


def _is_input(one: Any) -> TypeGuard[JointEffort]:
    return isinstance(one, JointEffort) and one.effort.constant is not None


def _constant(effort: Written, value: float) -> Written:
    return replace(effort, constant=np.array(value))


def _resized(shape: Shape, size: Array) -> Shape:
    sizes = size.tolist()
    if np.array_equal(size, lengths(shape)):
        return shape
    if isinstance(shape, ConvexHull):
        return ConvexHull(shape.vertices * (size / lengths(shape)))
    if isinstance(shape, HeightField):
        return HeightField(shape.heights, (sizes[0], sizes[1]))
    if isinstance(shape, Cuboid | Ellipsoid):
        return type(shape)((sizes[0], sizes[1], sizes[2]))
    assert isinstance(shape, Sphere | Capsule | Cylinder)
    return type(shape)(*sizes)


def _frozen(array: Array) -> Array:
    copy = np.array(array, float)
    copy.flags.writeable = False
    return copy
