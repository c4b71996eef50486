"""Contacts of the variational scheme: what may touch in a step, with gaps in closed form.

Spheres, both ends of capsules and the corners of boxes against planes, and spheres against spheres. Which of
them there are is a table made once per world; many spheres are found by the grid of detection instead.
"""

from dataclasses import dataclass

import numpy as np

from stickslip.detection.contacts import SLOTS, ContactSet, joined
from stickslip.detection.spheres import SphereDetector
from stickslip.kernels.bodies import gaps as kernels
from stickslip.mechanics.shapes import Capsule, Cuboid, Plane, Shape, Sphere
from stickslip.mechanics.world import BodyKind, World
from stickslip.problem.checks import frozen
from stickslip.problem.step_problem import POINT_PLANE, SPHERES
from stickslip.rotations import matrices
from stickslip.state import Array, BoolArray, IntArray, ModelError

FEW = 2048
"""Pairs of spheres that are looked at one by one; more are left to the grid."""
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
"""Of a cube of size one, in the order of their slots [-], shape (8, 3)."""
SPHERE, PLANE, POINTED, OTHER = range(4)
"""Kinds of shapes: those whose points against planes are known, and those that nothing is known of here."""


@dataclass(frozen=True, eq=False, slots=True)
class Candidates:
    """Contacts with gaps in closed form, columns as `StepContacts` has them, sorted by id."""

    id: IntArray
    """As `ContactSet` has them [-], shape (k,)."""
    shape: IntArray
    """[-], shape (k, 2)."""
    kind: IntArray
    """[-], shape (k,)."""
    body: IntArray
    """[-], shape (k, 2)."""
    point: Array
    """[m], shape (k, 2, 3)."""
    normal: Array
    """[-], shape (k, 3)."""
    radius: Array
    """[m], shape (k, 2)."""
    law: Array
    """[-, m, m, -], shape (k, 4)."""

    def __len__(self) -> int:
        return self.id.shape[0]

    def gaps(self, q: Array) -> Array:
        """At q (n, 7) [m], shape (k,)."""
        found: Array = kernels.gaps(self.forms, q)
        return found

    @property
    def forms(self) -> kernels.ClosedForms:
        """The same as kernels take them."""
        return kernels.ClosedForms(self.kind, self.body, self.point, self.normal, self.radius)


class StepShapes:
    """The shapes of a world as contacts of a step need them, made once."""

    def __init__(self, world: World):
        shapes = world.shapes
        self._world = world
        self._moves = world.kind[shapes.body] == BodyKind.DYNAMIC
        self._kind = np.array([_kind(shape) for shape in shapes.shape], np.int64)
        self._laws = world.materials.law
        self._radius = np.array([getattr(s, "radius", 0.0) for s in shapes.shape], float)
        balls = np.flatnonzero(self._kind == SPHERE)
        self._grid = SphereDetector(world) if balls.size * (balls.size - 1) // 2 > FEW else None
        table = self._point_plane()
        self.table = table if self._grid is not None else joined(table, self._pairs_of(balls))[0]
        """What there is to look at in every step."""
        self.stranger = self._stranger()
        """Two shapes that may meet and whose gap has no closed form; None if there are none."""

    @property
    def is_whole(self) -> bool:
        """Whether `table` has all that can ever touch."""
        return self._grid is None and self.stranger is None

    def candidates(self, q: Array, margin: float) -> Candidates:
        """All whose gap may be at most `margin` at q (7 n,)."""
        if self._grid is None:
            return self.table
        found = self._grid.find(q, margin)
        balls = (self._kind[found.shape] == SPHERE).all(axis=1)
        return joined(self.table, self._balls(found.shape[balls]))[0]

    def others(self, found: ContactSet) -> BoolArray:
        """Which contacts of detection are of pairs without a closed form [-], shape (nc,)."""
        kind = np.sort(self._kind[found.shape], axis=1)
        closed = (kind == SPHERE).all(axis=1) | ((kind == PLANE).any(axis=1) & (kind != OTHER).all(axis=1))
        return np.asarray(~closed)

    def check_pairs(self) -> None:
        """Refuse a world in which shapes may meet whose gap has no closed form."""
        if self.stranger is None:
            return
        shapes, names = self._world.shapes, self._world.names
        first, second = (
            f"{type(shapes.shape[s]).__name__} of body {names[shapes.body[s]]!r}" for s in self.stranger
        )
        raise ModelError(
            f"the {first} and the {second} may meet, and the gap between such shapes has no closed form: the"
            " variational scheme has those of spheres, capsules and boxes to planes, and of spheres to"
            " spheres. Take VariationalBodies(other_pairs='linearised'), scheme='moreau-jean-semi-explicit',"
            " or let them through each other: apart(first, second)"
        )

    def _point_plane(self) -> Candidates:
        """Points of shapes and planes that may meet."""
        shapes, planes = self._world.shapes, np.flatnonzero(self._kind == PLANE)
        owner, slot, point, radius = self._points()
        meets = np.array([self._meets(plane)[owner] for plane in planes.tolist()]).reshape(
            planes.size, owner.size
        )
        which, at = np.nonzero(meets)
        plane, s = planes[which], owner[at]
        where = np.stack([point[at], shapes.position[plane]], axis=1)
        normal = matrices(shapes.quaternion[plane])[:, :, 2]
        radii = np.stack([radius[at], np.zeros(s.size)], axis=1)
        return self._rows(np.stack([s, plane], axis=1), slot[at], POINT_PLANE, where, normal, radii)

    def _points(self) -> tuple[IntArray, IntArray, Array, Array]:
        """Shape, slot, place in the frame of the body and radius of all points that planes may meet."""
        shapes, R = self._world.shapes, matrices(self._world.shapes.quaternion)
        pointed = np.flatnonzero((self._kind == SPHERE) | (self._kind == POINTED))
        local = [_own_points(shapes.shape[s]) for s in pointed]
        places = [shapes.position[s] + points @ R[s].T for s, points in zip(pointed, local, strict=True)]
        count = np.array([len(points) for points in local], np.int64)
        owner = np.repeat(pointed, count)
        slot = np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count)
        return owner, slot, np.concatenate([np.zeros((0, 3)), *places]), self._radius[owner]

    def _pairs_of(self, balls: IntArray) -> Candidates:
        """All pairs of these spheres that may meet."""
        i, j = np.triu_indices(balls.size, 1)
        both = np.stack([balls[i], balls[j]], axis=1)
        return self._balls(both[self._may_meet(both)])

    def _balls(self, both: IntArray) -> Candidates:
        """Pairs of spheres as candidates."""
        k, position = both.shape[0], self._world.shapes.position
        slot, normal = np.zeros(k, np.int64), np.zeros((k, 3))
        return self._rows(both, slot, SPHERES, position[both], normal, self._radius[both])

    def _rows(
        self, both: IntArray, slot: IntArray, kind: int, point: Array, normal: Array, radius: Array
    ) -> Candidates:
        shapes = self._world.shapes
        ends = np.sort(both, axis=1)
        name = (ends[:, 0] * len(shapes.shape) + ends[:, 1]) * SLOTS + slot
        material = shapes.material[both]
        law = self._laws[material[:, 0], material[:, 1]]
        order = np.argsort(name, kind="stable")
        columns = (
            name, both, np.full(name.size, kind), shapes.body[both], point, normal, radius, law,
        )  # fmt: skip
        return Candidates(*(frozen(np.ascontiguousarray(c[order])) for c in columns))

    def _may_meet(self, both: IntArray) -> BoolArray:
        """Whether filters let pairs of shapes meet, one of which moves [-], shape (k,)."""
        shapes, filters = self._world.shapes, self._world.filters
        body, group = np.sort(shapes.body[both], axis=1), shapes.group[both]
        free = (body[:, 0] != body[:, 1]) & self._moves[both].any(axis=1)
        free &= np.asarray(filters.collide)[group[:, 0], group[:, 1]]
        if filters.apart.size:
            n = len(self._world.names)
            apart = filters.apart[:, 0] * n + filters.apart[:, 1]
            free &= ~np.isin(body[:, 0] * n + body[:, 1], apart)
        return np.asarray(free)

    def _meets(self, s: int) -> BoolArray:
        """Which shapes shape s may meet [-], shape (ns,)."""
        t = np.arange(self._kind.size)
        return self._may_meet(np.stack([np.full(t.size, s), t], axis=1))

    def _stranger(self) -> tuple[int, int] | None:
        for s in np.flatnonzero((self._kind == POINTED) | (self._kind == OTHER)).tolist():
            known = (self._kind == PLANE) & (self._kind[s] == POINTED)
            met = np.flatnonzero(self._meets(s) & ~known)
            if met.size:
                t = int(met[0])
                return min(s, t), max(s, t)
        return None


def _kind(shape: Shape) -> int:
    if isinstance(shape, Sphere):
        return SPHERE
    if isinstance(shape, Plane):
        return PLANE
    return POINTED if isinstance(shape, Capsule | Cuboid) else OTHER


def _own_points(shape: Shape) -> Array:
    """Centres of the balls, or corners, in the frame of a shape [m], shape (k, 3)."""
    if isinstance(shape, Capsule):
        return np.array([[0.0, 0.0, -0.5 * shape.length], [0.0, 0.0, 0.5 * shape.length]])
    if isinstance(shape, Cuboid):
        return np.asarray(CORNERS * np.array(shape.size))
    return np.zeros((1, 3))
