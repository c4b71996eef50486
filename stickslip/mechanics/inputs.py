"""Inputs of a world: values that may be set between steps.

`Input(default)` is given in place of a constant: as the effort of an actuator, the force or moment of a
`BodyForce`, or the motion of a kinematic body. In a given world an input is a constant, initially its
default;
`with_inputs` returns the world with other values.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip.mechanics.given import numbers
from stickslip.names import LISTED, alternatives
from stickslip.state import Array, ModelError, UnknownNameError

if TYPE_CHECKING:
    from stickslip.mechanics.forces import Forces
    from stickslip.mechanics.motions import Motions
    from stickslip.mechanics.world import World

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Input:
    """Number or vector that is set between steps.

    Example:

        b = ss.WorldBuilder()
        b.body("wheel", ss.Cylinder(0.1, 0.02), position=(0, 0, 0))
        b.joint("axle", "hinge", "wheel", point=(0, 0, 0), axis=(0, 0, 1))
        b.force(ss.forces.Actuator("motor", "axle", ss.forces.Input(0.0)))
        live = ss.live(b.build(), h=1e-2)
        live.inputs["motor"] = 0.2
        live.step()
    """

    default: ArrayLike | None = None
    """Value until it is set [unit of the field], shape of the field; None: 0."""

    def value(self, owner: str, field: str, shape: tuple[int, ...]) -> Array:
        """Return the default value, checked for its shape."""
        return numbers(owner, field, np.zeros(shape) if self.default is None else self.default, shape)


@dataclass(frozen=True, eq=False)
class DeclaredInput:
    """Description of an input of a world: name, unit and default."""

    name: str
    """Name of the force or of the kinematic body."""
    unit: str
    """Units of the numbers, in their order."""
    default: Array
    """Default value [`unit`], shape () for an actuator, (3,) or (6,) for a force, (6,) for a motion: velocity
    and
    spin in the inertial frame."""
    force: int = -1
    """Number of its force in `Forces.written`; -1: it is a motion."""
    motion: int = -1
    """Number of its motion in `Motions`; -1: it is a force."""


def declared_inputs(forces: "Forces", motions: "Motions") -> dict[str, DeclaredInput]:
    """Return the inputs of a world by name: those of forces in order, then those of motions."""
    inputs: dict[str, DeclaredInput] = {}
    for one in _declared(forces, motions):
        if one.name in inputs:
            raise ModelError(
                f"input {one.name!r}: a force and a kinematic body have the same name; rename one of them"
            )
        inputs[one.name] = one
    return inputs


def _declared(forces: "Forces", motions: "Motions") -> Iterable[DeclaredInput]:
    for k, force in enumerate(forces.written):
        if inputs := force.inputs:
            unit = ", ".join(one.unit for one in inputs)
            constants = [one.constant for one in inputs if one.constant is not None]
            yield DeclaredInput(
                force.name, unit, constants[0] if len(constants) == 1 else np.concatenate(constants), force=k
            )
    for k, (name, motion) in enumerate(zip(motions.names, motions.motions, strict=True)):
        if isinstance(motion, Input):
            default = motion.value(f"body {name!r}", "motion", (6,))
            yield DeclaredInput(name, "m/s, rad/s", default, motion=k)


def with_inputs(world: "World", values: Mapping[str, ArrayLike]) -> "World":
    """Return the world with these values of inputs, by name; other inputs are unchanged."""
    forces: dict[int, Array] = {}
    motions: dict[int, Array] = {}
    for name, argument in values.items():
        declared = world.inputs.get(name)
        if declared is None:
            known = alternatives(name, world.inputs, most=LISTED) if world.inputs else "this world has none"
            raise UnknownNameError(f"unknown input {name!r}; {known}")
        value = numbers(f"input {name!r}", "its value", argument, declared.default.shape)
        (forces if declared.force >= 0 else motions)[max(declared.force, declared.motion)] = value
    copied = changed(world)
    if forces:
        copied.__dict__["forces"] = world.forces.with_values(forces)
    if motions:
        copied.__dict__["motions"] = world.motions.with_values(motions)
    return copied


def changed(value: T, **fields: Any) -> T:
    """Return a copy of a frozen dataclass with other values of some fields, without checks.

    Cached properties are copied too.
    """
    copied = object.__new__(type(value))
    copied.__dict__.update(value.__dict__, **fields)
    return copied
