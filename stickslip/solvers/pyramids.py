"""Cones with flat sides inside K*, so that linear programming can look for points of it.

A point of the inner pyramid lies in K*, hence what is found with it is true; what is not found may
still exist, unless all groups have one component (2D), where the pyramid is K* itself.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.checks import Array
from stickslip.problem.convert import group_starts
from stickslip.problem.convert.facets import corners
from stickslip.problem.sets import ProductSet


@dataclass(frozen=True, eq=False)
class DualPyramid:
    """{w : normals w <= sides s and s above every facet, low <= w <= high}, inside K*."""

    of_w: sp.csr_array
    """Coefficients of w in the rows <= 0, contacts first, facets after [-], shape (rows, n)."""
    of_s: sp.csr_array
    """Coefficients of s, one bound on |w_g| for each group [-], shape (rows, ng)."""
    low: Array
    """Least w of blocks without friction [m/s], shape (n,); -inf elsewhere."""
    high: Array
    """Largest w of blocks without friction [m/s], shape (n,); inf elsewhere."""
    strict: Array
    """How each component moves inwards: 1 or -1, 0 where there is no inside [-], shape (n,)."""

    @property
    def contacts(self) -> int:
        """Number of rows that bound a normal component."""
        return int((self.strict[np.isinf(self.low)] == 1.0).sum())


def dual_pyramid(K: ProductSet, facets: int) -> DualPyramid:
    """The pyramid of so many facets for each group of two components; w may be scaled with K."""
    n, ng = K.size, K.group_size.size
    friction = np.flatnonzero(K.kind == cones.FRICTION)
    owner = np.repeat(np.arange(len(K)), np.diff(K.group_offset))
    row_of = np.full(len(K), -1)
    row_of[friction] = np.arange(friction.size)
    # w_N >= sum_g mu_g s_g
    w_row, w_col, w_val = [np.arange(friction.size)], [K.offset[friction]], [-np.ones(friction.size)]
    s_row, s_col, s_val = [row_of[owner]], [np.arange(ng)], [K.coefficient]
    rows, start = friction.size, group_starts(K)
    for size in np.unique(K.group_size).tolist():
        groups = np.flatnonzero(K.group_size == size)
        sides = _sides(size, facets)
        m = sides.shape[0]
        row = rows + np.arange(groups.size * m)
        w_row.append(np.repeat(row, size))
        w_col.append((start[groups][:, None, None] + np.arange(size) + np.zeros((m, 1), int)).reshape(-1))
        w_val.append(np.tile(sides.reshape(-1), groups.size))
        s_row.append(row)
        s_col.append(np.repeat(groups, m))
        s_val.append(-np.ones(row.size))
        rows += row.size
    of_w = _matrix(w_row, w_col, w_val, (rows, n))
    of_s = _matrix(s_row, s_col, s_val, (rows, ng))
    low, high, strict = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n)
    sizes = np.diff(K.offset)
    plain = np.repeat(K.kind != cones.FRICTION, sizes)
    up, down = np.repeat(K.upper == np.inf, sizes) & plain, np.repeat(K.lower == -np.inf, sizes) & plain
    low[up], high[down] = 0.0, 0.0
    strict[up & ~down], strict[down & ~up], strict[K.offset[friction]] = 1.0, -1.0, 1.0
    return DualPyramid(of_w, of_s, low, high, strict)


def _sides(size: int, facets: int) -> Array:
    """Vectors a with |x| <= max a·x, shape (m, size); exact for one component."""
    if size == 2:
        return corners(2, facets) / np.cos(np.pi / facets)
    return np.concatenate([np.eye(size), -np.eye(size)]) * np.sqrt(size)


def _matrix(
    row: list[np.ndarray], col: list[np.ndarray], val: list[Array], shape: tuple[int, int]
) -> sp.csr_array:
    coords = np.concatenate(row), np.concatenate(col)
    return sp.coo_array((np.concatenate(val), coords), shape=shape).tocsr()
