"""Conversions in pairs: a new problem, and the way back for its answer.

Each returns a `Conversion`: `problem` to be solved, `recover` which turns its Solution into one of
the original, judged on the original.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import blocks as block_kernels
from stickslip.problem.box import BoxProblem
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array, IntArray, ProblemError, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.mass import MassMatrix
from stickslip.problem.operator import (
    BlockDelassus,
    BodyDelassus,
    Delassus,
    DenseDelassus,
    block_delassus,
    delassus,
)
from stickslip.problem.residuals import metric
from stickslip.problem.sets import ProductSet, free, interval, nonnegative

DENSE_SHARE = 0.5
"""Above this share of nonzeros W is kept as one array."""


class Answer(NamedTuple):
    """What a conversion carries back: impulses and, for global problems, velocities and multipliers."""

    r: Array
    """Impulses [N s], shape (n,); z for a BoxProblem."""
    v: Array | None = None
    """Velocities of a GlobalProblem [m/s, rad/s], shape (nv,)."""
    lam: Array | None = None
    """Bilateral multipliers of a GlobalProblem [N s], shape (p,)."""


New = TypeVar("New", ContactProblem, BoxProblem, GlobalProblem)
Contacts = TypeVar("Contacts", ContactProblem, GlobalProblem)


def _same(certificate: Certificate) -> Certificate:
    return certificate


@dataclass(frozen=True)
class Conversion(Generic[New]):
    """A problem in another form, and the maps between the answers of the two."""

    problem: New
    """The new problem."""
    recover: Callable[[Array], Answer]
    """From r of the new problem to the answer of the original."""
    guess: Callable[[Array], Array]
    """From r of the original to r of the new problem, for warm starts."""
    certificate: Callable[[Certificate], Certificate] = _same
    """From a certificate of the new problem to one of the original."""


def reduce_to_contacts(problem: GlobalProblem, joints: str = "eliminate") -> Conversion[ContactProblem]:
    """Eliminate v: W = H' M^-1 H, u_free = H' M^-1 f + u_bias.

    Bilateral constraints are eliminated with v (`joints="eliminate"`, W becomes dense where they
    couple), or stay in the problem as free blocks (`joints="blocks"`). Contact blocks over bodies
    always stay matrix-free, with joints as blocks.
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
    return Conversion(reduced, recover, lambda r: r)


def _eliminate_joints(problem: GlobalProblem) -> Conversion[ContactProblem]:
    """lam = -A⁺(G' M^-1 (f + H r) + g_bias) with A = G' M^-1 G, redundant rows allowed."""
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
    """A⁺ of a positive semidefinite matrix, redundant rows told from rounding whatever their units."""
    diagonal = np.diagonal(A)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    inverse = np.linalg.pinv(scale[:, None] * A * scale, rcond=1e-12, hermitian=True)
    return np.asarray(scale[:, None] * inverse * scale)


def _reduce_with_blocks(problem: GlobalProblem) -> Conversion[ContactProblem]:
    """Joints as free blocks after the contacts: one block for each set of joints that are coupled."""
    M, H, G, n = problem.M, problem.H_sparse(), problem.G_sparse(), problem.size
    A = abs(G).T @ abs(G)
    count, label = sp.csgraph.connected_components(A, directed=False)
    order = np.argsort(label, kind="stable")
    K = problem.K + free(*np.bincount(label, minlength=count).tolist())
    both = sp.hstack([H, G[:, order]], format="csr")
    Mi_both, v_free = M.solve(both), M.solve(problem.f)
    bias = np.concatenate([problem.u_bias, problem.g_bias[order]])

    def recover(x: Array) -> Answer:
        return Answer(x[:n], v_free + Mi_both @ x, _placed(order, x[n:]))

    reduced = _contact(both.T @ Mi_both, both.T @ v_free + bias, K, problem)
    return Conversion(
        reduced,
        recover,
        lambda r: np.concatenate([r, np.zeros(order.size)]),
        lambda new: Certificate(new.y[:n], _placed(order, new.y[n:])),
    )


def _reduce_bodies(problem: GlobalProblem) -> Conversion[ContactProblem]:
    """W = J J' over bodies, never formed; joints are free blocks after the contacts."""
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


def box_to_contacts(problem: BoxProblem) -> Conversion[ContactProblem]:
    """z as impulses: 0 <= z becomes nonnegative blocks, bounds become intervals.

    Equations are eliminated with their free unknowns where they determine them; where they do not,
    they stay as one free block.
    """
    low, high = problem.lower, problem.upper
    is_free = (low == -np.inf) & (high == np.inf)
    positive = (low == 0.0) & (high == np.inf)
    f, c = np.flatnonzero(is_free), np.flatnonzero(~is_free)
    c = c[np.argsort(~positive[c], kind="stable")]  # nonnegative ones first
    count = int(positive.sum())
    K = nonnegative(count) + interval(low[c[count:]], high[c[count:]])
    A = problem.A
    inverse = _regular_inverse(A[f][:, f])
    if inverse is None:
        order = np.concatenate([f, c])
        K = free(f.size) + K
        contact = ContactProblem.unchecked(delassus("A", A[order][:, order], K), problem.b[order], K)
        return Conversion(
            contact,
            lambda x: Answer(_placed(order, x)),
            lambda z: z[order],
            lambda new: Certificate(_placed(order, new.y)),
        )
    to_free, from_free = inverse @ A[f][:, c], A[c][:, f]
    constant = inverse @ problem.b[f]
    W = A[c][:, c] - from_free @ to_free if f.size else A[c][:, c]
    order = np.concatenate([f, c])

    def recover(x: Array) -> Answer:
        return Answer(_placed(order, np.concatenate([-constant - to_free @ x, x])))

    def certificate(new: Certificate) -> Certificate:  # weights of the equations, so that A'y is 0 at them
        return Certificate(_placed(order, np.concatenate([-inverse.T @ (from_free.T @ new.y), new.y])))

    u_free = problem.b[c] - from_free @ constant
    return Conversion(
        ContactProblem.unchecked(delassus("A", W, K), np.ascontiguousarray(u_free), K),
        recover,
        lambda z: z[c],
        certificate,
    )


def _regular_inverse(block: Any) -> Array | None:
    """Inverse of a small matrix, or None where it is singular to working precision."""
    dense = block.toarray() if sp.issparse(block) else np.asarray(block)
    if dense.size and np.linalg.cond(dense) > 1e12:
        return None
    return np.linalg.inv(dense)


def _placed(order: np.ndarray, x: Array) -> Array:
    z = np.empty(order.size)
    z[order] = x
    return z


def contacts_to_box(problem: ContactProblem) -> Conversion[BoxProblem]:
    """A problem without friction as a BoxProblem, component by component."""
    K = problem.K
    if K.group_size.size:
        i = int(np.flatnonzero(np.diff(K.group_offset))[0])
        raise ProblemError(f"contact {i} is {K.kind_name(i)}: a box problem holds no friction cone")
    sizes = np.diff(K.offset)
    box = BoxProblem(problem.W.dense(), problem.u_free, np.repeat(K.lower, sizes), np.repeat(K.upper, sizes))
    return Conversion(box, Answer, lambda r: r)


def rescale(problem: Contacts, impulse: float, velocity: float, length: float = 1.0) -> Conversion[Contacts]:
    """The same problem in other units: impulses in `impulse` [N s], velocities in `velocity` [m/s].

    Rolling and torsional groups, whose components are moments and angular velocities, take
    `length` [m] as well. A GlobalProblem keeps its v; M, f and lam take the unit of energy.
    """
    for name, value in (("impulse", impulse), ("velocity", velocity), ("length", length)):
        if not (value > 0.0 and np.isfinite(value)):
            raise ProblemError(f"{name} is {value}; a unit must be positive and finite")
    K = problem.K
    first = K.group_offset[:-1][np.diff(K.group_offset) > 0]
    turning = np.ones(K.group_size.size, bool)
    turning[first] = False
    arm = np.ones(K.size)
    start = group_starts(K)
    for g in np.flatnonzero(turning):
        arm[start[g] : start[g] + K.group_size[g]] = length
    scaled = ProductSet(
        K.kind, K.offset, K.lower / impulse, K.upper / impulse, K.group_offset, K.group_size,
        np.where(turning, K.coefficient / length, K.coefficient),
    )  # fmt: skip
    U, inverse = sp.diags_array(arm / velocity).tocsr(), sp.diags_array(velocity / arm).tocsr()
    return change_coordinates(problem, scaled, U, inverse, impulse * velocity)


def change_coordinates(
    problem: Contacts,
    K: ProductSet,
    U: sp.csr_array,
    inverse: sp.csr_array,
    energy: float = 1.0,
    order: IntArray | None = None,
) -> Conversion[Contacts]:
    """The same problem for u_new = U u and r = energy U' r_new, so that work is in units of `energy` [J].

    `K` is the set of r_new, `inverse` is U^-1, and `order` says from which old block each new one
    comes, where blocks change places. W and H keep their form.
    """
    back = (energy * U.T).tocsr()

    def guess(r: Array) -> Array:
        return inverse.T @ r / energy

    def certificate(new: Certificate) -> Certificate:
        return Certificate(back @ new.y, energy * new.z)

    if isinstance(problem, ContactProblem):
        W = _carried_delassus(problem, K, U, energy, order)
        local: Any = ContactProblem.unchecked(W, U @ problem.u_free, K, problem.level)
        return Conversion(local, lambda r: Answer(back @ r), guess, certificate)
    M = problem.M if energy == 1.0 else MassMatrix(problem.M.matrix / energy)
    H = _carried_blocks(problem.H, K, U, order) if isinstance(problem.H, ContactBlocks) else problem.H @ U.T
    other = replace(problem, M=M, f=problem.f / energy, H=H, u_bias=U @ problem.u_bias, K=K)
    return Conversion(other, lambda r: _whole_answer(problem, back @ r), guess, certificate)


def _carried_delassus(
    problem: ContactProblem, K: ProductSet, U: sp.csr_array, energy: float, order: IntArray | None
) -> Delassus:
    """U W U' in units of energy, in the form of W."""
    W = problem.W
    if isinstance(W, BodyDelassus):
        J = _carried_blocks(ContactBlocks(W.bodies, W.rows, W.offset), K, np.sqrt(energy) * U, order)
        return BodyDelassus(K.offset, J.bodies, J.rows, W.count)
    back = (energy * U.T).tocsr()
    if isinstance(W, DenseDelassus):
        return DenseDelassus(np.ascontiguousarray(U @ W.matrix @ back))
    return block_delassus(sp.csr_array(U @ W.blocks(problem.K).sparse() @ back), K)


def _carried_blocks(
    H: ContactBlocks, K: ProductSet, U: sp.csr_array, order: IntArray | None
) -> ContactBlocks:
    bodies = H.bodies if order is None else H.bodies[order]
    rows = (U @ H.rows.reshape(H.size, -1)).reshape(H.rows.shape)
    return ContactBlocks(bodies, np.ascontiguousarray(rows), K.offset)


def _whole_answer(problem: GlobalProblem, r: Array) -> Answer:
    """r with the v and lam that go with it: those of the motion under these impulses."""
    if problem.G is None:
        return Answer(r, problem.M.solve(problem.f + problem.pushed(r, np.zeros(0))))
    formed = replace(problem, H=problem.H_sparse(), G=problem.G_sparse())
    return reduce_to_contacts(formed).recover(r)


def unit_free(problem: ContactProblem) -> Conversion[ContactProblem]:
    """The same problem in its own units, where every mean diagonal of W_ii is 1.

    z = r / (length sqrt(rho_i)) with the scales of the judge's natural_scaled: the cones keep their
    form, and a method that works on z does the same whatever units r and u were given in.
    """
    K, W = problem.K, problem.W
    scales = metric(K, W.diagonal())
    root = np.sqrt(scales.rho)
    unit = scales.length * np.repeat(root, np.diff(K.offset))
    new_K = ProductSet(
        K.kind, K.offset, K.lower / root, K.upper / root, K.group_offset, K.group_size, scales.coefficient
    )
    new_W: Delassus
    with np.errstate(all="ignore"):  # what overflows is judged as such
        if isinstance(W, BodyDelassus):
            new_W = BodyDelassus(W.offset, W.bodies, W.rows * unit[:, None, None], W.count)
        elif isinstance(W, BlockDelassus):
            row, col = np.empty(W.data.size, np.int64), np.empty(W.data.size, np.int64)
            block_kernels.block_entries(*W.arrays, row, col, np.empty(W.data.size))
            data = unit[row] * W.data * unit[col]
            new_W = BlockDelassus(W.offset, W.row_start, W.column, W.data_start, data)
        else:
            new_W = DenseDelassus(unit[:, None] * W.dense() * unit)
        new = ContactProblem.unchecked(new_W, problem.u_free * unit, new_K, problem.level)
    return Conversion(new, lambda z: Answer(z * unit), lambda r: r / unit)


def group_starts(K: ProductSet) -> np.ndarray:
    """First component of each group [-], shape (ng,)."""
    block = np.repeat(np.arange(len(K)), np.diff(K.group_offset))
    before = np.concatenate([[0], np.cumsum(K.group_size)])[:-1]
    return K.offset[block] + 1 + before - before[K.group_offset[block]] if block.size else before


def _contact(W: Any, u_free: Array, K: ProductSet, like: GlobalProblem | ContactProblem) -> ContactProblem:
    operator: Delassus
    if sp.issparse(W) and W.nnz < DENSE_SHARE * K.size**2:
        operator = block_delassus(sp.csr_array(W), K)
    else:
        operator = DenseDelassus(W.toarray() if sp.issparse(W) else np.ascontiguousarray(W))
    return ContactProblem.unchecked(operator, np.ascontiguousarray(u_free), K, like.level)
