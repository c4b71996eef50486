"""Contacts and joints along directions: their rows and values, by the kernels of steps.

Contacts have the smooth gaps of the features that meet in them. Of contacts of detection (a ContactSet)
those that bear, or may bear, must be where these gaps have them; an open one does not matter, and where its
features do not fit it counts as fixed to its bodies.
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
"""Largest difference of a smooth gap from the detected one, as a share of the size of things; where detection
searches for closest points, or has corners in single precision."""
GROWING = 32
"""Numbers of a contact that change with lengths of shapes: two points, radii, a normal, an axis, two Q."""
EXACT = Sphere | Plane | Capsule | Cuboid
"""Shapes whose contacts detection has by formulas."""


class Shaped(NamedTuple):
    """Features of contacts along directions, as `Forms` has them; k is 1 where none changes."""

    point: Complex
    """Of the ball first [m], shape (k, nc, 2, 3)."""
    radius: Complex
    """Of the ball first [m], shape (k, nc, 2)."""
    normal: Complex
    """[-], shape (k, nc, 3)."""
    axis: Complex
    """[-], shape (k, nc, 3)."""
    round: Complex
    """[m], shape (k, nc, 2, 3, 3)."""


@dataclass(frozen=True, eq=False, slots=True)
class ContactTable:
    """Contacts with smooth gaps, columns as `Forms` has them."""

    kind: IntArray
    """[-], shape (nc,)."""
    flip: IntArray
    """1 where ball and point are of the second body, the plane of the first [-], shape (nc,)."""
    body: IntArray
    """[-], shape (nc, 2)."""
    normal: Array
    """[-], shape (nc, 3)."""
    axis: Array
    """[-], shape (nc, 3)."""
    round: Array
    """[-], shape (nc, 2, 3, 3)."""
    frame: Array
    """[-], shape (nc, 3, 3)."""
    point: Array
    """Of the ball first [m], shape (nc, 2, 3)."""
    radius: Array
    """Of the ball first [m], shape (nc, 2)."""
    shape: IntArray
    """Whose these are [-], shape (nc, 2)."""
    share: float
    """Of the gap, beyond the surface of the first body, at which rows are taken [-]."""
    mark: IntArray
    """As `kernels/bodies/features.py` has them [-], shape (nc,)."""

    @classmethod
    def of_step(cls, contacts: ContactArrays, found: ContactSet) -> "ContactTable":
        """Of a step of the variational scheme."""
        c, none = contacts.forms, np.zeros(contacts.gap.size, np.int64)
        return cls(
            c.kind, none, c.body, c.normal, c.axis, c.round, contacts.frame, c.point, c.radius, found.shape,
            0.0, none,
        )  # fmt: skip

    @classmethod
    def of_set(cls, prepared: PreparedWorld, contacts: ContactSet, q: Array) -> "ContactTable":
        """Of contacts that detection found at q, shape (n, 7)."""
        rows = feature_rows(prepared.shapes.features, q.reshape(-1), contacts, alone=True)
        side = np.stack([rows.flip, 1 - rows.flip], axis=1)
        return cls(
            rows.kind, rows.flip, contacts.body, rows.normal, rows.axis, rows.round, contacts.frame,
            rows.point, rows.radius, np.take_along_axis(contacts.shape, side, axis=1), 0.5, rows.mark,
        )  # fmt: skip

    @property
    def unchanged(self) -> "Shaped":
        """Their features as they are."""
        parts = (self.point, self.radius, self.normal, self.axis, self.round)
        return Shaped(*(part[None].astype(complex) for part in parts))

    def shaped(self, world: World, given: Inputs) -> "Shaped":
        """Their features with the lengths and places of their shapes."""
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
        """How features change with the lengths of shapes, shape (GROWING nc, lengths)."""
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
        """How the features of contact i change with the length k of the shape on a side, which stretches it
        about its origin (3,) at the rate T, (3, 3) [1/m]: shape (GROWING,)."""
        kind, way = self.kind[i], np.zeros(GROWING)
        # 1. points, and what is round about them
        way[3 * side : 3 * side + 3] = T @ (self.point[i, side] - origin)
        way[14 + 9 * side : 23 + 9 * side] = (T @ self.round[i, side]).reshape(-1)
        # 2. radii: of spheres, capsules and the sides of cylinders, whose first length they are
        way[6 + side] = float(k == 0 and self.radius[i, side] > 0.0)
        # 3. lines turn with what they lie in, normals of planes stay normal to it
        if side == 1 and kind in (POINT_PLANE, ROUND_PLANE):
            way[8:11] = -_across(T, self.normal[i])
        elif side == 1 and kind in (POINT_LINE, LINES, ROUND_LINE):
            way[8:11] = _across(T, self.normal[i])
        elif side == 0 and kind == LINES:
            way[11:14] = _across(T, self.axis[i])
        return way

    def along(self, shaped: "Shaped", q: Complex) -> tuple[Complex, Complex]:
        """Rows along n, t1, t2 and about t1, t2, n, over both sides [-, m], shape (k, nc, 6, 2, 6), and gaps
        [m], shape (k, nc), of contacts with such features at q, shape (k, n, 7)."""
        k, nc = max(len(x) for x in (*shaped, q)), len(self.kind)
        rows, gap = np.empty((k, nc, 6, 2, 6), complex), np.empty((k, nc), complex)
        kernels.contacts((self.kind, self.flip, self.body, self.frame), self.share, shaped, q, rows, gap)
        return rows, gap

    def off(self, world: World, contacts: ContactSet, rows: Complex, gap: Complex, q: Array) -> Array:
        """How far contacts of detection at q, (n, 7), are from where their smooth gaps have them, over what
        they may be [-], shape (nc,)."""
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
    """Rows of contacts as detection has them at q, shape (n, 7) [-, m], shape (nc, 6, 2, 6)."""
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
    """Pairs of materials of contacts, as `Parameters` numbers them [-], shape (nc,)."""
    i, j = np.sort(world.shapes.material[contacts.shape].reshape(-1, 2), axis=1).T
    return np.asarray(i * len(world.materials.names) - i * (i - 1) // 2 + j - i)


@dataclass(frozen=True, eq=False, slots=True)
class JointBlocks:
    """The blocks of joints of a step, and where the rows of each are."""

    joint: IntArray
    """Of each block [-], shape (m,)."""
    part: IntArray
    """As `PARTS` [-], shape (m,)."""
    start: IntArray
    """First row of each block, and the total [-], shape (m + 1,)."""

    @classmethod
    def of(cls, ids: Array, size: Array) -> "JointBlocks":
        """From what a memory keeps of them."""
        number = ids.astype(np.int64)
        start = np.concatenate([[0], np.cumsum(size.astype(np.int64))])
        return cls(number // len(PARTS), number % len(PARTS), start)

    def of_rows(self, x: Any) -> Any:
        """Numbers of the blocks, for each of their rows."""
        return np.repeat(x, np.diff(self.start), axis=0)

    def along(self, joints: Joints, q: Complex) -> tuple[Complex, Complex]:
        """Rows [-, m], shape (k, p, 2, 6), and errors and gaps [m, rad], shape (k, p), at q, (k, n, 7)."""
        rows, value = (np.empty((len(q), int(self.start[-1]), *more), complex) for more in ((2, 6), ()))
        kernels.joints(joints.arrays, self.joint, self.part, self.start, q, rows, value)
        return rows, value


def _across(T: Array, d: Array) -> Array:
    """How the direction of a unit vector d changes with T d, shape (3,); T symmetric."""
    rate = T @ d
    return np.asarray(rate - (d @ rate) * d)
