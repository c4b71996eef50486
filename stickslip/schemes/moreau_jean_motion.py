"""One mechanical system in one step of a θ-method: its end state, residual and linearisation.

    q(v) = q + h T(q̄) ((1-θ) v_k + θ v)                              Siconos Developer's Notes 2017, (11.57)
    R_free(v) = M (v - v_k) - h θ F(t + h, q(v), v) - h (1-θ) F(t, q_k, v_k)                     (11.64)
    A = M - h θ D3F - h² θ² D2F T(q̄)                                                              (11.62)
    v_free = v - A⁻¹ R_free(v)                                                                    (11.66)

The mass matrix is evaluated at q_k + θ (q(v) - q_k) and t + θ h. With θ = 1/2 this is the midpoint, which
keeps the method of second order if M depends on q. A omits the derivative of M, which is h times smaller than
M; Newton's loop then converges linearly, with a factor of order h. The semi-explicit variant has M(q_k),
F(t, q_k, v_k) and A = M (11.53). The complete variant has F at the θ-point of time, q and v (11.51); its A is
(11.62) with the derivatives at that point.

For a Newton-Euler body whose spin is in the inertial frame, implicit steps balance the momentum M(q) v
itself: M(q(v)) v - M(q_k) v_k replaces M (v - v_k), and F is without the gyroscopic moment.
"""

import math
from typing import Any

import numpy as np

from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems.dynamics import SecondOrderDynamics
from stickslip.systems.lagrangian import check_mass
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.system import Place

FIXED_POINTS = 50
"""Largest number of evaluations of T(q̄) for one position (heuristic)."""
ROUNDING = 4.0 * float(np.finfo(float).eps)
"""Relative change of q that counts as rounding [-]: four times the machine precision."""


class Motion:
    """A system in a step from (q, v) at t to t + h. `q_end` and `v_end` are the current Newton iterate."""

    __slots__ = (
        "A", "F", "F_start", "M", "body", "current", "end", "force", "h", "implicit", "inverse",
        "known_inverse", "linearised", "momentum", "place", "q", "q_bar", "q_end", "residual", "t",
        "theta", "v", "v_end", "v_free", "variant", "z",
    )  # fmt: skip

    def __init__(
        self, body: SecondOrderDynamics, place: Place, known_inverse: Array | None, theta: float,
        variant: str, current: bool, t: float, h: float, q: Array, v: Array, z: Array,
    ):  # fmt: skip
        self.body, self.place, self.known_inverse = body, place, known_inverse
        self.theta, self.variant, self.current = theta, variant, current
        self.implicit = variant != "semi-explicit" and theta > 0.0
        self.t, self.h, self.end = t, h, t + h
        self.q, self.v, self.z = q[place.q], v[place.v], z[place.z]
        self.v_end = self.v
        self.q_bar = self.q
        self.force = body.force
        self.momentum: Array | None = None
        if isinstance(body, NewtonEuler) and body.inertial and self.implicit:
            self.force, self.momentum = body.wrench, body.mass(t, self.q, self.z) @ self.v
        self.F_start = self.force(t, self.q, self.v, self.z) if variant != "complete" else self.v
        self.inverse: Array | None = None
        self.linearised = False
        """Whether A and v_free belong to the current iterate."""
        self.q_end = body.normalized(self.moved(self.v))
        self.evaluate(self.v)
        self.residual = self.gained() - h * self.F

    def move(self, v_end: Array) -> None:
        """Set the iterate to `v_end`, and update positions, forces and the free residual."""
        mean, self.linearised = self.v + self.theta * (v_end - self.v), False
        self.v_end, self.q_end = v_end, self.body.normalized(self.moved(mean))
        self.evaluate(mean)
        self.residual = self.gained() - self.h * self.F

    def gained(self) -> Array:
        """Return the change of momentum over the step, at the iterate."""
        if self.momentum is None:
            return self.M @ (self.v_end - self.v)
        return self.body.mass(self.end, self.q_end, self.z) @ self.v_end - self.momentum

    def moved(self, mean: Array) -> Array:
        """Return q + h T(q̄) v_θ. If q̄ depends on the result, it is found by a fixed-point iteration, which
        contracts by h |v|."""
        q, h, body = self.q, self.h, self.body
        T: Any = body.kinematics(self.q_bar)
        if T is None:
            return q + h * mean
        moved = q + h * (T @ mean)
        if self.variant == "complete" or (self.current and self.implicit):
            for _ in range(FIXED_POINTS):
                if self.variant == "complete":
                    self.q_bar = q + self.theta * (moved - q)
                else:
                    self.q_bar = body.normalized(moved)
                T = body.kinematics(self.q_bar)
                before, moved = moved, q + h * (T @ mean)
                if np.abs(moved - before).max() <= ROUNDING * np.abs(moved).max():
                    break
        return moved

    def evaluate(self, mean: Array) -> None:
        """Set M and F at the iterate; `mean` is its velocity at the θ-point."""
        body, theta, h, z = self.body, self.theta, self.h, self.z
        if self.variant == "semi-explicit":
            self.M, self.F = body.mass(self.t, self.q, z), self.F_start
        else:
            if body.constant_mass and self.variant != "complete":
                self.M = body.mass(self.t, self.q, z)
            else:
                middle = body.normalized(self.q + theta * (self.q_end - self.q))
                self.M = body.mass(self.t + theta * h, middle, z)
            if self.variant == "complete":
                self.F = self.force(self.t + theta * h, middle, mean, z)
            elif theta > 0.0:
                late = self.force(self.end, self.q_end, self.v_end, z)
                self.F = late if theta == 1.0 else theta * late + (1.0 - theta) * self.F_start
            else:
                self.F = self.F_start

    def error(self, pushed: Array | None) -> float:
        """Return the residual momentum of the iterate, relative to the largest term of the balance [-]."""
        missing = self.residual if pushed is None else self.residual - pushed
        square = float(missing @ missing)
        if square == 0.0:
            return 0.0
        momentum = self.M @ self.v_end
        terms = max(float(momentum @ momentum), self.h * self.h * float(self.F @ self.F))
        if pushed is not None:
            terms = max(terms, float(pushed @ pushed))
        if not terms > 0.0:
            momentum = self.M @ self.v
            terms = float(momentum @ momentum)
        return math.sqrt(square / terms)

    def is_rounding(self, pushed: Array | None) -> bool:
        """Whether the residual momentum is not larger than the rounding errors of q and v make it.

        At rest, where forces balance each other, all terms of the balance vanish, but rounding errors do not.
        """
        missing = self.residual if pushed is None else self.residual - pushed
        grain = np.abs(self.M) @ (np.abs(self.v_end) + np.abs(self.v))
        D2, D3 = self._slopes()
        if D2 is not None:
            grain += self.h * (np.abs(D2) @ (np.abs(self.q_end) + np.abs(self.q)))
        if D3 is not None:
            grain += self.h * (np.abs(D3) @ (np.abs(self.v_end) + np.abs(self.v)))
        return bool((np.abs(missing) <= ROUNDING * grain).all())

    def _slopes(self) -> tuple[Array | None, Array | None]:
        """Return the derivatives D2F and D3F of the forces at the iterate; None if they are zero."""
        body, theta = self.body, self.theta
        if not self.implicit:
            return None, None
        if self.variant == "complete":
            middle = body.normalized(self.q + theta * (self.q_end - self.q))
            at = (self.t + theta * self.h, middle, self.v + theta * (self.v_end - self.v), self.z)
        else:
            at = (self.end, self.q_end, self.v_end, self.z)
        return body.force_dq(*at), body.force_dv(*at)

    def linearise(self) -> None:
        """Set A, its inverse and v_free at the iterate."""
        if self.linearised:
            return
        body, theta, h = self.body, self.theta, self.h
        D2, D3 = self._slopes()
        if D2 is None and D3 is None and self.known_inverse is not None:
            self.A, self.inverse = self.M, self.known_inverse
        else:
            A = self.M
            if not body.constant_mass:
                require_positive(body.name, self.t, A)
            if D3 is not None:
                A = A - (h * theta) * D3
            if D2 is not None:
                T = body.kinematics(self.q_bar)
                A = A - (h * theta) ** 2 * (D2 if T is None else D2 @ T)
            self.A, self.inverse = A, inverse(body.name, self.t, A)
        self.v_free, self.linearised = self.v_end - self.inverse @ self.residual, True


def require_positive(name: str, t: float, M: Array) -> None:
    """Raise ModelError with the system and the time if M is not positive definite."""
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        check_mass(name, t, M)


def inverse(name: str, t: float, A: Array) -> Array:
    """Return A⁻¹; raise ModelError with the system and the time if A is singular."""
    A_inverse: Any
    try:
        A_inverse = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        A_inverse = None
    if A_inverse is None or (np.isfinite(A).all() and not np.isfinite(A_inverse).all()):
        raise ModelError(
            f"system {name!r}: at t = {t:.9g} s, the iteration matrix M - hθ dF/dv - h²θ² dF/dq T is"
            " singular; check M and the Jacobians of the forces, or use a smaller h"
        )
    return np.asarray(A_inverse)
