"""Contacts of shapes of any kind by MuJoCo's narrow phase.

A MuJoCo model is compiled with one MuJoCo body for each body of the world. Poses are written directly to the
arrays that MuJoCo's collision functions read; its joints, masses and kinematics are not used. Lengths in the
model are lengths of the world divided by `unit`, a power of two near the size of the shapes: MuJoCo's
tolerances are absolute, and scaling by a power of two is exact.

Accuracy of MuJoCo's contacts, in units, for margins up to a tenth of the size of the shapes
(tests/detection/test_general.py): gaps 1e-11; normals 1e-9, with ellipsoids 3e-6, and 1e-3 for overlaps
smaller than that. MuJoCo stores vertices of hulls and heights of height fields in single precision. Contacts
of ellipsoids, cylinders, hulls and height fields are therefore recomputed from the features that meet, to
rounding (`kernels/bodies/refined.py`).

Remaining limitations:

- gaps of separated boxes are measured along an axis of one box, and are slightly smaller than the distance;
- with margins larger than the shapes, overlaps of ellipsoids have an error of 1e-3;
- depths are wrong for a capsule whose axis is inside a box;
- gaps of parallel edges that touch exactly have an error of 1e-5;
- where faces of hulls overlap askew, the crossings of their edges have single precision.
"""

from typing import Any

import numpy as np

from stickslip.detection.contacts import SLOTS, ContactSet
from stickslip.detection.features import shape_features
from stickslip.detection.mujoco_geoms import collision_patterns as collision_patterns
from stickslip.detection.mujoco_geoms import filter_bits, unit_of
from stickslip.detection.mujoco_geoms import geom_of as geom_of
from stickslip.detection.mujoco_library import Warnings, load_mujoco
from stickslip.detection.mujoco_memory import memory_of
from stickslip.detection.polyhedra import KnownFaces
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
from stickslip.mechanics.shapes import Cuboid, Cylinder
from stickslip.mechanics.world import BodyKind, World
from stickslip.rotations import matrices
from stickslip.state import Array, ModelError

mujoco: Any = load_mujoco()

TOLERANCE = 1e-12
"""Tolerance of MuJoCo's iteration for closest points, in units."""
ITERATIONS = 200
"""Largest number of these iterations; polyhedra need few, ellipsoids some tens."""
CONTACTS = 64
"""Number of contacts per shape for which memory is reserved; unused memory is never touched. Heuristic."""
CONTACT_BYTES = 640
"""Memory reserved per contact, slightly more than the size of MuJoCo's `mjContact` [bytes]."""
STEP_BACK = 2.0**-10
"""Distance by which two shapes are moved apart to compute the normal between them, in units; heuristic."""
BLOCK = 200
"""Number of bodies added to one specification: the time to add a body grows with the number already added."""


class GeneralDetector:
    """Detector for the contacts of one world that the sphere grid does not find. It stores no physical
    state."""

    def __init__(self, world: World, spheres: bool = False):
        """spheres: also find contacts of spheres with spheres and planes."""
        shapes = world.shapes
        self._world = world
        self._unit = unit_of(shapes.shape)
        # MuJoCo sorts geoms by body; geoms of one body keep the order in which they were added.
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
            self._shape_of, _int64(shapes.body), _int64(shapes.material), world.materials.law, self._unit,
        )  # fmt: skip
        self._q = np.empty(7 * len(world.names))

    def compiled(self) -> tuple[Any, GeneralArrays] | None:
        """Return a search function of `kernels/steps/detection.py` and its data.

        Return None if the layout of MuJoCo's memory is not as expected.
        """
        try:
            self.find(np.array(self._world.start.q), 0.0)  # fills contacts, whose addresses are then checked
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
        """Return all contacts with gap <= margin [m] at q (7 n,)."""
        # 1. Poses.
        self._q[:] = q
        bad = place_geoms(self._q, self._place)
        if bad >= 0:
            raise ModelError(f"body {self._world.names[bad]!r}: q is {self._q[7 * bad : 7 * bad + 7]}")
        # 2. MuJoCo's contacts.
        self._model.opt.o_margin = max(margin, 0.0) / self._unit
        touching, within = self._collided(self._flags), max(margin, 0.0) / self._unit
        if self._manifolds:
            single = self._collided(self._flags | int(mujoco.mjtDisableBit.mjDSBL_MULTICCD))
            touching = choose_manifolds(len(self._shape_of), touching, single)
        # 3. Contacts between faces, and with height fields, which replace MuJoCo's.
        if self._faces is not None:
            touching = face_contacts(touching, self._faces, within, self._place)
        if self._fields is not None:
            touching, full = field_contacts(touching, self._fields, within, self._place)
            self._check_number(touching.geom, full)
        # 4. Contacts of the world's shapes, recomputed from features.
        contacts, full = translate(touching, self._traits, margin, SLOTS)
        self._check_number(touching.geom, full)
        if self._features is not None:
            self._refine(contacts, self._features)
        return ContactSet(*contacts)

    def _refine(self, contacts: Contacts, features: ShapeFeatures) -> None:
        """contacts <- contacts recomputed from the features that meet.

        Doubtful normals are first computed anew with the two geoms moved apart.
        """
        q = self._q.reshape(-1, 7)
        doubt = doubtful(contacts, refine(contacts, features, q), features)
        for k in doubt:
            normal = -contacts.frame[k, 0]
            self._improve_normal(self._geom_of[contacts.shape[k]], normal)
            contacts.frame[k, 0] = -normal
            fill_tangents(contacts.frame[k])
        if doubt.size:
            refine(contacts, features, q)

    def warned(self) -> Warnings:
        """Return a context manager that collects MuJoCo's warnings."""
        return Warnings()

    def _collided(self, flags: int) -> Touching:
        """Return MuJoCo's contacts with these `disableflags`, unchanged."""
        self._model.opt.disableflags = flags
        warnings = Warnings()
        try:
            with warnings:
                mujoco.mj_collision(self._model, self._data)
        except mujoco.FatalError as error:
            raise ModelError(f"detection failed: {error}") from None
        if warnings.found:
            raise ModelError(self._crowded())
        contact = self._data.contact
        normal = contact.frame[:, :3].copy()
        return Touching(contact.dist.copy(), contact.pos.copy(), normal, contact.geom.astype(np.int64))

    def _improve_normal(self, geom: Any, normal: Array) -> None:
        """normal <- unit normal of two geoms that almost touch, from their closest points when moved apart.

        Moving bodies apart along the normal changes neither the normal nor the closest points. An error of
        the old normal enters the new one multiplied by STEP_BACK over the radius of curvature.
        """
        g, h = int(geom[0]), int(geom[1])
        fromto, x = np.zeros(6), self._data.geom_xpos[h]
        position = x.copy()
        x += STEP_BACK * normal
        distance = mujoco.mj_geomDistance(self._model, self._data, g, h, 1.0, fromto)
        x[:] = position
        apart = fromto[3:] - fromto[:3]
        if distance > 0.0 and apart @ normal > 0.0:
            normal[:] = apart / np.linalg.norm(apart)

    def _crowded(self) -> str:
        """Return the message for too many contacts."""
        return (
            f"more than {CONTACTS} contacts per shape, more than there is room for: do bodies overlap, or is "
            f"the margin of detection wide beside their size ({self._unit:.2g} m)?"
        )

    def _check_number(self, geom: Any, full: int) -> None:
        """Raise a ModelError if the pair of contact `full` has too many contacts; full is -1 if none has."""
        if full >= 0:
            first, second = (self._world.names[self._traits.body[self._shape_of[g]]] for g in geom[full])
            raise ModelError(
                f"bodies {first!r} and {second!r}: {mujoco.mjMAXCONPAIR} contacts or more between two of "
                "their shapes; use a coarser height field, or a compound of smaller shapes"
            )

    def _polyhedra(self, known: KnownFaces) -> Polyhedra:
        """Return the faces of boxes and hulls in the frames of their geoms, in units."""
        shapes, model = self._world.shapes, self._model
        box, face_start, corner_start = [], [0], [0]
        normals, corners = [np.zeros((0, 3))], [np.zeros((0, 3))]
        for g, s in enumerate(self._shape_of):
            shape = shapes.shape[s]
            box.append(isinstance(shape, Cuboid))
            faces = known.faces(shape)
            turn = np.zeros(9)
            mujoco.mju_quat2Mat(turn, model.geom_quat[g])
            to_geom, R_shape = turn.reshape(3, 3).T, matrices(shapes.quaternion[s])
            for normal, ring in faces:
                normals.append((to_geom @ R_shape @ normal)[None])
                in_body = (shapes.position[s] + ring @ R_shape.T) / self._unit
                corners.append((in_body - model.geom_pos[g]) @ to_geom.T)
                corner_start.append(corner_start[-1] + len(ring))
            face_start.append(face_start[-1] + len(faces))
        of_box = np.array(box, np.bool_)
        return Polyhedra(
            of_box, _int64(face_start), np.concatenate(normals), _int64(corner_start), np.concatenate(corners)
        )

    def _height_fields(self) -> Terrain:
        """Return height fields and the shapes that may touch them, with the lengths that MuJoCo has
        rounded."""
        model, kind = self._model, mujoco.mjtGeom
        field_of_geom = np.where(model.geom_type == kind.mjGEOM_HFIELD, model.geom_dataid, -1)
        rows, columns, size = _int64(model.hfield_nrow), _int64(model.hfield_ncol), model.hfield_size
        heights = np.repeat(size[:, 2], rows * columns) * model.hfield_data
        fields = _int64(field_of_geom), heights, _int64(model.hfield_adr), rows, columns, size[:, :2].copy()
        points, radius, half = [], np.zeros(model.ngeom), np.zeros(model.ngeom)
        for g, (geom_type, size) in enumerate(zip(model.geom_type, model.geom_size, strict=True)):
            corners = np.zeros((0, 3))
            if geom_type == kind.mjGEOM_BOX:
                corners = size * (2.0 * np.indices((2, 2, 2)).reshape(3, 8).T - 1.0)
            elif geom_type == kind.mjGEOM_MESH:
                begin = model.mesh_vertadr[model.geom_dataid[g]]
                corners = model.mesh_vert[begin : begin + model.mesh_vertnum[model.geom_dataid[g]]]
            elif geom_type == kind.mjGEOM_SPHERE:
                corners, radius[g] = np.zeros((1, 3)), size[0]
            elif geom_type == kind.mjGEOM_CAPSULE:
                corners, radius[g] = np.array([[0.0, 0.0, size[1]], [0.0, 0.0, -size[1]]]), size[0]
            elif geom_type == kind.mjGEOM_CYLINDER:
                radius[g], half[g] = size[:2]
            points.append(corners.astype(np.float64))
        start = _int64(np.cumsum([0, *map(len, points)]))
        flat = 1e-6 * (1.0 + float(model.hfield_size[:, 2].max()))
        return Terrain(*fields, start, np.concatenate(points), radius, half, flat, int(mujoco.mjMAXCONPAIR))

    def _placement(self) -> Placement:
        """Return the constants of `place_geoms`, and views of MuJoCo's arrays of poses."""
        model, data = self._model, self._data
        turn = np.zeros((model.ngeom, 9))
        for g in range(model.ngeom):  # includes MuJoCo's rotation of hulls to their principal axes
            mujoco.mju_quat2Mat(turn[g], model.geom_quat[g])
        body = self._world.shapes.body[self._shape_of]
        assert np.array_equal(model.geom_bodyid, body + 1)
        body_R, geom_R = (R.reshape(-1, 3, 3) for R in (data.ximat[1:], data.geom_xmat))
        return Placement(
            _int64(body), model.geom_pos.copy(), turn.reshape(-1, 3, 3), 1.0 / self._unit,
            data.xipos[1:], body_R, data.geom_xpos, geom_R,
        )  # fmt: skip

    def _compiled(self, spheres: bool) -> Any:
        """Return the compiled MuJoCo model."""
        # 1. Options and memory.
        world, spec = self._world, mujoco.MjSpec()
        spec.compiler.usethread = False
        spec.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)  # the margin is opt.o_margin
        spec.option.ccd_tolerance, spec.option.ccd_iterations = TOLERANCE, ITERATIONS
        n, ns = len(world.names), len(world.shapes.shape)
        spec.memory = (
            2**20 + CONTACT_BYTES * CONTACTS * ns + (6 * n + 4096) * n
        )  # it lists all pairs of bodies
        # 2. Bodies and their geoms.
        bits = filter_bits(world, spheres)
        start = np.searchsorted(world.shapes.body[self._shape_of], np.arange(n + 1))
        for first in range(0, n, BLOCK):
            # Small models are built in one specification; large ones in blocks, which are then attached.
            block = mujoco.MjSpec() if n > BLOCK else spec
            for b in range(first, min(first + BLOCK, n)):
                body = block.worldbody.add_body(
                    name=f"{b}", mass=1.0, inertia=[1.0] * 3, explicitinertial=True
                )
                body.info = world.names[b]
                # MuJoCo tests no contacts between bodies without joints. The kind of joint does not matter.
                if world.kind[b] == BodyKind.DYNAMIC:
                    body.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE)
                for s in self._shape_of[start[b] : start[b + 1]]:
                    self._add_geom(block, body, s, bits[s])
            if block is not spec:
                spec.attach(block, prefix=_prefix(first), frame=spec.worldbody.add_frame())
        # 3. Excluded pairs.
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
    """Prefix of the names in the block that starts with this body."""
    return f"block {first}: "


def _int64(values: Any) -> Any:
    """Return a copy as 64-bit integers."""
    return np.array(values, np.int64)
