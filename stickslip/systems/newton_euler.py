"""Newton-Euler bodies: m v̇ = f, I Ω̇ + Ω × I Ω = moment, q̇ = T(q) v.

Siconos Developer's Notes 2017, (11.36) to (11.38) and (11.48): q = (x, p) with the unit quaternion p scalar
first, v = (velocity of the centre of mass in the inertial frame, Ω in the body frame). With frame "inertial"
v contains ω = R(p) Ω instead, which the notes do not derive: J ω̇ + ω × J ω = moment with J = R I R', that is
d(J ω)/dt = moment. The motion is the same, since Ṙ'ω = 0 and hence Ω̇ = R' ω̇.
"""

import numpy as np
from numpy.typing import ArrayLike

from stickslip import rotations
from stickslip.names import alternatives
from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems import derivatives
from stickslip.systems.dynamics import EMPTY, Start, Written, vector
from stickslip.systems.lagrangian import check_mass
from stickslip.systems.quantities import MOTION, Given, Quantity, needed, quantity

COORDINATE, VELOCITY = 1, 2
"""Indices of q and v among the arguments (t, q, v, z)."""
FRAMES = ("inertial", "body")
"""Names of the frames of forces, moments and angular velocities."""
ROUNDING = 1e-9
"""Relative excess of the largest principal moment over the sum of the others that is accepted [-];
heuristic."""


class NewtonEuler(Written):
    """Rigid body in space with position and quaternion. Every function may take any of (t, q, v, z).

    `force` acts at the centre of mass. C and K define a linear internal wrench C v + K q (11.71). Jacobians
    of forces and moments that depend on q or v may be given; otherwise they are computed by differences.

    `frame` is the frame of the angular velocity in v, v0 and the arguments of functions, and of the moments
    of
    C v + K q: "body", or "inertial", with which Moreau-Jean conserves the spatial angular momentum to
    rounding.

    Example:

        q0 = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]  # position, quaternion
        top = ss.NewtonEuler("top", mass=1.0, inertia=[1.0, 2.0, 2.5], q0=q0, v0=[0, 0, 0, 0.1, 3.0, 0])
        run = ss.simulate(ss.NonsmoothSystem([top]), until=0.1, h=1e-2)
    """

    def __init__(
        self, name: str, *, mass: float, inertia: ArrayLike, q0: ArrayLike = (0.0, 0.0, 0.0),
        v0: ArrayLike = 0.0, force: Given | None = None, moment: Given | None = None,
        force_frame: str = "inertial", moment_frame: str = "body", frame: str = "body",
        C: ArrayLike | None = None, K: ArrayLike | None = None,
        dforce_dq: Given | None = None, dforce_dv: Given | None = None,
        dmoment_dq: Given | None = None, dmoment_dv: Given | None = None,
        z: ArrayLike = (), z_update: Given | None = None, potential: Given | None = None,
    ):  # fmt: skip
        self.name = name
        owner = self.owner
        self.inertia = _inertia(name, inertia)
        self.m = _positive(owner, "mass", mass)
        self.M = np.zeros((6, 6))
        self.M[range(3), range(3)] = self.m
        self.M[3:, 3:] = self.inertia
        self.M.flags.writeable = False
        v = np.zeros(6) if np.ndim(v0) == 0 and float(np.asarray(v0)) == 0.0 else _twist(owner, v0)
        self.start = Start(_pose(owner, q0), vector(owner, "v0", v, 6), vector(owner, "z", z))
        frames = {"force_frame": force_frame, "moment_frame": moment_frame, "frame": frame}
        for key, value in frames.items():
            if value not in FRAMES:
                raise ModelError(
                    f"{owner}: {key} is {value!r}; {alternatives(value, FRAMES, 'it is one of')}"
                )
        self.force_in_body, self.moment_in_body = force_frame == "body", moment_frame == "body"
        self.inertial = frame == "inertial"
        """Whether the angular velocity in v is in the inertial frame."""
        self.constant_mass = not self.inertial
        self.force_given = quantity(owner, "force", force, (3,), MOTION)
        self.moment_given = quantity(owner, "moment", moment, (3,), MOTION)
        self.C = self._matrix("C", C, (6, 6))
        self.K = self._matrix("K", K, (6, 7))
        self.z_update = quantity(owner, "z_update", z_update, self.start.z.shape, MOTION)
        self.potential_energy = quantity(owner, "potential", potential, (), MOTION, ("t", "q", "z"))
        self.jacobians = {}
        for key, of, which, argument in (
            ("force", self.force_given, COORDINATE, dforce_dq),
            ("force", self.force_given, VELOCITY, dforce_dv),
            ("moment", self.moment_given, COORDINATE, dmoment_dq),
            ("moment", self.moment_given, VELOCITY, dmoment_dv),
        ):
            size, label = 8 - which, f"d{key}_d{MOTION[which]}"
            jacobian = derivatives.jacobian(owner, label, argument, of, which, size, MOTION)
            if jacobian is not None:
                self.jacobians[key, which] = jacobian
        self.explain(0.0, self.start.q, self.start.v, self.start.z)

    def mass(self, t: float, q: Array, z: Array) -> Array:
        if not self.inertial:
            return self.M
        M, R = np.array(self.M), rotations.matrices(q[3:])
        M[3:, 3:] = R @ self.inertia @ R.T
        return M

    def force(self, t: float, q: Array, v: Array, z: Array) -> Array:
        F, omega = self.wrench(t, q, v, z), v[3:]
        J = self.mass(t, q, z)[3:, 3:] if self.inertial else self.inertia
        F[3:] -= rotations.cross(omega, J @ omega)
        return F

    def wrench(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Wrench on the body without the gyroscopic moment, in the frames of v [N, N m], shape (6,)."""
        F, p = np.zeros(6), q[3:]
        if self.force_given is not None:
            f = self.force_given(t, q, v, z)
            F[:3] = rotations.matrices(p) @ f if self.force_in_body else f
        if self.moment_given is not None:
            m = self.moment_given(t, q, v, z)
            if self.moment_in_body and self.inertial:
                m = rotations.matrices(p) @ m
            elif not self.moment_in_body and not self.inertial:
                m = rotations.matrices(p).T @ m
            F[3:] = m
        if self.C is not None:
            F -= self.C @ v
        if self.K is not None:
            F -= self.K @ q
        return F

    def force_dq(self, t: float, q: Array, v: Array, z: Array) -> Array | None:
        if self.inertial:
            return derivatives.differences(self.force, COORDINATE, 6)(t, q, v, z)
        total = self._forces_derivative(COORDINATE, t, q, v, z)
        if self.force_given is not None and self.force_in_body:
            f = self.force_given(t, q, v, z)
            total = _added(total, 7, slice(0, 3), slice(3, 7), rotations.turned_dp(q[3:], f))
        if self.moment_given is not None and not self.moment_in_body:
            m = self.moment_given(t, q, v, z)
            total = _added(total, 7, slice(3, 6), slice(3, 7), rotations.turned_back_dp(q[3:], m))
        if self.K is not None:
            total = -self.K if total is None else total - self.K
        return total

    def force_dv(self, t: float, q: Array, v: Array, z: Array) -> Array | None:
        if self.inertial:
            return derivatives.differences(self.force, VELOCITY, 6)(t, q, v, z)
        total = self._forces_derivative(VELOCITY, t, q, v, z)
        omega, inertia = v[3:], self.inertia
        gyroscopic = rotations.skew(omega) @ inertia - rotations.skew(inertia @ omega)  # (11.70)
        total = _added(total, 6, slice(3, 6), slice(3, 6), -gyroscopic)
        return total if self.C is None else total - self.C

    def _forces_derivative(self, which: int, t: float, q: Array, v: Array, z: Array) -> Array | None:
        """Return the part of the derivative by q or v that comes from the Jacobians of the user's force and
        moment, in the frames of v; None where it is zero."""
        total: Array | None = None
        for key, where, turn in (
            ("force", slice(0, 3), self.force_in_body),
            ("moment", slice(3, 6), not self.moment_in_body),
        ):
            jacobian = self.jacobians.get((key, which))
            if jacobian is not None:
                J = jacobian(t, q, v, z)
                if turn:
                    R = rotations.matrices(q[3:])
                    J = R @ J if key == "force" else R.T @ J
                total = _added(total, J.shape[1], where, slice(None), J)
        return total

    def kinematics(self, q: Array) -> Array | None:
        """Matrix T(q) of q̇ = T(q) v (11.35) [-], shape (7, 6)."""
        T = np.zeros((7, 6))
        T[range(3), range(3)] = 1.0
        rates = rotations.rates(q[3:])
        T[3:, 3:] = rates @ rotations.matrices(q[3:]).T if self.inertial else rates
        return T

    def normalized(self, q: Array) -> Array:
        p = q[3:]
        norm = float(np.sqrt(p @ p))
        return np.concatenate([q[:3], p / norm]) if norm > 0.0 else q

    def potential(self, t: float, q: Array, z: Array) -> float:
        """Potential energy [J]: the user's function if given, otherwise -f · x of a constant force f in the
        inertial frame if there is no moment and no K, otherwise 0."""
        if self.potential_energy is not None:
            return float(self.potential_energy(t, q, EMPTY, z))
        force, alone = self.force_given, self.moment_given is None and self.K is None
        if force is not None and force.constant is not None and not self.force_in_body and alone:
            return -float(force.constant @ q[:3])
        return 0.0

    @property
    def potential_known(self) -> bool:
        """Whether the potential is given, or there is only a constant force in the inertial frame."""
        force = self.force_given
        steady = force is None or (force.constant is not None and not self.force_in_body)
        return self.potential_energy is not None or (steady and self.moment_given is None and self.K is None)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """All given quantities, and the Jacobians in use."""
        candidates = (self.force_given, self.moment_given, self.potential_energy, self.z_update)
        return (*(q for q in candidates if q is not None), *self.jacobians.values())

    @property
    def uncompiled(self) -> tuple[Quantity | None, ...]:
        """The potential energy."""
        return (self.potential_energy,)

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        if not float(np.linalg.norm(q[3:])) > 0.0:
            raise ModelError(f"{self.owner}: at t = {t:.9g} s, the quaternion of q is zero or not a number")
        super().explain(t, q, v, z)

    def _matrix(self, name: str, given: ArrayLike | None, shape: tuple[int, int]) -> Array | None:
        if callable(given):
            raise ModelError(f"{self.owner}: {name} is a function; use force and moment instead")
        entry = quantity(self.owner, name, given, shape, MOTION)
        return None if entry is None else entry.constant


def _added(total: Array | None, columns: int, rows: slice, where: slice, part: Array) -> Array:
    out = np.zeros((6, columns)) if total is None else total
    out[rows, where] += part
    return out


def _positive(owner: str, name: str, value: float) -> float:
    number = float(vector(owner, name, value, 1)[0])
    if not number > 0.0:
        raise ModelError(f"{owner}: {name} is {number:.6g}; it must be positive")
    return number


def _inertia(name: str, given: ArrayLike) -> Array:
    owner = f"system {name!r}"
    if np.ndim(given) == 1:
        given = np.diag(vector(owner, "inertia", given, 3))
    inertia = np.asarray(needed(quantity(owner, "inertia", given, (3, 3), MOTION)).constant)
    try:
        check_mass(name, 0.0, inertia)
    except ModelError as error:
        raise ModelError(str(error).replace(" M ", " inertia ")) from None
    low, mid, high = np.linalg.eigvalsh(inertia).tolist()
    if low + mid < high * (1.0 - ROUNDING):
        raise ModelError(
            f"{owner}: inertia is impossible for a rigid body: its principal moments are {low:.6g},"
            f" {mid:.6g},"
            f" {high:.6g}, and the largest exceeds the sum of the others"
        )
    return inertia


def _pose(owner: str, given: ArrayLike) -> Array:
    """Return q0 with a unit quaternion; a position alone gets the identity as orientation."""
    q = vector(owner, "q0", given)
    if q.size == 3:
        return vector(owner, "q0", [*q, 1.0, 0.0, 0.0, 0.0])
    if q.size != 7:
        raise ModelError(f"{owner}: q0 has {q.size} entries, expected 7: position, quaternion (w, x, y, z)")
    norm = float(np.linalg.norm(q[3:]))
    if not norm > 0.0:
        raise ModelError(f"{owner}: the quaternion of q0 is zero")
    return vector(owner, "q0", np.concatenate([q[:3], q[3:] / norm]))


def _twist(owner: str, given: ArrayLike) -> Array:
    """Return v0; a velocity alone gets angular velocity 0."""
    v = vector(owner, "v0", given)
    if v.size == 3:
        return np.concatenate([v, np.zeros(3)])
    if v.size != 6:
        raise ModelError(f"{owner}: v0 has {v.size} entries, expected 6: velocity and spin")
    return v
