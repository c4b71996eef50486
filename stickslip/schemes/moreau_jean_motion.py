"""One mechanical system over one step of a θ-method: where it goes, and how far it is off its equations.

    q(v) = q + h T(q̄) ((1-θ) v_k + θ v)                              Siconos Developer's Notes 2017, (11.57)
    R_free(v) = M (v - v_k) - h θ F(t + h, q(v), v) - h (1-θ) F(t, q_k, v_k)                     (11.64)
    A = M - h θ D3F - h² θ² D2F T(q̄)                                                              (11.62)
    v_free = v - A⁻¹ R_free(v)                                                                    (11.66)

The mass matrix is that at q_k + θ (q(v) - q_k) and t + θ h: with θ = 1/2 the midpoint, which keeps the
method of second order where M depends on q. Its derivative is left out of A, for it is h times smaller
than M; Newton's loop then converges linearly, with a factor of order h. The semi-explicit variant has
M(q_k), F(t, q_k, v_k) and A = M (11.53); the complete one has F at the θ-point of time, q and v (11.51),
whose A is (11.62) with the derivatives taken there.

Of a Newton-Euler body whose spin is in the inertial frame the momentum M(q) v itself is balanced, where the
step is implicit: M(q(v)) v - M(q_k) v_k in the place of M (v - v_k), and F without the gyroscopic moment.
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
"""Most evaluations of T(q̄) for one position."""
ROUNDING = 4.0 * float(np.finfo(float).eps)
"""Relative change of q that is rounding."""


class Motion:
    """A system on its way from (q, v) at t to t + h. `q_end` and `v_end` are Newton's current iterate."""

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
        """Whether A and v_free are those of the iterate."""
        self.q_end = body.normalized(self.moved(self.v))
        self.evaluate(self.v)
        self.residual = self.gained() - h * self.F

    def move(self, v_end: Array) -> None:
        """Take `v_end` as the velocity at the end: positions, forces and the free residual follow."""
        mean, self.linearised = self.v + self.theta * (v_end - self.v), False
        self.v_end, self.q_end = v_end, self.body.normalized(self.moved(mean))
        self.evaluate(mean)
        self.residual = self.gained() - self.h * self.F

    def gained(self) -> Array:
        """Change of the momentum over the step, at the iterate."""
        if self.momentum is None:
            return self.M @ (self.v_end - self.v)
        return self.body.mass(self.end, self.q_end, self.z) @ self.v_end - self.momentum

    def moved(self, mean: Array) -> Array:
        """q + h T(q̄) v_θ; where q̄ depends on the answer, by fixed points that contract by h |v|."""
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
        """M and F at the iterate; `mean` is its v at the θ-point."""
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
        """Momentum that is missing at the iterate, over the largest term of the balance [-]."""
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
        """Whether no more momentum is missing than the rounding of q and v makes of the forces.

        At rest, where forces balance each other, all terms of the balance vanish, and the rounding does not.
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
        """Derivatives D2F and D3F of the forces at the iterate; None where they are zero."""
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
        """The inverse of A, and v_free, of the iterate."""
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
    """A ModelError that names system and time where M is not positive definite."""
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        check_mass(name, t, M)


def inverse(name: str, t: float, A: Array) -> Array:
    """A⁻¹; a ModelError that names system and time where A is singular."""
    found: Any
    try:
        found = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        found = None
    if found is None or (np.isfinite(A).all() and not np.isfinite(found).all()):
        raise ModelError(
            f"system {name!r}: at t = {t:.9g} s, the iteration matrix M - hθ dF/dv - h²θ² dF/dq T is"
            " singular; check M and the Jacobians of the forces, or use a smaller h"
        )
    return np.asarray(found)
