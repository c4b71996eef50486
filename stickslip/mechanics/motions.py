"""Motions of kinematic bodies: velocities prescribed in time, whatever pushes against them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stickslip.mechanics.functions import called
from stickslip.mechanics.given import numbers
from stickslip.rotations import matrices
from stickslip.state import Array, ModelError

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

    def prescribe(self, t: float, q: Array, v: Array) -> None:
        """Write the velocities at time t of the kinematic bodies, whose orientations are in q, into v.

        A number that is not finite is a ModelError that names the body and t.
        """
        for name, body, motion in zip(self.names, self.body, self.motions, strict=True):
            velocity, spin = velocities(f"body {name!r}", motion, t)
            v[6 * body : 6 * body + 3] = velocity
            v[6 * body + 3 : 6 * body + 6] = spin @ matrices(q[7 * body + 3 : 7 * body + 7])

    def __len__(self) -> int:
        return len(self.names)
