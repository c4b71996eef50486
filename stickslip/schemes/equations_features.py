"""Contacts of a world's equations whose features change with the motion, such as those of boxes on boxes.

Each pair of shapes has several slots, each of which is one interaction. `FeatureSearch` assigns to them the
features that may meet in a step, detected as in the variational scheme (`variational_contacts`). A slot
without features has the gap `FAR`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import islice

import numpy as np

from stickslip.detection.borders import Within, borders_of
from stickslip.detection.contacts import SLOTS
from stickslip.kernels.bodies.features import (
    CORE,
    CORNER,
    CYLINDER,
    FACE,
    FIELD,
    LOOSE,
    PLANE,
    ROUGH,
)
from stickslip.kernels.bodies.motion import speeds
from stickslip.laws import components
from stickslip.mechanics.world import BodyKind
from stickslip.problem.checks import Array, IntArray
from stickslip.rotations import matrices
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.equations_pairs import (
    Evaluate,
    PairOutput,
    PairRelation,
    Paths,
    Sides,
    contact_pair,
    places_of_contact,
)
from stickslip.schemes.variational import FARTHEST, ROUNDING
from stickslip.schemes.variational_contacts import Candidates, StepShapes
from stickslip.state import ModelError, State
from stickslip.systems.relations import Binding, MechanicalOutput
from stickslip.systems.searches import FAR
from stickslip.systems.system import NonsmoothSystem

MOST_SLOTS = 4096
"""Largest number of slots of a world; each is an interaction that is evaluated in every step."""
CORNERS = {CYLINDER: 8, FIELD: 24, PLANE: 8}
"""Largest number of corners of the contact area on shapes that are not polyhedra; 1 for round shapes
(heuristic)."""
SPARE = 4
"""Number of additional slots of a pair, for features that become the closest within a step (heuristic)."""
WIDER = 1.5
"""Margin of the search relative to the motion of the bodies in a step [-] (heuristic)."""
NAMES = 2**52
"""Number of names of features: integers that floating-point numbers represent exactly."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Slot(PairRelation):
    """Relation of a slot, with the features that are closest where it is evaluated."""

    search: "FeatureSearch"
    """The search that assigns features."""
    slot: int
    """Number of the slot."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return SlotOutput(to, self)


class SlotOutput(PairOutput):
    """A `Slot` that is bound to a system."""

    def __init__(self, to: Binding, relation: Slot):
        super().__init__(to, relation)
        self.of = relation

    def check_jacobians(self, t: float, q: Array, lam: Array, z: Array) -> float:
        # With fixed features: the gap has no derivative where other features become the closest.
        here = self.of.search.at(self.of.slot, self.sides.q(t, q)).relations[self.of.slot]
        return PairOutput(self.to, here).check_jacobians(t, q, lam, z)


@dataclass(frozen=True, eq=False)
class Late:
    """Features that a step reaches at its end and did not include."""

    rows: Candidates
    """The features."""
    flipped: bool
    """Whether a round shape has turned another side towards a body."""


@dataclass(frozen=True, eq=False)
class FoundFeatures:
    """Features that may meet in a step, assigned to the slots of a search."""

    search: "FeatureSearch"
    """The search."""
    rows: Candidates
    """The features, sorted by slot."""
    slot: IntArray
    """Slot of each feature [-], shape (k,)."""
    flipped: bool
    """Whether bodies may turn over in the step."""

    @cached_property
    def relations(self) -> Mapping[int, PairRelation]:
        """Relation of each slot, by its number."""
        search, forms = self.search, self.rows.forms
        relations = dict(enumerate(search.none))
        for i, slot in enumerate(self.slot.tolist()):
            relations[slot] = search.relation(
                slot, contact_pair(forms, i, search.own[slot]), self.swapped(i), self._inside(i)
            )
        return relations

    def _inside(self, i: int) -> Within | None:
        """Return a test whether the contact points of feature i are on the shapes, at q (2, 7), in the order
        of its bodies; None without borders."""
        if self.rows.mark[i] & (ROUGH | LOOSE):
            return None
        places = places_of_contact(self.rows.forms, i)
        borders = [self.search.borders[s] for s in self.rows.shape[i].tolist()]

        def inside(q: Array) -> bool:
            both = zip(borders, q, places(q), strict=True)
            return all(border(matrices(at[3:]).T @ (place - at[:3])) for border, at, place in both)

        return inside

    @cached_property
    def names(self) -> Array:
        """Name of the features in each slot, 0 without features [-], shape (slots,)."""
        out = np.zeros(self.search.slots)
        out[self.slot] = names_of(self.rows)
        return out

    @cached_property
    def code(self) -> bytes:
        """All data of the features as bytes, for comparison."""
        columns = (getattr(self.rows, name) for name in Candidates.__slots__)
        return b"".join(np.ascontiguousarray(x).tobytes() for x in (self.slot, *columns))

    def swapped(self, i: int) -> bool:
        """Whether the first body of feature i is the second of its slot."""
        return bool(self.rows.body[i, 0] != self.search.body[self.slot[i], 0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FoundFeatures) and self.code == other.code

    def __hash__(self) -> int:
        return hash(self.code)


class FeatureSearch:
    """Search for the features of a world's pairs of shapes that may meet in a step."""

    def __init__(self, prepared: PreparedWorld, paths: Paths):
        world, shapes = prepared.world, prepared.shapes
        self.world, self.paths, self._shapes, self._bodies = world, paths, shapes, prepared.bodies
        self._detector = prepared.detector
        pairs = sorted(islice(shapes.other_pairs(), MOST_SLOTS // SPARE + 1))
        self.pairs: IntArray = np.array(pairs, np.int64).reshape(-1, 2)
        """Shapes of each pair, the lesser number first [-], shape (m, 2)."""
        corners = _corners(shapes)
        count = np.minimum(corners[self.pairs].sum(axis=1) + SPARE, SLOTS)
        self.start = np.concatenate([[0], np.cumsum(count)])
        """First slot of each pair, and the number of all slots [-], shape (m + 1,)."""
        self.slots = int(self.start[-1])
        if self.slots > MOST_SLOTS:
            raise ModelError(
                f"the world has {len(pairs)} pairs of shapes or more that may meet, with {self.slots}"
                f" contacts, too many for equations (at most {MOST_SLOTS}), which have one"
                " interaction for each; use"
                " scheme='moreau-jean-semi-explicit' or 'variational', or exclude pairs: apart(first, second)"
            )
        self.pair = np.repeat(np.arange(len(pairs)), count)
        """Pair of each slot [-], shape (slots,)."""
        body = np.asarray(world.shapes.body)[self.pairs]
        fixed = world.kind[body[:, 0]] != BodyKind.DYNAMIC  # the first body is dynamic
        body = np.where(fixed[:, None], body[:, ::-1], body)
        self.body = body[self.pair]
        """First and second body of each slot [-], shape (slots, 2)."""
        self.law = shapes.law(self.pairs)[self.pair]
        """mu, mu_roll, mu_spin, e of each slot [-, m, m, -], shape (slots, 4)."""
        self.id = (self.pairs[:, 0] * len(world.shapes.shape) + self.pairs[:, 1])[self.pair] * SLOTS
        self.id += np.arange(self.slots) - self.start[self.pair]
        """Identifier of the contact of each slot [-], shape (slots,)."""
        sides = [Sides(world, paths, each) for each in body]
        self._sides = [sides[p] for p in self.pair]
        self.own = [np.flatnonzero(row) for row in components(self.law)]
        """Components of each slot among the six of a contact."""
        self.borders = borders_of(shapes.features)
        """For each shape, a test whether a point in the frame of its body is on the shape."""
        self.none = tuple(self.relation(k, _nothing(self.own[k].size)) for k in range(self.slots))
        """Relations of slots without features."""
        self._last: dict[int, tuple[bytes, FoundFeatures]] = {}

    def slot(self, k: int) -> Slot:
        """Return the relation of slot k, with the features that are closest where it is evaluated."""

        def evaluate(q: Array) -> tuple[Array, Array]:
            return self.at(k, q).relations[k].evaluate(q)

        of = self.relation(k, evaluate)
        return Slot(*(getattr(of, each.name) for each in fields(of)), search=self, slot=k)

    def relation(
        self, k: int, evaluate: Evaluate, swapped: bool = False, inside: Within | None = None
    ) -> PairRelation:
        """Return the relation of slot k; swapped: whether `evaluate` and `inside` have the second body
        first."""
        if swapped:
            evaluate, within = _swapped(evaluate), inside
            inside = None if within is None else lambda q: within(np.ascontiguousarray(q[::-1]))
        return PairRelation("contact", self._sides[k], evaluate, slice(0, 1), inside)

    def at(self, k: int, q: Array) -> FoundFeatures:
        """Return the closest features of the pair of slot k with its bodies at q (2, 7)."""
        p, code = int(self.pair[k]), q.tobytes()
        known = self._last.get(p)
        if known is None or known[0] != code:
            place = np.array(self.world.start.q).reshape(-1, 7)
            place[self.body[k]] = q
            turn = np.zeros(len(place))
            rows = self._shapes.near(
                self._detector, place.reshape(-1), self._bodies.size, self._bodies.touch, turn
            )
            of_pair = np.flatnonzero((np.sort(rows.shape, axis=1) == self.pairs[p]).all(axis=1))
            rows = rows.only(of_pair)
            known = self._last[p] = code, self._placed(rows, np.zeros(len(rows)), np.zeros(self.slots))
        return known[1]

    def near(
        self, system: NonsmoothSystem, state: State, h: float, names: Array, entered: tuple[Late, ...] = ()
    ) -> FoundFeatures:
        """Return the features that may meet within h from `state`, and those of `entered`. names: names of
        the features of the previous step, which keep their slots [-], shape (slots,)."""
        q, v = self._everywhere(system, state)
        flipped = any(one.flipped for one in entered)
        way = speeds(self._bodies.arrays, q, v) + h * np.linalg.norm(self.world.gravity)
        way *= WIDER * h
        turn = np.maximum(h * np.linalg.norm(v[:, 3:], axis=1), FARTHEST if flipped else 0.0)
        touch, margin = self._bodies.touch, float(np.sort(way)[-2:].sum())
        contacts = self._shapes.near(self._detector, q.reshape(-1), margin + touch, touch, turn)
        gap = contacts.gaps(q)
        close = gap <= way[contacts.body].sum(axis=1) + touch
        late = [one.rows for one in entered]
        before = np.full(sum(map(len, late)), -np.inf)
        rows, gap = _together([*late, contacts.only(close)]), np.concatenate([before, gap[close]])
        return self._placed(rows, gap, names, flipped)

    def entered(
        self, system: NonsmoothSystem, before: State, after: State, features: FoundFeatures
    ) -> tuple[Late | None, float]:
        """Return the features that overlap at the end of a step and were not included, None without any; and
        the least gap at the end, at most 0 [m]."""
        # 1. Round features that have turned another side.
        known, (q_before, _), (q, v) = (
            features.rows, self._everywhere(system, before), self._everywhere(system, after),
        )  # fmt: skip
        if not features.flipped and known.has_flipped(q_before, q):
            return Late(known.only(np.zeros(0, np.int64)), True), 0.0
        # 2. Features that overlap at the end.
        turn = np.maximum(
            (after.t - before.t) * np.linalg.norm(v[:, 3:], axis=1), FARTHEST if features.flipped else 0.0
        )
        tolerance = ROUNDING * self._bodies.size
        rows, least = self._shapes.entered(self._detector, q.reshape(-1), known, tolerance, turn)
        # 3. Time-stepping leaves overlaps: features with no larger overlap can wait for the next step.
        deep = np.zeros(len(self.pairs))
        np.minimum.at(deep, self.pair[features.slot], known.gaps(q))
        new = rows.gaps(q) < deep[self._pair_of(rows)] - tolerance
        return (Late(rows.only(new), False) if new.any() else None), least

    def _everywhere(self, system: NonsmoothSystem, state: State) -> tuple[Array, Array]:
        """Return poses (n, 7) and velocities (n, 6) of all bodies of the world; bodies that are not in
        `system` are as at the start."""
        world = self.world
        q, v = self.paths.places(state.t), self.paths.twists(state.t)
        for i in np.flatnonzero(world.kind == BodyKind.DYNAMIC).tolist():
            member = system.members.get(world.names[i])
            if member is not None:
                place = system.places[member.system]
                q[i], v[i] = state.q[place.q.start + member.q], state.v[place.v.start + member.v]
        return q, v

    def _pair_of(self, rows: Candidates) -> IntArray:
        """Return the numbers of the pairs of shapes of features [-], shape (k,)."""
        count = len(self.world.shapes.shape)
        ends = np.sort(rows.shape, axis=1)
        known = self.pairs[:, 0] * count + self.pairs[:, 1]
        return np.asarray(np.searchsorted(known, ends[:, 0] * count + ends[:, 1]))

    def _placed(self, rows: Candidates, gap: Array, names: Array, flipped: bool = False) -> FoundFeatures:
        """Assign features to slots: those in `names` keep theirs, the others follow by their gaps while slots
        are free."""
        # 1. Each feature once, smallest gaps first.
        _, first = np.unique(rows.key, return_index=True)
        order = first[np.lexsort((rows.key[first], rows.rank[first], gap[first]))]
        pair, name = self._pair_of(rows), names_of(rows)
        # 2. Features of the previous step, then the others.
        names_before, at = set(names[names > 0.0].tolist()), {float(x): k for k, x in enumerate(names)}
        row_of = {at[x]: i for i in order.tolist() if (x := float(name[i])) in names_before}
        for i in order.tolist():
            if float(name[i]) in names_before:
                continue
            free = (k for k in range(self.start[pair[i]], self.start[pair[i] + 1]) if k not in row_of)
            slot = next(free, None)
            if slot is not None:
                row_of[slot] = i
        slots = np.array(sorted(row_of), np.int64)
        chosen = rows.only(np.array([row_of[k] for k in sorted(row_of)], np.int64))
        return FoundFeatures(self, replace(chosen, id=self.id[slots]), slots, flipped)


def names_of(rows: Candidates) -> Array:
    """Return positive names of features that floating-point numbers represent exactly [-], shape (k,)."""
    return 1.0 + np.asarray(rows.key.astype(np.uint64) % np.uint64(NAMES), float)


def _together(parts: list[Candidates]) -> Candidates:
    """Return the candidates of all parts, concatenated."""
    columns = ([getattr(part, name) for part in parts] for name in Candidates.__slots__)
    return Candidates(*(np.concatenate(column) for column in columns))


def _corners(shapes: StepShapes) -> IntArray:
    """Return the largest number of corners of the contact area on each shape [-], shape (ns,)."""
    table = shapes.features
    out = np.ones(len(table.family), np.int64)
    for s, family in enumerate(table.family.tolist()):
        if family == CORE:
            first, last = table.start[s : s + 2, FACE]
            sides = np.diff(table.ring_start[first : last + 1]).max(initial=0)
            out[s] = max(1, int(sides), min(2, int(np.diff(table.start[s : s + 2, CORNER])[0])))
        else:
            out[s] = CORNERS.get(family, 1)
    return out


def _nothing(size: int) -> Evaluate:
    """Return the relation of a slot without features: the gap `FAR` and zero rows."""
    y, rows = np.zeros(size), np.zeros((size, 2, 6))
    y[0] = FAR
    for array in (y, rows):
        array.flags.writeable = False
    return lambda q: (y, rows)


def _swapped(evaluate: Evaluate) -> Evaluate:
    """Return the relation with the two bodies exchanged."""

    def other(q: Array) -> tuple[Array, Array]:
        y, rows = evaluate(np.ascontiguousarray(q[::-1]))
        return y, np.ascontiguousarray(rows[:, ::-1])

    return other
