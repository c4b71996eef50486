"""Data of linearised problems: components, units, and changes of the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.residuals import metric
from stickslip.problem.sets import ProductSet
from stickslip.state import Array, IntArray

NONE: Array = np.zeros((0, 0))
"""Empty array: no change."""


class Causes(NamedTuple):
    """Changes of the data of a problem, or weights of these, each of shape (size, k); `NONE` for zero."""

    momentum: Array = NONE
    """Right-hand side of M dv - H dr - G dlam = momentum, shape (nv, k)."""
    velocity: Array = NONE
    """Right-hand side of du = H'dv + velocity, shape (n, k)."""
    joint: Array = NONE
    """Right-hand side of 0 = G'dv + joint, shape (p, k)."""
    coefficient: Array = NONE
    """Changes of friction coefficients, one for each group of K, shape (ng, k)."""
    lower: Array = NONE
    """Changes of the lower bounds of the blocks of K, shape (nb, k)."""
    upper: Array = NONE
    """Changes of the upper bounds of the blocks of K, shape (nb, k)."""

    @property
    def columns(self) -> int:
        """Number k of changes."""
        return max(part.shape[1] for part in self)


@dataclass(frozen=True, eq=False)
class LawScales:
    """Units of impulses and velocities in the judge's metric, for a product set and the diagonal of W."""

    length: Array
    """Factor of each component in r = length z [-, m], shape (n,)."""
    push: Array
    """Factor of each component in y = push u [kg, kg m], shape (n,)."""
    coefficient: Array
    """Friction coefficients in these units [-], shape (ng,)."""
    group_length: Array
    """Ratio of the coefficients of the problem to those in these units [-, m], shape (ng,)."""

    @classmethod
    def of(cls, K: ProductSet, diagonal: Array) -> "LawScales":
        """Return the scales for the diagonal of W [1/kg]."""
        units = metric(K, np.abs(diagonal))
        push = K.spread(units.rho) * units.length
        # Rows of a bilateral block may have different units, so each row has its own scale.
        bilateral = K.bilateral & (np.abs(diagonal) > 0.0)
        push[bilateral] = 1.0 / np.abs(diagonal[bilateral])
        first = first_components(K)
        return cls(units.length, push, units.coefficient, units.length[first])


@dataclass(frozen=True, eq=False)
class Reduced:
    """Contact problem u = W r + u_free with the law of K."""

    K: ProductSet
    W: Any
    """Delassus matrix, dense or sparse, symmetric or not [1/kg], shape (n, n)."""
    u_free: Array
    """Velocities without impulses [m/s], shape (n,)."""

    @cached_property
    def scales(self) -> LawScales:
        """The judge's units."""
        return LawScales.of(self.K, self.W.diagonal())

    def u(self, r: Array) -> Array:
        """Velocities of impulses r [m/s], shape (n,)."""
        return np.asarray(self.W @ r + self.u_free)


def scalar_components(K: ProductSet) -> tuple[IntArray, IntArray, Array, Array]:
    """Return the components outside friction cones: indices, blocks, lower and upper bounds, shape
    (count,)."""
    sizes = np.diff(K.offset)
    block = np.repeat(np.arange(len(K)), sizes)
    rows = np.flatnonzero(np.repeat(K.kind != cones.FRICTION, sizes))
    block = block[rows]
    return rows, block, K.lower[block], K.upper[block]


def family_rows(
    K: ProductSet, groups: tuple[int, ...], blocks: IntArray
) -> tuple[IntArray, IntArray, list[slice]]:
    """Return components (count, d) and groups (count, g) of friction cones with equal group sizes, and the
    slice of components of each group."""
    ends = np.cumsum((1, *groups))
    rows = K.offset[blocks][:, None] + np.arange(ends[-1])
    group = K.group_offset[blocks][:, None] + np.arange(len(groups))
    return rows, group, [slice(int(a), int(b)) for a, b in pairwise(ends)]


def first_components(K: ProductSet) -> IntArray:
    """First component of each friction group [-], shape (ng,)."""
    first = np.zeros(K.group_size.shape[0], np.int64)
    for groups, blocks in K.families().items():
        if groups:
            rows, group, parts = family_rows(K, groups, blocks)
            first[group] = rows[:, [part.start for part in parts]]
    return first


def sparse_blocks(parts: Sequence[tuple[IntArray, Array]], n: int) -> sp.csr_array:
    """Assemble blocks (count, d, d) at rows (count, d) to a sparse matrix, shape (n, n)."""
    row = [np.repeat(rows, rows.shape[1], axis=1).reshape(-1) for rows, _ in parts]
    column = [np.tile(rows, (1, rows.shape[1])).reshape(-1) for rows, _ in parts]
    value = [blocks.reshape(-1) for _, blocks in parts]
    if not parts:
        return sp.csr_array((n, n))
    entries = (np.concatenate(value), (np.concatenate(row), np.concatenate(column)))
    return sp.coo_array(entries, shape=(n, n)).tocsr()
