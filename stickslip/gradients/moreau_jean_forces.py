"""Forces of a world along directions: springs, dampers, actuators, users' forces and wrenches.

Users' functions are the one thing here that is not differentiated exactly: by central differences of the
function alone, in its own arguments; of p in the three directions in which a body turns.
"""

from collections.abc import Callable

import numpy as np

from stickslip.gradients.moreau_jean_inputs import Complex
from stickslip.gradients.moreau_jean_motion import each
from stickslip.kernels.bodies.springs import add_dampers, add_springs
from stickslip.mechanics.actuators import Actuators
from stickslip.mechanics.world import World
from stickslip.mechanics.written_forces import Written, WrittenForce
from stickslip.rotations import conjugate, cross, rates, turned
from stickslip.state import Array

RELATIVE = 6e-6
"""Step of a central difference, relative to what is changed or to 1: the cube root of rounding."""


def forces_along(
    world: World, t: Complex, q: Complex, v: Complex, effort: Complex, wrench: Complex
) -> Complex:
    """All forces but gravity, inertial, and moments in body frames [N, N m], shape (k, n, 6).

    t [s], shape (k,); effort of the actuators with a constant one, shape (k, na); wrench, shape (k, n, 6).
    """
    forces = world.forces
    if not (len(forces) or wrench.any()):
        return np.zeros((1, *wrench.shape[1:]))
    k, n = max(len(x) for x in (t, q, v, effort, wrench)), q.shape[1]
    q, v = (np.array(np.broadcast_to(x, (k, *x.shape[1:])), complex) for x in (q, v))
    F: Complex = np.zeros((k, n, 6), complex)
    s, d, a = forces.springs, forces.dampers, forces.actuators
    effort = _efforts(a, t, q, v, effort)
    for place, speed, value, to in each(q.reshape(k, -1), v.reshape(k, -1), effort, F):
        if s is not None:
            add_springs(s.body, s.point, s.stiffness, s.length, s.damping, place, speed, to, to)
        if d is not None:
            add_dampers(d.body, d.point, d.linear, d.angular, place, speed, to)
        if a is not None:
            a.add(value, place, to)
    for one in forces.written:
        if isinstance(one, WrittenForce):
            _add_written(one, t, q, v, F)
    F[:, :, :3] += wrench[:, :, :3]
    F[:, :, 3:] += turned(conjugate(q[..., 3:]), wrench[:, :, 3:])
    return F


def _efforts(actuators: Actuators | None, t: Complex, q: Complex, v: Complex, constant: Complex) -> Complex:
    """Of all actuators [N, N m], shape (k, number)."""
    if actuators is None:
        return np.zeros((1, 0), complex)
    inputs, k = iter(range(constant.shape[1])), len(q)
    out = np.empty((k, len(actuators.effort)), complex)
    for number, effort in enumerate(actuators.effort):
        if effort.constant is not None:
            out[:, number] = constant[:, next(inputs)]
        else:
            found = [actuators.coordinate(number, *at) for at in each(q.reshape(k, -1), v.reshape(k, -1))]
            out[:, number] = _of_function(effort, [t, *np.array(found).T])
    return out


def _add_written(one: WrittenForce, t: Complex, q: Complex, v: Complex, F: Complex) -> None:
    b = one.point.body
    p, spin = q[:, b, 3:], turned(q[:, b, 3:], v[:, b, 3:])
    arguments = [t, q[:, b, :3], p, v[:, b, :3], spin]
    f, moment = (
        np.zeros((1, 3), complex) if given is None else _of_function(given, arguments)
        for given in (one.force, one.moment)
    )
    F[:, b, :3] += f
    F[:, b, 3:] += turned(conjugate(p), moment + cross(turned(p, one.point.local), f))


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
