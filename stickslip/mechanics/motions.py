"""Motions of kinematic bodies: velocities prescribed as functions of time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from stickslip.kernels.bodies import motion as kernels
from stickslip.mechanics.given import called, numbers
from stickslip.mechanics.inputs import Input
from stickslip.state import Array, IntArray, ModelError

Motion = Callable[[float], Any] | tuple[Any, Any] | Input
"""Function t -> (velocity, spin), a constant pair, or an input of six numbers, velocity and spin; in the
inertial
frame [m/s, rad/s]."""


def velocities(owner: str, motion: Motion, t: float) -> tuple[Array, Array]:
    """Return (velocity, spin) at t in the inertial frame; raise a ModelError if it is invalid."""
    if isinstance(motion, Input):
        six = motion.value(owner, "motion", (6,))
        return six[:3], six[3:]
    pair = called(owner, "motion", motion, (t,), t) if callable(motion) else motion
    when = f"{owner} at t = {t:.9g} s"
    try:
        velocity, spin = pair
    except (TypeError, ValueError):
        raise ModelError(f"{when}: motion is {pair!r}; give a pair (velocity, spin)") from None
    return numbers(when, "velocity of motion", velocity, (3,)), numbers(when, "spin of motion", spin, (3,))


@dataclass(frozen=True, eq=False)
class Motions:
    """Motions of all kinematic bodies of a world."""

    names: tuple[str, ...] = ()
    """Names of the bodies."""
    body: tuple[int, ...] = ()
    """Indices of the bodies."""
    motions: tuple[Motion, ...] = ()
    """Motion of each body."""

    def values(self, t: float) -> Array:
        """Return velocities and spins of all bodies at time t, inertial [m/s, rad/s], shape (k, 6).

        Raise a ModelError that names body and t for a non-finite value.
        """
        out = np.empty((len(self.names), 6))
        for k, (name, motion) in enumerate(zip(self.names, self.motions, strict=True)):
            out[k, :3], out[k, 3:] = velocities(f"body {name!r}", motion, t)
        return out

    def prescribe(self, t: float, q: Array, v: Array) -> None:
        """Write the velocities at time t of the kinematic bodies, whose orientations are in q, into v."""
        kernels.prescribe(self.numbers, self.values(t), q, v)

    def with_values(self, values: Mapping[int, Array]) -> "Motions":
        """Return a copy with other values of inputs, by index in `motions` [m/s, rad/s], shape (6,) each."""
        motions = list(self.motions)
        for k, value in values.items():
            motions[k] = Input(value)
        return replace(self, motions=tuple(motions))

    @property
    def written(self) -> bool:
        """Whether any motion is a function."""
        return any(callable(one) for one in self.motions)

    @cached_property
    def numbers(self) -> IntArray:
        """Indices of the bodies [-], shape (k,)."""
        return np.array(self.body, np.int64)

    def __len__(self) -> int:
        return len(self.names)
