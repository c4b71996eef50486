"""Detection of the bodies of a contact problem given by sparse matrices.

Recorded global problems have M and H as sparse matrices. If M has one block for each rigid body and every
contact has entries on at most two bodies, W = H' M^-1 H is J J' over bodies, and elimination over the graph
of bodies is much cheaper than over that of contacts.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from stickslip.problem.checks import frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.mass import MassMatrix
from stickslip.problem.operator import BlockDelassus, BodyDelassus

PLANAR, SPATIAL = 3, 6
"""Velocities of a rigid body in the plane and in space."""


def delassus_over_bodies(problem: GlobalProblem) -> BodyDelassus | None:
    """Return W as J J' over the bodies of a problem with sparse M and H; None without such structure."""
    if problem.is_matrix_free or problem.G is not None or not problem.size:
        return None
    for k in (SPATIAL, PLANAR):
        W = _with_blocks(problem, k)
        if W is not None:
            return W
    return None


def over_bodies(problem: ContactProblem) -> ContactProblem:
    """Return the problem with W over bodies, if these are known."""
    W = problem.W
    if isinstance(W, BlockDelassus) and W.over_bodies is not None:
        return ContactProblem.unchecked(W.over_bodies, problem.u_free, problem.K, problem.level)
    return problem


def with_bodies(W: BlockDelassus, problem: GlobalProblem) -> BlockDelassus:
    """Return W of a global problem, with its form over bodies attached."""
    return replace(W, over_bodies=delassus_over_bodies(problem))


def _with_blocks(problem: GlobalProblem, k: int) -> BodyDelassus | None:
    """Return W as J J' over bodies with k velocities each; None if there is no such structure."""
    M, K = problem.M.sparse.tocoo(), problem.K
    row, column = M.coords
    if problem.M.size % k or (row // k != column // k).any():
        return None
    count = problem.M.size // k
    # 1. Bodies of each contact.
    Ht = sp.csr_array(problem.H_sparse().T).tocoo()
    there = Ht.data != 0.0
    (i, j), values = (part[there] for part in Ht.coords), Ht.data[there]
    block = np.repeat(np.arange(len(K)), np.diff(K.offset))[i]
    pairs = np.unique(block * count + j // k)
    contact, body = pairs // count, pairs % count
    sides = np.bincount(contact, minlength=len(K))
    if sides.max(initial=0) > 2:
        return None
    side = np.arange(pairs.size) - (np.cumsum(sides) - sides)[contact]
    bodies = np.full((len(K), 2), -1)
    bodies[contact, side] = body
    # 2. J = H' F with M^-1 = F F'.
    mass = np.zeros((count, k, k))
    np.add.at(mass, (row // k, row % k, column % k), M.data)
    try:
        root = MassMatrix(mass).inverse_root
    except np.linalg.LinAlgError:
        return None
    rows = np.zeros((K.size, 2, k))
    rows[i, side[np.searchsorted(pairs, block * count + j // k)], j % k] = values
    for s in range(2):
        body_of_row = np.repeat(bodies[:, s], np.diff(K.offset))
        rows[:, s] = np.einsum("im,imk->ik", rows[:, s], root[np.maximum(body_of_row, 0)])
    return BodyDelassus(K.offset, frozen(bodies), frozen(rows), count)
