"""Nouns of a problem to first order: its components and units, and what it can be changed by."""

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
"""What does not change."""


class Causes(NamedTuple):
    """What a problem can be changed by, or weights of that, each of shape (size, k); `NONE` for nothing."""

    momentum: Array = NONE
    """Of M dv - H dr - G dlam = momentum, shape (nv, k)."""
    velocity: Array = NONE
    """Of du = H'dv + velocity, shape (n, k)."""
    joint: Array = NONE
    """Of 0 = G'dv + joint, shape (p, k)."""
    coefficient: Array = NONE
    """Of friction, one for each group of K, shape (ng, k)."""
    lower: Array = NONE
    """Of the lower bounds of the blocks of K, shape (nb, k)."""
    upper: Array = NONE
    """Of their upper bounds, shape (nb, k)."""

    @property
    def columns(self) -> int:
        """Number k of changes."""
        return max(part.shape[1] for part in self)


@dataclass(frozen=True, eq=False)
class LawScales:
    """The judge's units of a product set with a certain W."""

    length: Array
    """Length of each component: r = length z [-, m], shape (n,)."""
    push: Array
    """Of each component: y = push u [kg, kg m], shape (n,)."""
    coefficient: Array
    """Friction coefficients in these units [-], shape (ng,)."""
    group_length: Array
    """Coefficients are this many times those [-, m], shape (ng,)."""

    @classmethod
    def of(cls, K: ProductSet, diagonal: Array) -> "LawScales":
        """From the diagonal of W [1/kg]."""
        found = metric(K, np.abs(diagonal))
        push = K.spread(found.rho) * found.length
        # Rows of one bilateral block may have different units: each has its own scale.
        own = K.bilateral & (np.abs(diagonal) > 0.0)
        push[own] = 1.0 / np.abs(diagonal[own])
        first = first_components(K)
        return cls(found.length, push, found.coefficient, found.length[first])


@dataclass(frozen=True, eq=False)
class Reduced:
    """u = W r + u_free with the law of K."""

    K: ProductSet
    W: Any
    """Dense or sparse, symmetric or not [1/kg], shape (n, n)."""
    u_free: Array
    """[m/s], shape (n,)."""

    @cached_property
    def scales(self) -> LawScales:
        """The judge's units."""
        return LawScales.of(self.K, self.W.diagonal())

    def u(self, r: Array) -> Array:
        """Velocities of impulses r [m/s], shape (n,)."""
        return np.asarray(self.W @ r + self.u_free)


def scalar_components(K: ProductSet) -> tuple[IntArray, IntArray, Array, Array]:
    """Components that are no friction cone's: where they are, their blocks and bounds; shape (count,)."""
    sizes = np.diff(K.offset)
    block = np.repeat(np.arange(len(K)), sizes)
    rows = np.flatnonzero(np.repeat(K.kind != cones.FRICTION, sizes))
    block = block[rows]
    return rows, block, K.lower[block], K.upper[block]


def family_rows(
    K: ProductSet, groups: tuple[int, ...], blocks: IntArray
) -> tuple[IntArray, IntArray, list[slice]]:
    """Components (count, d) and groups (count, g) of friction cones of one family, and the group's parts."""
    ends = np.cumsum((1, *groups))
    rows = K.offset[blocks][:, None] + np.arange(ends[-1])
    group = K.group_offset[blocks][:, None] + np.arange(len(groups))
    return rows, group, [slice(int(a), int(b)) for a, b in pairwise(ends)]


def first_components(K: ProductSet) -> IntArray:
    """First component of each group, shape (ng,)."""
    first = np.zeros(K.group_size.shape[0], np.int64)
    for groups, blocks in K.families().items():
        if groups:
            rows, group, parts = family_rows(K, groups, blocks)
            first[group] = rows[:, [part.start for part in parts]]
    return first


def sparse_blocks(parts: Sequence[tuple[IntArray, Array]], n: int) -> sp.csr_array:
    """Blocks (count, d, d) at rows (count, d) as one matrix, shape (n, n)."""
    row = [np.repeat(rows, rows.shape[1], axis=1).reshape(-1) for rows, _ in parts]
    column = [np.tile(rows, (1, rows.shape[1])).reshape(-1) for rows, _ in parts]
    value = [blocks.reshape(-1) for _, blocks in parts]
    if not parts:
        return sp.csr_array((n, n))
    entries = (np.concatenate(value), (np.concatenate(row), np.concatenate(column)))
    return sp.coo_array(entries, shape=(n, n)).tocsr()
