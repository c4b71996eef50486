"""Contact problems of one time step of rigid bodies in contact under gravity: a box on an inclined plane,
whose contact forces are known in closed form, and a dry masonry wall in running bond.

The velocity of a body is (linear velocity of its centre, angular velocity), both in the world
frame, z up. A contact at point p has the frame (n, t1, t2), n from the second body to the first,
and the row of H' for direction e is (e, (p - c) × e) for the first body and minus that for the
second, where c is the centre of the body.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.jacobian import contact_blocks
from stickslip.problem.sets import coulomb, rolling
from stickslip.scenes.parameters import checked, lengths
from stickslip.scenes.scenario import GRAVITY


def one_step(
    *, mass: Array, inertia: Array, velocity: Array, bodies: IntArray, arms: Array, frames: Array,
    mu: float, mu_roll: float | None, h: float,
) -> GlobalProblem:  # fmt: skip
    """Return the contact problem of one step of length `h` [s] under gravity.

    `mass` [kg] (bodies,); `inertia` [kg m^2] (bodies, 3, 3), world frame; initial `velocity`
    [m/s, rad/s] (bodies, 6); `bodies` [-] (nc, 2), -1 for fixed bodies; `arms` p - c of the two
    sides [m] (nc, 2, 3); `frames` [-] (nc, 3, 3), rows n, t1, t2. With `mu_roll` [m] contacts have
    5 components, the last two about t1 and t2. f = M v + h F: the gyroscopic term ω × I ω is zero
    for bodies at rest and for spheres, which are the only bodies of these scenes.
    """
    count, nc = mass.shape[0], bodies.shape[0]
    M = np.zeros((count, 6, 6))
    M[:, [0, 1, 2], [0, 1, 2]] = mass[:, None]
    M[:, 3:, 3:] = inertia
    f = np.einsum("bij,bj->bi", M, velocity)
    f[:, 2] -= h * GRAVITY * mass
    rows = sliding_rows(arms, frames)
    if mu_roll is None:
        K = coulomb(np.full(nc, mu))
    else:
        K = rolling(np.full(nc, mu), np.full(nc, mu_roll))
        rows = np.concatenate([rows, rolling_rows(frames)], axis=1)
    H = contact_blocks(bodies, rows.reshape(-1, 2, 6), K)
    return GlobalProblem(M, f.reshape(-1), H, np.zeros(K.size), K)  # type: ignore[arg-type]


def spheres_step(
    radius: Array, density: float, velocity: Array, bodies: IntArray, arms: Array, normals: Array, *,
    mu: float, mu_roll: float | None, h: float,
) -> GlobalProblem:  # fmt: skip
    """Return `one_step` for solid spheres: `radius` [m] (bodies,), `density` [kg/m^3], `arms` of the two
    sides along the unit `normals` (nc, 3) [m] (nc, 2)."""
    mass = density * 4.0 / 3.0 * np.pi * radius**3
    return one_step(
        mass=mass, inertia=(0.4 * mass * radius**2)[:, None, None] * np.eye(3), velocity=velocity,
        bodies=bodies, arms=arms[:, :, None] * normals[:, None, :], frames=frames_from_normals(normals),
        mu=mu, mu_roll=mu_roll, h=h,
    )  # fmt: skip


def sliding_rows(arms: Array, frames: Array) -> Array:
    """Return the rows of H' for n, t1, t2 [-, m], shape (nc, 3, 2, 6), from arms and frames."""
    rows = np.empty((arms.shape[0], 3, 2, 6))
    rows[..., :3] = frames[:, :, None, :]
    rows[..., 3:] = np.cross(arms[:, None, :, :], frames[:, :, None, :])
    rows[:, :, 1] *= -1.0
    return rows


def rolling_rows(frames: Array) -> Array:
    """Return the rows of H' for ω_first - ω_second about t1 and t2 [-], shape (nc, 2, 2, 6)."""
    rows = np.zeros((frames.shape[0], 2, 2, 6))
    rows[:, :, 0, 3:] = frames[:, 1:]
    rows[:, :, 1, 3:] = -frames[:, 1:]
    return rows


def box_inertia(mass: Array, size: Array) -> Array:
    """Return the inertia of homogeneous boxes in their own axes [kg m^2], shape (n, 3, 3); `size` [m] (n,
    3)."""
    squares = size**2
    moments = mass[:, None] / 12.0 * (squares.sum(axis=1, keepdims=True) - squares)
    return np.asarray(moments[:, :, None] * np.eye(3))


def frames_from_normals(normals: Array) -> Array:
    """Return right-handed frames (n, t1, t2) [-], shape (nc, 3, 3), from unit normals (nc, 3).

    Duff et al. 2017, Building an Orthonormal Basis, Revisited, J. Comput. Graph. Tech. 6(1), 1-8.
    """
    x, y, z = normals.T
    sign = np.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    t1 = np.stack([1.0 + sign * x * x * a, sign * b, -sign * x], axis=1)
    t2 = np.stack([b, sign + y * y * a, -y], axis=1)
    return np.stack([normals, t1, t2], axis=1)


@checked
def incline(
    *,
    angle: float = 25.0,
    mu: float = 0.5,
    mass: float = 1.0,
    h: float = 1e-3,
    size: tuple[float, float, float] = (0.2, 0.1, 0.1),
) -> GlobalProblem:
    """A box at rest on a fixed plane that slopes down towards +x; t1 points down the slope, t2 along y.

    angle: of the plane to the horizontal [deg], in [0, 90).
    mu: friction coefficient [-], >= 0.
    mass: of the box, homogeneous [kg], > 0.
    size: length along the slope, width and height of the box [m], > 0.

    The box is body 0, the plane is fixed. With N = m g h cos and T = m g h sin, the exact law gives
    sum r_N = N, and sum r_T1 = -min(T, mu N), sum r_T2 = 0: it sticks if tan(angle) <= mu and otherwise
    slides at v = g h (sin - mu cos) with u_N = 0. The sums of the impulses are unique, the impulses are not.

    The friction min(tan, mu) N acts half a height below the centre, so the normal resultant is
    min(tan, mu) height / 2 down the slope from it: the box tips unless min(tan, mu) height <= length. A box
    that tips is refused.
    """
    length, width, height = lengths("size", size, ("length", "width", "height"))
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    grip = min(sine / cosine, mu)
    if grip * height > (1.0 + 1e-12) * length:  # equality is allowed up to rounding
        raise ValueError(
            f"size is {size!r}: the box tips, as min(tan(angle), mu) height = {grip * height:.6g} m is more"
            f" than its length {length:g} m; give it a length >= {grip * height:.6g} m or a smaller height"
        )
    normal, down, across = [sine, 0.0, cosine], [cosine, 0.0, -sine], [0.0, 1.0, 0.0]
    axes = np.array([down, across, normal])  # rows: the axes of the box in the world frame
    corners = 0.5 * np.array([[x * length, y * width, -height] for x in (-1, 1) for y in (-1, 1)])
    arms = np.zeros((4, 2, 3))
    arms[:, 0] = corners @ axes
    masses = np.array([mass])
    return one_step(
        mass=masses, inertia=axes.T @ box_inertia(masses, np.array([[length, width, height]])) @ axes,
        velocity=np.zeros((1, 6)), bodies=np.array([[0, -1]] * 4), arms=arms,
        frames=np.tile(np.array([normal, down, across]), (4, 1, 1)), mu=mu, mu_roll=None, h=h,
    )  # fmt: skip


UPWARDS = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Frame of bed joints: n = z, t1 = x along the wall, t2 = y [-], shape (3, 3)."""
SIDEWAYS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
"""Frame of head joints: n = x, t1 = y, t2 = z [-], shape (3, 3)."""


@dataclass(frozen=True, eq=False)
class RunningBond:
    """The blocks of a wall, course by course from the ground and left to right; x along the wall, z up."""

    centre: Array
    """Centres of the blocks [m], shape (blocks, 3)."""
    size: Array
    """Length (x), thickness (y) and height (z) of the blocks [m], shape (blocks, 3)."""
    course: IntArray
    """Course of each block, 0 on the ground [-], shape (blocks,)."""


@checked
def wall(
    *, rows: int = 6, columns: int = 8, mu: float = 0.6, mu_roll: float | None = None, h: float = 1e-3,
    block: tuple[float, float, float] = (0.4, 0.2, 0.2), density: float = 2000.0, head_joints: bool = False,
) -> GlobalProblem:  # fmt: skip
    """A wall of `rows` courses of `columns` blocks; odd courses begin and end with half blocks.

    rows, columns: number of courses, and of blocks in an even course [-], >= 1.
    mu: friction coefficient of all joints [-], >= 0.
    mu_roll: rolling friction [m], >= 0; with it contacts have 5 components (n, t1, t2, ω1, ω2).
    block: length, thickness and height of a whole block [m], > 0.
    density: of the blocks [kg/m^3], > 0.
    head_joints: whether the vertical joints between neighbours are contacts too.

    Contacts: the four corners of every rectangle in which a block lies on the ground or on a block
    below, 4 columns + 8 columns (rows - 1) in all (352 with the defaults), sorted by the upper block.
    The head joints, four corners each, are off by default: the wall stands without them, and in dry
    masonry they are open. If on, they follow the bed joints (180 more) and add redundancy to the impulses.
    Rest (v = 0) is the only velocity that solves the problem, for any mu: normal impulses can carry the
    weight alone, and r·u <= 0 leaves no energy for motion.
    """
    length, thickness, height = lengths("block", block, ("length", "thickness", "height"))
    if not isinstance(head_joints, bool | np.bool_):
        raise ValueError(f"head_joints is {head_joints!r}; it must be True or False")
    bond = running_bond(rows, columns, length, thickness, height)
    pairs, corners = bed_joints(bond)
    frames = [UPWARDS] * len(pairs)
    if head_joints:
        head_pairs, head_corners = head_joints_of(bond)
        pairs, corners = pairs + head_pairs, corners + head_corners
        frames = frames + [SIDEWAYS] * len(head_pairs)
    bodies, points = np.array(pairs), np.array(corners)
    arms = points[:, None, :] - bond.centre[bodies]  # the arm of the ground, body -1, is not used
    mass = density * bond.size.prod(axis=1)
    return one_step(
        mass=mass, inertia=box_inertia(mass, bond.size), velocity=np.zeros((mass.size, 6)), bodies=bodies,
        arms=arms, frames=np.array(frames), mu=mu, mu_roll=mu_roll, h=h,
    )  # fmt: skip


def running_bond(rows: int, columns: int, length: float, thickness: float, height: float) -> RunningBond:
    """Return the blocks of `rows` courses in running bond, for the size of a whole block [m]."""
    centre, size, course = [], [], []
    for row in range(rows):
        # Ends of the blocks in half lengths: integers, so that courses meet exactly.
        ends = range(0, 2 * columns + 1, 2) if row % 2 == 0 else [0, *range(1, 2 * columns, 2), 2 * columns]
        for a, b in pairwise(ends):
            centre.append([0.25 * (a + b) * length, 0.0, (row + 0.5) * height])
            size.append([0.5 * (b - a) * length, thickness, height])
            course.append(row)
    return RunningBond(np.array(centre), np.array(size), np.array(course, np.int64))


def bed_joints(bond: RunningBond) -> tuple[list[tuple[int, int]], list[Array]]:
    """Return contacts (upper, lower block or -1) and their points, the corners of every bed joint."""
    pairs, points = [], []
    low, high = bond.centre - 0.5 * bond.size, bond.centre + 0.5 * bond.size
    for i in range(bond.course.size):
        below = np.flatnonzero(bond.course == bond.course[i] - 1) if bond.course[i] else [-1]
        for j in map(int, below):
            a, b = low[i, 0], high[i, 0]
            if j >= 0:
                a, b = max(a, low[j, 0]), min(b, high[j, 0])
            if b - a > 1e-6 * bond.size[i, 0]:
                for x in (a, b):
                    for y in (low[i, 1], high[i, 1]):
                        pairs.append((i, j))
                        points.append(np.array([x, y, low[i, 2]]))
    return pairs, points


def head_joints_of(bond: RunningBond) -> tuple[list[tuple[int, int]], list[Array]]:
    """Return contacts (right, left block) and their points, the corners of the faces between neighbours."""
    pairs, points = [], []
    low, high = bond.centre - 0.5 * bond.size, bond.centre + 0.5 * bond.size
    for i in range(1, bond.course.size):
        if bond.course[i] == bond.course[i - 1]:
            for y in (low[i, 1], high[i, 1]):
                for z in (low[i, 2], high[i, 2]):
                    pairs.append((i, i - 1))
                    points.append(np.array([low[i, 0], y, z]))
    return pairs, points
