"""Limit analysis of rigid blocks in a plane: the largest tilt for which forces in equilibrium exist.

The static theorem as a linear program (Livesley 1978, Limit analysis of structures formed from rigid blocks):
a structure of rigid blocks can stand if there are forces at the corners of its joints, in Coulomb's cones,
that carry the weight of every block. In a plane a cone has two edges, so that nothing is linearised; and
forces at the two ends of a joint have every resultant that forces spread over it can have. With Coulomb's law
a structure that can stand may still fall (the law is not associated, and friction may jam or not): the angle
found here is one beyond which nothing stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

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
        found = [_area_and_centre(np.asarray(one, float)) for one in corners]
        return cls(np.array([area for area, _ in found]), np.array([c for _, c in found]), joints)


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


def _area_and_centre(corners: Array) -> tuple[float, Array]:
    """Of a polygon, counter-clockwise, by the shoelace formula."""
    x, z = corners.T
    x2, z2 = np.roll(x, -1), np.roll(z, -1)
    cross = x * z2 - x2 * z
    area = 0.5 * float(cross.sum())
    return area, np.array([((x + x2) * cross).sum(), ((z + z2) * cross).sum()]) / (6.0 * area)
