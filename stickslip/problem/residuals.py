"""The judge: the independent residual check by which all solutions are measured.

`judge(problem, r)` takes only the problem and the answer and recomputes everything else. Its measures:

- natural: |r - P_K(r - u_hat)| / max(|u_free|, |r|, |u|), the measure of published profiles; it
  depends on the units chosen.
- natural_scaled: the same map with rho_i = 1 / mean diag W_ii, which does not depend on units:
  |r - P_K(r - rho u_hat)| / max(|r|, |rho u_free|, |rho u|). Rolling and torsional components have
  their own rho_g; they are first divided by the length sqrt(rho_g / rho_i), so that metres and
  millimetres give the same number.
- impulse, velocity, work: largest distance of r to K [N s] and of u_hat to K* [m/s], largest
  |r·u_hat| of a contact [J].
- worst: the contact with the largest share in natural_scaled.
- approach: the largest speed -u_N at which a contact closes, over the largest free velocity V;
  0 where it is rounding of W r, infinite where u_free is lost beside the impulses.
- local: the largest natural map of a single contact on its own scale, |r_i - P_K(r_i - w u_hat_i)| / (w V)
  with w = max(|r_i| / V, rho_i); 0 where it is rounding of W r.

The norms of natural and natural_scaled do not detect errors of a contact whose impulse is small beside the
largest. Both also decrease as impulses grow: if walls close on a body, which no impulse stops, they become
arbitrarily small. approach and local do not, because V is given with the problem. An answer with
approach <= eps solves, as far as closing contacts are concerned, a problem whose free velocities differ by
eps V.

A contact with W_ii = 0 takes 1 / (mean W of the others), 1 if there is none. 0/0 is 0. An empty problem is
solved. Numbers beyond 1e±140 are not judged (NaN). A problem is solved if natural <= tolerance and
natural_scaled <= tolerance, for global problems also equilibrium and joints, and if approach and local are at
most 100 tolerance, and at most 0.1 unless the tolerance is larger.

A NonlinearProblem has natural = natural_scaled = |z - P(z - F(z))|_inf / max(1, |F(reference)|_inf): that
of a BoxProblem where F is affine, whose |b|_inf is |F(0)|_inf.

`judge(problem, r, relaxed=True)` measures r as a solution of the convex relaxation K* ∋ u ⟂ r ∈ K: the
same measures with u instead of u_hat. It is another law for sliding contacts, and answers that satisfy only
the relaxation never count as solved.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels import body_measures as bodies
from stickslip.kernels import measures as forms
from stickslip.kernels import residuals as kernels
from stickslip.kernels.residuals import Metric
from stickslip.problem import parts
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, flat, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.nonlinear import NonlinearProblem
from stickslip.problem.operator import BlockDelassus, DenseDelassus
from stickslip.problem.parts import Graph
from stickslip.problem.sets import ProductSet

SMALL = 300
"""Number of components up to which a dense W is judged in one compiled call."""
CLOSING = kernels.CLOSING_SHARE
"""Largest closing speed of a contact of a solved problem, relative to the largest free velocity."""


@dataclass(frozen=True)
class Residuals:
    """Residuals of an answer, computed by the judge; all are zero for an exact answer."""

    natural: float
    """Natural-map residual, relative, with rho = 1 [-]."""
    natural_scaled: float
    """Natural-map residual, relative, independent of units [-]."""
    impulse: float
    """Largest distance of a contact's r to its set [N s]."""
    velocity: float
    """Largest distance of a contact's u_hat to the dual set [m/s]."""
    work: float
    """Largest |r·u_hat| of a contact [J]."""
    worst: int
    """Contact with the largest contribution to natural_scaled; -1 if there is none."""
    approach: float = 0.0
    """Largest speed at which a contact still closes, over the largest free velocity [-]."""
    local: float = 0.0
    """Largest natural-map residual of a single contact on its own scale [-]."""
    equilibrium: float = 0.0
    """Error of the equation of motion, global problems only [-]: the larger of
    |M v - f - H r - G lam| / max(|M v|, |f|, |H r + G lam|) and of the same error as a velocity,
    |M^-1 (...)| / max(|v|, |v_free|, |W_ii r_i|)."""
    joints: float = 0.0
    """|G' v + g_bias| / max(|g_bias|, |A v|, |A v_free|), A = |G'| entrywise, global problems only [-]."""

    @property
    def error(self) -> float:
        """Largest of natural, natural_scaled, equilibrium and joints [-]; infinite if any is NaN."""
        total = self.natural + self.natural_scaled + self.equilibrium + self.joints
        if total != total:
            return math.inf
        return max(self.natural, self.natural_scaled, self.equilibrium, self.joints)

    @property
    def single(self) -> float:
        """Larger of approach and local, the measures of single contacts [-]; infinite if any is NaN."""
        total = self.approach + self.local
        return math.inf if total != total else max(self.approach, self.local)

    def solved(self, tolerance: float) -> bool:
        """Whether `error` is at most `tolerance`, and `single` at most `single_bound(tolerance)`.

        The second condition rejects impulses that grow without bound between closing walls, and errors of
        light bodies that are hidden in the norms by heavy ones.
        """
        return self.error <= tolerance and self.single <= single_bound(tolerance)

    def rows(self, tolerance: float | None = None) -> list[tuple[str, str]]:
        """Return names and values for printing."""
        bound = "" if tolerance is None else f"  (tolerance {tolerance:.0e})"
        rows = [
            ("natural", f"{self.natural:.3e}{bound}"),
            (
                "natural_scaled",
                f"{self.natural_scaled:.3e}"
                + (f"  worst at contact {self.worst}" if self.worst >= 0 else ""),
            ),
            (
                "distances",
                f"r to K {self.impulse:.2e} N s, u_hat to K* {self.velocity:.2e} m/s, work {self.work:.2e} J",
            ),
        ]
        rows.append(
            ("single contacts", f"{self.local:.2e} on their own scale, closing {self.approach:.2e} of V")
        )
        if self.equilibrium or self.joints:
            rows.append(("equilibrium", f"{self.equilibrium:.2e}, joints {self.joints:.2e}"))
        return rows


def single_bound(tolerance: float) -> float:
    """Return the bound on `Residuals.single` of a problem solved to `tolerance` [-]."""
    return max(tolerance, min(CLOSING, kernels.SINGLE * tolerance))


def metric(K: ProductSet, diagonal: Array) -> Metric:
    """Return the scales of natural_scaled from the diagonal of W [1/kg]."""
    return kernels.metric(K.arrays, diagonal)  # type: ignore[no-any-return]


def judge(
    problem: ContactProblem | GlobalProblem | BoxProblem | NonlinearProblem,
    r: ArrayLike,
    v: ArrayLike | None = None,
    lam: ArrayLike | None = None,
    *,
    relaxed: bool = False,
) -> Residuals:
    """Return the residuals of impulses `r` (and `v`, `lam` of a global problem) for a problem.

    relaxed    measure the convex relaxation of the law instead

    If v is None, it is computed from r by M v = f + H r + G lam.

    Example:

        problem = ss.ContactProblem(np.eye(3) / 2.0, [-0.07, 0.07, 0.0], ss.coulomb([0.5]))
        print(ss.judge(problem, [0.14, -0.07, 0.0]).natural)
    """
    r = flat("z" if isinstance(problem, BoxProblem | NonlinearProblem) else "r", r, problem.size)
    if isinstance(problem, GlobalProblem):
        rows = problem.g_bias.size
        lam = flat("lam", np.zeros(rows) if lam is None else lam, rows)
        v = None if v is None else flat("v", v, problem.M.size)
        return examine(problem, r, v, lam, relaxed)[0]
    return examine(problem, r, None, None, relaxed)[0]


def examine(
    problem: ContactProblem | GlobalProblem | BoxProblem | NonlinearProblem,
    r: Array,
    v: Array | None,
    lam: Array | None,
    relaxed: bool = False,
) -> tuple[Residuals, Array]:
    """Return the judge's residuals and the contact velocities computed from r; flat arrays only."""
    r = frozen(r.view())
    if isinstance(problem, ContactProblem):  # u is recomputed, never taken from a solver
        K, W, u_free = problem.K, problem.W, problem.u_free
        if type(W) is DenseDelassus and K.size <= SMALL and not relaxed:
            out, u = forms.judge_dense(tuple(K.arrays), W.rows, r, u_free)
            return from_measures(out), u
        if type(W) is BlockDelassus and W.offset is K.offset and not relaxed:
            out, u = forms.measure_blocks(tuple(K.arrays), tuple(W.arrays), r, u_free)
            return from_measures(out), u
        u = W.apply(r, u_free)
        return _judge_law(K, r, u, u_free, W.diagonal(), relaxed), u
    with np.errstate(all="ignore"):  # overflow gives infinite or NaN residuals
        if isinstance(problem, GlobalProblem):
            return _judge_global(problem, r, v, np.zeros(0) if lam is None else lam, relaxed)
        if isinstance(problem, NonlinearProblem):
            w = problem.value(r)
            return _judge_nonlinear(problem, r, w), w
        return _judge_box(problem, r)


def _judge_law(K: ProductSet, r: Array, u: Array, u_free: Array, diagonal: Array, relaxed: bool) -> Residuals:
    shift = kernels.RELAXED if relaxed else kernels.EXACT
    return from_measures(kernels.measure(K.arrays, shift, diagonal, r, u, u_free))


def from_measures(out: Array, equilibrium: float = 0.0) -> Residuals:
    """Return the residuals of a contact problem from the kernel's measures, shape (MEASURES,)."""
    natural, scaled, impulse, velocity, energy, worst, approach, local = out.tolist()
    if natural != natural:
        impulse = velocity = energy = approach = local = natural
    residuals = object.__new__(Residuals)  # faster than the constructor, which sets fields one by one
    residuals.__dict__.update(
        natural=natural, natural_scaled=scaled, impulse=impulse, velocity=velocity, work=energy,
        worst=int(worst), approach=approach, local=local, equilibrium=equilibrium,
        joints=0.0,
    )  # fmt: skip
    return residuals


def _judge_box(problem: BoxProblem, z: Array) -> tuple[Residuals, Array]:
    """Return the residuals of a box problem, and w = A z + b.

    natural is |z - P(z - w)|_inf / max(1, |b|_inf); natural_scaled is the same with rho = 1 / |A_ii| and
    without the 1. approach is the largest w_i directed against an infinite bound, which no z_i can balance,
    over the largest of |b| and |A| |finite bounds|: the size of w from the data alone.
    """
    A, b, lower, upper = problem.A, problem.b, problem.lower, problem.upper
    if problem.rows is not None:
        out, w = forms.measure_box(problem.rows, b, lower, upper, z)
        return from_measures(out), w
    w, out = problem.value(z), np.empty(kernels.MEASURES)
    forms.box_norms(frozen(A.diagonal()), b, lower, upper, z, w, out)
    if out[kernels.VELOCITY] > 0.0:
        sizes = abs(A)
        bounds = [np.where(np.isfinite(x), np.abs(x), 0.0) for x in (lower, upper)]
        scale = max(float(np.abs(b).max()), float((sizes @ np.maximum(*bounds)).max()))
        out[kernels.APPROACH] = forms.box_approach(_unanswered(problem, w), sizes @ np.abs(z), scale)
    return from_measures(out), w


def _unanswered(problem: BoxProblem, w: Array) -> Array:
    """Return the parts of w_i directed against infinite bounds, shape (n,)."""
    closing = np.where(problem.upper == np.inf, np.maximum(-w, 0.0), 0.0)
    opening = np.where(problem.lower == -np.inf, np.maximum(w, 0.0), 0.0)
    return np.asarray(closing + opening)


def _judge_nonlinear(problem: NonlinearProblem, z: Array, w: Array) -> Residuals:
    """Return natural |z - P(z - F)|_inf / max(1, |F(reference)|_inf), as of a BoxProblem if F is affine.

    natural_scaled is the same number, because the units of the rows of a nonlinear F are unknown.
    """
    out, scale = np.empty(kernels.MEASURES), np.full(z.size, problem.scale)
    forms.box_norms(np.ones(z.size), scale, problem.lower, problem.upper, z, w, out)
    out[kernels.SCALED] = out[kernels.NATURAL]
    return from_measures(out)


def _judge_global(
    problem: GlobalProblem, r: Array, v: Array | None, lam: Array, relaxed: bool
) -> tuple[Residuals, Array]:
    M, f = problem.M, problem.f
    if problem.G is None and not relaxed:
        if problem.is_matrix_free:
            return _judge_bodies(problem, r, v)
        if problem.dense is not None:
            v = M.solve(f + problem.pushed(r, lam)) if v is None else v
            arrays = problem.dense
            out, equilibrium, u = forms.measure_global(
                tuple(problem.K.arrays), *arrays, problem.u_bias, r, frozen(v.view())
            )
            return from_measures(out, equilibrium), u
    # 1. Velocities from the impulses: M v = f + H r + G lam.
    pushed = problem.pushed(r, lam)
    moved = M.solve(f + pushed)
    v = moved if v is None else v
    v_free = M.solve(f)
    # 2. Contact law.
    u, u_free = problem.contact_velocity(v), frozen(problem.contact_velocity(v_free))
    diagonal = delassus_diagonal(problem)
    law = _judge_law(problem.K, r, u, u_free, diagonal, relaxed)
    # 3. Equation of motion, also measured as velocities: the momentum of a light body may be rounding of a
    #    heavy one's.
    momentum = M.multiply(v)
    equilibrium = max(
        _relative(momentum - f - pushed, momentum, f, pushed), _relative(v - moved, v, v_free, diagonal * r)
    )
    # 4. Joints, relative to the terms of the sum G'v: cancellation among them is rounding, not error.
    joints = 0.0
    if problem.G is not None:
        size = abs(problem.G_sparse()).T
        joints = _relative(problem.joint_velocity(v), problem.g_bias, size @ np.abs(v), size @ np.abs(v_free))
    return replace(law, equilibrium=equilibrium, joints=joints), u


def _judge_bodies(problem: GlobalProblem, r: Array, v: Array | None) -> tuple[Residuals, Array]:
    """Return `_judge_global` for bodies without bilateral rows, in one call, as steps of worlds need it."""
    H, M = problem.H, problem.M
    assert isinstance(H, ContactBlocks)
    k = H.rows.shape[2]
    if parts.are_coulomb(problem.K, H):
        data, graph = parts.body_problem(problem), Graph.of(H, M.size // k)
        v = parts.velocities(data, graph, r).reshape(-1) if v is None else v
        out, equilibrium, u = parts.measure(data, graph, parts.unloaded(data), r, v.reshape(-1, k))
        return from_measures(out, equilibrium), u
    if v is None:
        v = M.solve(problem.f + problem.pushed(r, np.zeros(0)))
    out, equilibrium, u = bodies.measure(
        tuple(problem.K.arrays), H.bodies, H.rows, M.matrix, M.inverse_root, problem.f.reshape(-1, k),
        problem.u_bias, r, frozen(v.view()).reshape(-1, k),
    )  # fmt: skip
    return from_measures(out, equilibrium), u


def delassus_diagonal(problem: GlobalProblem) -> Array:
    """Return the diagonal of H' M^-1 H, without joints [1/kg], shape (n,)."""
    if isinstance(problem.H, ContactBlocks) and problem.M.is_body_blocks:
        F = problem.M.inverse_root
        body = np.repeat(problem.H.bodies, np.diff(problem.K.offset), axis=0)
        scaled = np.einsum("nsk,nskm->nsm", problem.H.rows, F[body]) * (body >= 0)[:, :, None]
        return (scaled**2).sum(axis=(1, 2))
    H = problem.H_matrix
    if isinstance(H, np.ndarray):
        return np.einsum("vn,vn->n", H, problem.M.solve(H))
    return np.asarray(H.multiply(problem.M.solve(H)).sum(axis=0)).reshape(-1)


def _relative(error: Array, *terms: Array) -> float:
    size = float(np.linalg.norm(error))
    scale = max(float(np.linalg.norm(t)) for t in terms)
    return 0.0 if size == 0.0 else (size / scale if scale else float("inf"))
