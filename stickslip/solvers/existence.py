"""`prove_existence(problem)`: looking for a motion that opens every contact, as a cone program.

    max t,   u = W x + u_free  (u = H'v + u_bias, G'v + g_bias = 0),   u - t e_N in K*,   t <= 1

in units of energy. t > 0 proves the condition of `problem/existence.py`; where t <= 0, the multipliers
are the self-stress that stands against it. Either is measured by the door.
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
"""Tolerance of the program, and most iterations."""
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


def prove_existence(problem: ContactProblem | GlobalProblem) -> Existence:
    """Return whether a sufficient condition proves that `problem` has a solution; printing gives a
    sentence.
    """
    if not isinstance(problem, ContactProblem | GlobalProblem):
        raise ProblemError(f"prove_existence takes contact and global problems, not {type(problem).__name__}")
    if problem.contacts == 0 and not (isinstance(problem, GlobalProblem) and problem.g_bias.size):
        return Existence(True, np.inf, np.zeros(problem.M.size if isinstance(problem, GlobalProblem) else 0))
    with np.errstate(all="ignore"):  # what overflows shows nothing
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
        found = _opened(problem, motions)
    return replace(found, reason=doubt) if found.holds else found


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


@dataclass(frozen=True, eq=False)
class _Rows:
    """Components of u by what is asked of them; blocks in the order of K."""

    equations: IntArray
    """Those that vanish, shape (count,)."""
    normals: IntArray
    """First of each friction cone, shape (count,)."""
    one_sided: IntArray
    """Those of one sign without friction, shape (count,)."""
    sign: Array
    """That sign, shape (count,)."""
    tangents: IntArray
    """Those of the groups, one group after the other, shape (count,)."""


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
    """The motion that opens the contacts most, or the self-stress that stands against it."""
    K, B, b = motions.K, motions.B, motions.b
    rows, ng, p = _rows(K), K.group_size.size, motions.C.shape[0]
    nn, nh, nt = rows.normals.size, rows.one_sided.size, rows.tangents.size
    # unknowns x, s (bounds on |u_g|), t; A z + right side in the cones, one after the other
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
    cost[-1] = -1.0
    program = ConeProgram(
        sp.csr_array((cost.size, cost.size)), cost, A, right, rows.equations.size + p, nn + nh + 1,
        1 + K.group_size,
    )  # fmt: skip
    result = clarabel(program, ACCURATE, MOST)
    if "PrimalInfeasible" in result.message:
        return Existence(False, reason="the bilateral constraints contradict each other")
    witness = result.x[: B.shape[1]] * motions.unit
    margin = witness_margin(problem, witness) if np.isfinite(witness).all() else 0.0
    if margin >= INSIDE:
        return Existence(True, margin, witness)
    ends = np.cumsum([rows.equations.size, p, nn, nh, 1])
    equations, joints, normal, half, _, tangential = np.split(result.y, ends)
    r = np.zeros(b.size)
    r[rows.equations], r[rows.normals] = -equations, normal
    r[rows.one_sided], r[rows.tangents] = rows.sign * half, tangential[rest]
    return _against(problem, motions, r, -joints)


def _against(problem: ContactProblem | GlobalProblem, motions: _Motions, r: Array, lam: Array) -> Existence:
    """The self-stress r, if the door takes it for one; contacts that carry rounding only are left out."""
    r = motions.scale * r
    if not (np.isfinite(r).all() and is_self_stress(problem, r, motions.joint * lam)):
        return Existence(False)
    K = motions.K
    size = np.sqrt(np.add.reduceat((r / motions.scale) ** 2, K.offset[:-1]))  # of each contact
    carrying = np.flatnonzero(size > 1e-6 * size.max())
    return Existence(False, self_stress=r, contacts=tuple(carrying.tolist()))


def _zeros(rows: int, columns: int) -> sp.csr_array:
    return sp.csr_array((rows, columns))
