"""The graph of a step: a node per moving body and per joint that holds something, edges where blocks join them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from stickslip.kernels.variational.layout import FREE
from stickslip.linalg.block_lu import BlockPlan, block_plan
from stickslip.problem.checks import IntArray
from stickslip.problem.step_tangent import StepBlocks


@dataclass(frozen=True, eq=False, slots=True)
class StepGraph:
    """Where the blocks of a step stand in the matrix of its Newton systems."""

    plan: BlockPlan
    """Order and fill; nodes are the moving bodies by their `row`, then the joints that hold something."""
    node: IntArray
    """Node of each `free` block that acts on a moving body, -1 for the others [-], shape (nb,)."""
    places: IntArray
    """Blocks of the matrix: of a `free` block (first, node), (node, first), (second, node), (node, second);
    of others (first, second), (second, first); -1 where there is none [-], shape (nb, 4)."""


def step_graph(blocks: StepBlocks, moving: int) -> StepGraph:
    """The graph of a step over so many moving bodies; kept for the next one that has the same."""
    return _graph(moving, blocks.K.kind.tobytes(), blocks.pairs.tobytes())


@lru_cache(maxsize=64)
def _graph(moving: int, kinds: bytes, rows: bytes) -> StepGraph:
    kind, pairs = np.frombuffer(kinds, np.int64), np.frombuffer(rows, np.int64).reshape(-1, 2)
    node, places = np.full(len(kind), -1), np.full((len(kind), 4), -1)
    joined: list[tuple[int, int]] = []
    slots: list[tuple[int, int]] = []
    count = moving
    moves = pairs >= 0
    for i in np.flatnonzero(np.where(kind == FREE, moves.any(axis=1), moves.all(axis=1))):
        a, b = (int(k) for k in pairs[i])
        if kind[i] != FREE:
            joined.append((a, b))
            slots.append((int(i), 0))
            continue
        node[i] = count
        for side, body in enumerate((a, b)):
            if body >= 0:
                joined.append((body, count))
                slots.append((int(i), 2 * side))
        count += 1
    waits = np.arange(count) >= moving
    plan = block_plan(count, np.array(joined, np.int64).reshape(-1, 2), waits)
    for (i, at), place in zip(slots, plan.places, strict=True):
        places[i, at : at + 2] = place
    return StepGraph(plan, node, places)
