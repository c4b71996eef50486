"""Smoothed contact laws: points of the central path of a contact problem at a given kappa.

With kappa > 0 [J] the complementarity products are kappa instead of 0:

- contacts and one-sided bounds: r_N u_N = kappa, (r - lower) u = kappa, (upper - r)(-u) = kappa;
- each group of a friction cone: (mu r_N, r_k) ∘ (eta, u_k) = kappa (1, 0, ...), the product of the
  second-order cone. Without eta it reads r_k = -phi(u_k, mu r_N) with
  phi(u, s) = 2 s² u / (kappa + sqrt(kappa² + 4 s² |u|²));
- intervals bounded on both sides are such a cone of radius (upper - lower) / 2 about their middle;
- free blocks: u = 0, as in the exact law.

Hence u_N = kappa / r_N at a loaded contact, and friction has its full magnitude where |u_k| is large compared
with kappa / (mu r_N).
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from stickslip.gradients.solution_factor import Factor
from stickslip.gradients.solution_laws import Law, LawPart, LawPoint, scalar_law
from stickslip.gradients.solution_rows import LawScales, Reduced, family_rows, scalar_components
from stickslip.kernels import cones
from stickslip.problem.sets import ProductSet
from stickslip.state import Array, IntArray, ModelError

ITERATIONS = 60
"""Largest number of Newton steps at one kappa; heuristic."""
STAGES = 12
"""Number of values of kappa, each four times the previous one, when the path is followed from the solution;
heuristic."""
CLOSE = 1e-13
"""Residual at which Newton's method has converged, relative to the size of impulses and velocities [-];
heuristic."""


def smoothed_law(K: ProductSet, scales: LawScales, r: Array, u: Array, kappa: float) -> Law:
    """Return the smoothed law linearised at any r and u; its residual is zero on the central path."""
    at = LawPoint(K, scales, r / scales.length, scales.push * u)
    parts: list[LawPart] = []
    weight = np.ones(K.size)
    if (K.kind != cones.FRICTION).any():
        parts.append(_scalars(at, kappa, weight))
    for groups, blocks in K.families().items():
        if groups:
            parts.append(_family(at, groups, blocks, kappa, weight))
    return Law(parts, scales, np.zeros(K.size, bool), weight=weight)


def central_point(problem: Reduced, r: Array, kappa: float) -> tuple[Array, Law]:
    """Return impulses on the central path at `kappa`, and the law there, by Newton's method from r.

    Three strategies are tried in turn: Newton's method at kappa directly; along the path, with kappa
    increasing
    from a small value; with kappa decreasing from a large value, for solutions that are not unique.
    """
    W, u_free, scales = problem.W, problem.u_free, problem.scales

    def law_at(z: Array, smoothing: float) -> Law:
        impulses = scales.length * z
        return smoothed_law(problem.K, scales, impulses, problem.u(impulses), smoothing)

    start = r / scales.length
    size = max(float(np.linalg.norm(start)), float(np.linalg.norm(scales.push * u_free)), 1e-300)
    top = max(float(np.abs(scales.push * u_free * u_free).max(initial=0.0)), kappa)
    count = int(np.ceil(np.log(top / kappa) / np.log(4.0)))
    for powers in (range(1), range(STAGES, -1, -1), range(-count, 1)):
        z, point = start, None
        for power in powers:
            point = _newton(law_at, W, z, kappa * 0.25**power, size)
            if point is None:
                break
            z = point[0]
        if point is not None:
            return scales.length * point[0], point[1]
    raise ModelError(
        f"the central path of this solution has no point at kappa = {kappa:g} J; choose a smaller one"
        " (where bodies are wedged between contacts there is none at all)"
    )


def _newton(
    law_at: Callable[[Array, float], Law], W: Array | sp.csr_array, z: Array, kappa: float, size: float
) -> tuple[Array, Law] | None:
    law = law_at(z, kappa)
    error = float(np.linalg.norm(law.residual()))
    for _ in range(ITERATIONS):
        if error <= CLOSE * size:
            return z, law
        factor = Factor(law.matrix(W), law.passive)
        step = factor.solve(law.residual()[:, None])[:, 0]
        if not np.isfinite(step).all():
            return None
        share = 1.0
        while True:
            trial = law_at(z - share * step, kappa)
            # Both residuals in the weights of the current point; otherwise the step need not be a descent
            # step.
            now = float(np.linalg.norm(trial.residual() * (law.weight / trial.weight)))
            if now <= (1.0 - 1e-4 * share) * error or share < 1e-8:
                break
            share *= 0.5
        if not now < error:  # rounding, or no descent
            return (z, law) if error <= 1e3 * CLOSE * size else None
        z, law, error = z - share * step, trial, float(np.linalg.norm(trial.residual()))
    return None


def _scalars(at: LawPoint, kappa: float, weights: Array) -> LawPart:
    rows, block, low, high = scalar_components(at.K)
    length = at.scales.length[rows]
    low, high = low / length, high / length
    z, y, k = at.z[rows], at.y[rows], kappa * at.scales.push[rows] / length
    below, above = np.isfinite(low), np.isfinite(high)
    A, B, residual = np.zeros(rows.size), np.ones(rows.size), y.copy()
    bound = np.zeros((rows.size, 2))
    for only, edge, side in ((below & ~above, low, 1.0), (above & ~below, high, -1.0)):
        a, b = side * (z[only] - edge[only]), side * y[only]
        A[only], B[only], value = _product(a, b, k[only])
        residual[only] = side * value
        bound[only, 0 if side > 0.0 else 1] = A[only]
    both = below & above
    middle, radius = 0.5 * (low[both] + high[both]), 0.5 * (high[both] - low[both])
    force, by_radius, by_velocity = _friction(y[both, None], radius, k[both])
    weight = 1.0 / (1.0 + by_velocity[:, 0, 0])
    weights[rows[both]] = weight
    A[both], B[both] = weight, weight * by_velocity[:, 0, 0]
    residual[both] = weight * (z[both] - middle + force[:, 0])
    bound[both, 0] = weight * 0.5 * (1.0 + by_radius[:, 0])
    bound[both, 1] = weight * 0.5 * (1.0 - by_radius[:, 0])
    return scalar_law(rows, block, A, B, residual, bound)


def _family(at: LawPoint, groups: tuple[int, ...], blocks: IntArray, kappa: float, weights: Array) -> LawPart:
    rows, group, slices = family_rows(at.K, groups, blocks)
    mu, z, y = at.scales.coefficient[group], at.z[rows], at.y[rows]
    k = kappa * at.scales.push[rows[:, 0]]  # r u is z y / push of the normal, in every group
    count, d = rows.shape
    A, B = np.zeros((count, d, d)), np.zeros((count, d, d))
    residual, C = np.zeros((count, d)), np.zeros((count, d, len(slices)))
    A[:, 0, 0], B[:, 0, 0], residual[:, 0] = _product(z[:, 0], y[:, 0], k)
    for g, part in enumerate(slices):
        force, by_radius, by_velocity = _friction(y[:, part], mu[:, g] * z[:, 0], k)
        weight = 1.0 / (1.0 + np.abs(by_velocity).max(axis=(1, 2)))
        weights[rows[:, part]] = weight[:, None]
        A[:, part, part] = weight[:, None, None] * np.eye(part.stop - part.start)
        A[:, part, 0] = (weight * mu[:, g])[:, None] * by_radius
        B[:, part, part] = weight[:, None, None] * by_velocity
        C[:, part, g] = -(weight * z[:, 0])[:, None] * by_radius
        residual[:, part] = weight[:, None] * (z[:, part] + force)
    none = np.zeros(0, np.int64)
    return LawPart(rows, A, B, residual, group, C, none, np.zeros((0, 2)))


def _product(a: Array, b: Array, k: Array) -> tuple[Array, Array, Array]:
    """Return the derivatives by a and b, and the value, of (a + b - sqrt((a - b)² + 4 k)) / 2.

    The value is zero where a b = k with a, b > 0.
    """
    root = np.hypot(a - b, 2.0 * np.sqrt(k))
    lean = (a - b) / root
    return 0.5 * (1.0 - lean), 0.5 * (1.0 + lean), 0.5 * (a + b - root)


def _friction(u: Array, s: Array, k: Array) -> tuple[Array, Array, Array]:
    """Return phi(u, s), its derivative by s (count, m), and by u (count, m, m)."""
    root = np.hypot(k, 2.0 * s * np.linalg.norm(u, axis=1))
    below = k + root
    slope = 2.0 * s * s / below
    phi = slope[:, None] * u
    by_radius = (2.0 * s / root)[:, None] * u
    curve = 4.0 * s * s / (root * below)
    outer = u[:, :, None] * u[:, None, :]
    by_velocity = slope[:, None, None] * (np.eye(u.shape[1]) - curve[:, None, None] * outer)
    return phi, by_radius, by_velocity
