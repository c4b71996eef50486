"""Possible contacts of a step of the variational scheme, each with a smooth gap function.

Points of shapes against planes, ellipsoids against planes, and spheres against spheres form a table, computed
once per world; for many spheres the grid of detection replaces the table. For all other pairs detection finds
the closest features, at the start of a step and again at its end, and the gap is that of these features
(`kernels/bodies/features.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stickslip.detection.contacts import SLOTS, ContactSet, joined
from stickslip.detection.detector import Detector
from stickslip.detection.features import shape_features
from stickslip.detection.pair_gaps import feature_rows
from stickslip.detection.spheres import SphereDetector
from stickslip.kernels.bodies import gaps as kernels
from stickslip.kernels.bodies.features import BORDER, ROUGH, SHARP
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Capsule, Cuboid, Ellipsoid, Plane, Shape, Sphere
from stickslip.mechanics.world import BodyKind, World
from stickslip.problem.checks import frozen
from stickslip.problem.step_problem import POINT_PLANE, ROUND_PLANE, SPHERES
from stickslip.rotations import matrices
from stickslip.state import Array, BoolArray, IntArray

FEW = 2048
"""Largest number of pairs of spheres in the table; the grid is used for more (heuristic)."""
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
"""Corners of the unit cube, in the order of their slots [-], shape (8, 3)."""
SPHERE, PLANE, POINTED, OTHER = range(4)
"""Kinds of shapes: spheres, planes, shapes with points in the table, and shapes without."""
AGREE = 1e-5
"""Largest difference between the gap of features and the detected gap, relative to the size of bodies [-]
(heuristic)."""
SINGLE = 1e-6
"""Accuracy of detection relative to the size of bodies, for pairs whose features do not fit [-]
(heuristic)."""
MIX = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier of a hash of a pair of shapes and its features (2⁶⁴ over the golden ratio)."""


@dataclass(frozen=True, eq=False, slots=True)
class Candidates:
    """Possible contacts with smooth gaps, sorted by id. `kind` to `round` are the columns of `Forms`
    (`kernels/bodies/gaps.py`)."""

    id: IntArray
    """Identifiers, as in `ContactSet` [-], shape (k,)."""
    shape: IntArray
    """Numbers of the two shapes [-], shape (k, 2)."""
    kind: IntArray
    """Kind of the gap function [-], shape (k,)."""
    body: IntArray
    """Numbers of the two bodies [-], shape (k, 2)."""
    point: Array
    """Points of the gap function in the frames of the bodies [m], shape (k, 2, 3)."""
    normal: Array
    """Normal of the gap function [-], shape (k, 3)."""
    axis: Array
    """Axis of the gap function [-], shape (k, 3)."""
    radius: Array
    """Radii of the two sides [m], shape (k, 2)."""
    round: Array
    """Matrices of round sides [-], shape (k, 2, 3, 3)."""
    law: Array
    """mu, mu_roll, mu_spin, e [-, m, m, -], shape (k, 4)."""
    key: IntArray
    """Hash of the pair and its features; the id for contacts of the table [-], shape (k,)."""
    rank: IntArray
    """Number of the features in their pair, from which a slot is chosen [-], shape (k,)."""
    mark: IntArray
    """Flags of the features (`kernels/bodies/features.py`) [-], shape (k,)."""

    def __len__(self) -> int:
        return self.id.shape[0]

    def gaps(self, q: Array) -> Array:
        """Return the gaps at q (n, 7) [m], shape (k,)."""
        gaps: Array = kernels.gaps(self.forms, q)
        return gaps

    @property
    def forms(self) -> kernels.Forms:
        """The gap functions, as the named tuple of the kernels."""
        return kernels.Forms(
            self.kind, self.body, self.point, self.normal, self.axis, self.radius, self.round
        )

    def has_flipped(self, before: Array, after: Array) -> bool:
        """Whether a round side has turned away from the other side, between two q (n, 7)."""
        return bool(kernels.has_flipped(self.forms, before, after))

    def only(self, chosen: BoolArray | IntArray) -> "Candidates":
        """Return the chosen candidates."""
        return Candidates(*(getattr(self, name)[chosen] for name in Candidates.__slots__))


class StepShapes:
    """Shapes of a world with tables of their possible contacts, computed once per world."""

    def __init__(self, world: World):
        shapes = world.shapes
        self._world = world
        self._moves = world.kind[shapes.body] == BodyKind.DYNAMIC
        self._kind = np.array([_kind(shape) for shape in shapes.shape], np.int64)
        self._laws = world.materials.law
        self._radius = np.array([getattr(s, "radius", 0.0) for s in shapes.shape], float)
        self._reach = np.array([s.reach for s in shapes.shape], float)
        radii = np.array([s.radii if isinstance(s, Ellipsoid) else (0.0,) * 3 for s in shapes.shape], float)
        self._rounds = matrices(shapes.quaternion).reshape(-1, 3, 3) * radii.reshape(-1, 1, 3)
        balls = np.flatnonzero(self._kind == SPHERE)
        self._grid = SphereDetector(world) if balls.size * (balls.size - 1) // 2 > FEW else None
        table = self._point_plane()
        self.table = table if self._grid is not None else joined(table, self._pairs_of(balls))[0]
        """Candidates of every step."""
        self.other_pair = next(self.other_pairs(), None)
        """One pair of shapes that may meet and needs detection; None if there is none."""
        self.features = shape_features(world)
        """Features of all shapes."""

    @property
    def is_crowded(self) -> bool:
        """Whether the grid is used for pairs of spheres, so that `table` has none of them."""
        return self._grid is not None

    @property
    def is_whole(self) -> bool:
        """Whether `table` has all possible contacts of the world."""
        return not self.is_crowded and self.other_pair is None

    def candidates(self, q: Array, margin: float) -> Candidates:
        """Return the candidates without features whose gap may be at most `margin` at q (7 n,)."""
        if self._grid is None:
            return self.table
        contacts = self._grid.find(q, margin)
        balls = (self._kind[contacts.shape] == SPHERE).all(axis=1)
        return joined(self.table, self._balls(contacts.shape[balls]))[0]

    def law(self, both: IntArray) -> Array:
        """Return mu, mu_roll, mu_spin, e of pairs of shapes (k, 2) [-, m, m, -], shape (k, 4)."""
        material = self._world.shapes.material[both]
        return np.asarray(self._laws[material[:, 0], material[:, 1]])

    def met(
        self, detector: Detector, q: Array, margin: float, turn: Array | None = None
    ) -> tuple[Candidates, Array]:
        """Return the closest features at q (7 n,) of pairs that are not in the table and are at most `margin`
        apart, and their gaps by detection [m], shape (k,). Features may occur twice.

        turn: rotation of the bodies for which the features remain the closest [rad], shape (n,); default 0.
        """
        contacts = detector.find(q, margin)
        kind = np.sort(self._kind[contacts.shape], axis=1)
        tabled = (kind == SPHERE).all(axis=1) | ((kind == PLANE).any(axis=1) & (kind != OTHER).all(axis=1))
        others = np.flatnonzero(~tabled & self._moves[contacts.shape].any(axis=1))
        contacts = ContactSet(*(getattr(contacts, name)[others] for name in ContactSet.__slots__))
        body = self._world.shapes.body
        rows = feature_rows(self.features, q, contacts, turn=None if turn is None else turn[body])
        side = np.stack([rows.flip, 1 - rows.flip], axis=1)
        both = np.take_along_axis(contacts.shape[rows.contact], side, axis=1)
        pair = contacts.id[rows.contact] // SLOTS
        key = (pair.astype(np.uint64) * MIX + rows.code.astype(np.uint64)).astype(np.int64)
        return Candidates(
            pair * SLOTS, both, rows.kind, body[both], rows.point, rows.normal, rows.axis,
            rows.radius, rows.round, contacts.law[rows.contact], key, rows.rank, rows.mark,
        ), contacts.gap[rows.contact]  # fmt: skip

    def near(self, detector: Detector, q: Array, margin: float, touch: float, turn: Array) -> Candidates:
        """Return the features that may meet within a step from q. Features whose gap is not smooth below 0
        are included only if they are closer than `touch` [m]."""
        contacts, gap = self.met(detector, q, margin, turn)
        return contacts.only(
            ((contacts.mark & SHARP) == 0) & (((contacts.mark & ROUGH) == 0) | (gap <= touch))
        )

    def entered(
        self, detector: Detector, q: Array, known: Candidates, tolerance: float, turn: Array
    ) -> tuple[Candidates, float]:
        """Return the features that overlap at q by more than `tolerance` [m] and are not in `known`, and the
        least gap at q, at most 0 [m]."""
        contacts, detected = self.met(detector, q, 0.0, turn)
        gap = contacts.gaps(q.reshape(-1, 7))
        reach = np.where(np.isfinite(self._reach[contacts.shape]), self._reach[contacts.shape], 0.0).max(
            axis=1
        )
        least = np.where(np.abs(gap - detected) <= AGREE * reach, gap, detected)
        # Where features do not fit, the gap of the narrow phase counts, to its accuracy.
        slack = np.where((contacts.mark & ROUGH) > 0, np.maximum(tolerance, SINGLE * reach), tolerance)
        new = (gap < -slack) & ~np.isin(contacts.key, known.key)
        return contacts.only(new), float(least.min(initial=0.0))

    def on_borders(self, detector: Detector, q: Array, features: Candidates, within: float) -> BoolArray:
        """Whether each feature is on its border [-], shape (k,): where it was detected, or because other
        features are closest at q, shape (7 n,), or nearly so."""
        searched = features.key != features.id
        if not searched.any():
            return searched
        contacts, _ = self.met(detector, q, within)
        inside = (contacts.mark & BORDER) == 0
        names = zip(contacts.id[inside].tolist(), contacts.rank[inside].tolist(), strict=True)
        present, pair = set(names), features.id // SLOTS * SLOTS
        gone = [name not in present for name in zip(pair.tolist(), features.rank.tolist(), strict=True)]
        return searched & (((features.mark & (BORDER | ROUGH)) > 0) | np.array(gone, bool))

    def gathered(self, table: Candidates, *parts: Candidates) -> Candidates:
        """Return the table with the features of all parts, each once. Identifiers of features are stable as
        long as the features with equal slots are the same."""
        features = table.only(np.zeros(len(table), bool))
        for part in parts:
            features = Candidates(
                *(
                    np.concatenate([getattr(x, name) for x in (features, part)])
                    for name in Candidates.__slots__
                )
            )
        # 1. Each feature once, in the order of pairs and ranks.
        _, first = np.unique(features.key, return_index=True)
        features = features.only(
            first[np.lexsort((features.key[first], features.rank[first], features.id[first]))]
        )
        # 2. A free slot for each, from its rank on.
        slots: set[int] = set()
        for k, (base, rank) in enumerate(zip(features.id.tolist(), features.rank.tolist(), strict=True)):
            slot = rank % SLOTS
            while base + slot in slots and len(slots) < SLOTS * len(features):
                slot = (slot + 1) % SLOTS
            slots.add(base + slot)
            features.id[k] = base + slot
        return joined(table, features.only(np.argsort(features.id)))[0]

    def _point_plane(self) -> Candidates:
        """Return the pairs of a point of a shape and a plane that may meet."""
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
        pairs = self._rows(np.stack([s, plane], axis=1), slot[at], POINT_PLANE, where, normal, radii)
        rounds = self._rounds[pairs.shape[:, 0]]
        kind = np.where(rounds.any(axis=(1, 2)), ROUND_PLANE, POINT_PLANE)
        return replace(pairs, kind=frozen(kind), round=frozen(np.stack([rounds, 0.0 * rounds], axis=1)))

    def _points(self) -> tuple[IntArray, IntArray, Array, Array]:
        """Return shape, slot, position in the frame of the body and radius of all points that may meet
        planes."""
        shapes, R = self._world.shapes, matrices(self._world.shapes.quaternion)
        pointed = np.flatnonzero((self._kind == SPHERE) | (self._kind == POINTED))
        local = [_own_points(shapes.shape[s]) for s in pointed]
        places = [shapes.position[s] + points @ R[s].T for s, points in zip(pointed, local, strict=True)]
        count = np.array([len(points) for points in local], np.int64)
        owner = np.repeat(pointed, count)
        slot = np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count)
        return owner, slot, np.concatenate([np.zeros((0, 3)), *places]), self._radius[owner]

    def _pairs_of(self, balls: IntArray) -> Candidates:
        """Return all pairs of these spheres that may meet."""
        i, j = np.triu_indices(balls.size, 1)
        both = np.stack([balls[i], balls[j]], axis=1)
        return self._balls(both[self._may_meet(both)])

    def _balls(self, both: IntArray) -> Candidates:
        """Return pairs of spheres as candidates."""
        k, position = both.shape[0], self._world.shapes.position
        slot, normal = np.zeros(k, np.int64), np.zeros((k, 3))
        return self._rows(both, slot, SPHERES, position[both], normal, self._radius[both])

    def _rows(
        self, both: IntArray, slot: IntArray, kind: int, point: Array, normal: Array, radius: Array
    ) -> Candidates:
        """Return the candidates of pairs of shapes, sorted by id."""
        shapes = self._world.shapes
        ends = np.sort(both, axis=1)
        name = (ends[:, 0] * len(shapes.shape) + ends[:, 1]) * SLOTS + slot
        law = self.law(both)
        order = np.argsort(name, kind="stable")
        none = np.zeros((name.size, 2, 3, 3))
        columns = (
            name, both, np.full(name.size, kind), shapes.body[both], point, normal, none[:, 0, 0], radius,
            none, law, name, slot, np.zeros(name.size, np.int64),
        )  # fmt: skip
        return Candidates(*(frozen(np.ascontiguousarray(c[order])) for c in columns))

    def _may_meet(self, both: IntArray) -> BoolArray:
        """Whether pairs of shapes may meet: filters allow it, and one of them is dynamic [-], shape (k,)."""
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
        """Whether each shape may meet shape s [-], shape (ns,)."""
        t = np.arange(self._kind.size)
        return self._may_meet(np.stack([np.full(t.size, s), t], axis=1))

    def other_pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of shapes that may meet and are not in the table, once, lesser number first."""
        searched = (self._kind == POINTED) | (self._kind == OTHER)
        number = np.arange(self._kind.size)
        for s in np.flatnonzero(searched).tolist():
            tabled = (self._kind == PLANE) & (self._kind[s] == POINTED)
            once = ~searched | (number > s)
            for t in np.flatnonzero(self._meets(s) & ~tabled & once).tolist():
                yield min(s, t), max(s, t)


def _kind(shape: Shape) -> int:
    """Return the kind of a shape: SPHERE, PLANE, POINTED or OTHER."""
    if isinstance(shape, Sphere):
        return SPHERE
    if isinstance(shape, Plane):
        return PLANE
    if isinstance(shape, ConvexHull):
        return POINTED if len(shape.vertices) <= SLOTS else OTHER
    return POINTED if isinstance(shape, Capsule | Cuboid | Ellipsoid) else OTHER


def _own_points(shape: Shape) -> Array:
    """Return centres of balls, or corners, in the frame of a shape [m], shape (k, 3)."""
    if isinstance(shape, Capsule):
        return np.array([[0.0, 0.0, -0.5 * shape.length], [0.0, 0.0, 0.5 * shape.length]])
    if isinstance(shape, Cuboid):
        return np.asarray(CORNERS * np.array(shape.size))
    if isinstance(shape, ConvexHull):
        return shape.vertices
    return np.zeros((1, 3))
