"""Spheres against spheres and planes, by a grid in compiled code."""

import numpy as np

from stickslip.detection.contacts import SLOTS, ContactSet
from stickslip.kernels.bodies.grid import find_pairs, order, write_contacts
from stickslip.mechanics.shapes import Plane, Sphere
from stickslip.mechanics.world import BodyKind, World
from stickslip.state import Array, IntArray, ModelError

MOST_PAIRS = 2**25
"""More contacts of spheres are a mistake: thousands of spheres in one place."""


class SphereDetector:
    """Finds contacts of a world's spheres with its spheres and planes; a workspace without physics.

    Work and memory are in proportion to the number of spheres (times that of the levels: powers of two of
    the radius that occur) and of contacts, and to spheres times planes, wherever the spheres are.
    """

    def __init__(self, world: World) -> None:
        shapes, kinds = world.shapes, (Sphere, Plane)
        self._names = world.names
        chosen = np.array(
            [s for s, shape in enumerate(shapes.shape) if isinstance(shape, kinds)], dtype=np.int64
        )
        found = [shapes.shape[s] for s in chosen]
        radius = np.array([shape.radius if isinstance(shape, Sphere) else 0.0 for shape in found])
        flat = np.array([isinstance(shape, Plane) for shape in found], dtype=bool)
        self._which = np.where(flat, np.cumsum(flat) - 1, -1)
        self._radius = radius
        body = shapes.body[chosen]
        self._elements = np.ascontiguousarray(shapes.position[chosen]), radius
        self._filters = (
            body,
            shapes.group[chosen],
            world.kind == BodyKind.DYNAMIC,
            np.array(world.filters.collide),
            *_partners(world.filters.apart, len(world.names)),
        )
        materials = world.materials
        law = np.stack((materials.mu, materials.mu_roll, materials.mu_spin, materials.e), axis=-1)
        self._traits = chosen, body, shapes.material[chosen], np.ascontiguousarray(law), len(shapes.shape)
        plane = np.flatnonzero(flat)
        self._planes = plane, _axes(shapes.quaternion[chosen[plane]])
        self._levels, start = _levels(np.flatnonzero(~flat), radius)
        n, balls, levels = chosen.size, chosen.size - plane.size, self._levels[2].size
        self._work = (
            np.empty((n, 3)),
            np.empty((plane.size, 3)),
            np.empty((balls, 3), dtype=np.int64),
            np.empty((levels, 3), dtype=np.int64),
            np.empty(start, dtype=np.int32),
            np.empty(balls, dtype=np.int64),
            np.empty((balls, 4)),
            np.empty(balls, dtype=np.int64),
        )
        self._begin, self._end = np.empty(n + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
        self._reserve(4 * n + 64)

    def _reserve(self, size: int) -> None:
        self._pairs = np.empty((size, 2), dtype=np.int64)
        self._first, self._second = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)

    def find(self, q: Array, margin: float) -> ContactSet:
        """All contacts with gap <= margin [m] at coordinates q (7 n,)."""
        if not q.flags.writeable:  # a kernel for such arrays would be one more to compile
            q = q.copy()
        count = self._find(q, margin)
        if count > self._pairs.shape[0]:
            if count > MOST_PAIRS:
                raise ModelError(
                    f"{count} contacts between {self._radius.size} spheres and planes: {self._heap()}"
                )
            self._reserve(count + count // 4)
            count = self._find(q, margin)
        nc = order(self._pairs, count, self._begin, self._end, self._first, self._second) if count else 0
        contacts = (
            np.empty(nc, dtype=np.int64),
            np.empty((nc, 2), dtype=np.int64),
            np.empty((nc, 2), dtype=np.int64),
            np.empty((nc, 3)),
            np.empty((nc, 3, 3)),
            np.empty(nc),
            np.empty((nc, 4)),
        )
        if nc:
            centre, normal = self._work[:2]
            write_contacts(
                self._begin,
                self._second,
                self._which,
                self._radius,
                centre,
                normal,
                self._traits,
                SLOTS,
                contacts,
            )
        return ContactSet(*contacts)

    def _find(self, q: Array, margin: float) -> int:
        if not self._levels[0].size:
            return 0
        count: int = find_pairs(
            q, margin, self._elements, self._levels, self._filters, self._planes, self._work, self._pairs
        )
        return count

    def _heap(self) -> str:
        """Where so many are, for the message."""
        element, times = np.unique(self._pairs, return_counts=True)
        name = self._names[self._filters[0][element[np.argmax(times)]]]
        return f"most are in one place, near body {name!r}; move bodies apart or make the margin smaller"


def _partners(apart: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Bodies that each of n bodies must not touch, sorted: those of b from start[b] to start[b + 1]."""
    both = np.concatenate((apart, apart[:, ::-1])).reshape(-1, 2)
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    return np.searchsorted(both[:, 0], np.arange(n + 1)), np.ascontiguousarray(both[:, 1])


def _axes(p: Array) -> Array:
    """Third axes of frames with quaternions p (k, 4): normals of planes in the frames of their bodies."""
    w, x, y, z = p.T
    return np.stack((2.0 * (x * z + w * y), 2.0 * (y * z - w * x), w * w - x * x - y * y + z * z), axis=1)


def _levels(balls: IntArray, radius: Array) -> tuple[tuple[IntArray, IntArray, Array, IntArray], int]:
    """Spheres by powers of two of their radii, first of each level, largest radii, buckets of each level."""
    power = np.frexp(radius[balls])[1]
    _, inverse, sizes = np.unique(power, return_inverse=True, return_counts=True)
    member = balls[np.argsort(inverse, kind="stable")]
    level = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    widest = np.array([radius[member[a:b]].max() for a, b in zip(level[:-1], level[1:], strict=True)])
    buckets = np.array([max(8, 1 << int(4 * size - 1).bit_length()) for size in sizes], dtype=np.int64)
    first = np.concatenate(([0], np.cumsum(buckets + 1))).astype(np.int64)
    return (member, level, widest, first), int(first[-1])
