"""What is tilted: for each structure the scene, and by limit analysis the tilt beyond which it cannot stand.

The static theorem as a linear program (Livesley 1978, Limit analysis of structures formed from rigid blocks):
a structure of rigid blocks can stand if there are forces at the corners of its joints, in Coulomb's cones,
that carry the weight of every block. In a plane a cone has two edges, so that nothing is linearised; and
forces at the two ends of a joint have every resultant that forces spread over it can have. With Coulomb's law
a structure that can stand may still fall (the law is not associated, and friction may jam or not): the angle
found here is one beyond which nothing stands.
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
    """Where two blocks, or a block and the ground (-1), touch along a straight line."""

    first: int
    second: int
    ends: tuple[tuple[float, float], tuple[float, float]]
    """Of the line [any length]."""
    normal: tuple[float, float]
    """From the second to the first [-]."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks in a plane, by what their weights and joints are."""

    weight: Array
    """[any force], shape (nb,)."""
    centre: Array
    """(x, z) of the centres of mass [any length], shape (nb, 2)."""
    joints: Sequence[Joint]

    @classmethod
    def of_polygons(cls, corners: Sequence[Array], joints: Sequence[Joint]) -> "Blocks":
        """Blocks with these corners, counter-clockwise, and weights as their areas."""
        areas, centres = [], []
        for x, z in (np.asarray(one, float).T for one in corners):  # the shoelace formula
            x2, z2 = np.roll(x, -1), np.roll(z, -1)
            cross = x * z2 - x2 * z
            areas.append(0.5 * float(cross.sum()))
            centres.append(np.array([(x + x2) @ cross, (z + z2) @ cross]) / (6.0 * areas[-1]))
        return cls(np.array(areas), np.array(centres), joints)


def greatest_tilt(blocks: Blocks, mu: float) -> float:
    """Largest angle by which the ground can be tilted so that its side at x > 0 is the lower one and the
    blocks can still stand [rad]; NaN if they cannot even on level ground.

    Tilted ground is level ground with the weights turned: they are along (sin, -cos), which is cos times
    (tan, -1), and what carries the one carries the other when scaled. So the tangent is the largest share of
    the weight that can act sideways.
    """
    A = _wrenches(blocks, mu)
    b = np.zeros(len(A))
    b[1::3] = blocks.weight
    share = np.zeros((len(A), 1))
    share[0::3, 0] = blocks.weight
    cost = np.zeros(A.shape[1] + 1)
    cost[-1] = -1.0
    found = linprog(cost, A_eq=np.hstack([A, share]), b_eq=b, bounds=(0.0, None), method="highs")
    if found.status == 2:  # no forces carry the weight
        return float("nan")
    if found.status == 3:  # whatever the share
        return 0.5 * np.pi
    if found.status != 0:
        raise RuntimeError(
            f"the linear program of {blocks.weight.size} blocks was not solved: {found.message}"
        )
    return float(np.arctan(-found.fun))


def stands(blocks: Blocks, mu: float) -> bool:
    """Whether the blocks can stand on level ground."""
    return not np.isnan(greatest_tilt(blocks, mu))


def _wrenches(blocks: Blocks, mu: float) -> Array:
    """What unit forces along the edges of the cones do to every block: force along x, along z, moment about
    its centre [any force and length], shape (3 nb, 4 joints): two edges at each end of a joint."""
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
    """Something that stands on the ground, which is tilted until it falls."""

    name: str
    """What it is, one line."""
    world: Callable[[float], World]
    """It, on ground tilted by an angle [deg]."""
    blocks: Blocks
    """Its section in the plane of the tilt."""
    mu: float
    """Friction [-]."""
    closed_form: float | None = None
    """Angle beyond which it cannot stand, where it is known [deg]."""
    thickness: float | None = None
    """t / R of an arch [-]."""

    @property
    def limit(self) -> float:
        """That angle by limit analysis [deg]."""
        return math.degrees(greatest_tilt(self.blocks, self.mu))


def tower(name: str, sizes: Sequence[tuple[float, float]], mu: float) -> Structure:
    """Blocks of these widths and heights [m] on one another, as wide as the lowest or narrower."""
    base = sizes[0][0]
    centre = sum(w * z * (sum(one for _, one in sizes[:k]) + 0.5 * z) for k, (w, z) in enumerate(sizes))
    centre /= sum(w * z for w, z in sizes)
    # It slides at atan(mu), or tips over at atan(half width / height of centre).
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
    """A wall in running bond, tilted along itself."""
    name = f"wall of {courses} courses, {length} bricks long, mu = {mu:g}"
    world = _tilted(masonry_wall, courses=courses, length=length, mu=mu)
    return Structure(name, world, wall_blocks(courses, length, (0.2, 0.1)), mu)


def semicircle(bodies: int, thickness: float, mu: float) -> Structure:
    """A semicircular arch."""
    name = f"arch of {bodies} stones, t/R = {thickness:g}, mu = {mu:g}"
    world = _tilted(arch, bodies=bodies, thickness=thickness, mu=mu)
    return Structure(name, world, arch_blocks(bodies, thickness), mu, thickness=thickness)


def _tilted(scene: Callable[..., Scenario], **given: float) -> Callable[[float], World]:
    """The world of a scene on ground tilted by an angle [deg]."""

    def world(tilt: float) -> World:
        made = scene(**given, tilt=tilt).system
        assert isinstance(made, World)
        return made

    return world


def tower_blocks(sizes: Sequence[tuple[float, float]]) -> Blocks:
    """Blocks on one another, centred, of these widths and heights [m], from below."""
    corners, joints, z = [], [], 0.0
    for k, (width, height) in enumerate(sizes):
        half = 0.5 * width
        corners.append(_rectangle(-half, half, z, z + height))
        reach = min(half, 0.5 * sizes[k - 1][0]) if k else half
        joints.append(Joint(k, k - 1, ((-reach, z), (reach, z)), (0.0, 1.0)))
        z += height
    return Blocks.of_polygons(corners, joints)


def wall_blocks(courses: int, length: int, brick: tuple[float, float]) -> Blocks:
    """A wall in running bond of bricks of this length and height [m]; bricks side by side touch too."""
    placed = wall_bricks(courses, length)
    b, a = brick[1], brick[0]
    corners = [_rectangle(a * low, a * high, b * row, b * (row + 1)) for row, (low, high) in placed]
    joints = []
    for i, (row, (low, high)) in enumerate(placed):
        z = b * row
        if row == 0:
            joints.append(Joint(i, -1, ((a * low, z), (a * high, z)), (0.0, 1.0)))
        for j, (other, (start, end)) in enumerate(placed[:i]):
            left, right = max(low, start), min(high, end)
            if other == row - 1 and left < right:
                joints.append(Joint(i, j, ((a * left, z), (a * right, z)), (0.0, 1.0)))
            if other == row and end == low:
                joints.append(Joint(i, j, ((a * low, z), (a * low, z + b)), (1.0, 0.0)))
    return Blocks.of_polygons(corners, joints)


def arch_blocks(bodies: int, thickness: float) -> Blocks:
    """A semicircular arch of voussoirs with R = 1."""
    corners = voussoirs(bodies, thickness)
    angle = np.pi * np.arange(bodies + 1) / bodies
    joints = []
    for k in range(bodies + 1):
        inner, outer = (corners[k][:2] if k < bodies else corners[-1][[3, 2]]).tolist()
        # Joint k is where stone k begins: along the arch, its normal points from stone k - 1 to stone k.
        along = (-math.sin(angle[k]), math.cos(angle[k]))
        first, second = (k, k - 1) if k < bodies else (bodies - 1, -1)
        normal = along if k < bodies else (0.0, 1.0)
        joints.append(Joint(first, second, (tuple(inner), tuple(outer)), normal))
    return Blocks.of_polygons(list(corners), joints)


def thinnest_arch(bodies: int, mu: float, width: float = 1e-7) -> float:
    """Least t / R at which an arch of so many voussoirs can stand on level ground, bisected to `width`; NaN
    if none can."""
    return bracket(lambda thickness: stands(arch_blocks(bodies, thickness), mu), 1e-3, 0.999, width)[1]


def bracket(holds: Callable[[float], bool], low: float, high: float, width: float) -> tuple[float, float]:
    """Two numbers no farther apart than `width`, at the lower of which something does not hold and at the
    other it does; NaN where the ends of the range are not such."""
    if holds(low) or not holds(high):
        return float("nan"), float("nan")
    while high - low > width:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def _rectangle(left: float, right: float, low: float, high: float) -> Array:
    return np.array([(left, low), (right, low), (right, high), (left, high)])
