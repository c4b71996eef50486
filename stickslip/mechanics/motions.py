"""Motions of kinematic bodies: velocities prescribed in time, whatever pushes against them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stickslip.kernels.bodies import motion as kernels
from stickslip.mechanics.given import called, numbers
from stickslip.state import Array, IntArray, ModelError

Motion = Callable[[float], Any] | tuple[Any, Any]
"""t -> (velocity, spin), or such a pair that does not change; in the inertial frame [m/s, rad/s]."""


def velocities(owner: str, motion: Motion, t: float) -> tuple[Array, Array]:
    """(velocity, spin) at t in the inertial frame; a ModelError names the body and t."""
    pair = called(owner, "motion", motion, (t,), t) if callable(motion) else motion
    when = f"{owner} at t = {t:.9g} s"
    try:
        velocity, spin = pair
    except (TypeError, ValueError):
        raise ModelError(f"{when}: motion is {pair!r}; give a pair (velocity, spin)") from None
    return numbers(when, "velocity of motion", velocity, (3,)), numbers(when, "spin of motion", spin, (3,))


@dataclass(frozen=True, eq=False)
class Motions:
    """The motions of all kinematic bodies of a world."""

    names: tuple[str, ...] = ()
    """Of the bodies."""
    body: tuple[int, ...] = ()
    """Numbers of the bodies."""
    motions: tuple[Motion, ...] = ()
    """What each was given."""

    def values(self, t: float) -> Array:
        """Velocities and spins of all at time t, inertial [m/s, rad/s], shape (k, 6).

        A number that is not finite is a ModelError that names the body and t.
        """
        out = np.empty((len(self.names), 6))
        for k, (name, motion) in enumerate(zip(self.names, self.motions, strict=True)):
            out[k, :3], out[k, 3:] = velocities(f"body {name!r}", motion, t)
        return out

    def prescribe(self, t: float, q: Array, v: Array) -> None:
        """Write the velocities at time t of the kinematic bodies, whose orientations are in q, into v."""
        kernels.prescribe(self.numbers, self.values(t), q, v)

    @cached_property
    def numbers(self) -> IntArray:
        """Of the bodies [-], shape (k,)."""
        return np.array(self.body, np.int64)

    def __len__(self) -> int:
        return len(self.names)
