"""One system in a step of the variational scheme: its momenta before and after a node.

A velocity v belongs to the step from q_k to q_{k+1} = q_k + h v; h₋ is the length of the previous step. With
L_d = h/4 v'(M(q_k) + M(q_{k+1})) v - h/2 (V(q_k) + V(q_{k+1})) the discrete Euler-Lagrange equations at q_k
are R(v) = 0,

    R(v) = P(v) - P₋(v₋) - (h₋ + h)/2 F(t_k, q_k, v̄),
    P(v)  = ½ (M(q_k) + M(q_k + h v)) v - h/4 v'∂M(q_k) v,
    P₋(v) = ½ (M(q_k - h₋ v) + M(q_k)) v + h₋/4 v'∂M(q_k) v

(Marsden & West 2001, sections 1.2 and 3.2), with forces at the node and ∂M by central differences. Forces
that depend on velocities are evaluated at v̄ = (h v₋ + h₋ v) / (h + h₋), which is v₋ at the start of a run.

P contains the inertia forces Ṁ v - ½ ∂(v'M v)/∂q. In the equations of a system, M v̇ + N = ..., they are part
of N: if N consists of them alone, which is checked once near the start, N is omitted here. Any other
N (or M of t or z, or no N although M depends on q) does not belong to the Lagrangian of M. The equations are
then used in the central form, P = P₋ = M(q_k) v with N among the forces at v̄, which is of second order and
symmetric in time, but not variational. A Newton-Euler body turns by Cayley's map, with

    P(Ω) = J Ω + h/2 Ω × J Ω + h²/4 (Ω·J Ω) Ω,   P₋ the same with -h₋    (Bou-Rabee & Marsden 2009).
"""

import math
from abc import ABC, abstractmethod

import numpy as np

from stickslip import rotations
from stickslip.kernels.bodies.rotation import turn
from stickslip.kernels.variational.momentum import momentum, momentum_slope
from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems.derivatives import differences
from stickslip.systems.dynamics import SecondOrderDynamics
from stickslip.systems.lagrangian import EMPTY, Lagrangian
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.system import Place

AGREEMENT = 1e-6
"""Largest relative difference between N and the inertia forces of M(q), computed by differences [-]
(heuristic)."""
ROUNDING = 1e-9
"""Rounding error of difference quotients of M, relative to M [1/m]."""
NEARBY = (0.05, -0.03)
"""Distances from the start at which N and M are compared [rad, m]; both may vanish at the start."""
FORMS = ("auto", "variational", "central")
"""Forms of the equations for a mass matrix that depends on q."""


class Node(ABC):
    """A system at the node q_k between two steps."""

    def __init__(
        self, body: SecondOrderDynamics, place: Place, t: float, q: Array, v: Array, z: Array, h: float,
        h_before: float, follows: bool,
    ):  # fmt: skip
        self.body, self.place = body, place
        self.t, self.h, self.h_before = t, h, h_before
        self.q, self.v, self.z = q[place.q], v[place.v], z[place.z]
        self.weight = 0.5 * (h + h_before)
        self.follows = h_before > 0.0 and follows
        self.before = self.momentum_before()
        self.pushed = self.weight * self.applied(self.v)

    @abstractmethod
    def momentum_before(self) -> Array:
        """Return P₋(v₋) [N s], shape (nv,)."""

    @abstractmethod
    def momentum(self, v: Array) -> Array:
        """Return P(v) [N s], shape (nv,)."""

    @abstractmethod
    def slope(self, v: Array) -> Array:
        """Return dP/dv [kg], shape (nv, nv)."""

    @abstractmethod
    def applied(self, v: Array) -> Array:
        """Return the forces at velocity v, without the inertia forces in P [N], shape (nv,)."""

    @abstractmethod
    def applied_slope(self, v: Array) -> Array | None:
        """Return the derivative of `applied` by v [N s/m], shape (nv, nv); None if it is zero."""

    def end(self, v: Array) -> Array:
        """Return q_{k+1} [m, rad], shape (nq,)."""
        return self.q + self.h * v

    def at_node(self, v: Array) -> Array:
        """Return v̄ [m/s], shape (nv,)."""
        return (self.h * self.v + self.h_before * v) / (self.h + self.h_before)

    def residual(self, v: Array) -> Array:
        """Return R(v) [N s], shape (nv,)."""
        pushed = self.weight * self.applied(self.at_node(v)) if self.follows else self.pushed
        return self.momentum(v) - self.before - pushed

    def tangent(self, v: Array) -> Array:
        """Return an approximation of dR/dv [kg], shape (nv, nv)."""
        A = self.slope(v)
        part = self.applied_slope(self.at_node(v)) if self.follows else None
        return A if part is None else A - 0.5 * self.h_before * part


class Central(Node):
    """M(q_k) (v - v₋) = forces: for constant mass, and for systems whose N does not belong to M(q)."""

    def momentum_before(self) -> Array:
        self.M = self.body.mass(self.t, self.q, self.z)
        return self.M @ self.v

    def momentum(self, v: Array) -> Array:
        return self.M @ v

    def slope(self, v: Array) -> Array:
        return self.M

    def applied(self, v: Array) -> Array:
        return self.body.force(self.t, self.q, v, self.z)

    def applied_slope(self, v: Array) -> Array | None:
        return self.body.force_dv(self.t, self.q, v, self.z)


class Curved(Node):
    """M(q) with the inertia forces of the discrete Lagrangian."""

    body: Lagrangian

    def momentum_before(self) -> Array:
        self.M = self._mass(self.q)
        self.dM = mass_derivative(self.body, self.t, self.q, self.z)
        if self.h_before == 0.0:
            return self.M @ self.v
        M = 0.5 * (self._mass(self.q - self.h_before * self.v) + self.M)
        return M @ self.v + 0.5 * self.h_before * self._gradient(self.v)

    def _mass(self, q: Array) -> Array:
        return self.body.mass(self.t, q, self.z)

    def _gradient(self, v: Array) -> Array:
        """Return ½ ∂(v'M v)/∂q [N], shape (nv,)."""
        return 0.5 * np.einsum("ijl,i,j->l", self.dM, v, v)

    def momentum(self, v: Array) -> Array:
        M = 0.5 * (self.M + self._mass(self.end(v)))
        return M @ v - 0.5 * self.h * self._gradient(v)

    def slope(self, v: Array) -> Array:
        turned = (
            0.5 * self.h * np.einsum("ijl,j->il", self.dM, v)
        )  # with ∂M at q_k in place of q_{k+1}, an error of O(h²)
        return 0.5 * (self.M + self._mass(self.end(v))) + turned - turned.T

    def applied(self, v: Array) -> Array:
        F = self.body.force(self.t, self.q, v, self.z)
        return F if self.body.N is None else F + self.body.N(self.t, self.q, v, self.z)

    def applied_slope(self, v: Array) -> Array | None:
        slope = self.body.force_dv(self.t, self.q, v, self.z)
        inertia = self.body.jacobians.get(("N", 2))
        if slope is None or inertia is None:
            return slope
        return slope + inertia(self.t, self.q, v, self.z)


class Turning(Node):
    """A Newton-Euler body, whose orientation changes by Cayley's map."""

    body: NewtonEuler

    def momentum_before(self) -> Array:
        return self._momentum(self.v, -self.h_before)

    def _momentum(self, v: Array, h: float) -> Array:
        out = np.empty(6)
        momentum(self.body.m, self.body.inertia, h, np.array(v), out)
        return out

    def momentum(self, v: Array) -> Array:
        return self._momentum(v, self.h)

    def slope(self, v: Array) -> Array:
        out = np.empty((6, 6))
        momentum_slope(self.body.m, self.body.inertia, self.h, np.array(v), out)
        return out

    def end(self, v: Array) -> Array:
        out = np.empty(7)
        turn(np.array(self.q), np.array(v), self.h, out)
        return out

    def applied(self, v: Array) -> Array:
        return self.body.wrench(self.t, self.q, v, self.z)

    def applied_slope(self, v: Array) -> Array | None:
        J, omega = self.body.inertia, v[3:]
        slope = self.body.force_dv(self.t, self.q, v, self.z)
        out = np.zeros((6, 6)) if slope is None else np.array(slope)
        out[3:, 3:] += rotations.skew(omega) @ J - rotations.skew(J @ omega)
        return out


class TurningInertial(Turning):
    """A Newton-Euler body with its spin ω = R Ω in the inertial frame. A step rotates about Ω, so that ω is
    the same at both of its ends: Ω₋ and Ω at the node are R(q_k)'ω₋ and R(q_k)'ω, and the equations balance
    the spatial momentum."""

    def momentum_before(self) -> Array:
        self.to_body = np.eye(6)
        self.to_body[3:, 3:] = rotations.matrices(self.q[3:]).T
        return self._momentum(self.v, -self.h_before)

    def _momentum(self, v: Array, h: float) -> Array:
        return self.to_body.T @ super()._momentum(self.to_body @ v, h)

    def slope(self, v: Array) -> Array:
        return self.to_body.T @ super().slope(self.to_body @ v) @ self.to_body

    def end(self, v: Array) -> Array:
        return super().end(self.to_body @ v)

    def applied_slope(self, v: Array) -> Array | None:
        return differences(self.body.wrench, 2, 6)(self.t, self.q, v, self.z)


def depends_on_velocity(body: SecondOrderDynamics, kind: type[Node]) -> bool:
    """Whether the forces of `applied` may depend on velocities; True if it is not known."""
    if isinstance(body, NewtonEuler):  # the gyroscopic moment is in the momenta
        quantities = (body.force_given, body.moment_given)
        return body.C is not None or any(part is not None and "v" in part.wanted for part in quantities)
    if not isinstance(body, Lagrangian):
        return True
    inertia = ("N", "dN_dq", "dN_dv") if kind is Curved else ()
    return any("v" in part.wanted for part in body.quantities if part.name not in ("z_update", *inertia))


def mass_derivative(body: SecondOrderDynamics, t: float, q: Array, z: Array) -> Array:
    """Return ∂M_ij/∂q_l [kg/m], shape (nv, nv, nq)."""
    n = body.start.v.shape[0]
    flat = differences(lambda t, q, v, z: body.mass(t, q, z).reshape(-1), 1, n * n)
    return flat(t, q, EMPTY, z).reshape(n, n, -1)


def node_of(body: SecondOrderDynamics, form: str) -> type[Node]:
    """Return the class of nodes of a system; raise ModelError for an unsupported system or form."""
    if isinstance(body, NewtonEuler):
        return TurningInertial if body.inertial else Turning
    if body.kinematics(body.start.q) is not None:
        raise ModelError(
            f"system {body.name!r} has q̇ = T(q) v; variational is for q̇ = v and for Newton-Euler bodies"
            " (worlds of bodies have it too), see moreau-jean"
        )
    if body.constant_mass or form == "central":
        return Central
    why = _no_lagrangian(body)
    if not why:
        return Curved
    if form == "variational":
        raise ModelError(f"system {body.name!r}: {why}; take form='central'")
    return Central


def require_stable(body: SecondOrderDynamics, t: float, q: Array, v: Array, z: Array, h: float) -> None:
    """Raise ModelError if explicit steps of h are unstable for the springs of a system at the start."""
    slope, T = body.force_dq(t, q, v, z), body.kinematics(q)
    if slope is None:
        return
    K = -slope if T is None else -slope @ T
    if not np.isfinite(K).all():
        return  # the first step raises an error that names the quantity
    try:
        squares = np.linalg.eigvals(np.linalg.solve(body.mass(t, q, z), 0.5 * (K + K.T)))
    except np.linalg.LinAlgError:
        body.explain(t, q, v, z)
        raise
    fastest = math.sqrt(max(float(squares.real.max(initial=0.0)), 0.0))
    if h * fastest > 2.0:
        raise ModelError(
            f"system {body.name!r} oscillates at up to {fastest:.3g} rad/s at the start; variational takes"
            f" forces at its start and needs h < {2.0 / fastest:.3g} s, not {h:g} s (see moreau-jean)"
        )


def _no_lagrangian(body: SecondOrderDynamics) -> str:
    """Return why M(q) and N do not belong to the Lagrangian ½ v'M(q) v; empty if they do."""
    if not isinstance(body, Lagrangian):
        return "its inertia forces are not told from its other forces"
    if set(body.M.wanted) - {"q"}:
        return "M depends on t or z"
    if body.N is None:
        return "M depends on q, but there is no N = Ṁ v - ½ ∂(v'M v)/∂q"
    start, n = body.start, body.start.v.shape[0]
    pattern = np.cos(1.0 + np.arange(n))
    scale = max(1.0, float(np.abs(start.v).max(initial=0.0)))
    for shift in NEARBY:
        q = start.q + shift * pattern
        dM = mass_derivative(body, 0.0, q, start.z)
        for v in (scale * pattern, scale * pattern[::-1]):
            inertia = np.einsum("ijl,j,l->i", dM, v, v) - 0.5 * np.einsum("ijl,i,j->l", dM, v, v)
            N = body.N(0.0, q, v, start.z)
            size = max(float(np.abs(inertia).max()), float(np.abs(N).max()))
            noise = ROUNDING * float(np.abs(body.mass(0.0, q, start.z)).max()) * float(v @ v)
            if not float(np.abs(inertia - N).max()) <= AGREEMENT * size + noise:
                return (
                    "N is not Ṁ v - ½ ∂(v'M v)/∂q: beside the start, at v ="
                    f" {np.array2string(v, precision=3)}, it is {np.array2string(N, precision=6)} and not"
                    f" {np.array2string(inertia, precision=6)}"
                )
    return ""
