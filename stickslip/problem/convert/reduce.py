"""Reduction of global to contact problems: velocities and joints are eliminated."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import blocks as block_kernels
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array, ProblemError, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert.bodies import with_bodies
from stickslip.problem.convert.conversion import Answer, Conversion, placed
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.operator import BlockDelassus, BodyDelassus, Delassus, DenseDelassus, block_delassus
from stickslip.problem.sets import ProductSet, free

DENSE_SHARE = 0.5
"""Fraction of nonzeros above which W is stored as a dense array (heuristic)."""


def reduce_to_contacts(problem: GlobalProblem, joints: str = "eliminate") -> Conversion[ContactProblem]:
    """Eliminate v from a GlobalProblem: W = H' M^-1 H, u_free = H' M^-1 f + u_bias.

    joints   "eliminate" removes bilateral constraints together with v, so that W becomes dense where they
             couple; "blocks" keeps them as free blocks

    Contact blocks over bodies always stay matrix-free, with joints as blocks.

    Example:

        M, f = 2.0 * np.eye(3), [-0.14, 0.14, 0.0]
        problem = ss.GlobalProblem(M, f, np.eye(3), np.zeros(3), ss.coulomb([0.5]))
        conversion = ss.problem.reduce_to_contacts(problem)
        answer = conversion.recover(ss.solve(conversion.problem).r)
        print(answer.v)
    """
    if joints not in ("eliminate", "blocks"):
        raise ProblemError(f'joints is {joints!r}, expected "eliminate" or "blocks"')
    if problem.is_matrix_free:
        return _reduce_bodies(problem)
    if problem.G is None:
        return _reduce_plain(problem)
    return _reduce_with_blocks(problem) if joints == "blocks" else _eliminate_joints(problem)


def _reduce_plain(problem: GlobalProblem) -> Conversion[ContactProblem]:
    M, H = problem.M, problem.H_matrix
    v_free, MiH = M.solve(problem.f), M.solve(H)

    def recover(r: Array) -> Answer:
        return Answer(r, v_free + MiH @ r)

    u_free = H.T @ v_free + problem.u_bias
    reduced = _contact(H.T @ MiH, u_free, problem.K, problem)
    if isinstance(reduced.W, BlockDelassus):
        W = with_bodies(reduced.W, problem)
        reduced = ContactProblem.unchecked(W, reduced.u_free, reduced.K, reduced.level)
    return Conversion(reduced, recover, lambda r: r)


def _eliminate_joints(problem: GlobalProblem) -> Conversion[ContactProblem]:
    """Eliminate lam = -A⁺(G' M^-1 (f + H r) + g_bias), A = G' M^-1 G, possibly with redundant rows."""
    M, H, G = problem.M, problem.H_sparse(), problem.G_sparse()
    MiH, MiG, v_open = M.solve(H), M.solve(G), M.solve(problem.f)
    A_inverse = _pseudo_inverse((G.T @ MiG).toarray())
    B = (G.T @ MiH).toarray()
    lam_free = -A_inverse @ (G.T @ v_open + problem.g_bias)
    lam_of_r = -A_inverse @ B
    v_free = v_open + MiG @ lam_free
    miss = np.linalg.norm(G.T @ v_free + problem.g_bias)
    sizes = (np.linalg.norm(problem.g_bias), np.linalg.norm(abs(G).T @ np.abs(v_open)), 1e-300)
    reach = max(float(size) for size in sizes)
    if miss > 1e-8 * reach:
        raise ProblemError(
            f"bilateral constraints contradict each other: |G' v + g_bias| cannot fall below {miss:.3g}"
        )

    def recover(r: Array) -> Answer:
        lam = lam_free + lam_of_r @ r
        return Answer(r, v_open + MiH @ r + MiG @ lam, lam)

    W = (H.T @ MiH).toarray() + B.T @ lam_of_r
    reduced = _contact(W, H.T @ v_free + problem.u_bias, problem.K, problem)
    return Conversion(reduced, recover, lambda r: r, lambda new: Certificate(new.y, lam_of_r @ new.y))


def _pseudo_inverse(A: Array) -> Array:
    """Return A⁺ of a positive semidefinite matrix; its scaling makes the rank independent of units."""
    diagonal = np.diagonal(A)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    inverse = np.linalg.pinv(scale[:, None] * A * scale, rcond=1e-12, hermitian=True)
    return np.asarray(scale[:, None] * inverse * scale)


def _reduce_with_blocks(problem: GlobalProblem) -> Conversion[ContactProblem]:
    """Keep joints as free blocks after the contacts: one block for each set of coupled joints."""
    M, H, G, n = problem.M, problem.H_sparse(), problem.G_sparse(), problem.size
    A = abs(G).T @ abs(G)
    count, label = sp.csgraph.connected_components(A, directed=False)
    order = np.argsort(label, kind="stable")
    K = problem.K + free(*np.bincount(label, minlength=count).tolist())
    HG = sp.hstack([H, G[:, order]], format="csr")
    Mi_HG, v_free = M.solve(HG), M.solve(problem.f)
    bias = np.concatenate([problem.u_bias, problem.g_bias[order]])

    def recover(x: Array) -> Answer:
        return Answer(x[:n], v_free + Mi_HG @ x, placed(order, x[n:]))

    reduced = _contact(HG.T @ Mi_HG, HG.T @ v_free + bias, K, problem)
    return Conversion(
        reduced,
        recover,
        lambda r: np.concatenate([r, np.zeros(order.size)]),
        lambda new: Certificate(new.y[:n], placed(order, new.y[n:])),
    )


def _reduce_bodies(problem: GlobalProblem) -> Conversion[ContactProblem]:
    """Return W = J J' over bodies without forming it; joints are free blocks after the contacts."""
    H, G, K, n = problem.H, problem.G, problem.K, problem.size
    assert isinstance(H, ContactBlocks)
    bodies, rows, bias = H.bodies, H.rows, problem.u_bias
    if isinstance(G, ContactBlocks):
        K = K + free(*np.diff(G.offset).tolist())
        bodies, rows = np.concatenate([bodies, G.bodies]), np.concatenate([rows, G.rows])
        bias = np.concatenate([bias, problem.g_bias])
    frozen(bodies)
    frozen(rows)
    F = problem.M.inverse_root
    count, k = F.shape[0], F.shape[2]
    J = np.empty_like(rows)
    block_kernels.scale_rows(bodies, K.offset, rows, F, J)
    w_free = np.einsum("bmk,bm->bk", F, problem.f.reshape(count, k))
    u_free = np.empty(K.size)
    block_kernels.bodies_to_blocks(bodies, K.offset, J, w_free, bias, u_free)
    W = BodyDelassus(K.offset, bodies, J, count)

    def recover(x: Array) -> Answer:
        w = np.empty((count, k))
        block_kernels.blocks_to_bodies(bodies, K.offset, J, x, w)
        v = np.einsum("bmk,bk->bm", F, w + w_free).reshape(-1)
        return Answer(x[:n], v, x[n:])

    reduced = ContactProblem.unchecked(W, u_free, K, problem.level)
    return Conversion(
        reduced,
        recover,
        lambda r: np.concatenate([r, np.zeros(K.size - n)]),
        lambda new: Certificate(new.y[:n], new.y[n:]),
    )


def _contact(W: Any, u_free: Array, K: ProductSet, like: GlobalProblem | ContactProblem) -> ContactProblem:
    operator: Delassus
    if sp.issparse(W) and W.nnz < DENSE_SHARE * K.size**2:
        operator = block_delassus(sp.csr_array(W), K)
    else:
        operator = DenseDelassus(W.toarray() if sp.issparse(W) else np.ascontiguousarray(W))
    return ContactProblem.unchecked(operator, np.ascontiguousarray(u_free), K, like.level)
