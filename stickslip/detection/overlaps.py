"""Search for overlapping bodies."""

from typing import NamedTuple

import numpy as np

from stickslip.detection.detector import Detector
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.world import BodyKind, World
from stickslip.rotations import matrices
from stickslip.state import Array, ModelError, State

TOLERANCE = 1e-4
"""Depth below which an overlap is accepted, relative to the size of the smaller body [-]; heuristic."""
SHOWN = 10
"""Largest number of pairs in a message."""


class Overlap(NamedTuple):
    """Pair of bodies that overlap."""

    first: str
    """Name of a body."""
    second: str
    """Name of the other, which was placed later."""
    depth: float
    """Largest penetration of their contacts [m]."""


def find_overlaps(
    world: World, state: State, tolerance: float = TOLERANCE, *, detector: Detector | None = None
) -> tuple[Overlap, ...]:
    """Return the pairs of bodies that overlap by more than `tolerance` times the size of the smaller one,
    deepest first.

    detector   a detector of `world`; a new one by default

    Example:

        b = ss.WorldBuilder()
        b.body("a", ss.Sphere(0.1), position=(0, 0, 0))
        b.body("b", ss.Sphere(0.1), position=(0.15, 0, 0))
        world = b.build()
        print(ss.detection.find_overlaps(world, world.start))
    """
    detector = Detector(world) if detector is None else detector
    world.check_state(state)
    contacts = detector.find(state.q, 0.0)
    pair = np.sort(contacts.body, axis=1)
    deep = -contacts.gap > tolerance * np.min(_sizes(world)[pair], axis=1)
    deepest: dict[tuple[int, int], float] = {}
    for (first, second), gap in zip(pair[deep].tolist(), contacts.gap[deep].tolist(), strict=True):
        deepest[first, second] = max(-gap, deepest.get((first, second), 0.0))
    for first, second, depth in _buried(world, state.q.reshape(-1, 7)):
        deepest[first, second] = max(depth, deepest.get((first, second), 0.0))
    ordered = sorted(deepest.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        Overlap(world.names[first], world.names[second], depth) for (first, second), depth in ordered
    )


def check_overlaps(
    world: World, state: State, tolerance: float = TOLERANCE, *, detector: Detector | None = None
) -> None:
    """Raise a ModelError if bodies overlap by more than `tolerance` times the size of the smaller one."""
    overlaps = find_overlaps(world, state, tolerance, detector=detector)
    if overlaps:
        listed = "; ".join(
            f"{pair.first!r} and {pair.second!r} by {pair.depth:.3g} m" for pair in overlaps[:SHOWN]
        )
        more = f"; and {len(overlaps) - SHOWN} more" if len(overlaps) > SHOWN else ""
        raise ModelError(
            f"bodies overlap: {listed}{more}. Move them apart, or exclude the pair: apart(first, second)"
        )


def _buried(world: World, q: Array) -> list[tuple[int, int, float]]:
    """Return pairs and depths of dynamic bodies whose centre of mass is below the surface of a height field.

    Detection finds contacts only in a layer below the surface. q [m, -], shape (n, 7).
    """
    pairs, shapes = [], world.shapes
    for k, shape in enumerate(shapes.shape):
        if not isinstance(shape, HeightField):
            continue
        ground = int(shapes.body[k])
        turn = matrices(q[ground, 3:])
        local = (q[:, :3] - q[ground, :3] - turn @ shapes.position[k]) @ (
            turn @ matrices(shapes.quaternion[k])
        )
        depth = shape.surface(local[:, 0], local[:, 1]) - local[:, 2]
        inside = (np.abs(local[:, :2]) <= 0.5 * np.array(shape.size)).all(axis=1)
        below = inside & (depth > 0.0) & (world.kind == BodyKind.DYNAMIC)
        for body in np.flatnonzero(below).tolist():
            if _may_touch(world, body, ground, int(shapes.group[k])):
                pairs.append((min(body, ground), max(body, ground), float(depth[body])))
    return pairs


def _may_touch(world: World, body: int, ground: int, group: int) -> bool:
    """Whether any shape of `body` may touch shapes of this group of the body `ground`."""
    apart = (world.filters.apart == (min(body, ground), max(body, ground))).all(axis=1)
    groups = world.shapes.group[world.shapes.body == body]
    return not apart.any() and bool(world.filters.collide[groups, group].any())


def _sizes(world: World) -> Array:
    """Radius of a bounding sphere about the centre of mass of each body [m], shape (n,)."""
    size, shapes = np.zeros(len(world.names)), world.shapes
    reach = np.array([shape.reach for shape in shapes.shape])
    np.maximum.at(size, shapes.body, np.linalg.norm(shapes.position, axis=1) + reach)
    return size
