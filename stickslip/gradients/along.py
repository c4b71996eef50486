"""Complex-step differentiation of a world: inputs of a step, free motion, forces and prescribed motions.

A smooth function satisfies f(x + i ε d) = f(x) + i ε f'(x) d to rounding if ε² is below rounding: the real
part
is the value and the imaginary part the derivative, without cancellation (Squire & Trapp 1998). Kernels of
steps
take complex numbers, and are differentiated by calling them. The first axis of arrays has k directions, or
length 1 for values that do not change.

Users' functions are differentiated by central differences in their own arguments; for a quaternion p, in the
three directions of rotation.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.kernels.bodies.springs import add_dampers, add_springs
from stickslip.kernels.derivatives import along as kernels
from stickslip.laws import COEFFICIENTS
from stickslip.mechanics.motions import velocities
from stickslip.mechanics.parameters import SYMMETRIC
from stickslip.mechanics.world import World
from stickslip.mechanics.written_forces import Actuators, Written, WrittenForce
from stickslip.rotations import conjugate, cross, rates, turned
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory
from stickslip.state import Array, IntArray, State

Complex = NDArray[Any]
"""Array of complex numbers, or of real numbers if nothing changes."""
EPSILON = 1e-30
"""Step of complex differentiation: imaginary part of a unit change [-]."""
RELATIVE = 6e-6
"""Step of central differences relative to max(1, |x|) [-]: the cube root of machine precision."""


@dataclass(frozen=True, eq=False, slots=True)
class Inputs:
    """Inputs of a step along directions: state, memory, length of the step and parameters."""

    k: int
    """Number of directions."""
    q: Complex
    """Coordinates at the start [m, -], shape (k, n, 7)."""
    v: Complex
    """Velocities at the start [m/s, rad/s], shape (k, n, 6)."""
    v_end: Complex
    """Changes of the velocities of dynamic bodies at the end, which are unknowns of the step [m/s, rad/s],
    shape (k, n, 6)."""
    h: Complex
    """Length of the step [s], shape (k,)."""
    h_before: Complex
    """Length of the previous step [s], shape (k,)."""
    approach: Complex
    """Approach speeds of contacts that closed in the previous step [m/s], shape (k, any)."""
    joint_approach: Complex
    """Approach speeds of stops that closed in the previous step [m/s, rad/s], shape (k, any)."""
    gravity: Complex
    """Gravity [m/s²], shape (k, 3)."""
    mass: Complex
    """Masses [kg], shape (k, n)."""
    J: Complex
    """Inertia in body frames [kg m²], shape (k, n, 3, 3)."""
    law: Complex
    """mu, mu_roll, mu_spin, e of each pair of materials [-, m, m, -], shape (k, pairs, 4)."""
    size: Complex
    """Lengths of shapes, as `Parameters.size` [m], shape (k, lengths)."""
    place: Complex
    """Positions of shapes, as `Parameters.place` [m], shape (k, shapes, 3)."""
    effort: Complex
    """Constant efforts of actuators [N, N m], shape (k, actuators)."""
    wrench: Complex
    """Constant wrenches on bodies [N, N m], shape (k, n, 6)."""


def inputs_of(prepared: PreparedWorld, state: State, memory: Memory, h: float) -> Inputs:
    """Return the inputs of a step, without changes."""
    world, parameters, none = prepared.world, prepared.parameters, np.zeros(0)
    n = len(world.names)
    values = (
        state.q.reshape(n, 7), state.v.reshape(n, 6), np.zeros((n, 6)), np.array(h),
        np.array(memory.get("h", [0.0])[0]), memory.get("approach", none), memory.get("joint_approach", none),
        parameters.gravity, parameters.mass, world.inertia, parameters.law, parameters.size,
        parameters.place, parameters.effort, parameters.wrench,
    )  # fmt: skip
    return Inputs(1, *(value[None].astype(complex) for value in values))


def inputs_along(base: Inputs, tangents: Mapping[str, Array]) -> Inputs:
    """Return the inputs with changes by the columns of `tangents`, each (size, k)."""
    k = max((t.shape[1] for t in tangents.values()), default=1)
    changed_fields: dict[str, Any] = {}
    for name, tangent in tangents.items():
        way = tangent.T
        if name == "q":
            six, p = way.reshape(k, -1, 6) if way.size else np.zeros((k, 0, 6)), base.q[0, :, 3:].real
            turn = np.einsum("nij,knj->kni", rates(p), six[:, :, 3:])
            way = np.concatenate([six[:, :, :3], turn], axis=2)
        elif name == "inertia":
            six = way.reshape(k, base.mass.shape[1], 6)
            name, way = "J", np.empty((k, base.mass.shape[1], 3, 3))
            for c, (i, j) in enumerate(SYMMETRIC):
                way[:, :, i, j] = way[:, :, j, i] = six[:, :, c]
        elif name in COEFFICIENTS:
            change, way = way, np.zeros((k, *base.law.shape[1:]))
            way[:, :, COEFFICIENTS.index(name)] = change
            changed_fields["law"] = changed_fields.get("law", base.law) + 1j * EPSILON * way
            continue
        value: Complex = getattr(base, name)
        changed_fields[name] = np.ascontiguousarray(value + 1j * EPSILON * way.reshape(k, *value.shape[1:]))
    return replace(base, k=k, **changed_fields)


def changes(x: Complex, k: int) -> Array:
    """Return the change of x along each direction, shape (k, ...)."""
    change = x.imag / EPSILON
    return change if len(change) == k else np.broadcast_to(change, (k, *x.shape[1:]))


def displacements(q: Complex, k: int) -> Array:
    """Return the changes of coordinates q, shape (k, n, 7), as displacements, shape (k, n, 6)."""
    out = np.empty((len(q), q.shape[1], 6))
    kernels.displacements(q, EPSILON, out)
    return out if len(out) == k else np.broadcast_to(out, (k, *out.shape[1:]))


def over_sides(rows: Complex, sides: IntArray, v: Complex) -> Complex:
    """Return rows times the velocities of their sides, shape (k, p); the inertial frame has velocity 0."""
    out = np.empty((max(len(rows), len(v)), rows.shape[1]), v.dtype)
    kernels.rates(rows, sides, v, out)
    return out


def joined(*parts: Complex) -> Complex:
    """Concatenate parts along their second axis."""
    k = max(len(part) for part in parts)
    return np.concatenate([np.broadcast_to(x, (k, *x.shape[1:])) for x in parts], axis=1)


def each(*arrays: Complex) -> Iterator[tuple[Complex, ...]]:
    """Iterate over the directions of arrays; arrays with a first axis of length 1 are repeated."""
    for d in range(max(len(x) for x in arrays)):
        yield tuple(x[d if len(x) > 1 else 0] for x in arrays)


def moved(q: Complex, v: Complex, h: Complex) -> Complex:
    """Return q moved by h v, shape (k, n, 7); h has shape (k,)."""
    out = np.empty((max(len(q), len(v), len(h)), *q.shape[1:]), complex)
    kernels.moved(q, v, h, out)
    return out


def freely(
    row: IntArray, J: Complex, J_inverse: Complex, q: Complex, v: Complex, h: Complex
) -> tuple[Complex, Complex]:
    """Return q and v of all bodies after free motion of the dynamic bodies over a time h [s], shape (k,)."""
    k, n = max(len(x) for x in (q, v, h, J)), q.shape[1]
    q_end, v_end = np.empty((k, n, 7), complex), np.empty((k, n, 6), complex)
    kernels.freely(row, J, J_inverse, q, v, h, q_end, v_end)
    return q_end, v_end


def prescribe(world: World, t: Complex, q: Complex, v: Complex) -> None:
    """Write the velocities of kinematic bodies at times t into v; derivatives by t are differences.

    q holds the orientations of the bodies.
    """
    for name, body, motion in zip(
        world.motions.names, world.motions.body, world.motions.motions, strict=True
    ):
        when = np.asarray(t[0].real)

        def both(at: Array, name: str = name, motion: Any = motion) -> Array:
            return np.stack(velocities(f"body {name!r}", motion, float(at)))

        value = both(when)[None].astype(complex)
        if callable(motion) and t.imag.any():
            value = value + 1j * t.imag[:, None, None] * central(both, when, np.ones(1))
        v[:, body, :3] = value[:, 0]
        v[:, body, 3:] = turned(conjugate(q[:, body, 3:]), value[:, 1])


def forces_along(world: World, given: Inputs, t: Complex, q: Complex, v: Complex) -> Complex:
    """Return forces in the inertial frame, without gravity, and moments in body frames [N, N m], shape
    (k, n, 6), at times t [s], shape (k,)."""
    forces, effort, wrench = world.forces, given.effort, given.wrench
    if not (len(forces) or wrench.any()):
        return np.zeros((1, *wrench.shape[1:]), complex)
    k, n = max(len(x) for x in (t, q, v, effort, wrench)), q.shape[1]
    q, v = (np.array(np.broadcast_to(x, (k, *x.shape[1:]))) for x in (q, v))
    F: Complex = np.zeros((k, n, 6), complex)
    s, d, a = forces.springs, forces.dampers, forces.actuators
    effort = _efforts(a, t, q, v, effort)
    for place, speed, value, to in each(q.reshape(k, -1), v.reshape(k, -1), effort, F):
        if s is not None:
            add_springs(forces.arrays.springs, place, speed, to, to)
        if d is not None:
            add_dampers(forces.arrays.dampers, place, speed, to)
        if a is not None:
            a.add(value, place, to)
    for one in forces.written:
        if isinstance(one, WrittenForce):
            _add_written(one, t, q, v, F)
    F[:, :, :3] += wrench[:, :, :3]
    F[:, :, 3:] += turned(conjugate(q[..., 3:]), wrench[:, :, 3:])
    return F


def _efforts(actuators: Actuators | None, t: Complex, q: Complex, v: Complex, constant: Complex) -> Complex:
    """Return the efforts of all actuators [N, N m], shape (k, number)."""
    if actuators is None:
        return np.zeros((1, 0), complex)
    inputs, k = iter(range(constant.shape[1])), len(q)
    out = np.empty((k, len(actuators.effort)), complex)
    for number, effort in enumerate(actuators.effort):
        if effort.constant is not None:
            out[:, number] = constant[:, next(inputs)]
        else:
            coordinates = [
                actuators.coordinate(number, *at) for at in each(q.reshape(k, -1), v.reshape(k, -1))
            ]
            out[:, number] = _of_function(effort, [t, *np.array(coordinates).T])
    return out


def _add_written(one: WrittenForce, t: Complex, q: Complex, v: Complex, F: Complex) -> None:
    b = one.point.body
    p, spin = q[:, b, 3:], turned(q[:, b, 3:], v[:, b, 3:])
    arguments = [t, q[:, b, :3], p, v[:, b, :3], spin]
    f, moment = (
        np.zeros((1, 3), complex) if function is None else _of_function(function, arguments)
        for function in (one.force, one.moment)
    )
    F[:, b, :3] += f
    F[:, b, 3:] += turned(conjugate(p), moment + cross(turned(p, one.point.local), f))


def _of_function(given: Written, arguments: list[Complex]) -> Complex:
    """Return the value of a user's function along the directions, shape (k, *shape).

    Arguments with four numbers are quaternions.
    """
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
    """Return the derivative of a user's function along the direction `way`, by a central difference."""
    step = RELATIVE * max(1.0, float(np.abs(x).max(initial=0.0)))
    one, other = (x + side * step * way.reshape(x.shape) for side in (1.0, -1.0))
    if x.shape == (4,):
        one, other = one / np.sqrt(one @ one), other / np.sqrt(other @ other)
    return (np.asarray(function(one)) - np.asarray(function(other))) / (2.0 * step)


def _call(given: Written, arguments: list[Array]) -> Array:
    t, *others = (float(x) if x.ndim == 0 else x for x in arguments)
    return np.asarray(given(float(t), *others), np.float64)
