"""Plans for the LU of unsymmetric matrices of 6 x 6 blocks over a graph: bodies and joints, contacts put onto
the bodies. The LU itself is in `kernels/variational/block_lu.py`.

The structure is symmetric, the values need not be. The order is that of least degree, in which a node that
`waits`, whose diagonal block is zero before a neighbour is eliminated (a joint), comes after one of them; on
chains and trees there is no fill but that, and cost grows with the number of nodes. Row exchanges stay inside
blocks. Where constraints are redundant, a small negative diagonal of theirs and refinement against the matrix
as it is give what is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels.variational import block_lu as kernels
from stickslip.state import IntArray

MOST = 5000
"""Most nodes: the plan is made on a table of all pairs."""


@dataclass(frozen=True, eq=False, slots=True)
class BlockPlan:
    """Order, fill and updates of a graph, made once and used for any values."""

    count: int
    """Number N of nodes."""
    places: IntArray
    """Blocks (a, b) and (b, a) of each pair [-], shape (m, 2); blocks 0 to N - 1 are those of the
    diagonal."""
    blocks: int
    """Number of blocks, fill among them."""
    arrays: kernels.Plan
    """The plan as the kernels of `kernels/variational/block_lu.py` take it."""


def block_plan(count: int, pairs: ArrayLike, waits: ArrayLike | Sequence[bool]) -> BlockPlan:
    """The plan for `count` nodes joined by `pairs` (m, 2), of which some wait (count,); kept for the next
    time."""
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
    return _made(count, joined.tobytes(), waiting.tobytes())


@lru_cache(maxsize=64)
def _made(count: int, pairs: bytes, waits: bytes) -> BlockPlan:
    joined = np.frombuffer(pairs, np.int64).reshape(-1, 2).copy()
    arrays, places, blocks = kernels.make_plan(count, joined, np.frombuffer(waits, np.bool_).copy())
    return BlockPlan(count, places, int(blocks), arrays)
