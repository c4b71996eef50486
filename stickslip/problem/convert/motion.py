"""The equations of motion with contact as one mixed complementarity problem (EOM).

Unknowns z = (v, lam, x, sigma), or (x, sigma) where the motion is given as u = W r + u_free:

    M v - f - H r - G lam = 0                                            for v
    G' v + g_bias = 0                                                    for lam
    0 <= r_N ⟂ u_N >= 0                                                  for r_N
    r_N u_k + sigma_k y_k = 0,        r_k = mu_k y_k                     for y_k, every group k
    0 <= sigma_k ⟂ r_N² - |y_k|² >= 0                                    for sigma_k

with u = H' v + u_bias; x holds r_N and y_k of friction cones and r of the other blocks, where free ones
have u = 0 and -u is in the normal cone of the bounds of the others. The last two lines are Coulomb's law,
sigma_k = |u_k| at a closed contact (Trinkle, Pang, Sudarsky & Lo 1997; Tzitzouris 2001), in units where
every mu_k is 1. The stationarity of maximal dissipation as it is often written, u_k + 2 beta r_k = 0 with
0 <= beta ⟂ (mu r_N)² - |r_k|² >= 0, has no solution where a contact opens: there r = 0, and u_k is not.
Multiplied by r_N it has.

The form "direction" has y_k = r_N d_k, u_k + sigma_k d_k = 0 and 0 <= sigma_k ⟂ 1 - |d_k|² >= 0: the same
divided by r_N, which is bilinear in the momenta. sigma_k = |u_k| and d_k = -u_k / |u_k| are then unique
where something slides or opens, and rows keep their size at contacts that hardly press; d_k is not unique
at contacts that touch without force.

The relaxation replaces u_N by u_N - sum_k mu_k |u_k|, which is what the equations of motion of
the GAMS models of 2014 solve; its norm has no derivative where a contact sticks and is smoothed.

r is not unique where contacts are redundant: solvers must bear a singular Jacobian.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.problem.checks import Array, IntArray, ProblemError, flat
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert.conversion import Answer
from stickslip.problem.convert.units import group_starts
from stickslip.problem.nonlinear import Matrix, NonlinearProblem
from stickslip.problem.residuals import delassus_diagonal, metric
from stickslip.problem.sets import ProductSet

LAWS = ("exact", "relaxed")
FORMS = ("product", "direction")
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
    leader: IntArray
    """For the friction and sliding speed of a contact, the place of its r_N: where r_N is 0 they may be 0
    too [-], shape (size of z,); -1 elsewhere."""


def motion_mcp(
    problem: GlobalProblem | ContactProblem,
    law: str = "exact",
    smoothing: float = 1e-8,
    form: str = "product",
) -> MotionConversion:
    """The equations of motion of `problem` as a mixed complementarity problem.

    `law`: "exact" is Coulomb's, "relaxed" its convex relaxation. `smoothing` is ε of the relaxation's
    √(|u_k|² + ε²) - ε, in units of the free velocities; 0 takes the norm itself, with derivative 0 at 0.
    `form` of the friction law: "product" or "direction", which have the same solutions in r and v.
    """
    if law not in LAWS:
        raise ProblemError(f'law is {law!r}, expected "exact" or "relaxed"')
    if form not in FORMS:
        raise ProblemError(f'form is {form!r}, expected "product" or "direction"')
    smoothing = float(flat("smoothing", smoothing, 1)[0])
    if not (np.isfinite(smoothing) and smoothing >= 0.0):
        raise ProblemError(f"smoothing is {smoothing}; it must be finite and not negative")
    if isinstance(problem, GlobalProblem):
        return _GlobalMotion(problem, law, smoothing, form).conversion()
    if isinstance(problem, ContactProblem):
        return _LocalMotion(problem, law, smoothing, form).conversion()
    raise ProblemError(f"the equations of motion need contacts; this is a {type(problem).__name__}")


class _Law:
    """Rows of x and sigma: from x, u and sigma to their residuals and derivatives."""

    def __init__(self, K: ProductSet, coefficient: Array, law: str, smoothing: float, form: str, dense: bool):
        self.K, self.relaxed, self.smoothing = K, law == "relaxed", smoothing
        self.direction, self.dense = form == "direction", dense
        size = K.group_size
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
        """Groups without friction: y_k = 0 and sigma_k = 0 in plain words, shape (ng,)."""
        self.plain = np.setdiff1d(np.arange(K.size), self.tangent)
        """Components whose residual is u itself (normals less the relaxation's term)."""
        lower, upper = (np.repeat(b, np.diff(K.offset)) for b in (K.lower, K.upper))
        lower[self.tangent], upper[self.tangent] = -np.inf, np.inf
        self.lower = np.concatenate([lower, np.where(self.held, -np.inf, 0.0)])
        self.upper = np.concatenate([upper, np.full(self.count, np.inf)])

    def norms(self, x: Array) -> Array:
        """|x_k| of every group, shape (ng,)."""
        return np.sqrt(np.bincount(self.group, x[self.tangent] ** 2, self.count))

    def impulse(self, x: Array) -> Array:
        """r of x, shape (n,)."""
        r, g, t = x.copy(), self.group, self.tangent
        r[t] = self.mu[g] * x[t] * (x[self.normal][g] if self.direction else 1.0)
        return r

    def by_x(self, x: Array) -> Matrix:
        """dr/dx, shape (n, n)."""
        g, t, n = self.group, self.tangent, self.K.size
        rows, cols, values = [self.plain, t], [self.plain, t], [np.ones(self.plain.size), self.mu[g]]
        if self.direction:
            values[1] = values[1] * x[self.normal][g]
            rows, cols, values = [*rows, t], [*cols, self.normal[g]], [*values, self.mu[g] * x[t]]
        return _filled(rows, cols, values, n, self.dense)

    def unknowns(self, r: Array) -> Array:
        """x of r, shape (n,); 0 for directions that r does not tell."""
        x, g, t = r.copy(), self.group, self.tangent
        reach = self.mu[g] * (r[self.normal][g] if self.direction else 1.0)
        x[t] = np.where(reach > 0.0, r[t] / np.where(reach > 0.0, reach, 1.0), 0.0)
        return x

    def residual(self, x: Array, u: Array, sigma: Array) -> Array:
        """Rows of x and of sigma, shape (n + ng,)."""
        F, g, t = u.copy(), self.group, self.tangent
        size = np.ones(self.count) if self.direction else x[self.normal]
        F[t] = np.where(self.held[g], x[t], size[g] * u[t] + sigma[g] * x[t])
        if self.relaxed:
            e = self.smoothing
            np.subtract.at(F, self.normal, self.mu * (np.sqrt(self.norms(u) ** 2 + e * e) - e))
        return np.concatenate([F, np.where(self.held, sigma, size**2 - self.norms(x) ** 2)])

    def by_velocity(self, x: Array, u: Array) -> Matrix:
        """d(rows of x)/du, shape (n, n)."""
        g, t, n = self.group, self.tangent, self.K.size
        size = np.ones(self.count) if self.direction else x[self.normal]
        rows, cols = [self.plain, t], [self.plain, t]
        values = [np.ones(self.plain.size), np.where(self.held, 0.0, size)[g]]
        if self.relaxed:
            speed = np.sqrt(self.norms(u) ** 2 + self.smoothing**2)
            share = self.mu / np.where(speed > 0.0, speed, np.inf)
            rows, cols, values = [*rows, self.normal[g]], [*cols, t], [*values, -share[g] * u[t]]
        return _filled(rows, cols, values, n, self.dense)

    def by_unknowns(self, x: Array, u: Array, sigma: Array) -> Matrix:
        """d(rows of x and sigma)/d(x, sigma) at held u, shape (n + ng, n + ng)."""
        g, t, held, N = self.group, self.tangent, self.held, self.normal
        s = self.K.size + np.arange(self.count)
        rows, cols = [t, t, s[g], s], [t, s[g], t, s]
        values = [
            np.where(held[g], 1.0, sigma[g]),
            np.where(held[g], 0.0, x[t]),
            np.where(held[g], 0.0, -2.0 * x[t]),
            np.where(held, 1.0, 0.0),
        ]
        if not self.direction:
            rows, cols = [*rows, t, s], [*cols, N[g], N]
            values = [*values, np.where(held[g], 0.0, u[t]), np.where(held, 0.0, 2.0 * x[N])]
        return _filled(rows, cols, values, self.K.size + self.count, self.dense)

    def speeds(self, u: Array) -> Array:
        """sigma that goes with u: |u_k|, shape (ng,)."""
        return np.where(self.held, 0.0, self.norms(u))

    def leader(self, before: int) -> IntArray:
        """Place of r_N for everything of its friction, in a z with so many unknowns before x."""
        out = np.full(before + self.K.size + self.count, -1, np.int64)
        out[before + self.tangent] = before + self.normal[self.group]
        out[before + self.K.size :] = before + self.normal
        return out

    def names(self) -> list[str]:
        """Names of the unknowns x and sigma."""
        K = self.K
        block = np.repeat(np.arange(len(K)), np.diff(K.offset))
        of = np.repeat(np.arange(len(K)), np.diff(K.group_offset))
        within = np.arange(self.count) - K.group_offset[:-1][of]
        return [f"contact {i}, component {k - K.offset[i]}" for k, i in enumerate(block)] + [
            f"sliding speed of contact {i}, group {k}" for i, k in zip(of, within, strict=True)
        ]


class _LocalMotion:
    """z = (x, sigma) with u = W r + u_free."""

    def __init__(self, problem: ContactProblem, law: str, smoothing: float, form: str):
        K, W = problem.K, problem.W
        scales = metric(K, W.diagonal())
        unit = scales.length * np.repeat(np.sqrt(scales.rho), np.diff(K.offset))
        self.dense = K.size + K.group_size.size <= DENSE
        matrix: Any = W.dense() if self.dense else W.blocks(K).sparse()
        self.W = _scaled(matrix, unit, unit)
        energy = _size(problem.u_free * unit)
        self.u_free = problem.u_free * unit / energy
        self.unit = unit * energy
        """r = unit r_new, and unit u = energy² u_new [N s, N m s], shape (n,)."""
        self.law = _Law(_in_units(K, self.unit), scales.coefficient, law, smoothing, form, self.dense)
        self.n = K.size

    def residual(self, z: Array) -> Array:
        x, sigma = z[: self.n], z[self.n :]
        return self.law.residual(x, self.W @ self.law.impulse(x) + self.u_free, sigma)

    def jacobian(self, z: Array) -> Matrix:
        x, sigma = z[: self.n], z[self.n :]
        u = self.W @ self.law.impulse(x) + self.u_free
        L, dr = self.law.by_unknowns(x, u, sigma), self.law.by_x(x)
        by_x = self.law.by_velocity(x, u) @ (self.W @ dr)
        if self.dense:
            L[: self.n, : self.n] += by_x
            return L
        by_x = sp.csr_array(by_x)
        by_x.resize(L.shape)
        return sp.csr_array(L + by_x)

    def conversion(self) -> MotionConversion:
        def guess(r: Array) -> Array:
            new = np.asarray(r, np.float64).reshape(-1) / self.unit
            return np.concatenate([self.law.unknowns(new), self.law.speeds(self.W @ new + self.u_free)])

        def recover(z: Array) -> Answer:
            return Answer(self.law.impulse(flat("z", z, problem.size)[: self.n]) * self.unit)

        problem = NonlinearProblem(
            self.residual, self.jacobian, self.law.lower, self.law.upper, tuple(self.law.names()),
            title="contact law",
        )  # fmt: skip
        return MotionConversion(problem, recover, guess, self.law.leader(0))


class _GlobalMotion:
    """z = (v, lam, x, sigma)."""

    def __init__(self, problem: GlobalProblem, law: str, smoothing: float, form: str):
        K, M = problem.K, problem.M
        self.original = problem
        scales = metric(K, delassus_diagonal(problem))
        unit = scales.length * np.repeat(np.sqrt(scales.rho), np.diff(K.offset))
        mass = M.sparse.diagonal()
        body = 1.0 / np.sqrt(mass)
        H, G = problem.H_sparse(), problem.G_sparse()
        grip = np.asarray(G.multiply(G).T @ (1.0 / mass)).reshape(-1)
        joint = 1.0 / np.sqrt(np.where(grip > 0.0, grip, 1.0))
        v_free = M.solve(problem.f)
        energy = _size(problem.contact_velocity(v_free) * unit, problem.joint_velocity(v_free) * joint)
        self.units = body * energy, joint * energy, unit * energy
        """Of v, lam and r: z is in √J and divided by the size of the free motion."""
        nv, p, n = M.size, problem.g_bias.size, K.size
        self.ends = nv, nv + p, nv + p + n
        self.size = nv + p + n + K.group_size.size
        self.dense = self.size <= DENSE
        new_K = _in_units(K, unit * energy)
        self.law = _Law(new_K, scales.coefficient, law, smoothing, form, self.dense)
        M, H, G = (
            _scaled(A.toarray() if self.dense else A, body, b)
            for A, b in ((M.sparse, body), (H, unit), (G, joint))
        )
        stack: Any = np if self.dense else sp
        nothing: Any = np.zeros((p, p + n)) if self.dense else sp.csr_array((p, p + n))
        top, low = stack.hstack([M, -G, -H]), stack.hstack([G.T, nothing])
        self.top: Any = stack.vstack([top, low]) if self.dense else sp.csr_array(sp.vstack([top, low]))
        self.Ht: Any = H.T if self.dense else sp.csr_array(H.T)
        self.constant = np.concatenate([-problem.f * body, problem.g_bias * joint]) / energy
        self.u_bias = problem.u_bias * unit / energy

    def _parts(self, z: Array) -> tuple[Array, Array, Array]:
        """u, x and sigma out of z."""
        nv, a, b = self.ends
        return self.Ht @ z[:nv] + self.u_bias, z[a:b], z[b:]

    def residual(self, z: Array) -> Array:
        u, x, sigma = self._parts(z)
        moved = np.concatenate([z[: self.ends[1]], self.law.impulse(x)])
        return np.concatenate([self.top @ moved + self.constant, self.law.residual(x, u, sigma)])

    def jacobian(self, z: Array) -> Matrix:
        u, x, sigma = self._parts(z)
        nv, a, b = self.ends
        B, L, dr = self.law.by_velocity(x, u), self.law.by_unknowns(x, u, sigma), self.law.by_x(x)
        if self.dense:
            J = np.zeros((self.size, self.size))
            J[:a, :a] = self.top[:, :a]
            J[:a, a:b] = self.top[:, a:] @ dr
            J[a:b, :nv] = B @ self.Ht
            J[a:, a:] = L
            return J
        left = sp.csr_array(B @ self.Ht)
        left.resize((self.size - a, a))
        right = sp.csr_array(self.top[:, a:] @ dr)
        right.resize((a, self.size - a))
        return sp.csr_array(sp.block_array([[self.top[:, :a], right], [left, L]]))

    def conversion(self) -> MotionConversion:
        problem = self.original
        nv, a, b = self.ends
        body, joint, unit = self.units

        def recover(z: Array) -> Answer:
            z = flat("z", z, self.law.lower.size + a)
            lam = z[nv:a] * joint if problem.G is not None else None
            return Answer(self.law.impulse(z[a:b]) * unit, z[:nv] * body, lam)

        def guess(r: Array) -> Array:
            new = np.asarray(r, np.float64).reshape(-1) / unit
            v = problem.M.solve(problem.f + problem.pushed(new * unit, np.zeros(a - nv))) / body
            u = self.Ht @ v + self.u_bias
            return np.concatenate([v, np.zeros(a - nv), self.law.unknowns(new), self.law.speeds(u)])

        free = np.full(a, np.inf)
        names = [f"velocity {i}" for i in range(nv)] + [f"bilateral row {i}" for i in range(a - nv)]
        nonlinear = NonlinearProblem(
            self.residual, self.jacobian,
            np.concatenate([-free, self.law.lower]), np.concatenate([free, self.law.upper]),
            (*names, *self.law.names()), title="equations of motion",
        )  # fmt: skip
        return MotionConversion(nonlinear, recover, guess, self.law.leader(a))


def _in_units(K: ProductSet, unit: Array) -> ProductSet:
    """K with the bounds of its one-component blocks in other units."""
    first = unit[K.offset[:-1]]
    return ProductSet(
        K.kind, K.offset, K.lower / first, K.upper / first, K.group_offset, K.group_size, K.coefficient
    )


def _size(*velocities: Array) -> float:
    """Root mean square of the free velocities, 1 where there are none [√J].

    Not the largest: one fast contact among many must not make all others look like zero.
    """
    top = max(float(np.abs(x).max(initial=0.0)) for x in velocities)
    if not (top > 0.0 and np.isfinite(top)):
        return 1.0
    size = top * max(float(np.sqrt(np.mean((x / top) ** 2))) for x in velocities if x.size)
    return size if size > 0.0 and np.isfinite(size) else 1.0


def _scaled(matrix: Any, left: Array, right: Array) -> Any:
    if sp.issparse(matrix):
        return sp.csr_array(sp.diags_array(left) @ matrix @ sp.diags_array(right))
    return left[:, None] * matrix * right


def _filled(
    rows: list[IntArray], cols: list[IntArray], values: list[Array], size: int, dense: bool
) -> Matrix:
    """A square matrix with these entries, every place named once."""
    where = (np.concatenate(rows), np.concatenate(cols))
    if dense:
        out = np.zeros((size, size))
        out[where] = np.concatenate(values)
        return out
    return sp.coo_array((np.concatenate(values), where), shape=(size, size)).tocsr()
