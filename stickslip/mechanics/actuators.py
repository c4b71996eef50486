"""The actuators of a world: efforts along and about joints, all in one call."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.kernels.bodies.joints import add_efforts
from stickslip.mechanics.joint_motion import coordinate
from stickslip.mechanics.joints import Joints
from stickslip.mechanics.written_forces import JointEffort, Written, WrittenForce
from stickslip.state import Array, IntArray


@dataclass(frozen=True, eq=False)
class Actuators:
    """Actuators, each at a coordinate of a joint."""

    joints: Joints
    joint: IntArray
    """[-], shape (k,)."""
    column: IntArray
    """Which coordinate: sliding or turning [-], shape (k,)."""
    effort: tuple[Written, ...]
    constant: Array
    """Constant efforts; others are not a number [N, N m], shape (k,)."""

    @classmethod
    def of(cls, written: Iterable[JointEffort | WrittenForce]) -> "Actuators | None":
        """Those among actuators and users' forces; None without any."""
        found = [one for one in written if isinstance(one, JointEffort)]
        if not found:
            return None
        constant = [np.nan if one.effort.constant is None else float(one.effort.constant) for one in found]
        return cls(
            found[0].joints, np.array([one.joint for one in found]), np.array([one.column for one in found]),
            tuple(one.effort for one in found), np.array(constant),
        )  # fmt: skip

    def coordinate(self, k: int, q: Any, v: Any) -> tuple[Any, Any]:
        """Coordinate and rate of actuator k [m, m/s or rad, rad/s]."""
        return coordinate(self.joints, int(self.joint[k]), int(self.column[k]), q, v)

    def values(self, t: float, q: Array, v: Array) -> Array:
        """All efforts at a state [N, N m], shape (k,)."""
        out = self.constant.copy()
        for k in np.flatnonzero(np.isnan(out)).tolist():
            out[k] = float(self.effort[k](t, *self.coordinate(k, q, v)))
        return out

    def add(self, effort: Any, q: Any, F: Any) -> None:
        """F (n, 6) <- F + wrenches of efforts (k,) at q (7 n,), real or complex."""
        add_efforts(self.joints.arrays, self.joint, self.column, effort, q, F)
