"""Base class of bound relations between Newton-Euler bodies: contacts and joints.

An interaction connects one body to the world, or two bodies. A relation computes y and the rows H' of ẏ = H'
v
with angular velocities in the body frames. The rows by q̇ follow from v = L(q) q̇, since L T = I. The rows of
bodies with angular velocities in the inertial frame follow from these by T(q).
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from stickslip import rotations
from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems import derivatives
from stickslip.systems.mechanical_outputs import ByRows
from stickslip.systems.relations import Binding


@dataclass(frozen=True, eq=False)
class Pose:
    """Pose of a body; the world is a body that never moves."""

    x: Array
    """Position of the centre of mass [m], shape (3,)."""
    p: Array
    """Unit quaternion [-], shape (4,)."""
    R: Array
    """Rotation matrix from the body frame to the inertial frame [-], shape (3, 3)."""

    def own(self, point: Array) -> Array:
        """Return a point of the inertial frame in the body frame [m], shape (3,)."""
        return np.asarray(self.R.T @ (point - self.x))


WORLD = Pose(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), np.eye(3))
"""Pose of the world."""


def poses(q: Array) -> tuple[Pose, Pose]:
    """Return the poses of the first and second body; the second is the world if there is one body."""
    first = Pose(q[:3], q[3:7], rotations.matrices(q[3:7]))
    if q.shape[0] == 7:
        return first, WORLD
    return first, Pose(q[7:10], q[10:14], rotations.matrices(q[10:14]))


class BodyOutput(ByRows):
    """Base class of contacts and joints of Newton-Euler bodies; subclasses define y and rows."""

    compliant = False
    constant = False

    def __init__(self, to: Binding, kind: str, sizes: tuple[int, ...]):
        if (to.nq, to.nv) not in ((7, 6), (14, 12)):
            raise ModelError(f"{to.owner}: {kind} connects one or two Newton-Euler bodies")
        if to.law.size not in sizes:
            expectation = " or ".join(str(s) for s in sizes)
            raise ModelError(
                f"{to.owner}: {kind} has {expectation} components, but its law {to.law} has {to.law.size}"
            )
        self.to, self.m, self.single = to, to.law.size, to.nq == 7
        askew = np.tile([0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5], to.nq // 7)
        T = to.kinematics(askew)
        self.inertial = T is not None and not np.allclose(_spins(askew) @ T, np.eye(to.nv))
        """Whether a body has its angular velocity in the inertial frame."""

    @abstractmethod
    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """Outputs [m, rad], shape (m,)."""

    @abstractmethod
    def body_rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """Matrix H' for angular velocities in the body frames [-, m], shape (m, nv)."""

    def rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        if not self.inertial:
            return self.body_rows(t, q, lam, z)
        T = self.to.kinematics(q)
        assert T is not None
        return np.asarray(self.dy_dq(t, q, lam, z) @ T)

    def dy_dq(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return np.asarray(self.body_rows(t, q, lam, z) @ _spins(q))

    @property
    def is_compiled(self) -> bool:
        return False

    @property
    def holonomic(self) -> slice:
        """Components whose rows are derivatives of y."""
        return slice(None)

    def check_jacobians(self, t: float, q: Array, lam: Array, z: Array) -> float:
        T = self.to.kinematics(q)
        assert T is not None
        slopes = derivatives.differences(self.y, 1, self.m)(t, q, lam, z)
        ours, other = self.rows(t, q, lam, z)[self.holonomic], (slopes @ T)[self.holonomic]
        error = np.abs(ours - other) / max(1.0, float(np.abs(other).max(initial=0.0)))
        worst = float(error.max(initial=0.0))
        if not worst <= derivatives.AGREEMENT:
            i, j = (int(k) for k in np.unravel_index(int(np.argmax(error)), error.shape))
            raise ModelError(
                f"{self.to.owner}: at t = {t:.9g} s, the row of component {i} has {ours[i, j]:.9g} for"
                f" velocity {j}, but differences of its output give {other[i, j]:.9g}"
            )
        return worst


def _spins(q: Array) -> Array:
    """Return L(q) of all bodies, for angular velocities in the body frames [-], shape (6 n, 7 n)."""
    count = q.shape[0] // 7
    L = np.zeros((6 * count, 7 * count))
    for k in range(count):
        L[6 * k + np.arange(3), 7 * k + np.arange(3)] = 1.0
        L[6 * k + 3 : 6 * k + 6, 7 * k + 3 : 7 * k + 7] = 4.0 * rotations.rates(q[7 * k + 3 : 7 * k + 7]).T
    return L
