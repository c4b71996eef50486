"""Joints between bodies, as arrays: what they hold, their stops, and their dry friction."""

from dataclasses import dataclass
from enum import IntEnum

from stickslip.kernels.bodies.layout import JointArrays
from stickslip.state import Array, IntArray


class JointKind(IntEnum):
    """What a joint leaves free."""

    FIXED = 0
    """Nothing."""
    BALL = 1
    """Rotation."""
    HINGE = 2
    """Rotation about its axis."""
    SLIDER = 3
    """Sliding along its axis."""
    CYLINDRICAL = 4
    """Sliding along its axis and rotation about it."""
    DISTANCE = 5
    """All but the distance of its two points."""


@dataclass(frozen=True, eq=False)
class Joints:
    """All joints of a world. A joint to the inertial frame has second body -1, whose frame is inertial."""

    names: tuple[str, ...]
    kind: IntArray
    """`JointKind` of each [-], shape (nj,)."""
    body: IntArray
    """First and second body [-], shape (nj, 2)."""
    point: Array
    """Its point in the frame of either body [m], shape (nj, 2, 3)."""
    frame: Array
    """Rows: axis and two more, right-handed, in the frame of either body; alike at the start [-],
    shape (nj, 2, 3, 3)."""
    length: Array
    """Of distance joints at the start [m], shape (nj,)."""
    lower: Array
    """Lower stops of sliding (for a distance joint its length) [m] and of the angle [rad], shape (nj, 2);
    -inf for none."""
    upper: Array
    """Upper stops, as `lower` [m, rad], shape (nj, 2); inf for none."""
    friction: Array
    """Dry friction against sliding [N] and against turning [N m], shape (nj, 2)."""
    e: Array
    """Restitution of the stops [-], shape (nj,)."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def arrays(self) -> JointArrays:
        """The joints as kernels take them."""
        return JointArrays(
            self.kind, self.body, self.point, self.frame, self.length, self.lower, self.upper, self.friction,
            self.e,
        )  # fmt: skip
