"""The expansion of Poisson's impact as contact problems in standard blocks; `poisson.py` says the law.

A contact that stays closed has ρ_N > e r_N^c, and is an ordinary contact with the impulse ρ. One that leaves
has ρ_N = e r_N^c, known, so that friction is a disc of known radius R: its normal is a nonnegative block of
its own, and the cone has a normal a with u_a = w (a - R), for Coulomb's law makes u_a = 0 and thus a = R. The
problem is solved again until every contact is of the kind it is taken for.
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
"""Most passes of an expansion."""


def given_back(K: ProductSet, r: Array, e: Array) -> tuple[Array, IntArray, Array]:
    """r^c + e r_N^c e_N of a compression [N s], shape (n,), and the friction cones that give something back,
    with e r_N^c.   e of each block [-], shape (nb,)."""
    normals = K.offset[:-1]
    kick = e * np.maximum(r[normals], 0.0)
    given = r.copy()
    given[normals] += kick
    kicked = np.flatnonzero((kick > 0.0) & (K.kind == cones.FRICTION))
    return given, kicked, kick[kicked]


def expand(
    W: Array | sp.csr_array, u_free: Array, K: ProductSet, kicked: IntArray, kick: Array, solver: Solver
) -> tuple[Array, Solution, float]:
    """r' = ρ - e r_N^c e_N [N s], shape (n,), the solution of the last pass, and what is left to settle.

    W is one array or sparse; `kick` is e r_N^c of the blocks `kicked` [N s].
    """
    normals = K.offset[kicked]
    stays, returned = np.zeros(kicked.size, bool), np.zeros(kicked.size, bool)
    radius = kick.copy()
    for _ in range(PASSES):
        leaves = ~stays
        held = np.zeros(K.size)
        held[normals[stays]] = kick[stays]
        problem, at = _one_pass(W, u_free - W @ held, K, kicked[leaves], radius[leaves])
        solution = solver.solve(problem)
        r = solution.r[at]
        r[normals[stays]] -= kick[stays]
        more = np.maximum(r[normals], 0.0)
        scale = float((kick + more).max())
        small = 10.0 * solution.tolerance * scale
        closed = leaves & ~returned & (more > small)
        opened = stays & (r[normals] < -small)
        wanted = kick + np.where(returned, more, 0.0)
        off = float(np.abs(radius - wanted)[leaves].max(initial=0.0))
        if not (closed.any() or opened.any() or off > small):
            return r, solution, 0.0
        # One that stayed by mistake leaves for good; its disc then grows with what it presses beyond that.
        stays, returned = (stays | closed) & ~opened, returned | opened
        radius = 0.5 * (radius + wanted)
    return r, solution, max(off / scale, solution.tolerance)


def _one_pass(
    W: Array | sp.csr_array, u_free: Array, K: ProductSet, split: IntArray, radius: Array
) -> tuple[ContactProblem, IntArray]:
    """The problem with the contacts `split` as a nonnegative normal and a disc of `radius` [N s], and where
    the components of K are in it."""
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
    """K with those blocks apart, where its components are in it, and the normals of the cones."""
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
    # past its normal, a component of a block apart is in the cone behind it
    at = wide.offset[first[block]] + within + (apart[block] & (within > 0))
    return wide, at, wide.offset[normal + 1]
