"""Where the components of a product set are, family by family."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.sets import ProductSet
from stickslip.state import Array, IntArray


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
