"""Forces of a world along directions: springs, dampers, actuators, users' forces and wrenches.

Users' functions are the one thing here that is not differentiated exactly: by central differences of the
function alone, in its own arguments; of p in the three directions in which a body turns.
"""

from collections.abc import Callable

import numpy as np

from stickslip.gradients.moreau_jean_inputs import Complex
from stickslip.gradients.moreau_jean_motion import cross, dot, rotations, times, times_back
from stickslip.mechanics.forces import Dampers, Springs
from stickslip.mechanics.joint_motion import TURN, TURNING
from stickslip.mechanics.joints import JointKind, Joints
from stickslip.mechanics.world import World
from stickslip.mechanics.written_forces import JointEffort, Written, WrittenForce
from stickslip.rotations import rates
from stickslip.state import Array, IntArray

RELATIVE = 6e-6
"""Step of a central difference, relative to what is changed or to 1: the cube root of rounding."""


class Poses:
    """Bodies at one instant along directions; body -1 is the inertial frame, which rests."""

    def __init__(self, q: Complex, v: Complex):
        k = max(q.shape[0], v.shape[0])
        frame, rest = np.zeros((k, 1, 7), complex), np.zeros((k, 1, 6), complex)
        frame[:, :, 3] = 1.0
        self.q = np.concatenate([np.broadcast_to(q, (k, *q.shape[1:])), frame], axis=1)
        """[m, -], shape (k, n + 1, 7)."""
        self.v = np.concatenate([np.broadcast_to(v, (k, *v.shape[1:])), rest], axis=1)
        """[m/s, rad/s], shape (k, n + 1, 6)."""
        self.x = self.q[..., :3]
        """[m], shape (k, n + 1, 3)."""
        self.R = rotations(self.q[..., 3:])
        """[-], shape (k, n + 1, 3, 3)."""
        self.spin = times(self.R, self.v[..., 3:])
        """Inertial [rad/s], shape (k, n + 1, 3)."""

    def arm(self, body: IntArray, point: Array) -> Complex:
        """From the centres of mass to points of bodies, inertial [m], shape (k, m, 3)."""
        return times(self.R[:, body], point)

    def speed(self, body: IntArray, arm: Complex) -> Complex:
        """Of points of bodies [m/s], shape (k, m, 3)."""
        return self.v[:, body, :3] + cross(self.spin[:, body], arm)

    def push(self, F: Complex, body: IntArray, arm: Complex, f: Complex, moment: Complex | None) -> None:
        """F <- F + forces at `arm` from the centres of mass and moments, all inertial."""
        total = cross(arm, f)
        if moment is not None:
            total = total + moment
        turned = times_back(self.R[:, body], total)
        for m, b in enumerate(body.tolist()):
            if b >= 0:
                F[:, b, :3] += f[:, m]
                F[:, b, 3:] += turned[:, m]


def forces_along(
    world: World, t: Complex, q: Complex, v: Complex, effort: Complex, wrench: Complex
) -> Complex:
    """All forces but gravity, inertial, and moments in body frames [N, N m], shape (k, n, 6).

    t [s], shape (k,); effort of the actuators with a constant one, shape (k, na); wrench, shape (k, n, 6).
    """
    forces = world.forces
    if not (len(forces) or wrench.any()):
        return np.zeros((1, *wrench.shape[1:]))
    k = max(len(x) for x in (t, q, v, effort, wrench))
    poses = Poses(np.broadcast_to(q, (k, *q.shape[1:])), v)
    F: Complex = np.zeros((k, q.shape[1], 6), complex)
    if forces.springs is not None:
        _add_springs(forces.springs, poses, F)
    if forces.dampers is not None:
        _add_dampers(forces.dampers, poses, F)
    inputs = iter(range(effort.shape[1]))
    for one in forces.written:
        if isinstance(one, JointEffort):
            constant = None if one.effort.constant is None else effort[:, next(inputs)]
            _add_effort(one, t, poses, constant, F)
        else:
            _add_written(one, t, poses, F)
    F[:, :, :3] += wrench[:, :, :3]
    F[:, :, 3:] += times_back(poses.R[:, :-1], wrench[:, :, 3:])
    return F


def _add_springs(s: Springs, poses: Poses, F: Complex) -> None:
    first, second = s.body[:, 0], s.body[:, 1]
    arms = poses.arm(first, s.point[:, 0]), poses.arm(second, s.point[:, 1])
    between = poses.x[:, first] + arms[0] - poses.x[:, second] - arms[1]
    rate = poses.speed(first, arms[0]) - poses.speed(second, arms[1])
    square = dot(between, between)
    apart = square.real > 0.0
    square = np.where(apart, square, 1.0)
    own = np.where(apart, 1.0 - s.length / np.sqrt(square), 0.0)
    pull = -s.stiffness * np.where(s.length > 0.0, own, 1.0)
    drag = np.where(apart, -s.damping * dot(between, rate) / square, 0.0)
    f = (pull + drag)[..., None] * between
    poses.push(F, first, arms[0], f, None)
    poses.push(F, second, arms[1], -f, None)


def _add_dampers(d: Dampers, poses: Poses, F: Complex) -> None:
    first, second = d.body[:, 0], d.body[:, 1]
    arm = poses.arm(first, d.point)
    other = poses.x[:, first] + arm - poses.x[:, second]
    f = -d.linear[:, None] * (poses.speed(first, arm) - poses.speed(second, other))
    moment = -d.angular[:, None] * (poses.spin[:, first] - poses.spin[:, second])
    poses.push(F, first, arm, f, moment)
    poses.push(F, second, other, -f, -moment)


def _add_effort(one: JointEffort, t: Complex, poses: Poses, constant: Complex | None, F: Complex) -> None:
    joints, j = one.joints, one.joint
    first, second = joints.body[j, :1], joints.body[j, 1:]
    axes = [
        times(poses.R[:, body, None], joints.frame[j, side][None])
        for side, body in enumerate((first, second))
    ]
    arms = poses.arm(first, joints.point[j, 0]), poses.arm(second, joints.point[j, 1])
    between = poses.x[:, first] + arms[0] - poses.x[:, second] - arms[1]
    if joints.kind[j] == JointKind.DISTANCE:
        square = dot(between, between)
        far = np.where(square.real > 0.0, np.sqrt(square), 1.0)
        axis = between / far[..., None]
    else:
        axis = axes[1][:, :, 0]
    if constant is None:
        arguments = _coordinate(joints, j, one.column, poses, axes, arms, between, axis)
        effort = _of_function(one.effort, [t, *arguments])[:, None]
    else:
        effort = constant[:, None]
    along = effort[..., None] * axis
    none = np.zeros_like(along)
    f, moment = (none, along) if one.column == TURNING else (along, none)
    at = poses.x[:, first] + arms[0]
    poses.push(F, first, arms[0], f, moment)
    poses.push(F, second, at - poses.x[:, second], -f, -moment)


def _coordinate(
    joints: Joints, j: int, column: int, poses: Poses, axes: list[Complex], arms: tuple[Complex, Complex],
    between: Complex, axis: Complex,
) -> tuple[Complex, Complex]:  # fmt: skip
    """Coordinate and rate of a joint, as `mechanics/joint_motion.py` has them, each of shape (k,)."""
    first, second = joints.body[j, :1], joints.body[j, 1:]
    if column == TURNING:
        turned = axes[0][:, 0, 1]
        angle = _arctan2(dot(turned, axes[1][:, 0, 2]), dot(turned, axes[1][:, 0, 1]))
        lower, upper = joints.lower[j, TURNING], joints.upper[j, TURNING]
        if np.isfinite(upper - lower):
            angle = angle + TURN * np.floor((0.5 * (lower + upper) - angle.real) / TURN + 0.5)
        return angle, dot(poses.spin[:, first] - poses.spin[:, second], axes[1][:, :, 0])[:, 0]
    rate = poses.speed(first, arms[0]) - poses.speed(second, arms[1])
    if joints.kind[j] != JointKind.DISTANCE:
        rate = rate - cross(poses.spin[:, second], between)
    return dot(axis, between)[:, 0], dot(axis, rate)[:, 0]


def _arctan2(sine: Complex, cosine: Complex) -> Complex:
    """The angle of (cosine, sine); NumPy has it for real numbers alone."""
    change = (cosine.real * sine.imag - sine.real * cosine.imag) / (cosine.real**2 + sine.real**2)
    return np.arctan2(sine.real, cosine.real) + 1j * change


def _add_written(one: WrittenForce, t: Complex, poses: Poses, F: Complex) -> None:
    i = np.array([one.point.body])
    b = one.point.body
    arm = poses.arm(i, one.point.local)
    arguments = [t, poses.x[:, b], poses.q[:, b, 3:], poses.v[:, b, :3], poses.spin[:, b]]
    f, moment = (
        np.zeros((1, 3), complex) if given is None else _of_function(given, arguments)
        for given in (one.force, one.moment)
    )
    k = F.shape[0]
    poses.push(F, i, arm, np.broadcast_to(f[:, None], (k, 1, 3)), np.broadcast_to(moment[:, None], (k, 1, 3)))


def _of_function(given: Written, arguments: list[Complex]) -> Complex:
    """Its value along the directions, shape (k, *shape); quaternions are the arguments with four numbers."""
    if given.constant is not None:
        return given.constant[None].astype(complex)
    real = [argument[0].real.copy() for argument in arguments]
    k = max(len(argument) for argument in arguments)
    value = np.asarray(_call(given, real), float)
    imag = np.zeros((k, *value.shape))
    for a, argument in enumerate(arguments):
        ways = rates(real[a]).T if real[a].shape == (4,) else np.eye(real[a].size)
        change = argument.imag.reshape(len(argument), -1)
        if not change.any():
            continue
        weight = 4.0 if real[a].shape == (4,) else 1.0
        for way in ways:
            slope = central(lambda x, a=a: _call(given, [*real[:a], x, *real[a + 1 :]]), real[a], way)  # type: ignore[misc]
            imag = imag + np.multiply.outer(weight * (change @ way), slope)
    result: Complex = value + 1j * imag
    return result


def central(function: Callable[[Array], Array], x: Array, way: Array) -> Array:
    """Derivative of a user's function along `way`, by a central difference."""
    step = RELATIVE * max(1.0, float(np.abs(x).max(initial=0.0)))
    one, other = (x + side * step * way.reshape(x.shape) for side in (1.0, -1.0))
    if x.shape == (4,):
        one, other = one / np.sqrt(one @ one), other / np.sqrt(other @ other)
    return (np.asarray(function(one)) - np.asarray(function(other))) / (2.0 * step)


def _call(given: Written, arguments: list[Array]) -> Array:
    t, *others = (float(x) if x.ndim == 0 else x for x in arguments)
    return np.asarray(given(float(t), *others), np.float64)
