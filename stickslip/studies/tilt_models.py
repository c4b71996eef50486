"""Structures of the tilt study: their scenes, and their critical tilt by limit analysis.

The static theorem as a linear program (Livesley 1978, Limit analysis of structures formed from rigid blocks):
a structure of rigid blocks can stand if there are forces at the corners of its joints, in Coulomb's cones,
that carry the weight of every block. In a plane a cone has two edges, so no linearisation is needed, and
forces at the two ends of a joint have the same resultants as distributed forces. With Coulomb's law a
structure that can stand may still fall, as the law is not associated. The angle computed here is an upper
bound: above it the structure cannot stand.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.mechanics.world import World
from stickslip.scenes.boxes import arch, masonry_wall, voussoirs, wall_bricks
from stickslip.scenes.measures import turn
from stickslip.scenes.scenario import Scenario
from stickslip.state import Array


@dataclass(frozen=True)
class Joint:
    """A straight joint between two blocks, or between a block and the ground (-1)."""

    first: int
    """Index of the first block."""
    second: int
    """Index of the second block, -1 for the ground."""
    ends: tuple[tuple[float, float], tuple[float, float]]
    """(x, z) of both ends of the joint [any length]."""
    normal: tuple[float, float]
    """Unit normal from the second block to the first [-]."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks in a plane: weights, centres of mass and joints."""

    weight: Array
    """Weights of the blocks [any force], shape (nb,)."""
    centre: Array
    """(x, z) of the centres of mass [any length], shape (nb, 2)."""
    joints: Sequence[Joint]
    """Joints of the blocks."""

    @classmethod
    def of_polygons(cls, corners: Sequence[Array], joints: Sequence[Joint]) -> "Blocks":
        """Return blocks with these corners, counter-clockwise, and weights equal to their areas."""
        areas, centres = [], []
        for x, z in (np.asarray(polygon, float).T for polygon in corners):  # the shoelace formula
            x2, z2 = np.roll(x, -1), np.roll(z, -1)
            cross = x * z2 - x2 * z
            areas.append(0.5 * float(cross.sum()))
            centres.append(np.array([(x + x2) @ cross, (z + z2) @ cross]) / (6.0 * areas[-1]))
        return cls(np.array(areas), np.array(centres), joints)


def greatest_tilt(blocks: Blocks, mu: float) -> float:
    """Return the largest tilt of the ground, with its lower side at x > 0, at which the blocks can stand
    [rad]; NaN if they cannot stand on level ground.

    Tilting the ground is equivalent to rotating the weights to (sin, -cos) = cos (tan, -1). As forces can be
    scaled, the tangent of the tilt is the largest horizontal force per weight that the blocks can carry.
    """
    # Maximise the share s subject to: wrenches of the forces + s weights along x = weights along z.
    A = _wrenches(blocks, mu)
    b = np.zeros(len(A))
    b[1::3] = blocks.weight
    share = np.zeros((len(A), 1))
    share[0::3, 0] = blocks.weight
    cost = np.zeros(A.shape[1] + 1)
    cost[-1] = -1.0
    result = linprog(cost, A_eq=np.hstack([A, share]), b_eq=b, bounds=(0.0, None), method="highs")
    if result.status == 2:  # infeasible: no forces carry the weight
        return float("nan")
    if result.status == 3:  # unbounded: any share is possible
        return 0.5 * np.pi
    if result.status != 0:
        raise RuntimeError(
            f"the linear program of {blocks.weight.size} blocks was not solved: {result.message}"
        )
    return float(np.arctan(-result.fun))


def stands(blocks: Blocks, mu: float) -> bool:
    """Return whether the blocks can stand on level ground."""
    return not np.isnan(greatest_tilt(blocks, mu))


def _wrenches(blocks: Blocks, mu: float) -> Array:
    """Return the wrenches (force along x, along z, moment about the centre) on every block of forces n ± mu t
    along the edges of the cones [any force and length], shape (3 nb, 4 joints): two edges at each end of a
    joint."""
    A = np.zeros((3 * blocks.weight.size, 4 * len(blocks.joints)))
    for k, joint in enumerate(blocks.joints):
        n = np.array(joint.normal)
        t = np.array([-n[1], n[0]])
        for c, (end, edge) in enumerate(
            (end, n + side * mu * t) for end in joint.ends for side in (-1.0, 1.0)
        ):
            for block, sign in ((joint.first, 1.0), (joint.second, -1.0)):
                if block >= 0:
                    x, z = np.array(end) - blocks.centre[block]
                    wrench = (edge[0], edge[1], x * edge[1] - z * edge[0])
                    A[3 * block : 3 * block + 3, 4 * k + c] = sign * np.array(wrench)
    return A


@dataclass(frozen=True, eq=False)
class Structure:
    """A structure on ground that is tilted until the structure falls."""

    name: str
    """Description in one line."""
    world: Callable[[float], World]
    """Function of the tilt [deg] that returns the world."""
    blocks: Blocks
    """Section in the plane of the tilt."""
    mu: float
    """Friction [-]."""
    closed_form: float | None = None
    """Critical tilt in closed form [deg]; None if there is none."""
    thickness: float | None = None
    """t / R of an arch [-]."""

    @property
    def limit(self) -> float:
        """Critical tilt by limit analysis [deg]."""
        return math.degrees(greatest_tilt(self.blocks, self.mu))


def tower(name: str, sizes: Sequence[tuple[float, float]], mu: float) -> Structure:
    """Return a tower of blocks of these widths and heights [m], none wider than the lowest."""
    base = sizes[0][0]
    centre = sum(w * z * (sum(below for _, below in sizes[:k]) + 0.5 * z) for k, (w, z) in enumerate(sizes))
    centre /= sum(w * z for w, z in sizes)
    # The tower slides at atan(mu), or tips over at atan(half width / height of the centre).
    angle = math.degrees(math.atan(min(mu, 0.5 * base / centre)))

    def world(tilt: float) -> World:
        frame, p = turn(math.radians(tilt))
        builder, z = WorldBuilder(), 0.0
        builder.material("default", mu=mu)
        builder.body("floor", Plane(), quaternion=p, fixed=True)
        for k, (wide, high) in enumerate(sizes):
            builder.body(
                f"block {k + 1}", Cuboid((wide, base, high)), position=frame @ [0.0, 0.0, z + 0.5 * high],
                quaternion=p,
            )  # fmt: skip
            z += high
        return builder.build()

    return Structure(name, world, tower_blocks(sizes), mu, angle)


def wall(courses: int, length: int, mu: float) -> Structure:
    """Return a wall in running bond that is tilted along its length."""
    name = f"wall of {courses} courses, {length} bricks long, mu = {mu:g}"
    world = _tilted(masonry_wall, courses=courses, length=length, mu=mu)
    return Structure(name, world, wall_blocks(courses, length, (0.2, 0.1)), mu)


def semicircle(bodies: int, thickness: float, mu: float) -> Structure:
    """Return a semicircular arch."""
    name = f"arch of {bodies} stones, t/R = {thickness:g}, mu = {mu:g}"
    world = _tilted(arch, bodies=bodies, thickness=thickness, mu=mu)
    return Structure(name, world, arch_blocks(bodies, thickness), mu, thickness=thickness)


def _tilted(scene: Callable[..., Scenario], **given: float) -> Callable[[float], World]:
    """Return a function of the tilt [deg] that returns the world of a scene."""

    def world(tilt: float) -> World:
        system = scene(**given, tilt=tilt).system
        assert isinstance(system, World)
        return system

    return world


def tower_blocks(sizes: Sequence[tuple[float, float]]) -> Blocks:
    """Return a centred stack of blocks of these widths and heights [m], from below."""
    corners, joints, z = [], [], 0.0
    for k, (width, height) in enumerate(sizes):
        half = 0.5 * width
        corners.append(_rectangle(-half, half, z, z + height))
        reach = min(half, 0.5 * sizes[k - 1][0]) if k else half
        joints.append(Joint(k, k - 1, ((-reach, z), (reach, z)), (0.0, 1.0)))
        z += height
    return Blocks.of_polygons(corners, joints)


def wall_blocks(courses: int, length: int, brick: tuple[float, float]) -> Blocks:
    """Return a wall in running bond of bricks of this length and height [m], with bed and head joints."""
    bricks = wall_bricks(courses, length)
    b, a = brick[1], brick[0]
    corners = [_rectangle(a * low, a * high, b * row, b * (row + 1)) for row, (low, high) in bricks]
    joints = []
    for i, (row, (low, high)) in enumerate(bricks):
        z = b * row
        if row == 0:
            joints.append(Joint(i, -1, ((a * low, z), (a * high, z)), (0.0, 1.0)))
        for j, (other, (start, end)) in enumerate(bricks[:i]):
            left, right = max(low, start), min(high, end)
            if other == row - 1 and left < right:
                joints.append(Joint(i, j, ((a * left, z), (a * right, z)), (0.0, 1.0)))
            if other == row and end == low:
                joints.append(Joint(i, j, ((a * low, z), (a * low, z + b)), (1.0, 0.0)))
    return Blocks.of_polygons(corners, joints)


def arch_blocks(bodies: int, thickness: float) -> Blocks:
    """Return a semicircular arch of voussoirs with R = 1."""
    corners = voussoirs(bodies, thickness)
    angle = np.pi * np.arange(bodies + 1) / bodies
    joints = []
    for k in range(bodies + 1):
        inner, outer = (corners[k][:2] if k < bodies else corners[-1][[3, 2]]).tolist()
        # Joint k is between stones k - 1 and k; its normal is along the arch, from stone k - 1 to stone k.
        along = (-math.sin(angle[k]), math.cos(angle[k]))
        first, second = (k, k - 1) if k < bodies else (bodies - 1, -1)
        normal = along if k < bodies else (0.0, 1.0)
        joints.append(Joint(first, second, (tuple(inner), tuple(outer)), normal))
    return Blocks.of_polygons(list(corners), joints)


def thinnest_arch(bodies: int, mu: float, width: float = 1e-7) -> float:
    """Return the least t / R of an arch of so many voussoirs that can stand on level ground, by bisection to
    `width`; NaN if none can."""
    return bracket(lambda thickness: stands(arch_blocks(bodies, thickness), mu), 1e-3, 0.999, width)[1]


def bracket(holds: Callable[[float], bool], low: float, high: float, width: float) -> tuple[float, float]:
    """Return two numbers at most `width` apart by bisection: `holds` is false at the lower one, true at the
    upper one. Both are NaN if this is not so at the ends of the range."""
    if holds(low) or not holds(high):
        return float("nan"), float("nan")
    while high - low > width:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def _rectangle(left: float, right: float, low: float, high: float) -> Array:
    """Return the corners (x, z) of a rectangle, counter-clockwise, shape (4, 2)."""
    return np.array([(left, low), (right, low), (right, high), (left, high)])
