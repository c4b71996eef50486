"""`existence(problem)`: looking for a motion that opens every contact, by linear programming.

    max t,   u = W x + u_free  (u = H'v + u_bias, G'v + g_bias = 0),   u - t e_N in K*,   t <= 1

in units of energy, with pyramids inside K* (exact in 2D), so that t > 0 proves the condition of
`problem/existence.py`; the door measures the witness. Where t <= 0 a second program looks for the
self-stress that stands against it.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from stickslip.kernels import cones
from stickslip.problem.certificate import energy_units, matrix_of
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.existence import INSIDE, Existence, is_self_stress, witness_margin
from stickslip.problem.operator import Delassus
from stickslip.problem.residuals import delassus_diagonal
from stickslip.problem.sets import ProductSet
from stickslip.solvers.infeasibility import LARGEST, LINPROG, mechanical_defects
from stickslip.solvers.pyramids import dual_pyramid

FACETS = (12, 48)
"""Sides of the pyramids, tried one after the other."""
FAR = 1e-2
"""Largest share of W that may be unsymmetric or negative; recorded matrices have up to 2e-3."""


@dataclass(frozen=True, eq=False)
class _Motions:
    """Contact velocities u = B x + b as x runs over all motions with C x + c = 0, in units of energy."""

    B: sp.csr_array
    """Velocities from motions [-], shape (n, m)."""
    b: Array
    """Velocities without motion, the largest being 1 [-], shape (n,)."""
    C: sp.csr_array
    """Joint velocities from motions [-], shape (p, m)."""
    c: Array
    """Joint velocities without motion [-], shape (p,)."""
    unit: Array
    """What a motion of 1 is in the units of the problem, shape (m,)."""
    K: ProductSet
    """The set, in units of energy."""
    scale: Array
    """Units of contact velocity [sqrt(kg)], shape (n,)."""
    joint: Array
    """Units of joint velocity [sqrt(kg)], shape (p,)."""


def existence(problem: ContactProblem | GlobalProblem) -> Existence:
    """Whether `problem` is sure to have a solution, by the sufficient condition; print the result."""
    if not isinstance(problem, ContactProblem | GlobalProblem):
        raise ProblemError(f"existence takes contact and global problems, not {type(problem).__name__}")
    if problem.contacts == 0:
        return Existence(True, np.inf, np.zeros(problem.M.size if isinstance(problem, GlobalProblem) else 0))
    with np.errstate(all="ignore"):  # what overflows shows nothing
        doubt = _doubt(problem.W) if isinstance(problem, ContactProblem) else _doubt_of_mass(problem)
        if doubt is None:
            why = "W is far from symmetric and positive semidefinite, where the condition says nothing"
            return Existence(False, reason=why)
        motions = _global_motions(problem) if isinstance(problem, GlobalProblem) else _motions(problem)
        if not (np.isfinite(motions.B.data).all() and np.isfinite(motions.b).all()):
            return Existence(False, reason="numbers overflow")
        if motions.B.nnz > LARGEST:
            return Existence(False, reason=f"{motions.B.nnz} nonzeros are too many for this test")
        for facets in FACETS:
            found = _opened(problem, motions, facets)
            if found.holds:
                return replace(found, reason=doubt)
        return _against(problem, motions, FACETS[-1], found.reason)


def _doubt(W: Delassus) -> str | None:
    """How far W is from H' M^-1 H, for which the theorem is; empty to rounding, None if far."""
    skew, negative = mechanical_defects(W)
    if skew > FAR or negative > FAR:
        return None
    said = [f"unsymmetric by {skew:.0e}"] if skew > 1e-8 else []
    if negative > 1e-10 * W.size:
        said.append(f"indefinite by {negative:.0e}")
    if np.isnan(negative):
        said.append("too large to see its eigenvalues")
    return f"W is {' and '.join(said)}" if said else ""


def _doubt_of_mass(problem: GlobalProblem) -> str:
    M = problem.M.sparse
    skew = float(abs(M - M.T).max()) / (float(abs(M).max()) or 1.0) if M.nnz else 0.0
    return f"M is unsymmetric by {skew:.0e}" if skew > 1e-8 else ""


def _motions(problem: ContactProblem) -> _Motions:
    units = energy_units(problem.K, problem.W.diagonal())
    D = sp.diags_array(units.scale)
    W = sp.csr_array(D @ sp.csr_array(matrix_of(problem.W)) @ D)
    b = units.scale * problem.u_free
    size = float(np.abs(b).max(initial=0.0)) or 1.0
    n = problem.size
    return _Motions(
        W, b / size, sp.csr_array((0, n)), np.zeros(0), units.scale * size, units.K, units.scale, np.zeros(0)
    )


def _global_motions(problem: GlobalProblem) -> _Motions:
    units = energy_units(problem.K, delassus_diagonal(problem))
    H, G = problem.H_sparse(), problem.G_sparse()
    root = 1.0 / np.sqrt(problem.M.sparse.diagonal())
    joint = np.asarray(G.multiply(problem.M.solve(G)).sum(axis=0)).reshape(-1)
    joint = 1.0 / np.sqrt(np.where(joint > 0.0, joint, 1.0))
    b, c = units.scale * problem.u_bias, joint * problem.g_bias
    # without prescribed velocities the condition is on a cone, and any size will do
    size = max(float(np.abs(b).max(initial=0.0)), float(np.abs(c).max(initial=0.0))) or 1.0
    B = sp.diags_array(units.scale) @ H.T @ sp.diags_array(root)
    C = sp.diags_array(joint) @ G.T @ sp.diags_array(root)
    return _Motions(
        sp.csr_array(B), b / size, sp.csr_array(C), c / size, root * size, units.K, units.scale, joint
    )


def _opened(problem: ContactProblem | GlobalProblem, motions: _Motions, facets: int) -> Existence:
    """The motion that opens the contacts most, or what stands against it, with so many facets."""
    n, m = motions.B.shape
    p, ng = motions.C.shape[0], motions.K.group_size.size
    pyramid = dual_pyramid(motions.K, facets)
    rows = pyramid.of_w.shape[0]
    one = np.zeros((rows, 1))  # u_N >= sum mu s + t
    one[: pyramid.contacts] = 1.0
    plain = np.flatnonzero((pyramid.strict != 0.0) & ~(np.isinf(pyramid.low) & np.isinf(pyramid.high)))
    at = sp.csr_array((-pyramid.strict[plain], (np.arange(plain.size), plain)), shape=(plain.size, n))
    # unknowns: x (m), u (n), s (ng), t
    equal = sp.block_array(
        [
            [-motions.B, sp.eye_array(n), sp.csr_array((n, ng + 1))],
            [motions.C, sp.csr_array((p, n)), sp.csr_array((p, ng + 1))],
        ],
        format="csr",
    )
    above = sp.block_array(
        [
            [sp.csr_array((rows, m)), pyramid.of_w, pyramid.of_s, sp.csr_array(one)],
            [sp.csr_array((plain.size, m)), at, sp.csr_array((plain.size, ng)), np.ones((plain.size, 1))],
        ],
        format="csr",
    )
    bounds = np.full((m + n + ng + 1, 2), [-np.inf, np.inf])
    equations = np.flatnonzero((pyramid.low == 0.0) & (pyramid.high == 0.0))
    bounds[m + equations] = 0.0
    bounds[-1, 1] = 1.0
    cost = np.zeros(bounds.shape[0])
    cost[-1] = -1.0
    result = linprog(
        cost, A_ub=above, b_ub=np.zeros(above.shape[0]), A_eq=equal,
        b_eq=np.concatenate([motions.b, -motions.c]), bounds=bounds, method="highs-ipm", options=LINPROG,
    )  # fmt: skip
    if result.status == 2:
        return Existence(False, reason="the bilateral constraints contradict each other")
    if result.x is None or result.status != 0:
        return Existence(False, reason=f"the linear program was not solved ({result.message})")
    witness = result.x[:m] * motions.unit
    margin = witness_margin(problem, witness)
    if result.x[-1] > 0.0 and margin >= INSIDE:
        return Existence(True, margin, witness)
    return Existence(False)


def _against(
    problem: ContactProblem | GlobalProblem, motions: _Motions, facets: int, reason: str
) -> Existence:
    """A self-stress: r in a pyramid inside K, B'r + C'lam = 0, least b·r + c·lam, normals of sum 1."""
    K, (n, m) = motions.K, motions.B.shape
    p, ng = motions.C.shape[0], K.group_size.size
    pyramid = dual_pyramid(K, facets)
    contacts, sides = pyramid.contacts, pyramid.of_w.shape[0] - pyramid.contacts
    normal = K.offset[np.repeat(np.arange(len(K)), np.diff(K.group_offset))]
    limits = sp.csr_array((-K.coefficient, (np.arange(ng), normal)), shape=(ng, n))  # s <= mu r_N
    above = sp.block_array(
        [
            [pyramid.of_w[contacts:], pyramid.of_s[contacts:], sp.csr_array((sides, p))],
            [limits, sp.eye_array(ng), sp.csr_array((ng, p))],
        ],
        format="csr",
    )
    low, high = (np.zeros(n) for _ in range(2))
    one_sided = np.repeat(K.kind == cones.FRICTION, np.diff(K.offset)) | (pyramid.strict != 0.0)
    free = (pyramid.low == 0.0) & (pyramid.high == 0.0)
    low[free | (one_sided & (pyramid.strict == 0.0)) | (pyramid.strict == -1.0)] = -np.inf
    high[free | (one_sided & (pyramid.strict == 0.0)) | (pyramid.strict == 1.0)] = np.inf
    total = sp.csr_array(pyramid.strict[None])
    equal = sp.block_array(
        [
            [motions.B.T, sp.csr_array((m, ng)), motions.C.T],
            [total, sp.csr_array((1, ng)), sp.csr_array((1, p))],
        ],
        format="csr",
    )
    bounds = np.full((n + ng + p, 2), [-np.inf, np.inf])
    bounds[:n] = np.stack([low, high], axis=1)
    result = linprog(
        np.concatenate([motions.b, np.zeros(ng), motions.c]), A_ub=above, b_ub=np.zeros(above.shape[0]),
        A_eq=equal, b_eq=np.append(np.zeros(m), 1.0), bounds=bounds, method="highs-ipm", options=LINPROG,
    )  # fmt: skip
    if result.x is None:
        return Existence(False, reason=reason)
    r = np.where(np.abs(result.x[:n]) > 1e-9, result.x[:n], 0.0) * motions.scale
    if not is_self_stress(problem, r, motions.joint * result.x[n + ng :]):
        return Existence(False, reason=reason)
    blocks = np.unique(np.searchsorted(K.offset, np.flatnonzero(r), side="right") - 1)
    return Existence(False, self_stress=r, contacts=tuple(blocks.tolist()))
