"""Linearised step of the Schatzman-Paoli scheme: dynamics and relations at an iterate of Newton's loop.

Siconos Developer's Notes 2017, (10.12) and (10.13); `schatzman_paoli` states the scheme.
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
    """Data at the start of a step."""

    state: State
    """State at the start."""
    z: Array
    """Discrete parameters of the step [any], shape (nz,)."""
    h: float
    """Length of the step [s]."""
    theta: float
    """Weight of the end of the step in the forces."""
    central: bool
    """Whether v_{k+1} = (q_{k+1} - q_{k-1}) / 2h; otherwise (q_{k+1} - q_k) / h."""
    weight: float
    """w = (h_b + h) / 2h [-]: 1 for steps of equal length, 1/2 at the start of a run."""
    before: Array
    """h (q_k - q_{k-1}) / h_b: the displacement with the rate of the previous step [m, rad], shape (nv,)."""

    owed: Array | None = None
    """Impulse of forces before an edge, as `edge_impulse` returns it [N s], shape (nv,)."""

    @property
    def force(self) -> float:
        """Factor w h² from forces to multipliers at position level [s²]."""
        return self.weight * self.h * self.h

    def velocity(self, d: Array) -> Array:
        """Return v_{k+1} [m/s], shape (nv,)."""
        return (d + self.before) / (2.0 * self.h) if self.central else d / self.h


@dataclass(frozen=True, eq=False)
class Share:
    """Components of one interaction with the same restitution."""

    e: float
    """Their restitution [-]."""
    part: IntArray
    """Indices of the components in the interaction [-], shape (n,)."""
    to: IntArray
    """Indices of the components in the flat r [-], shape (n,)."""
    at_position: BoolArray
    """Whether the law of a component is stated on y, otherwise on its increment [-], shape (n,)."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Index maps of a system, which depend on the system alone."""

    shares: tuple[tuple[Bound, IntArray, tuple[Share, ...]], ...]
    """Each interaction, the indices of its velocities in the flat v, and its components by restitution
    [-]."""
    always: BoolArray
    """Whether a block is always active [-], shape (blocks,)."""
    normals: IntArray
    """First component of each block [-], shape (blocks,)."""
    block: IntArray
    """Block of each component [-], shape (size,)."""
    factor: Array
    """1 + e of components whose law is stated on y, 1 of the others [-], shape (size,)."""


def moved(system: NonsmoothSystem, q: Array, d: Array) -> Array:
    """Return q ⊕ d: q + d, or for q̇ = T(q) v, q + T d with T at the midpoint, projected onto the manifold
    [m, -], shape (nq,)."""
    out = np.empty(q.shape)
    for body, place in system.mechanical:
        start, step = q[place.q], d[place.v]
        T = body.kinematics(start)
        if T is None:
            out[place.q] = start + step
            continue
        middle = body.kinematics(body.normalized(start + 0.5 * (T @ step)))
        assert middle is not None
        out[place.q] = body.normalized(start + middle @ step)
    return out


def layout_of(prepared: PreparedSystem) -> Layout:
    """Return the layout of a system."""
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
        groups = []
        for each in np.unique(e[: one.law.size]):
            part = np.flatnonzero(e[: one.law.size] == each)
            groups.append(Share(float(each), part, part + one.components.start, stated[part]))
        factor[one.components] += np.where(stated, e[: one.law.size], 0.0)
        shares.append((one, velocities[one.v], tuple(groups)))
        always.append(np.ones(len(K), bool) if compliant else ~one.law.unilateral)
        normals.append(one.components.start + K.offset[:-1])
        sizes.append(size)
    block = np.repeat(np.arange(system.blocks), np.concatenate(sizes))
    waits = np.concatenate(always) if always else np.zeros(0, bool)
    return Layout(tuple(shares), waits, np.concatenate(normals), block, factor)


class Tangent:
    """Dynamics and relations, linearised at an iterate d.

    A (d' - d) = -R + H m' and value' = value + C (d' - d) + D (m' - m), with A as in (10.12), `value` the
    variable of the laws, (1 + e) y(q̄) or an increment, and m the multipliers at position level, h r = w p.
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
        """Set the residual R, A⁻¹ and A⁻¹ F of all systems."""
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
        """Set `value`, C, H and D of one interaction; q̄ depends on the restitution of each component."""
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
                # p = g(lam) may be nonlinear: H m is its tangent, and the difference is added to the
                # residual.
                linear = self.H[to_v[:, None], to] @ self.multipliers[to]
                self.R[one.v] -= around.force * output.forces(t, q, lam, z) - linear

    def solve_A(self, momentum: Array) -> Array:
        """Return A⁻¹ momentum, system by system."""
        out = np.zeros(momentum.shape)
        for to, inverse in self.A_inverse:
            out[to] = inverse @ momentum[to]
        return out

    def free(self) -> None:
        """Set the motion without multipliers, `d_free` and `free_value`."""
        self.d_free = self.d - self.solve_A(self.R)
        self.free_value = self.value_at(self.d_free, np.zeros(self.multipliers.shape[0]))

    def pushed(self, multipliers: Array) -> Array:
        """Return H m."""
        return self.H @ multipliers

    def value_at(self, d: Array, multipliers: Array) -> Array:
        """Return the variable of the laws, by this linearisation."""
        value = self.value + self.C @ (d - self.d)
        return value if self.D is None else value + self.D @ (multipliers - self.multipliers)

    def error(self, layout: Layout, active: BoolArray, predicted: Array) -> float:
        """Return the error of this iterate [m]: the largest of the next correction without the laws, the
        error `value` - predicted of active components, and overlaps of other blocks."""
        motion = self.solve_A(self.R - self.pushed(self.multipliers))
        missed = (self.value - predicted)[active[layout.block]]
        late = np.minimum(self.value[layout.normals[~active]], 0.0)
        return float(np.abs(np.concatenate([motion, missed, late])).max(initial=0.0))
