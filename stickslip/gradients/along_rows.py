"""Rows and gaps of contacts and joints along directions, by the kernels of steps.

A contact is represented by the smooth gap of the features that meet in it. For detected contacts (a
ContactSet) that are loaded, or may be, the smooth gap must agree with the detected contact. Open contacts
have
no effect; if their features do not fit, they are treated as fixed to their bodies.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.detection.contacts import ContactSet
from stickslip.detection.pair_gaps import feature_rows
from stickslip.gradients.along import Complex, Inputs
from stickslip.kernels.bodies.gaps import LINES, POINT_LINE, POINT_PLANE, ROUND_LINE, ROUND_PLANE
from stickslip.kernels.bodies.tracking import local_points
from stickslip.kernels.derivatives import along as kernels
from stickslip.kernels.variational.layout import ContactArrays
from stickslip.mechanics.joints import Joints
from stickslip.mechanics.parameters import lengths, stretches
from stickslip.mechanics.shapes import Capsule, Cuboid, Plane, Sphere
from stickslip.mechanics.world import World
from stickslip.problem.step_problem import LINEARISED
from stickslip.rotations import matrices
from stickslip.schemes.body_joints import PARTS
from stickslip.schemes.body_world import PreparedWorld
from stickslip.state import Array, IntArray

AGREE, ROUNDED = 1e-9, 1e-4
"""Largest difference of a smooth gap from the detected one, relative to the size of shapes [-]: for shapes
with
closed formulas, and for shapes with iterative or single-precision detection. Heuristic."""
GROWING = 32
"""Number of values of a contact that depend on lengths of shapes: two points, radii, a normal, an axis, two
Q."""
EXACT = Sphere | Plane | Capsule | Cuboid
"""Shapes whose contacts are detected by closed formulas."""


class Shaped(NamedTuple):
    """Features of contacts along directions, as in `Forms`; k is 1 if none changes."""

    point: Complex
    """Points; the ball is first [m], shape (k, nc, 2, 3)."""
    radius: Complex
    """Radii; the ball is first [m], shape (k, nc, 2)."""
    normal: Complex
    """Normals of planes, or directions of lines [-], shape (k, nc, 3)."""
    axis: Complex
    """Directions of the second lines [-], shape (k, nc, 3)."""
    round: Complex
    """Matrices Q of round features [m], shape (k, nc, 2, 3, 3)."""


@dataclass(frozen=True, eq=False, slots=True)
class ContactTable:
    """Contacts with smooth gaps; columns as in `Forms`."""

    kind: IntArray
    """Kind of each pair of features [-], shape (nc,)."""
    flip: IntArray
    """1 where ball and point belong to the second body, the plane to the first [-], shape (nc,)."""
    body: IntArray
    """First and second body [-], shape (nc, 2)."""
    normal: Array
    """Normals of planes, or directions of lines [-], shape (nc, 3)."""
    axis: Array
    """Directions of the second lines [-], shape (nc, 3)."""
    round: Array
    """Matrices Q of round features [-], shape (nc, 2, 3, 3)."""
    frame: Array
    """Contact frames [-], shape (nc, 3, 3)."""
    point: Array
    """Points; the ball is first [m], shape (nc, 2, 3)."""
    radius: Array
    """Radii; the ball is first [m], shape (nc, 2)."""
    shape: IntArray
    """Shapes of the two features [-], shape (nc, 2)."""
    share: float
    """Position of the contact point between the surfaces, as a share of the gap from the first body [-]."""
    mark: IntArray
    """Marks of `kernels/bodies/features.py` [-], shape (nc,)."""

    @classmethod
    def of_step(cls, contacts: ContactArrays, found: ContactSet) -> "ContactTable":
        """Return the table of a step of the variational scheme."""
        c, none = contacts.forms, np.zeros(contacts.gap.size, np.int64)
        return cls(
            c.kind, none, c.body, c.normal, c.axis, c.round, contacts.frame, c.point, c.radius, found.shape,
            0.0, none,
        )  # fmt: skip

    @classmethod
    def of_set(cls, prepared: PreparedWorld, contacts: ContactSet, q: Array) -> "ContactTable":
        """Return the table of contacts detected at q, shape (n, 7)."""
        rows = feature_rows(prepared.shapes.features, q.reshape(-1), contacts, alone=True)
        side = np.stack([rows.flip, 1 - rows.flip], axis=1)
        return cls(
            rows.kind, rows.flip, contacts.body, rows.normal, rows.axis, rows.round, contacts.frame,
            rows.point, rows.radius, np.take_along_axis(contacts.shape, side, axis=1), 0.5, rows.mark,
        )  # fmt: skip

    @property
    def unchanged(self) -> "Shaped":
        """Features without changes."""
        parts = (self.point, self.radius, self.normal, self.axis, self.round)
        return Shaped(*(part[None].astype(complex) for part in parts))

    def shaped(self, world: World, given: Inputs) -> "Shaped":
        """Return the features, changed with the lengths and positions of their shapes."""
        point, radius, normal, axis, rounds = self.unchanged
        if given.place.imag.any():
            closed = (self.kind != LINEARISED)[:, None, None]
            point = point + 1j * np.where(closed, given.place.imag[:, self.shape], 0.0)
        if given.size.imag.any():
            k, nc = len(given.size), len(self.kind)
            way = 1j * (self._growth(world) @ given.size.imag.T).T.reshape(k, nc, GROWING)
            point = point + way[:, :, :6].reshape(k, nc, 2, 3)
            radius = radius + way[:, :, 6:8]
            normal, axis = normal + way[:, :, 8:11], axis + way[:, :, 11:14]
            rounds = rounds + way[:, :, 14:].reshape(k, nc, 2, 3, 3)
        return Shaped(point, radius, normal, axis, rounds)

    def _growth(self, world: World) -> sp.csr_array:
        """Return the derivatives of features by the lengths of shapes, shape (GROWING nc, lengths)."""
        shapes = world.shapes
        first = np.cumsum([0, *(lengths(shape).size for shape in shapes.shape)]).tolist()
        R, entries, lines, columns = matrices(shapes.quaternion), [], [], []
        for i in np.flatnonzero(self.kind != LINEARISED).tolist():
            for side, s in enumerate(self.shape[i].tolist()):
                for k, rate in enumerate(stretches(shapes.shape[s])):
                    entries.append(self._way(i, side, k, (R[s] * rate) @ R[s].T, shapes.position[s]))
                    lines.append(GROWING * i + np.arange(GROWING))
                    columns.append(np.full(GROWING, first[s] + k))
        shape = (GROWING * len(self.kind), first[-1])
        if not entries:
            return sp.csr_array(shape)
        where = np.concatenate(lines), np.concatenate(columns)
        return sp.coo_array((np.concatenate(entries), where), shape=shape).tocsr()

    def _way(self, i: int, side: int, k: int, T: Array, origin: Array) -> Array:
        """Return the derivative of the features of contact i by length k of the shape on a side, shape
        (GROWING,).

        The length stretches the shape about its origin (3,) at the rate T, (3, 3) [1/m].
        """
        kind, way = self.kind[i], np.zeros(GROWING)
        # 1. Points, and matrices of round features.
        way[3 * side : 3 * side + 3] = T @ (self.point[i, side] - origin)
        way[14 + 9 * side : 23 + 9 * side] = (T @ self.round[i, side]).reshape(-1)
        # 2. Radii of spheres, capsules and the sides of cylinders, which are their first length.
        way[6 + side] = float(k == 0 and self.radius[i, side] > 0.0)
        # 3. Lines turn with the material; normals of planes stay normal to it.
        if side == 1 and kind in (POINT_PLANE, ROUND_PLANE):
            way[8:11] = -_across(T, self.normal[i])
        elif side == 1 and kind in (POINT_LINE, LINES, ROUND_LINE):
            way[8:11] = _across(T, self.normal[i])
        elif side == 0 and kind == LINES:
            way[11:14] = _across(T, self.axis[i])
        return way

    def along(self, shaped: "Shaped", q: Complex) -> tuple[Complex, Complex]:
        """Return rows and gaps of contacts with these features at q, shape (k, n, 7).

        Rows are along n, t1, t2 and about t1, t2, n, over both sides [-, m], shape (k, nc, 6, 2, 6); gaps [m]
        have shape (k, nc).
        """
        k, nc = max(len(x) for x in (*shaped, q)), len(self.kind)
        rows, gap = np.empty((k, nc, 6, 2, 6), complex), np.empty((k, nc), complex)
        kernels.contacts((self.kind, self.flip, self.body, self.frame), self.share, shaped, q, rows, gap)
        return rows, gap

    def off(self, world: World, contacts: ContactSet, rows: Complex, gap: Complex, q: Array) -> Array:
        """Return the difference between detected contacts at q, (n, 7), and their smooth gaps, relative to
        the tolerance [-], shape (nc,)."""
        reach = np.array([shape.reach for shape in world.shapes.shape])[contacts.shape]
        size = np.where(np.isfinite(reach), reach, 0.0).max(axis=1, initial=0.0)
        size = np.maximum(size, np.abs(contacts.point).max(axis=1, initial=0.0))
        off = (
            np.abs(rows[0].real - set_rows(contacts, q)).reshape(-1, 6, 2, 2, 3).max(axis=(2, 4), initial=0.0)
        )
        apart = np.abs(gap[0].real - contacts.gap) + off[:, :3, 1].max(axis=1, initial=0.0)
        apart = np.maximum(apart, size * off[:, :3, 0].max(axis=1, initial=0.0))
        exact = np.array([isinstance(shape, EXACT) for shape in world.shapes.shape])[contacts.shape]
        return np.asarray(apart / (np.where(exact.all(axis=1), AGREE, ROUNDED) * size))


def set_rows(contacts: ContactSet, q: Array) -> Array:
    """Return the rows of detected contacts at q, shape (n, 7) [-, m], shape (nc, 6, 2, 6)."""
    nc, none = len(contacts), np.zeros(len(contacts), np.int64)
    local = np.empty((nc, 2, 3))
    local_points(q.reshape(-1), contacts.body, contacts.point, local)
    fixed = ContactTable(
        np.full(nc, LINEARISED), none, contacts.body, contacts.frame[:, 0], np.zeros((nc, 3)),
        np.zeros((nc, 2, 3, 3)), contacts.frame, local, np.zeros((nc, 2)), contacts.shape, 0.0, none,
    )  # fmt: skip
    rows, _ = fixed.along(fixed.unchanged, q[None].astype(complex))
    return rows[0].real


def pairs_of(world: World, contacts: ContactSet) -> IntArray:
    """Pairs of materials of contacts, numbered as in `Parameters` [-], shape (nc,)."""
    i, j = np.sort(world.shapes.material[contacts.shape].reshape(-1, 2), axis=1).T
    return np.asarray(i * len(world.materials.names) - i * (i - 1) // 2 + j - i)


@dataclass(frozen=True, eq=False, slots=True)
class JointBlocks:
    """Joint blocks of a step, and the rows of each."""

    joint: IntArray
    """Joint of each block [-], shape (m,)."""
    part: IntArray
    """Part of the joint, an index into `PARTS` [-], shape (m,)."""
    start: IntArray
    """First row of each block, and the number of rows [-], shape (m + 1,)."""

    @classmethod
    def of(cls, ids: Array, size: Array) -> "JointBlocks":
        """Return the blocks for `joint_id` and `joint_size` of a memory."""
        number = ids.astype(np.int64)
        start = np.concatenate([[0], np.cumsum(size.astype(np.int64))])
        return cls(number // len(PARTS), number % len(PARTS), start)

    def of_rows(self, x: Any) -> Any:
        """Repeat values of blocks for each of their rows."""
        return np.repeat(x, np.diff(self.start), axis=0)

    def along(self, joints: Joints, q: Complex) -> tuple[Complex, Complex]:
        """Return rows [-, m], shape (k, p, 2, 6), and errors and gaps [m, rad], shape (k, p), at q, (k, n,
        7)."""
        rows, value = (np.empty((len(q), int(self.start[-1]), *tail), complex) for tail in ((2, 6), ()))
        kernels.joints(joints.arrays, self.joint, self.part, self.start, q, rows, value)
        return rows, value


def _across(T: Array, d: Array) -> Array:
    """Return the rate of the direction of a unit vector d under the stretch T d, shape (3,); T symmetric."""
    rate = T @ d
    return np.asarray(rate - (d @ rate) * d)
