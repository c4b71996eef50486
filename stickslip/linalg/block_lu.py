"""Plans for the LU factorisation of unsymmetric matrices of 6 x 6 blocks over a graph of bodies and joints;
contacts are eliminated. The numeric factorisation is in `kernels/variational/block_lu.py`.

The structure is symmetric, the values need not be. The order is minimum degree, with the condition that a
node that `waits` (a joint, whose diagonal block is zero before a neighbour is eliminated) comes after one of
its neighbours. Chains and trees have no other fill, and the cost grows linearly with the number of nodes.
Rows are exchanged only inside blocks. Redundant constraints need a small negative diagonal, and refinement
with the original matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels.variational import block_lu as kernels
from stickslip.state import IntArray

MOST = 5000
"""Largest number of nodes; the plan uses a dense table of all pairs."""


@dataclass(frozen=True, eq=False, slots=True)
class BlockPlan:
    """Symbolic factorisation of a graph: order, fill and updates, for any values."""

    count: int
    """Number N of nodes."""
    places: IntArray
    """Indices of blocks (a, b) and (b, a) of each pair; 0 to N - 1 are diagonal blocks [-], shape (m, 2)."""
    blocks: int
    """Number of blocks, including fill."""
    arrays: kernels.Plan
    """The plan for the kernels of `kernels/variational/block_lu.py`."""


def block_plan(count: int, pairs: ArrayLike, waits: ArrayLike | Sequence[bool]) -> BlockPlan:
    """Return the plan for `count` nodes joined by `pairs` (m, 2); waits (count,) bool. Results are cached."""
    joined = np.ascontiguousarray(pairs, np.int64).reshape(-1, 2)
    waiting = np.ascontiguousarray(waits, np.bool_).reshape(-1)
    if waiting.size != count:
        raise ValueError(f"waits has {waiting.size} entries, expected {count}, one per node")
    if joined.size and not (joined.min() >= 0 and joined.max() < count):
        raise ValueError(f"pairs name nodes from {joined.min()} to {joined.max()}, of {count} nodes")
    if (joined[:, 0] == joined[:, 1]).any():
        raise ValueError("a pair joins a node to itself; diagonal blocks are always there")
    if count > MOST:
        raise ValueError(f"{count} nodes; a block plan is made for at most {MOST}")
    return _cached_plan(count, joined.tobytes(), waiting.tobytes())


@lru_cache(maxsize=64)
def _cached_plan(count: int, pairs: bytes, waits: bytes) -> BlockPlan:
    joined = np.frombuffer(pairs, np.int64).reshape(-1, 2).copy()
    arrays, places, blocks = kernels.make_plan(count, joined, np.frombuffer(waits, np.bool_).copy())
    return BlockPlan(count, places, int(blocks), arrays)
