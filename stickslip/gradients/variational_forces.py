"""Forces of a world at the node of a step of the variational scheme, to first order.

Actuators and wrenches have closed forms; springs, dampers and users' forces on bodies go through
`moreau_jean_forces`, along all displacements and velocities at once.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.gradients.charts import to_coordinates
from stickslip.gradients.moreau_jean_forces import central, forces_along
from stickslip.kernels.variational_derivatives.rows import ANGLE, AXIS, SLIDE
from stickslip.mechanics.joint_motion import TURNING, coordinate
from stickslip.mechanics.world import World
from stickslip.mechanics.written_forces import JointEffort
from stickslip.rotations import matrices, skew
from stickslip.state import Array, IntArray

EPSILON = 1e-30


@dataclass(frozen=True, eq=False, slots=True)
class Efforts:
    """The actuators of a world at a node."""

    joint: IntArray
    """[-], shape (k,)."""
    line: IntArray
    """Row of the joint that they act along: slide or axis [-], shape (k,)."""
    coordinate: IntArray
    """Row of the joint that their position is: slide or angle [-], shape (k,)."""
    value: Array
    """[N, N m], shape (k,)."""
    slope: Array
    """By position and by velocity; 0 of constant ones [N/m, N s/m, ...], shape (k, 2)."""
    inputs: IntArray
    """Which of them are constant, in the order of `Parameters.effort` [-], shape (na,)."""

    def per_joint(self, count: int) -> Array:
        """Summed along the two coordinates of so many joints [N, N m], shape (count, 2)."""
        out = np.zeros((count, 2))
        np.add.at(out, (self.joint, (self.line == AXIS).astype(int)), self.value)
        return out


def efforts_of(world: World, t: float, q: Array, v: Array) -> Efforts:
    """Of all actuators; q (7 n,), v (6 n,)."""
    joint: list[int] = []
    line: list[int] = []
    where: list[int] = []
    inputs: list[int] = []
    value: list[float] = []
    slope: list[list[float]] = []
    for one in world.forces.written:
        if not isinstance(one, JointEffort):
            continue
        turning = one.column == TURNING
        if one.effort.constant is not None:
            inputs.append(len(joint))
            value.append(float(one.effort.constant))
            slope.append([0.0, 0.0])
        else:
            place = np.array(coordinate(one.joints, one.joint, one.column, q, v))
            value.append(float(one.effort(t, *place.tolist())))
            slope.append([_slope(one, t, place, way) for way in np.eye(2)])
        joint.append(one.joint)
        line.append(AXIS if turning else SLIDE)
        where.append(ANGLE if turning else SLIDE)
    at, along, place_of = (np.array(x, np.int64) for x in (joint, line, where))
    return Efforts(
        at, along, place_of, np.array(value, float), np.array(slope, float).reshape(-1, 2),
        np.array(inputs, np.int64),
    )  # fmt: skip


def _slope(one: JointEffort, t: float, place: Array, way: Array) -> float:
    """Of a user's effort along (position, velocity)."""
    return float(central(lambda x: one.effort(t, *x.tolist()), place, way))


def other_forces(world: World, t: float, q: Array, v: Array, *, by: str) -> Array | None:
    """∂F/∂(displacements or velocities) of springs, dampers and users' forces on bodies, moments in the
    frames of the bodies, shape (6 n, 6 n); None where there are none.   q (7 n,), v (6 n,), by "q" or "v"."""
    forces = world.forces
    written = tuple(one for one in forces.written if not isinstance(one, JointEffort))
    if forces.springs is None and forces.dampers is None and not written:
        return None
    n = len(world.names)
    bare = replace(world, forces=replace(forces, written=written, wrench=None))
    place, speed = q.reshape(1, n, 7).astype(complex), v.reshape(1, n, 6).astype(complex)
    change = 1j * EPSILON
    if by == "q":
        place = place + change * to_coordinates(q, np.eye(6 * n)).T.reshape(-1, n, 7)
    else:
        speed = speed + change * np.eye(6 * n).reshape(-1, n, 6)
    none: Any = np.zeros((1, 0), complex)
    F = forces_along(bare, np.array([t], complex), place, speed, none, np.zeros((1, n, 6), complex))
    return np.ascontiguousarray((F.imag / EPSILON).reshape(6 * n, 6 * n).T)


def wrench_turned(world: World, q: Array) -> Array | None:
    """∂(R'm)/∂δθ of the constant moments [N m], shape (n, 3, 3); None where there are none."""
    wrench = world.forces.wrench
    if wrench is None:
        return None
    R = matrices(q.reshape(-1, 7)[:, 3:])
    return skew(np.einsum("nji,nj->ni", R, wrench[:, 3:]))
