"""The step of Schatzman and Paoli, linearised: dynamics and relations at one iterate of Newton's loop.

Siconos Developer's Notes 2017, (10.12) and (10.13); `schatzman_paoli` says the scheme.
"""

from dataclasses import dataclass

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.moreau_jean_motion import require_positive
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.state import BoolArray, ModelError, State
from stickslip.systems.system import Bound, NonsmoothSystem


@dataclass(frozen=True, eq=False)
class Around:
    """What a step knows before it is made."""

    state: State
    """Where it begins."""
    z: Array
    """Discrete parameters of the step [any], shape (nz,)."""
    h: float
    """Its length [s]."""
    theta: float
    """Weight of the end of the step in the forces."""
    central: bool
    """Whether v_{k+1} = (q_{k+1} - q_{k-1}) / 2h; otherwise (q_{k+1} - q_k) / h."""
    weight: float
    """w = (h_b + h) / 2h [-]: 1 where the step keeps its length, 1/2 at the start."""
    before: Array
    """h (q_k - q_{k-1}) / h_b: the displacement at the rate of the step before [m, rad], shape (nv,)."""

    owed: Array | None = None
    """What forces at an edge owe to the step before, as `edge_impulse` has it [N s], shape (nv,)."""

    @property
    def force(self) -> float:
        """w h² [s²]: multipliers at position level are this times forces."""
        return self.weight * self.h * self.h

    def velocity(self, d: Array) -> Array:
        """v_{k+1} [m/s], shape (nv,)."""
        return (d + self.before) / (2.0 * self.h) if self.central else d / self.h


@dataclass(frozen=True, eq=False)
class Share:
    """Components of one interaction that have the same restitution."""

    e: float
    """Their restitution [-]."""
    part: IntArray
    """Which, in the interaction [-], shape (n,)."""
    to: IntArray
    """Which, in the flat r [-], shape (n,)."""
    at_position: BoolArray
    """Whose law is stated on y; that of the others is stated on its increment [-], shape (n,)."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where everything stands in the flat arrays; it depends on the system alone."""

    shares: tuple[tuple[Bound, IntArray, tuple[Share, ...]], ...]
    """Each interaction, its velocities in the flat v, and its components by restitution [-]."""
    always: BoolArray
    """Blocks that wait for no gap [-], shape (blocks,)."""
    normals: IntArray
    """First component of each block [-], shape (blocks,)."""
    block: IntArray
    """Block of each component [-], shape (size,)."""
    factor: Array
    """1 + e of components whose law is stated on y, 1 of the others [-], shape (size,)."""


def moved(system: NonsmoothSystem, q: Array, d: Array) -> Array:
    """q ⊕ d: q + d, or for q̇ = T(q) v, q + T d with T halfway, back on the manifold [m, -], shape (nq,)."""
    out = np.empty(q.shape)
    for body, place in system.mechanical:
        start, own = q[place.q], d[place.v]
        T = body.kinematics(start)
        if T is None:
            out[place.q] = start + own
            continue
        middle = body.kinematics(body.normalized(start + 0.5 * (T @ own)))
        assert middle is not None
        out[place.q] = body.normalized(start + middle @ own)
    return out


def layout_of(prepared: PreparedSystem) -> Layout:
    """The layout of a system, which never changes."""
    system = prepared.system
    shares, always, normals, sizes = [], [], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    factor = np.ones(system.size)
    velocities = np.arange(system.v0.shape[0])
    for one in system.interactions:
        K, compliant = one.law.K, one.mechanical.compliant
        size = np.diff(K.offset)
        e = np.zeros(system.size) if compliant else np.repeat(one.law.restitution, size)
        stated = np.repeat(K.kind == cones.FREE, size)
        stated[one.law.normals] = True
        stated |= compliant
        found = []
        for each in np.unique(e[: one.law.size]):
            part = np.flatnonzero(e[: one.law.size] == each)
            found.append(Share(float(each), part, part + one.components.start, stated[part]))
        factor[one.components] += np.where(stated, e[: one.law.size], 0.0)
        shares.append((one, velocities[one.v], tuple(found)))
        always.append(np.ones(len(K), bool) if compliant else ~one.law.unilateral)
        normals.append(one.components.start + K.offset[:-1])
        sizes.append(size)
    block = np.repeat(np.arange(system.blocks), np.concatenate(sizes))
    waits = np.concatenate(always) if always else np.zeros(0, bool)
    return Layout(tuple(shares), waits, np.concatenate(normals), block, factor)


class Tangent:
    """Dynamics and relations linearised at one iterate d.

    A (d' - d) = -R + H m' and value' = value + C (d' - d) + D (m' - m): A as in (10.12), `value` what the
    laws constrain, (1 + e) y(q̄) or an increment, and m the multipliers at position level, h r = w p.
    """

    def __init__(
        self, system: NonsmoothSystem, layout: Layout, around: Around, d: Array,
        multipliers: Array,
    ):  # fmt: skip
        n, m = d.shape[0], multipliers.shape[0]
        self.d, self.multipliers, self.around = d, multipliers, around
        self.R, self.drop = np.empty(n), np.empty(n)
        self.A_inverse: list[tuple[slice, Array]] = []
        self.value, self.C, self.H = np.empty(m), np.zeros((m, n)), np.zeros((n, m))
        self.D = np.zeros((m, m)) if any(one.mechanical.compliant for one in system.interactions) else None
        self.free_value = self.value
        self.d_free = d
        self._dynamics(system)
        means: dict[float, Array] = {}
        for one, to_v, shares in layout.shares:
            for share in shares:
                e = share.e
                if e not in means:
                    means[e] = moved(system, around.state.q, (d - e * around.before) / (1.0 + e))
            self._relation(one, to_v, shares, means)

    def _dynamics(self, system: NonsmoothSystem) -> None:
        around, d, theta = self.around, self.d, self.around.theta
        state, z, h = around.state, around.z, around.h
        t = state.t + theta * h
        q = moved(system, state.q, theta * d)
        v = (1.0 - theta) * state.v + theta * around.velocity(d)
        slope = 0.5 / h if around.central else 1.0 / h
        for body, place in system.mechanical:
            of, to = (q[place.q], v[place.v], z[place.z]), place.v
            M = body.mass(state.t, state.q[place.q], z[place.z])
            if not body.constant_mass:
                require_positive(body.name, state.t, M)
            F = around.force * body.force(t, *of)
            A = M
            if theta > 0.0:
                by_q, by_v, T = body.force_dq(t, *of), body.force_dv(t, *of), body.kinematics(q[place.q])
                by_q = by_q if by_q is None or T is None else by_q @ T
                for part, factor in ((by_q, 1.0), (by_v, slope)):
                    if part is not None:
                        A = A - (around.force * theta * factor) * part
            self.R[to] = M @ (d[to] - around.before[to]) - F
            if around.owed is not None:
                self.R[to] -= h * around.owed[to]
            try:
                inverse = np.asarray(np.linalg.inv(A), float)
            except np.linalg.LinAlgError:
                body.explain(t, *of)
                raise ModelError(
                    f"system {body.name!r}: at t = {t:.9g} s, the iteration matrix M + h² θ K + h θ C / 2 is"
                    " singular; use a smaller step"
                ) from None
            self.A_inverse.append((to, inverse))
            self.drop[to] = inverse @ F

    def _relation(
        self, one: Bound, to_v: IntArray, shares: tuple[Share, ...], means: dict[float, Array]
    ) -> None:
        """`value`, C, H and D of one interaction, each component at its own q̄, by restitution."""
        around, output = self.around, one.mechanical
        state, h, z = around.state, around.h, around.z[one.z]
        lam = self.multipliers[one.components] / around.force
        d = self.d[one.v]
        for share in shares:
            e, part, to = share.e, share.part, share.to
            t = state.t + h * (1.0 - e) / (1.0 + e)
            q = means[e][one.q]
            rows = output.rows(t, q, lam, z)
            value = (1.0 + e) * output.y(t, q, lam, z)[part]
            if not share.at_position.all():
                drift = output.drift(t, q, lam, z)
                increment = rows @ d + (0.0 if drift is None else h * drift)
                value = np.where(share.at_position, value, increment[part])
            self.value[to] = value
            self.C[to[:, None], to_v] = rows[part]
            self.H[to_v[:, None], to] = output.dforces_dlam(t, q, lam, z)[:, part]
            if output.compliant:
                D = output.dy_dlam(t, q, lam, z)
                if D is not None and self.D is not None:
                    self.D[to[:, None], to] = D[part][:, part] / around.force
                # p = g(lam) may be curved: H m is its tangent, and what that misses goes to the residual.
                linear = self.H[to_v[:, None], to] @ self.multipliers[to]
                self.R[one.v] -= around.force * output.forces(t, q, lam, z) - linear

    def solve_A(self, momentum: Array) -> Array:
        """A⁻¹ momentum, system by system."""
        out = np.zeros(momentum.shape)
        for to, inverse in self.A_inverse:
            out[to] = inverse @ momentum[to]
        return out

    def free(self) -> None:
        """The motion without multipliers."""
        self.d_free = self.d - self.solve_A(self.R)
        self.free_value = self.value_at(self.d_free, np.zeros(self.multipliers.shape[0]))

    def pushed(self, multipliers: Array) -> Array:
        """H m."""
        return self.H @ multipliers

    def value_at(self, d: Array, multipliers: Array) -> Array:
        """What the laws constrain, by this linearisation."""
        value = self.value + self.C @ (d - self.d)
        return value if self.D is None else value + self.D @ (multipliers - self.multipliers)

    def error(self, layout: Layout, active: BoolArray, predicted: Array) -> float:
        """How far this iterate is from a solution [m]: what the next correction would be without the
        laws, and what the laws were not told."""
        motion = self.solve_A(self.R - self.pushed(self.multipliers))
        missed = (self.value - predicted)[active[layout.block]]
        late = np.minimum(self.value[layout.normals[~active]], 0.0)
        return float(np.abs(np.concatenate([motion, missed, late])).max(initial=0.0))
