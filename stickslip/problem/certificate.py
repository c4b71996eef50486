"""Certificates of infeasibility: velocities that no impulse can make admissible.

Whatever its friction, a solution has u_N >= 0 at contacts, u >= 0 at nonnegative blocks and u = 0 at free
ones. An interval without upper bound has u >= 0, one without lower bound u <= 0. So y·u >= 0 for
every recession direction y of K without tangential components. If, however,

    sigma_K(W'y) + y·u_free < 0,      sigma_K(g) = max of g·r over r in K,

then y·u = (W'y)·r + y·u_free < 0 for every r in K: there is no solution (Farkas). For cones sigma_K is
0 if -W'y lies in K* and infinite otherwise; intervals add the terms of their finite bounds. If W is symmetric
positive semidefinite, the condition requires W y = 0: self-equilibrated normal impulses at contacts that
close, as for a body between closing walls. Otherwise it also covers Painlevé's rod.

In floating point -W'y misses K* by some distance e. Then any solution has

    |r| >= -(sigma + y·u_free) / e,

in the norm sum r²/(rho l²) [J] with the scales rho, l of `natural_scaled`; e includes all rounding errors of
the check. The certificate is accepted if this bound is at least `BEYOND` times the impulse that corresponds
to u_free. A GlobalProblem is treated in the same way without the mass matrix: with H y + G z = 0, y·u =
y·u_bias + z·g_bias for every v, and up to rounding any solution has a velocity v larger than v_free by that
factor.

Without friction a second proof is possible: all complementary bases fail (`problem/exhaustion.py`). Such a
certificate stores only their number, and is checked by examining all bases again.
"""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, finite, flat, floats, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.exhaustion import count_bases, exhaust
from stickslip.problem.operator import BlockDelassus, BodyDelassus, Delassus, DenseDelassus, delassus
from stickslip.problem.residuals import delassus_diagonal, metric
from stickslip.problem.sets import ProductSet, interval

BEYOND = 1e10
"""A solution is excluded if it needs at least this many times the natural impulse: u_free would be below
1e-10 of W r, the finest tolerance at which problems are solved."""
EXHAUSTED = 1e-8
"""Tolerance of solutions when all bases are examined again."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proof that a problem has no solution: weights of velocities whose weighted sum closes for all impulses.

    `check_certificate` verifies it.
    """

    y: Array
    """Weights of the contact velocities: self-equilibrated impulses [N s], shape (n,)."""
    z: Array = field(default_factory=lambda: np.zeros(0))
    """Weights of the joint velocities of a GlobalProblem [N s], shape (p,)."""
    bases: int = 0
    """Number of complementary bases, if the proof is that all fail; y and z then have no meaning."""

    def __post_init__(self) -> None:
        for name in ("y", "z"):
            value = floats(name, getattr(self, name)).reshape(-1)
            finite(f"{name} of the certificate", value)
            object.__setattr__(self, name, frozen(value))


@dataclass(frozen=True, slots=True)
class CertificateCheck:
    """Result of the check of a certificate."""

    closing: float
    """Closing that no impulse prevents, -(sigma + y·u_free) over |y| |u_free| [-]; <= 0 proves nothing."""
    beyond: float
    """Smallest size of a solution in units of the natural impulse (velocity for global problems) [-]."""
    contacts: tuple[int, ...] = ()
    """Indices of the blocks with nonzero weight; components of a BoxProblem."""
    refused: str = ""
    """Reason why y is not a certificate; empty if it is."""
    bases: int = 0
    """Number of complementary bases that were examined again and all fail, if that is the proof."""

    @property
    def accepted(self) -> bool:
        """Whether the certificate proves that there is no solution, up to rounding of the data."""
        return not self.refused and (self.bases > 0 or (self.closing > 0.0 and self.beyond >= BEYOND))

    def __str__(self) -> str:
        if self.refused:
            return f"refused: {self.refused}"
        if self.bases:
            return f"accepted: no solution, all {self.bases} complementary bases fail"
        if self.closing <= 0.0:
            return "refused: the weighted velocities do not close"
        shown = ", ".join(map(str, self.contacts[:6])) + (", ..." if len(self.contacts) > 6 else "")
        need = "no impulse is sufficient" if self.beyond == np.inf else f"needs {self.beyond:.1e} times"
        verdict = "accepted" if self.accepted else f"refused (below {BEYOND:.0e})"
        if self.beyond != np.inf:
            need = f"a solution {need} the natural impulse"
        return f"{verdict}: contacts {shown} close, and {need}"


@dataclass(frozen=True, slots=True)
class EnergyUnits:
    """Contact vectors in units of square roots of energy, in which W has approximately unit diagonal."""

    scale: Array
    """sqrt(rho) l: u times it, and r divided by it, are in sqrt(J) [sqrt(kg), sqrt(kg) m], shape (n,)."""
    K: ProductSet
    """Set of r / scale."""


def energy_units(K: ProductSet, diagonal: Array) -> EnergyUnits:
    """Return the units of energy from the diagonal of W [1/kg]."""
    scales = metric(K, diagonal)
    root = np.sqrt(scales.rho)
    scaled = ProductSet(
        K.kind, K.offset, K.lower / root, K.upper / root, K.group_offset, K.group_size, scales.coefficient
    )
    return EnergyUnits(K.spread(root) * scales.length, scaled)


def weight_bounds(K: ProductSet) -> tuple[Array, Array]:
    """Return the smallest and largest admissible weight of each component: 0 or infinite, shape (n,) each.

    They describe the recession directions of K without tangential components.
    """
    low, high = np.zeros(K.size), np.zeros(K.size)
    first, sizes = K.offset[:-1], np.diff(K.offset)
    plain = np.repeat(K.kind != cones.FRICTION, sizes)
    low[plain & np.repeat(K.lower == -np.inf, sizes)] = -np.inf
    high[plain & np.repeat(K.upper == np.inf, sizes)] = np.inf
    high[first[K.kind == cones.FRICTION]] = np.inf
    return low, high


def check_certificate(
    problem: ContactProblem | GlobalProblem | BoxProblem, certificate: Certificate
) -> CertificateCheck:
    """Return whether `certificate` proves that `problem` has no solution; everything is recomputed."""
    if certificate.bases:
        return _check_bases(problem, certificate.bases)
    if isinstance(problem, BoxProblem):
        K = interval(problem.lower, problem.upper)
        W: Delassus = delassus("A", problem.A, K)
        u_free, rows = problem.b, 0
    else:
        K, rows = problem.K, problem.g_bias.size if isinstance(problem, GlobalProblem) else 0
    y = flat("y of the certificate", certificate.y, K.size)
    z = flat("z of the certificate", certificate.z if certificate.z.size else np.zeros(rows), rows)
    # 1. Admissible weights.
    involved = tuple(np.unique(K.owner[np.flatnonzero(y)]).tolist())
    low, high = weight_bounds(K)
    wrong = np.flatnonzero((y < low) | (y > high))
    if wrong.size:
        i = int(K.owner[wrong[0]])
        why = f"block {i} ({K.kind_name(i)}) has a weight of the wrong sign, or a tangential one"
        return CertificateCheck(0.0, 0.0, involved, why)
    # 2. Closing for all impulses, and the size that a solution would need (module docstring).
    with np.errstate(all="ignore"):  # overflow is rejected below
        if isinstance(problem, GlobalProblem):
            closing, violation, size, weight = _global_terms(problem, y, z)
        else:
            if isinstance(problem, ContactProblem):
                W, u_free = problem.W, problem.u_free
            closing, violation, size, weight = _local_terms(K, W, u_free, y)
        share = closing / (weight * size) if weight * size > 0.0 else np.sign(closing)
        beyond = np.inf if violation == 0.0 else closing / (violation * size)
    if not np.isfinite(closing) or np.isnan(beyond) or not np.isfinite(violation):
        return CertificateCheck(0.0, 0.0, involved, "numbers overflow in the check")
    return CertificateCheck(float(share), max(0.0, float(beyond)), involved)


def _check_bases(problem: ContactProblem | GlobalProblem | BoxProblem, bases: int) -> CertificateCheck:
    """Examine all bases of a problem without friction again."""
    if isinstance(problem, ContactProblem) and not problem.K.group_size.size:
        K, sizes = problem.K, np.diff(problem.K.offset)
        lower, upper = np.repeat(K.lower, sizes), np.repeat(K.upper, sizes)
        problem = BoxProblem(problem.W.dense(), problem.u_free, lower, upper)
    if not isinstance(problem, BoxProblem):
        return CertificateCheck(
            0.0, 0.0, (), "bases can be examined only for problems in local form without friction"
        )
    if count_bases(problem) != bases:
        return CertificateCheck(
            0.0, 0.0, (), f"there are {count_bases(problem)} complementary bases, not {bases}"
        )
    result = exhaust(problem, EXHAUSTED, bases, first=True)
    if not result.proves_none:
        why = (
            "one of the complementary bases gives a solution"
            if result.solutions
            else (f"rounding leaves {result.undecided} of {bases} complementary bases undecided")
        )
        return CertificateCheck(0.0, 0.0, (), why)
    return CertificateCheck(0.0, 0.0, (), "", bases)


def _local_terms(K: ProductSet, W: Delassus, u_free: Array, y: Array) -> tuple[float, float, float, float]:
    """Return closing [J], distance of -W'y to K*, sizes of u_free and of y [sqrt(J)], with rounding."""
    units = energy_units(K, W.diagonal())
    scale = units.scale
    unit = _rounding(2 * W.rows.shape[2] if isinstance(W, BodyDelassus) else 0, y)
    g, terms = transposed(W, y)
    g, rounding = scale * g, unit * scale * terms
    outside = np.linalg.norm(units.K.project_dual(-g) + g) + np.linalg.norm(rounding)
    bounded, bounds = _support(units.K, g, rounding)
    parts = y * u_free
    closing = -float(parts.sum()) - unit * float(np.abs(parts).sum()) - bounded
    size = float(np.linalg.norm(scale * u_free)) + bounds
    return closing, float(outside), size, float(np.linalg.norm(y / scale))


def _support(K: ProductSet, g: Array, rounding: Array) -> tuple[float, float]:
    """Return the contribution of finite interval bounds to sigma_K(g), and the size of those bounds."""
    blocks = np.flatnonzero(K.kind == cones.INTERVAL)
    g, rounding = g[K.offset[blocks]], rounding[K.offset[blocks]]
    low, high = K.lower[blocks], K.upper[blocks]
    low, high = np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low)
    low, high = (np.where(np.isfinite(x), x, 0.0) for x in (low, high))
    largest = np.maximum(np.abs(low), np.abs(high))
    return float((np.maximum(low * g, high * g) + largest * rounding).sum()), float(np.linalg.norm(largest))


def _global_terms(problem: GlobalProblem, y: Array, z: Array) -> tuple[float, float, float, float]:
    """Return closing [J], |H y + G z|, sizes of the free motion and of y [sqrt(J)], with rounding."""
    M, H, G, unit = problem.M, problem.H_sparse(), problem.G_sparse(), _rounding(0, y, z)
    d, terms = H @ y + G @ z, abs(H) @ np.abs(y) + abs(G) @ np.abs(z)
    violation = sum(np.sqrt(max(0.0, float(x @ M.solve(x)))) for x in (d, unit * terms))
    bias = np.concatenate([y * problem.u_bias, z * problem.g_bias])
    closing = -float(bias.sum()) - unit * float(np.abs(bias).sum())
    v_free = M.solve(problem.f)
    diagonal = delassus_diagonal(problem)
    scale = energy_units(problem.K, diagonal).scale
    joint = np.asarray(G.multiply(M.solve(G)).sum(axis=0)).reshape(-1)
    joint = np.sqrt(np.where(joint > 0.0, joint, 1.0))
    sizes = (
        np.sqrt(max(0.0, float(v_free @ M.multiply(v_free)))),
        np.linalg.norm(scale * problem.contact_velocity(v_free)),
        np.linalg.norm(scale * problem.u_bias),
        np.linalg.norm(problem.g_bias / joint),
    )
    weight = float(np.hypot(np.linalg.norm(y / scale), np.linalg.norm(z * joint)))
    return closing, float(violation), float(max(sizes)), weight


def transposed(W: Delassus, y: Array) -> tuple[Array, Array]:
    """Return W'y and the sum of the sizes of its terms |W|'|y| [m/s], shape (n,) each."""
    if isinstance(W, BodyDelassus):
        J = W.sparse()
        A = abs(J)
        return J @ (J.T @ y), A @ (A.T @ np.abs(y))
    matrix = matrix_of(W)
    return matrix.T @ y, abs(matrix).T @ np.abs(y)


def matrix_of(W: Delassus) -> Array | sp.csr_array:
    """Return W as one matrix, sparse if it is stored in blocks [1/kg], shape (n, n)."""
    if isinstance(W, DenseDelassus):
        return W.matrix
    return W.sparse() if isinstance(W, BlockDelassus) else W.dense()


def _rounding(extra: int, *weights: Array) -> float:
    """Bound the rounding error of a sum over the nonzero weights and `extra` terms, relative to its terms.

    Half a unit of rounding for each sum and product (Higham 2002, 3.1), and four more for the scales.
    """
    terms = 4 + extra + sum(int(np.count_nonzero(w)) for w in weights)
    return 0.5 * float(np.finfo(float).eps) * terms
