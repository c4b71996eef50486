"""Families of systems that depend on parameters: masses, lengths, stiffnesses."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems.system import NonsmoothSystem


class Family:
    """Family of systems that depend on numbers: `Family(make, length=1.0, masses=[1.0, 2.0])`.

    `make(length=..., masses=...)` receives the numbers as floats or arrays, and returns a `NonsmoothSystem`,
    always with the same systems and interactions. Derivatives with respect to these numbers are those of the
    step; the start of a run is a separate input.

    Example:

        def pendulum(length):
            rod = ss.Lagrangian("rod", M=length**2, q0=1.0, F_int=lambda q: 9.81 * length * np.sin(q))
            return ss.NonsmoothSystem([rod])


        family = ss.systems.Family(pendulum, length=0.5)
        print(family)
    """

    def __init__(self, make: Callable[..., NonsmoothSystem], **numbers: ArrayLike):
        if not callable(make):
            raise ModelError(
                f"make is {make!r}; expected a function of numbers that returns a NonsmoothSystem"
            )
        if not numbers:
            raise ModelError("a family needs at least one number: Family(make, length=1.0)")
        self.make = make
        self.numbers: dict[str, Array] = {name: _numbers(name, value) for name, value in numbers.items()}
        """Numbers at which the family is differentiated, by name [any]."""
        self.system = self._make(self.numbers)
        """System of the family at these numbers."""

    def at(self, numbers: Mapping[str, Array]) -> NonsmoothSystem:
        """Return the system at these numbers; numbers that are not given have the values of the family."""
        if all(np.array_equal(value, self.numbers[name].ravel()) for name, value in numbers.items()):
            return self.system
        arguments = {
            name: np.asarray(numbers[name], float).reshape(default.shape) if name in numbers else default
            for name, default in self.numbers.items()
        }
        return self._checked(self._make(arguments))

    def _make(self, numbers: Mapping[str, Array]) -> NonsmoothSystem:
        arguments = {name: value if value.ndim else float(value) for name, value in numbers.items()}
        system = self.make(**arguments)
        if not isinstance(system, NonsmoothSystem):
            raise ModelError(f"make returns {type(system).__name__}; it must return a NonsmoothSystem")
        return system

    def _checked(self, system: NonsmoothSystem) -> NonsmoothSystem:
        if _layout(system) != _layout(self.system):
            raise ModelError(
                "make returns systems or interactions whose names or sizes depend on the numbers"
            )
        return system

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value.tolist()}" for name, value in self.numbers.items())
        return f"Family({getattr(self.make, '__name__', 'make')}, {arguments})"


def _layout(system: NonsmoothSystem) -> list[tuple[object, ...]]:
    sizes = [(one.name, one.start.q.size, one.start.v.size, one.start.z.size) for one in system.systems]
    return [*sizes, *((one.name, one.systems, one.law.size, len(one.law.K)) for one in system.interactions)]


def _numbers(name: str, value: ArrayLike) -> Array:
    try:
        array = np.array(value, float)
    except (TypeError, ValueError):
        raise ModelError(f"{name} is {value!r}; expected a number or an array of numbers") from None
    if not np.isfinite(array).all():
        raise ModelError(f"{name} is not finite: {array}")
    array.flags.writeable = False
    return array
