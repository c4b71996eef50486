"""Changes of units, and of the coordinates of contacts."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import blocks as block_kernels
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array, IntArray, ProblemError
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert.conversion import Answer, Contacts, Conversion
from stickslip.problem.convert.reduce import reduce_to_contacts
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.mass import MassMatrix
from stickslip.problem.operator import BlockDelassus, BodyDelassus, Delassus, DenseDelassus, block_delassus
from stickslip.problem.residuals import metric
from stickslip.problem.sets import ProductSet


def rescale(problem: Contacts, impulse: float, velocity: float, length: float = 1.0) -> Conversion[Contacts]:
    """Return the problem in other units: impulses in `impulse` [N s], velocities in `velocity` [m/s].

    Rolling and torsional groups, whose components are moments and angular velocities, also use
    `length` [m]. The v of a GlobalProblem is unchanged; M, f and lam are scaled by the unit of energy.
    """
    for name, value in (("impulse", impulse), ("velocity", velocity), ("length", length)):
        if not (value > 0.0 and np.isfinite(value)):
            raise ProblemError(f"{name} is {value}; units must be positive and finite")
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
    """Return the problem for u_new = U u and r = energy U' r_new, with work in units of `energy` [J].

    `K` is the set of r_new, `inverse` is U^-1, and `order` is the old block of each new one if blocks are
    permuted. W and H keep their form.
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
    """Return U W U' in units of energy, in the form of W."""
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
    """Return r with the corresponding v and lam, those of the motion with these impulses."""
    if problem.G is None:
        return Answer(r, problem.M.solve(problem.f + problem.pushed(r, np.zeros(0))))
    formed = replace(problem, H=problem.H_sparse(), G=problem.G_sparse())
    return reduce_to_contacts(formed).recover(r)


def unit_free(problem: ContactProblem) -> Conversion[ContactProblem]:
    """Return the problem in dimensionless units, in which every mean diagonal of W_ii is 1.

    z = r / (length sqrt(rho_i)) with the scales of the judge's natural_scaled. The cones keep their form, and
    the iterates of a method for z do not depend on the units of r and u.
    """
    K, W = problem.K, problem.W
    scales = metric(K, W.diagonal())
    root = np.sqrt(scales.rho)
    unit = scales.length * K.spread(root)
    new_K = ProductSet(
        K.kind, K.offset, K.lower / root, K.upper / root, K.group_offset, K.group_size, scales.coefficient
    )
    new_W: Delassus
    with np.errstate(all="ignore"):  # the judge handles overflow
        if isinstance(W, BodyDelassus):
            new_W = BodyDelassus(W.offset, W.bodies, W.rows * unit[:, None, None], W.count)
        elif isinstance(W, BlockDelassus):
            row, col = np.empty(W.data.size, np.int64), np.empty(W.data.size, np.int64)
            block_kernels.block_entries(W.arrays, row, col, np.empty(W.data.size))
            data = unit[row] * W.data * unit[col]
            new_W = BlockDelassus(W.offset, W.row_start, W.column, W.data_start, data)
        else:
            new_W = DenseDelassus(unit[:, None] * W.dense() * unit)
        new = ContactProblem.unchecked(new_W, problem.u_free * unit, new_K, problem.level)
    return Conversion(new, lambda z: Answer(z * unit), lambda r: r / unit)


def group_starts(K: ProductSet) -> np.ndarray:
    """Return the first component of each group [-], shape (ng,)."""
    block = K.group_owner
    before = np.concatenate([[0], np.cumsum(K.group_size)])[:-1]
    return K.offset[block] + 1 + before - before[K.group_offset[block]] if block.size else before
