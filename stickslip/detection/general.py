"""Contacts of all shapes by MuJoCo's narrow phase; the one file that knows MuJoCo and its conventions.

A model of MuJoCo's is compiled with a body for each of ours. Poses are written where its collision functions
read them, so that its joints, masses and kinematics play no part. Its lengths are ours over `unit`, a power
of two near the size of the shapes: its tolerances are absolute, and scaling by a power of two costs no digit.

What it reaches, in units, for margins up to a tenth of the shapes (tests/detection/test_general.py): gaps to
1e-11; normals to 1e-9, but to 3e-6 with ellipsoids, and to 1e-3 where shapes overlap by less than that. It
keeps the vertices of hulls and the heights of fields in single precision. So contacts of ellipsoids,
cylinders, hulls and fields are found again by the features that meet there, to rounding
(`kernels/bodies/refined.py`). What is left: boxes that do not touch are measured along an axis of one, a
little short of their distance; with margins wider than the shapes, overlaps of ellipsoids are right to 1e-3
only; a capsule whose axis has gone into a box has wrong depths; edges that touch exactly and are parallel
have gaps to 1e-5; where faces of hulls overlap askew, the places at which their edges cross are in single
precision.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.detection.contacts import SLOTS, ContactSet
from stickslip.detection.features import shape_features
from stickslip.detection.mujoco_library import Warnings, load_mujoco
from stickslip.detection.mujoco_memory import memory_of
from stickslip.detection.polyhedra import KnownFaces
from stickslip.detection.spheres import ROUND
from stickslip.kernels.bodies.contacts import (
    GeomTraits,
    Placement,
    Touching,
    choose_manifolds,
    place_geoms,
    translate,
)
from stickslip.kernels.bodies.faces import Polyhedra, face_contacts
from stickslip.kernels.bodies.features import ShapeFeatures
from stickslip.kernels.bodies.fields import Terrain, field_contacts
from stickslip.kernels.bodies.frames import fill_tangents
from stickslip.kernels.bodies.layout import Contacts
from stickslip.kernels.bodies.refined import doubtful, refine
from stickslip.kernels.steps import detection as finders
from stickslip.kernels.steps.detection import GeneralArrays
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Capsule, Cuboid, Cylinder, Ellipsoid, Plane, Shape, Sphere
from stickslip.mechanics.world import BodyKind, World
from stickslip.rotations import matrices
from stickslip.state import Array, BoolArray, IntArray, ModelError

mujoco: Any = load_mujoco()

TOLERANCE = 1e-12
"""Of its search for closest points, in units."""
ITERATIONS = 200
"""Most of that search; polyhedra need few, ellipsoids some tens."""
CONTACTS = 64
"""Per shape, for which there is room; memory that is not used is not touched."""
CONTACT_BYTES = 640
"""A little more than MuJoCo's contact."""
STEP_BACK = 2.0**-10
"""How far a shape is taken away from another to see the normal between them, in units."""
BLOCK = 200
"""Bodies that are added to one specification: each costs MuJoCo time in proportion to all that are there."""
PATTERNS = 15
"""Most different rows of `Filters.collide`: MuJoCo's filters have 31 bits, and each pattern takes two."""


@dataclass(frozen=True)
class _Geom:
    """A shape in MuJoCo's terms; where it differs from ours in place, so much away from our frame."""

    arguments: dict[str, Any]
    shift: Array
    """Of its frame in the frame of the shape [m], shape (3,)."""


class GeneralDetector:
    """A workspace for the contacts of one world, also without those that the sphere grid finds."""

    def __init__(self, world: World, spheres: bool = False):
        """With `spheres` also those of spheres with spheres and planes."""
        shapes = world.shapes
        self._world = world
        self._unit = _unit(shapes.shape)
        # Compiled geoms are in the order of their bodies, and within a body in the order in which they came.
        self._shape_of = np.argsort(shapes.body, kind="stable").astype(np.int64)
        self._geom_of = np.argsort(self._shape_of)
        self._model = self._compiled(spheres)
        self._data = mujoco.MjData(self._model)
        self._place = self._placement()
        of_geom = [shapes.shape[s] for s in self._shape_of]
        self._flags = int(self._model.opt.disableflags)
        self._manifolds = any(isinstance(shape, ConvexHull | Cylinder) for shape in of_geom)
        self._fields = self._height_fields() if any(isinstance(s, HeightField) for s in of_geom) else None
        known = KnownFaces()
        self._faces = (
            self._polyhedra(known) if sum(isinstance(s, Cuboid | ConvexHull) for s in of_geom) > 1 else None
        )
        features = shape_features(world, known)
        self._features = features if features.searched.any() else None
        self._traits = GeomTraits(
            self._shape_of, _own(shapes.body), _own(shapes.material), world.materials.law, self._unit,
        )  # fmt: skip
        self._q = np.empty(7 * len(world.names))

    def compiled(self) -> tuple[Any, GeneralArrays] | None:
        """A finder of `kernels/steps/detection.py` and its data; None if there is none."""
        try:
            self.find(np.array(self._world.start.q), 0.0)  # contacts, to see where they are
        except ModelError:
            return None
        memory = memory_of(mujoco, self._model, self._data)
        if memory is None:
            return None
        single = self._flags | int(mujoco.mjtDisableBit.mjDSBL_MULTICCD) if self._manifolds else None
        return finders.find_shapes, GeneralArrays(
            memory, self._place, self._traits, self._flags, single, self._faces, self._fields, self._features
        )

    def find(self, q: Array, margin: float) -> ContactSet:
        """All contacts with gap <= margin [m] at q (7 n,)."""
        self._q[:] = q
        bad = place_geoms(self._q, self._place)
        if bad >= 0:
            raise ModelError(f"body {self._world.names[bad]!r}: q is {self._q[7 * bad : 7 * bad + 7]}")
        self._model.opt.o_margin = max(margin, 0.0) / self._unit
        given, within = self._collided(self._flags), max(margin, 0.0) / self._unit
        if self._manifolds:
            single = self._collided(self._flags | int(mujoco.mjtDisableBit.mjDSBL_MULTICCD))
            given = choose_manifolds(len(self._shape_of), given, single)
        if self._faces is not None:
            given = face_contacts(given, self._faces, within, self._place)
        if self._fields is not None:
            given, full = field_contacts(given, self._fields, within, self._place)
            self._check_number(given.geom, full)
        found, full = translate(given, self._traits, margin, SLOTS)
        self._check_number(given.geom, full)
        if self._features is not None:
            self._find_again(found, self._features)
        return ContactSet(*found)

    def _find_again(self, found: Contacts, features: ShapeFeatures) -> None:
        """found <- contacts as their features have them."""
        q = self._q.reshape(-1, 7)
        doubt = doubtful(found, refine(found, features, q), features)
        for k in doubt:
            normal = -found.frame[k, 0]
            self._see_normal(self._geom_of[found.shape[k]], normal)
            found.frame[k, 0] = -normal
            fill_tangents(found.frame[k])
        if doubt.size:
            refine(found, features, q)

    def warned(self) -> Warnings:
        """What MuJoCo warns of while a `with` of it lasts."""
        return Warnings()

    def _collided(self, flags: int) -> Touching:
        """MuJoCo's contacts, as it gives them."""
        self._model.opt.disableflags = flags
        lacking = Warnings()
        try:
            with lacking:
                mujoco.mj_collision(self._model, self._data)
        except mujoco.FatalError as error:
            raise ModelError(f"detection failed: {error}") from None
        if lacking.found:
            raise ModelError(self._crowded())
        contact = self._data.contact
        normal = contact.frame[:, :3].copy()
        return Touching(contact.dist.copy(), contact.pos.copy(), normal, contact.geom.astype(np.int64))

    def _see_normal(self, geom: Any, normal: Array) -> None:
        """normal <- of two geoms that almost touch, from a little farther away.

        Moved apart along the normal, bodies keep it and their closest points, so that an error of the old one
        enters the new one only times STEP_BACK over the radius of curvature.
        """
        g, h = int(geom[0]), int(geom[1])
        fromto, x = np.zeros(6), self._data.geom_xpos[h]
        there = x.copy()
        x += STEP_BACK * normal
        distance = mujoco.mj_geomDistance(self._model, self._data, g, h, 1.0, fromto)
        x[:] = there
        away = fromto[3:] - fromto[:3]
        if distance > 0.0 and away @ normal > 0.0:
            normal[:] = away / np.linalg.norm(away)

    def _crowded(self) -> str:
        return (
            f"more than {CONTACTS} contacts per shape, more than there is room for: do bodies overlap, or is "
            f"the margin of detection wide beside their size ({self._unit:.2g} m)?"
        )

    def _check_number(self, geom: Any, full: int) -> None:
        if full >= 0:
            first, second = (self._world.names[self._traits.body[self._shape_of[g]]] for g in geom[full])
            raise ModelError(
                f"bodies {first!r} and {second!r}: {mujoco.mjMAXCONPAIR} contacts or more between two of "
                "their shapes; use a coarser height field, or a compound of smaller shapes"
            )

    def _polyhedra(self, known: KnownFaces) -> Polyhedra:
        """Faces in the frames of the geoms, in units."""
        shapes, model = self._world.shapes, self._model
        box, face_start, corner_start = [], [0], [0]
        normals, corners = [np.zeros((0, 3))], [np.zeros((0, 3))]
        for g, s in enumerate(self._shape_of):
            shape = shapes.shape[s]
            box.append(isinstance(shape, Cuboid))
            found = known.faces(shape)
            turn = np.zeros(9)
            mujoco.mju_quat2Mat(turn, model.geom_quat[g])
            back, own = turn.reshape(3, 3).T, matrices(shapes.quaternion[s])
            for normal, ring in found:
                normals.append((back @ own @ normal)[None])
                in_body = (shapes.position[s] + ring @ own.T) / self._unit
                corners.append((in_body - model.geom_pos[g]) @ back.T)
                corner_start.append(corner_start[-1] + len(ring))
            face_start.append(face_start[-1] + len(found))
        of_box = np.array(box, np.bool_)
        return Polyhedra(
            of_box, _own(face_start), np.concatenate(normals), _own(corner_start), np.concatenate(corners)
        )

    def _height_fields(self) -> Terrain:
        """Height fields and what may stand on them, as MuJoCo has rounded them."""
        model, kind = self._model, mujoco.mjtGeom
        which = np.where(model.geom_type == kind.mjGEOM_HFIELD, model.geom_dataid, -1)
        rows, columns, size = _own(model.hfield_nrow), _own(model.hfield_ncol), model.hfield_size
        heights = np.repeat(size[:, 2], rows * columns) * model.hfield_data
        fields = _own(which), heights, _own(model.hfield_adr), rows, columns, size[:, :2].copy()
        points, radius, half = [], np.zeros(model.ngeom), np.zeros(model.ngeom)
        for g, (what, size) in enumerate(zip(model.geom_type, model.geom_size, strict=True)):
            corners = np.zeros((0, 3))
            if what == kind.mjGEOM_BOX:
                corners = size * (2.0 * np.indices((2, 2, 2)).reshape(3, 8).T - 1.0)
            elif what == kind.mjGEOM_MESH:
                begin = model.mesh_vertadr[model.geom_dataid[g]]
                corners = model.mesh_vert[begin : begin + model.mesh_vertnum[model.geom_dataid[g]]]
            elif what == kind.mjGEOM_SPHERE:
                corners, radius[g] = np.zeros((1, 3)), size[0]
            elif what == kind.mjGEOM_CAPSULE:
                corners, radius[g] = np.array([[0.0, 0.0, size[1]], [0.0, 0.0, -size[1]]]), size[0]
            elif what == kind.mjGEOM_CYLINDER:
                radius[g], half[g] = size[:2]
            points.append(corners.astype(np.float64))
        start = _own(np.cumsum([0, *map(len, points)]))
        flat = 1e-6 * (1.0 + float(model.hfield_size[:, 2].max()))
        return Terrain(*fields, start, np.concatenate(points), radius, half, flat, int(mujoco.mjMAXCONPAIR))

    def _placement(self) -> Placement:
        """Constants, and views of where MuJoCo keeps poses."""
        model, data = self._model, self._data
        turn = np.zeros((model.ngeom, 9))
        for g in range(model.ngeom):  # also takes back that MuJoCo turns hulls to their own principal axes
            mujoco.mju_quat2Mat(turn[g], model.geom_quat[g])
        body = self._world.shapes.body[self._shape_of]
        assert np.array_equal(model.geom_bodyid, body + 1)
        body_R, geom_R = (R.reshape(-1, 3, 3) for R in (data.ximat[1:], data.geom_xmat))
        return Placement(
            _own(body), model.geom_pos.copy(), turn.reshape(-1, 3, 3), 1.0 / self._unit,
            data.xipos[1:], body_R, data.geom_xpos, geom_R,
        )  # fmt: skip

    def _compiled(self, spheres: bool) -> Any:
        world, spec = self._world, mujoco.MjSpec()
        spec.compiler.usethread = False
        spec.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)  # the margin is opt.o_margin
        spec.option.ccd_tolerance, spec.option.ccd_iterations = TOLERANCE, ITERATIONS
        n, ns = len(world.names), len(world.shapes.shape)
        spec.memory = (
            2**20 + CONTACT_BYTES * CONTACTS * ns + (6 * n + 4096) * n
        )  # it lists all pairs of bodies
        bits = _filter_bits(world, spheres)
        start = np.searchsorted(world.shapes.body[self._shape_of], np.arange(n + 1))
        for first in range(0, n, BLOCK):
            # Few bodies are added one by one; of many, blocks are made by themselves and then attached.
            block = mujoco.MjSpec() if n > BLOCK else spec
            for b in range(first, min(first + BLOCK, n)):
                body = block.worldbody.add_body(
                    name=f"{b}", mass=1.0, inertia=[1.0] * 3, explicitinertial=True
                )
                body.info = world.names[b]
                # Bodies without joints do not touch each other; which joint a body has is of no consequence.
                if world.kind[b] == BodyKind.DYNAMIC:
                    body.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE)
                for s in self._shape_of[start[b] : start[b + 1]]:
                    self._add_geom(block, body, s, bits[s])
            if block is not spec:
                spec.attach(block, prefix=_prefix(first), frame=spec.worldbody.add_frame())
        for pair in world.filters.apart:
            names = [f"{_prefix(b - b % BLOCK) if n > BLOCK else ''}{b}" for b in pair]
            spec.add_exclude(bodyname1=names[0], bodyname2=names[1])
        try:
            return spec.compile()
        except (ValueError, mujoco.FatalError) as error:
            raise ModelError(f"detection cannot use these shapes: {error}") from None

    def _add_geom(self, spec: Any, body: Any, s: int, bits: tuple[int, int]) -> None:
        shapes = self._world.shapes
        geom = geom_of(spec, f"{s}", shapes.shape[s], self._unit)
        if geom is None:
            name = self._world.names[shapes.body[s]]
            raise ModelError(f"body {name!r}: detection knows no shape {type(shapes.shape[s]).__name__}")
        position = shapes.position[s] + matrices(shapes.quaternion[s]) @ geom.shift
        body.add_geom(
            pos=position / self._unit,
            quat=shapes.quaternion[s],
            contype=bits[0],
            conaffinity=bits[1],
            **geom.arguments,
        )


def _prefix(first: int) -> str:
    """Of names in the block whose first body this is."""
    return f"block {first}: "


def geom_of(spec: Any, name: str, shape: Shape, unit: float) -> _Geom | None:
    """The shape in MuJoCo's terms, None for one that it has not; hulls and fields enter `spec` by name."""
    kind, here = mujoco.mjtGeom, np.zeros(3)
    if isinstance(shape, Sphere):
        return _Geom({"type": kind.mjGEOM_SPHERE, "size": [shape.radius / unit, 0.0, 0.0]}, here)
    if isinstance(shape, Plane):
        return _Geom({"type": kind.mjGEOM_PLANE, "size": [0.0, 0.0, 1.0]}, here)
    if isinstance(shape, Cuboid):
        return _Geom({"type": kind.mjGEOM_BOX, "size": np.divide(shape.size, 2.0 * unit)}, here)
    if isinstance(shape, Capsule | Cylinder):
        size = [shape.radius / unit, 0.5 * shape.length / unit, 0.0]
        capsule = isinstance(shape, Capsule)
        return _Geom({"type": kind.mjGEOM_CAPSULE if capsule else kind.mjGEOM_CYLINDER, "size": size}, here)
    if isinstance(shape, Ellipsoid):
        return _Geom({"type": kind.mjGEOM_ELLIPSOID, "size": np.divide(shape.radii, unit)}, here)
    if isinstance(shape, ConvexHull):
        # Single precision is spent on the size of the hull, not on how far away its frame is.
        middle = 0.5 * (shape.vertices.min(axis=0) + shape.vertices.max(axis=0))
        mesh = spec.add_mesh(name=name, inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX)
        mesh.uservert = ((shape.vertices - middle) / unit).ravel()
        return _Geom({"type": kind.mjGEOM_MESH, "meshname": name}, middle)
    if isinstance(shape, HeightField):
        return _field(spec, name, shape, unit)
    return None


def _field(spec: Any, name: str, shape: HeightField, unit: float) -> _Geom:
    """Heights from 0 to 1 times their range, x along its columns, on a base as thick as the field is wide."""
    low, span = float(shape.heights.min()), float(np.ptp(shape.heights))
    span = span if span > 0.0 else unit
    field = spec.add_hfield(name=name)
    field.ncol, field.nrow = shape.heights.shape
    width, depth = shape.size
    field.size = np.array([0.5 * width, 0.5 * depth, span, max(width, depth)]) / unit
    field.userdata = ((shape.heights - low) / span).T.ravel()
    return _Geom({"type": mujoco.mjtGeom.mjGEOM_HFIELD, "hfieldname": name}, np.array([0.0, 0.0, low]))


def _unit(shapes: tuple[Shape, ...]) -> float:
    """Power of two near the median size of the shapes that have one [m]."""
    reach = [shape.reach for shape in shapes if math.isfinite(shape.reach)]
    return float(2.0 ** round(math.log2(float(np.median(reach))))) if reach else 1.0


def _filter_bits(world: World, spheres: bool) -> list[tuple[int, int]]:
    """contype and conaffinity of each shape. Groups that collide alike share two bits, one for spheres and
    planes (which do not see each other here unless `spheres`) and one for all else."""
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
    """Groups that collide alike as one: that of each shape, shape (ns,), and which touch, shape (k, k)."""
    collide = np.asarray(world.filters.collide)
    patterns, pattern = np.unique(collide, axis=0, return_inverse=True)
    if len(patterns) > PATTERNS:
        raise ModelError(
            f"filters: {len(patterns)} groups, all with different rules; at most {PATTERNS} can be told apart"
        )
    pattern = pattern.reshape(-1)
    first = [int(np.flatnonzero(pattern == k)[0]) for k in range(len(patterns))]
    return pattern[world.shapes.group], collide[np.ix_(first, first)]


def _own(values: Any) -> Any:
    """A copy, of whole numbers of 64 bits."""
    return np.array(values, np.int64)
