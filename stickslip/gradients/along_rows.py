"""Contacts and joints along directions: their rows and values, by the kernels of steps.

Contacts have the smooth gaps of the features that meet in them. Of contacts of detection (a ContactSet)
those that bear, or may bear, must be where these gaps have them; an open one does not matter, and where its
features do not fit it counts as fixed to its bodies.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.detection.contacts import ContactSet
from stickslip.detection.pair_gaps import feature_rows
from stickslip.gradients.along import Complex, Inputs
from stickslip.kernels.bodies.tracking import local_points
from stickslip.kernels.derivatives import along as kernels
from stickslip.mechanics.joints import Joints
from stickslip.mechanics.parameters import lengths
from stickslip.mechanics.shapes import Capsule, Cuboid, Plane, Shape, Sphere
from stickslip.mechanics.world import World
from stickslip.problem.step_problem import LINEARISED, StepContacts
from stickslip.rotations import matrices
from stickslip.schemes.body_joints import PARTS
from stickslip.schemes.body_world import PreparedWorld
from stickslip.state import Array, IntArray

AGREE, ROUNDED = 1e-9, 1e-4
"""Largest difference of a smooth gap from the detected one, as a share of the size of things; where detection
searches for closest points, or has corners in single precision."""
MIDDLE = 1e-9
"""Share of a length below which a place is in its middle."""
EXACT = Sphere | Plane | Capsule | Cuboid
"""Shapes whose contacts detection has by formulas."""


@dataclass(frozen=True, eq=False, slots=True)
class ContactTable:
    """Contacts with smooth gaps, columns as `StepContacts` has them."""

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

    @property
    def _columns(self) -> tuple[IntArray | Array, ...]:
        return self.kind, self.flip, self.body, self.normal, self.axis, self.round, self.frame

    @classmethod
    def of_step(cls, contacts: StepContacts, found: ContactSet) -> "ContactTable":
        """Of a step of the variational scheme."""
        c, none = contacts, np.zeros(len(contacts), np.int64)
        return cls(
            c.kind,
            none,
            c.body,
            c.normal,
            c.axis,
            c.round,
            c.frame,
            c.point,
            c.radius,
            found.shape,
            0.0,
            none,
        )

    @classmethod
    def of_set(cls, prepared: PreparedWorld, contacts: ContactSet, q: Array) -> "ContactTable":
        """Of contacts that detection found at q, shape (n, 7)."""
        rows = feature_rows(prepared.shapes.features, q.reshape(-1), contacts, alone=True)
        side = np.stack([rows.flip, 1 - rows.flip], axis=1)
        return cls(
            rows.kind, rows.flip, contacts.body, rows.normal, rows.axis, rows.round, contacts.frame,
            rows.point, rows.radius, np.take_along_axis(contacts.shape, side, axis=1), 0.5, rows.mark,
        )  # fmt: skip

    def shaped(self, world: World, given: Inputs) -> tuple[Complex, Complex]:
        """Points (k, nc, 2, 3) and radii (k, nc, 2) with the lengths and places of their shapes."""
        point, radius = self.point[None].astype(complex), self.radius[None].astype(complex)
        if given.place.imag.any():
            closed = (self.kind != LINEARISED)[:, None, None]
            point = point + 1j * np.where(closed, given.place.imag[:, self.shape], 0.0)
        if given.size.imag.any():
            k, nc = len(given.size), len(self.kind)
            way = (self._growth(world) @ given.size.imag.T).T.reshape(k, nc, 8)
            point = point + 1j * way[:, :, :6].reshape(k, nc, 2, 3)
            radius = radius + 1j * way[:, :, 6:]
        return point, radius

    def _growth(self, world: World) -> sp.csr_array:
        """How points and radii change with the lengths of shapes, shape (8 nc, lengths)."""
        shapes = world.shapes
        first = np.cumsum([0, *(lengths(shape).size for shape in shapes.shape)]).tolist()
        R, entries, lines, columns = matrices(shapes.quaternion), [], [], []
        for i in np.flatnonzero(self.kind != LINEARISED).tolist():
            for side, s in enumerate(self.shape[i].tolist()):
                local = R[s].T @ (self.point[i, side] - shapes.position[s])
                for k, way in enumerate(_ways(shapes.shape[s], local, side, R[s])):
                    entries.append(way)
                    lines.append(8 * i + np.arange(8))
                    columns.append(np.full(8, first[s] + k))
        if not entries:
            return sp.csr_array((8 * len(self.kind), first[-1]))
        where = np.concatenate(lines), np.concatenate(columns)
        return sp.coo_array((np.concatenate(entries), where), shape=(8 * len(self.kind), first[-1])).tocsr()

    def along(self, shaped: tuple[Complex, Complex], q: Complex) -> tuple[Complex, Complex]:
        """Rows along n, t1, t2 and about t1, t2, n, over both sides [-, m], shape (k, nc, 6, 2, 6), and gaps
        [m], shape (k, nc), of contacts with points and radii `shaped` at q, shape (k, n, 7)."""
        k, nc = max(len(x) for x in (*shaped, q)), len(self.kind)
        rows, gap = np.empty((k, nc, 6, 2, 6), complex), np.empty((k, nc), complex)
        kernels.contacts(self._columns, self.share, *shaped, q, rows, gap)
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
    rows, _ = fixed.along(
        (local[None].astype(complex), np.zeros((1, nc, 2), complex)), q[None].astype(complex)
    )
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


def _ways(shape: Shape, local: Array, side: int, R: Array) -> list[Array]:
    """How the point and radius of a contact change with the lengths of its shape, eight numbers each."""
    ways = [np.zeros(8) for _ in range(lengths(shape).size)]
    if isinstance(shape, Sphere | Capsule):
        ways[0][6 + side] = 1.0
    if isinstance(shape, Capsule):
        sign = np.sign(local[2]) if abs(local[2]) > MIDDLE * shape.length else 0.0
        ways[1][3 * side : 3 * side + 3] = 0.5 * sign * R[:, 2]
    if isinstance(shape, Cuboid):
        for k in range(3):  # the middle of an edge or a face stays where it is along it
            sign = np.sign(local[k]) if abs(local[k]) > MIDDLE * shape.size[k] else 0.0
            ways[k][3 * side : 3 * side + 3] = 0.5 * sign * R[:, k]
    return ways
