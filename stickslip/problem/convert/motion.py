"""Equations of motion with contact as one mixed complementarity problem (EOM).

Unknowns z = (v, lam, x, sigma), or (x, sigma) if the motion is given as u = W r + u_free:

    M v - f - H r - G lam = 0                                            for v
    G' v + g_bias = 0                                                    for lam
    0 <= r_N ⟂ u_N >= 0                                                  for r_N
    r_N u_k + sigma_k y_k = 0,        r_k = mu_k y_k                     for y_k, every group k
    0 <= sigma_k ⟂ r_N² - |y_k|² >= 0                                    for sigma_k

with u = H' v + u_bias. x contains r_N and y_k of friction cones and r of the other blocks: free ones have u =
0, and -u is in the normal cone of the bounds of the others. The last two lines are Coulomb's law, sigma_k =
|u_k| at a closed contact (Trinkle, Pang, Sudarsky & Lo 1997; Tzitzouris 2001), in units where every mu_k is
1. The usual stationarity condition of maximal dissipation, u_k + 2 beta r_k = 0 with 0 <= beta ⟂ (mu r_N)² -
|r_k|² >= 0, has no solution at an opening contact, where r = 0 and u_k is not 0. Multiplied by r_N it has.

The form "direction" has y_k = r_N d_k, u_k + sigma_k d_k = 0 and 0 <= sigma_k ⟂ 1 - |d_k|² >= 0: the same
divided by r_N, which is bilinear in the momenta. sigma_k = |u_k| and d_k = -u_k / |u_k| are then unique
at sliding and opening contacts, and rows keep their size at contacts with small impulses. d_k is not unique
at contacts that touch without force.

The relaxation replaces u_N by u_N - sum_k mu_k |u_k|, as the equations of motion of the GAMS models of 2014
do; its norm is smoothed, because it is not differentiable at sticking contacts.

r is not unique for redundant contacts, so solvers must handle a singular Jacobian.
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
"""Number of unknowns up to which the Jacobian is a dense array."""


@dataclass(frozen=True)
class MotionConversion:
    """Equations of motion as a NonlinearProblem, and the map of its solution back."""

    problem: NonlinearProblem
    """The mixed complementarity problem, in units in which all numbers are of order one."""
    recover: Callable[[Array], Answer]
    """Map from z to the impulses, velocities and multipliers of the original."""
    guess: Callable[[Array], Array]
    """Map from impulses r of the original to z, with the corresponding motion."""
    leader: IntArray
    """Index of r_N for the friction and sliding speed of a contact, which may be 0 if r_N is 0; -1 for other
    unknowns [-], shape (size of z,)."""


def motion_mcp(
    problem: GlobalProblem | ContactProblem,
    law: str = "exact",
    smoothing: float = 1e-8,
    form: str = "product",
) -> MotionConversion:
    """Return the equations of motion of `problem` as a mixed complementarity problem.

    law        "exact" for Coulomb's law, "relaxed" for its convex relaxation
    smoothing  ε of √(|u_k|² + ε²) - ε in the relaxation, in units of the free velocities; 0 uses the norm,
               with derivative 0 at 0
    form       "product" or "direction" of the friction law, with the same solutions in r and v
    """
    if law not in LAWS:
        raise ProblemError(f'law is {law!r}, expected "exact" or "relaxed"')
    if form not in FORMS:
        raise ProblemError(f'form is {form!r}, expected "product" or "direction"')
    smoothing = float(flat("smoothing", smoothing, 1)[0])
    if not (np.isfinite(smoothing) and smoothing >= 0.0):
        raise ProblemError(f"smoothing is {smoothing}; it must be finite and not negative")
    if isinstance(problem, GlobalProblem | ContactProblem):
        return _Motion(problem, law, smoothing, form).conversion()
    raise ProblemError(f"the equations of motion need contacts; this is a {type(problem).__name__}")


class _Law:
    """Rows of x and sigma: residuals and derivatives as functions of x, u and sigma."""

    def __init__(self, K: ProductSet, coefficient: Array, law: str, smoothing: float, form: str, dense: bool):
        self.K, self.relaxed, self.smoothing = K, law == "relaxed", smoothing
        self.direction, self.dense = form == "direction", dense
        size = K.group_size
        start = group_starts(K)
        block = K.group_owner
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
        """Groups without friction, which have y_k = 0 and sigma_k = 0, shape (ng,)."""
        self.plain = np.setdiff1d(np.arange(K.size), self.tangent)
        """Components whose residual is u (for normals minus the relaxation's term)."""
        lower, upper = (K.spread(b) for b in (K.lower, K.upper))
        lower[self.tangent], upper[self.tangent] = -np.inf, np.inf
        self.lower = np.concatenate([lower, np.where(self.held, -np.inf, 0.0)])
        self.upper = np.concatenate([upper, np.full(self.count, np.inf)])

    def norms(self, x: Array) -> Array:
        """Return |x_k| of every group, shape (ng,)."""
        return np.sqrt(np.bincount(self.group, x[self.tangent] ** 2, self.count))

    def impulse(self, x: Array) -> Array:
        """Return r of x, shape (n,)."""
        r, g, t = x.copy(), self.group, self.tangent
        r[t] = self.mu[g] * x[t] * (x[self.normal][g] if self.direction else 1.0)
        return r

    def by_x(self, x: Array) -> Matrix:
        """Return dr/dx, shape (n, n)."""
        g, t, n = self.group, self.tangent, self.K.size
        rows, cols, values = [self.plain, t], [self.plain, t], [np.ones(self.plain.size), self.mu[g]]
        if self.direction:
            values[1] = values[1] * x[self.normal][g]
            rows, cols, values = [*rows, t], [*cols, self.normal[g]], [*values, self.mu[g] * x[t]]
        return _filled(rows, cols, values, n, self.dense)

    def unknowns(self, r: Array) -> Array:
        """Return x of r, shape (n,); 0 for directions that r does not determine."""
        x, g, t = r.copy(), self.group, self.tangent
        reach = self.mu[g] * (r[self.normal][g] if self.direction else 1.0)
        x[t] = np.where(reach > 0.0, r[t] / np.where(reach > 0.0, reach, 1.0), 0.0)
        return x

    def residual(self, x: Array, u: Array, sigma: Array) -> Array:
        """Return the residuals of the rows of x and sigma, shape (n + ng,)."""
        F, g, t = u.copy(), self.group, self.tangent
        size = np.ones(self.count) if self.direction else x[self.normal]
        F[t] = np.where(self.held[g], x[t], size[g] * u[t] + sigma[g] * x[t])
        if self.relaxed:
            e = self.smoothing
            np.subtract.at(F, self.normal, self.mu * (np.sqrt(self.norms(u) ** 2 + e * e) - e))
        return np.concatenate([F, np.where(self.held, sigma, size**2 - self.norms(x) ** 2)])

    def by_velocity(self, x: Array, u: Array) -> Matrix:
        """Return d(rows of x)/du, shape (n, n)."""
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
        """Return d(rows of x and sigma)/d(x, sigma) at constant u, shape (n + ng, n + ng)."""
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
        """Return sigma for u: |u_k|, shape (ng,)."""
        return np.where(self.held, 0.0, self.norms(u))

    def leader(self, before: int) -> IntArray:
        """Return the index of r_N for all unknowns of its friction, with `before` unknowns before x."""
        out = np.full(before + self.K.size + self.count, -1, np.int64)
        out[before + self.tangent] = before + self.normal[self.group]
        out[before + self.K.size :] = before + self.normal
        return out

    def names(self) -> list[str]:
        """Return the names of the unknowns x and sigma."""
        K = self.K
        block = K.owner
        of = K.group_owner
        within = np.arange(self.count) - K.group_offset[:-1][of]
        return [f"contact {i}, component {k - K.offset[i]}" for k, i in enumerate(block)] + [
            f"sliding speed of contact {i}, group {k}" for i, k in zip(of, within, strict=True)
        ]


class _Motion:
    """z = (v, lam, x, sigma) with u = H' v + u_bias, or z = (x, sigma) with u = W r + u_free for contacts.

    z is in units of √J and divided by the size of the free motion.
    """

    def __init__(self, problem: GlobalProblem | ContactProblem, law: str, smoothing: float, form: str):
        self.original, K = problem, problem.K
        if isinstance(problem, GlobalProblem):
            nv, p, diagonal = problem.M.size, problem.g_bias.size, delassus_diagonal(problem)
        else:
            nv, p, diagonal = 0, 0, problem.W.diagonal()
        self.ends = nv, nv + p, nv + p + K.size
        self.size = self.ends[2] + K.group_size.size
        self.dense = self.size <= DENSE
        scales = metric(K, diagonal)
        unit = scales.length * K.spread(np.sqrt(scales.rho))
        self.W: Any = None
        """W of a contact problem, shape (n, n)."""
        self.Ht: Any = np.zeros((K.size, 0))
        self.top: Any = np.zeros((0, K.size))
        """Coefficients of v, lam and r in the rows of v and lam."""
        if isinstance(problem, GlobalProblem):
            self._of_bodies(problem, unit)
        else:
            matrix: Any = problem.W.dense() if self.dense else problem.W.blocks(K).sparse()
            self.W, energy = _scaled(matrix, unit, unit), _size(problem.u_free * unit)
            self.constant, self.bias = np.zeros(0), problem.u_free * unit / energy
            self.units = np.zeros(0), np.zeros(0), unit * energy
        self.law = _Law(_in_units(K, self.units[2]), scales.coefficient, law, smoothing, form, self.dense)

    def _of_bodies(self, problem: GlobalProblem, unit: Array) -> None:
        """Compute the matrices of a global problem."""
        M, n, p = problem.M, problem.size, problem.g_bias.size
        mass = M.sparse.diagonal()
        body = 1.0 / np.sqrt(mass)
        H, G = problem.H_sparse(), problem.G_sparse()
        grip = np.asarray(G.multiply(G).T @ (1.0 / mass)).reshape(-1)
        joint = 1.0 / np.sqrt(np.where(grip > 0.0, grip, 1.0))
        v_free = M.solve(problem.f)
        energy = _size(problem.contact_velocity(v_free) * unit, problem.joint_velocity(v_free) * joint)
        M, H, G = (
            _scaled(A.toarray() if self.dense else A, body, b)
            for A, b in ((M.sparse, body), (H, unit), (G, joint))
        )
        stack: Any = np if self.dense else sp
        nothing: Any = np.zeros((p, p + n)) if self.dense else sp.csr_array((p, p + n))
        rows = stack.vstack([stack.hstack([M, -G, -H]), stack.hstack([G.T, nothing])])
        self.top, self.Ht = (rows, H.T) if self.dense else (sp.csr_array(rows), sp.csr_array(H.T))
        self.constant = np.concatenate([-problem.f * body, problem.g_bias * joint]) / energy
        self.bias = problem.u_bias * unit / energy
        self.units = body * energy, joint * energy, unit * energy
        """Units of v, lam and r."""

    def velocity(self, v: Array, r: Array) -> Array:
        """Return u, shape (n,)."""
        u = self.Ht @ v if self.W is None else self.W @ r
        return np.asarray(u + self.bias)

    def residual(self, z: Array) -> Array:
        nv, a, b = self.ends
        r = self.law.impulse(z[a:b])
        law = self.law.residual(z[a:b], self.velocity(z[:nv], r), z[b:])
        return np.concatenate([self.top @ np.concatenate([z[:a], r]) + self.constant, law])

    def jacobian(self, z: Array) -> Matrix:
        nv, a, b = self.ends
        x, sigma = z[a:b], z[b:]
        u, dr = self.velocity(z[:nv], self.law.impulse(x)), self.law.by_x(x)
        B, L = self.law.by_velocity(x, u), self.law.by_unknowns(x, u, sigma)
        by_x = None if self.W is None else B @ (self.W @ dr)
        if self.dense:
            J = np.zeros((self.size, self.size))
            J[:a, :a] = self.top[:, :a]
            J[:a, a:b] = self.top[:, a:] @ dr
            J[a:b, :nv] = B @ self.Ht
            J[a:, a:] = L
            if by_x is not None:
                J[a:b, a:b] += by_x
            return J
        if by_x is not None:
            by_x = sp.csr_array(by_x)
            by_x.resize(L.shape)
            return sp.csr_array(L + by_x)
        left = sp.csr_array(B @ self.Ht)
        left.resize((self.size - a, a))
        right = sp.csr_array(self.top[:, a:] @ dr)
        right.resize((a, self.size - a))
        return sp.csr_array(sp.block_array([[self.top[:, :a], right], [left, L]]))

    def conversion(self) -> MotionConversion:
        problem, of_bodies = self.original, isinstance(self.original, GlobalProblem)
        nv, a, b = self.ends
        body, joint, unit = self.units

        def recover(z: Array) -> Answer:
            z = flat("z", z, self.size)
            r = self.law.impulse(z[a:b]) * unit
            if not isinstance(problem, GlobalProblem):
                return Answer(r)
            return Answer(r, z[:nv] * body, z[nv:a] * joint if problem.G is not None else None)

        def guess(r: Array) -> Array:
            new, v = np.asarray(r, np.float64).reshape(-1) / unit, np.zeros(0)
            if isinstance(problem, GlobalProblem):
                v = problem.M.solve(problem.f + problem.pushed(new * unit, np.zeros(a - nv))) / body
            speeds = self.law.speeds(self.velocity(v, new))
            return np.concatenate([v, np.zeros(a - nv), self.law.unknowns(new), speeds])

        free = np.full(a, np.inf)
        names = [f"velocity {i}" for i in range(nv)] + [f"bilateral row {i}" for i in range(a - nv)]
        nonlinear = NonlinearProblem(
            self.residual, self.jacobian,
            np.concatenate([-free, self.law.lower]), np.concatenate([free, self.law.upper]),
            (*names, *self.law.names()), title="equations of motion" if of_bodies else "contact law",
        )  # fmt: skip
        return MotionConversion(nonlinear, recover, guess, self.law.leader(a))


def _in_units(K: ProductSet, unit: Array) -> ProductSet:
    """Return K with the bounds of its one-component blocks in other units."""
    first = unit[K.offset[:-1]]
    return ProductSet(
        K.kind, K.offset, K.lower / first, K.upper / first, K.group_offset, K.group_size, K.coefficient
    )


def _size(*velocities: Array) -> float:
    """Return the root mean square of the free velocities, 1 if there are none [√J].

    The largest is not used, because one fast contact among many would make all others negligible.
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
    """Return a square matrix with these entries, without duplicates."""
    where = (np.concatenate(rows), np.concatenate(cols))
    if dense:
        out = np.zeros((size, size))
        out[where] = np.concatenate(values)
        return out
    return sp.coo_array((np.concatenate(values), where), shape=(size, size)).tocsr()
