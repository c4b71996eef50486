"""Reproducible random sphere packings with about three contacts per body: at rest, or moving down an inclined
chute as a sheared layer on a rough bed or on a plane."""

import math
from dataclasses import dataclass

import numpy as np

from stickslip.kernels import deposition
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import GlobalProblem
from stickslip.scenes.parameters import checked, number, whole
from stickslip.scenes.rigid import spheres_step

DENSITY_OF_PACKING = 0.58
"""Solid fraction of drop-and-roll packings (Visscher & Bolsterli 1972, 0.582 for equal spheres) [-]."""
TRIES = 4
"""Number of positions from which a sphere is dropped if it gets stuck in a tie at rounding level;
heuristic."""


@dataclass(frozen=True, eq=False)
class Packing:
    """Spheres at rest on each other and on the floor z = 0; periodic in x and y."""

    centre: Array
    """Centres, x and y in [0, width] [m], shape (spheres, 3)."""
    radius: Array
    """Radii [m], shape (spheres,)."""
    width: float
    """Period in x and in y [m]."""
    bodies: IntArray
    """First (supported) and second (supporting) sphere of each contact, -1 for the floor [-], shape (nc,
    2)."""
    image: IntArray
    """Periods added to x and y of the second sphere at the contact [-], shape (nc, 2)."""

    @property
    def branch(self) -> Array:
        """Vectors from the second centre to the first [m], shape (nc, 3); for the floor, from the point below
        the first centre."""
        first, second = self.bodies.T
        foot = self.centre[first] * [1.0, 1.0, 0.0]
        other = np.where((second >= 0)[:, None], self.centre[second], foot)
        other[:, :2] += self.width * self.image
        return np.asarray(self.centre[first] - other)

    @property
    def gap(self) -> Array:
        """Gap of each contact, zero up to rounding [m], shape (nc,)."""
        first, second = self.bodies.T
        reach = self.radius[first] + np.where(second >= 0, self.radius[second], 0.0)
        return np.asarray(np.linalg.norm(self.branch, axis=1) - reach)


@checked
def sphere_packing(
    *, spheres: int = 500, mu: float = 0.3, mu_roll: float | None = None, seed: int = 0, radius: float = 0.01,
    spread: float = 0.2, width: float | None = None, density: float = 2500.0, h: float = 1e-3,
    velocity: float = 0.0,
) -> GlobalProblem:  # fmt: skip
    """A random packing of spheres on a floor by drop-and-roll deposition, periodic in x and y.

    spheres: number of spheres [-], >= 1.
    mu: friction coefficient of all contacts [-], >= 0.
    mu_roll: rolling friction [m], >= 0; with it contacts have 5 components (n, t1, t2, ω1, ω2).
    seed: of the random numbers [-], >= 0; the same seed gives the same bytes, and the same packing for any
        mu, mu_roll, density, h and velocity.
    radius: mean radius [m], > 0.
    spread: radii are uniform in radius (1 ± spread) [-], in [0, 0.4].
    width: period of the packing in x and y [m], > 4 radius (1 + spread), so that no pair of spheres has
        two contacts; the default makes the packing about as high as wide.
    density: of the spheres [kg/m^3], > 0.
    velocity: standard deviation of each component of the initial velocities, and of radius times
        the angular ones [m/s], >= 0; at several times g h many contacts slip.

    Every sphere rests on three others, or on the floor (with none, one or two others), hence nearly
    3 contacts per sphere and a coordination number near 6. The first body of a contact is the supported
    sphere, the second the supporting one or the floor. Spheres are sorted along a Z-order curve of cells,
    contacts by sphere, so that neighbours in space are near in memory.
    """
    packing = deposit(spheres, seed=seed, radius=radius, spread=spread, width=width)
    R, branch = packing.radius, packing.branch
    normals = branch / np.linalg.norm(branch, axis=1, keepdims=True)
    arms = np.stack([-R[packing.bodies[:, 0]], R[packing.bodies[:, 1]]], axis=1)
    motion = velocity * np.random.default_rng([seed, 1]).standard_normal((R.size, 6))
    motion[:, 3:] /= R[:, None]
    return spheres_step(R, density, motion, packing.bodies, arms, normals, mu=mu, mu_roll=mu_roll, h=h)


def deposit(
    spheres: int, *, seed: int = 0, radius: float = 0.01, spread: float = 0.2, width: float | None = None
) -> Packing:
    """Return the spheres of `sphere_packing` and their contacts; parameters as there."""
    spheres, seed = whole("spheres", spheres, 1), whole("seed", seed, 0, 2**63)
    radius = number("radius", radius, "m", above=0.0)
    spread = number("spread", spread, "", least=0.0, most=0.4)
    least = 4.0 * radius * (1.0 + spread)
    random = np.random.default_rng([seed, 0])
    R = radius * random.uniform(1.0 - spread, 1.0 + spread, spheres)
    solid = float((4.0 / 3.0 * np.pi * R**3).sum())
    if width is None:
        width = max(float(np.cbrt(solid / DENSITY_OF_PACKING)), 1.01 * least)
    width = number("width", width, "m", above=least)
    drops = width * random.uniform(size=(spheres, TRIES, 2))
    centre, support, image = _roll_down(R, drops, width, solid)
    order = z_order(np.floor(centre / (2.0 * R.max())).astype(np.int64))
    return _sorted_packing(centre, R, width, support, image, order)


def z_order(cell: IntArray) -> IntArray:
    """Return indices that sort cells (n, 3) along a Z-order curve, stable for ties [-], shape (n,)."""
    key = np.zeros(cell.shape[0], np.int64)
    for bit in range(21):
        for axis in range(3):
            key |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    return np.argsort(key, kind="stable")


def _roll_down(R: Array, drops: Array, width: float, solid: float) -> tuple[Array, IntArray, IntArray]:
    """Return centres [m] (n, 3), supports (n, 3) and their images (n, 3, 2), in the order of deposition."""
    n, cell = R.size, 2.0 * float(R.max())
    across = max(int(width / cell), 1)
    layers = int(1.5 * solid / (DENSITY_OF_PACKING * width**2 * cell)) + 4
    centre, support, image = np.zeros((n, 3)), np.zeros((n, 3), np.int64), np.zeros((n, 3, 2), np.int64)
    head, link = np.full((across, across, layers), -1), np.full(n, -1)
    space = deposition.Space(centre, R, float(R.max()), width, cell, head, link)
    work, lists = np.zeros((3, 3, 3)), np.zeros((3, 4, 3), np.int64)
    placed = deposition.deposit(drops, space, np.zeros(3), work, lists, support, image)
    if placed < n:
        raise RuntimeError(f"sphere {placed} of {n} found no rest in {TRIES} drops; try another seed")
    return centre, support, image


def _sorted_packing(
    centre: Array, R: Array, width: float, support: IntArray, image: IntArray, order: IntArray
) -> Packing:
    """Return the packing with spheres in the given order and contacts sorted by first, then second sphere."""
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    sphere, slot = np.nonzero(support != deposition.NOBODY)
    below = support[sphere, slot]
    second = np.where(below >= 0, rank[below], -1)
    contacts = np.lexsort((second, rank[sphere]))
    bodies = np.stack([rank[sphere], second], axis=1)[contacts]
    return Packing(centre[order], R[order], width, bodies, image[sphere, slot][contacts])


@dataclass(frozen=True, eq=False)
class Layer:
    """The moving spheres of a chute and their contacts, in the frame of the chute.

    The axes are down the slope, across and normal to the bed; the layer is periodic in the first two.
    """

    centre: Array
    """Centres of the moving spheres [m], shape (moving, 3)."""
    radius: Array
    """Radii of the moving spheres [m], shape (moving,)."""
    bodies: IntArray
    """First and second sphere of each contact, -1 for the bed [-], shape (nc, 2)."""
    normal: Array
    """Unit normals, from second to first [-], shape (nc, 3)."""
    arm: Array
    """Signed distances along the normal from the centres of both spheres to the contact [m], shape (nc,
    2)."""


@checked
def chute(
    *, spheres: int = 500, angle: float = 20.0, mu: float = 0.3, mu_roll: float | None = None, seed: int = 0,
    bed: str = "rough", speed: float = 0.05, velocity: float = 0.0, radius: float = 0.01, spread: float = 0.2,
    width: float | None = None, density: float = 2500.0, h: float = 1e-3,
) -> GlobalProblem:  # fmt: skip
    """A sheared layer of spheres that moves down a chute towards +x; there are no side walls.

    spheres: number of spheres in the chute, including the bed [-], >= 1.
    angle: of the chute to the horizontal [deg], in [0, 90).
    mu: friction coefficient of all contacts [-], >= 0.
    mu_roll: rolling friction [m], >= 0; with it contacts have 5 components (n, t1, t2, ω1, ω2).
    seed: of the random numbers [-], >= 0; the same seed gives the same bytes.
    bed: "rough" fixes every sphere that touches the floor, and the spheres that support these; "smooth" is
        a plane.
    speed: of the highest centre down the slope [m/s]; velocities decrease linearly to zero on the floor, and
        the spheres rotate with the flow, at half its shear rate.
    velocity: standard deviation of a random part of each component of the velocities, and of radius
        times the angular ones [m/s], >= 0.
    radius: mean radius [m], > 0.
    spread: radii are uniform in radius (1 ± spread) [-], in [0, 0.4].
    width: period down the slope and across [m], > 4 radius (1 + spread), as in `packing`.
    density: of the spheres [kg/m^3], > 0.

    The spheres are deposited in the level chute as in `packing`, periodic down the slope and across, and
    the chute is then tilted: gaps are zero. The first body of a contact is the supported sphere, the second
    the supporting one or the bed; fixed spheres have no contacts with each other.
    """
    if bed not in ("rough", "smooth"):
        raise ValueError(f"bed is {bed!r}; it must be 'rough' or 'smooth'")
    packing = deposit(spheres, seed=seed, radius=radius, spread=spread, width=width)
    layer = moving_layer(packing, bed == "rough")
    R, count = layer.radius, layer.radius.size
    if not count:
        raise ValueError(
            f"spheres is {spheres}; it must be larger, as all of them lie on the floor and are fixed to it"
            " (or give bed='smooth')"
        )
    axes = slope_axes(angle)
    motion = velocity * np.random.default_rng([seed, 2]).standard_normal((count, 6))
    motion[:, 3:] /= R[:, None]
    shear = speed / float(layer.centre[:, 2].max())
    motion[:, 0] += shear * layer.centre[:, 2]
    motion[:, 4] += 0.5 * shear
    normal = layer.normal @ axes
    turned = np.concatenate([motion[:, :3] @ axes, motion[:, 3:] @ axes], axis=1)
    return spheres_step(R, density, turned, layer.bodies, layer.arm, normal, mu=mu, mu_roll=mu_roll, h=h)


def slope_axes(angle: float) -> Array:
    """Return the axes down the slope, across and normal to it as rows in the world frame, for an angle [deg];
    shape (3, 3)."""
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    return np.array([[cosine, 0.0, -sine], [0.0, 1.0, 0.0], [sine, 0.0, cosine]])


def moving_layer(packing: Packing, rough: bool) -> Layer:
    """Return the moving spheres of a packing: all, or with a rough bed all that are not fixed."""
    first, second = packing.bodies.T
    fixed = np.zeros(packing.radius.size + 1, bool)  # the last entry is that of the floor
    if rough:
        fixed[first[second < 0]] = True
        while (inside := second[fixed[first] & (second >= 0) & ~fixed[second]]).size:
            fixed[inside] = True
    fixed = fixed[:-1]
    rank = np.append(np.where(fixed, -1, np.cumsum(~fixed) - 1), -1)
    bodies = np.stack([rank[first], rank[second]], axis=1)
    branch = packing.branch
    normal = branch / np.linalg.norm(branch, axis=1, keepdims=True)
    arm = np.stack([-packing.radius[first], np.where(second < 0, 0.0, packing.radius[second])], axis=1)
    moving = bodies[:, 0] >= 0
    return Layer(packing.centre[~fixed], packing.radius[~fixed], bodies[moving], normal[moving], arm[moving])
