"""A system at one instant of the event-driven scheme: accelerations, outputs and their rates.

M(q) v̇ = F(t, q, v) + H lam,  q̇ = T(q) v,  ÿ = H' v̇ + γ  with  γ = (d/dt H') v + (d/dt) ∂y/∂t along the motion

First-order systems, M ẋ = f(t, x), are integrated together with mechanical ones. Functions of time that jump
at edges are evaluated strictly between the adjacent edges, so that a smooth motion uses one side of each.
"""

import math
from dataclasses import dataclass

import numpy as np

from stickslip.kernels import cones
from stickslip.kernels.smooth import COARSER
from stickslip.problem.checks import Array
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.state import ModelError
from stickslip.systems.dynamics import EMPTY
from stickslip.systems.first_order import FirstOrder
from stickslip.systems.searches import FAR
from stickslip.systems.system import Bound

ROUNDING = 8.0 * float(np.finfo(float).eps)
"""Least distance from an edge at which functions of time are evaluated, relative to the time [-]."""


@dataclass(frozen=True)
class Group:
    """Tangential components of a contact that stick or slide together."""

    components: slice
    """Slice of the flat r, u and y."""
    mu: float
    """Friction coefficient [-, or m for rolling]."""


@dataclass(frozen=True, eq=False)
class Piece:
    """One block of one interaction, with its own mode."""

    one: Bound
    """The interaction."""
    number: int
    """Its number among the blocks of all interactions."""
    kind: int
    """Kind of its set, as in `ProductSet.kind`."""
    components: slice
    """Slice of the flat r, u and y; the normal component is the first."""
    groups: tuple[Group, ...]
    """Groups of tangential components with friction."""
    lower: float
    """Least force of an interval [N]."""
    upper: float
    """Largest force of an interval [N]."""

    @property
    def unilateral(self) -> bool:
        """Whether it has a gap."""
        return self.kind in (cones.NONNEGATIVE, cones.FRICTION)

    @property
    def normal(self) -> int:
        """Index of the first component."""
        return int(self.components.start)

    @property
    def positions(self) -> range:
        """Components with a position: all of a joint, otherwise the first."""
        return range(self.normal, self.components.stop if self.kind == cones.FREE else self.normal + 1)


def pieces(prepared: PreparedSystem) -> tuple[Piece, ...]:
    """Return the blocks of all interactions, in order."""
    blocks = []
    for one in prepared.system.interactions:
        K, start = one.law.K, one.components.start
        for i in range(len(K)):
            first, last = start + int(K.offset[i]), start + int(K.offset[i + 1])
            groups, at = [], first + 1
            for g in range(int(K.group_offset[i]), int(K.group_offset[i + 1])):
                size, mu = int(K.group_size[g]), float(K.coefficient[g])
                if mu > 0.0:
                    groups.append(Group(slice(at, at + size), mu))
                at += size
            bounds = float(K.lower[i]), float(K.upper[i])
            number, kind = one.blocks.start + i, int(K.kind[i])
            blocks.append(Piece(one, number, kind, slice(first, last), tuple(groups), *bounds))
    return tuple(blocks)


class Motion:
    """Masses, forces and outputs of a system for the discrete parameters z of one step."""

    def __init__(self, prepared: PreparedSystem, z: Array, difference: float):
        system = prepared.system
        self.system, self.z, self.difference = system, z, difference
        self.nq, self.nv = system.q0.shape[0], system.v0.shape[0]
        self.pieces = prepared.part(pieces)
        identical = all(body.kinematics(system.q0[p.q]) is None for body, p in system.mechanical)
        self.plain = identical and not system.flows
        self.constant_mass = all(body.constant_mass for body, _ in system.mechanical)
        self.coarse = {
            one.name
            for one in system.interactions
            if identical and any(q.difference_of is not None for q in one.mechanical.quantities)
        }
        """Interactions whose Jacobians are difference quotients."""
        self._inverse: Array | None = None
        self._low, self._high = -math.inf, math.inf

    def enter(self, t: float) -> float:
        """Evaluate functions of time between the edges around t, after t; return the time of the next edge
        [s]."""
        edges = self.system.edges
        if edges is None:
            return math.inf
        following = edges.after(t)
        self._low = t + ROUNDING * abs(t) if edges.is_one(t) else -math.inf
        self._high = following - ROUNDING * abs(following) if following < math.inf else math.inf
        return following

    def within(self, t: float) -> float:
        """Return the time at which functions of time are evaluated for t [s], between the adjacent edges."""
        return min(max(t, self._low), self._high)

    def inverse(self, t: float, q: Array) -> Array:
        """Return M(q)⁻¹ of all systems [1/kg], shape (nv, nv)."""
        if self._inverse is not None:
            return self._inverse
        out = np.zeros((self.nv, self.nv))
        for body, p in self.system.mechanical:
            try:
                out[p.v, p.v] = np.linalg.inv(body.mass(t, q[p.q], self.z[p.z]))
            except np.linalg.LinAlgError:
                self.system.explain(t, q, np.zeros(self.nv), self.z)
                raise ModelError(f"system {body.name!r}: at t = {t:.9g} s, M is singular") from None
        if self.constant_mass:
            self._inverse = out
        return out

    def free(self, t: float, q: Array, v: Array) -> Array:
        """Return M⁻¹ F, the acceleration without contact forces [m/s²], shape (nv,)."""
        z, bodies, t = self.z, self.system.mechanical, self.within(t)
        if len(bodies) == 1 and not self.system.flows:
            F = bodies[0][0].force(t, q, v, z)
        else:
            F = np.empty(self.nv)
            for body, p in bodies:
                F[p.v] = body.force(t, q[p.q], v[p.v], z[p.z])
        a = self.inverse(t, q) @ F
        if not math.isfinite(a.sum()):
            self.system.explain(t, q, v, z)
        return a

    def rate(self, q: Array, v: Array) -> Array:
        """Return q̇ = T(q) v [m/s], shape (nq,); zero for first-order systems, whose rates `flow` writes."""
        if self.plain:
            return v
        out = np.zeros(self.nq)
        for body, p in self.system.mechanical:
            T = body.kinematics(q[p.q])
            out[p.q] = v[p.v] if T is None else T @ v[p.v]
        return out

    def flow(self, t: float, q: Array, out: Array) -> None:
        """Write ẋ = M⁻¹ f of the first-order systems into q̇ [any], shape (nq,)."""
        self._flow(t, q, np.zeros(self.nq), out)

    def velocities(self, t: float, x: Array, inputs: Array) -> Array:
        """Return ẋ with M ẋ = f + inputs, if all systems are of first order [any], shape (nx,)."""
        out = np.empty(x.size)
        self._flow(t, x, inputs, out)
        return out

    def mobility(self, t: float, x: Array) -> Array:
        """Return M⁻¹ of first-order systems [any], shape (nx, nx)."""
        out, t = np.zeros((x.size, x.size)), self.within(t)
        for body, p in self.system.flows:
            out[p.q, p.q] = np.linalg.inv(body.mass(t, x[p.q], self.z[p.z]))
        return out

    def _flow(self, t: float, q: Array, inputs: Array, out: Array) -> None:
        """Write ẋ with M ẋ = f + inputs of the first-order systems to out; raise ModelError if not finite."""
        t = self.within(t)
        for body, p in self.system.flows:
            x, z = q[p.q], self.z[p.z]
            try:
                if isinstance(body, FirstOrder):  # its inputs may depend on ẋ
                    rate = body.velocity(t, x, z, inputs[p.q])
                else:
                    rate = np.asarray(
                        np.linalg.solve(body.mass(t, x, z), body.rate(t, x, z) + inputs[p.q]), float
                    )
            except np.linalg.LinAlgError:
                rate = np.full(x.size, math.nan)
            if not np.isfinite(rate).all():
                body.explain(t, x, EMPTY, z)
            out[p.q] = rate

    def normalized(self, q: Array) -> Array:
        """Return q projected onto its manifold [m, -], shape (nq,)."""
        if self.plain:
            return q
        out = np.array(q)
        for body, p in self.system.mechanical:
            out[p.q] = body.normalized(q[p.q])
        return out

    def y_of(self, one: Bound, t: float, q: Array) -> Array:
        """Return the outputs of one interaction [m], shape (m,)."""
        return one.y(t, q, self.z)

    def gap_of(self, one: Bound, t: float, q: Array) -> Array:
        """Return the outputs of one interaction as open contacts [m], shape (m,): at least `FAR` if its
        features do not meet."""
        y = self.y_of(one, t, q)
        return y if one.applies(t, q) else np.maximum(y, FAR)

    def gaps(self, t: float, q: Array) -> Array:
        """Return the outputs of all interactions as open contacts [m], shape (size,)."""
        out = np.zeros(self.system.size)
        for one in self.system.interactions:
            out[one.components] = self.gap_of(one, t, q)
        return out

    def u_of(self, one: Bound, t: float, q: Array, v: Array) -> Array:
        """Return the rates of the outputs of one interaction [m/s], shape (m,)."""
        return one.rate(t, q, v, self.z)

    def y(self, t: float, q: Array) -> Array:
        """Return the outputs of all interactions [m], shape (size,)."""
        out = np.zeros(self.system.size)
        for one in self.system.interactions:
            out[one.components] = self.y_of(one, t, q)
        return out

    def u(self, t: float, q: Array, v: Array) -> Array:
        """Return the rates of all outputs [m/s], shape (size,)."""
        out = np.zeros(self.system.size)
        for one in self.system.interactions:
            out[one.components] = self.u_of(one, t, q, v)
        return out

    def rows(self, interactions: list[Bound], t: float, q: Array) -> Array:
        """Return the rows of the outputs of some interactions, in order [-], shape (sum of m, nv)."""
        out = np.zeros((sum(one.law.size for one in interactions), self.nv))
        at = 0
        for one in interactions:
            J = one.rows(t, q, self.z)
            out[at : at + J.shape[0], one.v] = J
            at += J.shape[0]
        return out

    def bend(self, one: Bound, t: float, q: Array, v: Array) -> Array | None:
        """Return γ, the part of ÿ that does not depend on v̇ [m/s²], shape (m,); None if it is zero.

        It is computed by differences of the rates along (t + s, q + s q̇) at fixed v, of fourth order in s. If
        the rates are difference quotients themselves, second differences of y are used, which have smaller
        rounding errors.
        """
        output = one.mechanical
        lam, z = one.zero, self.z[one.z]
        drifts = output.drift(t, q[one.q], lam, z) is not None
        if output.constant and not drifts:
            return None
        s = self.difference / max(1.0, float(np.abs(v).max(initial=0.0)))
        velocity = self.rate(q, v)
        if one.name in self.coarse:
            s *= COARSER
            y = [self.y_of(one, t + k * s, q + k * s * velocity) for k in (-2.0, -1.0, 0.0, 1.0, 2.0)]
            return (16.0 * (y[1] + y[3]) - (y[0] + y[4]) - 30.0 * y[2]) / (12.0 * s * s)
        if output.constant:

            def rate(k: float) -> Array:
                drift = output.drift(t + k * s, q[one.q] + k * s * velocity[one.q], lam, z)
                assert drift is not None
                return drift
        else:

            def rate(k: float) -> Array:
                return self.u_of(one, t + k * s, q + k * s * velocity, v)

        return (8.0 * (rate(1.0) - rate(-1.0)) - (rate(2.0) - rate(-2.0))) / (12.0 * s)
