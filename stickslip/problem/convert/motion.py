"""The equations of motion with contact as one mixed complementarity problem (EOM).

Unknowns z = (v, lam, r, sigma), or (r, sigma) where the motion is given as u = W r + u_free:

    M v - f - H r - G lam = 0                                            for v
    G' v + g_bias = 0                                                    for lam
    0 <= r_N ⟂ u_N >= 0                                                  for r_N
    mu_k r_N u_k + sigma_k r_k = 0                                       for r_k, every group k
    0 <= sigma_k ⟂ (mu_k r_N)² - |r_k|² >= 0                             for sigma_k

with u = H' v + u_bias. Free blocks have u = 0, the others -u in the normal cone of their bounds. The
last two lines are Coulomb's law with sigma_k = |u_k| at a closed contact (Stewart, Trinkle, Tzitzouris
& Pang: Stewart & Trinkle 1996; Pang & Trinkle 1996; Tzitzouris 2001). The stationarity of maximal
dissipation as it is often written, u_k + 2 beta r_k = 0 with 0 <= beta ⟂ (mu r_N)² - |r_k|², has no
solution where a contact opens: there r = 0, and u_k is not. Multiplied by mu r_N it has.

The relaxation replaces u_N by u_N - sum_k mu_k |u_k|, which is what the equations of motion of Melanz
& Mazhar 2014 solve; its norm has no derivative where a contact sticks and is smoothed.

At an open contact sigma is not unique, and r is not where contacts are redundant: solvers must bear a
singular Jacobian.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray, ProblemError
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert.conversion import Answer
from stickslip.problem.convert.units import group_starts
from stickslip.problem.nonlinear import Matrix, NonlinearProblem
from stickslip.problem.residuals import delassus_diagonal, metric
from stickslip.problem.sets import ProductSet

LAWS = ("exact", "relaxed")
DENSE = 300
"""Unknowns up to which the Jacobian is one array."""


@dataclass(frozen=True)
class MotionConversion:
    """The equations of motion as a NonlinearProblem, and the way back."""

    problem: NonlinearProblem
    """The mixed complementarity problem, in units where everything is of order one."""
    recover: Callable[[Array], Answer]
    """From z to the impulses, velocities and multipliers of the original."""
    guess: Callable[[Array], Array]
    """From impulses r of the original to z, with the motion that goes with them."""


def motion_mcp(
    problem: GlobalProblem | ContactProblem, law: str = "exact", smoothing: float = 0.0
) -> MotionConversion:
    """The equations of motion of `problem` as a mixed complementarity problem.

    `law`: "exact" is Coulomb's, "relaxed" its convex relaxation. `smoothing` is ε of the relaxation's
    √(|u_k|² + ε²) - ε, in units of the free velocities; 0 takes the norm itself, with derivative 0 at 0.
    """
    if law not in LAWS:
        raise ProblemError(f'law is {law!r}, expected "exact" or "relaxed"')
    if not (np.isfinite(smoothing) and smoothing >= 0.0):
        raise ProblemError(f"smoothing is {smoothing}; it must be finite and not negative")
    if isinstance(problem, GlobalProblem):
        return _GlobalMotion(problem, law, smoothing).conversion()
    if isinstance(problem, ContactProblem):
        return _LocalMotion(problem, law, smoothing).conversion()
    raise ProblemError(f"the equations of motion need contacts; this is a {type(problem).__name__}")


class _Law:
    """Rows of r and sigma: from r, u and sigma to their residuals and derivatives."""

    def __init__(self, K: ProductSet, coefficient: Array, law: str, smoothing: float):
        self.K, self.relaxed, self.smoothing = K, law == "relaxed", smoothing
        n, size = K.size, K.group_size
        start = group_starts(K)
        block = np.repeat(np.arange(len(K)), np.diff(K.group_offset))
        self.count = size.size
        self.mu: Array = coefficient
        self.group: IntArray = np.repeat(np.arange(self.count), size)
        """Group of each tangential component [-], shape (nt,)."""
        first = np.repeat(start - np.concatenate([[0], np.cumsum(size)])[:-1], size)
        self.tangent: IntArray = (first + np.arange(self.group.size)).astype(np.int64)
        """Component of r of each tangential component [-], shape (nt,)."""
        self.normal: IntArray = K.offset[:-1][block]
        """Normal component of each group [-], shape (ng,)."""
        self.held = coefficient == 0.0
        """Groups without friction: r_k = 0 and sigma_k = 0 in plain words, shape (ng,)."""
        lower, upper = (np.repeat(b, np.diff(K.offset)) for b in (K.lower, K.upper))
        lower[self.tangent], upper[self.tangent] = -np.inf, np.inf
        free = np.repeat(K.kind == cones.FREE, np.diff(K.offset))
        lower[free], upper[free] = -np.inf, np.inf
        self.lower = np.concatenate([lower, np.where(self.held, -np.inf, 0.0)])
        self.upper = np.concatenate([upper, np.full(self.count, np.inf)])
        self.plain = np.setdiff1d(np.arange(n), self.tangent)
        """Components whose residual is u itself (normals less the relaxation's term)."""

    def norms(self, x: Array) -> Array:
        """|x_k| of every group, shape (ng,)."""
        return np.sqrt(np.bincount(self.group, x[self.tangent] ** 2, self.count))

    def residual(self, r: Array, u: Array, sigma: Array) -> Array:
        """Rows of r and of sigma, shape (n + ng,)."""
        F, mu, g, t = u.copy(), self.mu, self.group, self.tangent
        rN, rT = r[self.normal], r[t]
        F[t] = np.where(self.held[g], rT, (mu * rN)[g] * u[t] + sigma[g] * rT)
        if self.relaxed:
            e = self.smoothing
            slide = np.sqrt(self.norms(u) ** 2 + e * e) - e
            np.subtract.at(F, self.normal, mu * slide)
        room = (mu * rN) ** 2 - self.norms(r) ** 2
        return np.concatenate([F, np.where(self.held, sigma, room)])

    def by_velocity(self, r: Array, u: Array) -> sp.csr_array:
        """d(rows of r)/du, shape (n, n)."""
        mu, g, t, n = self.mu, self.group, self.tangent, self.K.size
        rows, cols, values = [self.plain, t], [self.plain, t], [np.ones(self.plain.size), (mu * r[self.normal])[g]]
        if self.relaxed:
            size = np.sqrt(self.norms(u) ** 2 + self.smoothing**2)
            share = mu / np.where(size > 0.0, size, np.inf)
            rows, cols, values = [*rows, self.normal[g]], [*cols, t], [*values, -share[g] * u[t]]
        return _coo(rows, cols, values, (n, n))

    def by_impulse(self, r: Array, u: Array, sigma: Array) -> sp.csr_array:
        """d(rows of r and sigma)/d(r, sigma) at held u, shape (n + ng, n + ng)."""
        mu, g, t, n, held = self.mu, self.group, self.tangent, self.K.size, self.held
        N, s = self.normal, self.K.size + np.arange(self.count)
        rN, rT = r[N], r[t]
        rows = [t, t, t, s, s[g], s]
        cols = [N[g], t, s[g], N, t, s]
        values = [
            mu[g] * u[t],
            np.where(held[g], 1.0, sigma[g]),
            np.where(held[g], 0.0, rT),
            2.0 * mu**2 * rN,
            np.where(held[g], 0.0, -2.0 * rT),
            np.where(held, 1.0, 0.0),
        ]
        return _coo(rows, cols, values, (n + self.count, n + self.count))

    def speeds(self, u: Array) -> Array:
        """sigma that goes with u: |u_k|, shape (ng,)."""
        return np.where(self.held, 0.0, self.norms(u))

    def names(self) -> list[str]:
        """Names of the rows of r and sigma."""
        K = self.K
        block = np.repeat(np.arange(len(K)), np.diff(K.offset))
        of = np.repeat(np.arange(len(K)), np.diff(K.group_offset))
        within = np.arange(self.count) - K.group_offset[:-1][of]
        return [f"r of contact {i}, component {k - K.offset[i]}" for k, i in enumerate(block)] + [
            f"sliding speed of contact {i}, group {k}" for i, k in zip(of, within, strict=True)
        ]


class _LocalMotion:
    """z = (r, sigma) with u = W r + u_free."""

    def __init__(self, problem: ContactProblem, law: str, smoothing: float):
        K, W = problem.K, problem.W
        scales = metric(K, W.diagonal())
        unit = scales.length * np.repeat(np.sqrt(scales.rho), np.diff(K.offset))
        dense = K.size + K.group_size.size <= DENSE
        matrix: Any = W.dense() if dense else W.blocks(K).sparse()
        self.W = _scaled(matrix, unit, unit)
        self.energy = _size(problem.u_free * unit)
        self.u_free = problem.u_free * unit / self.energy
        self.unit = unit
        """r = unit energy r_new and u_new = unit u / energy, both in √J [√kg], shape (n,)."""
        self.law = _Law(_in_units(K, unit * self.energy), scales.coefficient, law, smoothing)
        self.n, self.dense = K.size, dense

    def residual(self, z: Array) -> Array:
        r, sigma = z[: self.n], z[self.n :]
        return self.law.residual(r, self.W @ r + self.u_free, sigma)

    def jacobian(self, z: Array) -> Matrix:
        r, sigma = z[: self.n], z[self.n :]
        u = self.W @ r + self.u_free
        B, L = self.law.by_velocity(r, u), self.law.by_impulse(r, u, sigma)
        if self.dense:
            J = L.toarray()
            J[: self.n, : self.n] += B @ self.W
            return J
        top = sp.csr_array(B @ self.W)
        top.resize(L.shape)
        return sp.csr_array(L + top)

    def conversion(self) -> MotionConversion:
        scale = self.unit * self.energy

        def guess(r: Array) -> Array:
            x = np.asarray(r, np.float64).reshape(-1) / scale
            return np.concatenate([x, self.law.speeds(self.W @ x + self.u_free)])

        problem = NonlinearProblem(
            self.residual, self.jacobian, self.law.lower, self.law.upper, tuple(self.law.names()),
            title="contact impulses",
        )  # fmt: skip
        return MotionConversion(problem, lambda z: Answer(z[: self.n] * scale), guess)


class _GlobalMotion:
    """z = (v, lam, r, sigma)."""

    def __init__(self, problem: GlobalProblem, law: str, smoothing: float):
        K, M = problem.K, problem.M
        self.original = problem
        scales = metric(K, delassus_diagonal(problem))
        unit = scales.length * np.repeat(np.sqrt(scales.rho), np.diff(K.offset))
        mass = M.sparse.diagonal()
        body = 1.0 / np.sqrt(mass)
        H, G = problem.H_sparse(), problem.G_sparse()
        joint = np.asarray(G.multiply(G).T @ (1.0 / mass)).reshape(-1)
        self.joint = 1.0 / np.sqrt(np.where(joint > 0.0, joint, 1.0))
        v_free = M.solve(problem.f)
        self.energy = _size(
            problem.contact_velocity(v_free) * unit, problem.joint_velocity(v_free) * self.joint
        )
        self.body, self.unit = body, unit
        nv, p, n = M.size, problem.g_bias.size, K.size
        self.law = _Law(_in_units(K, unit * self.energy), scales.coefficient, law, smoothing)
        self.ends = np.cumsum([nv, p, n])
        self.size = nv + p + n + self.law.count
        self.dense = self.size <= DENSE
        M1, H1 = _scaled(M.sparse, body, body), _scaled(H, body, unit)
        G1 = _scaled(G, body, self.joint)
        empty = sp.csr_array
        top = sp.block_array(
            [[M1, -G1, -H1, empty((nv, self.law.count))], [G1.T, None, None, empty((p, self.law.count))]]
            if p
            else [[M1, -H1, empty((nv, self.law.count))]],
            format="csr",
        )
        self.top: Any = top.toarray() if self.dense else top
        self.constant = np.concatenate([-problem.f * body, problem.g_bias * self.joint]) / self.energy
        self.Ht: Any = H1.T.toarray() if self.dense else sp.csr_array(H1.T)
        self.u_bias = problem.u_bias * unit / self.energy

    def _parts(self, z: Array) -> tuple[Array, Array, Array]:
        """u, r and sigma out of z."""
        nv, a, b = self.ends
        return self.Ht @ z[:nv] + self.u_bias, z[a:b], z[b:]

    def residual(self, z: Array) -> Array:
        u, r, sigma = self._parts(z)
        return np.concatenate([self.top @ z + self.constant, self.law.residual(r, u, sigma)])

    def jacobian(self, z: Array) -> Matrix:
        u, r, sigma = self._parts(z)
        nv, a, b = self.ends
        B, L = self.law.by_velocity(r, u), self.law.by_impulse(r, u, sigma)
        if self.dense:
            J = np.zeros((self.size, self.size))
            J[:a] = self.top
            J[a:b, :nv] = B @ self.Ht
            J[a:, a:] = L.toarray()
            return J
        left = sp.csr_array(B @ self.Ht)
        left.resize((self.size - int(a), int(a)))
        return sp.csr_array(sp.vstack([self.top, sp.hstack([left, L])]))

    def conversion(self) -> MotionConversion:
        problem, energy = self.original, self.energy
        nv, a, b = (int(end) for end in self.ends)
        p = a - nv

        def recover(z: Array) -> Answer:
            lam = z[nv:a] * self.joint * energy if problem.G is not None else None
            return Answer(z[a:b] * self.unit * energy, z[:nv] * self.body * energy, lam)

        def guess(r: Array) -> Array:
            r = np.asarray(r, np.float64).reshape(-1)
            v = problem.M.solve(problem.f + problem.pushed(r, np.zeros(p)))
            u = problem.contact_velocity(v) * self.unit / energy
            parts = (v / (self.body * energy), np.zeros(p), r / (self.unit * energy), self.law.speeds(u))
            return np.concatenate(parts)

        free = np.full(a, np.inf)
        names = [f"velocity {i}" for i in range(nv)] + [f"bilateral row {i}" for i in range(p)]
        nonlinear = NonlinearProblem(
            self.residual, self.jacobian,
            np.concatenate([-free, self.law.lower]), np.concatenate([free, self.law.upper]),
            (*names, *self.law.names()), title="equations of motion",
        )  # fmt: skip
        return MotionConversion(nonlinear, recover, guess)


def _in_units(K: ProductSet, unit: Array) -> ProductSet:
    """K with the bounds of its one-component blocks in other units."""
    first = unit[K.offset[:-1]]
    return ProductSet(
        K.kind, K.offset, K.lower / first, K.upper / first, K.group_offset, K.group_size, K.coefficient
    )


def _size(*velocities: Array) -> float:
    """The size of the free velocities, 1 where there are none [√J]."""
    size = max(float(np.abs(x).max(initial=0.0)) for x in velocities)
    return size if size > 0.0 and np.isfinite(size) else 1.0


def _scaled(matrix: Any, left: Array, right: Array) -> Any:
    if sp.issparse(matrix):
        return sp.csr_array(sp.diags_array(left) @ matrix @ sp.diags_array(right))
    return left[:, None] * matrix * right


def _coo(
    rows: list[IntArray], cols: list[IntArray], values: list[Array], shape: tuple[int, int]
) -> sp.csr_array:
    where = (np.concatenate(rows), np.concatenate(cols))
    return sp.coo_array((np.concatenate(values), where), shape=shape).tocsr()
