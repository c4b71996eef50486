"""Contacts of spheres with spheres and planes, by a grid in compiled code."""

import math
from functools import partial
from itertools import pairwise

import numpy as np

from stickslip.compilation import JIT
from stickslip.detection.contacts import SLOTS, ContactSet
from stickslip.kernels import domains
from stickslip.kernels.bodies import grid as grids
from stickslip.kernels.bodies.contacts import empty_contacts
from stickslip.kernels.bodies.grid import Elements, Filters, Grid, Levels, Pairs, Traits
from stickslip.kernels.bodies.layout import Contacts
from stickslip.kernels.domains import PARTS
from stickslip.kernels.steps.detection import SphereArrays, among_spheres
from stickslip.mechanics.shapes import Plane, Sphere
from stickslip.mechanics.world import BodyKind, World
from stickslip.state import Array, IntArray, ModelError
from stickslip.threads import Team, ranges

ROUND = (Sphere, Plane)
"""Shapes whose contacts with each other are found by the grid."""
MOST_PAIRS = 2**24
"""Number of pairs above which detection fails: such models have thousands of spheres in one place.
Heuristic."""


class SphereDetector:
    """Detector for the contacts of spheres with spheres and planes. It stores no physical state.

    Work and memory are proportional to the number of contacts, to the number of spheres times the number of
    levels (powers of two among the radii), and to the number of spheres times planes, whatever the positions.
    """

    def __init__(self, world: World) -> None:
        shapes = world.shapes
        self._names = world.names
        chosen = np.array(
            [s for s, shape in enumerate(shapes.shape) if isinstance(shape, ROUND)], dtype=np.int64
        )
        round_shapes = [shapes.shape[s] for s in chosen]
        radius = np.array([shape.radius if isinstance(shape, Sphere) else 0.0 for shape in round_shapes])
        flat = np.array([isinstance(shape, Plane) for shape in round_shapes], dtype=bool)
        plane_number, plane = np.where(flat, np.cumsum(flat) - 1, -1), np.flatnonzero(flat)
        body = shapes.body[chosen]
        owner = np.where(world.kind == BodyKind.DYNAMIC, np.arange(len(world.names)), -1)[body]
        axis = _axes(shapes.quaternion[chosen[plane]])
        self._elements = Elements(body, owner, shapes.position[chosen], radius, plane_number, plane, axis)
        collide, apart = world.filters.collide, world.filters.apart
        self._filtered = bool(apart.size) or not collide.all()
        self._filters = Filters(
            shapes.group[chosen], np.array(collide), *_partners(apart, len(world.names))
        )  # fmt: skip
        self._traits = Traits(chosen, shapes.material[chosen], world.materials.law, len(shapes.shape))
        self._levels, start = _levels(np.flatnonzero(~flat), radius)
        n, n_spheres, levels = chosen.size, chosen.size - plane.size, self._levels.widest.size
        self._grid = Grid(
            np.empty((n, 3)),
            np.empty((plane.size, 3)),
            np.empty((n_spheres, 3), dtype=np.int64),
            np.empty((levels, 3), dtype=np.int64),
            np.empty(start, dtype=np.int32),
            np.empty(n_spheres, dtype=np.int64),
            np.empty((n_spheres, 4)),
            np.empty(n_spheres, dtype=np.int64),
        )
        self._pairs = self._reserved(4 * n + 64)

    def _reserved(self, size: int) -> Pairs:
        """Return buffers for `size` pairs."""
        n = self._elements.body.size
        return Pairs(*(np.empty(shape, np.int32) for shape in ((size, 2), n + 1, n, size, size)))

    def compiled(self) -> SphereArrays:
        """Return the data of `find_spheres` in `kernels/steps/detection.py`, with the current buffers for
        pairs."""
        return SphereArrays(
            self._elements, self._levels, self._grid, self._pairs, self._traits, self._filtered, self._filters
        )

    def find(self, q: Array, margin: float) -> ContactSet:
        """Return all contacts with gap <= margin [m] at coordinates q (7 n,)."""
        if not math.isfinite(margin):
            raise ModelError(f"margin of detection is {margin}, expected a finite distance")
        while True:
            is_large = JIT and self._levels.member.size >= domains.LARGE
            count, contacts = (
                self._in_parts(q, margin) if is_large else among_spheres(self.compiled(), q, margin)
            )
            if count < self._pairs.pair.shape[0]:
                return ContactSet(*contacts)
            if 2 * count > max(MOST_PAIRS, 64 * self._elements.radius.size):
                raise ModelError(f"more than {count} pairs of spheres and planes touch: {self._heap()}")
            self._pairs = self._reserved(2 * count)

    def _in_parts(self, q: Array, margin: float) -> tuple[int, Contacts]:
        """Return the result of `among_spheres`, computed on several threads; bitwise the same."""
        elements, levels, pairs = self._elements, self._levels, self._pairs
        n, buffers = elements.body.size, ranges(pairs.pair.shape[0], PARTS)
        parts = ranges(n, PARTS)
        with Team() as team:
            # 1. Inertial positions of elements; spheres sorted by bucket.
            team.run([partial(grids.place, q, elements, *part, self._grid) for part in parts])
            grids.sort(q, margin, elements, levels, self._grid)
            # 2. Pairs: each part of the spheres writes to its own part of the buffer, which are then
            # compacted.
            inputs = margin, elements, levels, self._grid
            counts = team.run(
                [
                    partial(grids.pairs_from, *inputs, *part, pairs.pair[low:high])
                    for part, (low, high) in zip(ranges(levels.member.size, PARTS), buffers, strict=True)
                ]
            )
            if any(count >= high - low for count, (low, high) in zip(counts, buffers, strict=True)):
                return pairs.pair.shape[0], empty_contacts(0)
            count = 0
            for size, (low, _) in zip(counts, buffers, strict=True):
                pairs.pair[count : count + size] = pairs.pair[low : low + size]
                count += size
            n_pairs = grids.sift(pairs.pair, count, elements.body, self._filters) if self._filtered else count
            # 3. Contacts of the pairs, sorted by id.
            contacts = empty_contacts(grids.order(pairs, n_pairs) if n_pairs else 0)
            if contacts.id.size:
                sources = pairs, elements, self._grid, self._traits, SLOTS
                team.run([partial(grids.write_contacts, *sources, *part, contacts) for part in parts])
        return count, contacts

    def _heap(self) -> str:
        """Return the part of the message that names a body in the fullest bucket."""
        home = self._grid.home
        sphere = self._grid.number[np.argmax(home == np.bincount(home).argmax())]
        name = self._names[self._elements.body[sphere]]
        return f"most are in one place, near body {name!r}; move bodies apart or make the margin smaller"


def _partners(apart: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return, for each of n bodies, the sorted bodies that it must not touch.

    The partners of body b are the entries start[b] to start[b + 1] of the second array.
    """
    both = np.concatenate((apart, apart[:, ::-1])).reshape(-1, 2)
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    return np.searchsorted(both[:, 0], np.arange(n + 1)), np.ascontiguousarray(both[:, 1])


def _axes(p: Array) -> Array:
    """Third axes of frames with quaternions p (k, 4): normals of planes in body frames [-], shape (k, 3)."""
    w, x, y, z = p.T
    return np.stack((2.0 * (x * z + w * y), 2.0 * (y * z - w * x), w * w - x * x - y * y + z * z), axis=1)


def _levels(balls: IntArray, radius: Array) -> tuple[Levels, int]:
    """Return the levels of spheres, and the number of buckets of all levels.

    A level holds the spheres whose radius is within the same factor of two of the largest radius. Each level
    has its first member, its largest radius and its first bucket.
    """
    size = np.log2(radius[balls])
    power = -np.floor(size.max(initial=-np.inf) - size).astype(np.int64)
    _, inverse, sizes = np.unique(power, return_inverse=True, return_counts=True)
    member = balls[np.argsort(inverse, kind="stable")]
    level = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    widest = np.maximum.accumulate(np.array([radius[member[a:b]].max() for a, b in pairwise(level)]))
    buckets = np.array([max(8, 1 << int(2 * k - 1).bit_length()) for k in sizes], dtype=np.int64)
    first = np.concatenate(([0], np.cumsum(buckets + 1))).astype(np.int64)
    return Levels(member, level, widest, first), int(first[-1])
