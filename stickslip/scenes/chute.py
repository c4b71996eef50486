"""Spheres that move down an inclined chute: a sheared layer on a rough bed or on a plane."""

import math
from dataclasses import dataclass

import numpy as np

from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import GlobalProblem
from stickslip.scenes.packing import Packing, deposit
from stickslip.scenes.parameters import checked
from stickslip.scenes.rigid import spheres_step


@dataclass(frozen=True, eq=False)
class Layer:
    """The spheres of a chute that move and what they touch, in the frame of the chute.

    That frame is (down the slope, across, off the bed); it repeats down the slope and across.
    """

    centre: Array
    """Centres of the spheres that move [m], shape (moving, 3)."""
    radius: Array
    """Their radii [m], shape (moving,)."""
    bodies: IntArray
    """First and second sphere of each contact, -1 for the bed [-], shape (nc, 2)."""
    normal: Array
    """Unit normals, from second to first [-], shape (nc, 3)."""
    arm: Array
    """From the centres of first and second to the contact [m], shape (nc, 2)."""


@checked
def chute(
    *, spheres: int = 500, angle: float = 20.0, mu: float = 0.3, mu_roll: float | None = None, seed: int = 0,
    bed: str = "rough", speed: float = 0.05, velocity: float = 0.0, radius: float = 0.01, spread: float = 0.2,
    width: float | None = None, density: float = 2500.0, h: float = 1e-3,
) -> GlobalProblem:  # fmt: skip
    """A layer of spheres in a chute that falls towards +x, shearing down the slope; no side walls.

    spheres: how many are poured into the chute, those of the bed included [-], >= 1.
    angle: of the chute to the horizontal [deg], in [0, 90).
    mu: friction coefficient of all contacts [-], >= 0.
    mu_roll: rolling friction [m], >= 0; with it contacts have 5 components (n, t1, t2, ω1, ω2).
    seed: of the random numbers [-], >= 0; same seed, same bytes.
    bed: "rough" glues to the floor every sphere that lies on it, and what carries these; "smooth"
        leaves a plane.
    speed: of the highest centre down the slope [m/s]; it falls linearly to zero on the floor, and the
        spheres turn with the flow, at half its shear rate.
    velocity: standard deviation of what each component of the velocities has besides, and of radius
        times the angular ones [m/s], >= 0.
    radius: mean radius [m], > 0.
    spread: radii are uniform in radius (1 ± spread) [-], in [0, 0.4].
    width: period down the slope and across [m], > 4 radius (1 + spread), as in `packing`.
    density: of the spheres [kg/m^3], > 0.
    h: time step [s], > 0.

    The spheres are poured into the level chute by the deposition of `packing`, periodic down the slope
    and across, and the chute is then tilted: contacts have no gap, nothing overlaps. First is the
    carried sphere, second the carrying one or the bed; what is glued has no contact with what is glued.
    """
    if bed not in ("rough", "smooth"):
        raise ValueError(f"bed is {bed!r}; it must be 'rough' or 'smooth'")
    packing = deposit(spheres, seed=seed, radius=radius, spread=spread, width=width)
    layer = moving_layer(packing, bed == "rough")
    R, count = layer.radius, layer.radius.size
    if not count:
        raise ValueError(
            f"spheres is {spheres}; it must be larger, as all of them lie on the floor and are glued to it"
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
    """Rows: down the slope, across and off it, in the world frame, for an angle [deg]; shape (3, 3)."""
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    return np.array([[cosine, 0.0, -sine], [0.0, 1.0, 0.0], [sine, 0.0, cosine]])


def moving_layer(packing: Packing, rough: bool) -> Layer:
    """The spheres of a packing that move: all of them, or with a rough bed those that are not glued."""
    first, second = packing.bodies.T
    glued = np.zeros(packing.radius.size + 1, bool)  # the last stands for the floor
    if rough:
        glued[first[second < 0]] = True
        while (inside := second[glued[first] & (second >= 0) & ~glued[second]]).size:
            glued[inside] = True
    glued = glued[:-1]
    rank = np.append(np.where(glued, -1, np.cumsum(~glued) - 1), -1)
    bodies = np.stack([rank[first], rank[second]], axis=1)
    branch = packing.branch
    normal = branch / np.linalg.norm(branch, axis=1, keepdims=True)
    arm = np.stack([-packing.radius[first], np.where(second < 0, 0.0, packing.radius[second])], axis=1)
    kept = bodies[:, 0] >= 0
    return Layer(packing.centre[~glued], packing.radius[~glued], bodies[kept], normal[kept], arm[kept])
