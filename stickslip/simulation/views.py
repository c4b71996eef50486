"""Views of a trajectory by name: one system, one interaction, one body."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from stickslip.state import Array, BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class SystemView:
    """One system of a trajectory."""

    name: str
    q: Array
    """Coordinates, or states x in first order [m, rad, or any], shape (n, nq)."""
    v: Array
    """Velocities [m/s, rad/s], shape (n, nv)."""
    z: Array
    """Discrete parameters [any], shape (n, nz)."""
    integrated: bool = False
    """Whether it is a first-order system that a coupling joins with others: v is its x, and q the
    integral."""

    @property
    def x(self) -> Array:
        """States of a first-order system [any], shape (n, nx)."""
        return self.v if self.integrated else self.q


@dataclass(frozen=True, eq=False)
class InteractionView:
    """One interaction of a trajectory."""

    name: str
    u: Array
    """Variable that the law constrains: ẏ [m/s], or y [m] at position level, shape (n, m)."""
    y: Array
    """Outputs: gaps [m] come first in a contact, shape (n, m)."""
    active: BoolArray
    """Whether a block entered a problem [-], shape (n, blocks), bool."""
    states: np.ndarray
    """State of each block, by name [-], shape (n, blocks), text."""
    tell: Callable[[], tuple[Array, IntArray]] = field(repr=False)
    """Function that returns `r` and its choice, on access."""

    @property
    def r(self) -> Array:
        """Impulses since the previous record [N s], or values lam in first order, shape (n, m); those of
        least norm if they are not unique."""
        return self.tell()[0]

    @property
    def unique(self) -> BoolArray:
        """Whether the impulse of a block is known to be the same in every certified solution [-], shape
        (n, blocks), bool."""
        return np.asarray(self.tell()[1] == 1)


@dataclass(frozen=True, eq=False)
class BodyView:
    """One body of a trajectory, in the frame in which the user gave its shape."""

    name: str
    position: Array
    """Position of the origin of the user's frame [m], shape (n, 3)."""
    quaternion: Array
    """Orientation, scalar first [-], shape (n, 4)."""
    velocity: Array
    """Velocity of the origin of the user's frame, inertial frame [m/s], shape (n, 3)."""
    spin: Array
    """Angular velocity, inertial frame [rad/s], shape (n, 3)."""
    centre: Array
    """Position of the centre of mass [m], shape (n, 3)."""
    centre_velocity: Array
    """Velocity of the centre of mass, inertial frame [m/s], shape (n, 3)."""
