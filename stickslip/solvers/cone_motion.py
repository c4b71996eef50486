"""Linear part of a contact problem split into cones: M v = f + H r, u = H' v + w, or u = W r + w.

Components are those of the split: r_s = D^-1 r and u_s = D u, so H_s = H D. Every form computes its residuals
and has the pattern of its Newton matrix, in which the blocks D_i = J G J' of the contacts change:

    [M H; H' -D] (dv, -dr) = b          with the velocities as unknowns (Nguyen 2021, (1.31) without u)
    (W + D) dr = b                      without them, (1.4)
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.kernels.cone_point import Split
from stickslip.linalg.bodies import saddle_pattern
from stickslip.linalg.front_lu import BlockLU
from stickslip.linalg.pattern import BlockPattern, matrix_pattern
from stickslip.problem.checks import Array, IntArray, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.mass import MassMatrix
from stickslip.problem.operator import BlockDelassus, BodyDelassus
from stickslip.problem.sets import ProductSet, free, spans
from stickslip.solvers.cone_split import split
from stickslip.solvers.factors import one_side_each

COUPLED = 32
"""Largest number of velocities coupled by M that form one block row of the matrix."""
FEW = 450
"""Number of bodies up to which the elimination order is computed without positions."""


IMPULSIVE = 3.0
"""Initial impulses, as a multiple of those that stop the free motion (heuristic)."""


class Matrix(NamedTuple):
    """The Newton matrix without D, symmetric, in the blocks of a pattern."""

    pattern: BlockPattern
    """Pattern of the blocks."""
    base: Array
    """Its values [kg, -, 1/kg], shape (entries of the pattern,)."""
    into: IntArray | slice
    """Indices of the entries of the blocks D_i in `base` [-], shape (sum of d_i²,)."""


class Motion(ABC):
    """Base of the linear forms; `w` excludes the shift."""

    saddle: ClassVar[bool] = True
    """Whether velocities are unknowns, so that the Newton matrix is a saddle-point matrix."""

    def __init__(self, K: ProductSet, w: Array, f: Array, diagonal: Array, cones: Split):
        self.split, self.K = cones, K
        """The cones, and the product set of the problem with joints after the contacts."""
        self.w = cones.unit * w[cones.kept]
        """u for v = 0 (for r = 0 where W is given), scaled [m/s], shape (n,)."""
        self.f = f
        """Momentum of the free motion [N s], shape (nv,); empty where W is given."""
        self.diagonal = diagonal
        """Size of the diagonal of W, scaled [1/kg], shape (n,)."""

    @property
    @abstractmethod
    def matrix(self) -> Matrix:
        """The Newton matrix without D."""

    def values(self, D: Array) -> Array:
        """Return the values of the Newton matrix with blocks D."""
        matrix = self.matrix
        values = matrix.base.copy()
        if self.saddle:
            values[matrix.into] = -D
        else:
            values[matrix.into] += D
        return values

    def rows(self, fallback: bool) -> tuple[Callable[[Array], Array], BlockLU]:
        """Return a function from D to the values of the Newton matrix in block rows, and its L U."""
        take, lu = _unsymmetric(self.matrix.pattern, fallback)
        return lambda D: self.values(D)[take], lu

    @abstractmethod
    def residuals(self, v: Array, r: Array) -> tuple[Array, Array]:
        """M v - f - H r [N s], shape (nv,), and u = H' v + w [m/s], shape (n,)."""

    @abstractmethod
    def mass(self, v: Array) -> Array:
        """M v [N s], shape (nv,)."""

    @abstractmethod
    def free(self) -> Array:
        """v with r = 0, M v = f [m/s], shape (nv,)."""


class BodyMotion(Motion):
    """Linear form with M as body blocks and H as contact blocks."""

    def __init__(self, K: ProductSet, M: Array, f: Array, H: ContactBlocks, w: Array, located: bool = True):
        """`located`: whether rows of H are (e, a x e), from which positions of bodies follow."""
        cones = split(K)
        rows, bodies = H.rows, H.bodies[cones.block]
        fixed = cones.fixed
        if fixed.any():
            f = f + H.impulses(fixed, M.shape[0]).reshape(-1)
        self.M = M
        scaled = rows[cones.kept] * cones.unit[:, None, None]
        self.H = ContactBlocks(frozen(np.ascontiguousarray(bodies)), frozen(scaled), cones.offset)
        self.positions = _positions(H, M.shape[0]) if located else None
        """Positions of the bodies [m], shape (bodies, 3), if known and useful."""
        pattern = saddle_pattern(self.H.bodies, cones.offset, M.shape[0], M.shape[1])
        base = pattern.values(M, self.H, 0.0)
        count = int((np.diff(cones.offset) ** 2).sum())
        heavy = np.maximum(np.einsum("bii->bi", M), 1e-300)
        size = np.zeros(cones.kept.size)
        contact = np.repeat(np.arange(cones.block.size), np.diff(cones.offset))
        for side in range(2):
            body = self.H.bodies[contact, side]
            size += np.where(body >= 0, (scaled[:, side] ** 2 / heavy[body]).sum(axis=1), 0.0)
        self._matrix = Matrix(pattern, base, slice(M.size, M.size + count))
        super().__init__(K, w, f, size, cones)

    @property
    def matrix(self) -> Matrix:
        """See the base."""
        return self._matrix

    def residuals(self, v: Array, r: Array) -> tuple[Array, Array]:
        """See the base."""
        count, k, _ = self.M.shape
        u = self.H.velocities(v.reshape(count, k), self.w)
        return self.mass(v) - self.f - self.H.impulses(r, count).reshape(-1), u

    def mass(self, v: Array) -> Array:
        """See the base."""
        count, k, _ = self.M.shape
        return np.matmul(self.M, v.reshape(count, k, 1)).reshape(-1)

    def free(self) -> Array:
        """See the base."""
        count, k, _ = self.M.shape
        return np.asarray(np.linalg.solve(self.M, self.f.reshape(count, k, 1)).reshape(-1), np.float64)


class SparseMotion(Motion):
    """Linear form with M and H as SciPy matrices."""

    def __init__(self, K: ProductSet, M: sp.csr_array, f: Array, H: sp.csr_array, w: Array):
        cones = split(K)
        self.M = sp.csr_array(M)
        self.H = sp.csr_array(H[:, cones.kept] @ sp.diags_array(cones.unit))
        self._Ht = sp.csr_array(self.H.T)
        nv, n = self.H.shape
        widths, self._order = _velocity_blocks(self.M)
        order = np.concatenate([self._order, nv + np.arange(n)])
        full = sp.block_array([[0.5 * (self.M + self.M.T), self.H], [self._Ht, None]], format="csr")
        full = full[order][:, order] if n or nv else full
        self._matrix = _with_blocks(full, np.concatenate([widths, np.diff(cones.offset)]), widths.size)
        self.order = order
        heavy = np.maximum(self.M.diagonal(), 1e-300)
        size = np.asarray(self.H.multiply(self.H).T @ (1.0 / heavy)).reshape(-1)
        super().__init__(K, w, f + H @ cones.fixed, size, cones)

    @property
    def matrix(self) -> Matrix:
        """See the base."""
        return self._matrix

    def residuals(self, v: Array, r: Array) -> tuple[Array, Array]:
        """See the base."""
        return self.mass(v) - self.f - self.H @ r, self._Ht @ v + self.w

    def mass(self, v: Array) -> Array:
        """See the base."""
        return np.asarray(self.M @ v)

    def free(self) -> Array:
        """See the base."""
        return np.asarray(MassMatrix(self.M).solve(self.f))


class DelassusMotion(Motion):
    """u = W r + w, without velocities; W in blocks, possibly unsymmetric."""

    saddle = False

    def __init__(self, K: ProductSet, W: BlockDelassus, w: Array):
        cones = split(K)
        self.W = _kept(W, cones)
        """W of the unknown components, scaled [1/kg]."""
        bias = W.apply(cones.fixed, w) if cones.fixed.any() else w
        super().__init__(K, bias, np.zeros(0), np.abs(self.W.diagonal()), cones)

    @cached_property
    def matrix(self) -> Matrix:
        """See the base."""
        W = self.W.sparse()
        return _with_blocks(sp.csr_array(0.5 * (W + W.T)), np.diff(self.W.offset), 0)

    def rows(self, fallback: bool) -> tuple[Callable[[Array], Array], BlockLU]:
        """See the base; with W itself instead of its symmetric part."""
        offset, row_start, column, data_start, data = self.W.arrays
        row = np.repeat(np.arange(offset.size - 1), np.diff(row_start))
        diagonal = np.flatnonzero(row == column)
        into = spans(data_start, diagonal)

        def values(D: Array) -> Array:
            out = data.copy()
            out[into] += D
            return out

        return values, BlockLU(offset, row_start, column, fallback=fallback)

    def residuals(self, v: Array, r: Array) -> tuple[Array, Array]:
        """See the base; the first is empty."""
        return np.zeros(0), self.W.apply(r, self.w)

    def mass(self, v: Array) -> Array:
        """See the base; empty."""
        return v

    def free(self) -> Array:
        """See the base; empty."""
        return np.zeros(0)


def motion(problem: ContactProblem | GlobalProblem) -> Motion:
    """Return the linear part of a problem in its own unknowns; a matrix-free W becomes bodies of mass 1."""
    K = problem.K
    if isinstance(problem, GlobalProblem):
        f, w = problem.f, np.concatenate([problem.u_bias, problem.g_bias])
        if problem.is_matrix_free:
            H, G = problem.H, problem.G
            assert isinstance(H, ContactBlocks)
            if isinstance(G, ContactBlocks):
                K = K + free(*np.diff(G.offset).tolist())
                H = ContactBlocks(
                    np.concatenate([H.bodies, G.bodies]), np.concatenate([H.rows, G.rows]), K.offset
                )
            return BodyMotion(K, problem.M.matrix, f, H, w)
        both = sp.hstack([problem.H_sparse(), problem.G_sparse()], format="csr")
        K = K + free(*[1] * problem.g_bias.size)
        return SparseMotion(K, problem.M.sparse, f, both, w)
    W = problem.W
    if isinstance(W, BodyDelassus):
        W = one_side_each(W)
        k = W.rows.shape[2]
        blocks = ContactBlocks(W.bodies, W.rows, K.offset)
        unit_mass = np.tile(np.eye(k), (W.count, 1, 1))
        return BodyMotion(K, unit_mass, np.zeros(k * W.count), blocks, problem.u_free, located=False)
    return DelassusMotion(K, W.blocks(K), problem.u_free)


def start_sizes(form: Motion, v: Array, largest: bool) -> tuple[float, float]:
    """Return the scales of velocities [m/s] and impulses [N s] of a problem; v is the free motion.

    largest: the largest velocity of the free motion and the impulse that stops it; otherwise its root mean
    square and IMPULSIVE times the impulse that stops that.
    """
    diagonal = form.diagonal if largest else form.diagonal[form.split.place]
    mean = (float(diagonal.mean()) if diagonal.size else 0.0) or 1.0
    _, u = form.residuals(v, np.zeros(form.split.kept.size))
    if largest:
        speed = float(np.abs(u).max(initial=0.0)) or 1.0
        return speed, speed / mean
    speed = (float(np.sqrt(np.mean(u * u))) if u.size else 0.0) or 1.0
    return speed, IMPULSIVE * speed / mean


def _velocity_blocks(M: sp.csr_array) -> tuple[IntArray, IntArray]:
    """Return the widths of the block rows of the velocities, and the order of the velocities in them."""
    nv = M.shape[0]
    count, label = sp.csgraph.connected_components(M, directed=False)
    widths = np.bincount(label, minlength=count)
    if nv == 0 or widths.max() > COUPLED:
        return np.ones(nv, np.int64), np.arange(nv)
    return widths, np.argsort(label, kind="stable")


def _kept(W: BlockDelassus, cones: Split) -> BlockDelassus:
    """Return the block W of the unknown components, scaled, for the contacts that have any."""
    offset, row_start, column, data_start, data = W.arrays
    scale, new = np.zeros(W.size), np.full(offset.size - 1, -1)
    scale[cones.kept], new[cones.block] = cones.unit, np.arange(cones.block.size)
    row = np.repeat(np.arange(offset.size - 1), np.diff(row_start))
    sizes, entries = np.diff(offset)[column], np.diff(data_start)
    within = np.arange(data.size) - np.repeat(data_start[:-1], entries)
    width = np.repeat(sizes, entries)
    left_scale = scale[np.repeat(offset[row], entries) + within // width]
    right_scale = scale[np.repeat(offset[column], entries) + within % width]
    scaled = left_scale * data * right_scale
    if cones.kept.size == W.size:
        return BlockDelassus(offset, row_start, column, data_start, scaled)
    row, column = new[row], new[column]
    alive, widths = (row >= 0) & (column >= 0), np.diff(cones.offset)
    row, column = row[alive], column[alive]
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=widths.size))])
    ends = np.concatenate([[0], np.cumsum(widths[row] * widths[column])])
    return BlockDelassus(cones.offset, start, column, ends, scaled[(left_scale > 0.0) & (right_scale > 0.0)])


def _with_blocks(A: sp.csr_array, widths: IntArray, first: int) -> Matrix:
    """Return A with full diagonal blocks from block row `first` on, in blocks of these widths."""
    offset = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    wide = widths[first:]
    row = np.repeat(np.arange(offset[first], offset[-1]), np.repeat(wide, wide))
    within = np.arange(row.size) - np.repeat(np.cumsum(wide * wide) - wide * wide, wide * wide)
    column = np.repeat(offset[first:-1], wide * wide) + within % np.maximum(np.repeat(wide, wide * wide), 1)
    coo = A.tocoo()
    full = sp.coo_array(
        (
            np.concatenate([coo.data, np.zeros(row.size)]),
            (np.concatenate([coo.coords[0], row]), np.concatenate([coo.coords[1], column])),
        ),
        shape=A.shape,
    ).tocsr()
    pattern = matrix_pattern(full, widths)
    base = pattern.values(full)
    on_diagonal = np.flatnonzero((pattern.one == pattern.other) & (pattern.one >= first))
    begin = pattern.source[on_diagonal[np.argsort(pattern.one[on_diagonal])]]
    return Matrix(pattern, base, np.repeat(begin, wide * wide) + within)


def _positions(H: ContactBlocks, count: int) -> Array | None:
    """Estimate the positions of bodies from H, for the elimination order [m], shape (count, 3); None for few.

    A row of H' for direction e is (e, a x e), and the sum of e x (a x e) over n, t1, t2 is 2 a, with a the
    arm from the centre to the contact. Arms are added along a spanning tree of contacts. Wrong positions only
    cost time.
    """
    if count <= FEW or H.rows.shape[2] != 6 or (np.diff(H.offset) < 3).any():
        return None
    first = H.rows[H.offset[:-1, None] + np.arange(3)]
    arm = 0.5 * np.cross(first[..., :3], first[..., 3:]).sum(axis=1)
    both = np.flatnonzero((H.bodies >= 0).all(axis=1))
    first_body, second_body = H.bodies[both].T
    edge = sp.csr_array((both + 1, (first_body, second_body)), shape=(count, count))
    edge = sp.csr_array(edge - edge.T)  # negative if a contact is traversed from its second body
    place, seen = np.zeros((count, 3)), np.zeros(count, bool)
    for root in range(count):
        if seen[root]:
            continue
        order, parent = sp.csgraph.breadth_first_order(abs(edge), root, directed=False)
        seen[order] = True
        if order.size > 1:
            edges = np.asarray(edge[parent[order[1:]], order[1:]]).reshape(-1).astype(np.int64)
            contact = np.abs(edges) - 1
            step = np.where((edges > 0)[:, None], 1.0, -1.0) * (arm[contact, 0] - arm[contact, 1])
            for body, move in zip(order[1:].tolist(), step, strict=True):
                place[body] = place[parent[body]] + move
    return place


def _unsymmetric(pattern: BlockPattern, fallback: bool) -> tuple[IntArray, BlockLU]:
    """Return the index in the pattern of each entry of the same matrix in block rows, and its L U."""
    n = pattern.widths.size
    other = np.flatnonzero(pattern.one != pattern.other)
    row = np.concatenate([pattern.one, pattern.other[other]])
    column = np.concatenate([pattern.other, pattern.one[other]])
    block = np.concatenate([np.arange(pattern.one.size), other])
    transposed = np.arange(row.size) >= pattern.one.size
    order = np.lexsort((column, row))
    row, column, block, transposed = (array[order] for array in (row, column, block, transposed))
    high, wide = pattern.widths[row], pattern.widths[column]
    entries = high * wide
    within = np.arange(int(entries.sum())) - np.repeat(np.cumsum(entries) - entries, entries)
    a, b = within // np.repeat(wide, entries), within % np.repeat(wide, entries)
    inside = np.where(
        np.repeat(transposed, entries), b * np.repeat(high, entries) + a, a * np.repeat(wide, entries) + b
    )
    take = np.repeat(pattern.source[:-1][block], entries) + inside
    start = np.searchsorted(row, np.arange(n + 1))
    return take, BlockLU(pattern.offset, start, np.asarray(column, np.int64), fallback=fallback)
