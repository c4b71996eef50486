"""First part of a step of a world: free motion to the midpoint, forces, velocities without contact."""

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
    """Quantities of a step that do not depend on contacts."""

    world: World
    """The world."""
    bodies: Bodies
    """Its bodies, as arrays."""
    state: State
    """State at the start of the step."""
    h: float
    """Length of the step [s]."""
    q: Array
    """Poses at the start [m, -], shape (n, 7)."""
    v: Array
    """Velocities at the start [m/s, rad/s], shape (n, 6)."""
    q_m: Array
    """Poses at the midpoint, where contacts are detected [m, -], shape (n, 7)."""
    F: Array
    """Forces by kind, without gravity [N, N m], shape (3, n, 6); (3, 0, 6) if there are none."""
    v_start: Array
    """Velocities at the midpoint before the forces, after the free motion [m/s, rad/s], shape (n, 6)."""
    v_free: Array
    """Velocities at the midpoint after the forces of the whole step, without contact [m/s, rad/s], shape
    (n, 6)."""
    f: Array
    """Momenta of the dynamic bodies with `v_free` [N s, N m s], shape (nd, 6)."""
    margin: float
    """Margin of detection: contacts with a larger gap cannot close by the end of the step [m]."""
    slack: float
    """Threshold of `kernels/activation.py` for contacts that touch [m]."""

    @property
    def free(self) -> FreeMotion:
        """The motion to the midpoint, as the named tuple of the kernels."""
        return FreeMotion(self.q, self.v, self.q_m, self.v_start, self.v_free, self.F)

    @property
    def stop_slack(self) -> Array:
        """Threshold of the sliding and turning stops of each joint [m, rad], shape (nj, 2)."""
        return np.asarray(stop_slack(self.slack, self.bodies.joint_length))

    def ahead(self, time: float) -> Array:
        """Return the velocities after free motion for `time` [s] from the midpoint [m/s, rad/s], shape
        (6 n,)."""
        bodies, q, v = self.bodies, np.empty_like(self.q_m), np.empty_like(self.v_start)
        motion.move_half(bodies.row, bodies.J, bodies.J_inverse, self.q_m, self.v_start, time, q, v)
        return v.reshape(-1)

    @property
    def forced(self) -> bool:
        """Whether there are forces other than gravity."""
        return self.F.shape[1] > 0

    @classmethod
    def of(cls, theta: float, prepared: PreparedWorld, state: State, h: float, look: float = 0.0) -> "Start":
        """Return the start of a step of length h from `state`. look: duration after the midpoint within which
        closing contacts are detected [s]; default: until the end of the step."""
        # 1. Free motion to the midpoint.
        world, bodies = prepared.world, prepared.bodies
        n = bodies.count
        q, v = state.q.reshape(n, 7), state.v.reshape(n, 6)
        q.flags.writeable = v.flags.writeable = False
        q_m, v_start, v_free = np.empty((n, 7)), np.empty((n, 6)), v.copy()
        motion.move_half(bodies.row, bodies.J, bodies.J_inverse, q, v, (1.0 - theta) * h, q_m, v_start)
        # 2. Forces at the midpoint, and velocities of kinematic bodies at the end of the step.
        F = prepared.forces_at(state.t + (1.0 - theta) * h, q_m, v_start)
        if bodies.driven:  # the spin in the body frame changes with the orientation
            q_end = np.empty((n, 7))
            motion.move_along(q_m, v, theta * h, q_end)
            world.motions.prescribe(state.t + h, q_end.reshape(-1), v_free.reshape(-1))
        # 3. Velocities after the forces, and the margins that follow from the largest speeds.
        f, (bad, fastest, second) = motion.push_freely(bodies.arrays, q_m, v_start, F, h, v_free)
        if bad >= 0:
            raise not_finite(world, state, F, bad)
        margin = (look or theta * h) * (fastest + second) + bodies.touch
        slack = threshold(h, fastest)
        return cls(world, bodies, state, h, q, v, q_m, F, v_start, v_free, f, margin, slack)


def check_start(prepared: PreparedWorld, state: State, closes: bool = False) -> None:
    """Raise ModelError for an initial state with overlapping bodies or with open or invalid joints.

    closes: whether the scheme closes overlaps and joints itself, so that only invalid joints are refused.
    """
    world = prepared.world
    world.check_state(state)
    if not closes:
        check_overlaps(world, state, detector=prepared.detector)
    check_joints(world, state.q, closes)


def not_finite(world: World, state: State, F: Array, i: int) -> ModelError:
    """Return the error that names the non-finite quantity of body i."""
    name = f"body {world.names[i]!r} at t = {state.t:.9g} s"
    if not np.isfinite(state.q[7 * i : 7 * i + 7]).all():
        return ModelError(f"{name}: q is {state.q[7 * i : 7 * i + 7]}, which is not finite")
    if not np.isfinite(state.v[6 * i : 6 * i + 6]).all():
        return ModelError(f"{name}: v is {state.v[6 * i : 6 * i + 6]}, which is not finite")
    if F.shape[1] and not np.isfinite(F[:, i]).all():
        return ModelError(f"{name}: the force on it is {F[:, i].sum(axis=0)}, which is not finite")
    return ModelError(f"{name}: its velocity outgrows all numbers; use a smaller step")
