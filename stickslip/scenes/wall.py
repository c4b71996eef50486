"""A dry masonry wall in running bond, standing on the ground under its own weight."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import GlobalProblem
from stickslip.scenes.parameters import checked, lengths
from stickslip.scenes.rigid import box_inertia, one_step

UPWARDS = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Frame of bed joints: n = z, t1 = x along the wall, t2 = y [-], shape (3, 3)."""
SIDEWAYS = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
"""Frame of head joints: n = x, t1 = y, t2 = z [-], shape (3, 3)."""


@dataclass(frozen=True, eq=False)
class RunningBond:
    """The blocks of a wall, course by course from the ground, left to right; x along it, z up."""

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

    rows, columns: courses, and blocks in an even course [-], >= 1.
    mu: friction coefficient of all joints [-], >= 0.
    mu_roll: rolling friction [m], >= 0; with it contacts have 5 components (n, t1, t2, ω1, ω2).
    h: time step [s], > 0.
    block: length, thickness and height of a whole block [m], > 0.
    density: of the blocks [kg/m^3], > 0.
    head_joints: whether the vertical joints between neighbours are contacts too.

    Contacts: the four corners of every rectangle in which a block lies on the ground or on a block
    below, 4 columns + 8 columns (rows - 1) in all (352 with the defaults), sorted by the upper block.
    The head joints, four corners each, are off unless asked for: the wall does not need them to stand,
    and in dry masonry they are open; on, they follow the bed joints (180 more) and make the impulses
    still less unique. Rest (v = 0) is the only velocity that solves the problem, whatever mu:
    the weight alone can be carried by normal impulses, and r·u <= 0 leaves no energy for motion.
    """
    length, thickness, height = lengths("block", block, ("length", "thickness", "height"))
    if not isinstance(head_joints, bool | np.bool_):
        raise ValueError(f"head_joints is {head_joints!r}; it must be True or False")
    bond = running_bond(rows, columns, length, thickness, height)
    pairs, corners = bed_joints(bond)
    frames = [UPWARDS] * len(pairs)
    if head_joints:
        more, corners_of_more = head_joints_of(bond)
        pairs, corners = pairs + more, corners + corners_of_more
        frames = frames + [SIDEWAYS] * len(more)
    bodies, points = np.array(pairs), np.array(corners)
    arms = points[:, None, :] - bond.centre[bodies]  # the arm of the ground, body -1, is not read
    mass = density * bond.size.prod(axis=1)
    return one_step(
        mass=mass, inertia=box_inertia(mass, bond.size), velocity=np.zeros((mass.size, 6)), bodies=bodies,
        arms=arms, frames=np.array(frames), mu=mu, mu_roll=mu_roll, h=h,
    )  # fmt: skip


def running_bond(rows: int, columns: int, length: float, thickness: float, height: float) -> RunningBond:
    """The blocks of `rows` courses in running bond, whole blocks of the given size [m]."""
    centre, size, course = [], [], []
    for row in range(rows):
        # ends of the blocks in half lengths: whole numbers, so that courses meet exactly
        ends = range(0, 2 * columns + 1, 2) if row % 2 == 0 else [0, *range(1, 2 * columns, 2), 2 * columns]
        for a, b in pairwise(ends):
            centre.append([0.25 * (a + b) * length, 0.0, (row + 0.5) * height])
            size.append([0.5 * (b - a) * length, thickness, height])
            course.append(row)
    return RunningBond(np.array(centre), np.array(size), np.array(course, np.int64))


def bed_joints(bond: RunningBond) -> tuple[list[tuple[int, int]], list[Array]]:
    """Contacts (upper, lower block or -1) and their points: corners of every overlap from above."""
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
    """Contacts (right, left block) and their points: corners of the faces between neighbours."""
    pairs, points = [], []
    low, high = bond.centre - 0.5 * bond.size, bond.centre + 0.5 * bond.size
    for i in range(1, bond.course.size):
        if bond.course[i] == bond.course[i - 1]:
            for y in (low[i, 1], high[i, 1]):
                for z in (low[i, 2], high[i, 2]):
                    pairs.append((i, i - 1))
                    points.append(np.array([low[i, 0], y, z]))
    return pairs, points
