"""The start of a step of a world: half way, forces, and the motion that would be if nothing touched."""

from dataclasses import dataclass

import numpy as np

from stickslip.detection.overlaps import check_overlaps
from stickslip.kernels.activation import threshold
from stickslip.kernels.bodies import motion
from stickslip.kernels.bodies.joint_blocks import stop_slack
from stickslip.kernels.bodies.layout import FreeMotion
from stickslip.mechanics.world import World
from stickslip.schemes.body_joints import check_joints
from stickslip.schemes.body_world import Bodies, PreparedWorld
from stickslip.state import Array, ModelError, State


@dataclass(frozen=True, eq=False, slots=True)
class Start:
    """What is known before anything touches."""

    world: World
    bodies: Bodies
    state: State
    h: float
    """Length of the step [s]."""
    q: Array
    """At the start [m, -], shape (n, 7)."""
    v: Array
    """At the start [m/s, rad/s], shape (n, 6)."""
    q_m: Array
    """Where contacts are looked for [m, -], shape (n, 7)."""
    F: Array
    """Forces beside gravity by kind [N, N m], shape (3, n, 6); (3, 0, 6) where there are none."""
    v_start: Array
    """Velocities there, after the first part of the free motion [m/s, rad/s], shape (n, 6)."""
    v_free: Array
    """Velocities there after the forces of the whole step, if nothing touched [m/s, rad/s], shape (n, 6)."""
    f: Array
    """Momenta of the dynamic bodies with them [N s, N m s], shape (nd, 6)."""
    margin: float
    """No contact with a larger gap can close by the end of the step [m]."""
    slack: float
    """Threshold of `kernels/activation.py` for contacts that touch [m]."""

    @property
    def free(self) -> FreeMotion:
        """The motion up to the middle, as kernels take it."""
        return FreeMotion(self.q, self.v, self.q_m, self.v_start, self.v_free, self.F)

    @property
    def stop_slack(self) -> Array:
        """The same of the stops of sliding and turning of each joint [m, rad], shape (nj, 2)."""
        return np.asarray(stop_slack(self.slack, self.bodies.joint_length))

    def ahead(self, time: float) -> Array:
        """Velocities after so much more free motion from the middle [m/s, rad/s], shape (6 n,)."""
        bodies, q, v = self.bodies, np.empty_like(self.q_m), np.empty_like(self.v_start)
        motion.move_half(bodies.row, bodies.J, bodies.J_inverse, self.q_m, self.v_start, time, q, v)
        return v.reshape(-1)

    @property
    def forced(self) -> bool:
        """Whether there are forces beside gravity."""
        return self.F.shape[1] > 0

    @classmethod
    def of(cls, theta: float, prepared: PreparedWorld, state: State, h: float, look: float = 0.0) -> "Start":
        """The start of a step of length h from `state`; look: how long after the middle contacts that close
        are wanted [s], until the end of the step unless given."""
        world, bodies = prepared.world, prepared.bodies
        n = bodies.count
        q, v = state.q.reshape(n, 7), state.v.reshape(n, 6)
        q.flags.writeable = v.flags.writeable = False
        q_m, v_start, v_free = np.empty((n, 7)), np.empty((n, 6)), v.copy()
        motion.move_half(bodies.row, bodies.J, bodies.J_inverse, q, v, (1.0 - theta) * h, q_m, v_start)
        F = prepared.forces_at(state.t + (1.0 - theta) * h, q_m, v_start)
        if bodies.driven:  # as they turn, the spin of kinematic bodies changes in their own frames
            q_end = np.empty((n, 7))
            motion.move_along(q_m, v, theta * h, q_end)
            world.motions.prescribe(state.t + h, q_end.reshape(-1), v_free.reshape(-1))
        f, (bad, fastest, second) = motion.push_freely(bodies.arrays, q_m, v_start, F, h, v_free)
        if bad >= 0:
            raise not_finite(world, state, F, bad)
        margin = (look or theta * h) * (fastest + second) + bodies.touch
        slack = threshold(h, fastest)
        return cls(world, bodies, state, h, q, v, q_m, F, v_start, v_free, f, margin, slack)


def check_start(prepared: PreparedWorld, state: State, closes: bool = False) -> None:
    """Refuse a state from which no scheme can carry the world: bodies overlap, joints are open.

    closes: whether the scheme closes both, so that only what cannot be is refused.
    """
    world = prepared.world
    world.check_state(state)
    if not closes:
        check_overlaps(world, state, detector=prepared.detector)
    check_joints(world, state.q, closes)


def not_finite(world: World, state: State, F: Array, i: int) -> ModelError:
    """Which number of body i is not one."""
    name = f"body {world.names[i]!r} at t = {state.t:.9g} s"
    if not np.isfinite(state.q[7 * i : 7 * i + 7]).all():
        return ModelError(f"{name}: q is {state.q[7 * i : 7 * i + 7]}, which is not finite")
    if not np.isfinite(state.v[6 * i : 6 * i + 6]).all():
        return ModelError(f"{name}: v is {state.v[6 * i : 6 * i + 6]}, which is not finite")
    if F.shape[1] and not np.isfinite(F[:, i]).all():
        return ModelError(f"{name}: the force on it is {F[:, i].sum(axis=0)}, which is not finite")
    return ModelError(f"{name}: its velocity outgrows all numbers; use a smaller step")
