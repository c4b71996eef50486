"""`prove_existence(problem)`: search for a motion that opens every contact, as a cone program.

    max t,   u = W x + u_free  (u = H'v + u_bias, G'v + g_bias = 0),   u - t e_N in K*,   t <= 1

in units of energy. t > 0 proves the condition of `problem/existence.py`. If t <= 0, the multipliers are a
self-stress that contradicts it. Both results are checked by `problem/existence.py`.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.certificate import energy_units, matrix_of
from stickslip.problem.checks import Array, IntArray, ProblemError
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import group_starts
from stickslip.problem.existence import INSIDE, Existence, is_self_stress, witness_margin
from stickslip.problem.operator import Delassus
from stickslip.problem.program import ConeProgram
from stickslip.problem.residuals import delassus_diagonal
from stickslip.problem.sets import ProductSet
from stickslip.solvers.adapters.conic import clarabel
from stickslip.solvers.infeasibility import LARGEST, mechanical_defects

ACCURATE, MOST = 1e-11, 200
"""Tolerance of the program, and its largest number of iterations."""
FAR = 1e-2
"""Largest relative asymmetry and negative eigenvalue of W; recorded matrices have up to 2e-3."""


@dataclass(frozen=True, eq=False)
class _Motions:
    """Contact velocities u = B x + b of all motions x with C x + c = 0, in units of energy."""

    B: sp.csr_array
    """Velocities from motions [-], shape (n, m)."""
    b: Array
    """Contact velocities for x = 0, scaled to a largest of 1 [-], shape (n,)."""
    C: sp.csr_array
    """Joint velocities from motions [-], shape (p, m)."""
    c: Array
    """Joint velocities for x = 0 [-], shape (p,)."""
    unit: Array
    """Unit of x in the units of the problem, shape (m,)."""
    K: ProductSet
    """Set of the impulses, in units of energy."""
    scale: Array
    """Units of contact velocity [sqrt(kg)], shape (n,)."""
    joint: Array
    """Units of joint velocity [sqrt(kg)], shape (p,)."""


def prove_existence(problem: ContactProblem | GlobalProblem) -> Existence:
    """Return whether a sufficient condition proves that `problem` has a solution.

    The result prints as a sentence.
    """
    if not isinstance(problem, ContactProblem | GlobalProblem):
        raise ProblemError(f"prove_existence takes contact and global problems, not {type(problem).__name__}")
    if problem.contacts == 0 and not (isinstance(problem, GlobalProblem) and problem.g_bias.size):
        return Existence(True, np.inf, np.zeros(problem.M.size if isinstance(problem, GlobalProblem) else 0))
    with np.errstate(all="ignore"):  # an overflow proves nothing
        doubt = _doubt(problem.W) if isinstance(problem, ContactProblem) else _doubt_of_mass(problem)
        if doubt is None:
            why = (
                "W is far from symmetric and positive semidefinite, for which the condition is not conclusive"
            )
            return Existence(False, reason=why)
        motions = _global_motions(problem) if isinstance(problem, GlobalProblem) else _motions(problem)
        if not (np.isfinite(motions.B.data).all() and np.isfinite(motions.b).all()):
            return Existence(False, reason="numbers overflow")
        if motions.B.nnz > LARGEST:
            return Existence(False, reason=f"{motions.B.nnz} nonzeros are too many for this test")
        existence = _opened(problem, motions)
    return replace(existence, reason=doubt) if existence.holds else existence


def _doubt(W: Delassus) -> str | None:
    """Return the deviation of W from H' M^-1 H as text: empty if it is rounding, None if it is large."""
    skew, negative = mechanical_defects(W)
    if skew > FAR or negative > FAR:
        return None
    defects = [f"unsymmetric by {skew:.0e}"] if skew > 1e-8 else []
    if negative > 1e-10 * W.size:
        defects.append(f"indefinite by {negative:.0e}")
    if np.isnan(negative):
        defects.append("too large to see its eigenvalues")
    return f"W is {' and '.join(defects)}" if defects else ""


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
    # without prescribed velocities the condition is homogeneous, and any scale will do
    size = max(float(np.abs(b).max(initial=0.0)), float(np.abs(c).max(initial=0.0))) or 1.0
    B = sp.diags_array(units.scale) @ H.T @ sp.diags_array(root)
    C = sp.diags_array(joint) @ G.T @ sp.diags_array(root)
    return _Motions(
        sp.csr_array(B), b / size, sp.csr_array(C), c / size, root * size, units.K, units.scale, joint
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Components of u by their constraint; blocks in the order of K."""

    equations: IntArray
    """Components that must vanish, shape (count,)."""
    normals: IntArray
    """First component of each friction cone, shape (count,)."""
    one_sided: IntArray
    """Components of one sign without friction, shape (count,)."""
    sign: Array
    """Sign of the one-sided components, shape (count,)."""
    tangents: IntArray
    """Tangential components, group by group, shape (count,)."""


def _rows(K: ProductSet) -> _Rows:
    friction = K.kind == cones.FRICTION
    up, down = ~friction & (K.upper == np.inf), ~friction & (K.lower == -np.inf)
    component = K.spread(up & down)
    half = up != down
    parts = [np.arange(a, a + d) for a, d in zip(group_starts(K), K.group_size, strict=True)]
    return _Rows(
        np.flatnonzero(component), K.offset[:-1][friction], K.offset[:-1][half],
        np.where(up[half], 1.0, -1.0), np.concatenate([np.zeros(0, np.int64), *parts]),
    )  # fmt: skip


def _opened(problem: ContactProblem | GlobalProblem, motions: _Motions) -> Existence:
    """Find the motion that opens the contacts most, or the self-stress that excludes one."""
    K, B, b = motions.K, motions.B, motions.b
    rows, ng, p = _rows(K), K.group_size.size, motions.C.shape[0]
    nn, nh, nt = rows.normals.size, rows.one_sided.size, rows.tangents.size
    # 1. The cone program: unknowns x, s (bounds on |u_g|), t; the rows of A z + right are in the cones.
    owner = np.repeat(np.cumsum(np.diff(K.group_offset) > 0) - 1, np.diff(K.group_offset))
    limits = sp.csr_array((K.coefficient, (owner, np.arange(ng))), shape=(nn, ng))
    first = np.concatenate([[0], np.cumsum(1 + K.group_size)])[:-1].astype(np.int64)  # row of s in its cone
    rest = np.setdiff1d(np.arange(nt + ng), first)
    place = sp.csr_array((np.ones(nt), (rest, np.arange(nt))), shape=(nt + ng, nt))
    bound = sp.csr_array((-np.ones(ng), (first, np.arange(ng))), shape=(nt + ng, ng))
    A = sp.block_array(
        [
            [-B[rows.equations], _zeros(rows.equations.size, ng), _zeros(rows.equations.size, 1)],
            [-motions.C, _zeros(p, ng), _zeros(p, 1)],
            [B[rows.normals], -limits, sp.csr_array(-np.ones((nn, 1)))],
            [sp.diags_array(rows.sign) @ B[rows.one_sided], _zeros(nh, ng), sp.csr_array(-np.ones((nh, 1)))],
            [_zeros(1, B.shape[1]), _zeros(1, ng), sp.csr_array([[-1.0]])],
            [place @ B[rows.tangents], -bound, _zeros(nt + ng, 1)],
        ],
        format="csr",
    )
    sides = (-b[rows.equations], -motions.c, b[rows.normals], rows.sign * b[rows.one_sided])
    right = np.concatenate([*sides, [1.0], place @ b[rows.tangents]])
    cost = np.zeros(A.shape[1])
    cost[-1] = -1.0  # max t
    program = ConeProgram(
        sp.csr_array((cost.size, cost.size)), cost, A, right, rows.equations.size + p, nn + nh + 1,
        1 + K.group_size,
    )  # fmt: skip
    result = clarabel(program, ACCURATE, MOST)
    if "PrimalInfeasible" in result.message:
        return Existence(False, reason="the bilateral constraints contradict each other")
    # 2. The optimal motion, if it opens all contacts.
    witness = result.x[: B.shape[1]] * motions.unit
    margin = witness_margin(problem, witness) if np.isfinite(witness).all() else 0.0
    if margin >= INSIDE:
        return Existence(True, margin, witness)
    # 3. Otherwise the multipliers, as a self-stress.
    ends = np.cumsum([rows.equations.size, p, nn, nh, 1])
    equations, joints, normal, half, _, tangential = np.split(result.y, ends)
    r = np.zeros(b.size)
    r[rows.equations], r[rows.normals] = -equations, normal
    r[rows.one_sided], r[rows.tangents] = rows.sign * half, tangential[rest]
    return _against(problem, motions, r, -joints)


def _against(problem: ContactProblem | GlobalProblem, motions: _Motions, r: Array, lam: Array) -> Existence:
    """Return the self-stress r if the check accepts it, and the contacts whose impulse exceeds rounding."""
    r = motions.scale * r
    if not (np.isfinite(r).all() and is_self_stress(problem, r, motions.joint * lam)):
        return Existence(False)
    K = motions.K
    size = np.sqrt(np.add.reduceat((r / motions.scale) ** 2, K.offset[:-1]))  # of each contact
    carrying = np.flatnonzero(size > 1e-6 * size.max())
    return Existence(False, self_stress=r, contacts=tuple(carrying.tolist()))


def _zeros(rows: int, columns: int) -> sp.csr_array:
    return sp.csr_array((rows, columns))
