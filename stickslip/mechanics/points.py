"""Points fixed to bodies, given in the inertial frame at the start."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from stickslip.mechanics.given import numbers
from stickslip.rotations import cross, matrices
from stickslip.state import Array, ModelError, UnknownNameError

if TYPE_CHECKING:
    from stickslip.mechanics.world import World


@dataclass(frozen=True, eq=False, slots=True)
class Point:
    """A point fixed to a body."""

    body: int
    """Index of the body; -1 for the inertial frame."""
    local: Array
    """Position in the frame of the body [m], shape (3,)."""

    def position(self, q: Array) -> Array:
        """Position in the inertial frame [m], shape (3,)."""
        if self.body < 0:
            return self.local
        x, p = q[7 * self.body : 7 * self.body + 3], q[7 * self.body + 3 : 7 * self.body + 7]
        return x + matrices(p) @ self.local

    def velocity(self, q: Array, v: Array) -> Array:
        """Velocity in the inertial frame [m/s], shape (3,)."""
        if self.body < 0:
            return np.zeros(3)
        R = matrices(q[7 * self.body + 3 : 7 * self.body + 7])
        omega = v[6 * self.body + 3 : 6 * self.body + 6]
        return v[6 * self.body : 6 * self.body + 3] + R @ cross(omega, self.local)


def bind_point(owner: str, world: "World", body: str | None, field: str, given: ArrayLike | None) -> Point:
    """Return the point of a body that is at the inertial position `given` at the start; by default the centre
    of
    mass."""
    if body is None:
        if given is None:
            raise ModelError(f"{owner}: {field} is missing; the inertial frame has no centre of mass")
        return Point(-1, numbers(owner, field, given, (3,)))
    i = number_of(owner, world, body)
    if given is None:
        return Point(i, np.zeros(3))
    x, p = world.start.q[7 * i : 7 * i + 3], world.start.q[7 * i + 3 : 7 * i + 7]
    return Point(i, (numbers(owner, field, given, (3,)) - x) @ matrices(p))


def number_of(owner: str, world: "World", body: str) -> int:
    """Return the index of a body; raise a ModelError for an unknown name."""
    try:
        return world.body(body)
    except UnknownNameError as error:
        raise ModelError(f"{owner}: {error}") from None
