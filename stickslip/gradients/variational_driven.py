"""Bodies that move as prescribed, in the derivative of a step."""

from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.gradients.variational_right_sides import Columns
from stickslip.kernels.bodies import motion
from stickslip.state import Array

if TYPE_CHECKING:
    from stickslip.gradients.variational_columns import Linear

KINEMATIC_STEP = 6e-6
"""Step of central differences of prescribed motions."""


def driven(linear: "Linear", by: str) -> Array | None:
    """How velocities of bodies that are not dynamic change with q, v or h, shape (6 n, k), by central
    differences; fixed bodies keep those of the state. None where nothing is prescribed."""
    world, n = linear.world, linear.n
    if not len(world.motions):
        return None
    q, v = linear.state.q.reshape(n, 7), linear.state.v.reshape(n, 6)

    def velocities(q: Array, v: Array, h: float) -> Array:
        middle, out = np.empty((n, 7)), v.copy()
        motion.move_along(q, v, 0.5 * h, middle)
        world.motions.prescribe(linear.state.t + 0.5 * h, middle.reshape(-1), out.reshape(-1))
        return out.reshape(-1)

    if by == "h":
        step = KINEMATIC_STEP * linear.h
        return ((velocities(q, v, linear.h + step) - velocities(q, v, linear.h - step)) / (2.0 * step))[
            :, None
        ]
    out, step = np.zeros((6 * n, 6 * n)), KINEMATIC_STEP
    fixed = np.repeat(linear.row < 0, 6)
    if by == "v":
        out[np.ix_(fixed, fixed)] = np.eye(int(fixed.sum()))
    for body in world.motions.body:
        for k in range(6):
            ways = []
            for side in (1.0, -1.0):
                q_side, v_side = q.copy(), v.copy()
                if by == "v":
                    v_side[body, k] += side * step
                else:
                    push = np.zeros((n, 6))
                    push[body, k] = side * step
                    motion.move_along(q, push, 1.0, q_side)
                ways.append(velocities(q_side, v_side, linear.h))
            out[fixed, 6 * body + k] = ((ways[0] - ways[1]) / (2.0 * step))[fixed]
    return out


def with_driven(linear: "Linear", given: Columns, moved: Any) -> Columns:
    """`given` with what follows from prescribed velocities that change."""
    C = linear.spread(linear.moves, linear.body)
    F = linear.other_forces("v")
    e = given.e if F is None else given.e + F @ moved
    c = -C @ moved if given.c is None else given.c - C @ moved
    end = linear.end_by_v @ moved
    return Columns(
        e, c, given.r, moved, end if given.q is None else given.q + end, given.approach,
        given.joint_approach,
    )  # fmt: skip
