"""Description of a simulated world, with which a trajectory can be read and drawn without the world."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.mechanics.shapes import Shape
from stickslip.mechanics.world import World
from stickslip.names import LISTED, alternatives
from stickslip.state import Array, IntArray, ModelError, UnknownNameError

KNOWN: dict[str, tuple[str, tuple[str, ...], str]] = {
    "Sphere": ("sphere", ("radius",), ""),
    "Plane": ("plane", (), ""),
    "Cuboid": ("cuboid", ("size",), ""),
    "Capsule": ("capsule", ("radius", "length"), ""),
    "Cylinder": ("cylinder", ("radius", "length"), ""),
    "Ellipsoid": ("ellipsoid", ("radii",), ""),
    "ConvexHull": ("convex-hull", (), "vertices"),
    "HeightField": ("height-field", ("size",), "heights"),
}
"""Classes of shapes: kind in records, fields with lengths, and field with points."""


def _no_points() -> Array:
    """Return no points."""
    return np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class ShapeRecord:
    """One shape as numbers in its own frame, for viewers.

    `numbers` are: sphere (radius), plane (), cuboid (three edges), capsule and cylinder (radius, length),
    ellipsoid (three radii), convex-hull (), height-field (its extents along x and y).
    """

    kind: str
    """sphere, plane, cuboid, capsule, cylinder, ellipsoid, convex-hull or height-field."""
    numbers: tuple[float, ...] = ()
    """Lengths [m]."""
    points: Array = field(default_factory=_no_points)
    """Points of a hull [m], shape (k, 3), or heights of a field at its grid points [m], shape (nx, ny)."""

    @classmethod
    def of(cls, shape: Shape) -> "ShapeRecord":
        """Return the record of a shape; a user-defined shape has only the name of its class."""
        name = type(shape).__name__
        kind, lengths, table = KNOWN.get(name, (name.lower(), (), ""))
        parts = [np.atleast_1d(np.asarray(getattr(shape, key), float)) for key in lengths]
        numbers = tuple(np.concatenate(parts).tolist()) if parts else ()
        return cls(kind, numbers, np.array(getattr(shape, table), float) if table else _no_points())

    def same(self, other: "ShapeRecord") -> bool:
        """Whether another record has the same kind, numbers and points."""
        both = (self.kind, self.numbers) == (other.kind, other.numbers)
        return both and np.array_equal(self.points, other.points)


@dataclass(frozen=True, eq=False)
class WorldModel:
    """Bodies and shapes of a world as plain data."""

    names: tuple[str, ...]
    """Names of the bodies."""
    kind: IntArray
    """`BodyKind` of each body [-], shape (nb,)."""
    mass: Array
    """Mass of each body; 0 for bodies without dynamics [kg], shape (nb,)."""
    inertia: Array
    """Inertia about the centre of mass, in the frame of the body [kg m²], shape (nb, 3, 3)."""
    origin: Array
    """Origin of the user's frame of the shapes, in the frame of the body [m], shape (nb, 3)."""
    shapes: tuple[ShapeRecord, ...]
    """Records of the shapes; a compound has one per part."""
    shape_body: IntArray
    """Body of each shape [-], shape (ns,)."""
    shape_position: Array
    """Origin of each shape in the frame of its body [m], shape (ns, 3)."""
    shape_quaternion: Array
    """Orientation of each shape in the frame of its body, scalar first [-], shape (ns, 4)."""
    gravity: Array
    """Gravity [m/s²], shape (3,)."""
    joints: tuple[str, ...]
    """Names of the joints."""
    joint_kind: IntArray
    """`JointKind` of each joint [-], shape (nj,)."""
    joint_body: IntArray
    """First and second body of each joint; -1 is the inertial frame [-], shape (nj, 2)."""
    joint_point: Array
    """Point of each joint in the frames of its two bodies [m], shape (nj, 2, 3)."""
    joint_frame: Array
    """Rows: axis and two perpendicular directions, in the frames of both bodies; 0 in files of earlier
    versions [-], shape (nj, 2, 3, 3)."""
    joint_length: Array
    """Lengths of distance joints at the start [m], shape (nj,)."""
    joint_lower: Array
    """Lower stops of the slide (for a distance joint: of its length) and of the angle, -inf for none [m,
    rad], shape (nj, 2)."""
    joint_upper: Array
    """Upper stops, inf for none [m, rad], shape (nj, 2)."""
    source: Any = field(default=None, repr=False)
    """The `World`, or for a file a function that returns it; None for a file without it."""

    @classmethod
    def of(cls, world: World) -> "WorldModel":
        """Return the description of a world."""
        shapes, joints = world.shapes, world.joints
        records: dict[int, ShapeRecord] = {}  # one record for each shape, which bodies may share
        for shape in shapes.shape:
            if id(shape) not in records:
                records[id(shape)] = ShapeRecord.of(shape)
        return cls(
            world.names, world.kind, world.mass, world.inertia, world.origin,
            tuple(records[id(shape)] for shape in shapes.shape), shapes.body, shapes.position,
            shapes.quaternion, world.gravity, joints.names, joints.kind, joints.body, joints.point,
            joints.frame, joints.length, joints.lower, joints.upper, world,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.names)

    def body(self, name: str) -> int:
        """Return the number of a body by name; raise UnknownNameError for an unknown name."""
        try:
            return self.names.index(name)
        except ValueError:
            known = alternatives(name, self.names, most=LISTED)
            raise UnknownNameError(f"unknown body {name!r}; {known}") from None

    def lightest(self, pairs: IntArray) -> Array:
        """Return the mass of the lighter dynamic body of each pair; inf without one [kg], shape (k,)."""
        mass = np.where(self.mass > 0.0, self.mass, np.inf)
        return np.asarray(mass[pairs].min(axis=1))

    def check_same(self, other: "WorldModel") -> None:
        """Raise ModelError with the first difference if `other` cannot continue a run of this world."""
        start = "the start is of another world: "
        for label, ours, theirs in (
            ("bodies", self.names, other.names),
            ("joints", self.joints, other.joints),
        ):
            if ours != theirs:
                k = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
                if k is None:
                    raise ModelError(f"{start}it has {len(ours)} {label}; here there are {len(theirs)}")
                raise ModelError(f"{start}number {k} of its {label} is {ours[k]!r}; here it is {theirs[k]!r}")
        for label, key in (("kind", "kind"), ("mass", "mass"), ("inertia", "inertia"), ("centre", "origin")):
            self._check_rows(other, key, label, range(len(self)))
        if len(self.shapes) != len(other.shapes):
            raise ModelError(f"{start}it has {len(self.shapes)} shapes; here there are {len(other.shapes)}")
        self._check_rows(other, "shape_body", "number of shapes", self.shape_body)
        for k, (ours_, theirs_) in enumerate(zip(self.shapes, other.shapes, strict=True)):
            if not ours_.same(theirs_):
                raise ModelError(f"{start}body {self.names[self.shape_body[k]]!r} has another shape there")
        for key in ("shape_position", "shape_quaternion"):
            self._check_rows(other, key, "place of a shape", self.shape_body)
        keys = ["joint_kind", "joint_body", "joint_point"]
        if self.joint_frame.any():  # otherwise from a file of an earlier version
            keys += ["joint_frame", "joint_length", "joint_lower", "joint_upper"]
        for key in keys:
            ours_j, theirs_j = getattr(self, key), getattr(other, key)
            if not np.array_equal(ours_j, theirs_j):
                raise ModelError(f"{start}its joints differ in {key.replace('_', ' ')}")
        if not np.array_equal(self.gravity, other.gravity):
            raise ModelError(f"{start}its gravity is {self.gravity} m/s²; here it is {other.gravity} m/s²")

    def _check_rows(self, other: "WorldModel", key: str, label: str, owner: Any) -> None:
        """Raise ModelError with the name of the first body whose rows differ."""
        ours, theirs = getattr(self, key), getattr(other, key)
        if ours.shape == theirs.shape:
            rows = ours.reshape(len(ours), -1) != theirs.reshape(len(theirs), -1)
            if not rows.any():
                return
            name = self.names[owner[int(np.flatnonzero(rows.any(axis=1))[0])]]
        else:
            name = "?"
        raise ModelError(f"the start is of another world: the {label} of body {name!r} differs")
