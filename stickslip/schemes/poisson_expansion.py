"""Expansion of Poisson's impact as contact problems with standard blocks; `poisson.py` states the law.

A contact that stays closed has ρ_N > e r_N^c: it is an ordinary contact with the impulse ρ. A contact that
opens has the known normal impulse ρ_N = e r_N^c, and its friction is bounded by a disc of known radius R. Its
normal is then a separate nonnegative block, and its friction cone has an auxiliary normal a with
u_a = w (a - R), because Coulomb's law requires u_a = 0 and thus a = R. The problem is solved repeatedly until
the kind assumed for each contact is confirmed.
"""

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import DenseDelassus, block_delassus
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Solution
from stickslip.schemes.step import Solver
from stickslip.state import BoolArray

PASSES = 100
"""Largest number of passes of an expansion (heuristic)."""


def given_back(K: ProductSet, r: Array, e: Array) -> tuple[Array, IntArray, Array]:
    """Return r^c + e r_N^c e_N of a compression [N s], shape (n,), the numbers of the friction cones with
    restitution, and their e r_N^c. e: restitution of each block [-], shape (nb,)."""
    normals = K.offset[:-1]
    kick = e * np.maximum(r[normals], 0.0)
    impulse = r.copy()
    impulse[normals] += kick
    kicked = np.flatnonzero((kick > 0.0) & (K.kind == cones.FRICTION))
    return impulse, kicked, kick[kicked]


def expand(
    W: Array | sp.csr_array, u_free: Array, K: ProductSet, kicked: IntArray, kick: Array, solver: Solver
) -> tuple[Array, Solution, float]:
    """Solve the expansion: r' = ρ - e r_N^c e_N [N s], shape (n,), the solution of the last pass, and the
    relative error of the passes [-], 0 if they converged.

    W is a dense or sparse array; `kick` is e r_N^c of the blocks `kicked` [N s].
    """
    normals = K.offset[kicked]
    stays, returned = np.zeros(kicked.size, bool), np.zeros(kicked.size, bool)
    radius = kick.copy()
    for _ in range(PASSES):
        # 1. Solve with the contacts that are assumed to open as separate blocks.
        leaves = ~stays
        held = np.zeros(K.size)
        held[normals[stays]] = kick[stays]
        problem, at = _one_pass(W, u_free - W @ held, K, kicked[leaves], radius[leaves])
        solution = solver.solve(problem)
        r = solution.r[at]
        r[normals[stays]] -= kick[stays]
        # 2. Compare the assumed kinds and radii with the result.
        excess = np.maximum(r[normals], 0.0)
        scale = float((kick + excess).max())
        small = 10.0 * solution.tolerance * scale
        closed = leaves & ~returned & (excess > small)
        opened = stays & (r[normals] < -small)
        target = kick + np.where(returned, excess, 0.0)
        off = float(np.abs(radius - target)[leaves].max(initial=0.0))
        if not (closed.any() or opened.any() or off > small):
            return r, solution, 0.0
        # 3. A contact that was wrongly assumed closed is assumed open from now on; the radius of its disc
        # then follows its normal impulse.
        stays, returned = (stays | closed) & ~opened, returned | opened
        radius = 0.5 * (radius + target)
    return r, solution, max(off / scale, solution.tolerance)


def _one_pass(
    W: Array | sp.csr_array, u_free: Array, K: ProductSet, split: IntArray, radius: Array
) -> tuple[ContactProblem, IntArray]:
    """Return the problem whose contacts `split` are a nonnegative normal and a disc of `radius` [N s], and
    the indices of the components of K in it."""
    apart = np.zeros(len(K), bool)
    apart[split] = True
    wide, at, extra = split_set(K, apart)
    diagonal = W.diagonal()
    w = np.array([diagonal[K.offset[i] : K.offset[i + 1]].max() for i in split])
    bias = np.zeros(wide.size)
    bias[at], bias[extra] = u_free, -w * radius
    if isinstance(W, np.ndarray):
        matrix = np.zeros((wide.size, wide.size))
        matrix[np.ix_(at, at)], matrix[extra, extra] = W, w
        return ContactProblem.unchecked(DenseDelassus(matrix), bias, wide), at
    coo = W.tocoo()
    row, col = coo.coords
    entries = (np.concatenate([at[row], extra]), np.concatenate([at[col], extra]))
    sparse = sp.coo_array((np.concatenate([coo.data, w]), entries), shape=(wide.size, wide.size))
    return ContactProblem.unchecked(block_delassus(sp.csr_array(sparse), wide), bias, wide), at


def split_set(K: ProductSet, apart: BoolArray) -> tuple[ProductSet, IntArray, IntArray]:
    """Return K with the blocks `apart` split into a normal and a cone, the indices of the components of K in
    it, and the indices of the auxiliary normals of these cones."""
    twice = 1 + apart
    first = np.cumsum(twice) - twice  # number of each block, or of its normal
    size, groups = np.repeat(np.diff(K.offset), twice), np.repeat(np.diff(K.group_offset), twice)
    kind = np.repeat(K.kind, twice)
    normal = first[apart]
    size[normal], groups[normal], kind[normal] = 1, 0, cones.NONNEGATIVE
    wide = ProductSet(
        kind,
        np.concatenate([[0], np.cumsum(size)]),
        np.repeat(K.lower, twice),
        np.repeat(K.upper, twice),
        np.concatenate([[0], np.cumsum(groups)]),
        K.group_size,
        K.coefficient,
    )
    block = K.owner
    within = np.arange(K.size) - K.offset[block]
    # tangential components of a split block belong to the cone after its normal block
    at = wide.offset[first[block]] + within + (apart[block] & (within > 0))
    return wide, at, wide.offset[normal + 1]
